"""Branches that are decided, by literals, bounds, conditions around them and exits before them; and others."""

import pytest

from vyre_foundation.optimize.branches import BRANCHES


@pytest.fixture
def stage():
    return BRANCHES
