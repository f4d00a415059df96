"""NumPy's opinion of a program whose outputs are each one op over whole inputs: ``out[i] = op(x[i], y[i], …)``.

The formulas are written for arrays and share nothing with the op table. Where NumPy does not have an op, or rounds it
twice, it has no opinion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from vyre_conform.case import Launch
from vyre_conform.oracle.precise import HAS_MPFR, fused_multiply_add
from vyre_foundation.dtype import DType, bf16, bool_, f16, f32
from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Expr, Id, IdKind, Load, Select
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Store

Array: TypeAlias = "npt.NDArray[Any]"


def array_opinion(launch: Launch) -> dict[str, bytes]:
    """The outputs that NumPy can compute, by name; none for a program of another form."""
    roots = _pointwise(launch.program)
    if roots is None or launch.grid is not None or launch.iterations != 1:
        return {}
    if any(b.name not in launch.inputs or len(launch.inputs[b.name]) % b.dtype.size for b in launch.program.inputs):
        return {}
    arrays = {b.name: np.frombuffer(launch.inputs[b.name], b.dtype.numpy) for b in launch.program.inputs}
    if len({len(a) for a in arrays.values()}) != 1:
        return {}
    arrays = {name: a.view(np.uint8) != 0 if a.dtype == np.bool_ else a for name, a in arrays.items()}
    with np.errstate(all="ignore"):
        results = {b: _value(roots[b.name], arrays) for b in launch.program.outputs}
        return {b.name: _bytes(b.dtype, values) for b, values in results.items() if values is not None}


def _pointwise(program: Program) -> dict[str, Expr] | None:
    """What every output is given at the invocation's own index, if that is all the program does."""
    stores = [s for s in program.body if isinstance(s, Store)]
    if len(stores) != len(program.body) or {s.buffer for s in stores} != set(program.outputs):
        return None
    own = Id(IdKind.GLOBAL_ID, 0)
    return {s.buffer.name: s.value for s in stores} if all(s.index is own for s in stores) else None


def _value(root: Expr, arrays: Mapping[str, Array]) -> Array | None:
    """The value of an op, cast or select over loads, or None."""
    operands = [_load(a, arrays) for a in root.args]
    if any(o is None for o in operands):
        return None
    values: list[Array] = [o for o in operands if o is not None]
    match root:
        case Load():
            return _load(root, arrays)
        case Select():
            return np.where(values[0], values[1], values[2])
        case Bitcast(dtype, _):
            return _canonical(root.args[0].dtype, values[0]).view(dtype.numpy)
        case Cast(dtype, value):
            return _cast(value.dtype, dtype, values[0])
        case Apply(op, args):
            formula = FORMULAS.get(op.id)
            return formula(args[0].dtype, *values) if formula else None
    return None


def _load(node: Expr, arrays: Mapping[str, Array]) -> Array | None:
    is_own = isinstance(node, Load) and node.index is Id(IdKind.GLOBAL_ID, 0)
    return arrays[node.buffer.name] if is_own and isinstance(node, Load) else None


def _bytes(dtype: DType, values: Array) -> bytes:
    return _canonical(dtype, values.astype(dtype.numpy, copy=True)).tobytes()


def _canonical(dtype: DType, values: Array) -> Array:
    """Floats with one NaN."""
    if not dtype.is_float:
        return values
    bits = values.view(dtype.unsigned.numpy).copy()
    bits[np.isnan(values)] = dtype.nan_bits
    return bits.view(dtype.numpy)


# ── casts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _cast(source: DType, target: DType, x: Array) -> Array | None:
    if target is bool_:
        return np.not_equal(x, 0)
    if source.is_float and target.is_integer:
        return _saturated(target, x.astype(np.float64))
    if target is bf16 and source not in (f32, f16, bf16, bool_) and source.bits > 8:
        return None  # by way of f32: two roundings
    return x.astype(target.numpy)


def _saturated(target: DType, x: Array) -> Array:
    exact = np.nan_to_num(np.trunc(x), nan=0.0, posinf=np.inf, neginf=-np.inf)
    low, high = exact < float(target.lowest), exact >= 2.0 ** (target.bits - target.is_signed)
    inside = np.where(low | high, 0.0, exact).astype(target.numpy)
    return np.where(low, target.lowest, np.where(high, np.array(target.highest, target.numpy), inside)).astype(
        target.numpy
    )


# ── ops ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _unsigned(t: DType, x: Array) -> Array:
    return x.view(t.unsigned.numpy)


def _div(t: DType, x: Array, y: Array) -> Array:
    if t.is_float:
        return np.divide(x, y)
    if not t.is_signed:
        return np.where(y == 0, x, x // np.where(y == 0, np.array(1, x.dtype), y))
    negative = (x < 0) != (y < 0)
    ux, uy = _unsigned(t, np.abs(x)), _unsigned(t, np.abs(y))  # |MIN| wraps to itself, which is right as unsigned
    quotient = (ux // np.where(uy == 0, np.array(1, ux.dtype), uy)).view(x.dtype)
    return np.where(y == 0, x, np.where(negative, -quotient, quotient))


def _rem(t: DType, x: Array, y: Array) -> Array:
    return np.where(y == 0, np.array(0, x.dtype), x - _div(t, x, y) * y)


def _wide(t: DType, x: Array, y: Array, op: Callable[[Any, Any], Any]) -> Array:
    """An op over Python's integers."""
    return np.array([op(int(a), int(b)) for a, b in zip(x, y, strict=True)], dtype=object)


def _clamped(t: DType, values: Array) -> Array:
    return np.array([min(max(v, t.lowest), t.highest) for v in values], t.numpy)


def _wrapped(t: DType, values: Array) -> Array:
    return np.array([v % 2**t.bits for v in values], t.unsigned.numpy).view(t.numpy)


def _extreme(t: DType, x: Array, y: Array, sign: int) -> Array:
    """The lesser (sign 1) or the greater (sign -1)."""
    if not t.is_float:
        return np.minimum(x, y) if sign == 1 else np.maximum(x, y)
    x_first = (x < y) if sign == 1 else (x > y)
    ties = np.where(np.signbit(x) == (sign == 1), x, y)
    number = np.where(x == y, ties, np.where(x_first, x, y))
    return np.where(np.isnan(x), y, np.where(np.isnan(y), x, number))


def _count(t: DType, y: Array) -> Array:
    """Shift counts modulo the width."""
    return np.asarray(np.bitwise_and(_unsigned(t, y), np.array(t.bits - 1, t.unsigned.numpy)))


def _rotl(t: DType, x: Array, count: Array) -> Array:
    u = _unsigned(t, x)
    back = (t.bits - count) % t.bits
    return np.where(count == 0, u, (u << count) | (u >> back.astype(u.dtype))).view(x.dtype)


def _bits(t: DType, x: Array) -> Array:
    """One row per element, the highest bit first."""
    places = np.arange(t.bits - 1, -1, -1).astype(t.unsigned.numpy)
    return np.asarray(np.bitwise_and(_unsigned(t, x)[:, None] >> places, np.array(1, t.unsigned.numpy)))


def _leading(bits: Array) -> Array:
    return np.asarray(np.where(np.any(bits, axis=1), np.argmax(bits, axis=1), bits.shape[1]))


def _reversed(t: DType, x: Array) -> Array:
    weights = np.array([1 << n for n in range(t.bits)], t.unsigned.numpy)
    return np.asarray(np.sum(_bits(t, x) * weights, axis=1, dtype=t.unsigned.numpy)).view(x.dtype)


def _ieee(op: Callable[..., Any]) -> Callable[..., Array]:
    return lambda t, *xs: op(*xs)


def _via_double(op: Callable[..., Any]) -> Callable[..., Array]:
    """For ufuncs that ml_dtypes lacks: exact in f64, so nothing is lost."""
    return lambda t, x: op(x.astype(np.float64)).astype(t.numpy)


def _copysign(t: DType, x: Array, y: Array) -> Array:
    positive = np.abs(x)
    return np.where(np.signbit(y) & ~np.isnan(y), -positive, positive)


def _fma(t: DType, x: Array, y: Array, z: Array) -> Array | None:
    """f32 by way of f64: the product is exact there, and a sum that is rounded to odd rounds to f32 as if it were."""
    if t is not f32:
        return np.array(fused_multiply_add(x.tolist(), y.tolist(), z.tolist())) if HAS_MPFR else None
    product, addend = x.astype(np.float64) * y, z.astype(np.float64)
    total = product + addend
    shifted = total - product
    error = (product - (total - shifted)) + (addend - shifted)
    inexact = np.isfinite(total) & (error != 0) & (total.view(np.uint64) & np.uint64(1) == 0)
    towards = np.where(error > 0, np.inf, -np.inf)
    return np.asarray(np.where(inexact, np.nextafter(total, towards), total).astype(np.float32))


def _compare(op: Callable[..., Any]) -> Callable[..., Array]:
    return lambda t, x, y: op(x, y)


# fmt: off
FORMULAS: Mapping[str, Callable[..., Array | None]] = {
    "add":       _ieee(np.add),
    "sub":       _ieee(np.subtract),
    "mul":       _ieee(np.multiply),
    "div":       _div,
    "rem":       _rem,
    "neg":       _ieee(np.negative),
    "abs":       _ieee(np.abs),
    "abs_diff":  lambda t, x, y: _wrapped(t.unsigned, _wide(t, x, y, lambda a, b: abs(a - b))),
    "mul_high":  lambda t, x, y: _wrapped(t, _wide(t, x, y, lambda a, b: a * b >> t.bits)),
    "add_sat":   lambda t, x, y: _clamped(t, _wide(t, x, y, lambda a, b: a + b)),
    "sub_sat":   lambda t, x, y: _clamped(t, _wide(t, x, y, lambda a, b: a - b)),
    "mul_sat":   lambda t, x, y: _clamped(t, _wide(t, x, y, lambda a, b: a * b)),
    "min":       lambda t, x, y: _extreme(t, x, y, 1),
    "max":       lambda t, x, y: _extreme(t, x, y, -1),
    "sqrt":      _ieee(np.sqrt),
    "fma":       _fma,
    "sign":      lambda t, x: np.where(np.isnan(x) | (x == 0), x, np.where(x < 0, -1, 1).astype(t.numpy)),
    "copysign":  _copysign,
    "and":       _ieee(np.bitwise_and),
    "or":        _ieee(np.bitwise_or),
    "xor":       _ieee(np.bitwise_xor),
    "not":       _ieee(np.invert),
    "shl":       lambda t, x, y: (_unsigned(t, x) << _count(t, y)).view(x.dtype),
    "shr":       lambda t, x, y: x >> _count(t, y).view(x.dtype),
    "rotl":      lambda t, x, y: _rotl(t, x, _count(t, y)),
    "rotr":      lambda t, x, y: _rotl(t, x, (t.bits - _count(t, y)) % t.bits),
    "popcount":  lambda t, x: _bits(t, x).sum(axis=1),
    "clz":       lambda t, x: _leading(_bits(t, x)),
    "ctz":       lambda t, x: _leading(_bits(t, x)[:, ::-1]),
    "reverse_bits": _reversed,
    "eq":        _compare(np.equal),
    "ne":        _compare(np.not_equal),
    "lt":        _compare(np.less),
    "le":        _compare(np.less_equal),
    "gt":        _compare(np.greater),
    "ge":        _compare(np.greater_equal),
    "is_nan":    _ieee(np.isnan),
    "is_inf":    _ieee(np.isinf),
    "is_finite": _ieee(np.isfinite),
    "floor":     _via_double(np.floor),
    "ceil":      _via_double(np.ceil),
    "trunc":     _via_double(np.trunc),
    "round":     _via_double(np.rint),
}
# fmt: on
