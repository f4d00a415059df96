"""Indices over 2³¹ elements, without the elements: the bounds of every index in a launch, and none of them wraps."""

from __future__ import annotations

import pytest

from vyre_algorithms import choose, exact, radix, scans, tree
from vyre_algorithms.arguments import MOST
from vyre_algorithms.launches import with_grid
from vyre_algorithms.monoids import reduction_of
from vyre_algorithms.order import KeyOrder, KeyType
from vyre_driver.plan.launch import plan_launch
from vyre_driver.plan.launch_ranges import LaunchRanges
from vyre_foundation import program
from vyre_foundation.dtype import f32, u32, u64
from vyre_foundation.ir.expr import Apply, Load
from vyre_foundation.ir.stmt import For, Let, Store
from vyre_foundation.ir.walk import expressions, postorder, statements
from vyre_foundation.validate.facts import Interval

LENGTH = MOST - 1
CHUNK = 1 << 21
"""What `radix` makes of that length."""

SUM = reduction_of("sum", f32, f32)
BLOCKS = -(-LENGTH // scans.BLOCK)
KEYS = KeyType(u32, KeyOrder.UNSIGNED)
SHORT, LONG = (choose._parts(LENGTH, is_serial) for is_serial in (False, True))
PROGRAMS = {
    "reduce": (tree.block_program(SUM), [LENGTH], tree.BLOCK),
    "exact sum": (exact._accumulate(f32, 1), [exact.MOST], tree.BLOCK),
    "totals of a scan": (scans.block_totals(SUM), [LENGTH], scans.BLOCK),
    "scan": (scans.run_scan(SUM), [LENGTH, BLOCKS * scans.LANES, BLOCKS], scans.BLOCK),
    "count what is chosen": (choose._count(choose._where_new, (u32,), SHORT), [LENGTH], SHORT.chunk * SHORT.group),
    "count, in loops": (choose._count(choose._where_new, (u32,), LONG), [LENGTH], LONG.chunk * LONG.group),
    "count digits": (radix.count_digits(KEYS, CHUNK), [LENGTH, 1, 1], CHUNK),
}


def may_wrap(index, ranges):
    bounds = ranges.of(index)
    return (bounds.low, bounds.high) == (u32.lowest, u32.highest) and not (
        isinstance(index, Apply) and index.op.id == "sub"
    )


def wrapped(made, lengths, per_group):
    """The indices of a launch whose bounds are all of u32: those that may wrap.

    Differences are left out: what a first element has before it is read as 0, and not used.
    """
    inputs = [buffer for buffer in made.buffers if buffer.is_input]
    sizes = [count * buffer.dtype.size for count, buffer in zip(lengths, inputs, strict=True)]
    plan = plan_launch(made, sizes, with_grid(-(-lengths[0] // per_group)))
    ranges = LaunchRanges(plan)
    found = []
    for stmt in statements(plan.program.body):
        if isinstance(stmt, Let) and stmt.value.dtype is u32:
            ranges.learn(stmt.name, ranges.of(stmt.value))
        if isinstance(stmt, For):
            low, high = ranges.of(stmt.start).low, ranges.of(stmt.stop).high - 1
            ranges.learn(stmt.name, Interval(low, max(low, high)))
        indices = [node.index for node in postorder(expressions(stmt)) if isinstance(node, Load)]
        indices += [stmt.index] if isinstance(stmt, Store) else []
        found += [str(index) for index in indices if may_wrap(index, ranges)]
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_index_wraps(name):
    assert wrapped(*PROGRAMS[name]) == []


def test_an_index_that_wraps_is_found():
    with program("wraps", 64) as p:
        x = p.read("x", u32)
        out = p.write("out", u64, like=x)
        first = p.let(p.workgroup_id(0) * (3 * tree.BLOCK))
        out[p.global_id(0)] = x[first + p.local_id(0)].cast(u64)
    assert wrapped(p.build(), [LENGTH], tree.BLOCK) != []
