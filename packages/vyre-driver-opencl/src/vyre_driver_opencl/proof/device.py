"""All that is shown of a device, by about a hundred rows in one program and a few kernels of their own.

Most processes find it in the store: nothing of this is imported then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import partial

from vyre_driver.errors import BackendUnavailable
from vyre_driver.tune.candidate import Candidate, Variant
from vyre_driver_opencl.probe import Proven, Reported
from vyre_driver_opencl.proof.atomics import prove_atomics
from vyre_driver_opencl.proof.bench import Bench
from vyre_driver_opencl.proof.pointers import prove_pointers
from vyre_driver_opencl.proof.rows import Row, examine, prove
from vyre_driver_opencl.proof.subgroups import prove_collectives, prove_sizes
from vyre_driver_opencl.spelling import (
    ATOMICS,
    BIT_OPS,
    FLOAT_OPS,
    INTEGER_OPS,
    INTEGERS,
    OTHER_WORDS,
    SUBGROUP_SIZES,
    SUBGROUPS,
    cast_text,
)  # fmt: skip
from vyre_foundation.dtype import DType, bool_, f32
from vyre_foundation.ops import OPS
from vyre_foundation.ops.scalar import Scalar, cast, round_float

UNCONTRACTED = "uncontracted"
"""The row of no op: a product and a sum in one expression are two roundings."""
ESSENTIAL = (UNCONTRACTED, "add", "sub", "mul", "neg", "eq", "ne", "lt", "le", "gt", "ge")
"""What a float type must prove to be one. Everything else can be made of it."""

ProofKey = tuple[str | DType, DType]
"""(op, operand type) or (type, type to convert to)."""


def prove_device(backend: str, bench: Bench, reported: Reported, *, thorough: bool = False) -> Proven:
    """Run the proofs: about a hundred rows in one program. `BackendUnavailable` for a device that can not do f32.

    `thorough`: prove every candidate, not each row's first exact one alone, and say what is wrong with the others.
    """
    rows = [*_op_rows(reported.floats), *_cast_rows(reported.floats)]
    examined = examine(bench, [*rows, *_other_rows()]) if thorough else {}
    shown = _first_exact(examined) if thorough else prove(bench, rows)
    floats = tuple(t for t in reported.floats if all((op, t) in shown for op in ESSENTIAL))
    if f32 not in floats:
        missing = ", ".join(op for op in ESSENTIAL if (op, f32) not in shown)
        reason = f"the device does not compute f32 exactly (not shown: {missing})"
        raise BackendUnavailable(backend, reason, fix="choose another device or backend")
    types = {bool_, *INTEGERS, *floats}
    sizes = prove_sizes(bench, SUBGROUP_SIZES) if reported.subgroups else frozenset()
    collectives = {key: text for key, text in SUBGROUPS.items() if key[1] in types and sizes}
    return Proven(
        floats=floats,
        candidates=_candidates(examined, types),
        ops={(a, t): text for (a, t), text in shown.items() if isinstance(a, str) and t in types and a != UNCONTRACTED},
        casts={(a, b): text for (a, b), text in shown.items() if isinstance(a, DType) and {a, b} <= types},
        atomics=prove_atomics(bench, {k: s for k, s in ATOMICS.items() if k[1].bits == 32 or reported.atomic64}),
        subgroup_sizes=sizes,
        collectives=prove_collectives(bench, min(sizes), collectives) if sizes else {},
        plain_pointers=reported.is_cpu and prove_pointers(bench),
    )


NEVER_COMPOSED = (*ESSENTIAL, "div", "sqrt", "fma")
"""Ops that compositions are made of, and those whose composition is so long that it need not be timed."""


def _first_exact(examined: Mapping[Row[ProofKey], tuple[str, ...]]) -> dict[ProofKey, str]:
    """The table's own choice for each row that has an exact candidate. Other words are nobody's first choice."""
    shown: dict[ProofKey, str] = {}
    for row, findings in examined.items():
        exact = [text for text, wrong in zip(row.candidates, findings, strict=False) if not wrong]
        op, t = row.key
        is_other = isinstance(op, str) and OTHER_WORDS.get(t, {}).get((op, t)) == row.candidates
        if exact and not is_other:
            shown[row.key] = exact[0]
    return shown


def _candidates(examined: Mapping[Row[ProofKey], tuple[str, ...]], types: Collection[DType]) -> tuple[Candidate, ...]:
    """Every spelling of every op, with the table's own choice chosen, and the compositions."""
    found: list[Candidate] = []
    own = _first_exact(examined)
    for row, findings in examined.items():
        op, t = row.key
        if not isinstance(op, str) or op == UNCONTRACTED or t not in types:
            continue
        operator = INTEGER_OPS.get((op, t))
        chosen = own.get(row.key, operator)
        if operator is not None:
            found.append(Candidate(Variant(op, t, operator), is_chosen=True))
        for text, wrong in zip(row.candidates, findings, strict=False):
            found.append(Candidate(Variant(op, t, text), wrong, is_chosen=text == chosen))
        if op not in NEVER_COMPOSED and operator is None:
            found.append(Candidate(Variant(op, t, None), is_chosen=chosen is None))
    return tuple(found)


def _op_rows(floats: tuple[DType, ...]) -> Iterator[Row[ProofKey]]:
    for t, table in [*((t, BIT_OPS[t]) for t in INTEGERS), *((t, FLOAT_OPS[t]) for t in floats)]:
        for (op, _), candidates in table.items():
            row = OPS[op]
            yield Row((op, t), t, row.arity, row.results[t], candidates, partial(row.evaluate, t))
    for t in floats:
        yield Row((UNCONTRACTED, t), t, 3, t, ("({0} * {1} + {2})",), partial(_product_and_sum, t))


def _other_rows() -> Iterator[Row[ProofKey]]:
    """Words that only a measurement brings in."""
    for t in INTEGERS:
        for (op, _), candidates in OTHER_WORDS[t].items():
            row = OPS[op]
            yield Row((op, t), t, row.arity, row.results[t], candidates, partial(row.evaluate, t))


def _cast_rows(floats: tuple[DType, ...]) -> Iterator[Row[ProofKey]]:
    """All conversions that touch a float; those between integers are the language's own."""
    for t in floats:
        for other in (*INTEGERS, *floats):
            if other is not t:
                yield _cast_row(t, other)
        for integer in INTEGERS:
            yield _cast_row(integer, t)
        yield _cast_row(t, bool_)


def _cast_row(source: DType, target: DType) -> Row[ProofKey]:
    meaning = partial(cast, source, target)
    if source.is_float and target.is_integer:
        return Row((source, target), source, 1, target, (cast_text(target),), meaning, partial(_fits, target))
    return Row((source, target), source, 1, target, (cast_text(target),), meaning)


def _product_and_sum(t: DType, x: float, y: float, z: float) -> Scalar:
    return round_float(t, round_float(t, x * y) + z)


def _fits(target: DType, value: float) -> bool:
    return target.lowest - 1 < value < target.highest + 1
