"""The workloads as NumPy says them, into arrays that exist; none for what would be a loop of Python."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import programs
from programs.elementwise import COEFFICIENTS
from programs.sizes import GROUP, KEY
from workloads import Array
from workloads.elementwise import escaped
from workloads.graph import stepped
from workloads.hashing import hashed
from workloads.matrix import row_sums
from workloads.particles import accelerations
from workloads.stencil import smoothed, warmed
from workloads.text import found


def copy(x: Array, out: Array) -> None:
    np.copyto(out, x)


def xor(x: Array, out: Array) -> None:
    np.bitwise_xor(x, np.uint32(KEY), out=out)


def saxpy(x: Array, y: Array, out: Array) -> None:
    np.multiply(x, np.float32(2.5), out=out)
    out += y


def polynomial(x: Array, out: Array) -> None:
    out[:] = np.float32(COEFFICIENTS[-1])
    for coefficient in reversed(COEFFICIENTS[:-1]):
        out *= x
        out += np.float32(coefficient)


def escape_time(x: Array, y: Array, out: Array) -> None:
    out[:] = escaped(x, y)


def hash_chain(x: Array, out: Array) -> None:
    out[:] = hashed(x)


def reduction(x: Array, out: Array) -> None:
    np.sum(x.reshape(-1, GROUP), axis=1, dtype=np.uint32, out=out)


def histogram(x: Array, out: Array) -> None:
    out[:] = programs.counts(x)


def prefix_sum(x: Array, out: Array) -> None:
    np.cumsum(x, dtype=np.uint32, out=out)


def transpose(a: Array, out: Array) -> None:
    np.copyto(out, a.T)


def matmul(a: Array, b: Array, out: Array) -> None:
    np.matmul(a, b, out=out)


def sparse_product(starts: Array, columns: Array, values: Array, vector: Array, out: Array) -> None:
    out[:] = row_sums(values * vector[columns], starts)


def byte_scan(text: Array, out: Array) -> None:
    out[:] = found(text)


def word_scan(text: Array, out: Array) -> None:
    out.view(np.uint8)[:] = found(text.view(np.uint8))


def bitonic_sort(out: Array) -> None:
    out.sort()


def bfs_step(starts: Array, neighbours: Array, level: Array, distances: Array, out: Array) -> None:
    out[:] = stepped(starts, neighbours, distances, int(level[0]))


def n_body(places: Array, out: Array) -> None:
    out[:] = accelerations(places)


def stencil(x: Array, out: Array) -> None:
    smoothed(x, out)


def stencil_2d(plate: Array, out: Array) -> None:
    warmed(plate, out)


KERNELS: dict[str, Callable[..., None]] = {
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
    "blocked matmul": matmul,
    "sparse product": sparse_product,
    "byte scan": byte_scan,
    "word scan": word_scan,
    "bitonic sort": bitonic_sort,
    "bfs step": bfs_step,
    "n-body": n_body,
}
"""`matmul` is what its BLAS does, `bitonic_sort` a sort of its own."""
