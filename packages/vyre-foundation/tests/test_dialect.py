"""Dialects: registration, signatures, expansion."""

from collections.abc import Iterator
from typing import Any

import pytest

from vyre_foundation import dialects
from vyre_foundation.dialects import (
    Composition,
    DuplicateOpId,
    SignatureMismatch,
    UnknownCallee,
    call,
    expand,
    is_rare_call,
)
from vyre_foundation.dtype import f32, f64, u32
from vyre_foundation.errors import DeclarationError, TypeMismatch
from vyre_foundation.ir import Apply, Call, Cast, Expr, Local
from vyre_foundation.ops import OPS

X, Y, N = Local("x", f32), Local("y", f32), Local("n", u32)


def square(x: Expr) -> Expr:
    return Apply(OPS["mul"], x, x)


def norm(x: Expr, y: Expr) -> Expr:
    return Apply(OPS["sqrt"], Apply(OPS["add"], call("t.square", x), call("t.square", y)))


def wrong(x: Expr) -> Expr:
    return Cast(f64, x)


ROWS = [
    Composition("t.square", {(f32,): f32, (u32,): u32}, square),
    Composition("t.norm", {(f32, f32): f32}, norm, "the length of (x, y)"),
    Composition("t.wrong", {(f32,): f32}, wrong),
    Composition("t.slow", {(f32,): f32}, square, rare=True),
]


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    dialects.register(ROWS)
    yield
    dialects.unregister([row.id for row in ROWS])


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ((5, {(f32,): f32}, square), "got 5 as the id of an op, expected a string"),
        (("t.x", {}, square), "op 't.x': got other signatures than types"),
        (("t.x", [(f32,)], square), "op 't.x': got other signatures than types"),
        (("t.x", {f32: f32}, square), "op 't.x': got other signatures than types"),
        (("t.x", {("f32",): "f32"}, square), "op 't.x': got other signatures than types"),
        (("t.x", {(f32,): f32}, None), "op 't.x': got None as `expand`, expected a function"),
    ],
)
def test_fields_of_another_kind_are_refused(fields: Any, words: str) -> None:
    with pytest.raises(DeclarationError, match=words):
        Composition(*fields)


def test_what_is_registered_and_called_is_of_its_kind() -> None:
    with pytest.raises(
        TypeMismatch, match=r"register got 't\.x', expected an op of a dialect\. Fix: pass a Composition"
    ):
        dialects.register(["t.x"])  # type: ignore[list-item]
    with pytest.raises(TypeMismatch, match=r"call got 1\.0, expected an expression"):
        call("t.square", 1.0)  # type: ignore[arg-type]
    with pytest.raises(TypeMismatch, match=r"lookup got 5, expected a string"):
        dialects.lookup(5)  # type: ignore[arg-type]
    twice = Composition("t.twice", {(f32,): f32}, square)
    with pytest.raises(DuplicateOpId, match=r"t\.twice"):
        dialects.register([twice, twice])


def test_calls_take_their_type_from_the_signature() -> None:
    assert call("t.square", N).dtype is u32
    assert call("t.norm", X, Y) is Call("t.norm", f32, X, Y)
    with pytest.raises(SignatureMismatch, match=r"t\.norm got \(f32, u32\), expected \(f32, f32\)\. Fix: cast"):
        call("t.norm", X, N)
    for operands, got in (((X,), "f32"), ((X, Y, X), "f32, f32, f32")):
        with pytest.raises(SignatureMismatch, match=rf"t\.norm got \({got}\), .*\. Fix: pass as many operands"):
            call("t.norm", *operands)


def test_unknown_callees_name_the_known_ones() -> None:
    with pytest.raises(UnknownCallee, match=r"no installed dialect defines 't\.cube' \(known: .*t\.square.*\)"):
        call("t.cube", X)


@pytest.mark.parametrize(
    ("callee", "fix"),
    [
        ("t.sqare", "write 't.square'"),
        ("t.cube", "use an op of the dialect, as `vyre ops` lists them"),
        ("ts.square", "write 't.square', or install the distribution that defines it"),
        ("absent.op", "install the distribution that defines it"),
    ],
)
def test_unknown_callees_are_corrected(callee: str, fix: str) -> None:
    with pytest.raises(UnknownCallee) as caught:
        call(callee, X)
    assert caught.value.fix == fix


def test_ids_are_taken_once_and_all_or_none_are_added() -> None:
    new = Composition("t.new", {(f32,): f32}, square)
    with pytest.raises(DuplicateOpId, match=r"op id 't\.square' is registered already"):
        dialects.register([new, ROWS[0]])
    with pytest.raises(UnknownCallee):
        dialects.lookup("t.new")
    assert dialects.lookup("t.norm") is ROWS[1]


def test_expansion_reaches_into_compositions_and_operands() -> None:
    expanded = expand(call("t.norm", call("t.square", X), Y), {})
    x2 = Apply(OPS["mul"], X, X)
    x4, y2 = Apply(OPS["mul"], x2, x2), Apply(OPS["mul"], Y, Y)
    assert expanded is Apply(OPS["sqrt"], Apply(OPS["add"], x4, y2))
    assert expand(X, {}) is X


def test_a_composition_gives_the_type_that_it_declares() -> None:
    with pytest.raises(SignatureMismatch, match=r"the composition of t\.wrong gives f64, its signature says f32"):
        expand(call("t.wrong", X), {})


def test_deep_calls() -> None:
    e: Expr = X
    for _ in range(20_000):
        e = call("t.square", e)
    expanded = expand(e, {})
    for _ in range(20_000):
        assert expanded.args[0] is expanded.args[1]
        expanded = expanded.args[0]
    assert expanded is X


def test_rare_calls_are_known_and_may_stay() -> None:
    rare, usual = call("t.slow", X), call("t.square", X)
    assert is_rare_call(rare)
    assert not is_rare_call(usual)
    assert not is_rare_call(X)
    assert expand(rare, {}) is expand(usual, {})
    assert expand(call("t.norm", rare, X), {}, is_rare_call).args[0].args[0] is square(rare)
