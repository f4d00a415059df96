"""Which of several candidates is the fastest: interleaved rounds, until the winner is clear.

Candidates run in turns, and each round begins with another one, so what disturbs the machine disturbs all alike. In
every round the time of each candidate is compared with that of the present favourite, the one with the least median.
A candidate leaves when it was slower so often as one of two equal ones is in 1 of `DOUBT` cases at most (the sign
test over the rounds), when the same test says that it cannot beat the incumbent by the margin, or in the first round
when it takes more than `HOPELESS` times as long, in two samples: one alone may have been interrupted by the scheduler.
The race ends when one is alone, or after `MAX_SAMPLES`.

Hysteresis: the incumbent, candidate 0, keeps its place unless the favourite is faster by the factor `MARGIN` in the
median, and the sign test says the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from statistics import median

from vyre_driver.observe.progress import progress

DOUBT = 200
"""In one of so many looks at the times of equal candidates one of them seems slower."""
HOPELESS = 1.5
"""Times the least time of the first round: what is slower, and slower again, leaves at once."""
MAX_SAMPLES = 21
ALONE = 5
"""The samples of a candidate without rivals."""
MARGIN = 1.05
"""How much faster than the incumbent another candidate must be."""

Clock = Callable[[], float]
"""Runs a candidate once, or as often as it takes to be measured: nanoseconds for one run."""


@dataclass(frozen=True, slots=True)
class RaceResult:
    """The position of the winner, whether that is beyond noise, and nanoseconds by candidate in the order of rounds."""

    winner: int
    is_clear: bool
    times: tuple[tuple[float, ...], ...]

    def median_ns(self, candidate: int) -> float:
        """The median of one candidate's times."""
        return median(self.times[candidate])


def race(clocks: Sequence[Clock], *, max_samples: int = MAX_SAMPLES) -> RaceResult:
    """Run all candidates in turns until one of them is clearly the fastest. Candidate 0 is the incumbent."""
    times: list[list[float]] = [[] for _ in clocks]
    racing = list(range(len(clocks)))
    fewest = ALONE if len(clocks) == 1 else 1
    with progress(f"time {len(clocks)} candidates", max_samples) as done:
        for number in range(max_samples):
            turn = number % len(racing)
            for n in racing[turn:] + racing[:turn]:
                times[n].append(clocks[n]())
            favourite = min(racing, key=lambda n: median(times[n]))
            if number == 0:
                for n in racing:
                    if _is_hopeless(times[n], times[favourite]):
                        times[n][0] = min(times[n][0], clocks[n]())
            racing = [n for n in racing if n == 0 or not _is_out(times[n], times[favourite], times[0])]
            is_clear = len(racing) == 1 or (len(racing) == 2 and is_slower(times[0], times[racing[1]]))
            if is_clear and number + 1 >= fewest:
                break
            done(1)
    favourite = min(racing, key=lambda n: median(times[n]))
    is_faster = median(times[0]) > MARGIN * median(times[favourite]) and is_slower(times[0], times[favourite])
    return RaceResult(favourite if is_faster else 0, is_faster, tuple(map(tuple, times)))


def is_slower(times: Sequence[float], others: Sequence[float]) -> bool:
    """Whether the first of two candidates is slower beyond noise, by the sign test over their common rounds."""
    pairs = [(a, b) for a, b in zip(times, others, strict=False) if a != b]
    faster = sum(a < b for a, b in pairs)
    chance = sum(comb(len(pairs), k) for k in range(faster + 1))
    return bool(pairs) and DOUBT * chance <= 2 ** len(pairs)


def _is_out(times: Sequence[float], favourite: Sequence[float], incumbent: Sequence[float]) -> bool:
    """Whether a candidate cannot win any more, against the favourite or against the incumbent with its margin."""
    is_slow = len(times) == 1 and _is_hopeless(times, favourite)
    return is_slow or is_slower(times, favourite) or is_slower([MARGIN * t for t in times], incumbent)


def _is_hopeless(times: Sequence[float], favourite: Sequence[float]) -> bool:
    return times[0] > HOPELESS * favourite[0]
