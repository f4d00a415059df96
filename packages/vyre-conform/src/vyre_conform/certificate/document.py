"""The document: canonical JSON with a digest over itself, and signatures beside it.

Canonical: keys in order, no spaces, UTF-8, no floats. Two certificates with equal digests say the same. A digest keeps
nobody from writing another certificate: what a reader can check, and what not, is in the document as `TRUST`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vyre_conform.address import parse_address
from vyre_conform.cell import Cell, State
from vyre_conform.digest import digest_of
from vyre_conform.gaps import Gap, gaps_of
from vyre_conform.plain import read_json, require, texts
from vyre_conform.run import WHOLE, Task
from vyre_conform.worker.protocol import Hello
from vyre_foundation.errors import VyreError

SCHEMA = "vyre-conform certificate 4"
TRUST = {
    "shown by a replay": "task, cells, not_passed but for the words of its reasons, counts; backends, on that device",
    "compared with what is installed": "task.code, task.corpus, backends.code",
    "as the signer claims": "run, command, host, distributions, sources, backends.sources, kills, words of gaps and"
    " reasons; and that the run took place at all",
    "not said": "how programs in no case behave; what other devices, drivers, versions or seeds do; how fast it is",
}
"""What a reader has to trust, in every certificate."""
HARMLESS = frozenset(("VYRE_CACHE", "VYRE_CACHE_DIR", "VYRE_CACHE_SIZE", "VYRE_DEBUG"))
"""Settings that change nothing of what is judged; those that choose a device end with ``_DEVICE``."""
_FIELDS = frozenset(
    ("task", "run", "command", "host", "backends", "distributions", "sources", "cells", "not_passed", "kills", "counts")
)
_ROW = frozenset(("case", "backend", "state", "reason"))
LONGEST = 3600_000
"""Milliseconds that one launch of a certified task may have taken at most."""
MOST_REPEATS = 100


class BadCertificate(VyreError, ValueError):
    """A file that is not a certificate, was changed, or contradicts itself."""

    code = "E1211"


@dataclass(frozen=True, slots=True)
class Certificate:
    """`body` is what is certified (see `certify`); `signatures` map public keys in hex to signatures in hex."""

    body: Mapping[str, Any]
    signatures: Mapping[str, str] = field(default_factory=dict)

    @property
    def message(self) -> bytes:
        """The bytes that the digest is over and that are signed."""
        return canonical(self.body)

    @property
    def digest(self) -> str:
        """BLAKE3 of the body, in hex."""
        return digest_of(SCHEMA.encode(), self.message)

    @property
    def task(self) -> Task:
        """What was judged."""
        return task_of(self.body)

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """The cells that were allowed to fail."""
        return gaps_of(self.task.gaps)

    def states(self, backend: str) -> dict[str, State]:
        """How each cell of a backend has ended, by address."""
        states = dict.fromkeys(self.body["cells"][backend], State.PASS)
        rows = (row for row in self.body["not_passed"] if row["backend"] == backend)
        return states | {row["case"]: State(row["state"]) for row in rows}


def canonical(value: object) -> bytes:
    """A value as the only JSON text that stands for it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def cell_digest(cell: Cell) -> str:
    """What a replay of a cell has to give again, on whatever backend: the launch, what was expected, how it ended.

    A cell that passes gave what was expected, in some order where the order is the schedule's.
    """
    digests = cell.digests
    parts = (str(cell.address), cell.state.value, digests.program, digests.launch, digests.expected)
    return digest_of(*(part.encode() for part in parts))


def write_certificate(certificate: Certificate, path: Path) -> None:
    """Write it; equal certificates give equal files."""
    document = {
        "schema": SCHEMA,
        "digest": certificate.digest,
        "trust": TRUST,
        "certificate": dict(certificate.body),
        "signatures": dict(certificate.signatures),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, sort_keys=True, indent=1, ensure_ascii=False) + "\n", "utf-8")


def read_certificate(path: Path) -> Certificate:
    """The certificate in a file. `BadCertificate` if it was changed without its digest, or contradicts itself.

    Signatures are not looked at, and nothing is judged: that its digest fits shows only that it was written whole.
    """
    try:
        document = require(read_json(path.read_text("utf-8")), dict, what="the document")
        if document.get("schema") != SCHEMA:
            raise ValueError(f"it is of the schema {document.get('schema')!r}, not {SCHEMA!r}")
        if document.get("trust") != TRUST:
            raise ValueError("it does not say what certificates of this schema ask a reader to trust")
        body = require(document.get("certificate"), dict, what="the certificate")
        found = Certificate(body, texts(document.get("signatures"), "signatures"))
        if found.digest != document.get("digest"):
            raise ValueError("what it says is not what its digest stands for")
        if wrong := next(contradictions(body), None):
            raise ValueError(wrong)
    except ValueError as error:
        fix = "take the file as it was written, or certify again"
        raise BadCertificate(f"it is no certificate: {error}", fix=fix, where=str(path)) from error
    return found


def contradictions(body: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with a certificate as such: each thing that `certify` would not have written.

    Raises `ValueError` where a field is missing or of another type.
    """
    if body.keys() != _FIELDS:
        raise ValueError(f"it has not the fields of a certificate: {', '.join(sorted(body.keys() ^ _FIELDS))}")
    task, cells, rows = task_of(body), _cells(body), _rows(body)
    if task.shard != WHOLE:
        yield "it certifies one shard of a run"
    if not cells or not all(cells.values()):
        yield "it certifies no cell"
    hellos = [Hello.from_json(hello) for hello in _list(body, "backends")]
    if sorted(hello.backend for hello in hellos) != sorted(cells):
        yield "its cells are not those of its backends"
    for name, digests in cells.items():
        if len(digests) != task.cells:
            yield f"it has {len(digests)} cells on {name}, its task {task.cells}"
    yield from _wrong_rows(rows, cells, gaps_of(task.gaps))
    if body["counts"] != counted(body):
        yield "its counts are not those of its cells"
    for kill, by in require(body["kills"], dict, what="kills").items():
        if not isinstance(by, str):
            yield f"the planted fault {kill} survived"
    if texts(body["sources"], "sources").get("dirty") == "true":
        yield "the sources have changes that are not committed"
    for hello in hellos:
        if hello.sources.get("dirty") == "true":
            yield f"the sources of {hello.backend} ({hello.packages}) have changes that are not committed"
    for name in texts(body["host"], "host"):
        if name.startswith("VYRE_") and name not in HARMLESS and not name.endswith("_DEVICE"):
            yield f"{name} is set in the environment"


def task_of(body: Mapping[str, Any]) -> Task:
    """The task of a certificate; `ValueError` for one that cannot be judged again."""
    facts = dict(require(body.get("task"), dict, what="the task"))
    milliseconds = require(facts.pop("milliseconds", None), int, what="milliseconds")
    task = Task.from_json(facts | {"seconds": milliseconds / 1000})
    if milliseconds > LONGEST or task.repeats > MOST_REPEATS:
        raise ValueError(f"each launch was given {milliseconds} ms and repeated {task.repeats} times")
    return task


def counted(body: Mapping[str, Any]) -> dict[str, int]:
    """How many cells of each backend have ended how, from the cells themselves."""
    counts = Counter({f"{backend} {State.PASS.value}": len(cells) for backend, cells in body["cells"].items()})
    for row in body["not_passed"]:
        counts[f"{row['backend']} {State.PASS.value}"] -= 1
        counts[f"{row['backend']} {row['state']}"] += 1
    return {name: count for name, count in sorted(counts.items()) if count}


def _wrong_rows(rows: list[dict[str, str]], cells: dict[str, dict[str, str]], gaps: tuple[Gap, ...]) -> Iterator[str]:
    """Of the list of cells that do not pass: strangers, repetitions, failures, gaps that the task does not know."""
    seen = set()
    for row in rows:
        case, backend, state = row["case"], row["backend"], State(row["state"])
        if case not in cells.get(backend, {}) or (case, backend) in seen:
            yield f"{case} on {backend} is not a cell of it, or is listed twice"
        seen.add((case, backend))
        if state.is_bad or state is State.PASS:
            yield f"{case} on {backend} is listed as {state.value}"
        gap = next(
            (g for g in gaps if g.concerns(Cell(address=parse_address(case), backend=backend, state=state))), None
        )
        if state is State.XFAIL and (gap is None or not row["reason"].startswith(f"{gap.reason} (")):
            yield f"{case} on {backend} is no known gap of the task"


def _cells(body: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    return {name: texts(cells, "cells") for name, cells in require(body["cells"], dict, what="cells").items()}


def _rows(body: Mapping[str, Any]) -> list[dict[str, str]]:
    rows = [texts(row, "not_passed") for row in _list(body, "not_passed")]
    for row in rows:
        if row.keys() != _ROW:
            raise ValueError("an entry of not_passed is not case, backend, state and reason")
    return rows


def _list(body: Mapping[str, Any], name: str) -> list[Any]:
    found: list[Any] = require(body[name], list, what=name)
    return found
