"""Errors and findings as records, which are rendered as text for people and as JSON for programs.

    error[V024]: got the local `x`, expected one declared with var
      --> xor.vyre:5:3
       |
     5 |   x = 2;
       |   ^
       = Fix: declare it with var, or bind a new name

`parts` returns the text in fragments with kinds, so that a terminal can colour them. `render` joins them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from linecache import getline
from typing import Any, NewType

from vyre_driver.errors import InvalidGraph
from vyre_foundation.cached import cached_property
from vyre_foundation.discovery.migration import Migrated
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.origin import Origin, place_text
from vyre_foundation.text.errors import TextError
from vyre_foundation.text.places import Places, Position, position
from vyre_foundation.validate.facts import Finding, InvalidProgram

DiagnosticCode = NewType("DiagnosticCode", str)
"""A code that never changes: V for rules of the language, G for those of graphs, D for nondeterminism, E for errors."""


class Severity(Enum):
    """The severity of a diagnostic."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """A part of one line of a file: `line` and `column` count from 1, `code` is the whole line."""

    file: str
    line: int
    column: int
    width: int
    code: str

    @classmethod
    def at(cls, file: str, place: Position) -> SourceLine:
        """Return the position in the file called `file`."""
        return cls(file=file, line=place.line, column=place.column, width=place.width, code=place.code)

    @classmethod
    def of_origin(cls, origin: Origin | None) -> SourceLine | None:
        """Return the line of Python that recorded a part of a program, if it is known and its file can be read."""
        if origin is None:
            return None
        code = getline(*origin).rstrip("\n")
        start = len(code) - len(code.lstrip())
        width = len(code) - start
        return cls(file=origin.file, line=origin.line, column=start + 1, width=width, code=code) if width else None


@dataclass(frozen=True)
class Source:
    """The text of a program to which diagnostics refer, by the name `file`."""

    file: str
    text: str

    def place_of(self, path: str) -> SourceLine | None:
        """Return the position of the part of the program with a path."""
        found = self._places.find(path)
        return None if found is None else SourceLine.at(self.file, found)

    @cached_property
    def _places(self) -> Places:
        return Places(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpLocation:
    """The op of a dialect to which a diagnostic refers, and the operand."""

    op_id: str
    operand: int | None = None

    def __str__(self) -> str:
        return f"op {self.op_id}" if self.operand is None else f"op {self.op_id}, operand {self.operand}"


LONGEST = 1000
"""Characters of a line in a record as plain values: a program can be one line, and each finding shows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One message.

    `where` names the position in words or as a path, `location` an op, `source` the line of a program; `fix` is the
    remedy. The code is empty if there is no fault.
    """

    severity: Severity
    code: DiagnosticCode
    message: str
    where: str = ""
    location: OpLocation | None = None
    source: SourceLine | None = None
    notes: tuple[str, ...] = ()
    fix: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the record as plain values, without empty ones; of a long line, the first `LONGEST` characters."""
        record: dict[str, Any] = {"severity": self.severity.value, "code": self.code, "message": self.message}
        if self.where:
            record["where"] = self.where
        if self.location is not None:
            record["location"] = {k: v for k in OpLocation.__slots__ if (v := getattr(self.location, k)) is not None}
        if self.source is not None:
            record["source"] = {name: getattr(self.source, name) for name in SourceLine.__slots__}
            record["source"]["code"] = self.source.code[:LONGEST]
        if self.notes:
            record["notes"] = list(self.notes)
        if self.fix:
            record["fix"] = self.fix
        return record


# ── from errors ──────────────────────────────────────────────────────────────────────────────────────────────────────


def diagnose(error: VyreError, source: Source | None = None) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of an error: one, or one for each finding of an invalid program.

    With the `source` of the program, paths become lines.
    """
    if isinstance(error, InvalidProgram):
        return tuple(of_finding(finding, source) for finding in error.findings)
    if isinstance(error, InvalidGraph):
        return tuple(of_finding(finding) for finding in error.findings)
    line = None
    if isinstance(error, TextError) and source is not None:
        line = SourceLine.at(source.file, _at(source.text, error.line, error.column))
    return (
        Diagnostic(
            severity=Severity.ERROR,
            code=DiagnosticCode(error.code),
            message=error.message,
            where=error.where,
            source=line,
            notes=tuple(_notes(error)),
            fix=error.fix,
        ),
    )


def of_finding(finding: Finding, source: Source | None = None, severity: Severity = Severity.ERROR) -> Diagnostic:
    """Return the diagnostic of a finding of validation, or with another severity of a reason against determinism."""
    return Diagnostic(
        severity=severity,
        code=DiagnosticCode(finding.code),
        message=finding.message,
        where=finding.where,
        source=SourceLine.of_origin(finding.origin) if source is None else source.place_of(finding.where),
        fix=finding.fix,
    )


def of_migration(migrated: Migrated) -> tuple[Diagnostic, ...]:
    """Return warnings about old ops of a program: W001 was migrated, W002 and W003 need a decision."""
    rows = (
        *(("W001", m, f"{m.op} is {m.to} since {m.since}", "save the program as it is now") for m in migrated.steps),
        *(("W002", m, f"{m.op} is {m.to} since {m.since}, with other results", "") for m in migrated.held_back),
        *(("W003", m, f"{m.op} is deprecated since {m.since}", "") for m in migrated.deprecated),
    )
    return tuple(
        Diagnostic(
            severity=Severity.WARNING,
            code=DiagnosticCode(code),
            message=message,
            location=OpLocation(op_id=m.op),
            fix=fix or m.note or "look at the results, then use the new op",
        )
        for code, m, message, fix in rows
    )


def _notes(error: VyreError) -> Iterator[str]:
    """What was added to the error, and what brought it about."""
    yield from getattr(error, "__notes__", ())
    cause = error.__cause__
    if isinstance(cause, VyreError) and cause.message != error.message:
        yield f"because of {cause.code}: {cause.message}"


def _at(text: str, line: int, column: int) -> Position:
    start = sum(len(code) + 1 for code in text.split("\n")[: line - 1]) + column - 1
    return position(text, start, start + 1)


# ── as text ──────────────────────────────────────────────────────────────────────────────────────────────────────────

WIDEST = 120
"""Columns of a line that are shown; of a longer one the part around the mark."""


class FragmentKind(Enum):
    """The kind of a fragment of a rendered diagnostic."""

    SEVERITY = "severity"
    MESSAGE = "message"
    PLACE = "place"
    FRAME = "frame"
    CODE = "code"
    MARK = "mark"
    LABEL = "label"
    TEXT = "text"


def render(diagnostic: Diagnostic) -> str:
    """Return the diagnostic as lines of text, without a newline at the end."""
    return "".join(text for _, text in parts(diagnostic))


def parts(diagnostic: Diagnostic) -> Iterator[tuple[FragmentKind, str]]:
    """Return the fragments of the text. Joined, they are the result of `render`."""
    code = f"[{diagnostic.code}]" if diagnostic.code else ""
    yield FragmentKind.SEVERITY, f"{diagnostic.severity.value}{code}"
    yield FragmentKind.MESSAGE, f": {diagnostic.message}"
    line = diagnostic.source
    margin = " " * (len(str(line.line)) if line is not None else 1)
    if line is not None:
        yield from _shown(line, margin)
    elif diagnostic.where or diagnostic.location is not None:
        yield FragmentKind.FRAME, f"\n {margin}--> "
        yield FragmentKind.PLACE, diagnostic.where or str(diagnostic.location)
    for note in diagnostic.notes:
        yield from _labelled("note", note, margin)
    if diagnostic.fix:
        yield from _labelled("Fix", diagnostic.fix, margin)


def _shown(line: SourceLine, margin: str) -> Iterator[tuple[FragmentKind, str]]:
    code, mark = _window(line.code, line.column - 1)
    code = "".join(x if x.isprintable() else " " for x in code)
    width = max(1, min(line.width, len(code) - mark))
    yield FragmentKind.FRAME, f"\n {margin}--> "
    yield FragmentKind.PLACE, place_text(line.file, line.line, line.column)
    yield FragmentKind.FRAME, f"\n {margin} |\n {line.line} | "
    yield FragmentKind.CODE, code.rstrip()
    yield FragmentKind.FRAME, f"\n {margin} | "
    yield FragmentKind.MARK, " " * mark + "^" * width


def _window(code: str, mark: int) -> tuple[str, int]:
    """The part of a line that is worth showing, and where the mark is in it."""
    start = max(0, mark - WIDEST // 2) if len(code) > WIDEST else 0
    return code[start : start + WIDEST], mark - start


def _labelled(label: str, text: str, margin: str) -> Iterator[tuple[FragmentKind, str]]:
    yield FragmentKind.FRAME, f"\n {margin} = "
    yield FragmentKind.LABEL, f"{label}: "
    yield FragmentKind.TEXT, text.replace("\n", f"\n {margin}   ")


def summary(diagnostics: Sequence[Diagnostic]) -> str:
    """Return the number of diagnostics of each severity, as in ``2 errors, 1 note``."""
    counts = ((sum(d.severity is s for d in diagnostics), s.value) for s in Severity)
    return ", ".join(f"{n} {word}{'' if n == 1 else 's'}" for n, word in counts if n)
