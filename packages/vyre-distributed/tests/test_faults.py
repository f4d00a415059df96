"""Workers that end: the same bytes, or a typed error; never bytes that are wrong."""

import os
import random
import signal
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from distributed import CancelledError, Client, KilledWorker, LocalCluster

from vyre_distributed import DaskBackend
from vyre_distributed.backend import ATTEMPTS
from vyre_distributed.dispatch import Tasks
from vyre_driver.errors import BackendError, ContractMismatch, DispatchFailed
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program

X = np.arange(400_000, dtype=np.uint32)
EXPECTED = np.bincount(X % 7, minlength=7)


def histogram() -> Program:
    """Large enough an input that it is scattered, and sums, which a task that counts twice would change."""
    with program("histogram", 64) as p:
        x, counts = p.read("x", u32), p.read_write("counts", u32, 7)
        doubled = p.write("doubled", u32, like=x)
        i = p.let(p.global_id(0))
        with p.if_(i < x.length):
            counts.atomic_add(x[i] % 7, 1)
            doubled[i] = x[i] * 2
    return p.build()


def dispatch(backend: DaskBackend) -> bool:
    found = backend.dispatch_arrays(histogram(), {"x": X, "counts": np.zeros(7, np.uint32)})
    return np.array_equal(found["counts"], EXPECTED) and np.array_equal(found["doubled"], X * 2)


@pytest.mark.parametrize(
    "error", [CancelledError("lost"), KilledWorker("task", SimpleNamespace(address="tcp://a:1"), 3), OSError("closed")]
)
def test_a_dispatch_whose_inputs_are_lost_is_submitted_again(
    client: Client, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    backend, gather, left = DaskBackend(client), Tasks.gather, [error, error]

    def lossy(self: Tasks, futures: Any) -> list[Any]:
        if left:
            raise left.pop()
        return gather(self, futures)

    monkeypatch.setattr(Tasks, "gather", lossy)
    assert dispatch(backend)
    assert backend.backend_metric_snapshot()["resubmitted"] == 2
    left[:] = [error] * ATTEMPTS
    with pytest.raises(DispatchFailed, match=r"workers were lost in 3 attempts: .*Fix: look into the logs"):
        dispatch(backend)


def test_an_error_of_another_kind_is_typed(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: Tasks, futures: Any) -> list[Any]:
        raise ModuleNotFoundError("No module named 'vyre_distributed'")

    monkeypatch.setattr(Tasks, "gather", broken)
    with pytest.raises(DispatchFailed, match="a task raised ModuleNotFoundError: No module named 'vyre_distributed'"):
        dispatch(DaskBackend(client))


def test_a_client_of_another_version_is_refused(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    from vyre_distributed import dispatch as module

    request = module.TaskRequest
    monkeypatch.setattr(module, "TaskRequest", lambda **given: request(version="9.9.9", **given))
    with pytest.raises(ContractMismatch, match=r"the client has 9\.9\.9, this worker has .*Fix: install one version"):
        dispatch(DaskBackend(client))


@pytest.fixture
def mortal() -> Iterator[Client]:
    """A cluster whose workers may end: nannies start them again."""
    options: dict[str, Any] = {"dashboard_address": ":0", "env": {"VYRE_CPU_THREADS": "1"}, "silence_logs": 60}
    with LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster, Client(cluster) as client:
        yield client


@pytest.mark.slow
def test_workers_killed_at_random_moments(mortal: Client) -> None:
    kills = int(os.environ.get("VYRE_TEST_KILLS", "20"))
    backend, chance = DaskBackend(mortal), random.Random(23)
    backend.prepare()
    outcomes = {"right": 0, "refused": 0}
    for _ in range(kills):
        try:
            mortal.wait_for_workers(2, timeout=20)
        except TimeoutError:  # its nanny has given up on a worker that ended while it started
            mortal.cluster.scale(0)
            mortal.cluster.scale(2)
            mortal.wait_for_workers(2, timeout=120)
        pids = list(mortal.run(os.getpid).values())
        timer = threading.Timer(chance.random() * 0.15, os.kill, (chance.choice(pids), signal.SIGKILL))
        timer.start()
        while timer.is_alive():
            try:
                assert dispatch(backend), "wrong bytes"
                outcomes["right"] += 1
            except BackendError:
                outcomes["refused"] += 1
        timer.join()
        try:
            assert dispatch(backend), "wrong bytes"
            outcomes["right"] += 1
        except BackendError:
            outcomes["refused"] += 1
    print(kills, outcomes, backend.backend_metric_snapshot())  # noqa: T201
    assert outcomes["right"] >= kills
