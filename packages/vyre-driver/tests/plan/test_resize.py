"""Launches in workgroups of another size: refused wherever the program or its launch could tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import vyre_reference
from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.device.profile import Extent
from vyre_driver.plan.launch import plan_launch
from vyre_driver.plan.resize import dependence, resized
from vyre_foundation import Program, program, select, u32

Write = Callable[[Any, Any, Any], None]


def over(write: Write, size: int | Extent = 8) -> Program:
    """A program over `a` and `out`, of equal lengths, and a `counter` of four elements."""
    with program("sized", size) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        write(p, a, out)
    return p.build()


def elementwise(p: Any, a: Any, out: Any) -> None:
    out[p.global_id(0)] = a[p.global_id(0)] + 1


# fmt: off
DEPENDENT: list[tuple[str, Write]] = [
    ("it asks for its local_id",       lambda p, a, out: out.__setitem__(p.global_id(0), p.local_id(0))),
    ("it asks for its workgroup_id",   lambda p, a, out: out.__setitem__(p.global_id(0), p.workgroup_id(0))),
    ("it asks for its num_workgroups", lambda p, a, out: out.__setitem__(p.global_id(0), p.num_workgroups(0))),
    ("it has barriers",                lambda p, a, out: p.barrier()),
    ("the invocations of a workgroup share s",
     lambda p, a, out: p.workgroup("s", u32, 4).__setitem__(0, 1)),
    ("a trap records the invocation by its workgroup", lambda p, a, out: p.trap(3, "no")),
]
# fmt: on


@pytest.mark.parametrize(("reason", "write"), DEPENDENT, ids=[reason for reason, _ in DEPENDENT])
def test_what_depends_on_workgroups_is_refused(reason: str, write: Write) -> None:
    found = over(write)
    assert dependence(found) == reason
    plan = plan_launch(found, [64])
    assert resized(plan, DEFAULT_CONFIG, (4, 1, 1)) is None
    assert resized(plan, DEFAULT_CONFIG, (4, 1, 1), is_declared=True) == DispatchConfig(workgroup_override=(4, 1, 1))


def test_an_elementwise_program_may_have_any_size() -> None:
    plan = plan_launch(over(elementwise), [4 * 13])
    for width in (1, 3, 16, 64):
        assert resized(plan, DEFAULT_CONFIG, (width, 1, 1)) == DispatchConfig(workgroup_override=(width, 1, 1))


def counting(p: Any, a: Any, out: Any) -> None:
    out.atomic_add(0, 1)


def guarded(p: Any, a: Any, out: Any) -> None:
    with p.if_(p.global_id(0) < a.length):
        out.atomic_add(0, 1)


def returning(p: Any, a: Any, out: Any) -> None:
    with p.if_(p.global_id(0) >= a.length):
        p.return_()
    out.atomic_add(0, 1)


def test_invocations_past_the_end_must_do_nothing() -> None:
    """Counted: 16 invocations for 13 elements in workgroups of 8, and 13 in workgroups of 1."""
    ragged, even = [plan_launch(over(counting), [4 * n]) for n in (13, 16)]
    assert resized(ragged, DEFAULT_CONFIG, (1, 1, 1)) is None
    assert resized(even, DEFAULT_CONFIG, (1, 1, 1)) is not None
    assert resized(even, DEFAULT_CONFIG, (32, 1, 1)) is None
    for write in (guarded, returning):
        assert resized(plan_launch(over(write), [4 * 13]), DEFAULT_CONFIG, (1, 1, 1)) is not None


def test_a_given_grid_keeps_its_invocations() -> None:
    plan = plan_launch(over(elementwise, (4, 4, 1)), [4 * 64], config := DispatchConfig(grid_override=(4, 2, 1)))
    assert resized(plan, config, (8, 2, 1)) == DispatchConfig(workgroup_override=(8, 2, 1), grid_override=(2, 4, 1))
    assert resized(plan, config, (16, 16, 1)) is None
    assert resized(plan, config.replace(workgroup_override=(4, 4, 1)), (8, 2, 1)) is None


def test_an_inferred_grid_is_for_one_axis() -> None:
    plan = plan_launch(over(elementwise, (4, 4, 1)), [4 * 64])
    assert resized(plan, DEFAULT_CONFIG, (8, 2, 1)) is None


SHAPES = st.sampled_from(["store", "add", "if", "else", "return", "loop", "let", "select", "private"])


@settings(max_examples=150, deadline=None)
@given(shapes=st.lists(SHAPES, min_size=1, max_size=3), limit=st.integers(0, 30), factor=st.integers(1, 3),
       count=st.integers(1, 20), own=st.integers(1, 9), other=st.integers(1, 9))  # fmt: skip
def test_what_is_proven_gives_the_same_bytes(
    shapes: list[str], limit: int, factor: int, count: int, own: int, other: int
) -> None:
    """Programs whose invocations past the end may count, against the reference evaluator."""
    with program("sized", own) as p:
        a = p.read("a", u32)
        out, total = p.write("out", u32, like=a), p.write("total", u32, 2)
        i = p.global_id(0)
        for n, shape in enumerate(shapes):
            index = i * factor + n
            match shape:
                case "store":
                    out[index] = i + 1
                case "add":
                    total.atomic_add(i, 1)
                case "if":
                    with p.if_((i < limit) & (index < a.length)):
                        total.atomic_add(0, 1)
                case "else":
                    with p.if_(i < a.length):
                        out[index] = a[i]
                    with p.else_():
                        total.atomic_add(limit, 1)
                case "return":
                    with p.if_(i >= a.length):
                        p.return_()
                case "loop":
                    with p.range(0, 2) as k:
                        total.atomic_add(i + k, 1)
                case "let":
                    x = p.let(i // factor)
                    total.atomic_max(x, i)
                case "select":
                    total.atomic_add(select(i < limit, i, 1), 1)
                case "private":
                    p.private(f"mine{n}", u32, 2)[0] = i
    found = p.build()
    data = np.arange(count, dtype=np.uint32)
    plan = plan_launch(found, [data.nbytes])
    config = resized(plan, DEFAULT_CONFIG, (other, 1, 1))
    assume(config is not None)
    one, two = (vyre_reference.run(found, {"a": data}, chosen) for chosen in (DEFAULT_CONFIG, config))
    assert {name: array.tobytes() for name, array in one.items()} == {n: array.tobytes() for n, array in two.items()}
