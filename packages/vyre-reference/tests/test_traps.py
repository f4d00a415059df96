"""Traps: recorded by all, reported once."""

from __future__ import annotations

from linecache import getline

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.errors import Trapped
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.wire import decode, encode


def caught(run, built, arrays, config=None):
    with pytest.raises(Trapped) as trapped:
        run(built, arrays, config or DispatchConfig())
    return trapped.value


def sites():
    with program("sites", 4) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        i = p.global_id(0)
        with p.if_(a[i] & 1 != 0):
            p.trap(a[i] * 10, "odd")
        with p.else_(), p.if_(a[i] == 4):
            p.trap(9, "four")
        with p.if_(a[i] > 6):
            p.trap(3, "large")
        out[i] = 1
    return p.build()


# fmt: off
TRAPS = [
    ([0, 2, 5, 7], "odd",   50, 2, "body[0].then[0]"),
    ([0, 4, 7, 5], "four",   9, 1, "body[0].orelse[0].then[0]"),
    ([0, 0, 7, 4], "odd",   70, 2, "body[0].then[0]"),          # the same invocation traps again further down
    ([8, 7, 5, 4], "large",  3, 0, "body[1].then[0]"),          # a lower invocation at a later statement
    ([0] * 9 + [7], "odd",  70, 9, "body[0].then[0]"),
]
# fmt: on


@pytest.mark.parametrize(("values", "tag", "code", "invocation", "where"), TRAPS, ids=str)
def test_the_lowest_invocation_then_the_first_statement(run, values, tag, code, invocation, where):
    error = caught(run, sites(), {"a": np.array(values, np.uint32)})
    assert (error.tag, error.trap_code, error.invocation, error.where) == (tag, code, invocation, where)
    (origin,) = error.origins
    assert f'p.trap({"a[i] * 10" if tag == "odd" else code}, "{tag}")' in getline(*origin)
    told = f"{where}: invocation {invocation} trapped with {tag!r}, code {code}, at {__file__}:{origin.line}. Fix: "
    assert str(error).startswith(told)


def test_a_program_that_was_read_has_no_lines(run):
    error = caught(run, decode(encode(sites())), {"a": np.array([1], np.uint32)})
    assert error.origins == ()
    assert str(error).startswith("body[0].then[0]: invocation 0 trapped with 'odd', code 10. Fix: ")


def test_another_workgroup_size_keeps_the_lines(run):
    error = caught(run, sites(), {"a": np.array([1], np.uint32)}, DispatchConfig(workgroup_override=(8, 1, 1)))
    assert [origin.file for origin in error.origins] == [__file__]


def test_no_trap_no_error(run):
    assert run(sites(), {"a": np.array([0, 2, 6], np.uint32)})["out"].tolist() == [1, 1, 1]


def test_a_trap_does_not_end_its_invocation(run):
    """Nobody waits in vain at the barrier after it."""
    with program("go on", 4) as p:
        with p.if_(p.global_id(0) == 1):
            p.trap(p.local_id(0), "one")
        p.barrier()
    error = caught(run, p.build(), {}, DispatchConfig(grid_override=(2, 1, 1)))
    assert (error.invocation, error.trap_code) == (1, 1)


def test_the_lowest_code_of_one_statement(run):
    with program("loop", 4) as p, p.range(0, 4) as k:
        p.trap(5 - k, "count")
    error = caught(run, p.build(), {}, DispatchConfig(grid_override=(1, 1, 1)))
    assert (error.invocation, error.trap_code) == (0, 2)


def test_invocations_are_counted_over_the_whole_launch(run):
    """(gz * GY + gy) * GX + gx of invocation (3, 2, 1) of 6 by 4 by 2."""
    with program("axes", (3, 2, 1)) as p:
        x, y, z = (p.global_id(axis) for axis in range(3))
        with p.if_((x == 3) & (y == 2) & (z == 1)):
            p.trap(1, "here")
        with p.if_((x == 0) & (y == 3) & (z == 1)):
            p.trap(2, "later")
    error = caught(run, p.build(), {}, DispatchConfig(grid_override=(2, 2, 2)))
    assert (error.invocation, error.tag) == ((1 * 4 + 2) * 6 + 3, "here")


def test_the_lowest_invocation_need_not_be_in_the_first_workgroup(run):
    """(0, 1) of the first group has the number 4, (2, 0) of the second the number 2."""
    with program("groups", (2, 2, 1)) as p:
        x, y = p.global_id(0), p.global_id(1)
        with p.if_(x == 2 * (1 - y)):
            p.trap(x, "either")
    error = caught(run, p.build(), {}, DispatchConfig(grid_override=(2, 1, 1)))
    assert (error.invocation, error.trap_code) == (2, 2)


def test_iterations_count_together(run):
    """The second iteration traps at a lower invocation than the first."""
    with program("again", 4) as p:
        scratch = p.scratch("scratch", u32, 1)
        i = p.global_id(0)
        with p.if_(i == 3 - scratch[0]):
            p.trap(scratch[0], "countdown")
        p.barrier()
        with p.if_(i == 0):
            scratch[0] = scratch[0] + 1
    error = caught(run, p.build(), {}, DispatchConfig(grid_override=(1, 1, 1), fixpoint_iterations=3))
    assert (error.invocation, error.trap_code) == (1, 2)
