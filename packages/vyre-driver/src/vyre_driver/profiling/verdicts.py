"""Verdicts: the decisions about a dispatch with their reasons, as data and as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vyre_foundation.ir.program import Program
from vyre_foundation.markup import Html, fragment, table
from vyre_foundation.text.highlight import highlighted


@dataclass(frozen=True, slots=True)
class DispatchVerdict:
    """A decision about `subject`: the `choice`, its `reason`, and numbers, the `facts`."""

    subject: str
    choice: str
    reason: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as a JSON object, without empty fields."""
        found = {"subject": self.subject, "choice": self.choice, "reason": self.reason, "facts": dict(self.facts)}
        return {name: value for name, value in found.items() if value}

    def __str__(self) -> str:
        return f"{self.choice}: {self.reason}" if self.reason else self.choice


@dataclass(frozen=True, slots=True)
class DispatchExplanation:
    """All verdicts about a dispatch, or about a launch of a graph, in the order of the decisions.

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
        """Return the explanation as a JSON object."""
        verdicts = [verdict.to_json() for verdict in self.verdicts]
        return {"name": self.name, "fingerprint": self.fingerprint, "verdicts": verdicts, "text": self.text}


def verdict_table(verdicts: Sequence[DispatchVerdict]) -> Html:
    """Return the verdicts as a table, with their reasons in a column."""
    rows = [(verdict.subject, verdict.choice, verdict.reason) for verdict in verdicts]
    return table(("about", "chosen", "because"), rows)


def verdict_lines(verdicts: Sequence[DispatchVerdict]) -> list[str]:
    """Return a line for each verdict, with the subjects in a column."""
    width = max((len(verdict.subject) for verdict in verdicts), default=0)
    return [f"{verdict.subject:{width}}  {verdict}" for verdict in verdicts]


def determinism(program: Program) -> DispatchVerdict:
    """Return the verdict whether all schedules are proven to have the same results.

    Args:
        program: A valid program.
    """
    found = program.validate().determinism
    if found.is_deterministic:
        return DispatchVerdict("determinism", "proven", "every schedule gives the same bytes")
    return DispatchVerdict("determinism", "not proven", "; ".join(map(str, found.reasons)))
