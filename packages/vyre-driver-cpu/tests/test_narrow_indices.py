"""Indices that start again from 0 while a loop runs: LLVM's vectorizer must not take them for plain counters."""

from collections.abc import Callable

import numpy as np
import pytest

from vyre_foundation.build import ProgramBuilder, Value, program, select
from vyre_foundation.dtype import i8, u8, u16, u32, u64

INDICES: dict[str, Callable[[Value], Value]] = {
    "a mask": lambda x: x & 3,
    "a remainder": lambda x: x % 16,
    "a mask behind a sum": lambda x: (x + 5) % 16 + 7,
    "a mask of a quotient": lambda x: (x // 4) % 4,
    "two masks": lambda x: x % 4 + x % 8,
    "a selection of masks": lambda x: select(x % 2 == 0, x % 4, x % 8),
    "a condition": lambda x: (x % 2 == 1).cast(u32),
    "shifts": lambda x: (x << 28) >> 28,
    "a product and a quotient": lambda x: (x * 2**29) // 2**29,
    "u8": lambda x: (x * 16).cast(u8).cast(u32),
    "u8 that wraps": lambda x: (x.cast(u8) + 250).cast(u32),
    "u16": lambda x: (x << 12).cast(u16).cast(u32) >> 10,
    "i8": lambda x: (x * 16).cast(i8).cast(u32) & 63,
    "u64": lambda x: (x.cast(u64) * (2**62 + 1)).cast(u32) % 64,
    "an index of u64": lambda x: (x.cast(u64) << 60) >> 60,
}
TABLE = np.arange(5, 261, dtype=np.uint32) ** 2


def _table(p: ProgramBuilder, memory: str, at: Callable[[Value], Value]):
    if memory == "read":
        return p.read("table", u32, 256)
    table = getattr(p, memory)("table", u32, 256)
    table[at(p.local_id(0))] = at(p.local_id(0)).cast(u32) * 3
    p.barrier()
    return table


@pytest.mark.parametrize("size", [64, 256])
@pytest.mark.parametrize("memory", ["read", "workgroup", "private"])
@pytest.mark.parametrize("name", INDICES)
def test_every_lane_reads_its_own_element(agree, name: str, memory: str, size: int) -> None:
    """Behind a variable, so that the global index is a second counter whose wraps LLVM tests."""
    at = INDICES[name]
    with program("narrow", workgroup_size=size) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        table = _table(p, memory, at)
        total = p.var(0, u32)
        total += table[at(p.local_id(0))]
        out[p.global_id(0)] = total + x[p.global_id(0)]
    given = [np.arange(1000, 1000 + count, dtype=np.uint32) for count in (size, 4 * size, 4 * size - 3)]
    for x_given in given:
        agree(p.build(), [x_given, TABLE] if memory == "read" else [x_given])


@pytest.mark.parametrize("name", INDICES)
def test_every_iteration_reads_its_own_element(agree, name: str) -> None:
    at = INDICES[name]
    with program("narrow", workgroup_size=1) as p:
        x, table = p.read("x", u32, 64), p.read("table", u32, 256)
        out = p.write("out", u32, 64)
        start = p.read("start", u32, 1)[0]
        with p.range(64) as k:
            out[k] = table[at(k)] + x[start + k]
    agree(p.build(), [np.arange(64, dtype=np.uint32), TABLE, np.zeros(1, np.uint32)])
