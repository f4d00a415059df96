"""Loops or work items: the verdict and its reason for each kind of target."""

from __future__ import annotations

import pytest

from vyre_driver.legalization.target import Groups
from vyre_driver.policy.groups import MANY_BARRIERS, arrange
from vyre_foundation import Program, program, u32


def plain() -> Program:
    with program("plain", 8) as p:
        x = p.read("x", u32)
        p.write("out", u32, like=x)[p.global_id(0)] = x[p.global_id(0)] + 1
    return p.build()


def rows() -> Program:
    with program("rows", 8) as p:
        starts = p.read("starts", u32)
        total = p.var(0, u32)
        with p.range(starts[p.global_id(0)], 100) as k:
            total.set(total + k)
        p.write("out", u32, like=starts)[p.global_id(0)] = total
    return p.build()


def counting() -> Program:
    with program("counting", 8) as p:
        here, out = p.workgroup("here", u32, 8), p.write("out", u32, 8)
        here.atomic_add(p.global_id(0) & 7, 1)
        p.barrier()
        out.atomic_add(p.local_id(0), here[p.local_id(0)])
    return p.build()


def waiting(barriers: int) -> Program:
    with program("waiting", 8) as p:
        for _ in range(barriers):
            p.barrier()
        p.write("out", u32, 8)[p.global_id(0)] = 1
    return p.build()


def grinding(rounds: int | None, *, looks: bool = False, chooses: bool = False, after: int = 0) -> Program:
    with program("grinding", 8) as p:
        x, n = p.read("x", u32), p.uniform("n", u32, 1)
        value = p.var(x[p.global_id(0)])
        with p.range(0, n[0] if rounds is None else rounds) as k:
            value.set(value * 1664525 + (x[k] if looks else k))
            if chooses:
                with p.if_(value == 7):
                    value.set(0)
        for step in range(after):
            value.set((value ^ step) * 3)
        p.write("out", u32, like=x)[p.global_id(0)] = value
    return p.build()


@pytest.mark.parametrize(
    ("built", "as_loops"),
    [
        (grinding(100), True),
        (grinding(None), True),
        (grinding(8), False),  # no more than what comes before and after
        (grinding(100, after=100), False),
        (grinding(100, looks=True), False),
        (grinding(100, chooses=True), False),
    ],
)
def test_a_mixed_target_runs_loops_where_most_of_it_is_rounds_of_arithmetic(built, as_loops):
    verdict = arrange(built.validate(), Groups.MIXED)
    assert verdict.as_loops == as_loops
    assert not as_loops or verdict.reason == "most of it is a loop that all go through with values of their own"


@pytest.mark.parametrize(
    ("built", "as_loops", "reason"),
    [
        (plain(), False, "all invocations go the same way, and the compiler makes vectors of them"),
        (rows(), True, "a loop has its own bounds in each invocation, so the compiler makes no vectors of work items"),
        (counting(), True, "invocations take turns at here, so the compiler makes no vectors of work items"),
        (waiting(MANY_BARRIERS), False, "all invocations go the same way, and the compiler makes vectors of them"),
        (waiting(MANY_BARRIERS + 1), True, "it has 13 barriers, so the compiler makes no vectors of work items"),
    ],
)
def test_a_mixed_target_runs_loops_where_invocations_part(built, as_loops, reason):
    verdict = arrange(built.validate(), Groups.MIXED)
    assert (verdict.as_loops, verdict.reason) == (as_loops, reason)


@pytest.mark.parametrize("built", [plain(), counting()])
def test_other_targets_run_all_programs_alike(built):
    facts = built.validate()
    assert arrange(facts, Groups.LOOPS).as_loops
    assert not arrange(facts, Groups.ITEMS).as_loops
    assert str(arrange(facts, Groups.ITEMS)) == (
        "every invocation is a work item: the device runs invocations side by side"
    )
