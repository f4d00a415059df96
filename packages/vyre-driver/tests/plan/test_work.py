"""The operations and bytes of launches, counted by hand."""

from __future__ import annotations

import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.plan.cost import WorkCount, work
from vyre_driver.plan.launch import plan_launch
from vyre_foundation import program, u8, u32, u64
from vyre_foundation.ir.program import Program


def adding() -> Program:
    with program("adding", 64) as p:
        a, b = p.read("a", u32), p.read("b", u32)
        out = p.write("out", u32, like=a)
        out[p.global_id(0)] = a[p.global_id(0)] + b[p.global_id(0)]
    return p.build()


def looping() -> Program:
    with program("looping", 64) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        total = p.var(0, u32)
        with p.range(10):
            total += a[0] * 3  # hoisted by no one: it is counted in each round
        out[p.global_id(0)] = total
    return p.build()


def counting() -> Program:
    with program("counting", 64) as p:
        a, counts = p.read("a", u8), p.read_write("counts", u64, 4)
        counts.atomic_add(a[p.global_id(0)].cast(u32) & 3, 1)
    return p.build()


def scratch() -> Program:
    with program("scratch", 64) as p:
        shared = p.workgroup("shared", u32, 64)
        shared[p.local_id(0)] = p.local_id(0)
        p.barrier()
        p.write("out", u32, 64)[p.local_id(0)] = shared[p.local_id(0)]
    return p.build()


# invocations run in whole workgroups of 64
CASES = {
    "two reads and a write": (adding(), [512, 512], WorkCount(128, 128 * 12, 128 * 12, is_certain=True)),
    "no more than the buffers": (adding(), [400, 400], WorkCount(128, 128 * 12, 1200, is_certain=True)),
    "the rounds of a loop": (looping(), [256], WorkCount(64 * 10 * 2, 64 * 44, 512, is_certain=True)),
    "an atomic reads and writes": (
        counting(),
        [64, 32],
        WorkCount(64 * 3, 64 * (1 + 16), 64 + 32 + 32, is_certain=True),
    ),
    "memory of a workgroup is none of the host's": (scratch(), [], WorkCount(0, 64 * 4, 256, is_certain=True)),
}


@pytest.mark.parametrize("name", CASES)
def test_operations_and_bytes(name: str) -> None:
    made, lengths, expected = CASES[name]
    assert work(plan_launch(made, lengths)) == expected


def test_repeats_do_all_of_it_again() -> None:
    once = work(plan_launch(adding(), [512, 512]))
    thrice = work(plan_launch(adding(), [512, 512], DispatchConfig(fixpoint_iterations=3)))
    assert (thrice.operations, thrice.moved_bytes) == (3 * once.operations, 3 * once.moved_bytes)
