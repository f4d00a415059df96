"""The words and signs of the text form, shared by printer and parser so that they cannot disagree.

    program xor workgroup(64, 1, 1) {
      read a: u32[] @0;
      read b: u32[] @1;
      write out: u32[len(a)] @2;

      %0 = a[global_id.x] ^ b[global_id.x];
      if %0 != 0 {
        out[global_id.x] = %0;
      }
    }

A name is a word, or anything at all between backticks. A number without a type takes the type of the operand beside it,
or of the place where it stands; else it is u32, or f32 if it has a point or exponent. ``5:i8`` and ``x:f32`` state the
type. ``nan(0x7fc00001):f32`` is a NaN with these bits. ``%0 = …`` names a pure expression, not a local: it is written
once and stands for the same interned expression wherever ``%0`` occurs.
"""

from __future__ import annotations

import math
import re
from types import MappingProxyType

from vyre_foundation.dtype import DTYPES, DType, f32, f64, u32
from vyre_foundation.ir.buffer import Access, Memory
from vyre_foundation.ir.expr import Literal
from vyre_foundation.ops.scalar import round_float, to_bits

BUFFER_WORDS = MappingProxyType(
    {
        "read": (Memory.STORAGE, Access.READ),
        "write": (Memory.STORAGE, Access.WRITE),
        "read_write": (Memory.STORAGE, Access.READ_WRITE),
        "uniform": (Memory.UNIFORM, Access.READ),
        "constant": (Memory.CONSTANT, Access.READ),
        "persistent": (Memory.PERSISTENT, Access.READ_WRITE),
        "scratch": (Memory.SCRATCH, Access.READ_WRITE),
        "workgroup": (Memory.WORKGROUP, Access.READ_WRITE),
        "private": (Memory.PRIVATE, Access.READ_WRITE),
    }
)
"""One word says memory and access, because every other combination is refused by `Buffer`."""

STATEMENT_WORDS = frozenset(
    "let var if else for break continue return barrier atomic subgroup trap indirect_dispatch region".split()
)

RESERVED = frozenset(
    {*STATEMENT_WORDS, *BUFFER_WORDS, *(t.name for t in DTYPES)}
    | set("in step as undeclared unchecked expected true false inf nan bitcast call".split())
)
"""Words that are no names unless they stand between backticks."""

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\t": "\\t"}


def quoted(text: str, quote: str) -> str:
    """`text` between quotes; what a terminal would not show as itself becomes an escape."""
    escapes = _ESCAPES | {quote: f"\\{quote}"}
    return quote + "".join([escapes.get(c) or (c if c.isprintable() else f"\\u{{{ord(c):x}}}") for c in text]) + quote


def name(text: str) -> str:
    """`text` as the name of a program, buffer or local."""
    return text if _WORD.match(text) and text not in RESERVED else quoted(text, "`")


def callee(text: str) -> str:
    """The id of a dialect's op: words with points between them, or anything between backticks."""
    return text if all(map(_WORD.match, text.split("."))) else quoted(text, "`")


def default_type(literal: Literal) -> DType | None:
    """The type that `literal`, written as a number without a type, has where nothing else decides (bool: its own)."""
    if literal.dtype.bits == 1:
        return literal.dtype
    return f32 if literal.dtype.is_float else u32


def number(literal: Literal) -> str:
    """The value of `literal` without its type: the shortest digits that give exactly its bits."""
    dtype, bits, value = literal.dtype, literal.bits, literal.value
    if dtype.bits == 1:
        return "true" if value else "false"
    if not dtype.is_float:
        return str(value)
    if value != value:
        return "nan" if bits == dtype.nan_bits else f"nan({bits:#x})"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return _shortest(dtype, float(value), bits)


def _shortest(dtype: DType, value: float, bits: int) -> str:
    exact = repr(value)
    if dtype is f64 or len(exact) <= 8:
        return exact
    assert dtype.format is not None
    for digits in range(1, 2 + dtype.format.precision * 302 // 1000 + 2):
        short = repr(float(f"{value:.{digits}g}"))
        if to_bits(dtype, round_float(dtype, float(short))) == bits:
            return short
    return exact
