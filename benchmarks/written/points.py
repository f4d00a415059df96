"""Points: distances, transformations, and rays through a grid."""

import math

import numpy as np

import vyre as vy
from written.pair import Array, Pair, f32, floats


@vy.kernel
def nearest_centre(p: vy.Array[vy.f32, "n", 3], centres: vy.Array[vy.f32, "k", 3]) -> vy.Array[vy.u32, "n"]:
    i = vy.index()
    best, at = vy.f32(1e30), vy.u32(0)
    for k in range(len(centres)):
        dx, dy, dz = p[i, 0] - centres[k, 0], p[i, 1] - centres[k, 1], p[i, 2] - centres[k, 2]
        distance = dx * dx + dy * dy + dz * dz
        if distance < best:
            best = distance
            at = k
    return at


def nearest_centre_loops(p, centres):
    out = np.empty(p.shape[0], np.uint32)
    for i in range(p.shape[0]):
        best, at = f32(1e30), 0
        for k in range(centres.shape[0]):
            dx, dy, dz = p[i, 0] - centres[k, 0], p[i, 1] - centres[k, 1], p[i, 2] - centres[k, 2]
            distance = dx * dx + dy * dy + dz * dz
            if distance < best:
                best = distance
                at = k
        out[i] = at
    return out


@vy.kernel
def distances(a: vy.Array[vy.f32, "n", "d"], b: vy.Array[vy.f32, "m", "d"]) -> vy.Array[vy.f32, "n", "m"]:
    i, j = vy.index()
    total = vy.f32(0)
    for k in range(a.shape[1]):
        along = a[i, k] - b[j, k]
        total += along * along
    return vy.sqrt(total)


def distances_loops(a, b):
    n, d = a.shape
    m = b.shape[0]
    out = np.empty((n, m), np.float32)
    for i in range(n):
        for j in range(m):
            total = f32(0)
            for k in range(d):
                along = a[i, k] - b[j, k]
                total += along * along
            out[i, j] = math.sqrt(total)
    return out


@vy.kernel
def norms(p: vy.Array[vy.f32, "n", 3]) -> vy.Array[vy.f32, "n"]:
    i = vy.index()
    return vy.sqrt(p[i, 0] * p[i, 0] + p[i, 1] * p[i, 1] + p[i, 2] * p[i, 2])


def norms_loops(p):
    out = np.empty(p.shape[0], np.float32)
    for i in range(p.shape[0]):
        out[i] = math.sqrt(p[i, 0] * p[i, 0] + p[i, 1] * p[i, 1] + p[i, 2] * p[i, 2])
    return out


@vy.kernel(shape=("n",))
def transform(p: vy.Array[vy.f32, "n", 3], m: vy.Array[vy.f32, 4, 4], out: vy.Out[vy.f32, "n", 3]) -> None:
    i = vy.index()
    for row in range(3):
        total = m[row, 3]
        for c in range(3):
            total += m[row, c] * p[i, c]
        out[i, row] = total


def transform_loops(p, m):
    out = np.empty_like(p)
    for i in range(p.shape[0]):
        for row in range(3):
            total = m[row, 3]
            for c in range(3):
                total += m[row, c] * p[i, c]
            out[i, row] = total
    return out


@vy.kernel(shape=("n",))
def cast_rays(angles: vy.Array[vy.f32, "n"], grid: vy.Array[vy.u8, 64, 64], out: vy.Out[vy.f32, "n"]) -> None:
    i = vy.index()
    dx, dy = vy.cos(angles[i]), vy.sin(angles[i])
    x, y, length = vy.f32(32.0), vy.f32(32.0), vy.f32(0)
    for _ in range(200):
        if grid[vy.u32(y), vy.u32(x)] != 0:
            break
        x += dx * 0.25
        y += dy * 0.25
        length += 0.25
    out[i] = length


def cast_rays_loops(angles, grid):
    out = np.empty_like(angles)
    for i in range(angles.size):
        dx, dy = f32(math.cos(angles[i])), f32(math.sin(angles[i]))
        x, y, length = f32(32), f32(32), f32(0)
        for _ in range(200):
            if x >= 0 and y >= 0 and x < 64 and y < 64 and grid[int(y), int(x)] != 0:
                break
            x += dx * f32(0.25)
            y += dy * f32(0.25)
            length += f32(0.25)
        out[i] = length
    return out


def room(rays: int) -> tuple[Array, Array]:
    """Angles, and a grid with walls around it and a few obstacles."""
    grid = (floats(64, 64) < 0.02).astype(np.uint8)
    grid[0] = grid[-1] = grid[:, 0] = grid[:, -1] = 1
    grid[32, 32] = 0
    return floats(rays) * f32(6.28), grid


PAIRS = {
    "k-means, nearest centre": Pair(
        kernel=nearest_centre,
        loops=nearest_centre_loops,
        make=lambda n: (floats(n, 3), floats(n + 32, 3)[n:]),
        full=50_000,
        toy=20,
    ),
    "distances": Pair(
        kernel=distances,
        loops=distances_loops,
        make=lambda n: (floats(n, 16), floats(n * 9 // 4, 16)[n:]),
        full=400,
        toy=8,
    ),
    "norms": Pair(kernel=norms, loops=norms_loops, make=lambda n: (floats(n, 3),), full=300_000, toy=20),
    "transform points": Pair(
        kernel=transform, loops=transform_loops, make=lambda n: (floats(n, 3), floats(4, 4)), full=300_000, toy=20
    ),
    "ray casting": Pair(kernel=cast_rays, loops=cast_rays_loops, make=room, full=20_000, toy=20),
}
