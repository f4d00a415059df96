"""Lowering in depth: code and work that grow with how much is nested, and do not double with each level."""

import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from vyre_driver.codegen.c.unit import print_unit
from vyre_driver.codegen.dialect import CDialect
from vyre_driver.engine.lowering import emitted, lowered_for
from vyre_driver.engine.pending import Deadline
from vyre_driver.engine.port import DevicePort
from vyre_driver.errors import DispatchTimeout
from vyre_driver.legalization.grid.split import split_at_grid_barriers
from vyre_driver.legalization.lowered import Lowered
from vyre_driver.legalization.target import Groups, Target
from vyre_driver.testing.target import generous_target
from vyre_foundation import build
from vyre_foundation.dtype import u32
from vyre_foundation.ir.interrupt import STRIDE
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.walk import statements

LOOPING = replace(generous_target(), name="looping", groups=Groups.LOOPS, loop_versioning=True, wide_indices=True)


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
                    case "counted grid barriers":
                        counter = enter(p.range(2))
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
                    case "counted grid barriers":
                        p.grid_barrier()
                        total.set(total + x[counter])
            total.set(total + x[at])
        out[p.global_id(0)] = total
    return p.build()


LEVELS = (
    "if", "if in loop", "literal", "own bounds", "steps", "plain",
    "sums", "borders", "left", "returned", "barriers", "literal grid barriers", "counted grid barriers",
)  # fmt: skip
TWICE = ("if in loop", "decided in loop", "steps", "left", "returned")
"""Levels of two statements."""


def calls_of(run: Callable[[], object], most: int) -> int:
    """The calls of functions that `run` takes, `most` at most."""
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event == "call"
        if calls > most:
            raise AssertionError(f"more than {most} calls")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(before)
    return calls


def work(lowering: Callable[[], Lowered], most: int) -> tuple[int, int]:
    """The calls of functions that a lowering takes, `most` at most, and the statements that it gives."""
    made: list[Lowered] = []
    calls = calls_of(lambda: made.append(lowering()), most)
    return calls, sum(len(list(statements(kernel.program.body))) for kernel in made[0].kernels)


@pytest.mark.parametrize("target", [generous_target(), LOOPING], ids=lambda target: target.name)
@pytest.mark.parametrize("level", LEVELS)
def test_work_and_code_grow_with_the_depth_and_not_with_its_power(target: Target, level: str) -> None:
    half, whole = (nested(depth, level).validate() for depth in (10, 20))
    lowered_for(target, nested(2, level).validate())  # what is made once is made by now
    calls, stmts = work(lambda: lowered_for(target, half), 10_000_000)
    # Kernels between grid barriers, and bounds of sums and of loops with steps, read the counters of all enclosing
    # loops; unrolling visits what it has copied. Of ten loops with steps one region has all claims, of twenty several.
    factor = {"literal grid barriers": 3.2, "literal": 2.8, "sums": 2.8, "steps": 3.2}.get(level, 2.6)
    _, stmts_of_twice = work(lambda: lowered_for(target, whole), int(factor * calls))
    assert stmts_of_twice < 5 * stmts


def test_splitting_at_grid_barriers_is_linear_in_the_depth() -> None:
    half, whole = (nested(depth, "counted grid barriers") for depth in (30, 60))
    calls = calls_of(lambda: split_at_grid_barriers(half, LOOPING), 10_000_000)
    calls_of(lambda: split_at_grid_barriers(whole, LOOPING), int(2.4 * calls))


@pytest.mark.parametrize("level", [*LEVELS, "decided in loop"])
def test_the_deepest_programs_become_code(level: str) -> None:
    source = nested(32 if level in TWICE else 64, level).validate()
    assert lowered_for(LOOPING, source).kernels


class Passes(Deadline):
    """A deadline that passes with the check after `before` others. Counts the checks."""

    def __init__(self, before: int) -> None:
        super().__init__(60.0, "backend")
        self.before, self.made = before, 0

    def check(self, stage: str) -> None:
        self.made += 1
        if self.made > self.before:
            raise self.passed(stage)


def long(count: int) -> Program:
    """Assignments to one variable, one after the other."""
    with build.program("long", workgroup_size=64) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        value = p.var(x[p.global_id(0)])
        for n in range(count):
            value.set(value * 3 + n)
        out[p.global_id(0)] = value
    return p.build()


def test_deadlines_are_checked_inside_of_passes() -> None:
    """Once in a fixed number of statements: as often again in each pass for a program that is longer."""
    checks = []
    for count in (1_000, 5_000, 9_000):
        passes = Passes(10**9)
        lowered_for(LOOPING, long(count).validate(), passes)
        checks.append(passes.made)
    few, some, many = checks
    assert few + 40 < some
    assert many - some == pytest.approx(some - few, rel=0.2)


def test_a_deadline_that_passes_inside_of_a_pass_ends_it_there() -> None:
    source = long(1_000)
    whole = Passes(10**9)
    lowered_for(LOOPING, source.validate(), whole)
    calls, _ = work(lambda: lowered_for(LOOPING, source.validate()), 10**9)
    for before in (0, 1, whole.made // 2, whole.made - 2):
        passes = Passes(before)
        with pytest.raises(DispatchTimeout, match="passed during legalization"):
            lowered_for(LOOPING, source.validate(), passes)
        assert passes.made == before + 1
    assert 0 < calls / whole.made < 40 * STRIDE  # function calls from one check to the next, on average


def test_deadlines_are_checked_inside_of_the_printer(dialects: Mapping[str, CDialect]) -> None:
    dialect = dialects["full"]
    lowered = lowered_for(dialect.target(), long(5_000).validate())
    port = cast(DevicePort[Any, Any, Any], SimpleNamespace(emit=lambda lowered: print_unit(lowered, dialect)))
    whole = Passes(10**9)
    emitted(port, lowered, whole)
    assert whole.made > 5_000 // STRIDE
    for before in (0, whole.made // 2, whole.made - 1):
        with pytest.raises(DispatchTimeout, match="passed during emission on backend") as caught:
            emitted(port, lowered, Passes(before))
        assert caught.value.fix == Deadline(1.0, "backend").passed("legalization").fix


def test_a_program_whose_lowering_was_ended_is_lowered_the_same_later() -> None:
    """What is found about a program is kept, so that an end in the midst of finding it could leave half of it."""
    source = nested(8, "borders")
    expected = lowered_for(LOOPING, nested(8, "borders").validate())
    for before in range(0, 60, 3):
        with suppress(DispatchTimeout):
            lowered_for(LOOPING, source.validate(), Passes(before))
    assert lowered_for(LOOPING, source.validate()) == expected


def test_a_deadline_ends_legalization() -> None:
    deadline = Deadline(1e-9, "backend", "label")
    with pytest.raises(DispatchTimeout, match="label: the timeout of 1e-09 s passed during legalization on backend"):
        lowered_for(LOOPING, nested(3, "plain").validate(), deadline)
