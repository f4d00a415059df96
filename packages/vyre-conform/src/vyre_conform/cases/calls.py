"""Every op of every installed dialect, and of the one that random programs call, on all its types: one program per
signature and choice of attributes, one row per operand tuple. A target for which the dialect has a text of its own runs
that text: it has to give what the composition gives.

Elementary functions of binary32 claim to be correctly rounded, so MPFR says what they must give; with a budget they may
be off by no more than that. Of an op that states a reference, that is what it must give. What others must give the
evaluators have to agree on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from random import Random

import vyre_foundation.testing.dialect  # noqa: F401 - there are calls even where no dialect is installed
from vyre_conform.address import address
from vyre_conform.case import AsEvaluated, Exactly, Expected, Launch, Spec, seeded
from vyre_conform.cases.values import pack, pack_bits
from vyre_conform.oracle import precise
from vyre_foundation.attributes import AttrValue
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


@dataclass(frozen=True, slots=True)
class Called:
    """One form of an op: the types of its values, its attributes and its result."""

    row: Composition
    operands: tuple[DType, ...]
    attrs: Mapping[str, AttrValue]
    result: DType


def specs() -> Iterator[Spec]:
    for row in registered_ops():
        for called in _forms(row):
            where = address("calls", row.id, dtype=called.operands[0], **called.attrs)
            yield seeded(where, _call, called, 0)
            if _is_elementary(row, called.operands):
                yield seeded(address("calls", row.id, dtype=f32, budget=BUDGET), _call, called, BUDGET)


def _forms(row: Composition) -> Iterator[Called]:
    """Every signature with every choice; numbers are their default, or 1."""
    names = [schema.name for schema in row.attrs]
    values = [schema.type.choices or (1 if schema.default is None else schema.default,) for schema in row.attrs]
    for signature, result in row.signatures.items():
        for chosen in product(*values):
            operands = signature[: len(signature) - len(names)]
            yield Called(row, operands, dict(zip(names, chosen, strict=True)), result)


def _call(called: Called, budget: int, rng: Random) -> tuple[Launch, Expected]:
    row, operands = called.row, called.operands
    names = [f"x{n}" for n in range(len(operands))]
    with program(f"{row.id}_{operands[0]}", 64) as p:
        sources = [p.read(name, dtype) for name, dtype in zip(names, operands, strict=True)]
        out = p.write("out", called.result, like=sources[0])
        i = p.global_id(0)
        out[i] = call(row.id, *[source[i] for source in sources], **called.attrs)
    rows = _rows(operands, rng)
    columns = zip(operands, zip(*rows, strict=True), strict=True)
    inputs = {name: pack_bits(*column) for name, column in zip(names, columns, strict=True)}
    launch = Launch(program=p.build(), inputs=inputs, ulp_budget=budget)
    return launch, _expected(called, rows, tuple(names))


def _rows(operands: tuple[DType, ...], rng: Random) -> list[tuple[int, ...]]:
    """Patterns: special values, against one another where there are several operands, and random ones."""
    special = [list(special_bits(dtype)) for dtype in operands]
    if len(operands) > 1:
        special = [rng.sample(patterns, min(CROSSED, len(patterns))) for patterns in special]
    crossed = list(product(*special))
    count = max(ROWS // 2, ROWS - len(crossed))
    return crossed + [tuple(random_bits(rng, dtype) for dtype in operands) for _ in range(count)]


def _expected(called: Called, rows: list[tuple[int, ...]], names: tuple[str, ...]) -> Expected:
    reference, operands = called.row.lowerings.reference, called.operands
    if reference is not None:
        given = [[from_bits(t, bits) for t, bits in zip(operands, patterns, strict=True)] for patterns in rows]
        return Exactly((pack(called.result, [reference(*values, **called.attrs) for values in given]),), names)
    if not (_is_elementary(called.row, operands) and precise.HAS_MPFR):
        return AsEvaluated()
    name = called.row.id.removeprefix(ELEMENTARY)
    values = [[float(from_bits(f32, bits)) for bits in patterns] for patterns in rows]
    return Exactly((pack(f32, precise.elementary(name, values)),), names)


def _is_elementary(row: Composition, operands: tuple[DType, ...]) -> bool:
    """Whether it claims to be correctly rounded."""
    name = row.id.removeprefix(ELEMENTARY)
    return name != row.id and name in precise.ELEMENTARY and set(operands) == {f32}
