"""Lowering in depth: code and work that grow with how much is nested, and do not double with each level."""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import pytest

from vyre_driver.engine.deadline import Deadline
from vyre_driver.engine.lowering import lowered_for
from vyre_driver.errors import DispatchTimeout
from vyre_driver.legalization.lowered import Lowered
from vyre_driver.legalization.target import Groups, Target
from vyre_driver.testing.target import generous_target
from vyre_foundation import build
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.walk import statements

LOOPING = replace(generous_target(), name="looping", groups=Groups.LOOPS, versions=True, wide_indices=True)


def nested(depth: int, level: str) -> Program:
    """A sum in `depth` levels of what `level` names."""
    with build.program("nested", workgroup_size=64) as p:
        x, n = p.read("x", u32), p.uniform("n", u32, 64)
        out = p.write("out", u32, like=x)
        at, total = p.global_id(0), p.var(0, u32)
        with ExitStack() as stack:
            for number in range(depth):
                enter: Callable[[Any], Any] = stack.enter_context
                match level:
                    case "if":
                        enter(p.if_(x[at] == number))
                        at = at + 1
                    case "if in loop":
                        at = at + enter(p.range(9))
                        enter(p.if_(at == number + 3))
                    case "decided in loop":
                        counter = enter(p.range(20))
                        enter(p.if_(counter == 5))
                        at = at + counter
                    case "literal":
                        at = at + enter(p.range(2))
                    case "own bounds":
                        at = at + enter(p.range(p.global_id(0)))
                    case "steps":
                        at = at + enter(p.range(build.constant(u32, 0), n[number], 3))
                        enter(p.if_(x[at] == number))
                    case _:
                        at = at + enter(p.range(2 if "literal" in level else n[number]))
                match level:
                    case "sums":
                        total.set(total + x[at])
                    case "borders":
                        total.set(total + build.select(at > 5, x[at - 5], x[at]))
                    case "left":
                        with p.if_(x[at] == 7):
                            p.break_()
                    case "returned":
                        with p.if_(x[at] == 7):
                            p.return_()
                    case "barriers":
                        p.barrier()
                    case "literal grid barriers":
                        p.grid_barrier()
                        total.set(total + x[at])
            total.set(total + x[at])
        out[p.global_id(0)] = total
    return p.build()


LEVELS = (
    "if", "if in loop", "literal", "own bounds", "steps", "plain",
    "sums", "borders", "left", "returned", "barriers", "literal grid barriers",
)  # fmt: skip
TWICE = ("if in loop", "decided in loop", "steps", "left", "returned")
"""Levels of two statements."""


def work(lowering: Callable[[], Lowered], most: int) -> tuple[int, int]:
    """The calls of functions that a lowering takes, `most` at most, and the statements that it gives."""
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event == "call"
        if calls > most:
            raise AssertionError(f"more than {most} calls")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        lowered = lowering()
    finally:
        sys.setprofile(before)
    return calls, sum(len(list(statements(kernel.program.body))) for kernel in lowered.kernels)


@pytest.mark.parametrize("target", [generous_target(), LOOPING], ids=lambda target: target.name)
@pytest.mark.parametrize("level", LEVELS)
def test_work_and_code_grow_with_the_depth_and_not_with_its_power(target: Target, level: str) -> None:
    half, whole = (nested(depth, level).validate() for depth in (15, 30))
    lowered_for(target, nested(2, level).validate())  # what is made once is made by now
    calls, stmts = work(lambda: lowered_for(target, half), 10_000_000)
    factor = 3.2 if "grid" in level else 2.6  # kernels between grid barriers read the counters of all loops around them
    _, stmts_of_twice = work(lambda: lowered_for(target, whole), int(factor * calls))
    assert stmts_of_twice < 4 * stmts


@pytest.mark.parametrize("level", [*LEVELS, "decided in loop"])
def test_the_deepest_programs_become_code(level: str) -> None:
    source = nested(32 if level in TWICE else 64, level).validate()
    assert lowered_for(LOOPING, source).kernels


def test_a_deadline_ends_legalization() -> None:
    deadline = Deadline(1e-9, "backend", "label")
    with pytest.raises(DispatchTimeout, match="label: the timeout of 1e-09 s passed during legalization on backend"):
        lowered_for(LOOPING, nested(3, "plain").validate(), deadline)
