"""Jacobi's iteration, bodies that attract each other, and a fast Fourier transform: each sum in the program's order.

NumPy works them out in the same order, rounding by rounding; that the answers mean something is checked as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, seeded
from vyre_foundation.build import apply, program
from vyre_foundation.dtype import DType, f32, f64, u32

Array: TypeAlias = "npt.NDArray[Any]"
GROUP = 32


def specs() -> Iterator[Spec]:
    for dtype in (f32, f64):
        yield seeded(address("programs", "jacobi", dtype=dtype), _jacobi, dtype)
        yield seeded(address("programs", "bodies", dtype=dtype), _bodies, dtype)
        yield seeded(address("programs", "fourier", dtype=dtype), _fourier, dtype)


def _uniform(rng: Random, dtype: DType, count: int, low: float = -1.0, high: float = 1.0) -> Array:
    return np.array([rng.uniform(low, high) for _ in range(count)], dtype.numpy)


def _jacobi(dtype: DType, rng: Random) -> tuple[Launch, Expected]:
    """Twelve rounds of x = (b - R x) / d for a diagonally dominant matrix, a grid barrier between rounds."""
    n, iterations = 40, 12
    matrix = _uniform(rng, dtype, n * n).reshape(n, n)
    matrix[np.arange(n), np.arange(n)] = n
    right = _uniform(rng, dtype, n)
    with program("jacobi", GROUP) as p:
        a, b, x = p.read("a", dtype), p.read("b", dtype), p.read_write("x", dtype, n)
        i = p.let(p.global_id(0))
        with p.range(0, iterations):
            total = p.var(b[i])
            with p.range(0, n) as k, p.if_(k != i):
                total.set(total - a[i * n + k] * x[k])
            value = p.let(total / a[i * n + i])
            p.grid_barrier()
            x[i] = value
            p.grid_barrier()
    solution = np.zeros(n, dtype.numpy)
    for _ in range(iterations):
        sums = right.copy()
        for j in range(n):
            others = np.arange(n) != j
            sums[others] = sums[others] - matrix[others, j] * solution[j]
        solution = sums / matrix.diagonal()
    assert np.allclose(matrix @ solution, right, atol=1e-4)
    inputs = {"a": matrix.tobytes(), "b": right.tobytes(), "x": bytes(n * dtype.size)}
    return Launch(program=p.build(), inputs=inputs), Exactly((solution.tobytes(),))


def _bodies(dtype: DType, rng: Random) -> tuple[Launch, Expected]:
    """Two steps of bodies in the plane, positions by tiles in workgroup memory; a square root and a quotient each."""
    count, steps = 2 * GROUP, 2
    x, y = _uniform(rng, dtype, count), _uniform(rng, dtype, count)
    mass = _uniform(rng, dtype, count, 0.5, 2.0)
    with program("bodies", GROUP) as p:
        masses = p.read("mass", dtype)
        xs, ys = p.read_write("x", dtype), p.read_write("y", dtype)
        tile_x, tile_y, tile_m = (p.workgroup(f"tile_{name}", dtype, GROUP) for name in "xym")
        i, local = p.let(p.global_id(0)), p.let(p.local_id(0))
        own_x, own_y = p.var(xs[i]), p.var(ys[i])
        speed_x, speed_y = p.var(0.0, dtype), p.var(0.0, dtype)
        with p.range(0, steps):
            with p.range(0, count // GROUP) as tile:
                tile_x[local] = xs[tile * GROUP + local]
                tile_y[local] = ys[tile * GROUP + local]
                tile_m[local] = masses[tile * GROUP + local]
                p.barrier()
                with p.range(0, GROUP) as k:
                    dx, dy = p.let(tile_x[k] - own_x), p.let(tile_y[k] - own_y)
                    square = p.let(dx * dx + dy * dy + 0.01)
                    pull = p.let(tile_m[k] / (square * apply("sqrt", square)))
                    speed_x.set(speed_x + dx * pull * 0.001)
                    speed_y.set(speed_y + dy * pull * 0.001)
                p.barrier()
            own_x.set(own_x + speed_x)
            own_y.set(own_y + speed_y)
            p.grid_barrier()
            xs[i] = own_x
            ys[i] = own_y
            p.grid_barrier()
    end_x, end_y = _moved(x, y, mass, steps)
    inputs = {"x": x.tobytes(), "y": y.tobytes(), "mass": mass.tobytes()}
    return Launch(program=p.build(), inputs=inputs), Exactly((end_x.tobytes(), end_y.tobytes()))


def _moved(x: Array, y: Array, mass: Array, steps: int) -> tuple[Array, Array]:
    of, x, y = x.dtype.type, x.copy(), y.copy()
    vx, vy = np.zeros_like(x), np.zeros_like(x)
    for _ in range(steps):
        for k in range(len(x)):
            dx, dy = x[k] - x, y[k] - y
            square = dx * dx + dy * dy + of(0.01)
            pull = mass[k] / (square * np.sqrt(square))
            vx, vy = vx + dx * pull * of(0.001), vy + dy * pull * of(0.001)
        x, y = x + vx, y + vy
    momentum = np.array([(mass * vx).sum(), (mass * vy).sum()])
    assert np.allclose(momentum, 0.0, atol=1e-3)  # what pulls is pulled
    return x, y


def _fourier(dtype: DType, rng: Random) -> tuple[Launch, Expected]:
    """Radix two in workgroup memory: bits reversed, then a barrier for each of the six rounds of butterflies."""
    n, bits = 64, 6
    re, im = _uniform(rng, dtype, n), _uniform(rng, dtype, n)
    cosines = np.array([math.cos(2 * math.pi * k / n) for k in range(n // 2)], dtype.numpy)
    sines = np.array([-math.sin(2 * math.pi * k / n) for k in range(n // 2)], dtype.numpy)
    with program("fourier", n // 2) as p:
        source_re, source_im = p.read("re", dtype), p.read("im", dtype)
        cosine, sine = p.constant("cosine", dtype, cosines), p.constant("sine", dtype, sines)
        out_re, out_im = p.write("out_re", dtype, n), p.write("out_im", dtype, n)
        a, b = p.workgroup("a", dtype, n), p.workgroup("b", dtype, n)
        i = p.let(p.local_id(0))
        for k in (0, n // 2):
            turned = p.let(apply("reverse_bits", i + k) >> (32 - bits))
            a[turned] = source_re[i + k]
            b[turned] = source_im[i + k]
        p.barrier()
        one = p.let(1, u32)
        with p.range(0, bits) as round:
            half = p.let(one << round)
            place = p.let(i & (half - 1))
            top = p.let((i >> round << (round + 1)) + place)
            low = p.let(top + half)
            c, s = p.let(cosine[place << (bits - 1 - round)]), p.let(sine[place << (bits - 1 - round)])
            turned_re, turned_im = p.let(a[low] * c - b[low] * s), p.let(a[low] * s + b[low] * c)
            top_re, top_im = p.let(a[top]), p.let(b[top])
            a[top] = top_re + turned_re
            b[top] = top_im + turned_im
            a[low] = top_re - turned_re
            b[low] = top_im - turned_im
            p.barrier()
        for k in (0, n // 2):
            out_re[i + k] = a[i + k]
            out_im[i + k] = b[i + k]
    outputs = _transformed(re, im, cosines, sines, bits)
    assert np.allclose(outputs[0] + 1j * outputs[1], np.fft.fft(re.astype("f8") + 1j * im.astype("f8")), atol=1e-4)
    launch = Launch(program=p.build(), inputs={"re": re.tobytes(), "im": im.tobytes()}, grid=(1, 1, 1))
    return launch, Exactly(tuple(output.tobytes() for output in outputs))


def _transformed(re: Array, im: Array, cosines: Array, sines: Array, bits: int) -> tuple[Array, Array]:
    order = [int(f"{k:0{bits}b}"[::-1], 2) for k in range(1 << bits)]
    a, b = re[order], im[order]
    for round_ in range(bits):
        half = 1 << round_
        top = np.array([k for k in range(1 << bits) if not k & half])
        low, step = top + half, (top & (half - 1)) << (bits - 1 - round_)
        c, s = cosines[step], sines[step]
        turned_re, turned_im = a[low] * c - b[low] * s, a[low] * s + b[low] * c
        new_a, new_b = a.copy(), b.copy()
        new_a[top], new_b[top] = a[top] + turned_re, b[top] + turned_im
        new_a[low], new_b[low] = a[top] - turned_re, b[top] - turned_im
        a, b = new_a, new_b
    return a, b
