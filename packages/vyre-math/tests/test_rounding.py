"""Correct rounding on samples of all 2**32 inputs; `tools/exhaust.py` takes every one of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest
from oracle import F32, NUMPY, right, rounded
from pairs_of import BINARY

from vyre_math.binary32.exponential import EXP2_EXCEPTIONS
from vyre_math.binary32.hyperbolic import SINH_EXCEPTIONS
from vyre_math.binary32.inverse import ACOS_EXCEPTIONS, ATAN_EXCEPTIONS
from vyre_math.binary32.logarithm import LOG1P_EXCEPTIONS, LOG10_EXCEPTIONS, LOG_EXCEPTIONS
from vyre_math.binary32.trigonometric import COS_EXCEPTIONS, SIN_EXCEPTIONS
from vyre_math.dialect import FUNCTIONS

EXCEPTIONS = {
    "exp2": EXP2_EXCEPTIONS,
    "log": LOG_EXCEPTIONS,
    "log10": LOG10_EXCEPTIONS,
    "log1p": LOG1P_EXCEPTIONS,
    "sin": SIN_EXCEPTIONS,
    "cos": COS_EXCEPTIONS,
    "acos": ACOS_EXCEPTIONS,
    "atan": ATAN_EXCEPTIONS,
    "sinh": SINH_EXCEPTIONS,
}


def every(step: int) -> F32:
    """All patterns of 32 bits that a walk in steps of `step` comes by, an odd number beside a power of two."""
    return (np.arange(0, 2**32, step, dtype=np.uint64) + 37).astype(np.uint32).view(np.float32)


@pytest.mark.parametrize("name", NUMPY)
def test_results_are_the_nearest(results: Callable[..., Any], name: str) -> None:
    x = every(2**18 - 1)
    assert_right(results, name, x)


@pytest.mark.slow
@pytest.mark.parametrize("name", NUMPY)
def test_sixteen_million_results_are_the_nearest(results: Callable[..., Any], name: str) -> None:
    assert_right(results, name, every(2**8 - 1))


@pytest.mark.parametrize(("name", "exceptions"), EXCEPTIONS.items())
def test_exceptions_are_right_and_needed(results: Callable[..., Any], name: str, exceptions: dict[int, int]) -> None:
    x = np.array(list(exceptions), np.uint32).view(np.float32)
    expected = right(name, x)
    assert results(name, x).view(np.uint32).tolist() == expected.bits.tolist()
    assert expected.hard.size == x.size
    with mock.patch.dict(exceptions, dict.fromkeys(exceptions, 0)):
        uncorrected = results(name, x).view(np.uint32)
    assert (expected.bits.astype(np.int64) - uncorrected).tolist() == list(exceptions.values())


def test_the_oracle_rounds_once() -> None:
    assert rounded("exp2", -149.5) == 2.0**-149  # a subnormal, from 0.707 of it
    assert rounded("exp2", -150.5) == 0.0
    assert rounded("exp", 89.0) == np.inf
    assert rounded("rsqrt", 4.0) == 0.5


def assert_right(results: Callable[..., Any], name: str, x: F32) -> None:
    found = results(name, x).view(np.uint32)
    wrong = np.flatnonzero(found != right(name, x).bits)
    assert wrong.size == 0, [hex(v) for v in x.view(np.uint32)[wrong[:8]]]


def test_every_function_is_exhausted_or_tried_with_pairs() -> None:
    assert [*NUMPY, *BINARY] == list(FUNCTIONS)
