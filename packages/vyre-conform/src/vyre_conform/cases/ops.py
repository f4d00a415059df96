"""Every op of the table on every type: one program for each pair.

Values of all buckets go through one launch; sizes around the workgroup's, and grids and workgroups that the caller
chooses, are launches of their own.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from random import Random

from vyre_conform.address import Address, address
from vyre_conform.case import Exactly, Expected, Launch, OutputSlice, Size, Spec, Work, seeded
from vyre_conform.cases.buckets import Row, buckets_of, pack_rows, rows_of
from vyre_conform.cases.values import pack, pack_bits
from vyre_foundation.build import apply, program, select
from vyre_foundation.dtype import DTYPES, DType, bool_
from vyre_foundation.ir.program import Program
from vyre_foundation.ops import OPS, Op, Tier
from vyre_foundation.ops.scalar import from_bits, to_bits
from vyre_foundation.testing.values import random_bits

NAMES = ("x", "y", "z")
GROUP = 64
SIZES = (0, 1, GROUP - 1, GROUP, GROUP + 1, 3 * GROUP + 8)
ROWS = 2 * GROUP + 9
"""Of a launch whose grid or workgroup the caller chooses."""
GRIDS = {"fewer": (2, 1, 1), "exact": (3, 1, 1), "more": (5, 1, 1)}
WORKGROUPS = {"single": (1, 1, 1), "odd": (7, 1, 1), "double": (2 * GROUP, 1, 1)}
LANGUAGE = tuple(op for op in OPS.values() if op.tier is Tier.LANGUAGE)


def specs() -> Iterator[Spec]:
    for op in LANGUAGE:
        for dtype in op.accepts:
            at = address("ops", op.id, dtype=dtype)
            parts = tuple(address("ops", op.id, dtype=dtype, values=bucket) for bucket in _buckets(op, dtype))
            yield replace(seeded(at, _values, op, dtype), parts=parts)
            yield from _launches(op, dtype)
    for dtype in DTYPES:
        yield seeded(address("ops", "select", dtype=dtype), _select, dtype)
    yield from _exhaustive()


def _launches(op: Op, dtype: DType) -> Iterator[Spec]:
    """The smallest run has one size and one way to launch of each pair, chosen by its name."""
    chosen = zlib.crc32(f"{op.id} {dtype}".encode())
    for n, count in enumerate(SIZES):
        size = Size.CI if n == chosen % len(SIZES) else Size.FULL
        yield seeded(address("ops", op.id, dtype=dtype, n=count), _sized, op, dtype, count, size=size)
    for n, name in enumerate((*GRIDS, *WORKGROUPS)):
        size = Size.CI if n == chosen // 8 % (3 * len(GRIDS)) else Size.FULL
        yield seeded(address("ops", op.id, dtype=dtype, launch=name), _launched, op, dtype, name, size=size)


def pointwise(op: Op, dtype: DType) -> Program:
    """``out[i] = op(x[i], …)``."""
    with program(f"{op.id}_{dtype}", GROUP) as p:
        operands = [p.read(name, dtype) for name in NAMES[: op.arity]]
        out = p.write("out", op.results[dtype], like=operands[0])
        i = p.global_id(0)
        out[i] = apply(op, *[operand[i] for operand in operands])
    return p.build()


def _worked_out(op: Op, dtype: DType, rows: Sequence[Row]) -> tuple[Launch, Exactly]:
    inputs = dict(zip(NAMES, pack_rows([dtype] * op.arity, rows), strict=False)) if rows else {}
    inputs = {name: inputs.get(name, b"") for name in NAMES[: op.arity]}
    values = (op.evaluate(dtype, *[from_bits(dtype, bits) for bits in row]) for row in rows)
    expected = Exactly((pack(op.results[dtype], values),), NAMES[: op.arity])
    return Launch(program=pointwise(op, dtype), inputs=inputs), expected


def _buckets(op: Op, dtype: DType) -> tuple[str, ...]:
    witnesses = ("witnesses",) if any(w.dtype is dtype for w in op.witnesses) else ()
    return (*witnesses, *buckets_of(dtype, op.arity))


def _values(op: Op, dtype: DType, rng: Random) -> Work:
    """One run of rows for each bucket."""
    rows: list[Row] = []
    parts = []
    for bucket in _buckets(op, dtype):
        start = len(rows)
        rows += witnesses(op, dtype) if bucket == "witnesses" else rows_of(bucket, [dtype] * op.arity, rng)
        parts.append(OutputSlice(address("ops", op.id, dtype=dtype, values=bucket), range(start, len(rows))))
    launch, expected = _worked_out(op, dtype, rows)
    return launch, expected, *tuple(parts)


def witnesses(op: Op, dtype: DType) -> list[Row]:
    """The rows that are written in the op table."""
    return [tuple(to_bits(dtype, v) for v in w.operands) for w in op.witnesses if w.dtype is dtype]


def _drawn(op: Op, dtype: DType, count: int, rng: Random) -> list[Row]:
    return [tuple(random_bits(rng, dtype) for _ in range(op.arity)) for _ in range(count)]


def _sized(op: Op, dtype: DType, count: int, rng: Random) -> tuple[Launch, Expected]:
    return _worked_out(op, dtype, _drawn(op, dtype, count, rng))


def _launched(op: Op, dtype: DType, name: str, rng: Random) -> tuple[Launch, Expected]:
    """What no invocation computes stays zero; those beyond the end do nothing."""
    launch, expected = _worked_out(op, dtype, _drawn(op, dtype, ROWS, rng))
    launch = replace(launch, grid=GRIDS.get(name), workgroup=WORKGROUPS.get(name))
    if name != "fewer":
        return launch, expected
    (data,) = expected.outputs
    size = op.results[dtype].size
    done = data[: 2 * GROUP * size]
    return launch, replace(expected, outputs=(done + bytes(len(data) - len(done)),))


def _select(dtype: DType, rng: Random) -> tuple[Launch, Expected]:
    with program(f"select_{dtype}", GROUP) as p:
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


# ── all values of narrow types ───────────────────────────────────────────────────────────────────────────────────────


def _exhaustive() -> Iterator[Spec]:
    """All operands of 8 bits, one and two; all single operands of 16 bits. A cell for each high byte, or operand."""
    for op in LANGUAGE:
        for dtype in op.accepts:
            if dtype.bits * op.arity == 16:
                parts = tuple(_sixteenth(op, dtype, n) for n in range(16))
                yield replace(seeded(_all(op, dtype), _every, op, dtype, size=Size.FULL), parts=parts)
            elif dtype.bits == 8 and op.arity == 1:
                yield seeded(_all(op, dtype), _every, op, dtype)


def _all(op: Op, dtype: DType) -> Address:
    return address("ops", op.id, dtype=dtype, all="rows")


def _sixteenth(op: Op, dtype: DType, n: int) -> Address:
    """The rows whose highest four bits are `n`."""
    return address("ops", op.id, dtype=dtype, all=f"{n:x}…")


def _every(op: Op, dtype: DType, rng: Random) -> Work:
    rows: list[Row] = list(product(range(1 << dtype.bits), repeat=op.arity))
    step = len(rows) // 16
    parts = [OutputSlice(_sixteenth(op, dtype, n), range(n * step, (n + 1) * step)) for n in range(16)]
    launch, expected = _worked_out(op, dtype, rows)
    return launch, expected, *tuple(parts)
