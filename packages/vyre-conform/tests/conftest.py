"""Worker processes find the backends of these tests."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def backends() -> Iterator[None]:
    here = str(Path(__file__).parent / "worker")
    known = os.environ.get("PYTHONPATH")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([here, known]) if known else here)
        yield
