"""From a launch that fails on a backend to the least one that fails in the same way."""

from __future__ import annotations

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
from vyre_foundation.ir.program import Program
from vyre_foundation.testing import shrink

ATTEMPTS = 300
"""Candidates of one minimisation: on a device each is compiled."""
SECONDS = 5.0
"""What a candidate may take on the evaluators."""


class Executor(Protocol):
    """Anything that turns launches into outcomes."""

    def ask(self, launch: Launch, repeats: int = 1) -> Outcome: ...


def minimise(
    launch: Launch, executor: Executor, state: State, *, attempts: int = ATTEMPTS, seconds: float = math.inf
) -> Launch:
    """The least launch on which `executor` ends as in `state`, or the least that was found within `seconds`.

    Candidates on which the opinions disagree, that run for long, or that race, do not count: their results mean
    nothing.
    """

    def still_fails(program: Program, inputs: Mapping[str, bytes]) -> bool:
        candidate = replace(launch, program=program, inputs=inputs)
        case = Case(address=address("fuzz", "candidate"), launch=candidate, expected=AsEvaluated())
        verdict = settle(case, seconds=SECONDS)
        if not verdict.is_settled or races(candidate, seconds=SECONDS):
            return False
        outcome = executor.ask(candidate, 1)
        return difference(candidate, verdict.expected, outcome) is not None and _kind(outcome) is state

    program, inputs = shrink(launch.program, launch.inputs, still_fails, attempts=attempts, seconds=seconds)
    return replace(launch, program=program, inputs=inputs)


def _kind(outcome: Outcome) -> State:
    match outcome:
        case Crashed():
            return State.CRASHED
        case TimedOut():
            return State.TIMEOUT
        case Raised() if outcome.error == "UnsupportedFeature":
            return State.UNSUPPORTED
        case _:
            return State.FAIL
