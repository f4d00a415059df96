"""Judging an outcome: the first element that differs, in words and in bits."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from vyre_conform.case import Alike, Exactly, Expected, ExpectedTrap, Launch, OutputSlice, Refusal
from vyre_conform.cell import Window
from vyre_conform.outcome import Crashed, Outcome, Raised, Returned, TimedOut
from vyre_driver.observe.compare import within_budget
from vyre_foundation.dtype import DType
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ops.scalar import from_bits

AROUND = 8
"""Elements of a window on either side of the first one that differs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Why an outcome is not what was expected. Element texts read ``value (hex)``."""

    what: str
    output: str = ""
    index: int | None = None
    got: str = ""
    expected: str = ""
    count: int = 0
    """How many elements differ."""
    operands: str = ""
    window: Window | None = None

    def __str__(self) -> str:
        if self.index is None:
            return self.what
        of = f" of {self.operands}" if self.operands else ""
        more = f"; {self.count} elements differ" if self.count > 1 else ""
        return f"{self.output}[{self.index}]{of}: got {self.got}, expected {self.expected}{more}"


def difference(
    launch: Launch, expected: Expected, outcome: Outcome, part: OutputSlice | None = None
) -> Difference | None:
    """None if `outcome` is what the case expects, in the elements of `part` or in all.

    `AsEvaluated` expects nothing by itself: resolve it first.
    """
    match expected, outcome:
        case Alike(groups), Returned(outputs, changed_inputs=()):
            return _unlike(launch, groups, outputs, part)
        case Exactly(), Returned(outputs, again, changed):
            if changed:
                return Difference(what=f"the dispatch has written to its inputs {', '.join(changed)}")
            found = _outputs(launch, expected, outputs, part)
            if found is None and again is not None:
                repeated = _outputs(launch, expected, again, part)
                return Difference(what=f"right at first, a second dispatch differs: {repeated}") if repeated else None
            return found
        case ExpectedTrap(tag, code, invocation), Raised(facts=facts) if outcome.error == "Trapped":
            got = (facts.get("tag"), facts.get("trap_code"), facts.get("invocation"))
            if got == (tag, code, invocation):
                return None
            return Difference(what=f"trapped with (tag, code, invocation) {got}, expected {(tag, code, invocation)}")
        case Refusal(error), Raised(classes=classes) if error in classes:
            return None
        case Exactly() | Alike(), Raised():
            return Difference(what=describe(outcome))
        case _:
            return Difference(what=f"expected {_words(expected)}; {describe(outcome)}")


def describe(outcome: Outcome) -> str:
    """The outcome in a few words."""
    match outcome:
        case Returned(outputs):
            return f"it returned {len(outputs)} outputs"
        case Raised(message=""):
            return f"it raised {outcome.error}"
        case Raised(message=message):
            return f"it raised {outcome.error}: {message}"
        case Crashed(how):
            return f"the process ended: {how}"
        case TimedOut(seconds):
            return f"nothing came within {seconds:g} s"


def _words(expected: Expected) -> str:
    match expected:
        case ExpectedTrap(tag, code, invocation):
            return f"trap {tag!r} with code {code} of invocation {invocation}"
        case Refusal(error):
            return f"the error {error}"
        case _:
            return "outputs"


def _unlike(
    launch: Launch, groups: tuple[tuple[str, ...], ...], outputs: tuple[bytes, ...], part: OutputSlice | None
) -> Difference | None:
    """The first element in which outputs differ that have to be equal."""
    named = {buffer.name: (buffer, data) for buffer, data in zip(launch.outputs, outputs, strict=True)}
    for first, *others in groups:
        for other in others:
            (_, wanted), (buffer, got) = named[first], named[other]
            if _has(part, buffer) and got != wanted:
                found = _first(launch, Exactly((), ("x", "y", "z")), buffer, got, wanted, 0)
                return replace(found, what=f"it is not like {first}")
    return None


def bytes_of(launch: Launch, outputs: tuple[bytes, ...], part: OutputSlice | None) -> tuple[bytes, ...]:
    """The bytes of a part, in the order of the outputs' bindings."""
    if part is None or len(outputs) != len(launch.outputs):
        return outputs
    named = zip(launch.outputs, outputs, strict=True)
    return tuple(_rows(buffer.dtype, data, part) for buffer, data in named if _has(part, buffer))


def _has(part: OutputSlice | None, buffer: Buffer) -> bool:
    return part is None or not part.outputs or buffer.name in part.outputs


def _rows(dtype: DType, data: bytes, part: OutputSlice | None) -> bytes:
    return data if part is None else data[part.rows.start * dtype.size : part.rows.stop * dtype.size]


def _outputs(
    launch: Launch, expected: Exactly, outputs: tuple[bytes, ...], part: OutputSlice | None
) -> Difference | None:
    buffers = launch.outputs
    if len(outputs) != len(buffers):
        return Difference(what=f"{len(outputs)} outputs came, expected {len(buffers)}")
    for buffer, got, wanted in zip(buffers, outputs, expected.outputs, strict=True):
        if not _has(part, buffer):
            continue
        if len(got) != len(wanted):
            return Difference(what=f"output {buffer.name} has {len(got)} bytes, expected {len(wanted)}")
        if buffer.name in expected.unordered:
            got, wanted = (_sorted(buffer.dtype, data) for data in (got, wanted))
        got, wanted = (_rows(buffer.dtype, data, part) for data in (got, wanted))
        if got != wanted and not _is_near(buffer.dtype, got, wanted, launch.ulp_budget):
            return _first(launch, expected, buffer, got, wanted, part.rows.start if part else 0)
    return None


def _is_near(dtype: DType, got: bytes, wanted: bytes, ulp_budget: int) -> bool:
    """Whether all elements are as near as a budget for elementary functions allows."""
    if not (ulp_budget and dtype.is_float):
        return False
    ours, theirs = (np.frombuffer(data, f"<u{dtype.size}") for data in (got, wanted))
    return bool(within_budget(dtype, ours, theirs, ulp_budget).all())


def _sorted(dtype: DType, data: bytes) -> bytes:
    return b"".join(sorted(_elements(dtype, data)))


def _elements(dtype: DType, data: bytes) -> list[bytes]:
    return [data[n : n + dtype.size] for n in range(0, len(data), dtype.size)]


def _first(launch: Launch, expected: Exactly, buffer: Buffer, got: bytes, wanted: bytes, start: int) -> Difference:
    """The first of the elements that differ; `start` is the index of the first one in `got`."""
    pairs = list(zip(_elements(buffer.dtype, got), _elements(buffer.dtype, wanted), strict=True))
    budget = launch.ulp_budget
    unequal = [n for n, (g, w) in enumerate(pairs) if g != w and not _is_near(buffer.dtype, g, w, budget)]
    index = unequal[0]
    return Difference(
        what="wrong element",
        output=buffer.name,
        index=start + index,
        got=show(buffer.dtype, pairs[index][0]),
        expected=show(buffer.dtype, pairs[index][1]),
        count=len(unequal),
        operands=", ".join(_operand(launch, name, start + index) for name in expected.operands),
        window=_window(pairs, index, start),
    )


def _window(pairs: list[tuple[bytes, bytes]], index: int, start: int) -> Window:
    first = max(0, index - AROUND)
    got, expected = zip(*pairs[first : index + AROUND + 1], strict=True)
    return Window(start + first, *(" ".join(element[::-1].hex() for element in side) for side in (got, expected)))


def _operand(launch: Launch, name: str, index: int) -> str:
    dtype = launch.program.buffer(name).dtype
    element = launch.inputs[name][index * dtype.size : (index + 1) * dtype.size]
    return f"{name}={show(dtype, element)}" if element else name


def show(dtype: DType, element: bytes) -> str:
    """An element as its value and its bits."""
    bits = int.from_bytes(element, "little")
    return f"{from_bits(dtype, bits)!r} (0x{bits:0{2 * dtype.size}x})"
