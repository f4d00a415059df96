"""What an op of a dialect may state beside its composition: a text for a language of devices, and a judge of its own.

The composition is the meaning, everywhere. A text stands in for it where the device's compiler has better words, and
gives the same bits; conformance compares the two on that device. The reference is an opinion from outside: a plain
function that says what the composition must give.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from vyre_foundation.dialects.attributes import AttrValue
from vyre_foundation.dtype import DType
from vyre_foundation.ops.scalar import Scalar


@dataclass(frozen=True, slots=True)
class TextModule:
    """`text` defines the function `entry`, which takes the values of a call in order and returns its result.

    It may define more functions, whose names begin with `entry`, but no macros: it stands in one text with others.
    """

    text: str
    entry: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoweringCtx:
    """The calls that a text is wanted for: all those of `op` with these types and attributes.

    `language` is that of the target. `symbol` is a name that no other text has: the one to call the function by.
    """

    language: str
    op: str
    operands: tuple[DType, ...]
    result: DType
    attrs: Mapping[str, AttrValue]
    symbol: str


TextBuilder: TypeAlias = Callable[[LoweringCtx], TextModule | None]
"""A pure function: the text for calls like these, or None where the composition is as good."""

ReferenceKind: TypeAlias = Callable[..., Scalar]
"""Values, then attributes by name, as Python's numbers; the exact result, which is rounded to the result's type."""


@dataclass(frozen=True, slots=True)
class LoweringTable:
    """`texts` are by language, as source units name it. Languages that are not listed get the composition."""

    texts: Mapping[str, TextBuilder] = field(default_factory=lambda: MappingProxyType({}))
    reference: ReferenceKind | None = None


NO_LOWERINGS = LoweringTable()
"""The composition is all."""
