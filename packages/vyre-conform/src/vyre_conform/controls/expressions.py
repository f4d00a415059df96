"""Faults of expressions: what a compiler gets wrong when it spells an op, a cast, a load or an id."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from functools import partial

from vyre_conform.controls.evaluated import of_expressions
from vyre_conform.controls.fault import Fault, Layer
from vyre_foundation.dtype import DType, bf16, f16, f32, f64, i32, i64, u16, u32, u64
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Expr, Id, IdKind, Length, Load, Select, literal
from vyre_foundation.ops import OPS

Rule = Callable[[Expr], Expr]


def op(id: str, *args: Expr) -> Expr:
    return Apply(OPS[id], *args)


def number(like: Expr, value: float) -> Expr:
    return literal(like.dtype, value if like.dtype.is_float else int(value))


def instead_of(ids: str, change: Callable[..., Expr], when: Callable[[DType], bool] = lambda t: True) -> Rule:
    """A rule that replaces some ops by what `change` makes of the right node."""
    wrong = frozenset(ids.split())

    def rule(node: Expr) -> Expr:
        if isinstance(node, Apply) and node.op.id in wrong and when(node.args[0].dtype):
            return change(node)
        return node

    return rule


def signed(t: DType) -> bool:
    return t.is_signed


def integer(t: DType) -> bool:
    return t.is_integer


def inside(buffer: Buffer, index: Expr) -> Expr:
    """Whether an index is in bounds."""
    below = op("lt", Cast(u64, index), Cast(u64, Length(buffer)))
    return op("and", op("ge", index, number(index, 0)), below) if index.dtype.is_signed else below


def clamped(buffer: Buffer, index: Expr, otherwise: Expr) -> Expr:
    """The index, or `otherwise` (u64) where it is out of bounds."""
    return Select(inside(buffer, index), Cast(u64, index), otherwise)


def last(buffer: Buffer) -> Expr:
    """The index of the last element."""
    return op("sub", Cast(u64, Length(buffer)), literal(u64, 1))


def _load_first(node: Expr) -> Expr:
    if isinstance(node, Load):
        return Load(node.buffer, clamped(node.buffer, node.index, literal(u64, 0)))
    return node


def _load_last(node: Expr) -> Expr:
    return Load(node.buffer, clamped(node.buffer, node.index, last(node.buffer))) if isinstance(node, Load) else node


def _narrow_index(node: Expr) -> Expr:
    if isinstance(node, Load) and node.index.dtype.bits == 64:
        return Load(node.buffer, Cast(u32, node.index))
    return node


def _unsigned_index(node: Expr) -> Expr:
    """A negative index of a narrow type is read as a large one."""
    if isinstance(node, Load) and node.index.dtype.is_signed:
        return Load(node.buffer, Bitcast(node.index.dtype.unsigned, node.index))
    return node


def _as_unsigned(node: Expr) -> Expr:
    """The same op on the unsigned type."""
    assert isinstance(node, Apply)
    t = node.args[0].dtype
    result = Apply(node.op, *[Bitcast(t.unsigned, a) for a in node.args])
    return Bitcast(t, result) if result.dtype is not node.dtype else result


def _unmasked(node: Expr) -> Expr:
    x, count = node.args
    wide = Bitcast(count.dtype.unsigned, count) if count.dtype.is_signed else count
    return Select(op("lt", wide, number(wide, count.dtype.bits)), node, number(x, 0))


def _zero_where_zero(node: Expr) -> Expr:
    return Select(op("eq", node.args[1], number(node.args[1], 0)), number(node, 0), node)


def _min_by_minus_one(node: Expr) -> Expr:
    x, y = node.args
    both = op("and", op("eq", x, number(x, x.dtype.lowest)), op("eq", y, number(y, -1)))
    return Select(both, number(x, x.dtype.highest), node)


def _half_away(node: Expr) -> Expr:
    (x,) = node.args
    return op("copysign", op("floor", op("add", op("abs", x), number(x, 0.5))), x)


def _with_nan(node: Expr) -> Expr:
    x, y = node.args
    return Select(op("or", op("is_nan", x), op("is_nan", y)), number(x, math.nan), node)


def _min_first_zero(node: Expr) -> Expr:
    """Zeros compare equal, so the first of them is taken."""
    x, y = node.args
    return Select(op("eq", x, y), x, node)


def _unfused(node: Expr) -> Expr:
    x, y, z = node.args
    return op("add", op("mul", x, y), z)


def _fused(node: Expr) -> Expr:
    match node:
        case Apply(added, (Apply(times, (x, y)), z)) if (
            added.id == "add" and times.id == "mul" and x.dtype in (f32, f64)
        ):
            return op("fma", x, y, z)
    return node


def _flushed(node: Expr) -> Expr:
    t = node.dtype
    assert t.format is not None
    tiny = op("lt", op("abs", node), number(node, 2.0**t.format.emin))
    return Select(tiny, op("copysign", number(node, 0.0), node), node)


def _reciprocal(node: Expr) -> Expr:
    x, y = node.args
    return op("mul", x, op("div", number(x, 1.0), y))


def _cast_rule(change: Callable[[DType, Expr], Expr | None]) -> Rule:
    """A rule for casts; None leaves the cast as it is."""

    def rule(node: Expr) -> Expr:
        changed = change(node.dtype, node.args[0]) if isinstance(node, Cast) else None
        return node if changed is None else changed

    return rule


def _wrapping_cast(target: DType, x: Expr) -> Expr | None:
    narrow = target.is_integer and target.bits < 64 and x.dtype.is_float
    return Cast(target, Cast(i64, x)) if narrow else None


def _nan_to_lowest(target: DType, x: Expr) -> Expr | None:
    if not (target is i32 and x.dtype.is_float):
        return None
    return Select(op("is_nan", x), literal(i32, i32.lowest), Cast(i32, x))


def _truncated_bf16(target: DType, x: Expr) -> Expr | None:
    if not (target is bf16 and x.dtype is f32):
        return None
    return Bitcast(bf16, Cast(u16, op("shr", Bitcast(u32, x), literal(u32, 16))))


def _rounded_twice(target: DType, x: Expr) -> Expr | None:
    twice = target in (f16, bf16) and x.dtype in (f64, i64, u64, i32, u32)
    return Cast(target, Cast(f32, x)) if twice else None


def _sign_lost(target: DType, x: Expr) -> Expr | None:
    widened = x.dtype.is_signed and target.is_integer and target.bits > x.dtype.bits
    return Cast(target, Bitcast(x.dtype.unsigned, x)) if widened else None


def _not_a_bool(target: DType, x: Expr) -> Expr | None:
    """A float becomes a bool by way of an integer."""
    return op("ne", Cast(i32, x), literal(i32, 0)) if target.name == "bool" and x.dtype.is_float else None


def _swapped_axes(node: Expr) -> Expr:
    if isinstance(node, Id) and node.axis and node.kind is not IdKind.NUM_WORKGROUPS:
        return Id(node.kind, 3 - node.axis)
    return node


def _length_in_bytes(node: Expr) -> Expr:
    if isinstance(node, Length) and node.buffer.dtype.size > 1:
        return op("mul", node, literal(u32, node.buffer.dtype.size))
    return node


def _through_32_bits(node: Expr) -> Expr:
    return Cast(u64, Cast(u32, node))


def _excess_precision(node: Expr) -> Expr:
    """Half-precision sums of products without the rounding between."""
    match node:
        case Apply(added, (x, Apply(times, (y, z)))) if (
            added.id == "add" and times.id == "mul" and y.dtype in (f16, bf16)
        ):
            product = op("mul", Cast(f32, y), Cast(f32, z))
            return Cast(node.dtype, op("add", Cast(f32, x), product))
    return node


def of_type(*types: DType) -> Callable[[DType], bool]:
    chosen: Collection[DType] = types
    return lambda t: t in chosen


def floating(t: DType) -> bool:
    return t.is_float


_fault = partial(Fault, Layer.COMPILER)

# fmt: off
FAULTS = (
    _fault("load-first", "a load out of bounds gives the first element",
          of_expressions(_load_first), "memory:*"),
    _fault("load-last", "a load out of bounds gives the last element",
          of_expressions(_load_last), "memory:*"),
    _fault("index-32-bits", "an index of 64 bits is cut to 32",
          of_expressions(_narrow_index), "memory:gather:*"),
    _fault("index-unsigned", "a negative index is taken for a large one",
          of_expressions(_unsigned_index), "memory:gather_long memory:gather*:*"),
    _fault("shr-logical", "shr of a signed type fills with zeros",
          of_expressions(instead_of("shr", _as_unsigned, signed)), "ops:shr:dtype=i8"),
    _fault("shift-unmasked", "a shift by the width or more gives 0",
          of_expressions(instead_of("shl shr", _unmasked)), "ops:sh*"),
    _fault("div-zero", "an integer divided by 0 gives 0",
          of_expressions(instead_of("div", _zero_where_zero, integer)), "ops:div"),
    _fault("div-overflow", "MIN / -1 gives MAX",
          of_expressions(instead_of("div", _min_by_minus_one, signed)), "ops:div:dtype=i8"),
    _fault("rem-unsigned", "rem of a signed type is that of the unsigned one",
          of_expressions(instead_of("rem", _as_unsigned, signed)), "ops:rem:dtype=i8"),
    _fault("compare-unsigned", "signed integers compare as unsigned",
          of_expressions(instead_of("lt le gt ge", _as_unsigned, signed)), "ops:lt:dtype=i8"),
    _fault("min-unsigned", "min and max of signed types are unsigned",
          of_expressions(instead_of("min max", _as_unsigned, signed)), "ops:min:dtype=i8,* ops:m*"),
    _fault("mul-high-unsigned", "mul_high of a signed type is unsigned",
          of_expressions(instead_of("mul_high", _as_unsigned, signed)), "ops:mul_high:dtype=i8"),
    _fault("saturation-lost", "add_sat wraps",
          of_expressions(instead_of("add_sat", lambda n: op("add", *n.args))), "ops:add_sat"),
    _fault("u64-truncated", "u64 sums keep 32 bits",
          of_expressions(instead_of("add sub", _through_32_bits, of_type(u64))), "ops:add"),
    _fault("round-half-away", "ties round away from zero",
          of_expressions(instead_of("round", _half_away)), "ops:round"),
    _fault("min-nan", "min and max propagate a NaN",
          of_expressions(instead_of("min max", _with_nan, floating)), "ops:min:dtype=f16,* ops:m*"),
    _fault("min-zeros", "min and max do not tell -0 from +0",
          of_expressions(instead_of("min max", _min_first_zero, floating)), "ops:min:dtype=f16,* ops:m*"),
    _fault("fma-unfused", "fma rounds twice",
          of_expressions(instead_of("fma", _unfused)), "ops:fma"),
    _fault("contraction", "x * y + z is fused",
          of_expressions(_fused), "floats:contraction"),
    _fault("excess-precision", "half-precision products are not rounded before a sum",
          of_expressions(_excess_precision), "programs:tiled_matmul"),
    _fault("flush", "subnormal results are flushed to zero",
          of_expressions(instead_of("add sub mul div", _flushed, of_type(f32))), "ops:add:dtype=f32"),
    _fault("flush-f16", "subnormal results of f16 are flushed to zero",
          of_expressions(instead_of("add sub mul div", _flushed, of_type(f16))), "ops:add:dtype=f16"),
    _fault("reciprocal", "x / y is x * (1 / y)",
          of_expressions(instead_of("div", _reciprocal, of_type(f32))), "ops:div:dtype=f32"),
    _fault("neg-subtracts", "-x is 0 - x",
          of_expressions(instead_of("neg", lambda n: op("sub", number(n, 0.0), *n.args), floating)),
          "ops:neg:dtype=f16"),
    _fault("cast-wraps", "a float out of range wraps as an integer",
          of_expressions(_cast_rule(_wrapping_cast)), "casts:cast:source=f16"),
    _fault("cast-nan", "NaN becomes the lowest integer",
          of_expressions(_cast_rule(_nan_to_lowest)), "casts:cast:source=f16"),
    _fault("bf16-truncates", "f32 to bf16 cuts the bits off",
          of_expressions(_cast_rule(_truncated_bf16)), "casts:cast:source=f32"),
    _fault("double-rounding", "casts to 16-bit floats go by way of f32",
          of_expressions(_cast_rule(_rounded_twice)), "casts:cast:source=u32"),
    _fault("zero-extension", "signed integers are widened with zeros",
          of_expressions(_cast_rule(_sign_lost)), "casts:cast:source=i8"),
    _fault("bool-of-float", "a float between 0 and 1 is cast to false",
          of_expressions(_cast_rule(_not_a_bool)), "casts:cast:source=f16"),
    _fault("axes-swapped", "y and z of an id are swapped",
          of_expressions(_swapped_axes), "ids:*"),
    _fault("length-in-bytes", "a length counts bytes",
          of_expressions(_length_in_bytes), "memory:lengths"),
)
# fmt: on
