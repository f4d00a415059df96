"""Coverage: of all kinds of nodes that the language has, those that a run has executed.

The kinds follow from the tables of the language, so a new op, type or memory is missing here until a case executes it.
What counts is what the textbook evaluator executed, not what stands in a program.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from vyre_foundation.dtype import DTYPES, INTEGERS, NUMBERS, DType, bool_, i32, i64, u32, u64
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.expr import IdKind
from vyre_foundation.ir.stmt import AtomicOp, Scope, SubgroupOp
from vyre_foundation.ops import OPS, Tier

Kind = tuple[str, ...]
ATOMIC = (u32, i32, u64, i64)
SHARED = (Memory.STORAGE, Memory.WORKGROUP, Memory.SCRATCH, Memory.PERSISTENT)
"""Memory that atomics work on."""


@dataclass(frozen=True, slots=True)
class CoverageRow:
    """One family of nodes: how many kinds there are, how many were executed, how often, and which were not."""

    family: str
    kinds: int
    executed: int
    times: int
    missing: tuple[Kind, ...]


def table(coverage: Mapping[Kind, int]) -> list[CoverageRow]:
    """A row for each family."""
    return [_row(family, kinds, coverage) for family, kinds in families().items()]


def _row(family: str, kinds: Collection[Kind], coverage: Mapping[Kind, int]) -> CoverageRow:
    missing = tuple(sorted(kind for kind in kinds if not coverage.get(kind)))
    times = sum(coverage.get(kind, 0) for kind in kinds)
    return CoverageRow(family, len(kinds), len(kinds) - len(missing), times, missing)


def families() -> dict[str, frozenset[Kind]]:
    """All kinds of nodes by family, from the tables of the language."""
    found = {
        "ops": ((op.id, t.name) for op in OPS.values() if op.tier is Tier.LANGUAGE for t in op.accepts),
        "casts": ((s.name, t.name) for s in DTYPES for t in DTYPES),
        "bitcasts": ((s.name, t.name) for s in DTYPES for t in DTYPES if s.bits == t.bits and bool_ not in (s, t)),
        "loads": ((t.name, m.value) for t in DTYPES for m in Memory),
        "atomics": ((op.value, t.name, m.value) for op in AtomicOp for t in ATOMIC for m in SHARED),
        "subgroup ops": ((op.value, t.name) for op in SubgroupOp for t in _types_of(op)),
        "barriers": ((scope.value,) for scope in Scope),
        "ids": ((kind.value,) for kind in IdKind),
        "selects": ((t.name,) for t in DTYPES),
        "locals": ((t.name,) for t in DTYPES),
    }
    names = dict(zip(found, _NODES, strict=True))
    rows = {family: frozenset((names[family], *rest) for rest in kinds) for family, kinds in found.items()}
    return {"statements": frozenset((name,) for name in STATEMENTS), **rows}


_NODES = ("apply", "cast", "bitcast", "load", "atomic", "subgroup", "barrier", "id", "select", "local")
STATEMENTS = ("let", "var", "assign", "store", "if", "for", "region", "break", "continue", "return", "trap")
"""Statements without types of their own; an indirect dispatch is the host's, and no invocation executes it."""


def _types_of(op: SubgroupOp) -> Iterable[DType]:
    if op.combine in ("and", "or", "xor"):
        return INTEGERS
    if op.combine is not None:
        return NUMBERS
    return DTYPES if op.takes_lane else (bool_,)


def summed_up(rows: Iterable[CoverageRow]) -> str:
    """One line about all families."""
    found = list(rows)
    each = ", ".join(f"{row.family} {row.executed}/{row.kinds}" for row in found)
    kinds, executed = sum(row.kinds for row in found), sum(row.executed for row in found)
    return f"{executed:,} of {kinds:,} kinds of nodes executed by the textbook evaluator: {each}"


def in_words(rows: Iterable[CoverageRow]) -> Iterator[str]:
    """A line for each family, with all that was not executed."""
    for row in rows:
        missing = ", ".join(".".join(kind[1:]) or kind[0] for kind in row.missing)
        rest = f"; not executed: {missing}" if row.missing else ""
        yield f"{row.family}: {row.executed:,} of {row.kinds:,}, {row.times:,} executions{rest}"
