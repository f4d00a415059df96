"""Which outputs need no zeros: written from end to end by every launch of the plan, and read by nobody."""

from collections.abc import Callable

import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.plan.coverage import written_everywhere
from vyre_driver.plan.launch import plan_launch
from vyre_foundation.build import Array, ProgramBuilder, Value, program
from vyre_foundation.dtype import u32, u64

Body = Callable[[ProgramBuilder, Array, Array, Value], None]


def covered(body: Body, *, elements: int = 100, **config: object) -> bool:
    with program("p", workgroup_size=64) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        body(p, x, out, p.global_id(0))
    plan = plan_launch(p.build(), [4 * elements], DispatchConfig(**config))  # type: ignore[arg-type]
    return written_everywhere(plan) == {"out"}


def store(p: ProgramBuilder, x: Array, out: Array, i: Value) -> None:
    out[i] = x[i]


def through_a_local(p: ProgramBuilder, x: Array, out: Array, i: Value) -> None:
    out[p.let(i.cast(u64))] = x[i]


def guarded(p: ProgramBuilder, x: Array, out: Array, i: Value) -> None:
    with p.if_(i < x.length):
        out[i] = x[i]


def left_early(p: ProgramBuilder, x: Array, out: Array, i: Value) -> None:
    with p.if_(i >= x.length):
        p.return_()
    out[i] = x[i]


@pytest.mark.parametrize("body", [store, through_a_local, guarded, left_early])
def test_these_cover(body: Body) -> None:
    assert covered(body)


def narrower(p: ProgramBuilder, x: Array, out: Array, i: Value) -> None:
    with p.if_(i < 99):
        out[i] = x[i]


def by_data(p: ProgramBuilder, x: Array, out: Array, i: Value) -> None:
    with p.if_(x[i] > 0):
        out[i] = x[i]


def elsewhere(p: ProgramBuilder, x: Array, out: Array, i: Value) -> None:
    out[i + 1] = x[i]


def in_a_loop(p: ProgramBuilder, x: Array, out: Array, i: Value) -> None:
    with p.range(0, x[0]):
        out[i] = x[i]


def behind_a_return(p: ProgramBuilder, x: Array, out: Array, i: Value) -> None:
    with p.if_(x[i] > 0):
        p.return_()
    out[i] = x[i]


def in_one_arm(p: ProgramBuilder, x: Array, out: Array, i: Value) -> None:
    with p.if_(i < x.length):
        p.let(x[i])
    with p.else_():
        out[i] = x[i]


def behind_a_return_of_the_low(p: ProgramBuilder, x: Array, out: Array, i: Value) -> None:
    with p.if_(i < x.length):
        p.return_()
    out[i] = x[i]


@pytest.mark.parametrize(
    "body", [narrower, by_data, elsewhere, in_a_loop, behind_a_return, in_one_arm, behind_a_return_of_the_low]
)
def test_these_do_not(body: Body) -> None:
    assert not covered(body)


def test_the_grid_must_reach_the_end() -> None:
    assert covered(store, grid_override=(2, 1, 1))
    assert not covered(store, grid_override=(1, 1, 1))
    assert not covered(store, grid_override=(0, 1, 1))
