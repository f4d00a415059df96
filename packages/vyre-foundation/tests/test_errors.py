"""Errors: a place, a message, a remedy; and they survive a process boundary."""

import pickle

import pytest

from vyre_foundation import DeclarationError, TextError, VyreError, WireError, decode, parse
from vyre_foundation.errors import BuildError, TypeMismatch, without_remedy


def test_reading_an_error() -> None:
    error = VyreError("got 1, expected 2.", fix="pass 2. ", where="here", got=1)
    assert str(error) == "here: got 1, expected 2. Fix: pass 2"
    assert (error.message, error.fix, error.where, error.fields["got"]) == ("got 1, expected 2", "pass 2", "here", 1)
    assert str(VyreError("got 1", fix="pass 2")) == "got 1. Fix: pass 2"


def test_an_error_as_a_part_of_another_has_no_remedy() -> None:
    inner = VyreError("got 1", fix="pass 2", where="here")
    assert str(VyreError(f"it failed: {without_remedy(inner)}", fix="pass 3")) == "it failed: here: got 1. Fix: pass 3"
    assert without_remedy(OSError("gone")) == "gone"


@pytest.mark.parametrize("fix", ["", "  "])
def test_a_remedy_is_never_missing(fix: str) -> None:
    with pytest.raises(ValueError, match="BuildError needs a remedy"):
        BuildError("got 1", fix=fix)


def test_errors_are_the_errors_of_python_too() -> None:
    assert issubclass(TypeMismatch, TypeError)
    assert issubclass(DeclarationError, ValueError)
    assert issubclass(WireError, ValueError)
    assert issubclass(TextError, ValueError)


def test_pickles() -> None:
    errors: list[VyreError] = [TypeMismatch("got a, expected b", fix="cast", where="x", a=1)]
    for fail in (lambda: decode(b"PK"), lambda: parse("program p workgroup(1) {\n  let x = ;\n}")):
        with pytest.raises(VyreError) as caught:
            fail()
        errors.append(caught.value)
    for error in errors:
        again = pickle.loads(pickle.dumps(error))  # noqa: S301
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert again.fields == error.fields
