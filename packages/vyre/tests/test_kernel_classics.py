"""Kernels as programmers of GPUs write them, against NumPy: tiles, trees, shared counters, structures."""

import numpy as np
import pytest

import vyre as vy

TILE = 16
draw = np.random.default_rng(0)


@vy.kernel(workgroup_size=(TILE, TILE))
def transpose(a: vy.Array[vy.f32, "h", "w"]) -> vy.Array[vy.f32, "w", "h"]:
    tile = vy.workgroup(vy.f32, TILE, TILE + 1)
    x, y = vy.local_id(0), vy.local_id(1)
    tile[y, x] = a[vy.workgroup_id(0) * TILE + y, vy.workgroup_id(1) * TILE + x]
    vy.barrier()
    return tile[x, y]


TRANSPOSE = transpose.program.fingerprint()


def test_a_transpose_through_a_padded_tile() -> None:
    a = draw.random((33, 50), np.float32)
    assert np.array_equal(transpose.on("cpu")(a), a.T)


@vy.kernel(workgroup_size=(8, 4, 4))
def diffused(u: vy.Array[vy.f32, "d", "h", "w"], c: vy.f32) -> vy.Array[vy.f32, "d", "h", "w"]:
    z, y, x = vy.index()
    d, h, w = u.shape
    left, right = x - 1 if x > 0 else x, vy.min(x + 1, w - 1)
    up, down = max(y, 1) - 1, min(y + 1, h - 1)
    front, back = max(z, 1) - 1, min(z + 1, d - 1)
    sides = u[z, y, left] + u[z, y, right] + u[z, up, x] + u[z, down, x] + u[front, y, x] + u[back, y, x]
    return u[z, y, x] + c * (sides - 6 * u[z, y, x])


def test_a_stencil_of_three_axes_with_clamped_borders() -> None:
    u = draw.random((5, 6, 7), np.float32)
    p, s = np.pad(u, 1, mode="edge"), slice(1, -1)
    sides = p[s, s, :-2] + p[s, s, 2:] + p[s, :-2, s] + p[s, 2:, s] + p[:-2, s, s] + p[2:, s, s]
    assert np.array_equal(diffused.on("cpu")(u, 0.1), u + np.float32(0.1) * (sides - 6 * u))


@vy.kernel(workgroup_size=128, shape="n")
def block_sums(x: vy.Array[vy.u32, "n"], sums: vy.Out[vy.u32, "blocks"], blocks: vy.u32) -> None:
    shared, k = vy.workgroup(vy.u32, 128), vy.local_id()
    shared[k] = x[vy.global_id()]
    vy.barrier()
    stride = 64
    while stride > 0:
        if k < stride:
            shared[k] += shared[k + stride]
        vy.barrier()
        stride //= 2
    if k == 0:
        sums[vy.workgroup_id()] = shared[0]


def test_a_reduction_by_a_tree_in_workgroup_memory() -> None:
    x = draw.integers(0, 100, 1000).astype(np.uint32)
    expected = np.pad(x, (0, 24)).reshape(8, 128).sum(1)
    assert np.array_equal(block_sums.on("cpu")(x, blocks=8), expected)


@vy.kernel(workgroup_size=(16, 16), shape=("h", "w"))
def mandelbrot(out: vy.Out[vy.u8, "h", "w"], h: vy.u32, w: vy.u32, limit: vy.u32 = 50) -> None:
    row, column = vy.index()
    cx, cy = 3.0 * vy.f32(column) / vy.f32(w) - 2.0, 2.0 * vy.f32(row) / vy.f32(h) - 1.0
    zx, zy, n = vy.f32(0), vy.f32(0), vy.u32(0)
    while vy.bounded(zx * zx + zy * zy < 4.0 and n < limit, 255):
        zx, zy = zx * zx - zy * zy + cx, 2.0 * zx * zy + cy
        n += 1
    out[row, column] = vy.u8(n)


def test_the_escape_times_of_the_mandelbrot_set() -> None:
    h, w = 12, 18
    cx = np.float32(3) * np.arange(w, dtype=np.float32) / np.float32(w) - np.float32(2)
    cy = (np.float32(2) * np.arange(h, dtype=np.float32) / np.float32(h) - np.float32(1))[:, None]
    zx, zy, n = np.zeros((h, w), np.float32), np.zeros((h, w), np.float32), np.zeros((h, w), np.uint8)
    for _ in range(50):
        goes_on = zx * zx + zy * zy < 4
        n += goes_on
        new = zx * zx - zy * zy + cx, np.float32(2) * zx * zy + cy
        zx, zy = np.where(goes_on, new[0], zx), np.where(goes_on, new[1], zy)
    assert np.array_equal(mandelbrot.on("cpu")(h=h, w=w), n)


@vy.struct
class Star(vy.Struct):
    place: vy.Vec3[vy.f32]
    mass: vy.f32
    speed: vy.Vec3[vy.f32]


@vy.func
def pull(a: vy.Vec3[vy.f32], star: Star) -> vy.Vec3[vy.f32]:
    d = star.place - a
    inverse = 1.0 / vy.sqrt(vy.dot(d, d) + 0.01)
    return d * (star.mass * inverse * inverse * inverse)


@vy.kernel
def attracted(stars: vy.Array[Star, "n"], dt: vy.f32) -> vy.Array[Star, "n"]:
    star = stars[vy.index()]
    force = vy.Vec3[vy.f32](0, 0, 0)
    for j in range(len(stars)):
        force += pull(star.place, stars[j])
    star.speed += force * dt
    star.place += star.speed * dt
    return star


def test_bodies_that_attract_each_other() -> None:
    stars = np.zeros(20, Star.dtype)
    stars["place"], stars["mass"] = draw.normal(size=(20, 3)), draw.random(20)
    force = np.zeros((20, 3), np.float32)
    for j in range(20):
        d = stars["place"][j] - stars["place"]
        squares = d[:, 0] * d[:, 0] + d[:, 1] * d[:, 1] + d[:, 2] * d[:, 2]
        inverse = np.float32(1) / np.sqrt(squares + np.float32(0.01))
        force += d * (stars["mass"][j] * inverse * inverse * inverse)[:, None]
    found = attracted.on("cpu")(stars, 0.5)
    assert np.array_equal(found["speed"], force * np.float32(0.5))
    assert np.array_equal(found["place"], stars["place"] + found["speed"] * np.float32(0.5))


@vy.kernel(workgroup_size=256, shape="n")
def histogram(x: vy.Array[vy.u8, "n"], counts: vy.InOut[vy.u32, 256]) -> None:
    local, k = vy.workgroup(vy.u32, 256), vy.local_id()
    if vy.global_id() < x.size:
        local.atomic_add(x[vy.global_id()], 1)
    vy.barrier()
    counts.atomic_add(k, local[k])


def test_a_histogram_with_counters_of_workgroups() -> None:
    x = draw.integers(0, 256, 3000, np.uint8)
    found = histogram.on("cpu")(x, np.zeros(256, np.uint32))
    assert np.array_equal(found, np.bincount(x, minlength=256))


@vy.kernel(workgroup_size=128)
def scanned(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    buffer, k = vy.workgroup(vy.u32, 2, 128), vy.local_id()
    new, old = 0, 1
    buffer[new, k] = x[vy.index()]
    vy.barrier()
    for offset in (1, 2, 4, 8, 16, 32, 64):
        new, old = old, new
        buffer[new, k] = buffer[old, k] + (buffer[old, k - offset] if k >= offset else 0)
        vy.barrier()
    return buffer[new, k]


def test_a_prefix_sum_that_doubles_its_reach() -> None:
    x = draw.integers(0, 9, 256).astype(np.uint32)
    assert np.array_equal(scanned.on("cpu")(x).reshape(2, 128), x.reshape(2, 128).cumsum(1))


def test_the_lengths_of_a_tile_may_be_a_tuple() -> None:
    @vy.kernel(workgroup_size=(TILE, TILE))
    def transpose(a: vy.Array[vy.f32, "h", "w"]) -> vy.Array[vy.f32, "w", "h"]:
        tile = vy.workgroup(vy.f32, (TILE, TILE + 1))
        x, y = vy.local_id(0), vy.local_id(1)
        tile[y, x] = a[vy.workgroup_id(0) * TILE + y, vy.workgroup_id(1) * TILE + x]
        vy.barrier()
        return tile[x, y]

    assert transpose.program.fingerprint() == TRANSPOSE


def test_the_lengths_of_an_array_are_numbers() -> None:
    @vy.kernel
    def counted(a: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        own = vy.private(vy.f32, (len(a), 2))
        return own[0, 0]

    with pytest.raises(vy.KernelError, match="lengths of the axes must be positive integers that are known at compile"):
        _ = counted.program
