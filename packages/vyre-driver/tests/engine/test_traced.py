"""A traced backend computes the same; its spans are those of the engine and of the port, in order and nested."""

from __future__ import annotations

import pickle
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

from vyre_driver.engine.backend import EngineBackend
from vyre_driver.engine.port import DevicePort
from vyre_driver.engine.traced import DeviceClock, TracedCounters, TracedOpening, TracedPort
from vyre_driver.errors import DeviceOutOfMemory
from vyre_driver.observe.live import traced
from vyre_driver.observe.trace import HOST, Trace
from vyre_driver.testing.fake_port import ELAPSED_NS, FakePort, InjectedError

from .programs import double, doubling

WORDS = np.arange(6, dtype=np.uint32)


@pytest.fixture
def trace() -> Trace:
    return Trace()


def names(trace: Trace, category: str) -> list[str]:
    return [span.name for span in sorted(trace.spans(), key=lambda span: span.begin_ns) if span.category == category]


def test_a_dispatch_has_spans_of_all_its_parts(engine, trace) -> None:
    made = engine(double)
    watched = traced(made.backend, trace)
    outputs = watched.dispatch(doubling(), [WORDS])
    assert np.frombuffer(outputs[0], np.uint32).tolist() == [0, 2, 4, 6, 8, 10]
    watched.shutdown()
    assert names(trace, "call") == ["dispatch doubling"]
    assert names(trace, "engine") == ["plan", "find code", "lower", "optimize", "legalize", "emit", "bind"]
    assert "upload" in names(trace, "memory")
    assert names(trace, "kernel") == ["doubling"]
    assert "readback" in names(trace, "memory")
    (kernel,) = trace.kernels
    assert (kernel.program, kernel.grid, kernel.device_ns) == ("doubling", (2, 1, 1), ELAPSED_NS)
    assert kernel.plan is not None
    assert kernel.plan.lengths == {"a": 6, "out": 6}


FLAGS = sorted(name for name, value in vars(DevicePort).items() if isinstance(value, bool))
OF_A_TRACE = {"is_traced": True, "records": False}
"""What a traced port is, whatever the other port is."""


@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("value", [False, True])
def test_a_traced_port_is_what_the_port_is(flag: str, value: bool, trace: Trace) -> None:
    port = FakePort(double)
    setattr(port, flag, value)
    assert getattr(TracedPort(port, trace, TracedCounters(trace)), flag) is OF_A_TRACE.get(flag, value)


def test_the_backend_itself_is_left_as_it_is(engine, trace) -> None:
    made = engine(double)
    traced(made.backend, trace)
    made.backend.dispatch(doubling(), [WORDS])
    assert trace.spans() == ()


def test_a_warm_dispatch_plans_nothing(engine, trace) -> None:
    made = engine(double)
    watched, program = traced(made.backend, trace), doubling()
    for _ in range(3):
        watched.dispatch(program, [WORDS])
    watched.shutdown()
    assert names(trace, "engine").count("plan") == 1
    assert names(trace, "launch") == names(trace, "launch")[:1] * 3
    assert len(trace.kernels) == 3


def test_kernels_of_a_queue_do_not_overlap_and_follow_their_launches(engine, trace) -> None:
    made = engine(double)
    watched, program = traced(made.backend, trace), doubling()
    for _ in range(5):
        watched.dispatch(program, [WORDS])
    watched.shutdown()
    kernels = sorted((s for s in trace.spans() if s.category == "kernel"), key=lambda s: s.begin_ns)
    assert all(first.end_ns <= second.begin_ns for first, second in pairwise(kernels))
    launches = {span.flow: span for span in trace.spans() if span.category == "launch"}
    assert len(launches) == 5
    for kernel in kernels:
        assert kernel.begin_ns >= launches[kernel.flow].begin_ns
        assert kernel.end_ns - kernel.begin_ns == ELAPSED_NS


def test_a_device_without_a_clock_has_the_times_of_the_host(engine, trace) -> None:
    made = engine(double, elapsed_ns=None)
    watched = traced(made.backend, trace)
    watched.dispatch(doubling(), [WORDS])
    watched.shutdown()
    (kernel,) = trace.kernels
    assert kernel.device_ns is None
    assert kernel.end_ns > kernel.begin_ns
    (span,) = [span for span in trace.spans() if span.category == "kernel"]
    assert span.facts["clock"] == "host"


def test_launches_of_one_module_have_the_plan_with_their_lengths(engine, trace) -> None:
    made = engine(double)
    watched, program = traced(made.backend, trace), doubling()
    for count in (6, 8, 6, 100):
        watched.dispatch(program, [np.arange(count, dtype=np.uint32)])
    watched.shutdown()
    assert [kernel.plan.lengths["a"] for kernel in trace.kernels if kernel.plan] == [6, 8, 6, 100]


def test_a_failure_is_a_span_with_its_error(engine, trace) -> None:
    full = InjectedError("allocate", DeviceOutOfMemory(24))
    made = engine(double, faults=(full, InjectedError("allocate", DeviceOutOfMemory(24), 2)))
    watched = traced(made.backend, trace)
    with pytest.raises(DeviceOutOfMemory):
        watched.dispatch(doubling(), [WORDS])
    watched.shutdown()
    failed = {span.name: span.facts["error"] for span in trace.spans() if "error" in span.facts}
    assert {"dispatch doubling", "bind", "allocate"} <= failed.keys()
    assert str(failed["allocate"]).startswith("DeviceOutOfMemory: ")


def test_host_spans_are_nested(engine, trace) -> None:
    made = engine(double)
    watched = traced(made.backend, trace)
    watched.dispatch(doubling(), [WORDS])
    watched.shutdown()
    spans = [span for span in trace.spans() if span.track.process == HOST]
    for one in spans:
        for other in spans:
            assert (
                one.end_ns <= other.begin_ns
                or other.end_ns <= one.begin_ns
                or (one.begin_ns <= other.begin_ns and other.end_ns <= one.end_ns)
                or (other.begin_ns <= one.begin_ns and one.end_ns <= other.end_ns)
            )


def test_a_full_trace_counts_what_it_drops(engine) -> None:
    trace = Trace(most=3)
    made = engine(double)
    watched = traced(made.backend, trace)
    watched.dispatch(doubling(), [WORDS])
    watched.shutdown()
    assert len(trace.spans()) == 3
    assert trace.dropped > 0
    assert trace.to_json()["otherData"]["dropped_spans"] == str(trace.dropped)


def open_nothing() -> str:
    return "port"


def test_a_child_process_opens_the_device_without_a_trace() -> None:
    trace = Trace()
    opening = TracedOpening(partial(open_nothing), trace, TracedCounters(trace))  # type: ignore[arg-type]
    assert pickle.loads(pickle.dumps(opening))() == "port"  # noqa: S301 - of this test


def test_compiled_code_is_that_of_the_untraced_backend(engine, trace) -> None:
    made = engine(double)
    watched = made.backend.traced(trace)
    program = doubling()
    assert isinstance(watched, EngineBackend)
    assert watched.compile_native(program).id() == made.backend.compile_native(program).id()
    watched.shutdown()


# launches as (host begin, host end, device begin, device end)
CLOCKS = {
    "the same clock": ([(100, 200, 120, 180)], 0),
    "behind by 1000: the kernel began at once": ([(1100, 1300, 120, 180)], 980),
    "the tightest launch counts": ([(1100, 1300, 120, 180), (2100, 2300, 1110, 1200)], 990),
    "ahead by 1000": ([(100, 300, 1120, 1180)], -1020),
}


@pytest.mark.parametrize("case", CLOCKS)
def test_the_clock_of_a_device_is_bounded_by_the_host(case: str) -> None:
    launches, offset = CLOCKS[case]
    assert DeviceClock().offset(launches) == offset


def test_a_clock_that_drifts_is_bounded_anew() -> None:
    clock = DeviceClock()
    assert clock.offset([(1000, 1100, 0, 90)]) == 1000
    assert clock.offset([(2000, 2100, 0, 90)]) == 2000
