"""Loops of which each invocation has its own number of iterations, and arithmetic of integers."""

import numpy as np

import vyre as vy
from written.pair import Pair, doubles, f32, floats, octets, u32, words


@vy.kernel(shape=("h", "w"))
def mandelbrot(h: vy.u32, w: vy.u32, out: vy.Out[vy.u32, "h", "w"]) -> None:
    y, x = vy.index()
    cr, ci = vy.f32(x) / vy.f32(w) * 3.0 - 2.0, vy.f32(y) / vy.f32(h) * 2.0 - 1.0
    zr, zi, n = vy.f32(0), vy.f32(0), vy.u32(0)
    while vy.bounded(n < 100 and zr * zr + zi * zi < 4.0, 100):
        t = zr * zr - zi * zi + cr
        zi = 2.0 * zr * zi + ci
        zr = t
        n += 1
    out[y, x] = n


def mandelbrot_loops(h, w):
    out = np.empty((h, w), np.uint32)
    for y in range(h):
        for x in range(w):
            cr, ci = f32(x) / f32(w) * f32(3) - f32(2), f32(y) / f32(h) * f32(2) - f32(1)
            zr, zi, n = f32(0), f32(0), 0
            while n < 100 and zr * zr + zi * zi < f32(4):
                t = zr * zr - zi * zi + cr
                zi = f32(2) * zr * zi + ci
                zr = t
                n += 1
            out[y, x] = n
    return out


@vy.kernel(shape=("n",))
def collatz(a: vy.Array[vy.u32, "n"], out: vy.Out[vy.u32, "n"]) -> None:
    i = vy.index()
    x, n = a[i], vy.u32(0)
    while vy.bounded(x != 1, 1000):
        x = vy.select(x % 2 == 0, x // 2, 3 * x + 1)
        n += 1
    out[i] = n


def collatz_loops(a):
    out = np.empty(a.size, np.uint32)
    for i in range(a.size):
        x, n = a[i], u32(0)
        while x != u32(1):
            x = x // u32(2) if x % u32(2) == u32(0) else u32(3) * x + u32(1)
            n += u32(1)
        out[i] = n
    return out


@vy.kernel(shape=("n",))
def gcd(a: vy.Array[vy.u32, "n"], b: vy.Array[vy.u32, "n"], out: vy.Out[vy.u32, "n"]) -> None:
    i = vy.index()
    x, y = a[i], b[i]
    while vy.bounded(y != 0, 100):
        t = x % y
        x = y
        y = t
    out[i] = x


def gcd_loops(a, b):
    out = np.empty_like(a)
    for i in range(a.size):
        x, y = a[i], b[i]
        while y != 0:
            t = x % y
            x = y
            y = t
        out[i] = x
    return out


@vy.kernel
def primes(a: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u8, "n"]:
    x = a[vy.index()]
    found, d = vy.u8(1), vy.u32(3)
    if x % 2 == 0:
        return vy.u8(0)
    while vy.bounded(d * d <= x, 1000):
        if x % d == 0:
            found = vy.u8(0)
            break
        d += 2
    return found


def primes_loops(a):
    out = np.empty(a.size, np.uint8)
    for i in range(a.size):
        x = a[i]
        if x % u32(2) == 0:
            out[i] = 0
            continue
        found, d = 1, u32(3)
        while d * d <= x:
            if x % d == 0:
                found = 0
                break
            d += u32(2)
        out[i] = found
    return out


@vy.kernel(shape=("n",))
def newton(a: vy.Array[vy.f64, "n"], out: vy.Out[vy.f64, "n"]) -> None:
    i = vy.index()
    x = a[i]
    y = x
    for _ in range(50):
        z = 0.5 * (y + x / y)
        if vy.abs(z - y) < 1e-12:
            break
        y = z
    out[i] = y


def newton_loops(a):
    out = np.empty_like(a)
    for i in range(a.size):
        x = a[i]
        y = x
        for _ in range(50):
            z = 0.5 * (y + x / y)
            if abs(z - y) < 1e-12:
                break
            y = z
        out[i] = y
    return out


@vy.kernel(shape=("n",))
def monte_carlo(seeds: vy.Array[vy.u32, "n"], out: vy.Out[vy.u32, "n"]) -> None:
    i = vy.index()
    s, hits = seeds[i], vy.u32(0)
    for _ in range(200):
        s ^= s << 13
        s ^= s >> 17
        s ^= s << 5
        x = vy.f32(s >> 8) * (1.0 / 16777216.0)
        s ^= s << 13
        s ^= s >> 17
        s ^= s << 5
        y = vy.f32(s >> 8) * (1.0 / 16777216.0)
        if x * x + y * y < 1.0:
            hits += 1
    out[i] = hits


def monte_carlo_loops(seeds):
    out = np.empty(seeds.size, np.uint32)
    for i in range(seeds.size):
        s, hits = seeds[i], u32(0)
        for _ in range(200):
            s = u32(s ^ (s << u32(13)))
            s = u32(s ^ (s >> u32(17)))
            s = u32(s ^ (s << u32(5)))
            x = f32(s >> u32(8)) * f32(1.0 / 16777216.0)
            s = u32(s ^ (s << u32(13)))
            s = u32(s ^ (s >> u32(17)))
            s = u32(s ^ (s << u32(5)))
            y = f32(s >> u32(8)) * f32(1.0 / 16777216.0)
            if x * x + y * y < f32(1):
                hits += u32(1)
        out[i] = hits
    return out


@vy.kernel(shape=("n",))
def levenshtein(a: vy.Array[vy.u8, "n", 32], b: vy.Array[vy.u8, "n", 32], out: vy.Out[vy.u32, "n"]) -> None:
    i = vy.index()
    row = vy.private(vy.u32, 33)
    for j in range(33):
        row[j] = j
    for p in range(32):
        before = row[0]
        row[0] = p + 1
        for j in range(32):
            old = row[j + 1]
            cost = vy.select(a[i, p] == b[i, j], vy.u32(0), vy.u32(1))
            row[j + 1] = vy.min(vy.min(old + 1, row[j] + 1), before + cost)
            before = old
    out[i] = row[32]


def levenshtein_loops(a, b):
    n = a.shape[0]
    out = np.empty(n, np.uint32)
    row = np.empty(33, np.uint32)
    for i in range(n):
        for j in range(33):
            row[j] = j
        for p in range(32):
            before = row[0]
            row[0] = p + 1
            for j in range(32):
                old = row[j + 1]
                cost = u32(0) if a[i, p] == b[i, j] else u32(1)
                row[j + 1] = min(min(old + 1, row[j] + 1), before + cost)
                before = old
        out[i] = row[32]
    return out


@vy.kernel(shape=("n",))
def insertion_sort(a: vy.Array[vy.i32, "n", 16], out: vy.Out[vy.i32, "n", 16]) -> None:
    i = vy.index()
    row = vy.private(vy.i32, 16)
    for j in range(16):
        row[j] = a[i, j]
    for j in range(1, 16):
        x, k = row[j], j
        while vy.bounded(k > 0 and row[k - 1] > x, 16):
            row[k] = row[k - 1]
            k -= 1
        row[k] = x
    for j in range(16):
        out[i, j] = row[j]


def insertion_sort_loops(a):
    out = a.copy()
    for i in range(a.shape[0]):
        for j in range(1, 16):
            x, k = out[i, j], j
            while k > 0 and out[i, k - 1] > x:
                out[i, k] = out[i, k - 1]
                k -= 1
            out[i, k] = x
    return out


@vy.kernel(shape=("n",))
def search(text: vy.Array[vy.u8, "n"], pattern: vy.Array[vy.u8, "m"], out: vy.Out[vy.u8, "n"]) -> None:
    i = vy.index()
    hit = vy.u8(1)
    for j in range(len(pattern)):
        if text[i + j] != pattern[j]:
            hit = vy.u8(0)
            break
    out[i] = hit


def search_loops(text, pattern):
    n, m = text.size, pattern.size
    out = np.empty(n, np.uint8)
    for i in range(n):
        hit = 1
        for j in range(m):
            if i + j >= n or text[i + j] != pattern[j]:
                hit = 0
                break
        out[i] = hit
    return out


@vy.kernel
def floyd_warshall(d: vy.Array[vy.f32, "n", "n"], k: vy.u32) -> vy.Array[vy.f32, "n", "n"]:
    i, j = vy.index()
    return vy.min(d[i, j], d[i, k] + d[k, j])


def floyd_warshall_loops(d, k):
    n = d.shape[0]
    out = np.empty_like(d)
    for i in range(n):
        for j in range(n):
            out[i, j] = min(d[i, j], d[i, k] + d[k, j])
    return out


@vy.kernel
def divide(a: vy.Array[vy.u32, "n"], b: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    i = vy.index()
    return a[i] // b[i]


def divide_loops(a, b):
    out = np.empty_like(a)
    for i in range(a.size):
        out[i] = a[i] // b[i] if b[i] else 0
    return out


@vy.kernel
def remainder(a: vy.Array[vy.i64, "n"], m: vy.i64) -> vy.Array[vy.i64, "n"]:
    return vy.floor_mod(a[vy.index()], m)


def remainder_loops(a, m):
    out = np.empty_like(a)
    for i in range(a.size):
        out[i] = a[i] % m
    return out


@vy.kernel
def swap_bytes(a: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    x = a[vy.index()]
    return (x << 24) | ((x << 8) & 0xFF0000) | ((x >> 8) & 0xFF00) | (x >> 24)


def swap_bytes_loops(a):
    out = np.empty_like(a)
    for i in range(a.size):
        x = a[i]
        out[i] = (x << u32(24)) | ((x << u32(8)) & u32(0xFF0000)) | ((x >> u32(8)) & u32(0xFF00)) | (x >> u32(24))
    return out


PAIRS = {
    "Mandelbrot": Pair(
        kernel=mandelbrot,
        loops=mandelbrot_loops,
        make=lambda height: (u32(height), u32(height * 4 // 3)),
        full=300,
        toy=9,
    ),
    "Collatz": Pair(kernel=collatz, loops=collatz_loops, make=lambda n: (words(1, 100_000, n),), full=50_000, toy=20),
    "GCD": Pair(kernel=gcd, loops=gcd_loops, make=lambda n: tuple(words(1, 2**31, 2, n)), full=50_000, toy=20),
    "primes": Pair(kernel=primes, loops=primes_loops, make=lambda n: (words(10, 10**6, n),), full=50_000, toy=20),
    "Newton's square root": Pair(
        kernel=newton, loops=newton_loops, make=lambda n: (doubles(n) * 100 + 1,), full=50_000, toy=20
    ),
    "Monte Carlo": Pair(
        kernel=monte_carlo, loops=monte_carlo_loops, make=lambda n: (words(1, 2**32, n),), full=5000, toy=4
    ),
    "Levenshtein": Pair(
        kernel=levenshtein, loops=levenshtein_loops, make=lambda n: tuple(octets(97, 101, 2, n, 32)), full=3000, toy=2
    ),
    "insertion sort of rows": Pair(
        kernel=insertion_sort,
        loops=insertion_sort_loops,
        make=lambda n: (words(0, 2000, n, 16).astype(np.int32) - np.int32(1000),),
        full=20_000,
        toy=4,
    ),
    "search for a pattern": Pair(
        kernel=search,
        loops=search_loops,
        make=lambda n: (octets(97, 123, n), np.frombuffer(b"abcd", np.uint8)),
        full=500_000,
        toy=50,
    ),
    "Floyd–Warshall step": Pair(
        kernel=floyd_warshall, loops=floyd_warshall_loops, make=lambda n: (floats(n, n), u32(7)), full=800, toy=9
    ),
    "divide u32": Pair(
        kernel=divide,
        loops=divide_loops,
        make=lambda n: (words(0, 2**32, n), words(1, 1000, n)),
        full=500_000,
        toy=50,
    ),
    "remainder of i64": Pair(
        kernel=remainder,
        loops=remainder_loops,
        make=lambda n: ((doubles(n) * 2**60).astype(np.int64), np.int64(1_000_003)),
        full=300_000,
        toy=50,
    ),
    "swap bytes": Pair(
        kernel=swap_bytes, loops=swap_bytes_loops, make=lambda n: (words(0, 2**32, n),), full=500_000, toy=50
    ),
}
