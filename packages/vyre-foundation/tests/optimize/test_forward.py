"""What was just written is known, until somebody may have written again."""

import pytest

from vyre_foundation.optimize.forward import FORWARD


@pytest.fixture
def stage():
    return FORWARD


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
