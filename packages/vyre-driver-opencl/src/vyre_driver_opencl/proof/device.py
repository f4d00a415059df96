"""What is shown of a device: about a hundred rows in one program if all are wanted, and a few kernels of their own.

A process that finds everything that it needs in the store imports nothing of this.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Set as AbstractSet
from dataclasses import replace
from functools import partial
from typing import Any

from vyre_driver.errors import BackendUnavailable
from vyre_driver.tune.candidate import TunedVariant, Variant
from vyre_driver_opencl.needs import Group, Need, RowKey
from vyre_driver_opencl.probe import Proven, Reported, assumed
from vyre_driver_opencl.proof.atomics import prove_atomics, prove_stores
from vyre_driver_opencl.proof.bench import ProbeDevice
from vyre_driver_opencl.proof.pointers import prove_pointers
from vyre_driver_opencl.proof.rows import SpellingCandidates, examine, prove
from vyre_driver_opencl.proof.subgroups import prove_collectives, prove_sizes
from vyre_driver_opencl.spelling import (
    BIT_OPS,
    FLOAT_OPS,
    INTEGER_OPS,
    INTEGERS,
    OTHER_INTRINSICS,
    cast_text,
    float_casts,
)  # fmt: skip
from vyre_foundation.dtype import DType, bool_, f32
from vyre_foundation.ops import OPS
from vyre_foundation.ops.scalar import Scalar, cast, round_float

UNCONTRACTED = "uncontracted"
"""The row of no op: a product and a sum in one expression are two roundings."""
ESSENTIAL = (UNCONTRACTED, "add", "sub", "mul", "neg", "eq", "ne", "lt", "le", "gt", "ge")
"""What a float type must prove to be one. Everything else can be made of it."""


def prove_device(
    backend: str, bench: ProbeDevice, reported: Reported, known: Proven, wanted: AbstractSet[Need]
) -> Proven:
    """`known`, after proofs of everything in `wanted` that it does not show yet.

    A float type needs all of `ESSENTIAL`; what fails that is no type of this device. `BackendUnavailable` for a device
    that cannot do f32.
    """
    rows = {row.key: row for row in (*_op_rows(reported.floats), *_cast_rows(reported.floats))}
    types = {t for need in wanted for t in (need if isinstance(need, tuple) else (need,)) if t in reported.floats}
    todo = (wanted | types | {(op, t) for t in types for op in ESSENTIAL}) - known.shown
    asked = [row for key, row in rows.items() if key in todo]
    exact = prove(bench, asked)
    known = _with_rows(backend, known, {row.key: exact.get(row.key) for row in asked})
    if Group.ATOMICS in todo:
        atomics = prove_atomics(bench, known.atomics)
        known = replace(known, atomics=atomics, atomic_stores=prove_stores(bench, known.atomic_stores))
    if Group.SUBGROUPS in todo:
        sizes = prove_sizes(bench, known.subgroup_sizes)
        collectives = prove_collectives(bench, min(sizes), known.collectives) if sizes else {}
        known = replace(known, subgroup_sizes=sizes, collectives=collectives)
    if Group.POINTERS in todo:
        known = replace(known, plain_pointers=prove_pointers(bench))
    return replace(known, shown=known.shown | todo)


def examine_device(backend: str, bench: ProbeDevice, reported: Reported, wanted: AbstractSet[Need]) -> Proven:
    """Everything in `wanted` is proven, and every candidate judged, not the first exact one of each row alone."""
    rows = [*_op_rows(reported.floats), *_cast_rows(reported.floats)]
    examined = examine(bench, [*rows, *_other_rows()])
    exact = _first_exact(examined)
    found = _with_rows(backend, assumed(reported), {row.key: exact.get(row.key) for row in rows})
    found = replace(found, shown=frozenset([*(row.key for row in rows), *reported.floats]))
    proven = prove_device(backend, bench, reported, found, wanted)
    return replace(proven, candidates=_candidates(examined, {bool_, *INTEGERS, *proven.floats}))


def _with_rows(backend: str, known: Proven, judged: Mapping[RowKey, str | None]) -> Proven:
    """`known` with the texts that were found exact; None removes a row, and an essential one its type."""
    refuted = {t for (op, t), text in judged.items() if text is None and op in ESSENTIAL}
    if f32 in refuted:
        missing = ", ".join(op for op in ESSENTIAL if judged.get((op, f32), "") is None)
        reason = f"the device does not compute f32 exactly (not shown: {missing})"
        raise BackendUnavailable(backend, reason, fix="choose another device or backend")

    def judged_rows(table: Mapping[Any, str]) -> dict[Any, str]:
        texts = ((key, judged.get(key, text)) for key, text in table.items() if not refuted & {*key})
        return {key: text for key, text in texts if text is not None}

    return replace(
        known,
        floats=tuple(t for t in known.floats if t not in refuted),
        ops=judged_rows(known.ops),
        casts=judged_rows(known.casts),
        collectives={key: text for key, text in known.collectives.items() if key[1] not in refuted},
    )


NEVER_COMPOSED = (*ESSENTIAL, "div", "sqrt", "fma")
"""Ops that compositions are made of, and those whose composition is so long that it need not be timed."""


def _first_exact(examined: Mapping[SpellingCandidates[RowKey], tuple[str, ...]]) -> dict[RowKey, str]:
    """The table's own choice for each row that has an exact candidate. Other spellings are never the first choice."""
    shown: dict[RowKey, str] = {}
    for row, findings in examined.items():
        exact = [text for text, wrong in zip(row.candidates, findings, strict=False) if not wrong]
        op, t = row.key
        is_other = isinstance(op, str) and OTHER_INTRINSICS.get(t, {}).get((op, t)) == row.candidates
        if exact and not is_other:
            shown[row.key] = exact[0]
    return shown


def _candidates(
    examined: Mapping[SpellingCandidates[RowKey], tuple[str, ...]], types: Collection[DType]
) -> tuple[TunedVariant, ...]:
    """Every spelling of every op, with the table's own choice chosen, and the compositions."""
    found: list[TunedVariant] = []
    own = _first_exact(examined)
    for row, findings in examined.items():
        op, t = row.key
        if not isinstance(op, str) or op == UNCONTRACTED or t not in types:
            continue
        operator = INTEGER_OPS.get((op, t))
        chosen = own.get(row.key, operator)
        if operator is not None:
            found.append(TunedVariant(Variant(op, t, operator), is_chosen=True))
        for text, wrong in zip(row.candidates, findings, strict=False):
            found.append(TunedVariant(Variant(op, t, text), wrong, is_chosen=text == chosen))
        if op not in NEVER_COMPOSED and operator is None:
            found.append(TunedVariant(Variant(op, t, None), is_chosen=chosen is None))
    return tuple(found)


def _op_rows(floats: tuple[DType, ...]) -> Iterator[SpellingCandidates[RowKey]]:
    for t, table in [*((t, BIT_OPS[t]) for t in INTEGERS), *((t, FLOAT_OPS[t]) for t in floats)]:
        for (op, _), candidates in table.items():
            row = OPS[op]
            yield SpellingCandidates((op, t), t, row.arity, row.results[t], candidates, partial(row.evaluate, t))
    for t in floats:
        yield SpellingCandidates((UNCONTRACTED, t), t, 3, t, ("({0} * {1} + {2})",), partial(_product_and_sum, t))


def _other_rows() -> Iterator[SpellingCandidates[RowKey]]:
    """Words that only a measurement brings in."""
    for t in INTEGERS:
        for (op, _), candidates in OTHER_INTRINSICS[t].items():
            row = OPS[op]
            yield SpellingCandidates((op, t), t, row.arity, row.results[t], candidates, partial(row.evaluate, t))


def _cast_rows(floats: tuple[DType, ...]) -> Iterator[SpellingCandidates[RowKey]]:
    return (_cast_row(source, target) for source, target in float_casts(floats))


def _cast_row(source: DType, target: DType) -> SpellingCandidates[RowKey]:
    meaning = partial(cast, source, target)
    if source.is_float and target.is_integer:
        return SpellingCandidates(
            (source, target), source, 1, target, (cast_text(target),), meaning, partial(_fits, target)
        )
    return SpellingCandidates((source, target), source, 1, target, (cast_text(target),), meaning)


def _product_and_sum(t: DType, x: float, y: float, z: float) -> Scalar:
    return round_float(t, round_float(t, x * y) + z)


def _fits(target: DType, value: float) -> bool:
    return target.lowest - 1 < value < target.highest + 1
