"""Findings as they come up, in whatever order the rules run; in the program's order at the end."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Sequence

from vyre_foundation.cached import cached_property
from vyre_foundation.ir.program import Program
from vyre_foundation.validate.facts import Finding, InvalidProgram
from vyre_foundation.validate.outline import Place, outline


class ValidationReport:
    """What the rules find in `program`. `legalized`: it comes from a legalizer, which may write more than a person."""

    def __init__(self, program: Program, *, legalized: bool) -> None:
        self.program = program
        self.legalized = legalized
        self.outline = outline(program)
        self._origins = program.origins
        self._found: list[tuple[int, Finding]] = []

    def first_use(self, number: int) -> tuple[Place, str]:
        """Where the expression with this number, in the program's code, is first used: the statement, and its part."""
        return self._roots[bisect_right(self.program.code.ends, number)]

    @cached_property
    def _roots(self) -> Sequence[tuple[Place, str]]:
        """Where each root of the program's code is."""
        return [(place, field) for place in self.outline.places for field, _ in place.roots()]

    def at(self, place: Place, code: str, message: str, fix: str, *, field: str = "") -> None:
        """A finding about a statement, or about the part of it that `field` names."""
        origin = None if self._origins is None else self._origins.statement(place.number)
        finding = Finding(code, place.field(field), message, fix, origin)
        self._found.append((len(self.program.buffers) + place.number, finding))

    def located(self, place: Place) -> str:
        """The path of a statement, and the line that wrote it where that is known."""
        return place.path if self._origins is None else f"{place.path} ({self._origins.statement(place.number)})"

    def on_node(self, number: int, code: str, message: str, fix: str) -> None:
        """A finding about the expression with this number, where it is first used."""
        place, field = self.first_use(number)
        self.at(place, code, message, fix, field=field)

    def on_buffer(self, number: int, code: str, message: str, fix: str) -> None:
        """A finding about the buffer with this number."""
        text = f"{self.program.buffers[number].name!r}: {message}"
        origin = None if self._origins is None else self._origins.buffer(number)
        self._found.append((number, Finding(code, f"buffers[{number}]", text, fix, origin)))

    def on_program(self, field: str, code: str, message: str, fix: str) -> None:
        """A finding about a field of the program."""
        origin = None if self._origins is None else self._origins.program
        self._found.append((-1, Finding(code, field, message, fix, origin)))

    def has(self, codes: Container[str]) -> bool:
        """Whether there is a finding with one of these codes."""
        return any(finding.code in codes for _, finding in self._found)

    def raise_if_any(self) -> None:
        """Raise `InvalidProgram` with everything that was found, in program order."""
        if not self._found:
            return
        findings = tuple(finding for _, finding in sorted(self._found, key=lambda entry: entry[0]))
        raise InvalidProgram.of(self.program.name, findings)
