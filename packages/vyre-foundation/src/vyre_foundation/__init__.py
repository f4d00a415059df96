"""The vyre language: IR, types, op table, validator, wire form, fingerprint, text form.

The text form, which most processes never use, is imported when one of its names is.
"""

from typing import TYPE_CHECKING, Any

from vyre_foundation.collector import rare_collections

with rare_collections():  # what is imported stays: the collector would look at it again and again
    from vyre_foundation.build import Array, Mutable, ProgramBuilder, Value, apply, call, constant, program, select
    from vyre_foundation.dtype import (
        DType,
        bf16,
        bool_,
        f16,
        f32,
        f64,
        i8,
        i16,
        i32,
        i64,
        u8,
        u16,
        u32,
        u64,
    )
    from vyre_foundation.errors import BuildError, DeclarationError, LiteralOutOfRange, TypeMismatch, VyreError
    from vyre_foundation.ir import RUNTIME, Access, Buffer, LengthOf, Memory, Per, PerLaunch, Program
    from vyre_foundation.ops import OPS, Op
    from vyre_foundation.validate import Facts, Finding, InvalidProgram, validate
    from vyre_foundation.wire import WireError, decode, encode, fingerprint

if TYPE_CHECKING:
    from vyre_foundation.text import TextError, format_expr, parse, print_program

__version__ = "0.1.0"

__all__ = [
    "OPS",
    "RUNTIME",
    "Access",
    "Array",
    "Buffer",
    "BuildError",
    "DType",
    "DeclarationError",
    "Facts",
    "Finding",
    "InvalidProgram",
    "LengthOf",
    "LiteralOutOfRange",
    "Memory",
    "Mutable",
    "Op",
    "Per",
    "PerLaunch",
    "Program",
    "ProgramBuilder",
    "TextError",
    "TypeMismatch",
    "Value",
    "VyreError",
    "WireError",
    "apply",
    "bf16",
    "bool_",
    "call",
    "constant",
    "decode",
    "encode",
    "f16",
    "f32",
    "f64",
    "fingerprint",
    "format_expr",
    "i8",
    "i16",
    "i32",
    "i64",
    "parse",
    "print_program",
    "program",
    "select",
    "u8",
    "u16",
    "u32",
    "u64",
    "validate",
]

_TEXT = frozenset(("TextError", "format_expr", "parse", "print_program"))


def __getattr__(name: str) -> Any:
    if name not in _TEXT:
        raise AttributeError(f"module 'vyre_foundation' has no attribute {name!r}")
    from vyre_foundation import text

    value = globals()[name] = getattr(text, name)
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
