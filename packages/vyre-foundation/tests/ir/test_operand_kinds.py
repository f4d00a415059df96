"""Constructors of expressions, and the readers of programs, refuse arguments of another kind by name."""

from collections.abc import Callable
from typing import Any

import pytest

from vyre_foundation import decode, encode, fingerprint, parse, print_program, program, validate
from vyre_foundation.dtype import u32
from vyre_foundation.errors import TypeMismatch
from vyre_foundation.ir import Access, Apply, Bitcast, Buffer, Call, Cast, Id, Length, Load, Local, Select, literal
from vyre_foundation.ops import OPS

B: Any = Buffer("b", u32, Access.READ, binding=0)
ONE: Any = literal(u32, 1)
U: Any = u32
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
