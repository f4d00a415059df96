"""What was just written is known, until somebody may have written again."""

import pytest

from vyre_foundation.optimize.forward import FORWARD


@pytest.fixture
def stage():
    return FORWARD


def test_a_variable_with_a_short_value_is_that_value(becomes):
    becomes(
        "var x = 1; out[0] = x + a[0]; x = a[1]; out[1] = x; x = global_id.x; out[2] = x;",
        "var x = 1; out[0] = 1 + a[0]; x = a[1]; out[1] = x; x = global_id.x; out[2] = global_id.x;",
    )


def test_what_only_one_way_changes_is_not_known_after_it(becomes):
    becomes(
        "var x = 1; var y = 2; if a[0] == 1 { x = 3; out[0] = x + y; } out[1] = x + y;",
        "var x = 1; var y = 2; if a[0] == 1 { x = 3; out[0] = 5; } out[1] = x + 2;",
    )


def test_a_way_that_leaves_changes_nothing_for_others(becomes):
    becomes(
        "var x = 1; if a[0] == 1 { x = 3; return; } out[1] = x;",
        "var x = 1; if a[0] == 1 { x = 3; return; } out[1] = 1;",
    )


def test_what_a_loop_changes_is_not_known_in_it(becomes):
    becomes(
        "var x = 1; var y = 2; for i in 0..a[0] { out[i] = x + y; x = 5; b[i] = x; } out[1] = x;",
        "var x = 1; var y = 2; for i in 0..a[0] { out[i] = x + 2; x = 5; b[i] = 5; } out[1] = x;",
    )


def test_what_was_stored_is_loaded(becomes):
    becomes(
        "w[local_id.x] = 7; out[0] = w[local_id.x]; let x = a[0] * 2; w[local_id.x] = x; out[1] = w[local_id.x];",
        "w[local_id.x] = 7; out[0] = 7; let x = a[0] * 2; w[local_id.x] = x; out[1] = x;",
    )


def test_what_was_stored_gets_a_name_if_it_is_loaded(becomes):
    becomes(
        "w[local_id.x] = a[0] * 2; w[8] = 1; if a[1] == 1 { out[0] = w[local_id.x] + 1; }",
        "let stored_1 = a[0] * 2; w[local_id.x] = stored_1; w[8] = 1; if a[1] == 1 { out[0] = stored_1 + 1; }",
    )


def test_what_was_loaded_is_not_loaded_again(becomes):
    becomes(
        "let x = b[global_id.x]; out[0] = x; b[global_id.x + 1] = 5; out[1] = b[global_id.x];",
        "let x = b[global_id.x]; out[0] = x; b[global_id.x + 1] = 5; out[1] = x;",
    )


def test_loads_of_memory_that_nobody_writes_are_expressions_like_others(stays):
    stays("let x = a[0]; out[0] = a[0]; b[0] = 1;")


def test_private_memory_outlives_barriers_where_nothing_must_be_kept(becomes):
    becomes(
        "v[0] = 7; v[1] = a[0]; barrier workgroup; out[0] = v[0] + v[1];",
        "v[0] = 7; v[1] = a[0]; barrier workgroup; out[0] = 7 + v[1];",
    )


@pytest.mark.parametrize(
    "between",
    [
        "w[a[0]] = 1;",
        "w[local_id.x] = a[1];",
        "atomic add(w[a[0]], 1);",
        "if a[0] == 1 { w[a[1]] = 1; }",
        "for i in 0..a[0] { w[i] = 1; }",
        "barrier workgroup;",
        "for i in 0..a[0] { barrier workgroup; }",
    ],
)
def test_an_element_that_may_have_changed_is_loaded(between, becomes):
    before = f"w[1] = 7; {between} out[0] = w[1];"
    becomes(before, before)


@pytest.mark.parametrize(
    "statements",
    [
        "b[global_id.x] = 7; out[0] = b[global_id.x];",
        "w[16] = 7; out[0] = w[16];",
        "w[4294967295] = 7; out[0] = w[4294967295];",
        "g[0] = 7.0; out[0] = u32(g[0]);",
    ],
)
def test_a_store_that_may_be_out_of_bounds_proves_nothing(statements, stays):
    stays(statements)


def test_an_index_that_changes_is_another_element(stays):
    stays("var i = a[0] & 7; w[i] = 7; i = a[1] & 7; out[0] = w[i];")


def test_an_index_that_the_store_itself_changes_is_another_element(stays):
    stays("v[v[0] & 3] = 1; out[0] = v[v[0] & 3];")


def test_an_index_is_found_where_its_variable_is_known(becomes):
    becomes("var i = 3; w[i] = 7; out[0] = w[i];", "var i = 3; w[3] = 7; out[0] = 7;")


def test_two_elements_of_one_content_have_one_name_behind_a_region(becomes):
    becomes(
        'w[7] = 1; region "r" { b[0] = w[local_id.x]; out[0] = b[0]; } out[1] = w[local_id.x];',
        'w[7] = 1; region "r" { let stored_1 = w[local_id.x]; b[0] = stored_1; out[0] = stored_1; } out[1] = stored_1;',
    )


def test_behind_a_region_what_was_stored_before_it_can_still_have_a_name(becomes):
    becomes(
        'w[0] = a[0] * 2; if a[1] > 0 { region "r" { out[2] = 1; } out[0] = w[0]; }',
        'let stored_1 = a[0] * 2; w[0] = stored_1; if a[1] > 0 { region "r" { out[2] = 1; } out[0] = stored_1; }',
    )


def test_what_is_known_is_folded_and_so_known_again(becomes):
    becomes(
        "var x = a[0]; x = 2; x = x * 3; x = x + 1; out[0] = x;",
        "var x = a[0]; x = 2; x = 6; x = 7; out[0] = 7;",
    )
