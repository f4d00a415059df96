"""How commands answer: tables for people, one JSON document for programs, an exit code for shells."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import click
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from vyre.bars import progress
from vyre.cli.exit import ExitCode
from vyre.cli.raised import of_a_backend
from vyre_driver.errors import (
    BackendError,
    BackendUnavailable,
    BadArtifact,
    BadCapsule,
    InvalidGraph,
    InvalidInput,
    InvalidLaunch,
    InvalidSetting,
    MissingExtra,
    UnknownBackend,
)
from vyre_driver.observe.diagnostics import Diagnostic, FragmentKind, Severity, Source, diagnose, parts, summary
from vyre_driver.pipeline.settings import flag, setting
from vyre_foundation.errors import DamagedDistribution, VyreError
from vyre_foundation.validate.facts import InvalidProgram
from vyre_reference.errors import EvaluationError

JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
"""The option of every command that has a result."""


def exit_code(error: VyreError) -> ExitCode:
    """The code that tells a shell what kind of failure `error` is."""
    match error:
        case BackendUnavailable() | UnknownBackend() | MissingExtra() | DamagedDistribution():
            return ExitCode.UNAVAILABLE
        case InvalidProgram() | InvalidGraph() | EvaluationError():
            return ExitCode.FAILED
        case BadArtifact() | BadCapsule() | InvalidInput() | InvalidLaunch() | InvalidSetting():
            return ExitCode.USAGE
        case BackendError():
            return ExitCode.DISPATCH
        case _:
            return ExitCode.USAGE


def _of_the_system(error: OSError | MemoryError) -> VyreError:
    """What the operating system refused: a file that cannot be read or written, or memory."""
    if isinstance(error, MemoryError):
        return VyreError("the memory does not suffice", fix="give less input, or use a larger machine")
    if error.strerror is None:
        message, _, fix = str(error).partition(". Fix: ")
        return VyreError(message, fix=fix or "look at the message")
    files = " → ".join(str(name) for name in (error.filename, error.filename2) if name is not None)
    return VyreError(error.strerror, where=files, fix="name a file that can be read, or a place that can be written")


_COLOURS = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.NOTE: "bold cyan"}
_STYLES = {
    FragmentKind.MESSAGE: "bold",
    FragmentKind.PLACE: "cyan",
    FragmentKind.FRAME: "blue",
    FragmentKind.CODE: "",
    FragmentKind.LABEL: "bold",
    FragmentKind.TEXT: "",
}


def coloured(diagnostic: Diagnostic) -> Text:
    """A diagnostic for a terminal; elsewhere the colours are left out."""
    loud = _COLOURS[diagnostic.severity]
    return Text.assemble(*((text, _STYLES.get(part, loud)) for part, text in parts(diagnostic)))


MAX_UNBROKEN = 16
"""Columns of at most this many characters are never broken."""


def _size(cells: Sequence[Text]) -> Measurement:
    """The least and the greatest number of characters that a column can use."""
    lines = max((cell_len(line) for cell in cells for line in cell.plain.splitlines()), default=0)
    words = max((cell_len(word) for cell in cells for word in cell.plain.split()), default=0)
    return Measurement(lines if lines <= MAX_UNBROKEN else words, lines)


def _widths(sizes: Sequence[Measurement], available: int) -> list[int]:
    """How wide columns are that have `available` characters together: the least, and a fair share of the rest."""
    widths = [size.minimum for size in sizes]
    rest = available - sum(widths)
    by_wish = sorted(range(len(sizes)), key=lambda n: sizes[n].span)
    for others, n in zip(range(len(sizes), 0, -1), by_wish, strict=True):
        share = min(sizes[n].span, rest // others)
        widths[n] += share
        rest -= share
    return widths


class Answer:
    """Where a command puts its result: one JSON document with ``--json``, else text on the terminal.

    `source` gives the text of the program that the command is about, for errors that have a place in it.
    """

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.source: Callable[[], Source] | None = None
        self.console = Console(highlight=False)
        self.errors = Console(stderr=True, highlight=False)

    def json(self, document: Mapping[str, Any]) -> None:
        """Print a document as indented JSON."""
        click.echo(json.dumps(document, indent=2))

    def table(
        self, title: str, columns: Sequence[str], rows: Iterable[Sequence[str | Text]], right: Collection[str] = ()
    ) -> None:
        """Title and cells are taken as they are: a bracket is a bracket. Cells of the columns in `right` end there.

        On a terminal, long columns share what short ones leave, and lines break at spaces only; if that is too little
        for a word, the table becomes a list. Elsewhere a table is as wide as it has to be.
        """
        cells = [[Text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
        sizes = [_size([Text(column), *(row[n] for row in cells)]) for n, column in enumerate(columns)]
        edges = 3 * len(columns) + 1
        available = self.console.width - edges if self.console.is_terminal else sum(size.maximum for size in sizes)
        if title:
            self.console.print(Text(title, "italic"), soft_wrap=True)
        if sum(size.minimum for size in sizes) > available:
            self._list(columns, cells)
            return
        table = Table(header_style="bold", box=SIMPLE_HEAD)
        for column, width in zip(columns, _widths(sizes, available), strict=True):
            table.add_column(column, width=width, justify="right" if column in right else "left")
        for row in cells:
            table.add_row(*row)
        table.width = None if self.console.is_terminal else available + edges
        self.console.print(table, crop=False)

    def _list(self, columns: Sequence[str], rows: Iterable[Sequence[Text]]) -> None:
        """Rows without a table: the first cell, and the others below it, each with the name of its column."""
        for first, *others in rows:
            lines = [Text.assemble(first, style="bold")]
            lines += [Text(f"  {name}: ").append(cell) for name, cell in zip(columns[1:], others, strict=True) if cell]
            for line in lines:
                longest = max(map(cell_len, line.plain.split()), default=0)
                for part in line.wrap(self.console, max(self.console.width, longest + 2)):
                    self.console.print(part, soft_wrap=True)

    @contextmanager
    def failures(self) -> Iterator[None]:
        """Turn errors into a message and an exit code.

        These are errors that carry a remedy, exceptions of other classes out of a backend, files that cannot be read or
        written, and memory that does not suffice. `VYRE_DEBUG=1` shows their traceback too.
        """
        try:
            flag("VYRE_DEBUG")
            yield
        except VyreError as error:
            self._trace()
            self._explain(error)
            raise SystemExit(int(exit_code(error))) from None
        except (Exception, SystemExit) as error:
            found: VyreError | None = of_a_backend(error)
            if found is None and isinstance(error, (OSError, MemoryError)) and not isinstance(error, BrokenPipeError):
                found = _of_the_system(error)
            if found is None:
                raise
            self._trace()
            self.tell(found, type(error).__name__)
            raise SystemExit(int(exit_code(found))) from None

    def tell(self, error: VyreError, kind: str) -> None:
        """One line about what has no class of its own."""
        if self.as_json:
            facts = {"code": "", "kind": kind, "where": error.where}
            self.json({"error": {**facts, "message": error.message, "fix": error.fix, "diagnostics": []}})
        else:
            self.errors.print(str(error), markup=False, soft_wrap=True)

    def _trace(self) -> None:
        if setting("VYRE_DEBUG") == "1":
            self.errors.print_exception()

    def progress(self) -> AbstractContextManager[None]:
        """Show progress on standard error while the context lasts; not beside a JSON document."""
        return nullcontext() if self.as_json else progress(self.errors)

    def show(self, diagnostics: Iterable[Diagnostic]) -> None:
        """Diagnostics for people, on standard error."""
        for diagnostic in diagnostics:
            self.errors.print(coloured(diagnostic), soft_wrap=True, end="\n\n")

    def _explain(self, error: VyreError) -> None:
        found = diagnose(error, self.source() if self.source is not None else None)
        if self.as_json:
            facts = {"code": error.code, "kind": type(error).__name__, "where": error.where}
            shown = [diagnostic.to_json() for diagnostic in found]
            self.json({"error": {**facts, "message": error.message, "fix": error.fix, "diagnostics": shown}})
            return
        self.show(found)
        if isinstance(error, InvalidProgram):
            more = f"`vyre explain {found[0].code}` says more"
            self.errors.print(f"{error.where}: {summary(found)}; {more}", markup=False)


def readable_size(count: float) -> str:
    """Bytes with a unit, powers of 1024."""
    for unit in ("B", "KiB", "MiB"):
        if abs(count) < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def readable_time(seconds: float | None) -> str:
    """A duration with a unit; a dash where it is not known."""
    if seconds is None:
        return "–"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{_short(seconds / scale)} {unit}"
    return f"{_short(seconds * 1e9)} ns"


def _short(number: float) -> str:
    """About three digits, without an exponent."""
    return f"{number:.0f}" if number >= 100 else f"{number:.3g}"
