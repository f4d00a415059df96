"""Functions made of ops: the same bits as their definitions have in NumPy, and vectors component by component."""

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vyre as vy
from vyre_foundation.errors import BuildError, TypeMismatch

BACKENDS = ("cpu", "reference")
FLOATS = np.array([np.nan, -np.inf, -2.5, -1, -0.0, 0, 1e-40, 0.25, 0.5, 0.9999999, 1, 3.75, 1e30, np.inf], np.float32)
INTEGERS = np.array([-(2**31), -(2**31) + 1, -7, -1, 0, 1, 5, 6, 2**31 - 1], np.int32)


def computed(function: Callable[..., Any], *operands: np.ndarray, backend: str) -> np.ndarray:
    with vy.program("p", workgroup_size=64) as p:
        buffers = [p.read(f"x{n}", x.dtype) for n, x in enumerate(operands)]
        out = p.write("out", operands[0].dtype, like=buffers[0])
        i = p.global_id(0)
        out[i] = function(*(buffer[i] for buffer in buffers))
    return vy.run(p.build(), backend=backend, **{f"x{n}": x for n, x in enumerate(operands)})["out"]


def pairs(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    a, b = np.meshgrid(x, x)
    return a.ravel(), b.ravel()


def _min(x: Any, y: Any) -> Any:
    return np.where(np.isnan(x), y, np.where(np.isnan(y), x, np.minimum(x, y)))


def _max(x: Any, y: Any) -> Any:
    return np.where(np.isnan(x), y, np.where(np.isnan(y), x, np.where(x == y, x + y, np.maximum(x, y))))


def _saturate(x: Any) -> Any:
    return _min(_max(x, np.float32(0)), np.float32(1))


def _smoothstep(low: Any, high: Any, x: Any) -> Any:
    t = _saturate((x - low) / (high - low))
    return t * t * (np.float32(3) - np.float32(2) * t)


EXPECTED: dict[str, Callable[..., Any]] = {
    "saturate": _saturate,
    "fract": lambda x: x - np.floor(x),
    "radians": lambda x: x * np.float32(math.pi / 180),
    "degrees": lambda x: x * np.float32(180 / math.pi),
    "step": lambda edge, x: np.where(x < edge, np.float32(0), np.float32(1)),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", EXPECTED)
def test_functions_of_floats_are_their_definitions(name: str, backend: str) -> None:
    operands = pairs(FLOATS) if name == "step" else (FLOATS,)
    with np.errstate(all="ignore"):
        expected = EXPECTED[name](*operands)
    found = computed(getattr(vy, name), *operands, backend=backend)
    assert np.array_equal(found, expected, equal_nan=True)


@pytest.mark.parametrize("backend", BACKENDS)
def test_functions_of_three_floats_are_their_definitions(backend: str) -> None:
    x, y = pairs(FLOATS)
    for t in (0.0, 0.3, 1.0, 1.5):
        with np.errstate(all="ignore"):
            lerped = x * (np.float32(1) - np.float32(t)) + y * np.float32(t)
            smooth = _smoothstep(x, y, np.float32(t))
        found = computed(lambda a, b, t=t: vy.lerp(a, b, t), x, y, backend=backend)
        assert np.array_equal(found, lerped, equal_nan=True)
        found = computed(lambda a, b, t=t: vy.smoothstep(a, b, t), x, y, backend=backend)
        assert np.array_equal(found, smooth, equal_nan=True)
    finite = np.isfinite(FLOATS)
    ends = computed(lambda a: vy.lerp(a, 7.0, 0.0), FLOATS[finite], backend=backend)
    assert np.array_equal(ends, FLOATS[finite]), "exact at the ends"


@pytest.mark.parametrize("backend", BACKENDS)
def test_clamp_is_a_minimum_of_a_maximum(backend: str) -> None:
    found = computed(lambda x: vy.clamp(x, -5, 5), INTEGERS, backend=backend)
    assert np.array_equal(found, np.clip(INTEGERS, -5, 5))
    assert computed(lambda x: vy.clamp(x, 5, -5), INTEGERS, backend=backend).tolist() == [-5] * len(INTEGERS)
    found = computed(lambda x: vy.clamp(x, -1.5, 0.5), FLOATS, backend=backend)
    assert np.array_equal(found, _min(_max(FLOATS, np.float32(-1.5)), np.float32(0.5)))
    assert found[0] == -1.5, "a NaN gives the lower bound"
    narrow = np.arange(256, dtype=np.uint8)
    found = computed(lambda x: vy.clamp(x, 16, 235), narrow, backend=backend)
    assert np.array_equal(found, np.clip(narrow, 16, 235))


def _wrapped(x: int) -> int:
    return (x + 2**31) % 2**32 - 2**31


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("name", "expected", "by_zero"),
    [
        ("floor_div", operator.floordiv, lambda x: x),
        ("floor_mod", operator.mod, lambda x: 0),
        ("ceil_div", lambda x, y: -(-x // y), lambda x: x),
    ],
)
def test_divisions_round_as_python_does(name: str, expected: Any, by_zero: Any, backend: str) -> None:
    """Integers of Python are the oracle, and wrapping for the one quotient that does not fit."""
    x, y = pairs(INTEGERS)
    found = computed(getattr(vy, name), x, y, backend=backend)
    assert found.tolist() == [
        by_zero(a) if b == 0 else _wrapped(expected(a, b)) for a, b in zip(x.tolist(), y.tolist(), strict=True)
    ]
    x, y = pairs(np.arange(7, dtype=np.uint32))
    found = computed(getattr(vy, name), x, y, backend=backend)
    rows = zip(x.tolist(), y.tolist(), strict=True)
    assert found.tolist() == [by_zero(a) if b == 0 else expected(a, b) for a, b in rows]


def test_types_are_refused() -> None:
    with vy.program("p") as p:
        x, k = p.read("x", vy.f32), p.read("k", vy.i32)
        with pytest.raises(TypeMismatch, match=r"lerp takes floats, got i32. Fix: convert"):
            vy.lerp(k[0], 1, 2)
        with pytest.raises(TypeMismatch, match="floor_mod takes integers, got f32"):
            vy.floor_mod(x[0], 2.0)
        with pytest.raises(TypeMismatch, match="clamp takes numbers, got bool"):
            vy.clamp(x[0] > 0, 0, 1)
        with pytest.raises(TypeMismatch, match="got values of f32, i32, expected one type"):
            vy.clamp(x[0], k[0], 1)
        with pytest.raises(BuildError, match="none of the operands has a type"):
            vy.clamp(1, 2, 3)


@vy.kernel
def geometry(x: vy.Array[vy.f32, "n"], y: vy.Array[vy.f32, "n"], out: vy.Out[vy.f32, "n", 9]) -> None:
    i = vy.global_id(1)
    if vy.global_id(0) == 0:
        v, w = vy.vec(x[i], y[i], 2.0), vy.vec(y[i], 1.0, x[i])
        parts = [*vy.cross(v, w), *vy.normalize(v), *vy.clamp(vy.lerp(v, w, 0.5), 0.0, 1.0)]
        for k, part in enumerate(parts):
            out[i, k] = part


@pytest.mark.parametrize("backend", BACKENDS)
def test_functions_of_vectors(backend: str) -> None:
    x, y = np.float32([1, -3, 0.5]), np.float32([2, 4, -7])
    v, w = np.stack([x, y, np.full(3, 2, np.float32)], 1), np.stack([y, np.ones(3, np.float32), x], 1)
    found = geometry.on(backend)(x, y)
    assert np.array_equal(found[:, :3], np.cross(v, w))
    squares = v[:, 0] * v[:, 0] + v[:, 1] * v[:, 1] + v[:, 2] * v[:, 2]
    assert np.array_equal(found[:, 3:6], v / np.sqrt(squares)[:, None])
    half = np.float32(0.5)
    assert np.array_equal(found[:, 6:], np.clip(v * half + w * half, 0, 1))


def test_operands_that_are_no_vectors_of_one_size() -> None:
    @vy.kernel
    def flat(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        return vy.length(x[vy.index()])

    @vy.kernel
    def sizes(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        v = x[vy.index()]
        return vy.max(vy.vec(v, v), vy.vec(v, v, v)).x

    @vy.kernel
    def crossed(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        v = x[vy.index()]
        return vy.cross(vy.vec(v, v), vy.vec(v, v)).x

    for kernel, match in (
        (flat, r"operand of length, expected a vector[\s\S]*Fix: make vectors with vy.vec"),
        (sizes, r"vectors of 2 and 3 components[\s\S]*Fix: use vectors of one size"),
        (crossed, r"vectors of 2 and 2 components[\s\S]*Fix: pass vectors of three"),
    ):
        with pytest.raises(vy.KernelError, match=match):
            _ = kernel.program
