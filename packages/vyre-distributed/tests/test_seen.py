"""One trace of all workers, and the costs of tasks, by the names of programs and algorithms."""

import json
from pathlib import Path

import dask
import dask.array as da
import numpy as np
import pytest
from dask.diagnostics import ProgressBar
from distributed import Client, progress
from fault_cases import dispatch, is_traced

import vyre_distributed as vd
from vyre_distributed import DaskBackend
from vyre_driver import Trace, traced
from vyre_driver.testing.traces import require_trace_events


def test_one_trace_of_all_workers(client: Client, tmp_path: Path) -> None:
    trace = Trace()
    with vd.trace_workers(trace, client) as activity, client.as_current():
        backend = traced(DaskBackend(client), trace)
        assert dispatch(backend)
        vd.sum(da.ones(300_000, chunks=20_000, dtype=np.float32)).compute()
    trace.write(tmp_path / "out.json")
    document = json.loads((tmp_path / "out.json").read_text())
    require_trace_events(document)
    events = document["traceEvents"]
    processes = {event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert {name.split(" (")[0] for name in processes} == {"host", "worker 0", "worker 1"}
    for pid in {event["pid"] for event in events if "worker" in str(event["args"].get("name"))}:
        names = {event["name"] for event in events if event["ph"] == "X" and event["pid"] == pid}
        assert {"sum", "histogram", "wait", "reduce_sum"} <= names
    spans = [event for event in events if event["ph"] == "X"]
    call = next(event for event in spans if event["name"].startswith("dispatch histogram"))
    inside = [event for event in spans if event["name"] == "histogram" and event["cat"] == "tasks"]
    assert len(inside) >= 2
    assert all(call["ts"] - 1e5 < event["ts"] < call["ts"] + call["dur"] + 1e5 for event in inside)
    costs = {cost.name: cost for cost in activity.costs()}
    assert costs["sum"].tasks == 15
    assert costs["sum"].seconds > 0
    assert "sum" in str(activity)


def test_a_progress_bar_on_a_cluster(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    with client.as_current():
        total = vd.sum(da.ones(300_000, chunks=20_000, dtype=np.float32)).persist()
        progress(total, notebook=False)
        assert "100% Completed" in capsys.readouterr().out
        assert total.compute() == 300_000


def test_a_progress_bar_without_a_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBar(), dask.config.set(scheduler="threads"):
        assert vd.sum(da.ones(300_000, chunks=20_000, dtype=np.float32)).compute() == 300_000
    assert "100% Completed" in capsys.readouterr().out


def test_tracing_ends_with_its_context(client: Client) -> None:
    with vd.trace_workers(Trace(), client):
        assert client.submit(is_traced, pure=False).result()
    assert not client.submit(is_traced, pure=False).result()
