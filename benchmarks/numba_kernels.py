"""The kernels of the suite as Numba takes them: loops over arrays, one thread a core."""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from programs import BINS, GROUP, KEY, PATTERN, ROUNDS

_KEY, _FIVE, _ADD, _FIRST = np.uint32(KEY), np.uint32(5), np.uint32(0xE6546B64), np.uint32(0x9E3779B9)
_13, _19 = np.uint32(13), np.uint32(19)
_LETTERS = np.frombuffer(PATTERN, np.uint8)
PARTS = 16


@njit(parallel=True)
def xor(x, out):
    for i in prange(x.size):
        out[i] = x[i] ^ _KEY


@njit(parallel=True)
def saxpy(x, y, out):
    for i in prange(x.size):
        out[i] = np.float32(2.5) * x[i] + y[i]


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
def byte_scan(text, out):
    places = text.size - 7
    for i in prange(places):
        same = True
        for n in range(8):
            same &= text[i + n] == _LETTERS[n]
        out[i] = same
    for i in range(places, text.size):
        out[i] = 0


KERNELS = {
    "xor": xor,
    "saxpy": saxpy,
    "hash chain": hash_chain,
    "reduction": reduction,
    "histogram": histogram,
    "matmul": matmul,
    "byte scan": byte_scan,
}
