"""What is the same in every round leaves the loop, and no access is made that was not made before."""

import pytest

from vyre_foundation.optimize.hoist import HOIST, MAX_MOVED


@pytest.fixture
def stage():
    return HOIST


def test_loads_and_declarations_leave(becomes):
    becomes(
        "for k in 0..a[9] { let scale = a[0]; out[k] = a[k] * scale + a[global_id.x]; }",
        "let scale = a[0]; let same_1 = a[global_id.x]; for k in 0..a[9] { out[k] = a[k] * scale + same_1; }",
    )


def test_out_of_all_loops_in_which_they_are_the_same(becomes):
    becomes(
        "for i in 0..4 { for k in 0..4 { out[k] = a[i] + a[global_id.x] + a[k]; } }",
        """
        let same_2 = a[global_id.x];
        for i in 0..4 { let same_1 = a[i]; for k in 0..4 { out[k] = same_1 + same_2 + a[k]; } }
        """,
    )


def test_a_load_by_a_load_leaves_with_it(becomes):
    becomes(
        "for k in 0..4 { out[k] = a[a[0]]; if a[k] == 1 { b[k] = a[a[0]]; } b[a[0]] = k; }",
        """
        let same_1 = a[a[0]]; let same_2 = a[0];
        for k in 0..4 { out[k] = same_1; if a[k] == 1 { b[k] = same_1; } b[same_2] = k; }
        """,
    )


def test_memory_that_is_written_elsewhere_if_there_is_a_round(becomes, stays):
    becomes(
        "b[global_id.x] = 1; for k in 0..4 { out[k] = b[global_id.x]; }",
        "b[global_id.x] = 1; let same_1 = b[global_id.x]; for k in 0..4 { out[k] = same_1; }",
    )
    stays("b[global_id.x] = 1; for k in 0..a[0] { out[k] = b[global_id.x]; }")


@pytest.mark.parametrize(
    "statements",
    [
        "for k in 0..4 { b[k] = b[0]; }",
        "for k in 0..4 { out[k] = w[0]; atomic add(w[a[k]], 1); }",
        "var x = 0; for k in 0..4 { out[k] = a[x]; x = x + 1; }",
        "for k in 0..4 { if a[k] == 1 { out[k] = a[0]; } }",
        "for k in 0..4 { if a[k] == 1 { break; } out[k] = a[0]; }",
        "for k in 0..4 { let x = a[0]; w[k] = x; barrier workgroup; }",
        "for k in 0..4 { out[k] = a[k]; }",
        f"for k in 0..4 {{ {' '.join(f'out[k] = a[{n}];' for n in range(MAX_MOVED + 1))} }}",
    ],
    ids=["stored", "atomic", "variable", "branch", "behind-an-exit", "barrier", "counter", "many"],
)
def test_what_stays(statements, stays):
    stays(statements)
