"""Replaying a capsule: the same dispatch again, on the backend that it came from or on another, and on a reference."""

from __future__ import annotations

from dataclasses import dataclass

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.errors import Trapped
from vyre_driver.observe.capsule import Capsule
from vyre_driver.observe.compare import first_mismatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What a replay shows. Each difference is words, empty where there is none.

    `now`: between backend and reference, now. `then`: what the capsule recorded. `since`: between what the backend
    gives now and what it gave then.
    """

    backend: str
    reference: str
    now: str
    then: str
    since: str

    @property
    def agrees(self) -> bool:
        """Whether the outputs are equal now, byte by byte."""
        return not self.now


def replay(capsule: Capsule, backend: VyreBackend, reference: VyreBackend) -> Replay:
    """Dispatch the capsule's program once on each of the two."""
    ours, theirs = _run(capsule, backend), _run(capsule, reference)
    recorded = [memoryview(data) for data in capsule.outputs.values()]
    return Replay(
        backend=backend.id(),
        reference=reference.id(),
        now=_difference(capsule, ours, theirs),
        then=capsule.difference,
        since=_difference(capsule, ours, recorded) if recorded else "",
    )


def _run(capsule: Capsule, backend: VyreBackend) -> list[memoryview] | Trapped:
    try:
        return backend.dispatch(capsule.program, capsule.arguments, capsule.config)
    except Trapped as trap:
        return trap


def _difference(capsule: Capsule, got: list[memoryview] | Trapped, expected: list[memoryview] | Trapped) -> str:
    if isinstance(got, Trapped) or isinstance(expected, Trapped):
        ours, theirs = _words(got), _words(expected)
        return "" if ours == theirs else f"got {ours}, expected {theirs}"
    return str(first_mismatch(capsule.program, got, expected, capsule.config.ulp_budget) or "")


def _words(ended: list[memoryview] | Trapped) -> str:
    return ended.message if isinstance(ended, Trapped) else f"{len(ended)} outputs"
