"""One expectation out of several opinions, or the news that they disagree."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from vyre_conform.case import AsEvaluated, Case, Exactly, Expected, ExpectedTrap, Refusal
from vyre_conform.compare import describe, difference
from vyre_conform.oracle.array_ops import array_opinion
from vyre_conform.oracle.evaluators import EVALUATORS, evaluate_case
from vyre_conform.outcome import Outcome, Raised, Returned
from vyre_reference.scalar import Coverage


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result that a case must give.

    `mismatches` maps an opinion to the reason: then no backend is judged by the case. `undecided` maps an opinion that
    did not come in time to the reason: then the case can be asked about again.
    """

    expected: Expected
    mismatches: dict[str, str]
    coverage: Counter[tuple[str, ...]] = field(default_factory=Counter)
    """How often the textbook evaluator executed each kind of node."""
    undecided: dict[str, str] = field(default_factory=dict)

    @property
    def is_settled(self) -> bool:
        """Whether all opinions have come and agree, so that backends are judged by the case."""
        return not self.mismatches and not self.undecided

    @property
    def why_not(self) -> str:
        """In words, why no backend is judged by the case."""
        if self.mismatches:
            return f"the opinions about this case disagree: {', '.join(self.mismatches)}"
        return "; ".join(f"undecided, {opinion}: {why}" for opinion, why in self.undecided.items())


def settle(case: Case, *, seconds: float = 60.0) -> Verdict:
    """Ask every opinion about a case."""
    expected = case.expected
    mismatches: dict[str, str] = {}
    undecided: dict[str, str] = {}
    coverage = Coverage()
    for name, evaluate in EVALUATORS.items():
        options = {"coverage": coverage} if name == "scalar" else {}
        try:
            outcome = evaluate_case(case.launch, evaluate, seconds=seconds, **options)
        except Exception as error:  # an evaluator that fails is a finding, not the end of the run
            mismatches[name] = f"{type(error).__name__}: {error}"
            continue
        if _is_late(outcome, expected):
            undecided[name] = f"no answer within {seconds:g} s"
        elif isinstance(expected, AsEvaluated):
            expected = as_expected(outcome)
            if isinstance(expected, AsEvaluated):
                mismatches[name] = describe(outcome)
        elif found := difference(case.launch, expected, outcome):
            mismatches[name] = str(found)
    if isinstance(expected, Exactly) and (found := difference(case.launch, expected, _arrays(case, expected))):
        mismatches["numpy"] = str(found)
    return Verdict(expected, mismatches, coverage.counts, {} if mismatches else undecided)


def _is_late(outcome: Outcome, expected: Expected) -> bool:
    """Whether an evaluator has run out of time: a busy machine does that, and it says nothing about the case."""
    is_asked_for = isinstance(expected, Refusal) and expected.error == "DispatchTimeout"
    return isinstance(outcome, Raised) and outcome.error == "DispatchTimeout" and not is_asked_for


def _arrays(case: Case, expected: Exactly) -> Returned:
    """NumPy's opinion; where it has none it goes with the others."""
    opinions = [(array_opinion(one), buffer.name) for one in case.launch.launches for buffer in one.program.outputs]
    pairs = zip(opinions, expected.outputs, strict=True)
    return Returned(tuple(opinion.get(name, data) for (opinion, name), data in pairs))


def as_expected(outcome: Outcome) -> Expected:
    """What an outcome demands of everybody else; `AsEvaluated` if it cannot be demanded."""
    match outcome:
        case Returned(outputs):
            return Exactly(outputs)
        case Raised(facts=facts) if outcome.error == "Trapped":
            return ExpectedTrap(str(facts["tag"]), int(facts["trap_code"] or 0), int(facts["invocation"] or 0))
        case _:
            return AsEvaluated()
