"""The corpus: every group of cases, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache

from vyre_conform.address import ALL, Query
from vyre_conform.case import Size, Spec
from vyre_conform.cases import (
    algorithms,
    atomics,
    barriers,
    calls,
    casts,
    control,
    corpus,
    entries,
    floats,
    grid,
    guards,
    ids,
    indirect,
    iterations,
    launches,
    laws,
    literals,
    loops,
    memory,
    names,
    ops,
    places,
    recurrences,
    refusals,
    sessions,
    subgroups,
    temptations,
    traps,
)
from vyre_conform.cases.programs import specs as programs

Group = Callable[[], Iterator[Spec]]

# fmt: off
GROUPS: dict[str, Group] = {
    "ops":        ops.specs,
    "casts":      casts.specs,
    "calls":      calls.specs,
    "literals":   literals.specs,
    "floats":     floats.specs,
    "control":    control.specs,
    "recurrences": recurrences.specs,
    "memory":     memory.specs,
    "ids":        ids.specs,
    "barriers":   barriers.specs,
    "atomics":    atomics.specs,
    "subgroups":  subgroups.specs,
    "grid":       grid.specs,
    "traps":      traps.specs,
    "indirect":   indirect.specs,
    "iterations": iterations.specs,
    "refusals":   refusals.specs,
    "temptations": temptations.specs,
    "guards":     guards.specs,
    "launches":   launches.specs,
    "loops":      loops.specs,
    "places":     places.specs,
    "names":      names.specs,
    "laws":       laws.specs,
    "claims":     entries.claims,
    "entries":    entries.specs,
    "sessions":   sessions.specs,
    "programs":   programs,
    "algorithms": algorithms.specs,
    "corpus":     corpus.specs,
}
# fmt: on


def specs(queries: Iterable[Query] = (ALL,), size: Size = Size.CI) -> list[Spec]:
    """The cases that any of the queries means, in corpus order, each with the cells that are meant.

    `size` bounds what patterns mean; a query that spells out group and name means all cases of that name.
    """
    wanted = tuple(queries)
    groups = (name for name in GROUPS if any(query.matches_group(name) for query in wanted))
    found = (_chosen(spec, wanted, size) for name in groups for spec in group(name))
    return [spec for spec in found if spec is not None]


def group(name: str) -> Iterable[Spec]:
    """All cases of a group. Those of calls are listed anew, because dialects come and go."""
    return GROUPS[name]() if name == "calls" else _cached(name)


@cache
def _cached(group: str) -> tuple[Spec, ...]:
    return tuple(GROUPS[group]())


def _chosen(spec: Spec, queries: tuple[Query, ...], size: Size) -> Spec | None:
    """What the queries mean of a case: all of it, some of its parts, or nothing."""
    near = [query for query in queries if spec.size <= size or query.is_named]
    if any(query.matches(spec.address) for query in near):
        return spec
    parts = tuple(part for part in spec.parts if any(query.matches(part) for query in near))
    return replace(spec, parts=parts) if parts else None
