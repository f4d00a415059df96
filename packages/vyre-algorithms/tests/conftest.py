"""The backends that tests compare: the reference, and all that can be opened here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from vyre_driver import availability, registered_backends

sys.path.insert(0, str(Path(__file__).parent))

BACKENDS = [
    registration.id
    for registration in registered_backends()
    if registration.id != "reference-scalar"
    and not registration.is_distributed
    and availability(registration.id).is_available
]


SHORT = {"reference", "cpu"}
"""What runs without `-m slow`, but for the digests, which every backend must give."""


def pytest_generate_tests(metafunc):
    if "backend" in metafunc.fixturenames:
        is_short = SHORT if not metafunc.module.__name__.endswith("test_digests") else set(BACKENDS)
        backends = [pytest.param(id, marks=() if id in is_short else pytest.mark.slow) for id in BACKENDS]
        metafunc.parametrize("backend", backends)
