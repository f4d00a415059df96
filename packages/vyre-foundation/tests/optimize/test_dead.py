"""What has no effect goes; effects stay, and so does all that they need."""

import pytest

from vyre_foundation.optimize.dead import DEAD


@pytest.fixture
def stage():
    return DEAD


@pytest.mark.parametrize(
    "dead",
    [
        "let x = a[0]; let y = x + 1;",
        "var x = a[0]; x = x + 1; if x == 2 { x = 3; }",
        "if a[0] == 1 { } else { let y = 1; }",
        "for i in 0..a[0] { let y = i; if y == 3 { break; } continue; }",
        "w[0] = 1; v[1] = a[0]; s[2] = 3; atomic add(s[0], 1); let old = atomic max(w[0], 7);",
        "w[0] = 1; v[0] = w[0]; w[1] = v[0];",
        "let total = subgroup reduce_add(a[0]);",
        'region "inner" { let x = 1; }',
    ],
    ids=["let", "var", "if", "for", "memory", "memory-circle", "collective", "region"],
)
def test_nothing_is_left_of(dead, becomes):
    becomes(dead + " out[0] = 1;", "out[0] = 1;")


@pytest.mark.parametrize(
    "effect",
    [
        "b[0] = 1;",
        "atomic add(b[0], 1);",
        'trap(7, "never mind");',
        "barrier workgroup;",
        "barrier grid;",
        "w[0] = 1; out[0] = w[1];",
        "atomic add(w[0], 1); out[0] = w[1];",
        "let old = atomic add(w[0], 1); out[0] = old;",
        "if a[0] == 1 { return; } out[0] = 1;",
        "for i in 0..4 { if a[i] == 1 { break; } if a[i] == 2 { continue; } b[i] = 1; }",
        "let total = subgroup reduce_add(a[0]); out[0] = total;",
        "var x = 1; for i in 0..4 { out[i] = x; x = x + 1; }",
    ],
)
def test_effects_stay(effect, stays):
    stays(effect)


def test_an_old_value_that_is_not_read_has_no_name(becomes):
    becomes("let old = atomic add(b[0], 1);", "atomic add(b[0], 1);")


def test_jumps_to_what_comes_next_are_none(becomes):
    becomes(
        "for i in 0..4 { if a[i] == 1 { b[i] = 1; continue; } else { continue; } } if a[0] == 1 { return; }",
        "for i in 0..4 { if a[i] == 1 { b[i] = 1; } }",
    )


def test_what_only_a_last_jump_needed_goes_with_it(becomes):
    becomes(
        "out[0] = 1; if a[0] == 1 { return; } let x = a[1] + 1; if x == 2 { let y = x; return; }",
        "out[0] = 1;",
    )


def test_a_return_in_a_last_loop_ends_it(stays):
    stays("for i in 0..4 { if a[i] == 1 { return; } b[i] = 1; }")


def test_a_branch_for_the_other_case_is_turned(becomes):
    becomes("if a[0] == 1 { let x = 1; } else { b[0] = 1; }", "if not(a[0] == 1) { b[0] = 1; }")
    becomes("if not(a[0] == 1) { } else { b[0] = 1; }", "if a[0] == 1 { b[0] = 1; }")
