"""Constructors of expressions, and the readers of programs, refuse arguments of another kind by name."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vyre_foundation import decode, encode, fingerprint, parse, print_program, program, validate
from vyre_foundation.dtype import f32, u32
from vyre_foundation.errors import TypeMismatch
from vyre_foundation.ir import (
    Access,
    Apply,
    Bitcast,
    Buffer,
    Call,
    Cast,
    Id,
    Length,
    Literal,
    Load,
    Local,
    Program,
    Select,
    literal,
)
from vyre_foundation.ops import OPS
from vyre_foundation.optimize import optimize

B: Any = Buffer("b", u32, Access.READ, binding=0)
ONE: Any = literal(u32, 1)
U: Any = u32
EMPTY = Program("p", (), (1, 1, 1), ())
TYPE, EXPRESSION, BUFFER = "expected a type", "expected an expression", "expected a buffer"
WRONG: dict[str, tuple[Callable[..., Any], tuple[Any, ...], str]] = {
    "op": (Apply, ("add", ONE, ONE), "apply got 'add', expected an op"),
    "operand": (Apply, (OPS["add"], ONE, 1), f"apply got 1, {EXPRESSION}"),
    "id": (Id, ("global_id", 0), "id got 'global_id', expected a member of IdKind"),
    "swapped literal": (literal, (1, U), f"literal got 1, {TYPE}"),
    "name of a type": (literal, ("u32", 1), f"literal got 'u32', {TYPE}"),
    "cast": (Cast, ("u32", ONE), f"cast got 'u32', {TYPE}"),
    "swapped cast": (Cast, (ONE, U), f"cast got Literal, {TYPE}"),
    "cast of a number": (Cast, (U, 1), f"cast got 1, {EXPRESSION}"),
    "bitcast": (Bitcast, ("u32", ONE), f"bitcast got 'u32', {TYPE}"),
    "bitcast of a number": (Bitcast, (U, 1), f"bitcast got 1, {EXPRESSION}"),
    "load": (Load, ("b", ONE), f"load got 'b', {BUFFER}"),
    "load at a number": (Load, (B, 0), f"load got 0, {EXPRESSION}"),
    "length": (Length, ("b",), f"length got 'b', {BUFFER}"),
    "call": (Call, ("a.b", "u32", ONE), f"call got 'u32', {TYPE}"),
    "call of a number": (Call, ("a.b", U, 1), f"call got 1, {EXPRESSION}"),
    "local": (Local, ("x", "u32"), f"local got 'u32', {TYPE}"),
    "select": (Select, (True, ONE, ONE), f"select got True, {EXPRESSION}"),
    "buffer as an operand": (Apply, (OPS["add"], B, B), f"apply got Buffer, {EXPRESSION}"),
    "literal as a type": (Literal, (ONE, 1), f"literal got Literal, {TYPE}"),
    "class as a buffer": (Load, (Load, ONE), f"load got the type Load, {BUFFER}"),
    "array as a kind": (Id, (np.arange(2), 0), "id got ndarray, expected a member of IdKind"),
    "list of operands": (Apply, (OPS["add"], [ONE, ONE]), f"apply got list, {EXPRESSION}"),
    "load at a list": (Load, (B, [ONE]), f"load got list, {EXPRESSION}"),
    "length of a list": (Length, ([B],), f"length got list, {BUFFER}"),
    "select of lists": (Select, (ONE, [ONE], ONE), f"select got list, {EXPRESSION}"),
    "cast of a list": (Cast, (U, [ONE]), f"cast got list, {EXPRESSION}"),
    "bitcast of a list": (Bitcast, (U, [ONE]), f"bitcast got list, {EXPRESSION}"),
    "call of a list": (Call, ("a.b", U, [ONE]), f"call got list, {EXPRESSION}"),
    "call of an op": (Call, (OPS["add"], U, ONE), "call got Op, expected a string"),
    "name of a local": (Local, (1, U), "local got 1, expected a string"),
    "list as a local": (Local, (["x"], U), "local got list, expected a string"),
    "bits of a list": (Literal, ([U], 1), f"literal got list, {TYPE}"),
    "text as a number": (literal, (U, "1"), "literal got '1', expected a number"),
    "no number": (literal, (U, None), "literal got None, expected a number"),
    "complex number": (literal, (U, 1j), "literal got complex, expected a number"),
    "complex float": (literal, (f32, 1j), "literal got complex, expected a number"),
    "several numbers": (literal, (U, np.arange(2)), "literal got ndarray, expected a number"),
    "several floats": (literal, (f32, np.ones(2)), "literal got ndarray, expected a number"),
    "expression as a number": (literal, (U, ONE), "literal got Literal, expected a number"),
    "optimize": (optimize, (EMPTY,), "optimize got Program, expected the facts of a program"),
    "shapes": (EMPTY.with_shapes, ({},), "with_shapes got dict, expected the shapes of a program"),
    "lines": (EMPTY.with_origins, ([],), "with_origins got list, expected the lines of a program"),
    "grid": (
        validate(EMPTY).determinism_in,
        (64,),
        "determinism_in got 64, expected the numbers of workgroups on three axes",
    ),
    "parse": (parse, (b"program",), "parse got bytes, expected a string"),
    "decode": (decode, ("program",), "decode got 'program', expected bytes"),
    "validate": (validate, (3,), "validate got 3, expected a program"),
    "builder": (validate, (program("p", 1),), "validate got ProgramBuilder, expected a program"),
    "encode": (encode, (None,), "encode got None, expected a program"),
    "fingerprint": (fingerprint, ("p",), "fingerprint got 'p', expected a program"),
    "print": (print_program, (b"p",), "print_program got bytes, expected a program"),
    "decode of a number": (decode, (5,), "decode got 5, expected bytes"),
}


@pytest.mark.parametrize("what", WRONG)
def test_an_argument_of_another_kind_is_named(what: str) -> None:
    make, given, words = WRONG[what]
    with pytest.raises(TypeMismatch) as caught:
        make(*given)
    assert caught.value.message == words


def test_the_member_that_is_meant_is_named() -> None:
    with pytest.raises(TypeMismatch, match=r"Fix: write `IdKind\.GLOBAL_ID`"):
        Id("global_id", 0)  # type: ignore[arg-type]
