"""Random numbers of distributions: each operation of their definition, rounded by NumPy and mpmath."""

from __future__ import annotations

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
import scipy

import vyre_algorithms as va
from vyre_algorithms import launches, random
from vyre_driver import InvalidInput
from vyre_foundation import f32

SIZES = [0, 1, 3, 4, 5, 300]
F32 = np.float32


def doubles(key: int, count: int, counter: int = 0) -> np.ndarray:
    return va.philox(key, 2 * count, counter=counter, backend="reference").view("<u8") >> np.uint64(11)


def rounded(function: str, x: np.ndarray) -> np.ndarray:
    """The float32 next to the true value."""
    with mpmath.workprec(120):
        return np.array([F32(float(mpmath.mpf(getattr(mpmath, function)(mpmath.mpf(float(v)))))) for v in x], F32)


@pytest.mark.parametrize("size", SIZES)
def test_uniform_numbers_are_the_high_bits(backend: str, size: int) -> None:
    words = va.philox(9, size, counter=5, backend="reference")
    found = va.uniform(9, size, counter=5, backend=backend)
    assert found.dtype == np.float32
    assert np.array_equal(found, np.ldexp((words >> 8).astype(F32), -24))
    found = va.uniform(9, size, np.float64, counter=5, backend=backend)
    assert np.array_equal(found, np.ldexp(doubles(9, size, 5).astype(float), -53))


@pytest.mark.parametrize("size", SIZES)
def test_normal_numbers_of_float32_are_what_is_defined(backend: str, size: int) -> None:
    v, w = va.philox(9, size + size % 2, counter=5, backend="reference").astype(F32).reshape(-1, 2).T
    radius = np.sqrt(F32(-2) * rounded("log", v * F32(2**-32) + F32(2**-33)))
    angle = w * F32(2 * np.pi * 2**-32)
    expected = np.stack([radius * rounded("cos", angle), radius * rounded("sin", angle)], 1).reshape(-1)[:size]
    assert va.normal(9, size, counter=5, backend=backend).tobytes() == expected.tobytes()


def test_normal_numbers_of_float64_are_close_to_what_is_defined(backend: str) -> None:
    v, w = doubles(9, 300).reshape(-1, 2).T
    with mpmath.workprec(120):
        expected = [
            mpmath.sqrt(-2 * mpmath.log(mpmath.ldexp(int(a) + 1, -53)))
            * part(mpmath.ldexp(2 * mpmath.pi * int(b), -53))
            for a, b in zip(v, w, strict=True)
            for part in (mpmath.cos, mpmath.sin)
        ]
    np.testing.assert_allclose(
        va.normal(9, 300, np.float64, backend=backend), np.array(expected, float), rtol=0, atol=4e-15
    )


def test_the_ends_of_words_are_numbers(backend: str) -> None:
    """The greatest word is no 1, and no word has an infinite logarithm."""
    for word, uniform, radius in ((0, 0.0, math.sqrt(66 * math.log(2))), (0xFFFF_FFFF, 1 - 2**-24, 0.0)):
        ends = random.Generator(lambda p, counter, key, word=word: [p.let(counter[0] | word) for _ in counter], 4, 4)
        given = {"key": 0, "size": 4, "counter": 0, "backend": backend}
        found = random._made(replace(ends, dtype=f32, finish=random._uniform32), **given)
        assert found.tolist() == [uniform] * 4
        found = random._made(replace(ends, dtype=f32, finish=random._normal32), **given)
        assert np.abs(found).max() == pytest.approx(radius, rel=1e-6)


def exchanged(size: int, k: int, key: int) -> list[int]:
    """The definition of a sample, in a list that is a dictionary."""
    there: dict[int, int] = {}
    found = []
    for i, word in enumerate(va.philox(key, 2 * k, backend="reference").view("<u8").tolist()):
        place = i + (word * (size - i) >> 64)
        found.append(there.get(place, place))
        there[place] = there.get(i, i)
    return found


SAMPLES = [(1, 1), (2, 1), (9, 9), (300, 299), (2**31 - 1, 300), (2**31, 3), (5, 0), (0, 0)]


@pytest.mark.parametrize(("size", "k"), SAMPLES)
def test_samples_are_the_first_of_exchanges(backend: str, size: int, k: int) -> None:
    found = va.sample(size, k, 7, backend=backend)
    assert found.dtype == np.int64
    assert found.tolist() == exchanged(size, k, 7)


def test_a_longer_sample_begins_with_a_shorter_one() -> None:
    found = va.sample(20_000, 20_000, 3, backend="cpu")
    assert np.array_equal(np.sort(found), np.arange(20_000))
    assert found[:500].tolist() == va.sample(20_000, 500, 3, backend="cpu").tolist()


def test_a_sample_takes_no_list_of_all_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    monkeypatch.setattr(random, "launch", lambda *given: sizes.append(given[2]) or launches.launch(*given))
    va.sample(1 << 30, 100, 1, backend="cpu")
    assert max(sizes) == 2


@pytest.mark.parametrize("in_loops", [False, True])
def test_samples_of_a_list_are_those_without_one(monkeypatch: pytest.MonkeyPatch, in_loops: bool) -> None:
    monkeypatch.setattr(random, "runs_loops", lambda arrays, backend: in_loops)
    for size, k in ((1, 1), (9, 9), (300, 299), (300, 7), (20_000, 20_000)):
        assert va.sample(size, k, 3, backend="cpu").tolist() == exchanged(size, k, 3)


def test_each_sample_is_as_likely_as_the_others() -> None:
    draws = [tuple(va.sample(4, 3, key, backend="cpu").tolist()) for key in range(2400)]
    _, counts = np.unique(draws, axis=0, return_counts=True)
    assert counts.size == 24
    assert scipy.stats.chisquare(counts).pvalue > 0.001


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_they_have_their_distribution(dtype: type) -> None:
    size = 1 << 16
    assert scipy.stats.kstest(va.uniform(3, size, dtype), "uniform").pvalue > 0.001
    found = va.normal(3, size, dtype)
    assert scipy.stats.kstest(found, "norm").pvalue > 0.001
    assert abs(scipy.stats.pearsonr(found[::2], found[1::2]).statistic) < 0.02


@pytest.mark.parametrize("draw", [va.uniform, va.normal])
def test_any_part_can_be_made_alone_and_shapes_are_filled_in_order(draw, backend: str) -> None:
    whole = draw(7, 96, backend=backend)
    assert np.array_equal(draw(7, (3, 4), counter=10, backend=backend), whole[40:52].reshape(3, 4))
    assert draw(7, (2, 0, 3), backend=backend).shape == (2, 0, 3)
    assert draw(7, (), backend=backend).shape == ()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: va.uniform(1, 4, np.int32), "argument 'dtype': got i32, expected f32 or f64. Fix: "),
        (lambda: va.normal(1, 4, np.float16), "argument 'dtype': got f16, expected f32 or f64. Fix: "),
        (lambda: va.normal(1, (4, -1)), "argument 'shape': got -1, expected 0"),
        (lambda: va.uniform(1, (1 << 16, 1 << 16)), "argument 'shape': got 4294967296, expected 0"),
        (lambda: va.shuffle(np.float32(1), 1), "argument 'x': got a scalar, expected an array with an axis. Fix: "),
        (lambda: va.uniform(-1, 4), "argument 'key': got -1, expected 0"),
    ],
)
def test_what_is_refused(call, said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        call()
    assert said in str(caught.value)
