"""Names vanish where the value stays the same and costs no more, and nowhere else."""

import pytest

from vyre_foundation.optimize.copies import COPIES


@pytest.fixture
def stage():
    return COPIES
