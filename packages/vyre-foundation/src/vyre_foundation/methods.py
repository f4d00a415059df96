"""Methods of programs, expressions and types whose functions lie above: text, HTML, facts, wire form, conversions."""

from __future__ import annotations

import copyreg
from typing import Any, get_args

from vyre_foundation.build.values import typed
from vyre_foundation.dtype import DType
from vyre_foundation.html import program_html
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Expr, ExprNode
from vyre_foundation.ir.origin import Origins
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.shapes import Shapes
from vyre_foundation.text import format_expr, print_program
from vyre_foundation.text.printer import describe_buffer
from vyre_foundation.validate import Facts, validate
from vyre_foundation.wire import decode, decode_expr, encode, encode_expr, fingerprint


def _facts(program: Program) -> Facts:
    return program.memoised(validate)


def _wire(program: Program) -> bytes:
    return program.memoised(encode)


def _fingerprint(program: Program) -> str:
    return program.memoised(fingerprint)


def _reduce_program(program: Program) -> tuple[Any, ...]:
    return _restored, (_wire(program), program.shapes, program.origins)


def _restored(wire: bytes, shapes: Shapes | None, origins: Origins | None) -> Program:
    program = decode(wire)
    if shapes is not None:
        program = program.with_shapes(shapes)
    return program if origins is None else program.with_origins(origins)


def _reduce_expr(expr: Expr) -> tuple[Any, ...]:
    return decode_expr, (encode_expr(expr),)


def add_methods() -> None:
    """Add them to the classes. The package does so when it is imported."""
    Program.validate, Program.encode, Program.fingerprint = _facts, _wire, _fingerprint
    Program.__str__ = print_program  # type: ignore[assignment, method-assign]
    Expr.__repr__ = format_expr  # type: ignore[assignment, method-assign]
    Buffer.__repr__ = describe_buffer  # type: ignore[assignment, method-assign]
    DType.__call__ = typed  # type: ignore[method-assign]
    Program._repr_html_ = program_html  # type: ignore[attr-defined]
    copyreg.pickle(Program, _reduce_program)
    for kind in get_args(ExprNode):
        copyreg.pickle(kind, _reduce_expr)
