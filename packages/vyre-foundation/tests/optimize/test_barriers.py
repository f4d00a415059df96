"""Barriers that divide nothing go; those that divide accesses stay."""

import pytest

from vyre_foundation.ir.stmt import Barrier
from vyre_foundation.ir.walk import statements
from vyre_foundation.optimize.barriers import BARRIERS
from vyre_foundation.text import parse


@pytest.fixture
def stage():
    return BARRIERS


def test_one_invocation_waits_for_nobody():
    text = "program p workgroup(1, 1, 1) { write out: u32[] @0; out[0] = 1; barrier workgroup; out[1] = 2; }"
    source = parse(text.replace("u32[]", "u32[2]"))
    assert not any(isinstance(stmt, Barrier) for stmt in statements(BARRIERS.apply(source, source.validate()).body))
