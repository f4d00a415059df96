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


@pytest.mark.parametrize(
    "access",
    [
        "v[a[0] & 3] = 2;",
        "v[local_id.x & 3] = 2;",
        "b[0] = v[len(a) & 3];",
        "let t = a[0] & 3; v[t] = 2;",
        "for k in 0..a[0] { v[k & 3] = 2; }",
        "for k in 0..100 { v[k & 3] = 2; }",
        "for k in 0..4 { if a[k] == 1 { break; } v[k] = 2; }",
    ],
)
def test_an_array_with_an_unknown_index_is_in_memory(access, stays):
    stays(f"for i in 0..2 {{ v[i] = 1; }} {access}")
    stays(f"{access} for i in 0..2 {{ b[i] = v[i + 1]; }}")


@pytest.mark.parametrize(
    "access",
    [
        "v[3] = 2;",
        "v[table[1]] = 2;",
        "let t = 1; v[t + 1] = 2;",
        "var x = a[0]; v[0] = x;",
    ],
)
def test_an_array_with_known_indices_may_be_in_registers(access, becomes):
    becomes(f"{access} for i in 0..2 {{ v[i] = 1; }}", f"{access} v[0] = 1; v[1] = 1;")


def test_counters_of_loops_inside_are_known(becomes):
    inner = "for k{0} in 0..a[0] {{ for m{0} in 0..4 {{ v[m{0} ^ {1}] = 1; }} }}"
    once = "for k{0} in 0..a[0] {{ " + " ".join(f"v[{m} ^ {{1}}] = 1;" for m in range(4)) + " }}"
    becomes(f"for i in 0..2 {{ {inner.format('', 'i')} }}", once.format("", 0) + once.format("_1", 1))
