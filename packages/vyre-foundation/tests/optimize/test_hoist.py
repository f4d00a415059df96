"""What is the same in every round leaves the loop, and no access is made that was not made before."""

import pytest

from vyre_foundation.optimize.hoist import HOIST


@pytest.fixture
def stage():
    return HOIST
