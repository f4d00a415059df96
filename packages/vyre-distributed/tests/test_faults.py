"""Workers that end: the same bytes, or a typed error; never bytes that are wrong."""

import sys
import time
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from distributed import CancelledError, Client, KilledWorker, LocalCluster
from fault_cases import dispatch, options

from vyre_distributed import DaskBackend
from vyre_distributed.backend import ATTEMPTS
from vyre_distributed.dispatch import Tasks
from vyre_driver.errors import BackendUnavailable, ContractMismatch, DispatchFailed


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


def test_a_cluster_that_loses_all_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask itself waits for ever."""
    monkeypatch.setattr("vyre_distributed.cluster.CONNECT_TIMEOUT", 0.5)
    monkeypatch.setattr("vyre_distributed.dispatch.LOOK", 0.2)
    with LocalCluster(**options(n_workers=1)) as cluster, Client(cluster, set_as_default=False) as client:
        backend = DaskBackend(client)
        assert dispatch(backend)
        client.submit(not_importable(), pure=False)
        while client.nthreads():
            time.sleep(0.05)
        with pytest.raises(BackendUnavailable, match=r"has had no worker for 0\.5 s\. Fix: look into the logs"):
            dispatch(backend)


def not_importable() -> Any:
    """A function of a module that workers cannot import: one that is given it ends."""
    module = ModuleType("module_of_the_client")
    exec("def task(): pass", vars(module))
    sys.modules["module_of_the_client"] = module
    return module.task
