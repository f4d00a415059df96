"""Branches that are decided, by literals, bounds, conditions around them and exits before them; and others."""

import pytest

from vyre_foundation.optimize.branches import BRANCHES


@pytest.fixture
def stage():
    return BRANCHES


def test_a_literal_decides(becomes):
    becomes("if true { out[0] = 1; } else { out[0] = 2; }", "out[0] = 1;")
    becomes("if false { out[0] = 1; } else { out[0] = 2; }", "out[0] = 2;")
    becomes("if (a[0] == 1) | true { out[0] = 1; }", "out[0] = 1;")


def test_what_follows_a_jump_that_is_always_taken_goes(becomes):
    becomes("out[0] = 1; if true { return; } out[1] = 2; barrier workgroup;", "out[0] = 1; return;")


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        ("local_id.x < 8", True),
        ("local_id.x >= 8", False),
        ("local_id.x % 4 <= 3", True),
        ("len(out) == 16", True),
        ("(global_id.x & 3) != 4", True),
    ],
)
def test_bounds_decide(condition, value, becomes):
    becomes(f"if {condition} {{ out[0] = 1; }} else {{ out[0] = 2; }}", f"out[0] = {1 if value else 2};")


@pytest.mark.parametrize(
    "implied",
    [
        "global_id.x < len(a)",
        "global_id.x <= len(a)",
        "global_id.x != len(a)",
        "not(global_id.x >= len(a))",
        "len(a) > global_id.x",
        "(global_id.x < len(a)) | (a[0] == 1)",
        "0 < len(a)",
    ],
)
def test_a_condition_around_decides(implied, becomes):
    becomes(
        f"if global_id.x < len(a) {{ if {implied} {{ out[0] = 1; }} }}",
        "if global_id.x < len(a) { out[0] = 1; }",
    )


def test_bounds_follow_from_conditions(becomes):
    becomes(
        "if global_id.x < 10 { if global_id.x < 20 { out[0] = 1; } if global_id.x == 30 { out[1] = 1; } }",
        "if global_id.x < 10 { out[0] = 1; }",
    )


def test_what_is_left_of_a_condition_stays(becomes):
    becomes(
        "if global_id.x < 10 { if (global_id.x < 10) & (a[0] == 1) { out[0] = 1; } }",
        "if global_id.x < 10 { if a[0] == 1 { out[0] = 1; } }",
    )


def test_a_comparison_of_truths_is_no_connective(becomes):
    becomes(
        "let c = a[0] == 1; if (c | true) & (true != c) { out[0] = 1; }",
        "let c = a[0] == 1; if true != c { out[0] = 1; }",
    )


def test_an_exit_decides_what_comes_after_it(becomes):
    becomes(
        "if global_id.x >= len(a) { return; } if global_id.x < len(a) { out[0] = 1; }",
        "if global_id.x >= len(a) { return; } out[0] = 1;",
    )


def test_a_counter_is_within_the_bounds_of_its_loop(becomes):
    becomes(
        "for i in 2..a[0] { if (i >= 2) & (i < a[0]) { b[i] = 1; } }",
        "for i in 2..a[0] { b[i] = 1; }",
    )


def test_a_loop_without_a_round_goes(becomes):
    becomes("for i in 5..5 { out[i] = 1; } for i2 in 16..local_id.x { out[i2] = 1; } out[0] = 1;", "out[0] = 1;")


@pytest.mark.parametrize(
    "statements",
    [
        "if b[0] == 1 { b[0] = 2; if b[0] == 1 { out[0] = 1; } }",
        "var x = a[0]; if x == 1 { x = 2; if x == 1 { out[0] = 1; } }",
        "if f[0] < 1.0 { out[0] = 1; } else { if f[0] >= 1.0 { out[0] = 2; } }",
        "if f[0] == f[0] { out[0] = 1; }",
        "for i in 0..4 { if a[i] == 1 { out[0] = 1; } if i == 2 { out[1] = 1; } }",
        "if a[0] == 1 { out[0] = 1; } if a[1] == 1 { out[1] = 1; }",
    ],
    ids=["memory", "variable", "unordered", "nan", "round", "different"],
)
def test_what_may_be_either_stays(statements, stays):
    stays(statements)


def test_a_float_that_is_less_is_not_more(becomes):
    becomes("if f[0] < 1.0 { if f[0] >= 1.0 { out[0] = 2; } if f[0] <= 1.0 { out[1] = 2; } }",
            "if f[0] < 1.0 { out[1] = 2; }")  # fmt: skip


def test_equal_arms_are_one(becomes):
    becomes("if a[0] == 1 { b[0] = 2; } else { b[0] = 2; } out[0] = 1;", "b[0] = 2; out[0] = 1;")


def test_neighbours_with_one_condition_are_one(becomes):
    becomes(
        "if a[0] == 1 { b[0] = 1; } else { b[1] = 1; } if a[0] == 1 { b[2] = 1; } if a[0] == 1 { b[3] = 1; }",
        "if a[0] == 1 { b[0] = 1; b[2] = 1; b[3] = 1; } else { b[1] = 1; }",
    )


@pytest.mark.parametrize(
    "statements",
    [
        "if b[0] == 1 { b[0] = 2; } if b[0] == 1 { b[1] = 2; }",
        "for i in 0..4 { if a[i] == 1 { if i == 2 { break; } } if a[i] == 1 { b[i] = 1; } }",
        'for i in 0..4 { if a[i] == 1 { b[i] = 1; } else { trap(1, "x"); } if a[i] == 1 { trap(2, "y"); } }',
        'for i in 0..4 { if a[i] == 1 { trap(i, "x"); } else { trap(i, "x"); } }',
    ],
    ids=["changed", "left", "order-of-traps", "first-trap"],
)
def test_neighbours_stay_apart(statements, stays):
    stays(statements)
