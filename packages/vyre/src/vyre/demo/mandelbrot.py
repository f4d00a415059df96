"""The Mandelbrot set in f32, exact to the last bit, drawn as a PNG and compared with the same arithmetic in NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from vyre.demo.job import Array, Job
from vyre_driver import DispatchConfig
from vyre_foundation import Program, f32, program, u16, u32

TILE = 16
LEFT, TOP, WIDTH_OF_PLANE = -2.2, -1.15, 3.1


def mandelbrot_program(width: int, height: int, limit: int) -> Program:
    """`steps` gets the iterations until |z| > 2, at most `limit`, row by row; `view` is left, top, pixel size."""
    with program("mandelbrot", workgroup_size=(TILE, TILE)) as p:
        view = p.uniform("view", f32, 3)
        steps = p.write("steps", u16, width * height)
        x, y = p.global_id(0), p.global_id(1)
        with p.if_((x < width) & (y < height)):
            real = p.let(view[0] + x.cast(f32) * view[2])
            imaginary = p.let(view[1] + y.cast(f32) * view[2])
            zr, zi, taken = p.var(0.0, f32, "zr"), p.var(0.0, f32, "zi"), p.var(0, u32, "taken")
            with p.range(0, limit, name="step"):
                rr, ii = p.let(zr * zr), p.let(zi * zi)
                with p.if_(rr + ii > 4.0):
                    p.break_()
                zi.set(zr * zi * 2.0 + imaginary)
                zr.set(rr - ii + real)
                taken.set(taken + 1)
            steps[y * width + x] = taken.get().cast(u16)
    return p.build()


def iterations(view: npt.NDArray[np.float32], width: int, height: int, limit: int) -> npt.NDArray[np.uint16]:
    """What the program computes, in NumPy."""
    real = view[0] + np.arange(width, dtype=np.float32) * view[2]
    imaginary = view[1] + np.arange(height, dtype=np.float32) * view[2]
    steps = np.zeros(width * height, np.uint16)
    pixel = np.arange(width * height)
    zr, zi = np.zeros(pixel.size, np.float32), np.zeros(pixel.size, np.float32)
    for _ in range(limit):
        rr, ii = zr * zr, zi * zi
        inside = ~(rr + ii > np.float32(4))
        pixel, product, difference = pixel[inside], (zr * zi)[inside], (rr - ii)[inside]
        zi = product * np.float32(2) + imaginary[pixel // width]
        zr = difference + real[pixel % width]
        steps[pixel] += 1
    return steps


def draw(steps: Array, width: int, height: int, limit: int, path: Path) -> str:
    """Write the picture; gives its place."""
    from PIL import Image

    share = np.asarray(steps, np.float64).reshape(height, width) / limit
    glow = np.sqrt(share)[..., None]
    palette = np.concatenate(
        (9 * (1 - glow) * glow**3, 15 * (1 - glow) ** 2 * glow**2, 8.5 * (1 - glow) ** 3 * glow), 2
    )
    Image.fromarray((np.clip(palette, 0, 1) * 255).astype(np.uint8)).save(path)
    return str(path)


def job(width: int, height: int, limit: int, path: Path) -> Job:
    """Iterate the points of a plane, and write an image of the counts."""
    view = np.array([LEFT, TOP, WIDTH_OF_PLANE / width], np.float32)

    def oracle() -> Mapping[str, Array]:
        return {"steps": iterations(view, width, height, limit)}

    return Job(
        name="Mandelbrot set",
        program=mandelbrot_program(width, height, limit),
        inputs={"view": view},
        oracle_name="NumPy",
        oracle=oracle,
        config=DispatchConfig(label="mandelbrot", grid_override=(-(-width // TILE), -(-height // TILE), 1)),
        finish=lambda outputs: draw(outputs["steps"], width, height, limit, path),
    )
