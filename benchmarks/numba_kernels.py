"""The workloads as Numba takes them: loops over arrays, one thread a core."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from programs.elementwise import COEFFICIENTS, MAX_ROUNDS
from programs.graph import FAR
from programs.particles import SOFTENING
from programs.sizes import BINS, GROUP, KEY, PATTERN, ROUNDS
from programs.text import LINE, transitions

_KEY, _FIVE, _ADD, _FIRST = np.uint32(KEY), np.uint32(5), np.uint32(0xE6546B64), np.uint32(0x9E3779B9)
_13, _19 = np.uint32(13), np.uint32(19)
_LETTERS = np.frombuffer(PATTERN, np.uint8)
_COEFFICIENTS = tuple(np.float32(x) for x in COEFFICIENTS)
_TABLE, _LAST = np.array(transitions(), np.uint8), len(PATTERN)
_FAR, _SOFTENING = np.uint32(FAR), np.float32(SOFTENING)
_HALF, _QUARTER, _ZERO, _ONE = np.float32(0.5), np.float32(0.25), np.float32(0), np.float32(1)
_TWO, _FOUR = np.float32(2), np.float32(4)
PARTS = 16


@njit(parallel=True)
def copy(x, out):
    for i in prange(x.size):
        out[i] = x[i]


@njit(parallel=True)
def xor(x, out):
    for i in prange(x.size):
        out[i] = x[i] ^ _KEY


@njit(parallel=True)
def saxpy(x, y, out):
    for i in prange(x.size):
        out[i] = np.float32(2.5) * x[i] + y[i]


@njit(parallel=True)
def polynomial(x, out):
    for i in prange(x.size):
        here, value = x[i], _COEFFICIENTS[32]
        for k in range(32):
            value = value * here + _COEFFICIENTS[31 - k]
        out[i] = value


@njit(parallel=True)
def escape_time(x, y, out):
    for i in prange(x.size):
        a, b, rounds = x[i], y[i], 0
        while rounds < MAX_ROUNDS:
            aa, bb = a * a, b * b
            if aa + bb > _FOUR:
                break
            a, b = aa - bb + x[i], a * b * _TWO + y[i]
            rounds += 1
        out[i] = rounds


@njit(parallel=True)
def hash_chain(x, out):
    for i in prange(x.size):
        h = x[i]
        for n in range(ROUNDS):
            h ^= _FIRST + np.uint32(n)
            h = np.uint32(np.uint32(h << _13) | np.uint32(h >> _19))
            h = np.uint32(np.uint32(h * _FIVE) + _ADD)
        out[i] = h


@njit(parallel=True)
def stencil(x, out):
    last = x.size - 1
    for i in prange(1, last):
        out[i] = x[i - 1] * _QUARTER + x[i] * _HALF + x[i + 1] * _QUARTER
    out[0] = x[0] * _HALF + x[1] * _QUARTER
    out[last] = x[last - 1] * _QUARTER + x[last] * _HALF


@njit(parallel=True)
def stencil_2d(plate, out):
    height, width = plate.shape
    for y in prange(height):
        if y == 0 or y == height - 1:
            out[y, :] = plate[y, :]
        else:
            out[y, 0] = plate[y, 0]
            for x in range(1, width - 1):
                near = plate[y - 1, x] + plate[y, x - 1] + plate[y, x + 1] + plate[y + 1, x]
                out[y, x] = near * _QUARTER
            out[y, width - 1] = plate[y, width - 1]


@njit(parallel=True)
def reduction(x, out):
    for group in prange(out.size):
        total = np.uint32(0)
        for i in range(group * GROUP, (group + 1) * GROUP):
            total = np.uint32(total + x[i])
        out[group] = total


@njit(parallel=True)
def histogram(x, out):
    here = np.zeros((PARTS, BINS), np.uint32)
    each = x.size // PARTS
    for part in prange(PARTS):
        for i in range(part * each, (part + 1) * each):
            here[part, x[i] & 255] += 1
    for bin in range(BINS):
        total = np.uint32(0)
        for part in range(PARTS):
            total += here[part, bin]
        out[bin] = total


@njit(parallel=True)
def prefix_sum(x, out):
    before = np.zeros(PARTS + 1, np.uint32)
    each = x.size // PARTS
    for part in prange(PARTS):
        total = np.uint32(0)
        for i in range(part * each, (part + 1) * each):
            total = np.uint32(total + x[i])
        before[part + 1] = total
    for part in range(PARTS):
        before[part + 1] += before[part]
    for part in prange(PARTS):
        total = before[part]
        for i in range(part * each, (part + 1) * each):
            total = np.uint32(total + x[i])
            out[i] = total


@njit(parallel=True)
def transpose(a, out):
    rows, columns = a.shape
    for strip in prange(rows // 32):
        for left in range(0, columns, 32):
            for x in range(left, left + 32):
                for y in range(strip * 32, strip * 32 + 32):
                    out[x, y] = a[y, x]


@njit(parallel=True)
def matmul(a, b, out):
    n = a.shape[0]
    for row in prange(n):
        for x in range(n):
            out[row, x] = np.float32(0)
        for k in range(n):
            left = a[row, k]
            for x in range(n):
                out[row, x] += left * b[k, x]


@njit(parallel=True)
def sparse_product(starts, columns, values, vector, out):
    for row in prange(out.size):
        total = _ZERO
        for n in range(starts[row], starts[row + 1]):
            total += values[n] * vector[columns[n]]
        out[row] = total


@njit(parallel=True)
def byte_scan(text, out):
    places = text.size - 7
    for i in prange(places):
        same = True
        for n in range(8):
            same &= text[i + n] == _LETTERS[n]
        out[i] = same
    for i in range(places, text.size):
        out[i] = 0


@njit(parallel=True)
def automaton(text, out):
    for line in prange(out.size):
        state, found = 0, 0
        for n in range(line * LINE, (line + 1) * LINE):
            state = _TABLE[state * 256 + text[n]]
            found += state == _LAST
        out[line] = found


@njit(parallel=True)
def bfs_step(starts, neighbours, level, distances, out):
    now = level[0]
    for vertex in prange(out.size):
        distance = distances[vertex]
        if distance == _FAR:
            for n in range(starts[vertex], starts[vertex + 1]):
                if distances[neighbours[n]] == now:
                    distance = np.uint32(now + np.uint32(1))
                    break
        out[vertex] = distance


@njit(parallel=True)
def n_body(places, out):
    for i in prange(places.shape[1]):
        x, y, z = places[0, i], places[1, i], places[2, i]
        to_x, to_y, to_z = _ZERO, _ZERO, _ZERO
        for n in range(places.shape[1]):
            dx, dy, dz = places[0, n] - x, places[1, n] - y, places[2, n] - z
            square = dx * dx + dy * dy + dz * dz + _SOFTENING
            strength = _ONE / (square * np.sqrt(square))
            to_x += dx * strength
            to_y += dy * strength
            to_z += dz * strength
        out[0, i], out[1, i], out[2, i] = to_x, to_y, to_z


KERNELS = {
    "copy": copy,
    "xor": xor,
    "saxpy": saxpy,
    "polynomial": polynomial,
    "escape time": escape_time,
    "stencil": stencil,
    "stencil 2d": stencil_2d,
    "reduction": reduction,
    "histogram": histogram,
    "prefix sum": prefix_sum,
    "hash chain": hash_chain,
    "transpose": transpose,
    "matmul": matmul,
    "sparse product": sparse_product,
    "byte scan": byte_scan,
    "automaton": automaton,
    "bfs step": bfs_step,
    "n-body": n_body,
}
