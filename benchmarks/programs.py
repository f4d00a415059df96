"""The programs that several suites run, as a user would write them, with what they must give."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from vyre_foundation import Program, f32, program, u8, u32
from vyre_foundation.functions import rotl

U32 = npt.NDArray[np.uint32]
KEY = 5
GROUP = 256
BINS = 256
ROUNDS = 64
"""Of the hash chain."""
TILE = 16
PATTERN = b"abacabad"


def words(size: int) -> U32:
    """The same random words in every process."""
    return np.random.default_rng(1).integers(0, 2**32, size, dtype=np.uint32)


def group_sums(x: U32) -> U32:
    return x.reshape(-1, GROUP).sum(axis=1, dtype=np.uint32)


def counts(x: npt.NDArray[Any]) -> U32:
    return np.bincount(x & (BINS - 1), minlength=BINS).astype(np.uint32)


def earlier_equals(x: U32) -> U32:
    """How many elements before each one fall into its bin: the order in which a reference takes them."""
    bins = x & np.uint32(BINS - 1)
    order = np.argsort(bins, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(bins, minlength=BINS))[:-1]])
    ranks = np.empty_like(x)
    ranks[order] = np.arange(x.size) - starts[bins[order]]
    return ranks


def hashed(x: U32) -> U32:
    h = x.copy()
    for n in range(ROUNDS):
        h ^= np.uint32(0x9E3779B9 + n)
        h = (h << np.uint32(13)) | (h >> np.uint32(19))
        h *= np.uint32(5)
        h += np.uint32(0xE6546B64)
    return h


def found(text: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """1 where the pattern begins."""
    places = text.size - len(PATTERN) + 1
    at = np.ones(places, bool)
    for n, letter in enumerate(PATTERN):
        at &= text[n : n + places] == letter
    return np.concatenate([at, np.zeros(len(PATTERN) - 1, bool)]).view(np.uint8)


# ── programs ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def xor(group: int = GROUP) -> Program:
    with program("xor", group) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        out[p.global_id(0)] = x[p.global_id(0)] ^ KEY
    return p.build()


def saxpy() -> Program:
    with program("saxpy", GROUP) as p:
        x = p.read("x", f32)
        y, out = p.read("y", f32, like=x), p.write("out", f32, like=x)
        i = p.global_id(0)
        out[i] = x[i] * 2.5 + y[i]
    return p.build()


def hash_chain() -> Program:
    with program("hash_chain", GROUP) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        h = p.var(x[p.global_id(0)])
        with p.range(0, ROUNDS) as n:
            h.set(rotl(h ^ (n + 0x9E3779B9), 13) * 5 + 0xE6546B64)
        out[p.global_id(0)] = h
    return p.build()


def reduction(groups: int) -> Program:
    """One sum for each workgroup, by a tree in its memory. The grid is `groups`."""
    with program("reduction", GROUP) as p:
        x, out = p.read("x", u32), p.write("out", u32, groups)
        shared = p.workgroup("shared", u32, GROUP)
        local = p.local_id(0)
        shared[local] = x[p.global_id(0)]
        p.barrier()
        distance = GROUP // 2
        while distance:
            with p.if_(local < distance):
                shared[local] = shared[local] + shared[local + distance]
            p.barrier()
            distance //= 2
        with p.if_(local == 0):
            out[p.workgroup_id(0)] = shared[0]
    return p.build()


def histogram() -> Program:
    """Every invocation adds to the result itself. The grid covers `x`."""
    with program("histogram", GROUP) as p:
        x, out = p.read("x", u32), p.write("out", u32, BINS)
        out.atomic_add(x[p.global_id(0)] & (BINS - 1), 1)
    return p.build()


def ranks() -> Program:
    """The histogram, with the result of every atomic used."""
    with program("ranks", GROUP) as p:
        x, count = p.read("x", u32), p.scratch("count", u32, BINS)
        out = p.write("out", u32, like=x)
        out[p.global_id(0)] = count.atomic_add(x[p.global_id(0)] & (BINS - 1), 1)
    return p.build()


def shared_histogram(each: int) -> Program:
    """Counted in the memory of the workgroup, `each` elements for an invocation, then added to the result."""
    with program("shared_histogram", GROUP) as p:
        x, out = p.read("x", u32), p.write("out", u32, BINS)
        here = p.workgroup("here", u32, BINS)
        first = p.let(p.workgroup_id(0) * (GROUP * each) + p.local_id(0))
        with p.range(0, each) as n:
            here.atomic_add(x[first + n * GROUP] & (BINS - 1), 1)
        p.barrier()
        out.atomic_add(p.local_id(0), here[p.local_id(0)])
    return p.build()


def matmul(n: int) -> Program:
    """C = A B for squares of n × n, in tiles. The grid is (n / TILE, n / TILE, 1)."""
    with program("matmul", (TILE, TILE)) as p:
        a, b, c = p.read("a", f32, n * n), p.read("b", f32, n * n), p.write("c", f32, n * n)
        tile_a, tile_b = p.workgroup("tile_a", f32, TILE * TILE), p.workgroup("tile_b", f32, TILE * TILE)
        row, column = p.global_id(1), p.global_id(0)
        y, x = p.local_id(1), p.local_id(0)
        total = p.var(0.0, f32)
        with p.range(0, n // TILE) as t:
            tile_a[y * TILE + x] = a[row * n + t * TILE + x]
            tile_b[y * TILE + x] = b[(t * TILE + y) * n + column]
            p.barrier()
            with p.range(0, TILE) as k:
                total.set(total + tile_a[y * TILE + k] * tile_b[k * TILE + x])
            p.barrier()
        c[row * n + column] = total
    return p.build()


def byte_scan() -> Program:
    """1 for every place of the text where the pattern begins."""
    with program("byte_scan", GROUP) as p:
        text = p.read("text", u8)
        out = p.write("out", u8, like=text)
        i = p.global_id(0)
        here = text[i] == PATTERN[0]
        for n, letter in enumerate(PATTERN[1:], 1):
            here = here & (text[i + n] == letter)
        out[i] = here.cast(u8)
    return p.build()
