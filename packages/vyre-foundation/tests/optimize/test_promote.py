"""An element that a loop stores is a local during the loop, where nobody can tell."""

import pytest

from vyre_foundation.optimize.promote import MAX_PROMOTED, PROMOTE


@pytest.fixture
def stage():
    return PROMOTE


def test_an_element_is_a_local_during_a_loop(becomes):
    becomes(
        "for k in 0..a[0] { g[global_id.x] = g[global_id.x] + f[k]; }",
        """
        let some_1 = 0 < a[0];
        var own_1 = g[global_id.x];
        for k in 0..a[0] { own_1 = own_1 + f[k]; }
        if some_1 { g[global_id.x] = own_1; }
        """,
    )


def test_no_load_that_could_race_is_made_before_a_loop_without_iterations(becomes):
    """Another invocation may store what this one loads for nothing."""
    becomes(
        "for k in 0..a[global_id.x] { g[a[1]] = g[a[1]] + f[k]; }",
        """
        let some_1 = 0 < a[global_id.x];
        var own_1 = 0.0;
        if some_1 { own_1 = g[a[1]]; }
        for k in 0..a[global_id.x] { own_1 = own_1 + f[k]; }
        if some_1 { g[a[1]] = own_1; }
        """,
    )


def test_the_bounds_may_change_in_the_loop(becomes):
    becomes(
        "for k in 0..w[0] { g[0] = g[0] + f[k]; w[0] = k; }",
        """
        let some_1 = 0 < w[0];
        var own_1 = 0.0; if some_1 { own_1 = g[0]; }
        for k in 0..w[0] { own_1 = own_1 + f[k]; w[0] = k; }
        if some_1 { g[0] = own_1; }
        """,
    )


def test_a_loop_that_has_an_iteration_needs_no_test(becomes):
    becomes(
        "for k in 0..4 { g[global_id.x] = g[global_id.x] + f[k]; }",
        "var own_1 = g[global_id.x]; for k in 0..4 { own_1 = own_1 + f[k]; } g[global_id.x] = own_1;",
    )


def test_neighbours_are_locals_of_their_own(becomes):
    becomes(
        "for k in 0..4 { g[a[0]] = g[a[0]] + f[k]; g[a[0] + 1] = g[a[0] + 1] - f[k]; }",
        """
        var own_1 = g[a[0]]; var own_2 = g[a[0] + 1];
        for k in 0..4 { own_1 = own_1 + f[k]; own_2 = own_2 - f[k]; }
        g[a[0]] = own_1; g[a[0] + 1] = own_2;
        """,
    )


def test_out_of_the_outermost_loop_in_which_it_is_the_same(becomes):
    becomes(
        "for i in 0..a[0] { for k in 0..4 { g[global_id.x] = g[global_id.x] + f[k]; } }",
        """
        let some_1 = 0 < a[0];
        var own_1 = g[global_id.x];
        for i in 0..a[0] { for k in 0..4 { own_1 = own_1 + f[k]; } }
        if some_1 { g[global_id.x] = own_1; }
        """,
    )


def test_out_of_an_inner_loop_that_may_have_no_iteration(becomes):
    becomes(
        "for i in 0..4 { for k in 0..a[i] { g[i] = g[i] + f[k]; } }",
        """
        for i in 0..4 {
          let some_1 = 0 < a[i];
          var own_1 = 0.0;
          if some_1 { own_1 = g[i]; }
          for k in 0..a[i] { own_1 = own_1 + f[k]; }
          if some_1 { g[i] = own_1; }
        }
        """,
    )


def test_a_way_out_behind_the_store(becomes):
    becomes(
        "for k in 0..4 { g[0] = g[0] + f[k]; if f[k] == 0.0 { break; } }",
        """
        var own_1 = g[0];
        for k in 0..4 { own_1 = own_1 + f[k]; if f[k] == 0.0 { break; } }
        g[0] = own_1;
        """,
    )


def test_a_store_in_a_branch_is_remembered(becomes):
    becomes(
        "for k in 0..a[0] { if f[k] > 0.0 { g[global_id.x] = g[global_id.x] + f[k]; } }",
        """
        var own_1 = g[global_id.x];
        var stored_1 = false;
        for k in 0..a[0] { if f[k] > 0.0 { own_1 = own_1 + f[k]; stored_1 = true; } }
        if stored_1 { g[global_id.x] = own_1; }
        """,
    )


def test_a_store_in_each_iteration_and_one_in_some(becomes):
    becomes(
        """
        for k in 0..a[0] {
          w[2 * local_id.x] = w[2 * local_id.x] + a[k];
          if f[k] > 0.0 { w[2 * local_id.x + 1] = w[2 * local_id.x + 1] + 1; }
        }
        """,
        """
        let some_1 = 0 < a[0];
        var own_1 = w[2 * local_id.x];
        var own_2 = w[2 * local_id.x + 1];
        var stored_1 = false;
        for k in 0..a[0] {
          own_1 = own_1 + a[k];
          if f[k] > 0.0 { own_2 = own_2 + 1; stored_1 = true; }
        }
        if some_1 { w[2 * local_id.x] = own_1; }
        if stored_1 { w[2 * local_id.x + 1] = own_2; }
        """,
    )


def test_a_store_behind_a_way_out_is_remembered(becomes):
    becomes(
        "for k in 0..4 { if f[k] == 0.0 { break; } g[global_id.x] = g[global_id.x] + f[k]; }",
        """
        var own_1 = g[global_id.x];
        var stored_1 = false;
        for k in 0..4 { if f[k] == 0.0 { break; } own_1 = own_1 + f[k]; stored_1 = true; }
        if stored_1 { g[global_id.x] = own_1; }
        """,
    )


def test_a_store_in_a_loop_that_may_have_no_iteration_is_remembered_around_it(becomes):
    becomes(
        "for i in 0..4 { for k in 0..a[i] { g[global_id.x] = g[global_id.x] + f[k]; } }",
        """
        var own_1 = g[global_id.x];
        var stored_1 = false;
        for i in 0..4 { for k in 0..a[i] { own_1 = own_1 + f[k]; stored_1 = true; } }
        if stored_1 { g[global_id.x] = own_1; }
        """,
    )


def test_both_arms_may_store(becomes):
    becomes(
        "for k in 0..4 { if a[k] > 1 { w[local_id.x] = w[local_id.x] + 1; } else { w[local_id.x] = a[k]; } }",
        """
        var own_1 = w[local_id.x];
        var stored_1 = false;
        for k in 0..4 { if a[k] > 1 { own_1 = own_1 + 1; stored_1 = true; } else { own_1 = a[k]; stored_1 = true; } }
        if stored_1 { w[local_id.x] = own_1; }
        """,
    )


def test_no_load_that_could_race_is_made_before_a_branch(stays):
    """Another invocation may store what this one would load for nothing."""
    stays("for k in 0..4 { if global_id.x == 3 { g[0] = g[0] + f[k]; } }")
    stays("for k in 0..4 { if a[k] == 1 { g[a[global_id.x]] = g[a[global_id.x]] + f[k]; } }")


def test_a_store_in_a_branch_may_be_read_elsewhere_in_bounds_only(becomes, stays):
    becomes(
        "for k in 0..4 { if a[k] == 1 { w[local_id.x] = w[local_id.x] + 1; } b[global_id.x] = w[local_id.x]; }",
        """
        var own_1 = w[local_id.x];
        var stored_1 = false;
        for k in 0..4 { if a[k] == 1 { own_1 = own_1 + 1; stored_1 = true; } b[global_id.x] = own_1; }
        if stored_1 { w[local_id.x] = own_1; }
        """,
    )
    stays(
        """
        for k in 0..4 {
          if a[k] == 1 { g[global_id.x] = g[global_id.x] + f[k]; }
          b[global_id.x] = u32(g[global_id.x]);
        }
        """
    )


def test_it_may_be_read_elsewhere_in_bounds_only(becomes, stays):
    becomes(
        "for k in 0..4 { b[3] = b[3] + a[k]; w[b[3]] = 1; }",
        "var own_1 = b[3]; for k in 0..4 { own_1 = own_1 + a[k]; w[own_1] = 1; } b[3] = own_1;",
    )
    stays("for k in 0..4 { b[a[0]] = b[a[0]] + a[k]; w[b[a[0]]] = 1; }")


@pytest.mark.parametrize(
    "statements",
    [
        "for k in 0..4 { g[k] = g[k] + f[k]; }",
        "for k in 0..4 { g[0] = f[k]; }",
        "for k in 0..4 { g[0] = g[0] + g[a[k]]; }",
        "for k in 0..4 { g[0] = g[0] + f[k]; g[a[k]] = 1.0; }",
        "for k in 0..4 { if a[k] == 1 { g[0] = g[0] + f[k]; } }",
        "for k in 0..4 { if a[k] == 1 { continue; } g[0] = g[0] + f[k]; }",
        "for k in 0..4 { g[0] = g[0] + f[k]; if a[k] == 1 { return; } }",
        "for k in 0..4 { w[0] = w[0] + a[k]; atomic add(w[a[k]], 1); }",
        "for k in 0..4 { w[local_id.x] = w[local_id.x] + a[k]; barrier workgroup; }",
        "for k in 0..4 { v[a[0]] = v[a[0]] + a[k]; }",
        "var x = 0; for k in 0..4 { b[x] = b[x] + a[k]; x = x + 1; }",
        "for k in 0..4 { b[w[0]] = b[w[0]] + a[k]; w[k] = 3; }",
        f"for k in 0..4 {{ {' '.join(f'b[{n}] = b[{n}] + a[k];' for n in range(MAX_PROMOTED + 1))} }}",
    ],
    ids=[
        "counter", "not-loaded", "maybe-loaded", "maybe-stored", "branch", "behind-an-exit", "return", "atomic",
        "barrier", "private", "variable", "index", "many",
    ],
)  # fmt: skip
def test_what_stays(statements, stays):
    stays(statements)
