"""Worker processes find the backends of these tests."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def backends(monkeypatch: pytest.MonkeyPatch) -> None:
    here = str(Path(__file__).parent / "worker")
    known = os.environ.get("PYTHONPATH")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([here, known]) if known else here)
