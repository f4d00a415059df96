"""A run: what was judged, where, with which versions, and every cell of it; as a file that only ever grows.

The file is lines of JSON. Each carries a digest over itself and the line before, so a line that was changed, left out
or moved is found. The first says what the run is about, the last that it is complete. A run that was interrupted goes
on where its file ends; runs over the shards of one task are merged into one.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import IntEnum
from pathlib import Path
from typing import IO, Any

from vyre_conform.address import Address, parse_address
from vyre_conform.cell import Cell, OracleMismatch, State, Undecided
from vyre_conform.digest import digest_of
from vyre_conform.plain import checked, read_json, require, texts
from vyre_conform.worker.protocol import Hello
from vyre_driver.observe.writing import named, writing
from vyre_foundation.errors import VyreError

FORMAT = 5
WHOLE = (1, 1)
OPTION = "--journal"
"""What messages call the file of a run."""


class Exit(IntEnum):
    """The status of the command."""

    PROVEN = 0
    """Every cell passes, is unsupported, or is a known gap, and each backend passes some."""
    FAILED = 1
    """A cell failed, crashed or timed out, or a planted fault was not found."""
    USAGE = 2
    """A query that means nothing, or a file, or standard output, that cannot be read or written."""
    UNAVAILABLE = 3
    """A backend that was asked for cannot run here, or none can: a run without a cell proves nothing."""
    MISMATCH = 4
    """The opinions disagree about a case: the suite, not a backend, is in doubt."""
    INCOMPLETE = 5
    """Nothing is wrong so far, and cells are missing: the run was interrupted, or an opinion did not come in time."""
    UNPROVEN = 6
    """Nothing is wrong, and a backend passes no cell: it refuses them, so nothing is shown of it."""
    INTERRUPTED = 130
    """Another command than `run` was interrupted from the keyboard."""


class BadRun(VyreError, ValueError):
    """A file that is not a run, or was changed after it was written."""

    code = "E1204"


class RunsDiffer(VyreError, ValueError):
    """Runs with different tasks, or an incomplete set of shards."""

    code = "E1205"


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a run is about. Runs with equal tasks judge the same cells in the same way."""

    seed: int
    queries: tuple[str, ...]
    size: str
    fuzz: int
    repeats: int
    seconds: float
    corpus: str
    """BLAKE3 over the addresses of the cells, before sharding, in hex."""
    cells: int
    """How many of them there are on each backend, before sharding."""
    gaps: tuple[tuple[str, str, str, str], ...] = ()
    """Known gaps, as `Gap.row` gives them: all that decides which cells may fail, and why."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Distributions that took part in judging."""
    code: str = ""
    """BLAKE3 over the sources of vyre that took part in judging, in hex."""
    shard: tuple[int, int] = WHOLE
    """This part, counted from 1, and how many parts there are."""

    @property
    def whole(self) -> Task:
        """The same task without a shard."""
        return replace(self, shard=WHOLE)

    def to_json(self) -> dict[str, Any]:
        """Give the fields as JSON has them."""
        return asdict(self)

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Task:
        """The inverse of `to_json`; raises `ValueError` for anything else."""
        part, parts = (require(n, int, what="shard") for n in _sized(facts.get("shard"), 2, "shard"))
        rows = require(facts.get("gaps"), list, what="gaps")
        task = checked(
            cls,
            facts,
            queries=tuple(require(q, str, what="a query") for q in require(facts.get("queries"), list, what="queries")),
            gaps=tuple(tuple(require(word, str, what="a gap") for word in _sized(row, 4, "a gap")) for row in rows),
            versions=texts(facts.get("versions"), "versions"),
            shard=(part, parts),
        )
        if not (0 <= task.fuzz <= task.cells and 1 <= part <= parts and task.repeats >= 1 and task.seconds > 0):
            raise ValueError("the numbers of the task are inconsistent")
        return task


def _sized(value: object, count: int, what: str) -> list[Any]:
    found: list[Any] = require(value, list, what=what)
    if len(found) != count:
        raise ValueError(f"{what} has {len(found)} parts, expected {count}")
    return found


@dataclass(slots=True, kw_only=True)
class Run:
    """The cells of a task, in corpus order once the run is complete."""

    task: Task
    host: Mapping[str, str] = field(default_factory=dict)
    """The machine and the configuration that the environment gives: names and values as text."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """What git says of the checkout when the run began; empty outside of one."""
    backends: list[Hello] = field(default_factory=list)
    cells: list[Cell] = field(default_factory=list)
    mismatches: list[OracleMismatch] = field(default_factory=list)
    undecided: dict[Address, Undecided] = field(default_factory=dict)
    """Cases without a verdict so far, by address: they have no cells."""
    coverage: Counter[tuple[str, ...]] = field(default_factory=Counter)
    """How often the textbook evaluator executed each kind of node; ``("load", "u32", "workgroup")``."""
    seconds: float = 0.0
    is_complete: bool = False
    digest: str = ""
    """Of the last line of the file: it stands for all that is in it."""

    def matrix(self) -> dict[str, dict[str, Counter[State]]]:
        """Group → backend → how many cells ended how."""
        table: dict[str, dict[str, Counter[State]]] = {}
        for cell in self.cells:
            table.setdefault(cell.address.group, {}).setdefault(cell.backend, Counter())[cell.state] += 1
        return table

    def bad(self) -> list[Cell]:
        """The cells that should not be."""
        return [cell for cell in self.cells if cell.state.is_bad]

    @property
    def exit(self) -> Exit:
        """The exit code that the cells and the opinions call for."""
        if self.bad():
            return Exit.FAILED
        if self.mismatches:
            return Exit.MISMATCH
        if self.undecided:
            return Exit.INCOMPLETE
        if not self.cells or any(hello.problem for hello in self.backends):
            return Exit.UNAVAILABLE
        if not self.is_complete:
            return Exit.INCOMPLETE
        return Exit.UNPROVEN if self.without_pass else Exit.PROVEN

    @property
    def without_pass(self) -> list[str]:
        """The backends that pass none of their cells."""
        passing = {cell.backend for cell in self.cells if cell.state is State.PASS}
        return list(dict.fromkeys(cell.backend for cell in self.cells if cell.backend not in passing))

    @property
    def missing(self) -> str:
        """Why the run has not every cell of its task once on every backend that took part; "" if it has."""
        counts = Counter(cell.key for cell in self.cells)
        working = {hello.backend for hello in self.backends if not hello.problem}
        known = all(cell.backend in working for cell in self.cells)
        if known and len(counts) == len(self.cells) == self.task.cells * len(working):
            return ""
        return f"{len(self.cells)} cells were merged, expected {self.task.cells} on each of {len(working)} backends"

    def on(self, backend: str) -> list[Cell]:
        """The cells of one backend."""
        return [cell for cell in self.cells if cell.backend == backend]

    def take(self, line: Mapping[str, Any]) -> None:
        """Add what a line of the file says."""
        match line:
            case {"backend": facts}:
                self.backends.append(Hello.from_json(facts))
            case {"cell": facts}:
                cell = Cell.from_json(facts)
                if all(cell.backend != hello.backend for hello in self.backends):
                    raise ValueError(f"no backend {cell.backend!r} took part in the run")
                self.cells.append(cell)
            case {"mismatch": facts}:
                self.mismatches.append(OracleMismatch.from_json(facts))
            case {"undecided": facts}:
                late = Undecided.from_json(facts)
                self.undecided[late.address] = late
            case {"decided": case}:
                self.undecided.pop(parse_address(require(case, str, what="case")), None)
            case {"coverage": facts}:
                counts = require(facts, dict, what="coverage").items()
                self.coverage.update({tuple(k.split(".")): require(n, int, what="coverage") for k, n in counts})
            case {"paused": seconds} | {"complete": seconds}:
                self.seconds, self.is_complete = require(seconds, int, float, what="seconds"), "complete" in line
            case _:
                raise ValueError("nothing that a run has")

    def lines(self) -> Iterable[dict[str, Any]]:
        """All of a complete run, as `take` takes it."""
        yield header(self)
        yield from ({"backend": asdict(hello)} for hello in self.backends)
        yield from ({"mismatch": d.to_json()} for d in self.mismatches)
        yield from ({"cell": cell.to_json()} for cell in self.cells)
        if self.coverage:
            yield {"coverage": {".".join(kind): count for kind, count in sorted(self.coverage.items())}}
        yield {"complete": round(self.seconds, 3)}


def header(run: Run) -> dict[str, Any]:
    """The first line of the file."""
    return {"task": run.task.to_json(), "host": dict(run.host), "sources": dict(run.sources), "format": FORMAT}


class Journal:
    """The file of a run while it grows; without a path the digests are computed all the same."""

    def __init__(self, path: Path | None, digest: str = "") -> None:
        self.digest = digest
        self._path = path
        self._file: IO[str] | None = None
        if path is not None:
            with writing(path, OPTION):
                self._file = path.open("a", encoding="utf-8")

    def write(self, line: Mapping[str, Any]) -> None:
        """Append a line; after this call it is the operating system's."""
        text = json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        self.digest = _link(self.digest, text)
        if self._path is not None and self._file is not None:
            with named(self._path, OPTION):
                try:
                    self._file.write(f"{self.digest} {text}\n")
                    self._file.flush()
                except OSError:
                    self._give_up()
                    raise

    def _give_up(self) -> None:
        """Write nothing more: closing a file that cannot take its last line fails, too."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    def close(self) -> None:
        """Close the file; what is written is complete."""
        if self._path is not None and self._file is not None:
            with named(self._path, OPTION):
                self._file.close()


def new_journal(path: Path | None) -> Journal:
    """A journal without a line in place of the file that is there; a device or a pipe stays what it is."""
    if path is not None and path.is_file():
        with named(path, OPTION):
            path.unlink()
    return Journal(path)


def require_new(path: Path) -> None:
    """Raise `RunsDiffer` for a file that a new run would replace, unless it is empty or a run without cells."""
    if not path.exists() or not path.stat().st_size:
        return
    try:
        if read_run(path).cells:
            raise RunsDiffer(f"{path} has the cells of a run", fix="pass --resume, --overwrite, or another file")
    except BadRun:
        raise RunsDiffer(f"{path} is another file, or a damaged journal", fix="name another file") from None


def read_run(path: Path) -> Run:
    """The run in a file, `BadRun` if any byte of it is not what was written.

    A last line that was cut off in the middle is what an interruption leaves: it does not count, and the run is not
    complete.
    """
    whole, _, _ = path.read_bytes().rpartition(b"\n")
    run: Run | None = None
    digest = ""
    for number, line in enumerate(whole.decode("utf-8", "replace").split("\n") if whole else (), 1):
        link, _, text = line.partition(" ")
        digest = _link(digest, text)
        if link != digest:
            raise _bad(path, number, "it is not the line that was written here")
        try:
            run = _take(run, require(read_json(text), dict, what="the line"))
        except ValueError as error:
            raise _bad(path, number, str(error)) from error
    if run is None:
        raise _bad(path, 1, "it does not say what the run is about")
    run.digest = digest
    return run


def reopen(path: Path, run: Run) -> Journal:
    """The file that `run` was read from, without the line that was cut off."""
    whole = path.read_bytes().rfind(b"\n") + 1
    with path.open("rb+") as file:
        file.truncate(whole)
    return Journal(path, run.digest)


def write_run(run: Run, path: Path | None = None) -> str:
    """Write a complete run into a new file; its digest."""
    journal = new_journal(path)
    for line in run.lines():
        journal.write(line)
    journal.close()
    return journal.digest


def merge(runs: Sequence[Run]) -> Run:
    """One run out of the complete runs over all shards of one task; `RunsDiffer` if they are anything else."""
    ordered = sorted(runs, key=lambda run: run.task.shard)
    if not ordered or any(run.task.whole != ordered[0].task.whole for run in ordered):
        raise RunsDiffer("the runs are not about the same task", fix="merge the shards of one run")
    count = ordered[0].task.shard[1]
    if [run.task.shard for run in ordered] != [(n, count) for n in range(1, count + 1)]:
        have = ", ".join(f"{part}/{parts}" for part, parts in (run.task.shard for run in ordered))
        raise RunsDiffer(f"the shards {have} are not a whole", fix="give each of the shards once")
    if not all(run.is_complete for run in ordered):
        raise RunsDiffer("a shard is not complete", fix="resume its run first")
    if any(run.sources != ordered[0].sources for run in ordered):
        raise RunsDiffer("the shards ran from different sources", fix="run all of them from one commit")
    if any(run.backends != ordered[0].backends for run in ordered):
        raise RunsDiffer("the shards ran on different backends or devices, or from different sources of a backend",
                         fix="run all of them on like machines, with the same packages installed")  # fmt: skip
    first = ordered[0]
    merged = Run(task=first.task.whole, host=first.host, sources=first.sources, backends=first.backends)
    merged.cells = [cell for run in ordered for cell in run.cells]
    if problem := merged.missing:
        raise RunsDiffer(problem, fix="run the shards again")
    merged.mismatches = [mismatch for run in ordered for mismatch in run.mismatches]
    for run in ordered:
        merged.coverage.update(run.coverage)
    merged.seconds, merged.is_complete = sum(run.seconds for run in ordered), True
    merged.digest = write_run(merged)
    return merged


def _link(before: str, text: str) -> str:
    return digest_of(before.encode(), text.encode())


def _take(run: Run | None, line: dict[str, Any]) -> Run:
    if run is None:
        if line.get("format") != FORMAT:
            raise ValueError(f"it is not of format {FORMAT}")
        task = Task.from_json(require(line.get("task"), dict, what="the task"))
        return Run(task=task, host=texts(line.get("host"), "host"), sources=texts(line.get("sources"), "sources"))
    if run.is_complete:
        raise ValueError("the run was complete before it")
    run.take(line)
    return run


def _bad(path: Path, number: int, why: str) -> BadRun:
    return BadRun(f"line {number} cannot be trusted: {why}", fix="run again, or take the file that was written",
                  where=f"{path}:{number}")  # fmt: skip
