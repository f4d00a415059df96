"""The functions of f64 against MPFR: the stated bounds, and the special values, which are those of f32."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf, isinf, isnan, nan, pi
from typing import Any

import gmpy2
import numpy as np
import numpy.typing as npt
import pytest
import worst
from gmpy2 import mpfr
from oracle import MPFR as FUNCTIONS_OF_MPFR
from pairs_of import BINARY

from vyre_foundation import bool_, f64, i32, i64, u32, u64
from vyre_foundation.dialects import call, expand
from vyre_foundation.ir.expr import Literal, Local
from vyre_foundation.ir.walk import postorder
from vyre_math.dialect import FUNCTIONS

F64 = npt.NDArray[np.float64]
MPFR = FUNCTIONS_OF_MPFR | {"rsqrt": lambda x: 1 / gmpy2.sqrt(x)}
"""MPFR's own reciprocal root has no sign at -0, where IEEE 754 wants -inf."""
COUNT = 1000
KNOWN = (
    ("expm1", (float.fromhex("0x1.6e58113c264b3p-2"),), 0.94),
    ("expm1", (float.fromhex("0x1.9cbbbfec097acp-2"),), 0.95),
    ("sinh", (float.fromhex("-0x1.8b579017c615dp-2"),), 0.81),
    ("tan", (float.fromhex("0x1.fe23c93f5c148p+168"),), 0.91),
    ("pow", (float.fromhex("0x1.aa58dc9b1f4c7p+814"), float.fromhex("-0x1.414c63a6d28f4p+0")), 0.76),
    ("exp", (float.fromhex("-0x1.626078e843f42p+9"),), 0.78),
)
LARGEST = 1.7976931348623157e308
BEYOND_F32 = (3.4028234663852886e38, 3.402823466385289e38, 2.0**128, 1e39, 1e300, 1e-38, 1e-45, 1e-46, 2.0**-150)
"""Around the limits of f32, where those of f64 are not."""
EXACT = gmpy2.context(precision=160, emin=-5000, emax=5000)
WIDEST = {
    "exp": (-746, 710), "exp2": (-1076, 1025), "exp10": (-325, 309), "expm1": (-60, 710),
    "sinh": (-711, 711), "cosh": (-711, 711), "tanh": (-22, 22),
}  # fmt: skip
"""Where the results are finite and not flat, for functions that grow fast."""


def arguments(name: str) -> Iterator[F64]:
    """Any bits, the range that matters, numbers near 0 and near 1, large ones, and multiples of pi/2."""
    random = np.random.default_rng(11)
    around_zero = random.uniform(-1, 1, COUNT) * 2.0 ** -random.integers(0, 60, COUNT)
    yield random.integers(0, 2**64, COUNT, dtype=np.uint64).view(np.float64)
    yield random.uniform(*WIDEST.get(name, (-10, 10)), COUNT)
    yield around_zero
    yield 1 + around_zero
    yield random.uniform(-1, 1, COUNT) * 2.0 ** random.integers(0, 1024, COUNT)
    yield random.integers(1, 2**30, COUNT) * (pi / 2)
    yield np.array([0.0, -0.0, inf, -inf, nan, 1.0, -1.0, 5e-324, -5e-324, 2.0**-1022, LARGEST, -LARGEST])
    yield np.array([-side * beyond for side in (1, -1) for beyond in BEYOND_F32])


@pytest.mark.parametrize("name", MPFR)
def test_errors_are_below_the_bound(results: Callable[..., Any], name: str) -> None:
    for x in arguments(name):
        found = results(name, x, dtype=f64).view(np.float64)
        with gmpy2.context(EXACT):
            errors = [error_of(got, MPFR[name](mpfr(float(v)))) for v, got in zip(x, found.tolist(), strict=True)]
        worst = int(np.argmax(errors))
        assert errors[worst] < FUNCTIONS[name].bound, (x[worst], found[worst])


def powers() -> Iterator[tuple[F64, F64]]:
    random = np.random.default_rng(12)
    yield np.exp(random.uniform(-300, 300, COUNT)), random.uniform(-3, 3, COUNT)
    yield np.exp(random.uniform(-3, 3, COUNT)), random.uniform(-250, 250, COUNT)
    yield (
        1 + random.uniform(-1, 1, COUNT) * 2.0 ** -random.integers(1, 50, COUNT),
        random.uniform(-1, 1, COUNT) * 2.0 ** random.integers(0, 55, COUNT),
    )
    yield random.integers(1, 99, COUNT).astype(float), random.integers(-99, 99, COUNT).astype(float)
    yield random.integers(0, 2**63, COUNT, dtype=np.uint64).view(np.float64), random.uniform(-2, 2, COUNT)
    special = np.array(
        [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 1.5, inf, -inf, nan, 5e-324, 1e308, 2.0**53 + 1]
    )
    x, y = np.meshgrid(special, special)
    yield x.ravel(), y.ravel()
    x, y = np.meshgrid([-beyond for beyond in BEYOND_F32], [0.5, -0.5, 1 / 3, 2.5, 1.0, 2.0, 3.0, -3.0, 2.0**53])
    yield x.ravel(), y.ravel()


def points() -> Iterator[tuple[F64, F64]]:
    """Any bits, one scale, any two scales, the ends of the range, quotients near 1."""
    random = np.random.default_rng(13)
    yield tuple(random.integers(0, 2**64, (2, COUNT), dtype=np.uint64).view(np.float64))
    yield tuple(random.uniform(-1, 1, (2, COUNT)))
    for least, most in ((-1074, 1023), (-1074, -900), (900, 1023), (-60, 60)):
        yield tuple(random.uniform(-1, 1, (2, COUNT)) * 2.0 ** random.integers(least, most, (2, COUNT)))
    x = random.uniform(1, 2, COUNT)
    yield x, x * (1 + random.uniform(-1, 1, COUNT) * 2.0 ** -random.integers(1, 52, COUNT))
    special = np.array([0.0, -0.0, 1.0, -1.0, inf, -inf, nan, 5e-324, -5e-324, 2.0**-1022, 1.7976931348623157e308])
    x, y = np.meshgrid(special, special)
    yield x.ravel(), y.ravel()


@pytest.mark.parametrize(("name", "operands"), [("pow", powers), ("hypot", points), ("atan2", points)])
def test_errors_of_pairs_are_below_the_bound(
    results: Callable[..., Any], name: str, operands: Callable[[], Iterator[tuple[F64, F64]]]
) -> None:
    for x, y in operands():
        found = results(name, x, y, dtype=f64).view(np.float64)
        with gmpy2.context(EXACT):
            exact = [BINARY[name].mpfr(mpfr(float(a)), mpfr(float(b))) for a, b in zip(x, y, strict=True)]
            errors = [error_of(got, value) for got, value in zip(found.tolist(), exact, strict=True)]
        worst = int(np.argmax(errors))
        assert errors[worst] < FUNCTIONS[name].bound, (x[worst], y[worst], found[worst])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_compositions_have_no_type_and_no_limit_of_f32(name: str) -> None:
    arity = 2 if name in BINARY else 1
    body = expand(call(f"math.{name}", *(Local(f"x{n}", f64) for n in range(arity))), {})
    nodes = postorder([body])
    assert {node.dtype for node in nodes} <= {f64, u64, i64, u32, i32, bool_}
    numbers = {abs(node.value) for node in nodes if isinstance(node, Literal) and node.dtype is f64}
    limits = np.finfo(np.float32)
    assert not numbers & {float(x) for x in (limits.max, limits.tiny, limits.smallest_subnormal)}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_arguments_with_the_largest_errors_keep_the_bound(name: str) -> None:
    peak = worst.search(name, worst.on("reference", name), points=2**15)
    assert peak.error < FUNCTIONS[name].bound, peak


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_longer_search_for_large_errors_keeps_the_bound(name: str) -> None:
    peak = worst.search(name, worst.on("reference", name), points=2**20, seed=2)
    assert peak.error < FUNCTIONS[name].bound, peak


@pytest.mark.parametrize(("name", "operands", "error"), KNOWN)
def test_errors_that_were_too_large_are_within_the_bound(name: str, operands: tuple[float, ...], error: float) -> None:
    """Arguments at which earlier compositions were off by `error`."""
    (got,) = worst.on("reference", name)(*(np.array([x]) for x in operands))
    assert worst.error_of(name, operands, float(got)) < FUNCTIONS[name].bound < error


def test_a_search_finds_a_peak() -> None:
    """Errors of more than 10 units next to 3, in one of 10**7 arguments, on a slope that leads there."""

    def with_peak(x: F64) -> F64:
        height = 12 / (1 + 30 * np.sqrt(np.abs(x - 3)))
        with np.errstate(over="ignore"):
            return (np.exp(x.astype(np.longdouble)) * (1 + height * np.longdouble(2) ** -52)).astype(np.float64)

    peak = worst.search("exp", with_peak, points=2**15)
    assert peak.error > 10
    assert peak.operands[0] == pytest.approx(3, rel=1e-4)


def error_of(got: float, exact: Any) -> float:
    """In units in the last place of f64; infinite where a special value is not what it must be."""
    if isnan(got) or gmpy2.is_nan(exact):
        return 0.0 if isnan(got) == gmpy2.is_nan(exact) else inf
    if exact == 0 or gmpy2.is_infinite(exact):
        return 0.0 if got == float(exact) and np.signbit(got) == gmpy2.is_signed(exact) else inf
    if isinf(got):
        return 0.0 if abs(exact) >= (2 - mpfr(2) ** -53) * mpfr(2) ** 1023 else inf
    unit = max(int(gmpy2.get_exp(exact)) - 53, -1074)
    return float(abs(mpfr(got) - exact) / mpfr(2) ** unit)


def test_the_measure_of_errors() -> None:
    with gmpy2.context(EXACT):
        assert error_of(1.0, mpfr(1) + mpfr(2) ** -53) == 0.5
        assert error_of(0.0, mpfr(2) ** -1075) == 0.5
        assert error_of(-0.0, mpfr(0)) == inf
        assert error_of(inf, mpfr(2) ** 1024) == 0.0
        assert error_of(inf, mpfr(2) ** 1023) == inf
        assert error_of(1.0, mpfr("nan")) == inf
