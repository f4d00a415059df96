"""Atomics: what they write, what they return, and the order in which lanes find them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_foundation.build import program
from vyre_foundation.dtype import i32, i64, u32, u64
from vyre_foundation.ir.stmt import AtomicOp

# fmt: off
# op, type, the element before, the operands of the lanes in order, what each lane finds, the element after
CASES = [
    ("add", u32, 2**32 - 1, [1, 2, 3],    [2**32 - 1, 0, 2],      5),
    ("add", i64, 2**63 - 1, [1, -1, 5],   [2**63 - 1, -2**63, 2**63 - 1], -2**63 + 4),
    ("and", i32, -1,        [6, 3, 7],    [-1, 6, 2],             2),
    ("or",  u64, 2**63,     [1, 1, 4],    [2**63, 2**63 + 1, 2**63 + 1], 2**63 + 5),
    ("xor", u32, 5,         [1, 1, 2],    [5, 4, 5],              7),
    ("min", i32, 3,         [5, -2, 0],   [3, 3, -2],             -2),
    ("min", u32, 3,         [5, 2**32 - 2, 0], [3, 3, 3],         0),
    ("max", i64, -9,        [-10, -3, -4], [-9, -9, -3],          -3),
    ("max", u64, 9,         [2**63, 1, 2**64 - 1], [9, 2**63, 2**63], 2**64 - 1),
    ("exchange", i32, 7,    [1, -2, 3],   [7, 1, -2],             3),
]
# fmt: on


@pytest.mark.parametrize("used", [True, False], ids=["used", "unused"])
@pytest.mark.parametrize("memory", ["storage", "workgroup"])
@pytest.mark.parametrize(("op", "dtype", "before", "values", "old", "after"), CASES, ids=lambda x: str(x)[:12])
def test_lanes_come_in_order(run, typed, op, dtype, before, values, old, after, memory, used):
    with program("atomic", 3) as p:
        a = p.read("a", dtype)
        cell = p.read_write("cell", dtype, 2)
        out = p.write("out", dtype, 4)
        shared = p.workgroup("shared", dtype, 2)
        target = cell if memory == "storage" else shared
        i = p.global_id(0)
        with p.if_(i == 0):
            shared[1] = cell[1]
        p.barrier()
        found = target._atomic(AtomicOp(op), 1, a[i])
        if used:
            out[i] = found
        p.barrier()
        with p.if_(i == 0):
            out[3] = target[1]
    inputs = {"a": typed(dtype, values), "cell": typed(dtype, [0, before])}
    got = run(p.build(), inputs, DispatchConfig(grid_override=(1, 1, 1)))["out"].tolist()
    assert got == [*(old if used else [0, 0, 0]), after]


def test_compare_exchange_follows_its_successes(run, typed):
    """Each lane expects what the one before wrote; the fourth expects something else and changes nothing."""
    with program("swap", 5) as p:
        expected, value = p.read("expected", u32), p.read("value", u32)
        cell = p.read_write("cell", u32, 3)
        out = p.write("out", u32, 5)
        i = p.global_id(0)
        out[i] = cell.atomic_compare_exchange(i // 4 + 1, expected[i], value[i])
    inputs = {
        "expected": typed(u32, [10, 11, 12, 99, 50]),
        "value": typed(u32, [11, 12, 13, 14, 51]),
        "cell": typed(u32, [1, 10, 50]),
    }
    got = run(p.build(), inputs)
    assert got["out"].tolist() == [10, 11, 12, 13, 50]
    assert got["cell"].tolist() == [1, 13, 51]


def test_tickets_over_groups_of_two_axes(run):
    """The order is that of the workgroups, and in each that of its lanes."""
    with program("tickets", (2, 2, 1)) as p:
        counter = p.read_write("counter", u32, 1)
        out = p.write("out", u32, 24)
        x, y = p.global_id(0), p.global_id(1)
        out[y * 6 + x] = counter.atomic_add(0, 1)
    inputs = {"counter": np.array([100], np.uint32)}
    got = run(p.build(), inputs, DispatchConfig(grid_override=(3, 2, 1)))
    assert got["out"].reshape(4, 6).tolist() == [
        [100, 101, 104, 105, 108, 109],
        [102, 103, 106, 107, 110, 111],
        [112, 113, 116, 117, 120, 121],
        [114, 115, 118, 119, 122, 123],
    ]
    assert got["counter"].tolist() == [124]


@pytest.mark.parametrize("op", ["add", "and", "or", "xor", "min", "max", "exchange"])
def test_used_results_with_many_collisions(run, op):
    """Runs of all lengths, some lanes out of bounds, some inactive; the oracle goes lane by lane."""
    n, random = 300, np.random.default_rng(5)
    with program("collide", 50) as p:
        at, a = p.read("at", i32), p.read("a", i32)
        cells = p.read_write("cells", i32, 9)
        out = p.write("out", i32, like=a)
        i = p.global_id(0)
        with p.if_(a[i] & 15 != 3):
            out[i] = cells._atomic(AtomicOp(op), at[i], a[i])
    at = np.minimum(random.integers(-1, 40, n), 10).astype(np.int32)
    a = random.integers(-(2**31), 2**31, n).astype(np.int32)
    cells = random.integers(-(2**31), 2**31, 9).astype(np.int32)
    fold = {
        "add": lambda x, y: (x + y + 2**31) % 2**32 - 2**31, "and": lambda x, y: x & y, "or": lambda x, y: x | y,
        "xor": lambda x, y: x ^ y, "min": min, "max": max, "exchange": lambda x, y: y,
    }[op]  # fmt: skip
    expected, after = [0] * n, cells.tolist()
    for lane, index, value in zip(itertools.count(), at.tolist(), a.tolist(), strict=False):
        if value & 15 != 3 and 0 <= index < 9:
            expected[lane], after[index] = after[index], fold(after[index], value)
    got = run(p.build(), {"at": at, "a": a, "cells": cells})
    assert got["out"].tolist() == expected
    assert got["cells"].tolist() == after


def test_a_table_too_long_for_short_sort_keys(run):
    with program("long", 64) as p:
        at = p.read("at", u32)
        cells = p.scratch("cells", u64, 70_000)
        out = p.write("out", u64, like=at)
        i = p.global_id(0)
        out[i] = cells.atomic_add(at[i], (i + 1).cast(u64))
    at = np.array([65_536, 0, 69_999, 0, 65_536, 0], np.uint32)
    assert run(p.build(), {"at": at})["out"].tolist() == [0, 0, 0, 2, 1, 6]
