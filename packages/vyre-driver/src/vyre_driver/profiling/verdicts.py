"""Verdicts: what was decided about a dispatch, what was chosen, and why; as data and as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vyre_foundation.ir.program import Program
from vyre_foundation.markup import Html, fragment, table
from vyre_foundation.text.highlight import highlighted


@dataclass(frozen=True, slots=True)
class DispatchVerdict:
    """One decision: `subject` says about what, `choice` is what was chosen, `reason` why. `facts` are numbers of it."""

    subject: str
    choice: str
    reason: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The verdict as an object of JSON; what is empty is left out."""
        found = {"subject": self.subject, "choice": self.choice, "reason": self.reason, "facts": dict(self.facts)}
        return {name: value for name, value in found.items() if value}

    def __str__(self) -> str:
        return f"{self.choice}: {self.reason}" if self.reason else self.choice


@dataclass(frozen=True, slots=True)
class DispatchExplanation:
    """All verdicts about one dispatch, or about one launch of a graph, in the order in which they are taken.

    `text` is the program or the graph.
    """

    name: str
    fingerprint: str
    verdicts: tuple[DispatchVerdict, ...]
    text: str

    def __repr__(self) -> str:
        return f"<DispatchExplanation of {self.name!r}: {len(self.verdicts)} verdicts>"

    def __str__(self) -> str:
        """The verdicts as a table of two columns, then the program."""
        return "\n".join([*verdict_lines(self.verdicts), "", self.text])

    def _repr_html_(self) -> str:
        note = f"fingerprint {self.fingerprint[:16]}"
        return fragment(
            f"explanation of {self.name}", note, verdict_table(self.verdicts), highlighted(self.text, hashes=False)
        )

    def __getitem__(self, subject: str) -> DispatchVerdict:
        """The verdict about a subject.

        Raises:
            KeyError: Nothing was decided about it.
        """
        for verdict in self.verdicts:
            if verdict.subject == subject:
                return verdict
        raise KeyError(subject)

    def to_json(self) -> dict[str, Any]:
        """The explanation as an object of JSON."""
        verdicts = [verdict.to_json() for verdict in self.verdicts]
        return {"name": self.name, "fingerprint": self.fingerprint, "verdicts": verdicts, "text": self.text}


def verdict_table(verdicts: Sequence[DispatchVerdict]) -> Html:
    """The verdicts as a table, with their reasons in a column."""
    rows = [(verdict.subject, verdict.choice, verdict.reason) for verdict in verdicts]
    return table(("about", "chosen", "because"), rows)


def verdict_lines(verdicts: Sequence[DispatchVerdict]) -> list[str]:
    """A line for each verdict, with the subjects in a column."""
    width = max((len(verdict.subject) for verdict in verdicts), default=0)
    return [f"{verdict.subject:{width}}  {verdict}" for verdict in verdicts]


def determinism(program: Program) -> DispatchVerdict:
    """Whether every schedule is proven to give the same bytes.

    Args:
        program: A valid program.
    """
    found = program.validate().determinism
    if found.is_deterministic:
        return DispatchVerdict("determinism", "proven", "every schedule gives the same bytes")
    return DispatchVerdict("determinism", "not proven", "; ".join(map(str, found.reasons)))
