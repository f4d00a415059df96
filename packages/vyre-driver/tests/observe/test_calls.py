"""Observers see every call that compiles, dispatches or moves data, with what went in and what came out."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.delegate import contract_methods
from vyre_driver.errors import DeviceLost
from vyre_driver.observe.calls import CallKind, CallRecord, ObservedBackend, observed
from vyre_driver.observe.live import compile_many
from vyre_driver.observe.log import log_calls
from vyre_driver.pipeline.compile import compile


class Recorder:
    def __init__(self) -> None:
        self.calls: list[CallRecord] = []
        self.open = 0

    @contextmanager
    def __call__(self, call: CallRecord):
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1
            self.calls.append(call)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


def test_a_dispatch_is_seen_with_its_sizes(backend, doubling, words, recorder) -> None:
    watched = observed(backend, recorder)
    outputs = watched.dispatch(doubling, [words], DispatchConfig(label="first"))
    assert np.frombuffer(outputs[0], np.uint32).tolist() == [0, 2, 4, 6, 8, 10]
    (call,) = recorder.calls
    assert (call.kind, call.method, call.backend) == (CallKind.DISPATCH, "dispatch", "full")
    assert (call.program, call.label, call.input_bytes, call.output_bytes) == ("doubling", "first", 24, 24)
    assert call.wall_ns > 0
    assert call.error is None


def test_a_timed_dispatch_has_the_device_s_time(backend, doubling, words, recorder) -> None:
    observed(backend, recorder).dispatch_borrowed_timed(doubling, [words])
    assert recorder.calls[0].device_ns == 700


def test_a_failure_is_seen_and_comes_through(backend, doubling, words, recorder) -> None:
    backend.lose_device()
    with pytest.raises(DeviceLost):
        observed(backend, recorder).dispatch(doubling, [words])
    assert isinstance(recorder.calls[0].error, DeviceLost)


def test_pipelines_are_seen_too(backend, doubling, words, recorder) -> None:
    pipeline = compile(observed(backend, recorder), doubling)
    pipeline.dispatch([words])
    pipeline.dispatch_batched([[words], [words]])
    assert [(call.kind, call.method) for call in recorder.calls] == [
        (CallKind.COMPILE, "compile_native"),
        (CallKind.DISPATCH, "dispatch"),
        (CallKind.DISPATCH, "dispatch_batched"),
    ]
    assert recorder.calls[2].output_bytes == 48
    assert recorder.calls[2].program == "doubling"


def test_transfers_are_seen(backend, words, recorder) -> None:
    watched = observed(backend, recorder)
    resource = watched.allocate_resident(24)
    watched.upload_resident(resource, words)
    assert bytes(watched.download_resident(resource)) == words
    assert [(call.kind, call.input_bytes, call.output_bytes) for call in recorder.calls] == [
        (CallKind.UPLOAD, 24, 0),
        (CallKind.DOWNLOAD, 0, 24),
    ]


def test_every_call_that_does_something_is_watched() -> None:
    seen = {name for name in vars(ObservedBackend) if name in contract_methods(VyreBackend)}
    begins = ("dispatch", "compile", "precompile", "upload", "download")
    doing = {n for n in contract_methods(VyreBackend) if n.startswith(begins)}
    assert seen == doing


def test_programs_that_are_compiled_together_are_seen(backend, doubling, recorder) -> None:
    compile_many(observed(backend, recorder), [doubling, replace(doubling, name="other")], DispatchConfig(label="both"))
    assert [(call.method, call.program, call.label) for call in recorder.calls] == [
        ("precompile", "doubling, other", "both"),
        ("compile_native", "doubling", "both"),
        ("compile_native", "other", "both"),
    ]
    assert {call.kind for call in recorder.calls} == {CallKind.COMPILE}


def test_the_first_observer_is_the_outermost(backend, doubling, words) -> None:
    order: list[str] = []

    def named(name: str):
        @contextmanager
        def observe(call: CallRecord):
            order.append(f"{name} begins")
            yield
            order.append(f"{name} ends")

        return observe

    observed(backend, named("a"), named("b")).dispatch(doubling, [words])
    assert order == ["a begins", "b begins", "b ends", "a ends"]


def test_without_observers_nothing_is_wrapped(backend) -> None:
    assert observed(backend) is backend


# ── the log ──


def test_calls_are_logged_under_their_kind(backend, doubling, words, caplog) -> None:
    caplog.set_level(logging.DEBUG, "vyre")
    observed(backend, log_calls).dispatch(doubling, [words], DispatchConfig(label="first"))
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("vyre.dispatch", "DEBUG")
    assert record.message.startswith("full: dispatch 'doubling' [first]: 24 bytes in, 24 out, ")
    assert record.vyre.output_bytes == 24


def test_failures_are_warnings(backend, doubling, words, caplog) -> None:
    backend.lose_device()
    with pytest.raises(DeviceLost):
        observed(backend, log_calls).dispatch(doubling, [words])
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "failed: DeviceLost: the device of full is lost" in record.message
