"""Loops become their rounds where the counter decides something, within a budget, and never with a trap inside."""

import pytest

from vyre_foundation.optimize.unroll import MAX_NODES, MAX_ROUNDS, UNROLL


@pytest.fixture
def stage():
    return UNROLL


def test_phases_have_numbers(becomes):
    becomes(
        "for i in 0..3 { let x = w[i]; barrier workgroup; w[local_id.x] = x; }",
        """
        let x = w[0]; barrier workgroup; w[local_id.x] = x;
        let x_1 = w[1]; barrier workgroup; w[local_id.x] = x_1;
        let x_2 = w[2]; barrier workgroup; w[local_id.x] = x_2;
        """,
    )


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


@pytest.mark.parametrize(
    "body",
    ["b[i] = a[i];", "b[i * 2 + 1] = 3;", "b[i] = a[0] >> 3;", "b[i] = table[local_id.x];"],
)
def test_the_counter_decides_nothing(body, stays):
    stays(f"for i in 0..2 {{ {body} }}")


def test_one_round_is_no_loop(becomes):
    becomes('for i in 5..6 { b[i] = 1; trap(i, "x"); } for k in 3..3 { b[k] = 1; }', 'b[5] = 1; trap(5, "x");')


def test_counters_do_not_wrap_around(becomes):
    becomes(
        "for i in 250:u8..255 step 4 { b[i] = 9 >> u32(i); v[i] = 1; }",
        "b[250:u8] = 9 >> u32(250:u8); v[250:u8] = 1; b[254:u8] = 9 >> u32(254:u8); v[254:u8] = 1;",
    )


def test_rounds_of_loops_inside_come_from_those_outside(becomes):
    becomes(
        "for i in 0..3 { for k in 0..i { v[k] = i; } }",
        "v[0] = 1; v[0] = 2; v[1] = 2;",
    )


def test_names_are_new(becomes):
    becomes(
        "let x_1 = a[0]; out[0] = x_1; for i in 0..2 { let x = a[i]; v[i] = x; }",
        "let x_1 = a[0]; out[0] = x_1; let x = a[0]; v[0] = x; let x_2 = a[1]; v[1] = x_2;",
    )


@pytest.mark.parametrize(
    "statements",
    [
        'for i in 0..2 { v[i] = 1; trap(i, "x"); }',
        "for i in 0..2 { v[i] = 1; if a[i] == 1 { break; } }",
        "for i in 0..2 { if a[i] == 1 { continue; } v[i] = 1; }",
        "for i in 0..2 { v[i] = 1; barrier grid; }",
        "for i in 0..a[0] { v[i] = 1; }",
        f"for i in 0..{MAX_ROUNDS + 1} {{ v[i] = 1; }}",
        f"for i in 0..{MAX_ROUNDS} {{ {'v[i] = a[i] * a[i + 1];' * (MAX_NODES // MAX_ROUNDS)} }}",
    ],
    ids=["trap", "break", "continue", "grid", "unknown", "many", "large"],
)
def test_a_loop_stays(statements, stays):
    stays(statements)


def test_jumps_of_loops_inside_are_theirs(becomes):
    inner = "for k{0} in 0..a[0] {{ if a[k{0}] == 1 {{ break; }} v[{1}] = 1; }}"
    becomes(f"for i in 0..2 {{ {inner.format('', 'i')} }}", inner.format("", "0") + inner.format("_1", "1"))


def test_nothing_follows_a_round_that_returns(becomes):
    becomes("for k in 0..1 { out[k] = 1; return; } out[1] = 2;", "out[0] = 1; return;")
