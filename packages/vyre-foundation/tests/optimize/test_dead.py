"""What has no effect goes; effects stay, and so does all that they need."""

import pytest

from vyre_foundation.optimize.dead import DEAD


@pytest.fixture
def stage():
    return DEAD
