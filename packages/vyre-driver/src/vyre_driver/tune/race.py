"""Which of several candidates is the fastest: interleaved rounds, until the winner is clear.

Candidates run in turns, and each round begins with another one, so what disturbs the machine disturbs all alike. In
every round each candidate is compared with the present favourite, the one with the least median. A candidate leaves

- when its best time is longer than the worst of the favourite by a factor of 1 + 2⁻ⁿ in round n: the fewer times there
  are, the larger the difference must be. In the first round, such a candidate is timed once more, because one time
  alone may have been interrupted by the scheduler;
- when it was slower so often as one of two equal ones is in 1 of `DOUBT` cases at most (the sign test over the rounds);
- when it is not ahead of the incumbent by `MARGIN` in the median after `FAIR` rounds.

The race ends when one is alone, or after `MAX_SAMPLES`. One candidate without rivals is timed once.

Hysteresis: the incumbent, candidate 0, keeps its place unless the favourite is faster by the factor `MARGIN` in the
median, and one of the first two tests, the first of them from round `FAIR` on, says the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb
from statistics import median

from vyre_driver.observe.progress import progress

DOUBT = 200
"""In one of so many looks at the times of equal candidates one of them seems slower."""
FAIR = 3
"""The rounds in which a candidate that is behind stays, and after which the incumbent may be replaced."""
MAX_SAMPLES = 21
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
    with progress(f"time {len(clocks)} candidates", max_samples) as done:
        for number in range(max_samples):
            turn = number % len(racing)
            for n in racing[turn:] + racing[:turn]:
                times[n].append(clocks[n]())
            favourite = min(racing, key=lambda n: median(times[n]))
            if number == 0:
                for n in racing:
                    if is_apart(times[n], times[favourite]):
                        times[n][0] = min(times[n][0], clocks[n]())
            racing = [n for n in racing if n == 0 or not _is_out(times[n], times[favourite], times[0])]
            if len(racing) == 1 or (len(racing) == 2 and _is_beaten(times[0], times[racing[1]])):
                break
            done(1)
    favourite = min(racing, key=lambda n: median(times[n]))
    is_faster = median(times[0]) > MARGIN * median(times[favourite]) and _is_beaten(times[0], times[favourite])
    return RaceResult(favourite if is_faster else 0, is_faster, tuple(map(tuple, times)))


def is_slower(times: Sequence[float], others: Sequence[float]) -> bool:
    """Whether the first of two candidates is slower beyond noise, by the sign test over their common rounds."""
    pairs = [(a, b) for a, b in zip(times, others, strict=False) if a != b]
    faster = sum(a < b for a, b in pairs)
    chance = sum(comb(len(pairs), k) for k in range(faster + 1))
    return bool(pairs) and DOUBT * chance <= 2 ** len(pairs)


def is_apart(times: Sequence[float], others: Sequence[float]) -> bool:
    """Whether the first of two candidates is slower in each sample, by more than chance explains in so few."""
    return min(times) > (1 + 2.0 ** -len(times)) * max(others)


def _is_out(times: Sequence[float], favourite: Sequence[float], incumbent: Sequence[float]) -> bool:
    """Whether a candidate cannot win any more, against the favourite or against the incumbent with its margin."""
    is_behind = len(times) >= FAIR and MARGIN * median(times) > median(incumbent)
    return is_behind or is_apart(times, favourite) or is_slower(times, favourite)


def _is_beaten(incumbent: Sequence[float], favourite: Sequence[float]) -> bool:
    """Whether the favourite may replace the incumbent, if it is ahead by the margin."""
    return is_slower(incumbent, favourite) or (len(incumbent) >= FAIR and is_apart(incumbent, favourite))
