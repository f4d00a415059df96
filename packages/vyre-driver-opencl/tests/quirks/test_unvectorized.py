"""Which kernels hold branches that a compiler with a flaw must not make vectors of."""

from __future__ import annotations

import pytest

from vyre_driver.codegen.lower import legalize
from vyre_driver_opencl.opened import open_device
from vyre_driver_opencl.quirks.unvectorized import divides_beside_checks, merges_branches, must_stay_scalar
from vyre_foundation.build import program
from vyre_foundation.dtype import u32


def branch(condition, *, nested=True, assigns=True, size=8):
    """``if condition { if x { out[i] = 1; } v = 2; } out[i] = v;``"""
    with program("branch", size) as p:
        x, out = p.read("x", u32, 8), p.read_write("out", u32, 8)
        i = p.let(p.global_id(0))
        v = p.var(x[i])
        v.set(v)
        with p.if_(condition(p, x, i)):
            if nested:
                with p.if_(x[i] > 5):
                    out[i] = 1
            if assigns:
                v.set(2)
            else:
                out[i] = 3
        out[i] = v + out[i]
    return p.build()


def own(p, x, i):
    return x[i] > 3


def test_a_branch_in_a_branch_that_assigns():
    assert merges_branches(branch(own))


@pytest.mark.parametrize("shape", [{"nested": False}, {"assigns": False}])
def test_each_part_of_the_rule_counts(shape):
    assert not merges_branches(branch(own, **shape))


@pytest.mark.parametrize(
    "condition",
    [
        lambda p, x, i: p.workgroup_id(0) > 0,
        lambda p, x, i: p.num_workgroups(0) > x.length,
        lambda p, x, i: x[p.workgroup_id(0)] > 3,
        lambda p, x, i: p.let(x[0] + p.workgroup_id(0)) > 3,
    ],
)
def test_where_all_go_the_same_way_nothing_is_merged(condition):
    assert not merges_branches(branch(condition))


@pytest.mark.parametrize(
    "condition",
    [lambda p, x, i: p.local_id(0) > 3, lambda p, x, i: p.let(x[0] + i) > 3],
)
def test_ids_and_what_is_made_of_them_part(condition):
    assert merges_branches(branch(condition))


def test_a_local_of_the_branch_itself_needs_no_merging():
    with program("inside", 8) as p:
        x, out = p.read("x", u32, 8), p.write("out", u32, 8)
        i = p.let(p.global_id(0))
        with p.if_(x[i] > 3):
            v = p.var(x[i])
            v.set(v)
            with p.if_(v > 5):
                v.set(2)
            out[i] = v
    assert not merges_branches(p.build())


def loop(value):
    """``for k in 0..9 { out[k] = … }``, legalized for loops."""
    with program("loop", 1) as p:
        x, out = p.read("x", u32), p.write("out", u32, 9)
        with p.range(0, 9) as k:
            out[k] = value(x, k)
    return p.build()


@pytest.mark.parametrize(
    ("value", "is_so"),
    [
        (lambda x, k: x[x[k]] // (k + 1), True),
        (lambda x, k: x[x[k]] % (k + 1), True),
        (lambda x, k: x[x[k]] // 7, False),
        (lambda x, k: x[x[k]] + k, False),
        (lambda x, k: x[k] // (k + 1), False),
    ],
)
def test_a_loop_that_divides_beside_a_checked_load(value, is_so, backend_id):
    made = loop(value)
    (kernel,) = legalize(made, made.validate(), open_device("opencl").dialect.target()).kernels
    assert divides_beside_checks(kernel.program.body) is is_so
    assert must_stay_scalar(kernel.program) is is_so
