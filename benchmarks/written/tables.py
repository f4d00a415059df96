"""Tables: elements that are read or written at places which the data name."""

import numpy as np

import vyre as vy
from written.pair import Array, Pair, doubles, f32, floats, octets, u32, words


@vy.kernel
def gather_f32(t: vy.Array[vy.f32, "m"], at: vy.Array[vy.u32, "n"]) -> vy.Array[vy.f32, "n"]:
    return t[at[vy.index()]]


@vy.kernel
def gather_f64(t: vy.Array[vy.f64, "m"], at: vy.Array[vy.u32, "n"]) -> vy.Array[vy.f64, "n"]:
    return t[at[vy.index()]]


@vy.kernel
def gather_u8(t: vy.Array[vy.u8, "m"], at: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u8, "n"]:
    return t[at[vy.index()]]


def gather_loops(t, at):
    out = np.empty(at.size, t.dtype)
    for i in range(at.size):
        j = at[i]
        out[i] = t[j] if j < t.size else 0
    return out


@vy.kernel(shape=("n", "w"))
def gather_rows(a: vy.Array[vy.f32, "m", "w"], at: vy.Array[vy.u32, "n"], out: vy.Out[vy.f32, "n", "w"]) -> None:
    y, x = vy.index()
    out[y, x] = a[at[y], x]


def gather_rows_loops(a, at):
    out = np.empty((at.size, a.shape[1]), np.float32)
    for y in range(at.size):
        for x in range(a.shape[1]):
            out[y, x] = a[at[y], x]
    return out


@vy.kernel
def products_f32(t: vy.Array[vy.f32, 4096], at: vy.Array[vy.u32, "n"]) -> vy.Array[vy.f32, "n"]:
    a = at[vy.index()]
    total = vy.f32(0)
    for j in range(16):
        total += t[(a + j * 37) & 4095] * t[(a * 3 + j) & 4095]
    return total


@vy.kernel
def products_f64(t: vy.Array[vy.f64, 4096], at: vy.Array[vy.u32, "n"]) -> vy.Array[vy.f64, "n"]:
    a = at[vy.index()]
    total = vy.f64(0)
    for j in range(16):
        total += t[(a + j * 37) & 4095] * t[(a * 3 + j) & 4095]
    return total


def products_loops(t, at):
    out = np.zeros(at.size, t.dtype)
    for i in range(at.size):
        a, total = at[i], t.dtype.type(0)
        for j in range(16):
            total += t[(a + u32(j) * u32(37)) & u32(4095)] * t[(a * u32(3) + u32(j)) & u32(4095)]
        out[i] = total
    return out


@vy.kernel(shape=("n",))
def scatter(x: vy.Array[vy.f32, "n"], at: vy.Array[vy.u32, "n"], out: vy.Out[vy.f32, "n"]) -> None:
    i = vy.index()
    out[at[i]] = x[i]


def scatter_loops(x, at):
    out = np.zeros_like(x)
    for i in range(at.size):
        j = at[i]
        if j < x.size:
            out[j] = x[i]
    return out


@vy.kernel(shape="n")
def sums_by_group(k: vy.Array[vy.u32, "n"], v: vy.Array[vy.u32, "n"], out: vy.InOut[vy.u32, 256]) -> None:
    i = vy.index()
    out.atomic_add(k[i], v[i])


def sums_by_group_loops(k, v, out):
    out = out.copy()
    for i in range(k.size):
        out[k[i]] += v[i]
    return out


@vy.kernel
def interpolate(t: vy.Array[vy.f32, "m"], x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    place = x[vy.index()] * vy.f32(len(t) - 1)
    k = vy.u32(place)
    part = place - vy.f32(k)
    return t[k] * (1.0 - part) + t[vy.min(k + 1, len(t) - 1)] * part


def interpolate_loops(t, x):
    out = np.empty_like(x)
    for i in range(x.size):
        place = x[i] * f32(t.size - 1)
        k = int(place)
        part = place - f32(k)
        out[i] = t[k] * (f32(1) - part) + t[min(k + 1, t.size - 1)] * part
    return out


@vy.kernel
def lookup_u8(a: vy.Array[vy.u8, "h", "w"], t: vy.Array[vy.u8, 256]) -> vy.Array[vy.u8, "h", "w"]:
    y, x = vy.index()
    return t[a[y, x]]


def lookup_u8_loops(a, t):
    out = np.empty_like(a)
    for y in range(a.shape[0]):
        for x in range(a.shape[1]):
            out[y, x] = t[a[y, x]]
    return out


@vy.kernel
def lookup_u32(x: vy.Array[vy.u8, "n"], t: vy.Array[vy.u32, 256]) -> vy.Array[vy.u32, "n"]:
    return t[x[vy.index()]]


def lookup_u32_loops(x, t):
    out = np.empty(x.size, np.uint32)
    for i in range(x.size):
        out[i] = t[x[i]]
    return out


@vy.kernel(shape=("n",))
def base64(a: vy.Array[vy.u8, "n", 3], t: vy.Array[vy.u8, 64], out: vy.Out[vy.u8, "n", 4]) -> None:
    i = vy.index()
    word = (vy.u32(a[i, 0]) << 16) | (vy.u32(a[i, 1]) << 8) | vy.u32(a[i, 2])
    for k in range(4):
        out[i, k] = t[(word >> (18 - 6 * k)) & 63]


def base64_loops(a, t):
    out = np.empty((a.shape[0], 4), np.uint8)
    for i in range(a.shape[0]):
        word = (u32(a[i, 0]) << u32(16)) | (u32(a[i, 1]) << u32(8)) | u32(a[i, 2])
        out[i, 0] = t[(word >> u32(18)) & u32(63)]
        out[i, 1] = t[(word >> u32(12)) & u32(63)]
        out[i, 2] = t[(word >> u32(6)) & u32(63)]
        out[i, 3] = t[word & u32(63)]
    return out


@vy.kernel(shape=("n",))
def crc32(a: vy.Array[vy.u8, "n", "m"], t: vy.Array[vy.u32, 256], out: vy.Out[vy.u32, "n"]) -> None:
    i = vy.index()
    c = vy.u32(0xFFFFFFFF)
    for j in range(a.shape[1]):
        c = (c >> 8) ^ t[(c ^ vy.u32(a[i, j])) & 255]
    out[i] = ~c


def crc32_loops(a, t):
    out = np.empty(a.shape[0], np.uint32)
    for i in range(a.shape[0]):
        c = u32(0xFFFFFFFF)
        for j in range(a.shape[1]):
            c = (c >> u32(8)) ^ t[(c ^ u32(a[i, j])) & u32(255)]
        out[i] = ~c
    return out


def crc32_table() -> Array:
    """What eight steps of the polynomial make of each byte."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ 0xEDB88320, table >> 1).astype(np.uint32)
    return table


def permutation(n: int) -> Array:
    return np.random.default_rng(5).permutation(n).astype(np.uint32)


LETTERS = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)
PAIRS = {
    "gather f32": Pair(
        kernel=gather_f32, loops=gather_loops, make=lambda n: (floats(4096), words(0, 4096, n)), full=500_000, toy=50
    ),
    "gather f64": Pair(
        kernel=gather_f64, loops=gather_loops, make=lambda n: (doubles(4096), words(0, 4096, n)), full=500_000, toy=50
    ),
    "gather u8": Pair(
        kernel=gather_u8,
        loops=gather_loops,
        make=lambda n: (octets(0, 256, 4096), words(0, 4096, n)),
        full=500_000,
        toy=50,
    ),
    "gather f32 from 16 MiB": Pair(
        kernel=gather_f32, loops=gather_loops, make=lambda n: (floats(n), permutation(n)), full=2**22, toy=50
    ),
    "gather rows": Pair(
        kernel=gather_rows,
        loops=gather_rows_loops,
        make=lambda n: (floats(1000, 128), words(0, 1000, n)),
        full=5000,
        toy=3,
    ),
    "products of gathers, f32": Pair(
        kernel=products_f32,
        loops=products_loops,
        make=lambda n: (floats(4096), words(0, 2**32, n)),
        full=100_000,
        toy=20,
    ),
    "products of gathers, f64": Pair(
        kernel=products_f64,
        loops=products_loops,
        make=lambda n: (doubles(4096), words(0, 2**32, n)),
        full=100_000,
        toy=20,
    ),
    "scatter f32": Pair(
        kernel=scatter, loops=scatter_loops, make=lambda n: (floats(n), permutation(n)), full=100_000, toy=50
    ),
    "sums by group": Pair(
        kernel=sums_by_group,
        loops=sums_by_group_loops,
        make=lambda n: (words(0, 256, n), words(0, 1000, n), np.zeros(256, np.uint32)),
        full=500_000,
        toy=50,
    ),
    "interpolation in a table": Pair(
        kernel=interpolate, loops=interpolate_loops, make=lambda n: (floats(1000), floats(n)), full=500_000, toy=50
    ),
    "lookup of u8 in u8": Pair(
        kernel=lookup_u8,
        loops=lookup_u8_loops,
        make=lambda side: (octets(0, 256, side, side), octets(0, 256, 256)),
        full=1000,
        toy=9,
    ),
    "lookup of u8 in u32": Pair(
        kernel=lookup_u32,
        loops=lookup_u32_loops,
        make=lambda n: (octets(0, 256, n), words(0, 99, 256)),
        full=1_000_000,
        toy=50,
    ),
    "base64": Pair(
        kernel=base64, loops=base64_loops, make=lambda n: (octets(0, 256, n, 3), LETTERS), full=300_000, toy=20
    ),
    "CRC-32 of rows": Pair(
        kernel=crc32, loops=crc32_loops, make=lambda n: (octets(0, 256, n, 256), crc32_table()), full=2000, toy=3
    ),
}
