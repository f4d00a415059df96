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
    """A variant and what became of it.

    `wrong` says what is wrong with it ("" if it is exact); `picoseconds` is the time of one application of one lane,
    where it was measured; `is_chosen` says whether programs are printed with it.
    """

    variant: Variant
    wrong: str = ""
    picoseconds: float | None = None
    is_chosen: bool = False
