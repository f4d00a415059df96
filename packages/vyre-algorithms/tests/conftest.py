"""The backends that tests compare: the reference, and all that can be opened here."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from algorithm_data import BACKENDS, COMPILED, SHORT, TYPES


def pytest_generate_tests(metafunc):
    """`backend` is each of them; with `each_type`, every type on the reference, and few on those that compile."""
    names = metafunc.fixturenames
    if "each_type" in names:
        pairs = []
        for backend, dtype in itertools.product(BACKENDS, TYPES):
            is_short = backend == "reference" or (backend in SHORT and dtype in COMPILED)
            marks = () if is_short else pytest.mark.slow
            pairs.append(pytest.param(backend, dtype, marks=marks, id=f"{backend}-{np.dtype(dtype)}"))
        metafunc.parametrize(("backend", "each_type"), pairs)
    elif "backend" in names:
        backends = [pytest.param(id, marks=() if id in SHORT else pytest.mark.slow) for id in BACKENDS]
        metafunc.parametrize("backend", backends)
