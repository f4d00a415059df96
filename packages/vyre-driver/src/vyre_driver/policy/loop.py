"""Whether iterations of a loop with a flag are enqueued before the flag of the one before is known.

An iteration past the end of the loop is launched and does nothing, which takes time for each of its workgroups. An
iteration that the host looks at costs a wait. Batches of 1, 2, 4 … iterations launch at most as many past the end as
before it, so they pay where an iteration that does nothing is cheaper than a wait.

A loop that runs again often has as many iterations as before. So the first batch has the lesser number of the last two
runs: where that is right there is one wait, and nothing is launched past the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MOST_GROUPS = 2**16
"""Workgroups of an iteration that takes less than a wait if it does nothing."""
MOST_ITERATIONS = 256
"""Of one batch."""


@dataclass(frozen=True, slots=True)
class LoopVerdict:
    """Whether iterations are enqueued in growing batches, and why."""

    is_batched: bool
    reason: str


def batches(limit: int, earlier: Sequence[int]) -> Iterator[int]:
    """The iterations of each batch, `limit` in all. `earlier` has the numbers of the last runs of the loop."""
    done, expected, size = 0, min(earlier, default=0), 1
    while done < limit:
        if done < expected:
            times = min(expected - done, MOST_ITERATIONS)
        else:
            times, size = size, min(2 * size, MOST_ITERATIONS)
        yield min(times, limit - done)
        done += times


def choose_batches(groups: int | None) -> LoopVerdict:
    """Choose for a loop by the workgroups that an iteration launches; None if it cannot be guarded by its flag."""
    if groups is None:
        return LoopVerdict(False, "an iteration has a part that cannot be launched without effect")
    if groups > MOST_GROUPS:
        return LoopVerdict(False, f"{groups} workgroups that do nothing cost more than a wait")
    return LoopVerdict(True, f"{groups} workgroups that do nothing cost less than a wait")
