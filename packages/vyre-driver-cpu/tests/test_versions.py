"""Which version of its loops a kernel runs: seldom the one with checks, as counters in the emitted code show."""

import ctypes
import re
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pytest

import vyre_algorithms as va
from vyre_driver_cpu import port
from vyre_driver_cpu.backend import CpuBackend
from vyre_driver_cpu.statements import VERSIONS

SIZE = 1 << 16
MOST = 0.1
"""The share of the runs that may take a version with checks: the workgroups at the ends of an array do."""
_LABEL = re.compile(rf"^({'|'.join(VERSIONS)})(\d+):$", re.MULTILINE)


class Counted:
    """Counts how often each block of a versioned region is reached, by a number that is in the text of the kernel."""

    def __init__(self) -> None:
        self._counts = (ctypes.c_uint64 * 20_000)()
        self._regions: list[str] = []

    def text(self, text: str) -> str:
        """The text of a module with a counter in each block."""
        return _LABEL.sub(self._block, text)

    def _block(self, label: re.Match[str]) -> str:
        place = ctypes.addressof(self._counts) + ctypes.sizeof(ctypes.c_uint64) * len(self._regions)
        self._regions.append(label[1])
        count = f"atomicrmw add ptr inttoptr (i64 {place} to ptr), i64 1 monotonic"
        return f"{label[0]}\n  %seen{len(self._regions)} = {count}"

    def share(self) -> float:
        """The share of the versions with checks in all runs of regions."""
        runs = dict.fromkeys(VERSIONS, 0)
        for version, count in zip(self._regions, self._counts, strict=False):
            runs[version] += count
        return runs[VERSIONS[1]] / sum(runs.values())


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    counted, compile = Counted(), port._code_or_failure
    monkeypatch.setattr(port, "compile_text", partial(port.compile_text, level=0))  # the text says which version runs
    monkeypatch.setattr(port, "_code_or_failure", lambda text, cpu: compile(counted.text(text), cpu))
    return counted


@pytest.fixture
def fresh() -> Iterator[CpuBackend]:
    """A backend that has compiled nothing yet."""
    backend = CpuBackend()
    yield backend
    backend.shutdown()


_random = np.random.default_rng(1)
X = _random.random(SIZE, dtype=np.float32)
WORDS = _random.integers(0, 2**32, SIZE, dtype=np.uint32)
BYTES = WORDS.astype(np.uint8)
ROWS = X[:65_500].reshape(-1, 100)

CALLS: dict[str, Callable[[CpuBackend], object]] = {
    "sum": lambda backend: va.sum(X, backend=backend),
    "sum of rows": lambda backend: va.sum(ROWS, axis=1, backend=backend),
    "exact sum": lambda backend: va.exact_sum(X, backend=backend),
    "scan": lambda backend: va.cumsum(X, backend=backend),
    "scan of columns": lambda backend: va.cumsum(ROWS, axis=0, backend=backend),
    "sort": lambda backend: va.sort(WORDS, backend=backend),
    "search": lambda backend: va.searchsorted(np.sort(WORDS), WORDS, backend=backend),
    "convolution": lambda backend: va.convolve(X, X[:9], backend=backend),
    "histogram": lambda backend: va.histogram(X, 100, backend=backend),
    "bincount": lambda backend: va.bincount(BYTES, backend=backend),
    "compact": lambda backend: va.compact(X, X > 0.5, backend=backend),
    "top k": lambda backend: va.top_k(X, 10, backend=backend),
    "matmul": lambda backend: va.matmul(ROWS[:100], ROWS[:100].T, backend=backend),
    "transform": lambda backend: va.fft(X.astype(np.complex64), backend=backend),
}


@pytest.mark.parametrize("name", CALLS)
def test_algorithms_seldom_run_the_version_with_checks(name: str, counted: Counted, fresh: CpuBackend) -> None:
    CALLS[name](fresh)
    assert counted.share() <= MOST
