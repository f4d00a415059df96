"""Atomics that a target lacks, made of its compare-exchange."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vyre_driver.errors import UnsupportedFeature
from vyre_driver.legalization.target import Groups
from vyre_foundation.build import program
from vyre_foundation.dtype import i32, i64, u32, u64
from vyre_foundation.ir.stmt import Atomic, AtomicOp
from vyre_foundation.ir.walk import statements

OPS = [op for op in AtomicOp if op is not AtomicOp.COMPARE_EXCHANGE]


def lacking(target, *ops, groups=Groups.ITEMS):
    """The target without some atomics at every type."""
    return replace(target, atomics=frozenset((op, t) for op, t in target.atomics if op not in ops), groups=groups)


def counted(op, dtype, *, old, workgroup_memory=False):
    """Every invocation into one of three elements, of which the last is out of bounds; perhaps with what was there."""
    with program("counted", 4) as p:
        x, table = p.read("x", dtype), p.read_write("table", dtype, 2)
        shared = p.workgroup("shared", dtype, 2) if workgroup_memory else table
        seen = p.write("seen", dtype, 1)
        i = p.let(p.global_id(0))
        if workgroup_memory:
            with p.if_(p.local_id(0) < 2):
                shared[p.local_id(0)] = table[p.local_id(0)]
            p.barrier()
        found = getattr(shared, f"atomic_{op.value}")(i % 3, x[i])
        if old:
            with p.if_(i == 0):
                seen[0] = found
        if workgroup_memory:
            p.barrier()
            with p.if_(p.local_id(0) < 2):
                table[p.local_id(0)] = shared[p.local_id(0)]
    return p.build()


@pytest.mark.parametrize("groups", [Groups.ITEMS, Groups.LOOPS])
@pytest.mark.parametrize("dtype", [u32, i32, u64, i64], ids=str)
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.value)
def test_a_composed_atomic_is_that_atomic(op, dtype, groups, dialects, case):
    top = 2 ** (dtype.bits - 1)
    values = [7, top - 1, 3, 12, 1, 9, top - 2, 0] if not dtype.is_signed else [7, -top, 3, -12, 1, 9, top - 1, 0]
    if op is AtomicOp.EXCHANGE:
        values = [7] * len(values)  # whichever comes last
    for old in (False, True):
        source = counted(op, dtype, old=old and op is not AtomicOp.EXCHANGE)
        launch = case(source, {"x": values, "table": [5, 2]}, grid=(2, 1, 1))
        target = lacking(dialects["full"].target(), op, groups=groups)
        lowered = launch.lower(target)
        used = {s.op for kernel in lowered.kernels for s in statements(kernel.program.body) if isinstance(s, Atomic)}
        assert used == {AtomicOp.COMPARE_EXCHANGE}
        assert launch.run_lowered(lowered) == launch.run()


@pytest.mark.parametrize("op", [AtomicOp.MIN, AtomicOp.MAX], ids=lambda op: op.value)
def test_it_works_in_workgroup_memory(op, dialects, case):
    launch = case(counted(op, i32, old=False, workgroup_memory=True), {"x": [4, -9, 3, 8], "table": [5, 2]})
    lowered = launch.lower(lacking(dialects["full"].target(), op))
    assert launch.run_lowered(lowered) == launch.run()


def test_traps_are_recorded_by_a_compare_exchange(dialects, case):
    with program("trapping", 4) as p:
        x = p.read("x", u32)
        with p.if_(x[p.global_id(0)] > 90):
            p.trap(x[p.global_id(0)], "large")
        p.write("out", u32, like=x)[p.global_id(0)] = 1
    launch = case(p.build(), {"x": [1, 2, 93, 99, 97]})
    lowered = launch.lower(lacking(dialects["full"].target(), AtomicOp.MIN))
    assert launch.run_lowered(lowered) == ("large", 93, 2)


def test_what_is_there_stays(dialects, case):
    launch = case(counted(AtomicOp.MIN, u32, old=True), {"x": [1], "table": [5, 2]})
    target = dialects["full"].target()
    kernels = [launch.lower(t).kernels for t in (target, lacking(target, AtomicOp.MAX))]
    assert kernels[0] == kernels[1]


def test_without_a_compare_exchange_it_is_refused(dialects, case):
    launch = case(counted(AtomicOp.MIN, u32, old=True), {"x": [1], "table": [5, 2]})
    target = lacking(dialects["full"].target(), AtomicOp.MIN, AtomicOp.COMPARE_EXCHANGE)
    with pytest.raises(UnsupportedFeature, match=r"atomic min on u32.*Fix: "):
        launch.lower(target)
