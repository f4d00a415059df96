"""Calls in the log: logger ``vyre.<kind>``, DEBUG for what worked, WARNING for what failed."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from vyre_driver.observe.calls import CallRecord


@contextmanager
def log_calls(call: CallRecord) -> Iterator[None]:
    """An observer that writes one line for each call, when it has ended; the facts are in the record's ``vyre``."""
    try:
        yield
    finally:
        logger = logging.getLogger(f"vyre.{call.kind.value}")
        level = logging.DEBUG if call.error is None else logging.WARNING
        if logger.isEnabledFor(level):
            logger.log(level, "%s", _line(call), extra={"vyre": call})


def _line(call: CallRecord) -> str:
    what = f"{call.method} {call.program!r}" if call.program else call.method
    label = f" [{call.label}]" if call.label else ""
    device = "" if call.device_ns is None else f", {call.device_ns / 1e3:.1f} us on the device"
    times = f"{call.wall_ns / 1e3:.1f} us{device}"
    line = f"{call.backend}: {what}{label}: {call.input_bytes} bytes in, {call.output_bytes} out, {times}"
    return line if call.error is None else f"{line}, failed: {type(call.error).__name__}: {call.error}"
