"""Rules about declarations beside each other: names, binding numbers, lengths that follow from lengths."""

from __future__ import annotations

from collections.abc import Mapping

from vyre_foundation.ir.buffer import Buffer, LengthOf, PerLaunch
from vyre_foundation.validate.report import ValidationReport

MAX_LENGTH = 2**32 - 1
"""Lengths are u32."""

MAX_CHAIN = 1024
"""Programs of more buffers are refused for that, so no analysis follows chains of lengths through all of them."""


def check_buffers(report: ValidationReport) -> None:
    """Names and bindings are unique and in order, and every length can be known at launch."""
    _check_unique_names(report)
    _check_bindings(report)
    for number, buffer in enumerate(report.program.buffers):
        _check_output_range(report, number, buffer)
    # The buffers of a legalized kernel are those that it touches; the lengths of others are known by then.
    if not report.legalized and len(report.program.buffers) <= MAX_CHAIN:
        _check_rules(report)


def fixed_count(buffer: Buffer, by_name: Mapping[str, Buffer]) -> int | None:
    """The element count, where the declarations alone decide it; None also where they contradict each other."""
    rules: list[LengthOf] = []
    source: Buffer | None = buffer
    while source is not None and isinstance(source.count, LengthOf) and len(rules) <= len(by_name):
        rules.append(source.count)
        source = by_name.get(source.count.buffer)
    if source is None or not isinstance(source.count, int):
        return None
    count = source.count
    for rule in reversed(rules):
        count = rule.resolve(count)
    return count


def _check_unique_names(report: ValidationReport) -> None:
    first: dict[str, int] = {}
    for number, buffer in enumerate(report.program.buffers):
        if first.setdefault(buffer.name, number) != number:
            message = f"got the name of buffers[{first[buffer.name]}] again, expected a name of its own"
            report.on_buffer(number, "V001", message, "rename one of the two")


def _check_bindings(report: ValidationReport) -> None:
    expected = 0
    bound_are_over = False
    for number, buffer in enumerate(report.program.buffers):
        if buffer.binding is None:
            bound_are_over = True
        elif bound_are_over:
            message = f"got binding {buffer.binding} after a buffer without a binding, expected it before"
            report.on_buffer(number, "V002", message, "list the bound buffers first, in binding order")
        elif buffer.binding != expected:
            message = f"got binding {buffer.binding}, expected {expected}"
            report.on_buffer(number, "V002", message, "number the bound buffers 0, 1, 2, … in their order")
        expected += buffer.binding is not None


def _check_rules(report: ValidationReport) -> None:
    by_name = {b.name: b for b in report.program.buffers}
    for number, buffer in enumerate(report.program.buffers):
        if isinstance(buffer.count, LengthOf):
            _check_rule(report, number, buffer, buffer.count, by_name)


def _check_rule(
    report: ValidationReport, number: int, buffer: Buffer, rule: LengthOf, by_name: Mapping[str, Buffer]
) -> None:
    source = by_name.get(rule.buffer)
    if source is None or not source.memory.is_bound:
        got = "no buffer of the program" if source is None else f"{source.memory.value} memory"
        message = f"the length follows from {rule.buffer!r}, which is {got}, expected a buffer with a binding"
        report.on_buffer(number, "V005", message, "name an input, or give a count")
        return
    seen = {buffer.name}
    while isinstance(source.count, LengthOf):
        if source.name in seen:
            message = f"the length follows from itself by way of {source.name!r}, expected it to end at an input"
            report.on_buffer(number, "V006", message, "give one buffer of the circle a length of its own")
            return
        seen.add(source.name)
        following = by_name.get(source.count.buffer)
        if following is None:  # V005 of that buffer
            return
        source = following
    if isinstance(source.count, PerLaunch):
        message = f"the length follows from {source.name!r}, which grows with the grid, which follows from lengths"
        report.on_buffer(number, "V006", message, "give it a count, or the length of an input")
        return
    count = fixed_count(buffer, by_name)
    if count is not None and not 0 <= count <= MAX_LENGTH:
        message = f"the length comes to {count}, expected 0 … {MAX_LENGTH}"
        report.on_buffer(
            number, "V007", message, "split the buffer: lengths are u32" if count > 0 else "correct the rule"
        )


def _check_output_range(report: ValidationReport, number: int, buffer: Buffer) -> None:
    if buffer.output_range is None or not isinstance(buffer.count, int):
        return
    size = buffer.count * buffer.dtype.size
    if buffer.output_range[1] > size:
        message = f"got the output range {buffer.output_range}, expected it inside of the {size} bytes of the buffer"
        report.on_buffer(number, "V008", message, "end the range at the end of the buffer")
