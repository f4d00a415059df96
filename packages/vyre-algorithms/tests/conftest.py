"""The backends that tests compare: the reference, and all that can be opened here."""

from __future__ import annotations

import sys
from pathlib import Path

from vyre_driver import availability, registered_backends

sys.path.insert(0, str(Path(__file__).parent))

BACKENDS = [
    registration.id
    for registration in registered_backends()
    if registration.id != "reference-scalar" and availability(registration.id).is_available
]


def pytest_generate_tests(metafunc):
    if "backend" in metafunc.fixturenames:
        metafunc.parametrize("backend", BACKENDS)
