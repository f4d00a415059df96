"""The corpus: every group of cases, in the order in which they run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from vyre_conform.address import ALL, Query
from vyre_conform.case import Spec
from vyre_conform.cases import (
    atomics,
    barriers,
    calls,
    casts,
    control,
    floats,
    grid,
    ids,
    indirect,
    iterations,
    literals,
    memory,
    ops,
    refusals,
    subgroups,
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
    "programs":   programs,
}
# fmt: on


def specs(queries: Iterable[Query] = (ALL,)) -> list[Spec]:
    """The cases that any of the queries means, in corpus order."""
    wanted = tuple(queries)
    found = [spec for group in GROUPS.values() for spec in group()]
    return [spec for spec in found if any(query.matches(spec.address) for query in wanted)]
