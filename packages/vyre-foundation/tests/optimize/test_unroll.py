"""Loops become their rounds where the counter decides something, within a budget, and never with a trap inside."""

import pytest

from vyre_foundation.optimize.unroll import UNROLL


@pytest.fixture
def stage():
    return UNROLL


@pytest.mark.parametrize(
    ("body", "one", "two"),
    [
        ("b[0] = a[0] >> {};", "0", "1"),
        ("b[0] = a[0] / {};", "0", "1"),
        ("b[0] = 128 >> {};", "0", "1"),
        ("if {} == 1 {{ b[0] = 1; }}", "0", "1"),
        ("b[0] = table[{}];", "0", "1"),
        ("v[{}] = 1;", "0", "1"),
        ("for k{} in {}..a[0] {{ b[0] = 1; }}", "0", "1"),
    ],
)
def test_the_counter_decides(body, one, two, becomes):
    def of(name, value):
        return body.format(name, value) if body.count("{}") == 2 else body.format(value)

    becomes(f"for i in 0..2 {{ {of('', 'i')} }}", of("", one) + of("_1", two))


def test_jumps_of_loops_inside_are_theirs(becomes):
    inner = "for k{0} in 0..a[0] {{ if a[k{0}] == 1 {{ break; }} v[{1}] = 1; }}"
    becomes(f"for i in 0..2 {{ {inner.format('', 'i')} }}", inner.format("", "0") + inner.format("_1", "1"))
