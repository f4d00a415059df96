"""Estimates: numbers that follow from the tables by hand."""

from collections.abc import Callable
from typing import Any

import pytest

from vyre_driver.plan.cost import ATOMIC, OPS, ROUND, WORST_NS, WORST_SLOW_NS, estimate
from vyre_driver.plan.launch import plan_launch
from vyre_driver.plan.launch_ranges import LaunchRanges
from vyre_driver.policy.queue import LONGEST_BLOCKING
from vyre_foundation import functions
from vyre_foundation.build import program
from vyre_foundation.dtype import f32, u8, u32, u64
from vyre_foundation.ir.expr import Expr
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Let


def cost_of(source: Program, *lengths: int, **config: object):
    from vyre_driver.backend.config import DispatchConfig

    return estimate(plan_launch(source, lengths, DispatchConfig(**config)))  # type: ignore[arg-type]


def xor() -> Program:
    with program("xor", workgroup_size=64) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        out[p.global_id(0)] = x[p.global_id(0)] ^ 5
    return p.build()


def test_an_invocation_is_its_ops_and_accesses() -> None:
    """A load and a store of four bytes are 2 each, the op is 1."""
    cost = cost_of(xor(), 4 * 4096)
    assert (cost.units, cost.groups, cost.is_certain) == (5 * 4096, 64, True)


@pytest.mark.parametrize(
    ("of", "slow", "others"),
    [
        (lambda p, x, i: x[i] ^ 5, 4, 1),
        (lambda p, x, i: x[i].cast(f32).bitcast(u32), 4, 1),
        (lambda p, x, i: x[i].bitcast(f32).cast(u32), 5, 0),
        (lambda p, x, i: (x[i].bitcast(f32) * 2.5).bitcast(u32), 5, 0),
        (lambda p, x, i: functions.sqrt(x[i].bitcast(f32)).bitcast(u32), 10, 0),
        (lambda p, x, i: p.workgroup("near", u32, 64)[i] ^ x[i], 4, 3),
        (lambda p, x, i: p.scratch("far", u32, 64)[i] ^ x[i], 6, 1),
    ],
)
def test_the_bound_of_the_time_counts_what_may_be_slow(of: Callable[..., Any], slow: int, others: int) -> None:
    """Accesses of memory that may be in no cache, and operations on floats."""
    with program("bounded", workgroup_size=64) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        out[p.global_id(0)] = of(p, x, p.global_id(0))
    cost = cost_of(p.build(), 4 * 640)
    assert cost.longest_ns == 640 * (slow * WORST_SLOW_NS + others * WORST_NS)
    assert cost.units == 640 * (slow + others)


def test_the_grid_and_the_repeats_multiply() -> None:
    assert cost_of(xor(), 4 * 4096, grid_override=(2, 3, 1)).units == 5 * 6 * 64
    assert cost_of(xor(), 4 * 4096, fixpoint_iterations=3).units == 3 * 5 * 4096


def looping(stop: object) -> Program:
    with program("looping", workgroup_size=1) as p:
        n = p.read("n", u32)
        out = p.read_write("out", u32, 1)
        bound = {"literal": 10, "length": n.length, "data": n[0]}[stop]  # type: ignore[index]
        with p.range(0, bound) as i:
            out[0] = i
    return p.build()


ROUND_UNITS = ROUND + 2


@pytest.mark.parametrize(
    ("stop", "rounds", "extra", "is_certain"),
    [("literal", 10, 0, True), ("length", 7, 0, True), ("data", 2**32 - 1, 2, False)],
)
def test_a_loop_costs_its_greatest_number_of_rounds(stop: str, rounds: int, extra: int, is_certain: bool) -> None:
    cost = cost_of(looping(stop), 7 * 4, 4)
    assert (cost.units, cost.is_certain) == (extra + rounds * ROUND_UNITS, is_certain)


@pytest.mark.parametrize(
    ("stop", "rounds"),
    [
        (lambda first, n, k: first + 8, 8),
        (lambda first, n, k: 8 + first, 8),
        (lambda first, n, k: k.min(n[1], first + 8), 8),
        (lambda first, n, k: k.min(first + 8, first + k.min(n[1], 5)), 5),
        (lambda first, n, k: n[1] + 8, 2**32 - 1),
        (lambda first, n, k: k.max(n[1], first + 8), 2**32 - 1),
    ],
)
def test_a_loop_from_data_to_a_little_beyond(stop: Callable[..., Any], rounds: int) -> None:
    """Where a sum wraps there are no rounds at all, so the distance is a bound there too."""
    with program("window", workgroup_size=1) as p:
        n = p.read("n", u32)
        out = p.read_write("out", u32, 1)
        first = p.let(n[0])
        with p.range(first, p.let(stop(first, n, functions))) as i:
            out[0] = i
    body = rounds * ROUND_UNITS
    assert body <= cost_of(p.build(), 2 * 4, 4).units <= body + 10


def nested_by_data(p: Any, n: Any, out: Any) -> None:
    with p.range(0, 3), p.range(0, n[0]) as j:
        out[0] = j


def by_a_variable(p: Any, n: Any, out: Any) -> None:
    bound = p.var(1, u32)
    bound.set(n[0])
    with p.range(0, bound) as i:
        out[0] = i


def by_what_a_loop_leaves(p: Any, n: Any, out: Any) -> None:
    bound = p.var(1, u32)
    with p.range(0, 31):
        bound.set(bound * 2)
    with p.range(0, bound) as i:
        out[0] = i


def in_one_arm(p: Any, n: Any, out: Any) -> None:
    with p.if_(n[0] > 5), p.range(0, n[0]) as i:
        out[0] = i


def by_an_atomic(p: Any, n: Any, out: Any) -> None:
    with p.range(0, out.atomic_add(0, 1)) as i:
        out[0] = i


def by_what_is_stored(p: Any, n: Any, out: Any) -> None:
    out[0] = 5
    with p.range(0, out[0]) as i:
        out[0] = i


def between_data(p: Any, n: Any, out: Any) -> None:
    with p.range(n[0], n[1]) as i:
        out[0] = i


@pytest.mark.parametrize(
    "body",
    [nested_by_data, by_a_variable, by_what_a_loop_leaves, in_one_arm, by_an_atomic, by_what_is_stored, between_data],
    ids=lambda body: body.__name__,
)
def test_work_that_data_bound_is_never_known_to_be_short(body: Callable[..., None]) -> None:
    """A host that waits for short work cannot be interrupted: the bound holds whatever the data are."""
    with program("bounded", workgroup_size=1) as p:
        n = p.read("n", u32, 2)
        out = p.read_write("out", u32, 1)
        body(p, n, out)
    cost = cost_of(p.build(), 8, 4)
    assert cost.units > 2**30
    assert cost.longest_ns > 1e9 * LONGEST_BLOCKING


def test_an_expression_is_paid_once_in_a_block_and_the_dearer_arm_counts() -> None:
    with program("arms", workgroup_size=1) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, 4)
        root = x[0] * x[1]  # 2 + 2 + 1
        out[0] = root  # 2
        out[1] = root  # 2
        with p.if_(root > 3):  # 1
            out[2] = root // 7  # 20 + 2
        with p.else_():
            out[3] = root + 7
    assert cost_of(p.build(), 8).units == 4 * (5 + 2 + 2 + 1 + OPS["div"] + 2)


def test_widths_and_atomics() -> None:
    with program("dear", workgroup_size=1) as p:
        bytes_, x = p.read("bytes", u8), p.read("x", f32)
        wide, out = p.read_write("wide", u64, 1), p.write("out", f32, 1)
        wide.atomic_add(0, 1)
        wide[0] = wide[0] + 1  # (1 + 2) + 2 + (1 + 2)
        out[0] = x[bytes_[0].cast(u32)]  # 1.25 + 1 + 2 + 2
    assert cost_of(p.build(), 1, 4, 8).units == ATOMIC + 8 + 6.25


def test_what_a_counter_can_be_bounds_the_loop_inside() -> None:
    with program("triangle", workgroup_size=1) as p:
        out = p.read_write("out", u32, 1)
        with p.range(0, 4) as i, p.range(0, i) as j:
            out[0] = j
    cost = cost_of(p.build(), 4)
    assert cost.units == 4 * (3 * ROUND_UNITS + ROUND)
    assert not cost.is_certain


def test_a_counter_makes_whole_steps() -> None:
    with program("triangle", workgroup_size=1) as p:
        out = p.read_write("out", u32, 1)
        with p.range(0, 6, step=4) as i, p.range(0, i) as j:  # i is 0 or 4
            out[0] = j
    assert cost_of(p.build(), 4).units == 2 * (4 * ROUND_UNITS + ROUND)


def test_only_what_bounds_loops_is_asked_for_its_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ranges of all locals of SHA-256 took 45 of the 157 ms of its first dispatch."""
    asked: list[Expr] = []
    of = LaunchRanges.of
    monkeypatch.setattr(LaunchRanges, "of", lambda ranges, root: asked.append(root) or of(ranges, root))
    with program("rounds", workgroup_size=64) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        total = p.var(x[0])
        stop = p.let((x[1] & 7) + 1)
        for n in range(100):
            value = p.let(x[n] + total)
            total ^= value
            total += value
        with p.range(0, stop):
            total += total >> 1
        out[p.global_id(0)] = total
    assert len(p.build().of(Let)) == 101
    assert not cost_of(p.build(), 4 * 64).is_certain
    assert len(asked) == 3  # the value of `stop`, and both ends of the loop


def test_long_chains_take_linear_time() -> None:
    with program("chain", workgroup_size=1) as p:
        out = p.read_write("out", u32, 1)
        value = out[0]
        for n in range(20_000):
            value = value + n % 7
        out[0] = value
    assert cost_of(p.build(), 4).units == pytest.approx(20_000 + 4, rel=0.2)
