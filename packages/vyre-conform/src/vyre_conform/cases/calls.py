"""Every op of every installed dialect, and of the one that random programs call, on all its types.

There is one program per signature and choice of attributes, and one row per operand tuple. A target for which the
dialect has a source of its own runs that: it has to give what the composition gives.

Elementary functions of binary32 claim to be correctly rounded, so MPFR says what they must give; with a budget they may
be off by no more than that. Of an op that states a reference, that is what it must give. What others must give the
evaluators have to agree on. What a dialect says is the same as another op has the same bits.
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
from vyre_foundation.build import Value, call, program
from vyre_foundation.dialects import Composition, Migration, installed_dialects, registered_ops
from vyre_foundation.dialects.attributes import AttrValue, operands_of
from vyre_foundation.dtype import DType, bool_, f32, u8, u16, u32, u64
from vyre_foundation.ops.scalar import from_bits
from vyre_foundation.testing.values import random_bits, special_bits

ROWS = 150
"""Of one case: few, because a composition may be hundreds of ops, and the textbook evaluator takes them one by one."""
CROSSED = 9
"""Special values of an operand that meet those of the others."""
ELEMENTARY = "math."
UNSIGNED = {t.bits: t for t in (u8, u16, u32, u64)}
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
    yield from _migrated()
    for row in registered_ops():
        for called in _forms(row):
            where = address("calls", row.id, dtype=called.operands[0], **called.attrs)
            yield seeded(where, _call, called, 0)
            if _is_elementary(row, called.operands):
                yield seeded(address("calls", row.id, dtype=f32, budget=BUDGET), _call, called, BUDGET)


def _migrated() -> Iterator[Spec]:
    """Steps that say that they keep results, between ops that are both there."""
    rows = {row.id: row for row in registered_ops()}
    for step in [step for dialect in installed_dialects() for step in dialect.migrations]:
        if step.op in rows and step.to in rows and not step.mutation.changes_results:
            for called in _forms(rows[step.op]):
                where = address("calls", step.op, dtype=called.operands[0], **called.attrs, becomes=step.to)
                yield seeded(where, _unchanged, called, step)


def _unchanged(called: Called, step: Migration, rng: Random) -> tuple[Launch, Expected]:
    """The old op beside what it becomes, as bits; the expected bytes are one column of zeros, where they differ."""
    names = [f"x{n}" for n in range(len(called.operands))]
    with program(f"{step.op}_{called.operands[0]}", 64) as p:
        sources = [p.read(name, dtype) for name, dtype in zip(names, called.operands, strict=True)]
        differs = p.write("differs", u32, like=sources[0])
        i = p.global_id(0)
        values = [source[i] for source in sources]
        old = call(step.op, *values, **called.attrs)
        given = [*values, *(Value(operand) for operand in operands_of(called.row.attrs, called.attrs))]
        order = range(len(given)) if step.operands is None else step.operands
        new = call(step.to, *[given[n] for n in order], **dict(step.attrs))
        differs[i] = (_bits(old) != _bits(new)).cast(u32)
    rows = _rows(called.operands, rng)
    columns = zip(called.operands, zip(*rows, strict=True), strict=True)
    inputs = {name: pack_bits(*column) for name, column in zip(names, columns, strict=True)}
    return Launch(program=p.build(), inputs=inputs), Exactly((bytes(4 * len(rows)),), tuple(names))


def _bits(value: Value) -> Value:
    return value if value.dtype is bool_ else value.bitcast(UNSIGNED[value.dtype.bits])


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
    launch = Launch(program=p.build(), inputs=inputs, ulp_budget=budget, entry="budgeted" if budget else "dispatch")
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
