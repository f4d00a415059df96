"""The backend without a device port on the page about backends: another process, which may end at any time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vyre as vy
from vyre_conform.cell import State
from vyre_conform.testing import cells, require
from vyre_driver import BackendUnavailable, DeviceLost, DispatchConfig, DispatchTimeout, StaleHandle, VyreBackend
from vyre_driver.testing.contract import BackendContract
from vyre_driver.testing.registration import registered
from vyre_driver.testing.witnesses import doubling, in_place

EXAMPLES = Path(__file__).parents[2] / "examples"


def example() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLES)
        import remote_backend  # type: ignore[import-not-found]

        return remote_backend


@pytest.fixture
def opened() -> Iterator[Any]:
    backend = example().registration.factory()
    yield backend
    backend.shutdown()


def doubled(backend: VyreBackend) -> bool:
    witness = doubling(100)
    return bytes(backend.dispatch(witness.program, witness.given)[0]) == witness.expected[0]


@vy.kernel
def twice(x: vy.Array[vy.f64, "n"]) -> vy.Array[vy.f64, "n"]:  # noqa: F821, UP037
    i = vy.index()
    return x[i] + x[i]


def test_users_see_it_without_further_work() -> None:
    x = np.arange(100.0)
    with registered(example().registration):
        assert np.array_equal(twice.on("remote")(x), 2 * x)
        assert np.array_equal(vy.sort(vy.array(x[::-1].copy(), backend="remote")).numpy(), x)


def test_it_passes_what_it_does_not_refuse(opened: VyreBackend) -> None:
    queries = "claims", "sessions", "traps", "indirect", "iterations", "ops:add:dtype=i64", "grid:two_phases"
    found = [list(cells(query)) for query in queries]
    assert all(found)
    ended = Counter(require(opened, spec) for specs in found for spec in specs)
    assert ended[State.PASS] > 60
    assert set(ended) <= {State.PASS, State.UNSUPPORTED, State.SKIPPED}


def test_a_server_that_ends_is_a_lost_device(opened: Any) -> None:
    held = opened.allocate_resident(8)
    opened._server.kill()
    with pytest.raises(DeviceLost, match="its server has ended"):
        doubled(opened)
    assert opened.device_lost()
    opened.try_recover()
    assert not opened.device_lost()
    assert doubled(opened)
    with pytest.raises(StaleHandle):
        opened.download_resident(held)


def test_a_late_answer_is_not_that_of_the_next_dispatch(opened: Any) -> None:
    witness, often = in_place(1 << 14), DispatchConfig(fixpoint_iterations=200)
    pending = opened.dispatch_async(witness.program, witness.given, often)
    with pytest.raises(DispatchTimeout):
        pending.await_result(0)
    assert doubled(opened)


def test_a_server_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    module = example()
    monkeypatch.setattr(module, "PROTOCOL", "remote 2")
    with pytest.raises(BackendUnavailable, match="its server speaks 'remote 1', expected 'remote 2'"):
        module.RemoteBackend()


def test_a_server_that_does_not_start_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    module = example()
    monkeypatch.setattr(module, "__file__", str(tmp_path / "missing.py"))
    with pytest.raises(BackendUnavailable, match="its server did not start"):
        module.RemoteBackend()


@pytest.mark.slow
class TestContract(BackendContract):
    """The calls of the contract, each with a server of its own."""

    def make(self) -> VyreBackend:
        backend: VyreBackend = example().registration.factory()
        return backend
