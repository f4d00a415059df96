"""The facts of a program that a pass has made from a valid one: found again, with nothing checked again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import TypeVar

from vyre_foundation.ir.program import Program
from vyre_foundation.ir.walk import program_expressions
from vyre_foundation.validate.declared import buffer_usage, declared_locals, features, mutable_locals
from vyre_foundation.validate.facts import Facts
from vyre_foundation.validate.ranges import find_ranges
from vyre_foundation.validate.uniformity import Analysis

K = TypeVar("K")
V = TypeVar("V")


class Later(Mapping[K, V]):
    """A mapping that is computed when somebody looks at it."""

    def __init__(self, compute: Callable[[], Mapping[K, V]]) -> None:
        self._table = cache(compute)

    @property
    def now(self) -> Mapping[K, V]:
        return self._table()

    def __getitem__(self, key: K) -> V:
        return self.now[key]

    def __contains__(self, key: object) -> bool:
        return key in self.now

    def __iter__(self) -> Iterator[K]:
        return iter(self.now)

    def __len__(self) -> int:
        return len(self.now)


def facts_after(source: Facts, program: Program) -> Facts:
    """The facts of `program`, which does the same as that of `source`; the same object where it is that.

    What takes time is found when it is needed. Determinism is a fact of what a program does, so it is that of the
    source, and so are the statements that its reasons name. `features` are those of the source until `finish`.
    """
    if program is source.program:
        return source
    nodes = cache(lambda: program_expressions(program))
    return replace(
        source,
        program=program,
        locals=Later(lambda: declared_locals(program.body)),
        mutable=mutable_locals(program.body),
        usage=Later(lambda: buffer_usage(program, nodes())),
        uniformity=Later(lambda: Analysis(program, nodes()).uniformity()),
        ranges=Later(lambda: find_ranges(program, nodes())),
    )


def finish(facts: Facts) -> Facts:
    """The facts with nothing left to be found."""
    return replace(
        facts,
        features=features(facts.program, program_expressions(facts.program)),
        locals=_now(facts.locals),
        usage=_now(facts.usage),
        uniformity=_now(facts.uniformity),
        ranges=_now(facts.ranges),
    )


def _now(table: Mapping[K, V]) -> Mapping[K, V]:
    return table.now if isinstance(table, Later) else table
