"""What is the same in every round leaves the loop, and no access is made that was not made before."""

import sys
from contextlib import ExitStack

import pytest

from vyre_foundation import build
from vyre_foundation.dtype import u32
from vyre_foundation.optimize.hoist import HOIST


@pytest.fixture
def stage():
    return HOIST


def calls_to_hoist(depth: int, kind: str) -> int:
    """The calls of functions that it takes to hoist a declaration or a load out of each of `depth` nested loops."""
    with build.program("nested", 64) as p:
        x, n = p.read("x", u32), p.uniform("n", u32, 128)
        out = p.write("out", u32, like=x)
        total = p.var(0, u32)
        with ExitStack() as loops:
            for level in range(depth):
                counter = loops.enter_context(p.range(n[level] + 1))
                value = p.let(p.global_id(0) * (level + 3)) if kind == "declarations" else x[level]
                total.set(total + value * counter)
        out[p.global_id(0)] = total
    facts = p.build().validate()
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        HOIST.apply(facts.program, facts)
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize("kind", ["declarations", "loads"])
def test_work_is_linear_in_the_depth(kind: str) -> None:
    calls_to_hoist(2, kind)  # what is made once is made by now
    assert calls_to_hoist(60, kind) < 2.4 * calls_to_hoist(30, kind)
