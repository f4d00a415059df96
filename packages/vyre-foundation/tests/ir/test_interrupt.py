"""Checks inside of walks: how far a walk goes on after the point where a check raises."""

import threading
from collections import deque
from collections.abc import Callable
from typing import TypeVar

import pytest

from vyre_foundation import build
from vyre_foundation.dtype import u32
from vyre_foundation.ir.expr import Expr
from vyre_foundation.ir.interrupt import STRIDE, interruptible
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Stmt
from vyre_foundation.ir.walk import expressions, program_expressions, rewrite, rewrite_body, statements, with_bodies

T = TypeVar("T")


class Over(Exception):
    pass


class Checks:
    """Raises at the check after `before` others."""

    def __init__(self, before: int) -> None:
        self.before = before
        self.made = 0

    def __call__(self) -> None:
        self.made += 1
        if self.made > self.before:
            raise Over


def noting(visited: list[T]) -> Callable[[T], T]:
    """A rule that changes nothing and keeps a list of what it was asked about."""

    def rule(node: T) -> T:
        visited.append(node)
        return node

    return rule


def assignments(count: int) -> Program:
    with build.program("assignments", workgroup_size=64) as p:
        out = p.write("out", u32, 64)
        value = p.var(0, u32)
        for n in range(count):
            value.set(value + n)
        out[p.global_id(0)] = value
    return p.build()


@pytest.mark.parametrize("before", [0, 1, 5])
def test_a_walk_over_statements_ends_at_the_check_that_raises(before: int) -> None:
    visited: deque[Stmt] = deque()
    checks = Checks(before)
    with pytest.raises(Over), interruptible(checks):
        visited.extend(statements(assignments(10 * STRIDE).body))
    assert checks.made == before + 1
    assert len(visited) <= (before + 1) * STRIDE


@pytest.mark.parametrize("before", [0, 1, 5])
def test_a_rewriting_of_statements_ends_at_the_check_that_raises(before: int) -> None:
    visited: list[Stmt] = []
    with pytest.raises(Over), interruptible(Checks(before)):
        rewrite_body(assignments(10 * STRIDE).body, noting(visited))
    assert len(visited) <= (before + 1) * STRIDE


@pytest.mark.parametrize("visit", [expressions, lambda stmt: with_bodies(stmt, lambda body: body)])
def test_walks_that_passes_write_themselves_are_checked(visit: Callable[[Stmt], object]) -> None:
    body = iter(assignments(2 * STRIDE).body)
    with pytest.raises(Over), interruptible(Checks(0)):
        deque(map(visit, body), maxlen=0)
    assert len(list(body)) > STRIDE


@pytest.mark.parametrize("before", [0, 1, 5])
def test_a_rewriting_of_one_expression_ends_at_the_check_that_raises(before: int) -> None:
    with build.program("chain", workgroup_size=64) as p:
        out = p.write("out", u32, 64)
        value = p.global_id(0)
        for n in range(10 * STRIDE):
            value = value * 3 + n
        out[p.global_id(0)] = value
    root = program_expressions(p.build())[-1]
    visited: list[Expr] = []
    with pytest.raises(Over), interruptible(Checks(before)):
        rewrite(root, noting(visited), {})
    assert len(visited) <= (before + 1) * STRIDE


def test_nothing_is_checked_outside_of_the_block_and_in_other_threads() -> None:
    body = assignments(2 * STRIDE).body
    checks = Checks(0)
    with interruptible(checks):
        other = threading.Thread(target=lambda: list(statements(body)))
        other.start()
        other.join()
    list(statements(body))
    assert checks.made == 0


def test_blocks_nest() -> None:
    body = assignments(2 * STRIDE).body
    outer, inner = Checks(100), Checks(100)
    with interruptible(outer):
        with interruptible(inner):
            list(statements(body))
        assert inner.made == 2
        assert outer.made == 0
        list(statements(body))
    assert outer.made == 2
