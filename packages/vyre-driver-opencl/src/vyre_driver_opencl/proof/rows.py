"""Which spellings a device executes exactly: every candidate runs over boundary values and is judged by the op table.

One kernel holds one line for each row to prove, so a compiler that does not know a word names the row by its line. A
row whose candidate does not compile, or gives one wrong bit, goes on to its next candidate; a row without one left is
not proven. Usually the first program decides everything.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from vyre_driver.tune.patterns import CASES, patterns
from vyre_driver_opencl.compiler import BuildFailed
from vyre_driver_opencl.proof.bench import ProbeDevice, words
from vyre_driver_opencl.spelling import TYPES
from vyre_foundation.dtype import DType, bool_
from vyre_foundation.ops.scalar import Scalar, from_bits, to_bits

KeyT = TypeVar("KeyT", bound=Hashable)


@dataclass(frozen=True, slots=True)
class SpellingCandidates(Generic[KeyT]):
    """`candidates` are templates over ``{0}`` … of type `operand`, best first; `meaning` gives the exact result.

    `fits` tells for which operands there is a result at all, where that is not for all of them.
    """

    key: KeyT
    operand: DType
    arity: int
    result: DType
    candidates: tuple[str, ...]
    meaning: Callable[..., Scalar]
    fits: Callable[..., bool] = lambda *operands: True


def prove(bench: ProbeDevice, rows: Iterable[SpellingCandidates[KeyT]]) -> dict[KeyT, str]:
    """The first candidate of each row that the device executes exactly, for the rows that have one."""
    return _prove(bench, {row: row.candidates for row in rows})


def examine(
    bench: ProbeDevice, rows: Iterable[SpellingCandidates[KeyT]]
) -> dict[SpellingCandidates[KeyT], tuple[str, ...]]:
    """Give what is wrong with the candidates of each row, "" where one is exact.

    All candidates up to `SEVERAL` are tested, and further ones until one is exact.
    """
    found: dict[SpellingCandidates[KeyT], tuple[str, ...]] = dict.fromkeys(rows, ())
    for number in range(max((len(row.candidates) for row in found), default=0)):
        left = [row for row, findings in found.items() if number < SEVERAL or "" not in findings]
        todo = {row: row.candidates[number] for row in left if number < len(row.candidates)}
        for row, finding in _judged(bench, todo).items():
            found[row] += (finding,)
    return found


SEVERAL = 2
REFUSED = "the compiler refuses it"


def _judged(bench: ProbeDevice, chosen: Mapping[SpellingCandidates[KeyT], str]) -> dict[SpellingCandidates[KeyT], str]:
    """The finding of each row. Rows that do not compile are taken out, by their lines or else by halves."""
    if not chosen:
        return {}
    try:
        return _findings(bench, chosen)
    except BuildFailed as failure:
        refused = _rows_at(failure.lines, bench.prelude, chosen) or (set(chosen) if len(chosen) == 1 else set())
    if not refused:
        rows, half = list(chosen.items()), len(chosen) // 2
        return _judged(bench, dict(rows[:half])) | _judged(bench, dict(rows[half:]))
    rest = {row: text for row, text in chosen.items() if row not in refused}
    return dict.fromkeys(refused, REFUSED) | _judged(bench, rest)


def _prove(bench: ProbeDevice, todo: Mapping[SpellingCandidates[KeyT], tuple[str, ...]]) -> dict[KeyT, str]:
    """`todo` holds the candidates that each row has left. A refusal that names no row is looked for by halves."""
    todo = {row: candidates for row, candidates in todo.items() if candidates}
    if not todo:
        return {}
    chosen = {row: candidates[0] for row, candidates in todo.items()}
    try:
        exact = _exact(bench, chosen)
        wrong = chosen.keys() - exact
    except BuildFailed as failure:
        exact, wrong = set(), _rows_at(failure.lines, bench.prelude, chosen)
        if not wrong and len(todo) > 1:
            rows, half = list(todo.items()), len(todo) // 2
            return _prove(bench, dict(rows[:half])) | _prove(bench, dict(rows[half:]))
        wrong = wrong or set(chosen)
    left = {row: rest[1:] if row in wrong else rest for row, rest in todo.items() if row not in exact}
    return {row.key: chosen[row] for row in exact} | _prove(bench, left)


def _exact(bench: ProbeDevice, chosen: Mapping[SpellingCandidates[KeyT], str]) -> set[SpellingCandidates[KeyT]]:
    """The rows that are exact as spelled."""
    return {row for row, finding in _findings(bench, chosen).items() if not finding}


def _findings(
    bench: ProbeDevice, chosen: Mapping[SpellingCandidates[KeyT], str]
) -> dict[SpellingCandidates[KeyT], str]:
    """The first wrong result of each row in words, "" for those that are exact as spelled."""
    types = _by_tag(row.operand for row in chosen)
    by_result = {t: [row for row in chosen if row.result is t] for t in _by_tag(row.result for row in chosen)}
    results = {t: np.zeros((len(rows), CASES), f"u{t.size}") for t, rows in by_result.items()}
    operands = [words(t, patterns(t)) for t in types]
    bench.run(_text(bench.prelude, chosen, types, by_result), list(results.values()), operands, lanes=CASES)
    return {
        row: _finding(row, bits)
        for t, rows in by_result.items()
        for row, bits in zip(rows, results[t].tolist(), strict=True)
    }


def _by_tag(types: Iterable[DType]) -> list[DType]:
    return sorted(set(types), key=lambda t: t.tag)


def _text(
    prelude: str,
    chosen: Mapping[SpellingCandidates[KeyT], str],
    types: list[DType],
    by_result: Mapping[DType, list[SpellingCandidates[KeyT]]],
) -> str:
    outputs = [f"__global {_memory(t)} *out_{t}" for t in by_result]
    inputs = [f"__global const {_memory(t)} *in_{t}" for t in types]
    places = {row: number for rows in by_result.values() for number, row in enumerate(rows)}
    lines = [_line(number, row, template, places[row]) for number, (row, template) in enumerate(chosen.items())]
    head = f"__kernel void prove({', '.join(outputs + inputs)}) {{ uint i = get_global_id(0);"
    return "\n".join([prelude + head, *lines, "}\n"])


_STRIDES = ((1, 0), (7, 3), (13, 5))
"""Which pattern is which operand of case i: odd strides pair all with many others."""


def _memory(t: DType) -> str:
    return "uchar" if t is bool_ else TYPES[t]


def _line(number: int, row: SpellingCandidates[KeyT], template: str, place: int) -> str:
    """Store the result as legalized programs do, with the one NaN: a compiler may believe that a root is no NaN."""
    name = TYPES[row.operand]
    operands = [f"{letter}{number}" for letter in "xyz"[: row.arity]]
    declared = " ".join(
        f"{name} {operand} = in_{row.operand}[(i * {step} + {start}) % {CASES}];"
        for operand, (step, start) in zip(operands, _STRIDES, strict=False)
    )
    result, t = f"r{number}", row.result
    nan = f"({result} != {result}) ? as_{TYPES[t]}(({TYPES[t.unsigned]}){t.nan_bits}ul) : " if t.is_float else ""
    computed = f"{TYPES[t]} {result} = {template.format(*operands)};"
    return f"{declared} {computed} out_{t}[{place} * {CASES} + i] = {nan}{result};"


def _rows_at(
    lines: tuple[int, ...], prelude: str, chosen: Mapping[SpellingCandidates[KeyT], str]
) -> set[SpellingCandidates[KeyT]]:
    """The rows that stand in these lines of the text, counted from 1."""
    first = prelude.count("\n") + 2
    return {row for number, row in enumerate(chosen, first) if number in lines}


def _finding(row: SpellingCandidates[KeyT], result: list[int]) -> str:
    values = [from_bits(row.operand, pattern) for pattern in patterns(row.operand)]
    mask = (1 << row.result.bits) - 1
    for i, bits in enumerate(result):
        operands = [values[(i * step + start) % CASES] for step, start in _STRIDES[: row.arity]]
        if row.fits(*operands) and bits & mask != (right := to_bits(row.result, row.meaning(*operands))):
            given = ", ".join(f"{to_bits(row.operand, value):#x}" for value in operands)
            return f"gives {bits & mask:#x} for {given}, not {right:#x}"
    return ""
