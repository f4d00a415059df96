"""Accesses that may meet: to one buffer, in one interval, by two invocations, with ranges of indices that overlap."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.validate.buffers import MAX_LENGTH
from vyre_foundation.validate.determinism.accesses import MemoryAccess
from vyre_foundation.validate.determinism.forms import Polynomials
from vyre_foundation.validate.determinism.identity import Between, Identity
from vyre_foundation.validate.determinism.ownership import Bounds, are_owned, missing_bounds
from vyre_foundation.validate.determinism.phases import Phases, undivided
from vyre_foundation.validate.determinism.views import View, Views
from vyre_foundation.validate.facts import Interval

MAX_CHECKS = 200_000
"""How many accesses may be looked at, pair of stretches by pair; beyond that the program is taken as one stretch."""


class Conflicts:
    """Finds sets of accesses of which nothing proves that they do not meet."""

    def __init__(self, forms: Polynomials, views: Views, identity: Identity) -> None:
        self._forms = forms
        self._views = views
        self._identity = identity
        self._ranges: dict[MemoryAccess, Interval] = {}
        self._seen: dict[tuple[MemoryAccess, Between, bool], View] = {}

    def find(
        self, accesses: Sequence[MemoryAccess], phases: Phases, between: Between
    ) -> Iterator[tuple[list[MemoryAccess], Bounds]]:
        """Sets of accesses that two of the compared invocations may make to one element in one interval.

        Each has the bounds of the invocations with which they would not; none if no bounds are enough.
        """
        stretches = _by_stretch(accesses, phases)
        meetings = [(a, b) for a, b in phases.meetings if a in stretches and b in stretches]
        checks = sum(len(found) for pair in meetings for n in {*pair} for found in stretches[n].values())
        if checks > MAX_CHECKS:
            yield from self.find(accesses, undivided(len(phases.stretch)), between)
            return
        for a, b in meetings:
            for buffer, here in stretches[a].items():  # in program order, and no other: the first reason is kept
                if buffer not in stretches[b]:
                    continue
                found = here if a == b else [*here, *stretches[b][buffer]]
                for cluster in self._clusters(found):
                    if not _commute(cluster) and not self._are_owned(cluster, between):
                        yield cluster, self._missing_bounds(cluster, between)

    def _clusters(self, accesses: Sequence[MemoryAccess]) -> Iterator[list[MemoryAccess]]:
        """Sets whose ranges of indices overlap, directly or by way of others; accesses out of bounds are none."""
        cluster: list[MemoryAccess] = []
        end = -1
        for access in sorted(accesses, key=lambda a: self._range(a).low):
            low, high = self._range(access)
            if low > high:
                continue
            if low > end and cluster:
                yield cluster
                cluster = []
            cluster.append(access)
            end = max(end, high)
        if cluster:
            yield cluster

    def _range(self, access: MemoryAccess) -> Interval:
        """The elements that an access may touch."""
        if access not in self._ranges:
            found = self._forms.exact(access.index, access.guard.bounds)
            low, high = self._forms.bounds[access.index] if found is None else found[1]
            count = access.buffer.count
            last = count - 1 if isinstance(count, int) else MAX_LENGTH - 1
            self._ranges[access] = Interval(max(low, 0), min(high, last))
        return self._ranges[access]

    def _are_owned(self, cluster: Sequence[MemoryAccess], between: Between) -> bool:
        """Whether the indices are numbers of the digits of the identity, or of whole global ids.

        A guard such as ``global_id.x < width`` bounds the whole id closely. Where `width` is no multiple of the size
        of a workgroup, it bounds its two digits less closely.
        """
        needed = self._identity.needed(between)
        return any(
            are_owned([self._view(access, between, are_whole) for access in cluster], needed, self._identity)
            for are_whole in (False, True)
        )

    def _missing_bounds(self, cluster: Sequence[MemoryAccess], between: Between) -> Bounds:
        views = [self._view(access, between, True) for access in cluster]
        return missing_bounds(views, self._identity.needed(between), self._identity) or ()

    def _view(self, access: MemoryAccess, between: Between, are_whole: bool) -> View:
        key = access, between, are_whole
        if key not in self._seen:
            self._seen[key] = self._views.of(access, between, are_whole=are_whole)
        return self._seen[key]


def _by_stretch(accesses: Sequence[MemoryAccess], phases: Phases) -> Mapping[int, Mapping[Buffer, list[MemoryAccess]]]:
    stretches: dict[int, dict[Buffer, list[MemoryAccess]]] = {}
    for access in accesses:
        by_buffer = stretches.setdefault(phases.stretch[access.place.number], {})
        by_buffer.setdefault(access.buffer, []).append(access)
    return stretches


def _commute(cluster: Sequence[MemoryAccess]) -> bool:
    """Whether the order of these accesses does not show, whichever invocations make them."""
    return all(access.commutes_with(cluster[0]) for access in cluster)
