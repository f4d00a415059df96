"""Identifiers: readable, unique, and no words of the language or the target."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from vyre_driver.codegen.c.names import C_WORDS, Names


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("count", "count"),
        ("if", "if_"),
        ("float", "float_"),
        ("barrier", "barrier_"),
        ("a.b-c", "a_b_c"),
        ("größe", "gr__e"),
        ("2nd", "x2nd"),
        ("__traps", "traps"),
        ("___", "x"),
        ("名", "x"),
        ("FLT_MAX", "FLT_MAX_"),
        ("I", "I_"),
        ("rowMajor", "rowMajor_"),
        ("ext_fast", "ext_fast_"),
        ("next_fast", "next_fast"),
        ("int64_t", "int64_t_"),
        ("at_top", "at_top"),
    ],
)
def test_names_become_words(name, expected):
    assert Names(frozenset(("barrier",)), ("ext_",))(name) == expected


def test_inner_names_avoid_the_same_prefixes():
    assert Names(frozenset(), ("ext_",)).inner()("ext_fast") == "ext_fast_"


def test_names_that_look_alike_are_told_apart():
    names = Names(frozenset())
    assert [names(n) for n in ("a.b", "a_b", "a-b", "a b", "a_b_")] == ["a_b", "a_b_", "a_b1", "a_b2", "a_b__"]


def test_temporaries_go_around_names():
    names = Names(frozenset())
    names("t1")
    assert [names.temporary() for _ in range(3)] == ["t0", "t2", "t3"]


def test_functions_share_the_names_of_the_unit_only():
    unit = Names(frozenset())
    unit("table")
    one, other = unit.inner(), unit.inner()
    assert (one("x"), one("table"), other("x")) == ("x", "table_", "x")


@given(st.lists(st.text(min_size=1, max_size=6), max_size=12, unique=True))
def test_any_names_get_different_identifiers(texts):
    names = Names(frozenset(("x", "t0")))
    words = [names(text) for text in texts] + [names.temporary() for _ in range(3)]
    assert len(set(words)) == len(words)
    assert all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", word) and word not in C_WORDS for word in words)


def test_identifiers_are_short() -> None:
    """A compiler that makes a file for each kernel, and names it after the kernel, ends the process where it cannot."""
    names = Names(frozenset())
    given = [names("n" * 1024), names("n" * 1023), names("n" * 60), names("é" * 1024 + "n")]
    assert given == ["n" * 60, "n" * 60 + "_", "n" * 60 + "1", "n"]
