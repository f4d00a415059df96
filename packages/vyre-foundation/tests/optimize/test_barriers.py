"""Barriers that divide nothing go; those that divide accesses stay."""

import pytest

from vyre_foundation.ir.stmt import Barrier
from vyre_foundation.ir.walk import statements
from vyre_foundation.optimize.barriers import BARRIERS
from vyre_foundation.text import parse


@pytest.fixture
def stage():
    return BARRIERS


def test_of_two_with_nothing_between_the_wider_stays(becomes):
    becomes(
        "w[0] = 1; barrier workgroup; let x = a[0]; v[0] = x; barrier workgroup; b[0] = w[0];",
        "w[0] = 1; barrier workgroup; let x = a[0]; v[0] = x; b[0] = w[0];",
    )
    becomes(
        "w[0] = 1; barrier workgroup; barrier grid; barrier workgroup; b[0] = w[0];",
        "w[0] = 1; barrier grid; b[0] = w[0];",
    )


def test_none_at_the_beginning_and_the_end(becomes):
    becomes("barrier grid; let x = a[0]; barrier workgroup; b[0] = x; barrier workgroup;", "let x = a[0]; b[0] = x;")
    becomes("barrier grid; let x = a[0]; barrier grid;", "let x = a[0];")


def test_none_between_accesses_that_never_meet(becomes):
    becomes(
        "w[0] = 1; barrier workgroup; let x = w[1]; barrier workgroup; out[0] = x; barrier grid; b[0] = x;",
        "w[0] = 1; barrier workgroup; let x = w[1]; out[0] = x; b[0] = x;",
    )


@pytest.mark.parametrize(
    "statements",
    [
        "w[0] = 1; barrier workgroup; b[0] = w[0]; barrier workgroup; w[0] = 2;",
        "w[0] = 1; barrier workgroup; let x = w[0]; barrier workgroup; w[0] = x;",
        "w[0] = 1; barrier workgroup; atomic add(w[1], 1); barrier workgroup; w[0] = 2;",
        "w[0] = 1; barrier workgroup; if a[0] == 1 { b[0] = 1; } barrier workgroup; w[0] = 2;",
        "for i in 0..4 { barrier workgroup; w[i] = 1; barrier workgroup; }",
        "for i in 0..4 { w[i] = 1; barrier workgroup; if a[0] == 1 { break; } barrier workgroup; b[0] = w[0]; }",
    ],
    ids=["store", "load", "atomic", "nested", "rounds", "jump"],
)
def test_what_divides_accesses_stays(statements, stays):
    stays(statements)


def test_one_invocation_waits_for_nobody():
    text = "program p workgroup(1, 1, 1) { write out: u32[] @0; out[0] = 1; barrier workgroup; out[1] = 2; }"
    source = parse(text.replace("u32[]", "u32[2]"))
    assert not any(isinstance(stmt, Barrier) for stmt in statements(BARRIERS.apply(source, source.validate()).body))
