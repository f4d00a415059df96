"""Every op of the table on every type: one program per pair, one row per operand tuple."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, seeded
from vyre_conform.cases.values import operand_rows, pack, pack_bits
from vyre_foundation.build import apply, program, select
from vyre_foundation.dtype import DTYPES, DType, bool_
from vyre_foundation.ops import OPS, Op, Tier
from vyre_foundation.ops.scalar import from_bits
from vyre_foundation.testing.values import random_bits

NAMES = ("x", "y", "z")


def specs() -> Iterator[Spec]:
    for op in OPS.values():
        if op.tier is Tier.LANGUAGE:
            for dtype in op.accepts:
                yield seeded(address("ops", op.id, dtype=dtype), _op, op, dtype)
    for dtype in DTYPES:
        yield seeded(address("ops", "select", dtype=dtype), _select, dtype)


def _op(op: Op, dtype: DType, rng: Random) -> tuple[Launch, Expected]:
    result = op.results[dtype]
    with program(f"{op.id}_{dtype}", 64) as p:
        operands = [p.read(name, dtype) for name in NAMES[: op.arity]]
        out = p.write("out", result, like=operands[0])
        i = p.global_id(0)
        out[i] = apply(op, *[operand[i] for operand in operands])
    rows = operand_rows(op, dtype, rng)
    inputs = {name: pack_bits(dtype, column) for name, column in zip(NAMES, zip(*rows, strict=True), strict=False)}
    expected = pack(result, (op.evaluate(dtype, *[from_bits(dtype, bits) for bits in row]) for row in rows))
    return Launch(program=p.build(), inputs=inputs), Exactly((expected,), NAMES[: op.arity])


def _select(dtype: DType, rng: Random) -> tuple[Launch, Expected]:
    with program(f"select_{dtype}", 64) as p:
        condition, x, y = p.read("c", bool_), p.read("x", dtype), p.read("y", dtype)
        out = p.write("out", dtype, like=x)
        i = p.global_id(0)
        out[i] = select(condition[i], x[i], y[i])
    count = 301
    chosen = [rng.choice((0, 1, 2, 255)) for _ in range(count)]
    xs, ys = ([random_bits(rng, dtype) for _ in range(count)] for _ in "xy")
    inputs = {"c": bytes(chosen), "x": pack_bits(dtype, xs), "y": pack_bits(dtype, ys)}
    picked = (from_bits(dtype, x if c else y) for c, x, y in zip(chosen, xs, ys, strict=True))
    return Launch(program=p.build(), inputs=inputs), Exactly((pack(dtype, picked),), ("c", "x", "y"))
