"""Statistics: rows that become a number or a row, and formulas of elementary functions."""

import math

import numpy as np

import vyre as vy
from written.pair import Array, Pair, doubles, f32, floats


@vy.kernel(shape=("h",))
def softmax(a: vy.Array[vy.f32, "h", "w"], out: vy.InOut[vy.f32, "h", "w"]) -> None:
    i = vy.index()
    w = a.shape[1]
    highest = a[i, 0]
    for j in range(w):
        highest = vy.max(highest, a[i, j])
    total = vy.f32(0)
    for j in range(w):
        e = vy.exp(a[i, j] - highest)
        out[i, j] = e
        total += e
    for j in range(w):
        out[i, j] = out[i, j] / total


def softmax_loops(a, out):
    out = np.empty_like(a)
    for i in range(a.shape[0]):
        highest = a[i, 0]
        for j in range(a.shape[1]):
            highest = max(highest, a[i, j])
        total = f32(0)
        for j in range(a.shape[1]):
            e = f32(math.exp(a[i, j] - highest))
            out[i, j] = e
            total += e
        for j in range(a.shape[1]):
            out[i, j] /= total
    return out


@vy.kernel
def row_sums(a: vy.Array[vy.f32, "h", "w"]) -> vy.Array[vy.f32, "h"]:
    i = vy.index()
    total = vy.f32(0)
    for j in range(a.shape[1]):
        total += a[i, j]
    return total


def row_sums_loops(a):
    out = np.empty(a.shape[0], np.float32)
    for i in range(a.shape[0]):
        total = f32(0)
        for j in range(a.shape[1]):
            total += a[i, j]
        out[i] = total
    return out


@vy.kernel
def column_sums(a: vy.Array[vy.f32, "h", "w"]) -> vy.Array[vy.f32, "w"]:
    i = vy.index()
    total = vy.f32(0)
    for j in range(a.shape[0]):
        total += a[j, i]
    return total


def column_sums_loops(a):
    out = np.zeros(a.shape[1], np.float32)
    for j in range(a.shape[0]):
        for i in range(a.shape[1]):
            out[i] += a[j, i]
    return out


@vy.kernel
def matrix_vector(a: vy.Array[vy.f32, "h", "w"], x: vy.Array[vy.f32, "w"]) -> vy.Array[vy.f32, "h"]:
    i = vy.index()
    total = vy.f32(0)
    for j in range(a.shape[1]):
        total += a[i, j] * x[j]
    return total


def matrix_vector_loops(a, x):
    out = np.empty(a.shape[0], np.float32)
    for i in range(a.shape[0]):
        total = f32(0)
        for j in range(a.shape[1]):
            total += a[i, j] * x[j]
        out[i] = total
    return out


@vy.kernel(shape=("h",))
def layer_norm(a: vy.Array[vy.f32, "h", "w"], out: vy.Out[vy.f32, "h", "w"]) -> None:
    i = vy.index()
    w = a.shape[1]
    total, squares = vy.f32(0), vy.f32(0)
    for j in range(w):
        total += a[i, j]
    mean = total / vy.f32(w)
    for j in range(w):
        t = a[i, j] - mean
        squares += t * t
    scale = 1.0 / vy.sqrt(squares / vy.f32(w) + 1e-5)
    for j in range(w):
        out[i, j] = (a[i, j] - mean) * scale


def layer_norm_loops(a):
    out = np.empty_like(a)
    for i in range(a.shape[0]):
        w = a.shape[1]
        total, squares = f32(0), f32(0)
        for j in range(w):
            total += a[i, j]
        mean = total / f32(w)
        for j in range(w):
            t = a[i, j] - mean
            squares += t * t
        scale = f32(1) / f32(math.sqrt(squares / f32(w) + f32(1e-5)))
        for j in range(w):
            out[i, j] = (a[i, j] - mean) * scale
    return out


@vy.kernel(shape=("n",))
def attention(
    q: vy.Array[vy.f32, "n", "d"],
    k: vy.Array[vy.f32, "m", "d"],
    v: vy.Array[vy.f32, "m", "d"],
    out: vy.InOut[vy.f32, "n", "d"],
) -> None:
    i = vy.index()
    d = q.shape[1]
    highest, total = vy.f32(-1e30), vy.f32(0)
    for c in range(d):
        out[i, c] = 0.0
    for j in range(len(k)):
        score = vy.f32(0)
        for c in range(d):
            score += q[i, c] * k[j, c]
        higher = vy.max(highest, score)
        before, now = vy.exp(highest - higher), vy.exp(score - higher)
        total = total * before + now
        highest = higher
        for c in range(d):
            out[i, c] = out[i, c] * before + now * v[j, c]
    for c in range(d):
        out[i, c] = out[i, c] / total


def attention_loops(q, k, v, out):
    n, d = q.shape
    out = np.zeros_like(q)
    for i in range(n):
        highest, total = f32(-1e30), f32(0)
        for j in range(k.shape[0]):
            score = f32(0)
            for c in range(d):
                score += q[i, c] * k[j, c]
            higher = max(highest, score)
            before, now = f32(math.exp(highest - higher)), f32(math.exp(score - higher))
            total = total * before + now
            highest = higher
            for c in range(d):
                out[i, c] = out[i, c] * before + now * v[j, c]
        for c in range(d):
            out[i, c] /= total
    return out


@vy.kernel(shape=("h",))
def smooth(a: vy.Array[vy.f32, "h", "w"], out: vy.Out[vy.f32, "h", "w"]) -> None:
    i = vy.index()
    state = vy.f32(0)
    for j in range(a.shape[1]):
        state = state * 0.9 + a[i, j] * 0.1
        out[i, j] = state


def smooth_loops(a):
    out = np.empty_like(a)
    for i in range(a.shape[0]):
        state = f32(0)
        for j in range(a.shape[1]):
            state = state * f32(0.9) + a[i, j] * f32(0.1)
            out[i, j] = state
    return out


@vy.kernel
def black_scholes(
    s: vy.Array[vy.f64, "n"], k: vy.Array[vy.f64, "n"], t: vy.Array[vy.f64, "n"]
) -> vy.Array[vy.f64, "n"]:
    i = vy.index()
    q = 0.2 * vy.sqrt(t[i])
    d1 = (vy.log(s[i] / k[i]) + (0.05 + 0.02) * t[i]) / q
    d2 = d1 - q
    a, b = 1.0 / (1.0 + 0.2316419 * vy.abs(d1)), 1.0 / (1.0 + 0.2316419 * vy.abs(d2))
    pa = a * (0.319381530 + a * (-0.356563782 + a * (1.781477937 + a * (-1.821255978 + a * 1.330274429))))
    pb = b * (0.319381530 + b * (-0.356563782 + b * (1.781477937 + b * (-1.821255978 + b * 1.330274429))))
    n1 = 1.0 - 0.3989422804 * vy.exp(-0.5 * d1 * d1) * pa
    n2 = 1.0 - 0.3989422804 * vy.exp(-0.5 * d2 * d2) * pb
    if d1 < 0.0:
        n1 = 1.0 - n1
    if d2 < 0.0:
        n2 = 1.0 - n2
    return s[i] * n1 - k[i] * vy.exp(-0.05 * t[i]) * n2


def black_scholes_loops(s, k, t):
    out = np.empty_like(s)
    for i in range(s.size):
        q = 0.2 * math.sqrt(t[i])
        d1 = (math.log(s[i] / k[i]) + (0.05 + 0.02) * t[i]) / q
        d2 = d1 - q
        a, b = 1.0 / (1.0 + 0.2316419 * abs(d1)), 1.0 / (1.0 + 0.2316419 * abs(d2))
        pa = a * (0.319381530 + a * (-0.356563782 + a * (1.781477937 + a * (-1.821255978 + a * 1.330274429))))
        pb = b * (0.319381530 + b * (-0.356563782 + b * (1.781477937 + b * (-1.821255978 + b * 1.330274429))))
        n1 = 1.0 - 0.3989422804 * math.exp(-0.5 * d1 * d1) * pa
        n2 = 1.0 - 0.3989422804 * math.exp(-0.5 * d2 * d2) * pb
        if d1 < 0.0:
            n1 = 1.0 - n1
        if d2 < 0.0:
            n2 = 1.0 - n2
        out[i] = s[i] * n1 - k[i] * math.exp(-0.05 * t[i]) * n2
    return out


@vy.kernel
def waves(x: vy.Array[vy.f64, "n"]) -> vy.Array[vy.f64, "n"]:
    t = x[vy.index()]
    return vy.sin(t) * vy.exp(-t * t) + vy.sqrt(vy.abs(t))


def waves_loops(x):
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = math.sin(x[i]) * math.exp(-x[i] * x[i]) + math.sqrt(abs(x[i]))
    return out


@vy.kernel
def differences(a: vy.Array[vy.i64, "n"]) -> vy.Array[vy.i64, "n"]:
    i = vy.index()
    return a[i] - a[vy.max(i, 1) - 1]


def differences_loops(a):
    out = np.empty_like(a)
    for i in range(a.size):
        out[i] = a[i] - a[max(i, 1) - 1]
    return out


def queries(n: int) -> tuple[Array, ...]:
    return (*floats(3, n, 32), np.zeros((n, 32), f32))


PAIRS = {
    "softmax of rows": Pair(
        kernel=softmax,
        loops=softmax_loops,
        make=lambda h: (floats(h, 256), np.zeros((h, 256), f32)),
        full=2000,
        toy=2,
        tolerance=1e-6,
    ),
    "row sums": Pair(kernel=row_sums, loops=row_sums_loops, make=lambda h: (floats(h, 512),), full=2000, toy=3),
    "column sums": Pair(
        kernel=column_sums, loops=column_sums_loops, make=lambda h: (floats(h, 512),), full=2000, toy=3
    ),
    "matrix × vector": Pair(
        kernel=matrix_vector, loops=matrix_vector_loops, make=lambda h: (floats(h, 512), floats(512)), full=2000, toy=3
    ),
    "layer norm of rows": Pair(
        kernel=layer_norm, loops=layer_norm_loops, make=lambda h: (floats(h, 256),), full=2000, toy=3
    ),
    "attention": Pair(kernel=attention, loops=attention_loops, make=queries, full=200, toy=4, tolerance=1e-6),
    "smoothing of rows": Pair(
        kernel=smooth, loops=smooth_loops, make=lambda side: (floats(side, side),), full=1000, toy=9
    ),
    "Black–Scholes": Pair(
        kernel=black_scholes,
        loops=black_scholes_loops,
        make=lambda n: tuple(doubles(3, n) + np.array([[0.5], [0.5], [0.1]])),
        full=100_000,
        toy=50,
        tolerance=1e-12,
    ),
    "sin and exp of f64": Pair(
        kernel=waves, loops=waves_loops, make=lambda n: (doubles(n) * 10,), full=200_000, toy=50, tolerance=1e-14
    ),
    "differences of i64": Pair(
        kernel=differences,
        loops=differences_loops,
        make=lambda n: ((doubles(n) * 1000).astype(np.int64),),
        full=300_000,
        toy=50,
    ),
}
