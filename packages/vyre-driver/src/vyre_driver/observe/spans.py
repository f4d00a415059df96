"""Calls as OpenTelemetry spans. Needs the extra ``vyre-driver[otel]``; where spans go is the application's choice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from vyre_driver.errors import MissingExtra
from vyre_driver.observe.calls import CallRecord, Observer
from vyre_foundation.errors import VyreError

try:
    from opentelemetry import trace
except ModuleNotFoundError as error:
    raise MissingExtra("otel", error.name or "opentelemetry") from error


def span_calls(tracer: trace.Tracer | None = None) -> Observer:
    """An observer that opens a span ``vyre.<kind>`` around each call; `tracer` is the global one by default.

    Attributes: ``vyre.backend``, ``vyre.method``, ``vyre.program``, ``vyre.label``, ``vyre.input_bytes``,
    ``vyre.output_bytes``, ``vyre.device_ns``, and for a failure ``vyre.code``.
    """
    chosen = trace.get_tracer("vyre") if tracer is None else tracer

    def observe(call: CallRecord) -> AbstractContextManager[None]:
        return _span(chosen, call)

    return observe


@contextmanager
def _span(tracer: trace.Tracer, call: CallRecord) -> Iterator[None]:
    known: dict[str, str | int] = {
        "vyre.backend": call.backend,
        "vyre.method": call.method,
        "vyre.input_bytes": call.input_bytes,
    }
    named = {"vyre.program": call.program, "vyre.label": call.label}
    attributes = {**known, **{key: text for key, text in named.items() if text}}
    with tracer.start_as_current_span(f"vyre.{call.kind.value}", attributes=attributes) as span:
        try:
            yield
        except VyreError as error:
            span.set_attribute("vyre.code", error.code)
            raise
        span.set_attribute("vyre.output_bytes", call.output_bytes)
        if call.device_ns is not None:
            span.set_attribute("vyre.device_ns", call.device_ns)
