"""Literals: every special value of every type, and every op over literals, which compilers fold on the host."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product, repeat
from random import Random

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Size, Spec, fixed, seeded
from vyre_conform.cases.buckets import POOLS, pool_of, rows_of
from vyre_conform.cases.values import by_needs, pack
from vyre_foundation.build import Value, apply, program
from vyre_foundation.dtype import DTYPES, DType, f32, i32, i64, u32
from vyre_foundation.ir.expr import Apply, Cast, Expr, Literal
from vyre_foundation.ops import OPS, Op, Tier
from vyre_foundation.ops.scalar import Scalar, cast, from_bits, to_bits
from vyre_foundation.testing.values import special_bits


def specs() -> Iterator[Spec]:
    for dtype in DTYPES:
        yield seeded(address("literals", "value", dtype=dtype), _values, dtype)
    for op in OPS.values():
        if op.tier is Tier.LANGUAGE:
            for at, types in by_needs(address("literals", "op", op=op.id), op.accepts).items():
                yield seeded(at, _folded, op, types)
        if op.tier is Tier.LANGUAGE and op.arity > 1:
            for dtype in op.accepts:
                size = Size.CI if dtype in (i32, i64, f32) else Size.FULL
                yield seeded(address("literals", "operand", op=op.id, dtype=dtype), _operand, op, dtype, size=size)
    for dtype in DTYPES:
        for at, sources in by_needs(address("literals", "cast", target=dtype), DTYPES, [dtype]).items():
            yield seeded(at, _folded_casts, dtype, sources)
    for number in (1, 2, 3):
        yield fixed(address("literals", "cached", number=number), _cached, number)


def _observable(dtype: DType, bits: int) -> Literal:
    """The literal of a pattern; only the canonical NaN is one."""
    return Literal(dtype, to_bits(dtype, from_bits(dtype, bits)))


def _stored(name: str, dtype: DType, values: list[Expr]) -> Launch:
    """A program that stores each value at its own index."""
    with program(name, 1) as p:
        out = p.write("out", dtype, len(values))
        for n, value in enumerate(values):
            out[n] = Value(value)
    return Launch(program=p.build(), inputs={}, grid=(1, 1, 1))


def _values(dtype: DType, rng: Random) -> tuple[Launch, Expected]:
    literals = [_observable(dtype, bits) for bits in special_bits(dtype)[:96]]
    launch = _stored(f"literals_{dtype}", dtype, list(literals))
    return launch, Exactly((pack(dtype, [literal.value for literal in literals]),))


def _folded(op: Op, types: list[DType], rng: Random) -> tuple[Launch, Expected]:
    """Five rows of every operand type; one output per result type."""
    results = list(dict.fromkeys(op.results[dtype] for dtype in types))
    rows: dict[DType, list[tuple[Apply, bytes]]] = {result: [] for result in results}
    for dtype in types:
        pools = [name for name in POOLS if pool_of(name, dtype)]
        for row in [rng.choice(rows_of(bucket, [dtype] * op.arity, rng)) for bucket in rng.choices(pools, k=5)]:
            literals = [_observable(dtype, bits) for bits in row]
            value = op.evaluate(dtype, *[literal.value for literal in literals])
            rows[op.results[dtype]].append((Apply(op, *literals), pack(op.results[dtype], [value])))
    with program(f"folded_{op.id}", 1) as p:
        for result in results:
            out = p.write(f"out_{result}", result, len(rows[result]))
            for n, (node, _) in enumerate(rows[result]):
                out[n] = Value(node)
    outputs = tuple(b"".join(data for _, data in rows[result]) for result in results)
    return Launch(program=p.build(), inputs={}, grid=(1, 1, 1)), Exactly(outputs)


def _operand(op: Op, dtype: DType, rng: Random) -> tuple[Launch, Expected]:
    """Special values beside a literal at an end of the type, which compilers simplify.

    There is one output for each literal and place.
    """
    special = special_bits(dtype)
    columns = [[_observable(dtype, bits).value for bits in rng.sample(special, len(special))] for _ in range(op.arity)]
    names = ("x", "y", "z")[: op.arity]
    outputs: list[bytes] = []
    with program(f"operand_{op.id}_{dtype}", 16) as p:
        arrays = [p.read(name, dtype) for name in names]
        i = p.let(p.global_id(0))
        for place, constant in product(range(op.arity), _ends(dtype)):
            operands = [array[i] for array in arrays]
            operands[place] = Value(constant)
            p.write(f"out_{len(outputs)}", op.results[dtype], like=arrays[0])[i] = apply(op, *operands)
            rows = zip(*columns[:place], repeat(constant.value), *columns[place + 1 :])
            outputs.append(pack(op.results[dtype], [op.evaluate(dtype, *row) for row in rows]))
    inputs = {name: pack(dtype, column) for name, column in zip(names, columns, strict=True)}
    return Launch(program=p.build(), inputs=inputs), Exactly(tuple(outputs), names)


def _ends(dtype: DType) -> list[Literal]:
    """Zeros, ones, the ends of the type, and what is next to them."""
    if dtype.is_float:
        values: list[Scalar] = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, float("inf"), float("-inf"), float("nan")]
    else:
        values = [0, 1, dtype.highest, dtype.lowest, dtype.highest - 1, dtype.lowest + 1, dtype.bits - 1, dtype.bits]
        values += [-1, -2] if dtype.is_signed else []
    return [Literal(dtype, bits) for bits in dict.fromkeys(to_bits(dtype, value) for value in values)]


def _folded_casts(target: DType, sources: list[DType], rng: Random) -> tuple[Launch, Expected]:
    literals = [
        _observable(source, bits)
        for source in sources
        for bits in rng.sample(special_bits(source), min(2, source.bits))
    ]
    launch = _stored(f"folded_cast_{target}", target, [Cast(target, literal) for literal in literals])
    return launch, Exactly((pack(target, [cast(x.dtype, target, x.value) for x in literals]),))


def _cached(number: int) -> tuple[Launch, Expected]:
    """Three programs that differ in one literal: code that is kept for one of them is not the others'."""
    with program("cached", 8) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        out[p.global_id(0)] = x[p.global_id(0)] * 10 + number
    launch = Launch(program=p.build(), inputs={"x": pack(u32, range(20))})
    return launch, Exactly((pack(u32, [n * 10 + number for n in range(20)]),), ("x",))
