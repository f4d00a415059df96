"""Programs that report their accesses out of bounds, run by the vectorised evaluator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.observe.accesses import Touch
from vyre_driver.observe.bounds import OutOfBounds, out_of_bounds
from vyre_foundation.build import constant, program
from vyre_foundation.dtype import i8, i32, i64, u8, u32, u64
from vyre_foundation.ir.program import Program
from vyre_reference import ReferenceBackend

BACKEND = ReferenceBackend()


def search(built: Program, **arrays: Any) -> list[OutOfBounds]:
    return out_of_bounds(BACKEND, built, arrays, DispatchConfig(grid_override=(2, 1, 1)))


def test_every_kind_of_access_in_every_memory_is_reported() -> None:
    with program("everywhere", 4) as p:
        x, out = p.read("x", u32), p.read_write("out", u32, 8)
        shared, own = p.workgroup("shared", u32, 4), p.private("own", u32, 3)
        table = p.constant("table", u32, range(5))
        i, lane = p.global_id(0), p.local_id(0)
        shared[lane + 2] = x[i * 2]  # reads 8 … 14 of 6 in invocations 3 … 7; writes 4, 5 in lanes 2, 3
        own[lane] = table[i]  # reads 5 … 7 in 5 … 7, writes 3 in lane 3
        out.atomic_add(i + 5, 1)  # 8 … 12 in 3 … 7
        out[i] = own[0]
        p.trap(1, "does not count")
    found = search(p.build(), x=np.ones(6, np.uint32), out=np.zeros(8, np.uint32))
    assert found == [
        OutOfBounds("x", 6, Touch.READ, (0,), 5, 3, 6),
        OutOfBounds("shared", 4, Touch.WRITE, (0,), 4, 2, 4),
        OutOfBounds("table", 5, Touch.READ, (1,), 3, 5, 5),
        OutOfBounds("own", 3, Touch.WRITE, (1,), 2, 3, 3),
        OutOfBounds("out", 8, Touch.ATOMIC, (2,), 5, 3, 8),
    ]
    assert str(found[0]) == "invocation 3 reads x[6] of 6, one of 5 here"


@pytest.mark.parametrize(
    ("dtype", "index", "shown"),
    [
        (i8, -128, -128),
        (u8, 255, 255),
        (i32, -(2**31), -(2**31)),
        (i32, 2**31 - 1, 2**31 - 1),
        (u32, 2**32 - 1, 2**32 - 1),
        (i64, -(2**40), -(2**31)),
        (i64, 2**40, 2**31 - 1),
        (u64, 2**64 - 1, 2**32 - 1),
        (u64, 100, 100),
        (i64, -1, -1),
    ],
)
def test_an_index_is_shown_as_it_is_within_32_bits(dtype: Any, index: int, shown: int) -> None:
    with program("far", 4) as p:
        out = p.write("out", u32, 8)
        with p.if_(p.global_id(0) == 6):
            out[constant(dtype, index)] = 1
    assert search(p.build()) == [OutOfBounds("out", 8, Touch.WRITE, (0, 0, 0), 1, 6, shown)]


def test_a_program_within_its_bounds_has_no_report() -> None:
    with program("within", 4) as p:
        out = p.write("out", u32, 8)
        out[p.global_id(0)] = 1
    assert search(p.build()) == []
