"""Functions as keys of caches: equal where they give one program, and never where they may not."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

import vyre_algorithms as va
from vyre_algorithms import filters, merges
from vyre_algorithms.traced import TracedFunction
from vyre_foundation import constant
from vyre_foundation.dtype import f32, f64
from vyre_foundation.functions import abs as magnitude

X = np.arange(6, dtype="f4")
LIMIT = 3.0
SETTINGS = SimpleNamespace(limit=3.0)


def above(limit):
    return lambda v: v > limit


def with_default(limit):
    def predicate(v, limit=limit):
        return v > limit

    return predicate


def with_keyword(limit):
    def predicate(v, *, limit=limit):
        return v > limit

    return predicate


def through_another(limit):
    def inner(v):
        return v > limit

    return lambda v: inner(v)


@pytest.mark.parametrize("make", [above, with_default, with_keyword, through_another])
def test_functions_with_equal_values_are_equal_keys(make):
    assert TracedFunction(make(3.0)) == TracedFunction(make(3.0))
    assert hash(TracedFunction(make(3.0))) == hash(TracedFunction(make(3.0)))
    different = [3.0, 3, True, 1, 0.0, -0.0, np.float32(3), np.float64(3), (3.0,), (3,), f32, f64, "3", None, math.nan]
    for n, one in enumerate(different):
        for m, other in enumerate(different):
            assert (TracedFunction(make(one)) == TracedFunction(make(other))) == (n == m)
            assert (TracedFunction(above((one, 1))) == TracedFunction(above((other, 1)))) == (n == m)


def test_other_code_is_another_key():
    assert TracedFunction(lambda v: v > 1) != TracedFunction(lambda v: v > 1.0)
    assert TracedFunction(lambda v: v > 1) != TracedFunction(lambda v: v < 1)


@pytest.mark.parametrize("value", [[3.0], {"a": 3.0}, SETTINGS, np.zeros(1), np, SimpleNamespace, object(), {3.0}])
def test_what_refers_to_values_that_may_change_is_equal_to_itself_alone(value):
    for make in (above, with_default, with_keyword, through_another):
        one, other = make(value), make(value)
        assert TracedFunction(one) == TracedFunction(one)
        assert TracedFunction(one) != TracedFunction(other)


def test_what_imports_or_calls_what_may_change_is_equal_to_itself_alone():
    def importing():
        def predicate(v):
            from test_traced import LIMIT

            return v > LIMIT

        return predicate

    def stateful():
        return lambda v: v > id(v)

    def recursive():
        return lambda n: recursive() if n else n

    count = 0

    def counting():
        def predicate(v):
            nonlocal count
            count += 1
            return v > count

        return predicate

    for make in (importing, stateful, recursive, counting):
        assert TracedFunction(make()) != TracedFunction(make())


def test_functions_of_the_language_and_of_math_do_not_change():
    def make():
        return lambda v: magnitude(v) > constant(f32, math.sqrt(2.0) + max(1, 2))

    assert TracedFunction(make()) == TracedFunction(make())


def test_a_function_that_is_made_anew_is_traced_once():
    def traced():
        return filters._stencil.cache_info().misses, merges._merge.cache_info().misses

    def run(weight):
        return (
            va.stencil(X, lambda at: at(1) * weight),
            va.sort(X, before=lambda a, b: a > b * weight),
            va.select(X, lambda v: v > weight),
        )

    first = run(2.0)
    before = traced()
    assert all(np.array_equal(a, b) for a, b in zip(first, run(2.0), strict=True))
    assert traced() == before
    assert run(3.0)[0].tolist() == (first[0] * 1.5).tolist()
    assert traced() != before


def test_a_value_that_has_changed_is_seen(monkeypatch):
    """The variables of functions and modules as they are at the call."""
    limit = 1.0

    def predicate(v):
        return v > limit

    def of_module(v):
        return v > LIMIT

    assert va.select(X, predicate).tolist() == [2, 3, 4, 5]
    limit = 4.0
    assert va.select(X, predicate).tolist() == [5]
    assert va.select(X, of_module).tolist() == [4, 5]
    monkeypatch.setitem(globals(), "LIMIT", 4.0)
    assert va.select(X, of_module).tolist() == [5]


def test_an_older_function_whose_variable_has_changed_is_not_called_again():
    """The cache keeps the older of two equal keys. If its program is dropped, the newer function is traced."""

    def make(limit):
        def change(value):
            nonlocal limit
            limit = value

        return (lambda v: v > limit), change

    old, change = make(4.0)
    assert va.select(X, old).tolist() == [5]
    change(0.0)
    for number in range(300):  # more than the caches of programs have
        va.select(X[:1], above(float(number)), backend="reference")  # which compiles nothing
    new, _ = make(4.0)
    assert va.select(X, new).tolist() == [5]
    assert va.select(X, old).tolist() == [1, 2, 3, 4, 5]


def test_settings_that_change_are_seen_by_a_new_function():
    def selected():
        return va.select(X, lambda v: v > SETTINGS.limit).tolist()

    SETTINGS.limit = 3.0
    assert selected() == [4, 5]
    SETTINGS.limit = 4.0
    assert selected() == [5]
