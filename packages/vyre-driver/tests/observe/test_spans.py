"""Spans: one around each call, children of the application's own, with the facts as attributes."""

from __future__ import annotations

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.errors import DeviceLost
from vyre_driver.observe.calls import observed
from vyre_driver.observe.spans import span_calls
from vyre_driver.pipeline.compile import compile


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def tracer(exporter):
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield provider.get_tracer("test")
    provider.shutdown()


def test_a_dispatch_is_a_span(backend, doubling, words, exporter, tracer) -> None:
    with tracer.start_as_current_span("application"):
        observed(backend, span_calls(tracer)).dispatch_borrowed_timed(doubling, [words], DispatchConfig(label="x"))
    span, parent = exporter.get_finished_spans()
    assert span.name == "vyre.dispatch"
    assert span.parent.span_id == parent.context.span_id
    assert dict(span.attributes) == {
        "vyre.backend": "full",
        "vyre.method": "dispatch_borrowed_timed",
        "vyre.program": "doubling",
        "vyre.label": "x",
        "vyre.input_bytes": 24,
        "vyre.output_bytes": 24,
        "vyre.device_ns": 700,
    }


def test_a_failure_ends_the_span_with_its_code(backend, doubling, words, exporter, tracer) -> None:
    backend.lose_device()
    with pytest.raises(DeviceLost):
        observed(backend, span_calls(tracer)).dispatch(doubling, [words])
    (span,) = exporter.get_finished_spans()
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes["vyre.code"] == "E1010"


def test_compilation_is_a_span_of_its_own(backend, doubling, words, exporter, tracer) -> None:
    compile(observed(backend, span_calls(tracer)), doubling).dispatch([words])
    assert [span.name for span in exporter.get_finished_spans()] == ["vyre.compile", "vyre.dispatch"]


def test_without_a_configured_tracer_spans_go_nowhere(backend, doubling, words) -> None:
    assert observed(backend, span_calls()).dispatch(doubling, [words])
