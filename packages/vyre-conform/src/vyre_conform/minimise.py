"""From a launch that fails on a backend to the least one that fails in the same way."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from vyre_conform.address import address
from vyre_conform.case import AsEvaluated, Case, Launch
from vyre_conform.cell import State
from vyre_conform.compare import difference
from vyre_conform.oracle import settle
from vyre_conform.oracle.evaluators import races
from vyre_conform.outcome import Crashed, Outcome, Raised, TimedOut
from vyre_conform.worker import Cancelled
from vyre_foundation.ir.program import Program
from vyre_foundation.testing import shrink

ATTEMPTS = 300
"""Candidates of one minimisation: on a device each is compiled."""
SECONDS = 5.0
"""What a candidate may take on the evaluators."""


class Executor(Protocol):
    """Anything that turns launches into outcomes."""

    def ask(self, launch: Launch, repeats: int = 1) -> Outcome:
        """Run a launch, and give its outcome."""
        ...


def minimise(
    launch: Launch, executor: Executor, state: State, *, attempts: int = ATTEMPTS, seconds: float = math.inf
) -> Launch:
    """The least launch on which `executor` ends as it does on `launch`, or the least that was found within `seconds`.

    `state` is how it has ended; a second launch tells by which signal or error, and candidates that end by another one
    do not count. Nor do those on which the opinions disagree, that run for long, or that race: their results mean
    nothing. Where a candidate cannot be judged at all, the least launch before it is the result.
    """
    ending = _ending(executor.ask(launch, 1)) if state in (State.CRASHED, State.FAIL) else (state, "")
    if ending[0] is not state:
        return launch
    least = launch

    def still_fails(program: Program, inputs: Mapping[str, bytes]) -> bool:
        nonlocal least
        candidate = replace(launch, program=program, inputs=inputs)
        case = Case(address=address("fuzz", "candidate"), launch=candidate, expected=AsEvaluated())
        verdict = settle(case, seconds=SECONDS)
        if not verdict.is_settled or races(candidate, seconds=SECONDS):
            return False
        outcome = executor.ask(candidate, 1)
        if difference(candidate, verdict.expected, outcome) is None or _ending(outcome) != ending:
            return False
        least = candidate
        return True

    try:
        shrink(launch.program, launch.inputs, still_fails, attempts=attempts, seconds=seconds)
    except Cancelled:
        raise
    except Exception:
        logging.getLogger("vyre.conform").exception("a failing program was not made as small as it could be")
    return least


def _ending(outcome: Outcome) -> tuple[State, str]:
    """How a failing launch has ended: its state, and the signal or the class of the error."""
    match outcome:
        case Crashed(how):
            return State.CRASHED, how
        case TimedOut():
            return State.TIMEOUT, ""
        case Raised(error="UnsupportedFeature"):
            return State.UNSUPPORTED, ""
        case Raised(error=error):
            return State.FAIL, error
        case _:
            return State.FAIL, ""
