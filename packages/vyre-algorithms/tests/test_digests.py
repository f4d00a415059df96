"""Results that are on file: every backend gives these bytes, today and after every change.

Inputs are made of random words by Philox, whose vectors are published. `VYRE_ACCEPT=1` writes the digests of the
reference; a change of one is a change of a definition.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from algorithm_data import BACKENDS

import vyre_algorithms as va
from vyre_driver import VyreBackend
from vyre_driver_cpu.backend import CpuBackend
from vyre_foundation.testing.goldens import accepting, is_accepted

FILE = Path(__file__).with_name("digests.json")
SIZE = 9001


def words(seed: int) -> np.ndarray:
    return va.philox(seed, SIZE, backend="reference")


def floats(seed: int) -> np.ndarray:
    """From −0.5 to 0.5, scaled by powers of 2, so that the order of additions shows."""
    x = words(seed)
    return ((x >> 8).astype(np.float32) / np.float32(1 << 24) - np.float32(0.5)) * np.exp2((x & 15).astype(np.float32))


SEGMENTS = np.array([0, 1, 70, 70, 5000, SIZE])
CASES = {
    "sum": lambda b: va.sum(floats(1), backend=b),
    "sum of f64": lambda b: va.sum(floats(1).astype("f8") / 3, backend=b),
    "sum of f16": lambda b: va.sum((floats(1) / 1024).astype("f2"), backend=b),
    "sum of rows": lambda b: va.sum(floats(1)[:9000].reshape(90, 100), 1, backend=b),
    "prod": lambda b: va.prod(1 + floats(1) / 2**20, backend=b),
    "xor": lambda b: va.reduce(words(1), "xor", backend=b),
    "dot": lambda b: va.dot(floats(1), floats(2), backend=b),
    "var": lambda b: va.var(floats(1), ddof=1, backend=b),
    "std of columns": lambda b: va.std(floats(1)[:9000].reshape(90, 100), 0, backend=b),
    "segmented_reduce": lambda b: va.segmented_reduce(floats(1), SEGMENTS, backend=b),
    "exact_sum": lambda b: va.exact_sum(floats(1), backend=b),
    "exact_dot": lambda b: va.exact_dot(floats(1), floats(2), backend=b),
    "scan": lambda b: va.cumsum(floats(1), backend=b),
    "scan of bits": lambda b: va.scan(words(1) >> 7, "xor", exclusive=True, backend=b),
    "segmented_scan": lambda b: va.segmented_scan(floats(1), SEGMENTS, backend=b),
    "sort": lambda b: va.sort(floats(1), backend=b),
    "argsort": lambda b: va.argsort(words(1) & 255, backend=b),
    "unique": lambda b: va.unique(words(1) & 255, backend=b),
    "top_k": lambda b: va.top_k(floats(1), 99, backend=b)[1],
    "bincount with weights": lambda b: va.bincount(words(1) & 63, floats(1), backend=b),
    "histogram": lambda b: va.histogram(floats(1), 30, (-3.0, 3.0), backend=b)[0],
    "repeat": lambda b: va.repeat(words(1), words(2) & 3, backend=b),
    "take_along_axis": lambda b: va.take_along_axis(
        words(1)[:9000].reshape(90, 100), words(2)[:300].reshape(3, 100) % 90, 0, backend=b
    ),
    "matmul": lambda b: va.matmul(floats(1)[:600].reshape(20, 30), floats(2)[:1200].reshape(30, 40), backend=b),
    "correlate": lambda b: va.correlate(floats(1)[:900].reshape(30, 30), floats(2)[:9].reshape(3, 3), backend=b),
    "fft": lambda b: va.fft(floats(1)[:512].astype("c8"), backend=b),
    "fft of another length": lambda b: va.fft(floats(1)[:60].astype("f8") / 3, backend=b),
    "fft by a chirp": lambda b: va.fft(floats(1)[:68].reshape(2, 34), backend=b),
    "rfft": lambda b: va.rfft(floats(1)[:360].reshape(6, 60), backend=b),
    "irfft": lambda b: va.irfft(floats(1)[:91].astype("f8") / 3, backend=b),
    "kmeans": lambda b: va.kmeans(floats(1)[:300].reshape(100, 3), 4, 7, backend=b)[0],
    "pagerank": lambda b: va.pagerank(words(1)[:300] % 70, words(2)[:300] % 70, 80, backend=b),
    "threefry": lambda b: va.threefry(5, 999, backend=b),
    "uniform": lambda b: va.uniform(5, 999, np.float64, backend=b),
    "normal": lambda b: va.normal(5, 999, backend=b),
    "shuffle": lambda b: va.shuffle(np.arange(5000), 5, backend=b),
}


ON_OPENCL = {"argsort", "prod", "scan of bits", "rfft"}
"""One of each kind. Conformance compares the programs of all with the reference; on OpenCL, in GitHub's jobs."""


def marks(on: str, name: str) -> Any:
    """OpenCL compiles slowly: what is proven elsewhere, and all but one case on Intel's runtime, run with `-m slow`."""
    is_short = not on.startswith("opencl") or (on == "opencl" and name in ON_OPENCL) or name == "argsort"
    return () if is_short else pytest.mark.slow


def digest(name: str, backend: str | VyreBackend) -> str:
    return hashlib.sha256(np.ascontiguousarray(CASES[name](backend)).tobytes()).hexdigest()


def test_the_file_has_all_cases_and_no_others() -> None:
    if is_accepted():
        FILE.write_text(json.dumps({name: digest(name, "reference") for name in CASES}, indent=2) + "\n", "utf-8")
    assert list(json.loads(FILE.read_text("utf-8"))) == list(CASES), accepting(__file__)


@pytest.fixture(scope="module")
def optimizing() -> Iterator[VyreBackend]:
    """The CPU, with LLVM's optimizer and without the code that other tests have left."""
    backend = CpuBackend()
    yield backend
    backend.shutdown()


@pytest.mark.parametrize(
    ("on", "name"), [pytest.param(on, name, marks=marks(on, name)) for on in BACKENDS for name in CASES]
)
def test_digest(on: str, name: str, optimizing: VyreBackend) -> None:
    assert digest(name, optimizing if on == "cpu" else on) == json.loads(FILE.read_text("utf-8")).get(name), accepting(
        __file__
    )
