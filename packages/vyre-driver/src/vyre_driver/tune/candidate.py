"""The spellings that an op has on a device, and what became of each."""

from __future__ import annotations

from dataclasses import dataclass

from vyre_foundation.dtype import DType


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to say an op for an operand type. Without a `text` it is composed."""

    op: str
    operand: DType
    text: str | None


@dataclass(frozen=True, slots=True)
class TunedVariant:
    """A variant and what became of it: what is `wrong` with it ("" if it is exact), picoseconds for one application of
    one lane where it was timed, and whether programs are printed with it."""

    variant: Variant
    wrong: str = ""
    picoseconds: float | None = None
    is_chosen: bool = False
