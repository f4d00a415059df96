"""How much a program may ask for. What a device offers on top of that is the matter of its profile.

The numbers are what every device that the language aims for can give, so a valid program is not refused for its size.
"""

from __future__ import annotations

from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.kinds import wrong_kinds
from vyre_foundation.ir.stmt import MAX_NESTING
from vyre_foundation.validate.report import ValidationReport

MAX_WORKGROUP_SIZE = (1024, 1024, 64)
"""Invocations of a workgroup on x, y and z."""

MAX_WORKGROUP_VOLUME = 1024
"""Invocations of a workgroup in all."""

MAX_SUBGROUP_SIZE = 64
"""Lanes of a subgroup: `ballot` has one bit for each."""

MAX_BOUND_BUFFERS = 64
"""Buffers with a binding."""

MAX_BYTES = {Memory.UNIFORM: 1 << 16, Memory.CONSTANT: 1 << 22, Memory.WORKGROUP: 1 << 15, Memory.PRIVATE: 1 << 14}
"""Bytes of all buffers of a memory; for uniform memory, of each buffer with a fixed count."""

MAX_AXIS_INVOCATIONS = 2**32
"""Invocations of a launch on one axis, and in all: every id is a u32. The launch plan refuses more."""


def check_limits(report: ValidationReport) -> None:
    """The workgroup, the subgroup, bytes of memory, number of bindings."""
    _check_workgroup_size(report)
    _check_subgroup_size(report)
    if not report.legalized:
        _check_bytes(report)
        _check_bindings(report)


def check_kinds(report: ValidationReport) -> None:
    """Raise at once where something is no statement, or a field is of another kind: the other rules rely on it."""
    for place in report.outline.places:
        for field, message, fix in wrong_kinds(place.stmt):
            report.at(place, "V016", message, fix, field=field)
    report.raise_if_any()


def check_nesting(report: ValidationReport) -> None:
    """Raise at once where statements are nested too deep: everything after this may recurse over them."""
    for place in report.outline.places:
        if place.depth == 0:
            outermost = place
        elif place.depth > MAX_NESTING:
            message = f"got a statement inside of more than {MAX_NESTING} others"
            fix = "split a chain of elif by a comparison around its halves, or compute conditions before the ifs"
            report.at(outermost, "V014", message, fix)
            report.raise_if_any()


def _check_workgroup_size(report: ValidationReport) -> None:
    for axis, size, most in zip("xyz", report.program.workgroup_size, MAX_WORKGROUP_SIZE, strict=True):
        if not 1 <= size <= most:
            message = f"got {size} invocations on {axis}, expected 1 … {most}"
            report.on_program("workgroup_size", "V010", message, "choose a size in that range")
    volume = report.program.workgroup_volume
    if volume > MAX_WORKGROUP_VOLUME:
        message = f"got {volume} invocations, expected at most {MAX_WORKGROUP_VOLUME}"
        report.on_program("workgroup_size", "V010", message, "make the workgroup smaller")


def _check_subgroup_size(report: ValidationReport) -> None:
    size, volume = report.program.subgroup_size, report.program.workgroup_volume
    if size is None:
        return
    if not 1 <= size <= MAX_SUBGROUP_SIZE or size & (size - 1):
        message = f"got {size}, expected a power of two in 1 … {MAX_SUBGROUP_SIZE}"
        report.on_program("subgroup_size", "V011", message, "choose one of 1, 2, 4, 8, 16, 32, 64")
    elif volume % size:
        message = f"got {size}, expected a divisor of the {volume} invocations of the workgroup"
        report.on_program("subgroup_size", "V011", message, "make the workgroup a multiple of the subgroup")


def _check_bindings(report: ValidationReport) -> None:
    bound = sum(b.memory.is_bound for b in report.program.buffers)
    if bound > MAX_BOUND_BUFFERS:
        message = f"got {bound} buffers with a binding, expected at most {MAX_BOUND_BUFFERS}"
        report.on_program("buffers", "V013", message, "put several arrays into one buffer")


def _check_bytes(report: ValidationReport) -> None:
    totals: dict[Memory, int] = {}
    for number, buffer in enumerate(report.program.buffers):
        if buffer.memory not in MAX_BYTES or not isinstance(buffer.count, int):
            continue
        memory, size = buffer.memory, buffer.count * buffer.dtype.size
        total = size if memory is Memory.UNIFORM else totals.get(memory, 0) + size
        totals[memory] = total
        if total > MAX_BYTES[memory]:
            sum_text = "" if total == size else f" ({total} with the {memory.value} buffers before it)"
            message = f"got {size} bytes{sum_text}, expected at most {MAX_BYTES[memory]} of {memory.value} memory"
            report.on_buffer(number, "V012", message, "make it smaller, or use storage memory")
