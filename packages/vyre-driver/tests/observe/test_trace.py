"""The file of a trace follows the rules of the trace-event format."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from vyre_driver.errors import InvalidSetting
from vyre_driver.observe.live import layered, traced
from vyre_driver.observe.trace import HOST, Trace, TraceSpan, Track
from vyre_driver.testing.traces import require_trace_events


def test_calls_of_any_backend_are_traced(backend, doubling, words, tmp_path: Path) -> None:
    trace = Trace()
    watched = traced(backend, trace)
    watched.dispatch(doubling, [words])
    watched.dispatch(doubling, [words])
    trace.write(tmp_path / "out.json")
    document = json.loads((tmp_path / "out.json").read_text())
    require_trace_events(document)
    calls = [event for event in document["traceEvents"] if event["ph"] == "X"]
    assert [event["name"] for event in calls] == ["dispatch doubling"] * 2
    assert calls[0]["args"] == {"backend": "full", "input_bytes": 24, "output_bytes": 24}
    assert calls[0]["ts"] + calls[0]["dur"] <= calls[1]["ts"]


def test_threads_and_queues_are_tracks() -> None:
    trace = Trace()
    queue = Track("cpu: a device", "threads", 1)

    def work() -> None:
        with trace.span("aside", "call"):
            pass

    with trace.span("outer", "call"), trace.span("inner", "engine"):
        thread = threading.Thread(target=work, name="helper")
        thread.start()
        thread.join()
    trace.add(TraceSpan("launch k", "launch", Track(HOST, "MainThread", 0), trace.began_ns, trace.began_ns + 5, {}, 7))
    trace.add(TraceSpan("k", "kernel", queue, trace.began_ns + 3, trace.began_ns + 9, {}, 7))
    document = trace.to_json()
    require_trace_events(document)
    events = document["traceEvents"]
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert sorted(names.values()) == ["MainThread", "MainThread", "helper", "threads"]
    assert {e["args"]["name"].partition(" (")[0] for e in events if e["name"] == "process_name"} == {
        "host",
        "cpu: a device",
    }
    (kernel,) = [e for e in events if e["ph"] == "X" and e["name"] == "k"]
    assert (kernel["ts"], kernel["dur"]) == (0.003, 0.006)
    assert [(e["ph"], e["id"]) for e in events if e["cat" if "cat" in e else "ph"] == "launch" and e["ph"] != "X"] == [
        ("s", 7),
        ("f", 7),
    ]


def test_an_error_is_a_fact_of_its_span() -> None:
    trace = Trace()
    with pytest.raises(ValueError, match="odd"), trace.span("x", "call"):
        raise ValueError("odd")
    (span,) = trace.spans()
    assert span.facts == {"error": "ValueError: odd"}


def test_the_variable_names_a_file_that_can_be_written(backend, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    places = (tmp_path / "nowhere" / "out.json", tmp_path / "file" / "out.json", tmp_path, tmp_path / ("x" * 300))
    for wrong in places:
        with pytest.raises(InvalidSetting, match="a file that can be written, in a folder that is there"):
            layered(backend, {"VYRE_TRACE": str(wrong)})


def test_a_trace_that_cannot_be_written_is_reported_at_the_end(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    code = (
        "from pathlib import Path\n"
        "from vyre_driver.observe.trace import process_trace\n"
        f"process_trace({str(file)!r})\n"
        f"Path({str(file)!r}).mkdir()\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 0
    assert result.stderr.startswith(f"{file}: the trace is lost: ")
    assert result.stderr.endswith(". Fix: set VYRE_TRACE to a file that can be written\n")
    assert "Traceback" not in result.stderr


def test_the_variable_traces_what_is_acquired(backend, doubling, words, tmp_path: Path) -> None:
    assert layered(backend, {}) is backend
    code = (
        "from vyre_driver import acquire\n"
        "from vyre_foundation import program, u32\n"
        "with program('triple', workgroup_size=4) as p:\n"
        "    out = p.write('out', u32, count=4)\n"
        "    out[p.global_id(0)] = p.global_id(0) * 3\n"
        "acquire('reference').dispatch(p.build(), [])\n"
    )
    variable = {"VYRE_TRACE": str(tmp_path / "trace-{pid}.json"), "VYRE_CACHE": "off"}
    result = subprocess.run([sys.executable, "-c", code], env=variable, capture_output=True, text=True, check=False)
    if "UnknownBackend" in result.stderr:
        pytest.skip("the reference is not installed beside this layer")
    assert result.returncode == 0, result.stderr
    (file,) = tmp_path.glob("trace-*.json")
    document = json.loads(file.read_text())
    require_trace_events(document)
    assert [e["name"] for e in document["traceEvents"] if e["ph"] == "X"] == ["dispatch triple"]
