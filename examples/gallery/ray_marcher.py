"""Three spheres over a floor with their shadows, by walking along rays: in the terminal, or as a picture.

python examples/gallery/ray_marcher.py --output ray_marcher.png
"""

from pathlib import Path

import click
import numpy as np
from PIL import Image

import vyre as vy

SHADES = " .:-=+*#%@"
SPHERES = ((-1.1, 0.0, 4.0, 1.0), (0.9, -0.3, 3.2, 0.7), (0.5, 0.9, 5.0, 0.9))
"""x, y, z and radius of each."""
FLOOR, STEPS, NEAR = -1.0, 64, 1e-3


@vy.func
def distance(x: vy.f32, y: vy.f32, z: vy.f32) -> vy.f32:
    """How far a point is from the nearest surface."""
    nearest = y - FLOOR
    for cx, cy, cz, radius in SPHERES:
        dx, dy, dz = x - cx, y - cy, z - cz
        nearest = vy.min(nearest, vy.sqrt(dx * dx + dy * dy + dz * dz) - radius)
    return nearest


@vy.kernel(shape=("h", "w"), workgroup_size=(16, 16))
def render(right: vy.Array[vy.f32, "w"], up: vy.Array[vy.f32, "h"], out: vy.Out[vy.f32, "h", "w"]) -> None:
    """The light of each pixel, from 0 to 1."""
    row, column = vy.index()
    dx, dy, dz = right[column], up[row], vy.f32(1)
    length = vy.sqrt(dx * dx + dy * dy + dz * dz)
    dx, dy, dz = dx / length, dy / length, dz / length
    along, light = vy.f32(0), vy.f32(0)
    for _ in range(STEPS):
        x, y, z = along * dx, along * dy, along * dz
        here = distance(x, y, z)
        if here < NEAR:
            nx = distance(x + NEAR, y, z) - here
            ny = distance(x, y + NEAR, z) - here
            nz = distance(x, y, z + NEAR) - here
            light = vy.max(vy.f32(0.1), (0.5 * nx + 0.7 * ny - 0.5 * nz) / NEAR)
            walked = vy.f32(0.05)
            for _ in range(STEPS):
                gap = distance(x + 0.5 * walked, y + 0.7 * walked, z - 0.5 * walked)
                if gap < NEAR:
                    light = vy.f32(0.1)
                    break
                walked += gap
            break
        along += here
    out[row, column] = vy.min(light, vy.f32(1)) if along < 20.0 else vy.f32(0)


def picture(height: int, width: int, backend: str | None = None) -> np.ndarray:
    """The light of the pixels as f32."""
    right = np.linspace(-0.9, 0.9, width, dtype=np.float32)
    light: np.ndarray = render.on(backend)(right, np.linspace(0.6, -0.6, height, dtype=np.float32))
    return light


@click.command(help=__doc__)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="A picture to write: ray_marcher.png.")
@click.option("--backend", help="An id that `vyre backends` lists; the most preferred one without it.")
def main(output: Path | None, backend: str | None) -> None:
    if output:
        Image.fromarray((picture(480, 720, backend) * 255).astype(np.uint8)).save(output)
    else:
        shades = (picture(32, 96, backend) * 9.99).astype(int)
        click.echo("\n".join("".join(SHADES[shade] for shade in row) for row in shades))


if __name__ == "__main__":
    main()
