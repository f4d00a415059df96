"""Every op of every installed dialect, and of the one that random programs call, on all its types: one program per
signature, one row per operand tuple.

Elementary functions of binary32 claim to be correctly rounded, so MPFR says what they must give; with a budget they may
be off by no more than that. What others must give the evaluators have to agree on.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from random import Random

import vyre_foundation.testing.dialect  # noqa: F401 - there are calls even where no dialect is installed
from vyre_conform.address import address
from vyre_conform.case import AsEvaluated, Exactly, Expected, Launch, Spec, seeded
from vyre_conform.cases.values import pack, pack_bits
from vyre_conform.oracle import precise
from vyre_foundation.build import call, program
from vyre_foundation.dialect import Composition, registered_ops
from vyre_foundation.dtype import DType, f32
from vyre_foundation.ops.scalar import from_bits
from vyre_foundation.testing.values import random_bits, special_bits

ROWS = 150
"""Of one case: few, because a composition may be hundreds of ops, and the textbook evaluator takes them one by one."""
CROSSED = 9
"""Special values of an operand that meet those of the others."""
ELEMENTARY = "math."
BUDGET = 4
"""Units in the last place, for the cases in which a backend may use its device's own functions."""


def specs() -> Iterator[Spec]:
    for row in registered_ops():
        for operands in row.signatures:
            yield seeded(address("calls", row.id, dtype=operands[0]), _call, row, operands, 0)
            if _is_elementary(row, operands):
                yield seeded(address("calls", row.id, dtype=f32, budget=BUDGET), _call, row, operands, BUDGET)


def _call(row: Composition, operands: tuple[DType, ...], budget: int, rng: Random) -> tuple[Launch, Expected]:
    names = [f"x{n}" for n in range(len(operands))]
    with program(f"{row.id}_{operands[0]}", 64) as p:
        sources = [p.read(name, dtype) for name, dtype in zip(names, operands, strict=True)]
        out = p.write("out", row.signatures[operands], like=sources[0])
        i = p.global_id(0)
        out[i] = call(row.id, *[source[i] for source in sources])
    rows = _rows(operands, rng)
    columns = zip(operands, zip(*rows, strict=True), strict=True)
    inputs = {name: pack_bits(*column) for name, column in zip(names, columns, strict=True)}
    launch = Launch(program=p.build(), inputs=inputs, ulp_budget=budget)
    return launch, _expected(row, operands, rows, tuple(names))


def _rows(operands: tuple[DType, ...], rng: Random) -> list[tuple[int, ...]]:
    """Patterns: special values, against one another where there are several operands, and random ones."""
    special = [list(special_bits(dtype)) for dtype in operands]
    if len(operands) > 1:
        special = [rng.sample(patterns, min(CROSSED, len(patterns))) for patterns in special]
    crossed = list(product(*special))
    count = max(ROWS // 2, ROWS - len(crossed))
    return crossed + [tuple(random_bits(rng, dtype) for dtype in operands) for _ in range(count)]


def _expected(
    row: Composition, operands: tuple[DType, ...], rows: list[tuple[int, ...]], names: tuple[str, ...]
) -> Expected:
    if not (_is_elementary(row, operands) and precise.HAS_MPFR):
        return AsEvaluated()
    name = row.id.removeprefix(ELEMENTARY)
    values = [[float(from_bits(f32, bits)) for bits in patterns] for patterns in rows]
    return Exactly((pack(f32, precise.elementary(name, values)),), names)


def _is_elementary(row: Composition, operands: tuple[DType, ...]) -> bool:
    """Whether it claims to be correctly rounded."""
    name = row.id.removeprefix(ELEMENTARY)
    return name != row.id and name in precise.ELEMENTARY and set(operands) == {f32}
