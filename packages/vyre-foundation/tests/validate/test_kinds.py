"""What is no statement, and fields of another kind than their classes declare, are refused by name."""

from typing import Any

import numpy as np
import pytest

from vyre_foundation import encode, fingerprint, print_program, validate
from vyre_foundation.dtype import u32
from vyre_foundation.errors import DeclarationError
from vyre_foundation.ir import (
    Access,
    Assign,
    Atomic,
    AtomicOp,
    Barrier,
    Buffer,
    For,
    If,
    IndirectDispatch,
    Let,
    Program,
    Region,
    Store,
    Subgroup,
    Trap,
    literal,
)
from vyre_foundation.validate import InvalidProgram
from vyre_foundation.wire import Unencodable

B = Buffer("b", u32, Access.READ_WRITE, binding=0)
ONE = literal(u32, 1)
LET = Let("a", ONE)


def program(*body: Any) -> Program:
    return Program("t", (B,), (8, 1, 1), body)


BROKEN = {
    "text": ("x[0] = 1;", "body[0]", "got 'x[0] = 1;', expected a statement"),
    "none": (None, "body[0]", "got None, expected a statement"),
    "expression": (ONE, "body[0]", "got Literal, expected a statement"),
    "class": (Barrier, "body[0]", "got the type Barrier, expected a statement"),
    "scope": (Barrier("nonsense"), "body[0].scope", "got 'nonsense', expected a member of Scope"),
    "op": (Atomic("add", B, ONE, ONE), "body[0].op", "got 'add', expected a member of AtomicOp"),
    "collective": (Subgroup("any", ONE), "body[0].op", "got 'any', expected a member of SubgroupOp"),
    "value": (Let("a", 1), "body[0].value", "got 1, expected an expression"),
    "buffer": (Store("x", ONE, ONE), "body[0].buffer", "got 'x', expected a buffer"),
    "indirect": (IndirectDispatch("x"), "body[0].buffer", "got 'x', expected a buffer"),
    "flag": (Store(B, ONE, ONE, 1), "body[0].checked", "got 1, expected a bool"),
    "no value": (Let("a", None), "body[0].value", "got None, expected an expression"),
    "array": (If(ONE, np.arange(2)), "body[0].then", "got ndarray, expected a tuple of statements"),
    "expected": (Atomic(AtomicOp.ADD, B, ONE, ONE, 3), "body[0].expected", "got 3, expected an expression"),
    "code": (Trap(7, "tag"), "body[0].code", "got 7, expected an expression"),
    "branch": (If(ONE, LET), "body[0].then", "got Let, expected a tuple of statements"),
    "list": (For("i", ONE, ONE, 1, [LET]), "body[0].body", "got list, expected a tuple of statements"),
    "nested": (Region("r", (LET, "x")), "body[0].body[1]", "got 'x', expected a statement"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_validation_names_the_field(kind: str) -> None:
    stmt, where, message = BROKEN[kind]
    with pytest.raises(InvalidProgram) as caught:
        validate(program(stmt))
    assert [(f.code, f.where, f.message) for f in caught.value.findings] == [("V016", where, message)]


def test_the_member_that_is_meant_is_named() -> None:
    with pytest.raises(InvalidProgram, match=r"Fix: write `AtomicOp\.ADD`"):
        validate(program(Atomic("add", B, ONE, ONE)))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", sorted(BROKEN.keys() - {"scope", "flag", "list"}))
@pytest.mark.parametrize("give", [encode, fingerprint])
def test_no_bytes_are_given_for_what_python_cannot_take_apart(kind: str, give: Any) -> None:
    stmt, _, message = BROKEN[kind]
    with pytest.raises(Unencodable) as caught:
        give(program(stmt))
    assert caught.value.message == message


NAMES = {
    "let": (Let(5, ONE), "name"),
    "assignment": (Assign(["x"], ONE), "name"),
    "array": (Let(np.arange(2), ONE), "name"),
    "loop": (For(None, ONE, ONE, 1, ()), "name"),
    "label": (Region(None, ()), "label"),
    "tag": (Trap(ONE, 5), "tag"),
    "result": (Atomic(AtomicOp.ADD, B, ONE, ONE, None, ONE), "result"),
}


@pytest.mark.parametrize("kind", sorted(BROKEN.keys() - {"flag", "list"}))
def test_no_text_is_given_for_what_python_cannot_take_apart(kind: str) -> None:
    stmt, _, message = BROKEN[kind]
    with pytest.raises(DeclarationError) as caught:
        print_program(program(stmt))
    assert caught.value.message == message
    assert message.replace("'", "&#x27;") in Program._repr_html_(program(stmt))  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", NAMES)
def test_the_name_that_is_none_is_named(kind: str) -> None:
    stmt, field = NAMES[kind]
    with pytest.raises(DeclarationError, match=rf"^program 't', {field}: got .*, expected a string\. Fix: pass a str$"):
        print_program(program(stmt))


@pytest.mark.parametrize("kind", NAMES)
def test_validation_names_it_too(kind: str) -> None:
    with pytest.raises(InvalidProgram) as caught:
        validate(program(NAMES[kind][0]))
    assert [f.code for f in caught.value.findings] == ["V015"]


@pytest.mark.parametrize("body", [LET, None])
def test_a_program_with_a_broken_body_has_a_repr(body: Any) -> None:
    assert repr(program(Region("r", body))) == "<Program 't': 1 buffers, 1 statements at the top>"


@pytest.mark.parametrize(
    ("buffers", "body", "words"),
    [
        ([B], (), "got list as the buffers, expected a tuple"),
        ((B,), [LET], "got list as the body, expected a tuple"),
        (("b",), (), "got str among the buffers, expected a Buffer"),
    ],
)
def test_a_program_is_made_of_tuples(buffers: Any, body: Any, words: str) -> None:
    with pytest.raises(DeclarationError, match=words):
        Program("t", buffers, (8, 1, 1), body)
