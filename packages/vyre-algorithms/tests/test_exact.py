"""Exact sums against rational arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from algorithm_data import data, same
from hypothesis import given, settings, strategies as st

import vyre_algorithms as va
from vyre_algorithms import exact as va_exact
from vyre_driver import DeviceArray, backend_for
from vyre_driver.arrays import make
from vyre_driver.errors import InvalidInput


def array(backend, x):
    """A copy of an array in the memory of a backend."""
    return make.array(backend_for(backend), x)


def nearest(total, dtype):
    """The element of a type that is nearest to a fraction, ties to even, found among neighbours."""
    dtype = np.dtype(dtype)
    if dtype == np.float64:
        return np.float64(math.fsum([float(total)]) if abs(total) < 2**1023 else float(total))
    precision = {"float16": 11, "bfloat16": 8, "float32": 24}[dtype.name]
    least = {"float16": -24, "bfloat16": -133, "float32": -149}[dtype.name]
    if total == 0:
        return dtype.type(0)
    exponent = math.frexp(float(total))[1]
    unit = Fraction(2) ** max(exponent - precision, least)
    return np.float64(float(round(total / unit) * unit)).astype(dtype)


@pytest.mark.parametrize("dtype", ["f2", ml_dtypes.bfloat16, "f4", "f8"])
@pytest.mark.parametrize("size", [0, 1, 3, 5000])
def test_sums(backend, dtype, size):
    x = data(dtype, size)
    same(va.exact_sum(x, backend=backend), nearest(sum(map(Fraction, x.tolist()), Fraction(0)), dtype))


@pytest.mark.parametrize("dtype", ["f2", ml_dtypes.bfloat16, "f4"])
def test_products(backend, dtype):
    x, y = data(dtype, 5000), data(dtype, 5000, seed=2)
    total = sum((Fraction(a) * Fraction(b) for a, b in zip(x.tolist(), y.tolist(), strict=True)), Fraction(0))
    same(va.exact_dot(x, y, backend=backend), nearest(total, dtype))


@settings(max_examples=100)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=60))
def test_any_doubles(values):
    x = np.array(values, "f8")
    total = sum(map(Fraction, values), Fraction(0))
    try:
        wanted = float(total)
    except OverflowError:
        wanted = math.inf if total > 0 else -math.inf
    assert va.exact_sum(x, backend="cpu") == wanted


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), max_size=60))
def test_any_floats(values):
    x = np.array(values, "f4")
    total = sum(map(Fraction, x.tolist()), Fraction(0))
    if abs(total) < Fraction(2) ** 127:
        same(va.exact_sum(x, backend="cpu"), nearest(total, "f4"))


@pytest.mark.parametrize(
    "values",
    [
        [1e308, 1e308, -1e308],
        [1.0, 2.0**-53, 2.0**-106],
        [1.0, 2.0**-53],
        [2.0**1000, 1.0, -(2.0**1000), 5e-324],
        [5e-324] * 10_000,
        [1e100, 1.0, -1e100] * 3000,
        [1.7976931348623157e308] * 2,
    ],
)
def test_cancellation_and_the_ends_of_the_range(backend, values):
    total = sum(map(Fraction, values), Fraction(0))
    wanted = float(total) if abs(total) < Fraction(2) ** 1024 - Fraction(2) ** 969 else math.inf
    assert va.exact_sum(np.array(values), backend=backend) == wanted


@pytest.mark.parametrize("span", [0, 20, 21, 36, 37, 66, 88, 120, 250, 400])
@pytest.mark.parametrize("top", [-1000, 0, 930])
def test_spans_of_exponents(span, top):
    """Elements whose magnitudes differ by what accumulators just hold, and do not; `fsum` is correctly rounded."""
    random = np.random.default_rng(span)
    mantissas = random.choice([1, 1 + 2.0**-52, 1.5, np.nextafter(2, 0)], 5000)
    signs = random.choice([-1, 1], 5000) if span % 2 else 1
    x = np.ldexp(mantissas * signs, np.maximum(top - random.integers(0, span + 1, 5000), -1074))
    for whole in (x, np.concatenate([x, -x[5:]])):
        assert va.exact_sum(whole, backend="cpu") == math.fsum(whole.tolist())


@pytest.mark.parametrize(
    ("values", "wanted"),
    [([np.inf, 1], np.inf), ([-np.inf, 1], -np.inf), ([np.inf, -np.inf], np.nan), ([np.nan, 1], np.nan), ([-0.0], 0.0)],
)
def test_special_values(backend, values, wanted):
    found = va.exact_sum(np.array(values, "f4"), backend=backend)
    np.testing.assert_equal(found, np.float32(wanted))


def exactly(x, axis):
    """The exact sums along axes, which become one last axis of the array."""
    axes = tuple(range(x.ndim)) if axis is None else tuple(np.atleast_1d(np.array(axis, int)) % x.ndim)
    left = [n for n in range(x.ndim) if n not in axes]
    shape = [x.shape[n] for n in left]
    rows = x.transpose(*left, *axes).reshape(math.prod(shape), math.prod(x.shape[n] for n in axes))
    sums = [nearest(sum(map(Fraction, row), Fraction(0)), x.dtype) for row in rows.tolist()]
    return np.array(sums, x.dtype).reshape(shape)


@pytest.mark.parametrize("is_on_device", [False, True])
@pytest.mark.parametrize(
    ("shape", "axis"),
    [
        *[((3, 2, 5), axis) for axis in (None, (), 0, 1, -1, (0, 1), (2, 0), (-1, 1), (0, 1, 2))],
        *[((2, 5000), axis) for axis in (0, 1)],
        *[((3, 4096 + 17), axis) for axis in (1,)],
        *[((0, 3), axis) for axis in (0, 1, None)],
        ((2, 0, 3), 1),
        ((2, 0, 3), (0, 2)),
        ((), None),
        ((), ()),
    ],
)
def test_sums_along_axes(backend, shape, axis, is_on_device):
    x = data("f4", shape)
    given = array(backend, x) if is_on_device else x
    wanted = exactly(x, axis)
    for keepdims in (False, True):
        lengths = np.sum(x, axis=axis, keepdims=keepdims).shape
        found = va.exact_sum(given, axis, keepdims=keepdims, backend=backend)
        assert isinstance(found, DeviceArray) == is_on_device
        assert found.shape == lengths
        same(np.asarray(found), wanted.reshape(lengths))
        out = np.full(lengths, 7, "f4")
        assert va.exact_sum(given, axis, keepdims=keepdims, out=out, backend=backend) is out
        same(out, wanted.reshape(lengths))


def test_each_row_has_the_sum_that_it_has_alone(monkeypatch):
    """Rows of every span of exponents, in several launches; the first elements of the next row do not count."""
    monkeypatch.setattr(va_exact, "ROWS", 3)
    random = np.random.default_rng(3)
    x = np.ldexp(
        random.standard_normal((8, 4099)), random.integers(-900, 900, (8, 1)) * random.integers(0, 2, (8, 4099))
    )
    x[1, 5], x[2, 7], x[3, :2] = np.inf, np.nan, (np.inf, -np.inf)
    x[5] = -0.0
    found = va.exact_sum(x, axis=1, backend="cpu")
    np.testing.assert_array_equal(found, [va.exact_sum(row.copy(), backend="cpu") for row in x])
    assert found[0] == math.fsum(x[0])
    assert not np.signbit(found[5])


@pytest.mark.parametrize("dtype", ["f2", ml_dtypes.bfloat16, "f4", "f8"])
def test_rows_are_rounded_to_the_nearest(dtype):
    """Rows near the middle between two floats, of all magnitudes, and what is left where others cancel."""
    random, precision = np.random.default_rng(6), ml_dtypes.finfo(dtype).nmant + 1
    least, most = ml_dtypes.finfo(dtype).minexp - precision, ml_dtypes.finfo(dtype).maxexp - 3
    exponents = random.integers(least, most, 600)
    near = np.ldexp(random.integers(2 ** (precision - 1), 2**precision, 600).astype("f8"), exponents - precision + 1)
    signs, others = random.choice([-1, 0, 1], (3, 600)), random.choice(near, 600)
    halves, small = np.ldexp(signs[0].astype("f8"), exponents - precision), np.ldexp(signs[1].astype("f8"), least)
    rows = np.stack([near, halves, small, others, -others], axis=1) * random.choice([-1, 1], (600, 1))
    rows = rows.astype(dtype)
    rows[signs[2] == 0, 0] = 0
    found = va.exact_sum(rows, axis=1, backend="cpu")
    same(found, np.array([nearest(sum(map(Fraction, row)), dtype) for row in rows.tolist()], dtype))


def test_the_order_has_no_part():
    x = data("f4", 100_000) * np.float32(10) ** data("i1", 100_000).clip(-30, 30).astype("f4")
    same(va.exact_sum(x), va.exact_sum(np.random.default_rng(5).permutation(x)))
    same(va.exact_sum(x), np.float32(math.fsum(x.tolist())))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: va.exact_sum(x.astype("i4")), "expected an array of floats"),
        (lambda x: va.exact_dot(x.astype("f8"), x.astype("f8")), "expected an array of f16, bf16 or f32"),
        (lambda x: va.exact_dot(x, x[1:]), "got 2 of f32"),
        (lambda x: va.exact_sum(x, axis=1), "'axis': got 1, expected an axis from -1 to 0"),
        (lambda x: va.exact_sum(x, axis=(0, 0)), "expected each axis once"),
        (lambda x: va.exact_sum(x, axis=0, out=np.zeros(1, "f4")), r"expected an array of f32 \(\)"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InvalidInput, match=message):
        call(np.ones(3, "f4"))
