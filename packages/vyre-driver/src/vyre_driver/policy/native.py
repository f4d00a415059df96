"""Whether a device's own elementary function is taken in place of the exact composition.

Never with a budget of 0. With another, only what was measured on this very device over all arguments, stays within the
budget, and is faster.
"""

from __future__ import annotations

from dataclasses import dataclass

ANY_ERROR = 2**32 - 1
"""A budget that allows everything, also what was never measured; and the error of a NaN for a number."""
ALL_ARGUMENTS = 2**32


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The device's own function beside the exact one, for f32.

    `error` is the largest distance of the two results in representable values (`ANY_ERROR` where only one is NaN),
    over `arguments` of the 2**32 arguments; `worst` has the bits of the first argument that has it. The times are
    picoseconds for one element.
    """

    error: int
    worst: int
    arguments: int
    native_ps: float
    exact_ps: float


@dataclass(frozen=True, slots=True)
class NativeVerdict:
    """Whether to take the device's own function, and why."""

    is_native: bool
    reason: str


def judge_native(measured: Measured | None, ulp_budget: int) -> NativeVerdict:
    """The choice for one function under a budget in units in the last place."""
    if ulp_budget == 0:
        return NativeVerdict(False, "the budget is 0")
    if measured is None or measured.arguments < ALL_ARGUMENTS:
        return NativeVerdict(ulp_budget >= ANY_ERROR, "not measured over all arguments")
    if measured.error > ulp_budget:
        return NativeVerdict(False, f"off by {measured.error} of {ulp_budget} allowed")
    times = f"{measured.native_ps:.0f} ps beside {measured.exact_ps:.0f} ps of the exact one"
    if measured.native_ps >= measured.exact_ps:
        return NativeVerdict(False, f"not faster: {times}")
    return NativeVerdict(True, f"off by {measured.error} at most: {times}")
