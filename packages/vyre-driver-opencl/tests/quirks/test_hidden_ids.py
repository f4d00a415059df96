"""Comparisons that leave one invocation alone: exact, and nothing in the result by which a compiler would know it."""

from __future__ import annotations

import numpy as np
import pytest

from vyre_driver_opencl.quirks.hidden_ids import HIDE_SINGLE_IDS
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.expr import Apply, Id, IdKind, Literal, Local
from vyre_foundation.ir.walk import postorder, program_expressions
from vyre_foundation.validate import validate
from vyre_reference import run

ONE = {
    "first": lambda i: i == 0,
    "below": lambda i: i < 1,
    "not_above": lambda i: i <= 0,
    "mirrored": lambda i: 1 > i,  # noqa: SIM300 - the constant comes first
    "another": lambda i: i == 9,
    "between": lambda i: (i > 2) & (i < 4),
    "others": lambda i: ~(i != 5),
    "behind": lambda i: i - 5 < 1,
}
SEVERAL = {"two": lambda i: i < 2, "from": lambda i: i >= 7, "range": lambda i: (i >= 3) & (i < 9)}


def looping(condition, *, loop=True):
    with program("one", 8) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        i = p.global_id(0)
        with p.if_(condition(i)):
            if loop:
                with p.range(x[0]) as k:
                    out[i * 2 + k] = x[i * 3 + k] + 1
            else:
                out[i * 2] = x[i * 3]
    return p.build()


def shows_an_id(node):
    """Whether a compiler sees with what number the global id is compared."""
    is_comparison = isinstance(node, Apply) and node.op.id in ("lt", "le", "gt", "ge", "eq", "ne")
    if not (is_comparison and any(isinstance(arg, Literal) for arg in node.args)):
        return False
    ids = [n for n in postorder(node.args) if isinstance(n, Id) and n.kind is IdKind.GLOBAL_ID]
    return bool(ids) and not any(isinstance(n, Local) for n in postorder(node.args))


def hidden(made, x):
    """The program after the pass, of which the reference gives the same bytes."""
    after = HIDE_SINGLE_IDS.apply(made, None)
    validate(after, legalized=True)
    assert run(after, {"x": x})["out"].tobytes() == run(made, {"x": x})["out"].tobytes()
    return after


@pytest.mark.parametrize("condition", ONE)
def test_one_invocation_is_exact_and_hidden(condition):
    after = hidden(looping(ONE[condition]), np.array([5, *range(100, 123)], np.uint32))
    assert not any(map(shows_an_id, program_expressions(after)))


def test_an_id_that_memory_chooses_is_hidden_too():
    with program("chosen", 8) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        i = p.global_id(0)
        with p.if_(i == x[1]), p.range(x[0]) as k:
            out[i * 2 + k] = x[i * 3 + k] + 1
    after = hidden(p.build(), np.arange(4, 20, dtype=np.uint32))
    equations = [n for n in program_expressions(after) if isinstance(n, Apply) and n.op.id == "eq"]
    compared = [arg for node in equations for arg in node.args if isinstance(arg, Id)]
    assert [id.kind for id in compared] == [IdKind.NUM_WORKGROUPS]


def test_the_other_way_out_is_hidden_too():
    with program("left", 8) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        i = p.global_id(0)
        with p.if_(i >= 1):
            p.return_()
        with p.range(x[0]) as k:
            out[i + k] = x[i + k + 1]
    after = hidden(p.build(), np.arange(3, 20, dtype=np.uint32))
    assert not any(map(shows_an_id, program_expressions(after)))


@pytest.mark.parametrize("condition", SEVERAL)
def test_comparisons_that_leave_several_stay(condition):
    made = looping(SEVERAL[condition])
    assert HIDE_SINGLE_IDS.apply(made, None) is made


def test_without_a_loop_nothing_is_hidden():
    made = looping(ONE["first"], loop=False)
    assert HIDE_SINGLE_IDS.apply(made, None) is made
