"""Barriers: lanes in lockstep do not wait, so a barrier requires that none is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import numpy as np

from vyre_foundation.ir.stmt import Scope
from vyre_reference.errors import DivergentBarrier
from vyre_reference.place import located
from vyre_reference.vector.lanes import Lanes
from vyre_reference.vector.registers import Values

if TYPE_CHECKING:
    from vyre_reference.vector.machine import Machine


def require_everyone(at: Machine, lanes: Lanes, scope: Scope) -> None:
    """Of a workgroup of which some lane waits, no other may be missing; of the grid, none at all."""
    if lanes.index is None:
        return
    volume = at.chunk.volume
    present = np.bincount(lanes.index // volume, minlength=at.chunk.groups)
    incomplete = present != volume
    if scope is Scope.WORKGROUP:
        incomplete &= present != 0
    if incomplete.any():
        first = int(incomplete.argmax()) * volume
        members = np.arange(first, first + volume)
        waiting = [*np.intersect1d(members, lanes.index), lanes.index[0]][0]
        _diverge(at, waiting, np.setdiff1d(members, lanes.index)[0], "does not arrive there in this iteration")


def require_one_lane(at: Machine, lanes: Lanes, selected: Values) -> None:
    """A broadcast takes one lane for the whole workgroup."""
    groups = selected.reshape(-1, at.chunk.volume)
    differing = np.flatnonzero(groups != groups[:, :1])
    if differing.size:
        other = differing[0]
        one = other // at.chunk.volume * at.chunk.volume
        members = lanes.pick(np.arange(at.chunk.all.count))
        _diverge(at, members[one], members[other], f"broadcasts lane {selected[other]}, not {selected[one]}")


def _diverge(at: Machine, waiting: int, other: int, instead: str) -> NoReturn:
    numbers = at.chunk.numbers
    place = located(at.chunk.plan.program, at.path)
    raise DivergentBarrier(int(numbers[waiting]), place, int(numbers[other]), instead)
