"""Which other workgroup sizes are worth a trial, where the program means the same in all of them.

Where workers run workgroups as loops, the code of an invocation is the same in each size, so a size matters in three
ways alone. A loop of less than a few vectors spends most of its time before and after them. A loop over too many
distant elements exceeds the first-level cache. A small number of workgroups does not divide evenly among the workers.
A size without these faults is not searched. For a size with one, the best size without is tried.

If invocations leave a loop by `break`, those of a workgroup may wait for the last one. How long depends on the data, so
the smallest size that fills a vector is tried as well, if nothing but the `break` makes the invocations differ.

Elsewhere a size decides how many invocations are in flight, which no rule predicts. There each size that fills a
subgroup is tried.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf, log2, prod

from vyre_driver.device.profile import DeviceProfile, Extent
from vyre_driver.plan.cost import estimate
from vyre_driver.plan.launch import LaunchPlan
from vyre_foundation.ir.stmt import Break

LEAST, MOST = 128, 512
"""Invocations that fill a few vectors of bytes; and those whose cache lines, one each, fill a cache of 32 KiB."""
LEAST_X = 16
"""Invocations on x, along which vectors are made: the 32-bit elements of the widest vector."""
UNEVEN = 1.1
"""How much longer the busiest worker may take than all would, if the workgroups were divided evenly."""


@dataclass(frozen=True, slots=True)
class SizeVerdict:
    """The sizes to try beside the program's own, and why no others."""

    sizes: tuple[Extent, ...]
    reason: str


def promising_sizes(plan: LaunchPlan, profile: DeviceProfile, possible: Iterable[Extent]) -> SizeVerdict:
    """Which of the `possible` sizes may be faster than the program's own by more than a tenth."""
    own, sizes = plan.program.workgroup_size, tuple(possible)
    if not sizes:
        return SizeVerdict((), "no other workgroup size is proven to mean the same")
    if not profile.workgroups_are_loops:
        least = profile.subgroup_size or 1
        return SizeVerdict(tuple(size for size in sizes if prod(size) >= least), "each size fills a subgroup")
    invocations = plan.num_workgroups * plan.program.workgroup_volume
    workers = max((queue.workers for queue in profile.queues), default=1)

    def faults(size: Extent) -> tuple[bool, float, float]:
        """Whether it is too small or too large, how unevenly it divides if that matters, how far it is from these."""
        volume, uneven = prod(size), _unevenness(invocations, prod(size), workers)
        fits = LEAST <= volume <= MOST and size[0] >= LEAST_X
        return not fits, uneven if uneven > UNEVEN else 0.0, abs(log2(volume / LEAST))

    best = min(sizes, key=faults)
    is_fit = faults(own)[:2] <= faults(best)[:2]
    full = [size for size in sizes if size[0] >= LEAST_X and prod(size) < min(plan.program.workgroup_volume, LEAST)]
    if full and plan.program.of(Break) and estimate(plan).is_certain:
        tried = dict.fromkeys([min(full, key=prod), *([] if is_fit else [best])])
        return SizeVerdict(tuple(tried), "invocations leave a loop one by one, and fewer may wait for each other")
    if is_fit:
        shown = " × ".join(map(str, own))
        return SizeVerdict((), f"workgroups are loops, and {shown} are long enough and divide evenly")
    return SizeVerdict((best,), "workgroups are loops, of which one size is enough to try")


def _unevenness(invocations: int, volume: int, workers: int) -> float:
    """The workgroups of the busiest worker, beside those of each if they were divided evenly."""
    groups = -(-invocations // volume)
    return -(-groups // workers) * workers / groups if groups else inf
