"""The emulation is a folder of tests, not a distribution: it is imported from here."""

import shutil
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))


@pytest.fixture(autouse=True)
def compiler() -> None:
    """Every test here compiles something."""
    from cuda_emulation.compiler import COMPILER

    if shutil.which(COMPILER) is None:
        pytest.skip(f"the search path has no {COMPILER}")
