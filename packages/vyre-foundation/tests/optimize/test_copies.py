"""Names vanish where the value stays the same and costs no more, and nowhere else."""

import pytest

from vyre_foundation.optimize.copies import COPIES


@pytest.fixture
def stage():
    return COPIES


@pytest.mark.parametrize("value", ["7", "global_id.x", "len(a)"])
def test_what_is_as_short_as_a_name_takes_its_place(value, becomes):
    becomes(
        f"let x = {value}; for i in 0..4 {{ b[x] = i; barrier workgroup; out[x] = i; }}",
        f"for i in 0..4 {{ b[{value}] = i; barrier workgroup; out[{value}] = i; }}",
    )


def test_a_copy_is_what_it_copies(becomes):
    becomes(
        "let x = a[0] + a[1]; let y = x; out[0] = x; out[1] = y * y;",
        "let x = a[0] + a[1]; out[0] = x; out[1] = x * x;",
    )


def test_a_copy_of_a_variable_is_a_snapshot(stays):
    stays("var x = a[0]; let y = x; x = a[1]; out[0] = y; out[1] = x;")


def test_a_variable_that_is_never_assigned_is_none(becomes):
    becomes("var x = a[0] * 2; out[0] = x; out[1] = x;", "let x = a[0] * 2; out[0] = x; out[1] = x;")


def test_values_move_to_the_one_statement_that_uses_them(becomes):
    becomes(
        "let x = a[0] * 2; let y = x + 1; let z = y * y; out[0] = z;",
        "out[0] = (a[0] * 2 + 1) * (a[0] * 2 + 1);",
    )


def test_a_value_may_move_into_a_branch_if_it_reads_no_memory(becomes):
    becomes(
        "let x = global_id.x * 2; if a[0] == 1 { out[0] = x; }",
        "if a[0] == 1 { out[0] = global_id.x * 2; }",
    )


@pytest.mark.parametrize(
    "statements",
    [
        "let x = a[0]; if a[1] == 1 { out[0] = x; }",
        "let x = global_id.x * 3; for i in 0..4 { out[i] = x; }",
        "let x = global_id.x * 3; barrier workgroup; out[0] = x;",
        "let x = b[0]; b[0] = 1; out[0] = x;",
        "let x = b[0]; b[1] = 1; out[0] = x;",
        "let x = s[0]; atomic add(s[0], 1); out[0] = x;",
        "var m = a[0]; let x = m + 1; m = 2; out[0] = x + m;",
        "let x = v[0]; if a[0] == 1 { v[0] = 2; } out[0] = x;",
        "let x = a[0] + 1; out[0] = x; out[1] = x;",
    ],
    ids=["load-into-branch", "into-loop", "barrier", "write", "other-write", "atomic", "assign", "nested", "twice"],
)
def test_a_value_stays(statements, stays):
    stays(statements)


def test_the_write_of_the_statement_itself_comes_after_its_reads(becomes):
    becomes("let x = b[0]; b[0] = x + 1;", "b[0] = b[0] + 1;")


def test_what_is_used_by_a_value_that_moves_is_used_where_that_goes(becomes):
    becomes("let x = a[0]; let y = x * 2; out[0] = x + y;", "out[0] = a[0] + a[0] * 2;")


def test_a_value_does_not_move_past_the_write_that_another_may_pass(becomes):
    becomes(
        "let x = b[0]; let y = a[0] * 2; b[0] = 3; out[0] = x + y;",
        "let x = b[0]; b[0] = 3; out[0] = x + a[0] * 2;",
    )
