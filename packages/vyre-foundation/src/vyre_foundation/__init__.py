"""The vyre language: IR, types, op table, validator, wire form, fingerprint, text form."""

from vyre_foundation import discovery
from vyre_foundation.build import Array, Mutable, ProgramBuilder, Value, apply, call, constant, program, select
from vyre_foundation.build.composed import (
    ceil_div,
    clamp,
    degrees,
    floor_div,
    floor_mod,
    fract,
    lerp,
    radians,
    saturate,
    smoothstep,
    step,
)
from vyre_foundation.dialects.registry import discover_with
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
from vyre_foundation.methods import add_methods
from vyre_foundation.ops import OPS, Op
from vyre_foundation.text import TextError, format_expr, parse, print_program
from vyre_foundation.validate import Facts, Finding, InvalidProgram, validate
from vyre_foundation.wire import WireError, decode, encode, fingerprint

add_methods()
discover_with(lambda taken: discovery.discover(taken))  # whose modules are imported then

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
    "ceil_div",
    "clamp",
    "constant",
    "decode",
    "degrees",
    "encode",
    "f16",
    "f32",
    "f64",
    "fingerprint",
    "floor_div",
    "floor_mod",
    "format_expr",
    "fract",
    "i8",
    "i16",
    "i32",
    "i64",
    "lerp",
    "parse",
    "print_program",
    "program",
    "radians",
    "saturate",
    "select",
    "smoothstep",
    "step",
    "u8",
    "u16",
    "u32",
    "u64",
    "validate",
]


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
