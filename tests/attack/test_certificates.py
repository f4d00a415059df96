"""Files that somebody else has written: certificates, journals, gaps, reproducers and lists of kills.

None of them executes anything, and whatever is in them ends in a result or in a typed error. That forgeries with a
digest that fits are refused one by one is in the tests of the certificates themselves.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from vyre_conform.address import Query
from vyre_conform.certificate import (
    BadCertificate,
    Certificate,
    NotCertifiable,
    certify,
    read_certificate,
    verify,
    write_certificate,
)
from vyre_conform.gaps import read_gaps
from vyre_conform.html import write_page
from vyre_conform.proving import prove
from vyre_conform.report import Report
from vyre_conform.reproducer import format_launch, read_reproducer
from vyre_conform.run import Run, read_run, write_run
from vyre_conform.suite import Suite, find
from vyre_foundation.errors import VyreError

NAME = "reference-scalar"
STRANGE: tuple[Any, ...] = (
    None, True, False, 0, -1, 2**70, 1.5, "", "x", "evil:ATTR", "\x00\ud7ff", "a" * 10_000,
    [], {}, [[]], {"": 0}, [None],
)  # fmt: skip


@pytest.fixture(scope="module")
def run() -> Run:
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("VYRE_")]:
            patch.delenv(name)
        found = prove([NAME], Suite(queries=(Query.parse("traps:*"), Query.parse("claims:mechanisms"))))
    return replace(found, sources={"commit": "c0ffee", "dirty": "false"})


@pytest.fixture(scope="module")
def certificate(run: Run) -> Certificate:
    return certify(Report(run), ["run"])


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a value of JSON."""
    found = [path] if path else []
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        found += places(child, (*path, key))
    return found


def mutated(value: Any, rng: Random) -> Any:
    """A copy of the value with something else, something more or something less at one place."""
    value = deepcopy(value)
    *way, last = rng.choice(places(value))
    inner = value
    for key in way:
        inner = inner[key]
    match rng.randrange(3):
        case 0:
            del inner[last]
        case 1:
            inner[last] = rng.choice(STRANGE)
        case _:
            new = rng.choice(STRANGE)
            if isinstance(inner, dict):
                inner[rng.choice(["evil", "fuzz", "seed", "backend"])] = new
            else:
                inner.append(new)
    return value


def test_what_is_not_what_was_certified_never_holds(certificate: Certificate, attacks: Any, tmp_path: Path) -> None:
    """Of random changes with a digest that fits, none is read and replayed as before but for what only the signer
    vouches for."""
    path, rng = tmp_path / "c", Random(attacks.seed)
    body = json.loads(json.dumps(dict(certificate.body)))
    # None of these cells depends on the seed, and one more query that means nothing leaves the corpus as it is.
    unread: dict[str, Any] = {"versions": {}, "seed": 0, "queries": []}
    trusted = ("run", "command", "host", "distributions", "sources", "kills")
    for _ in range(attacks.count(15)):
        changed = mutated(body, rng)
        write_certificate(Certificate(changed), path)
        try:
            found = read_certificate(path)
            holds = all(verify(found, name).holds for name in found.body["cells"])
        except VyreError:
            continue
        edited = {key for key in body if body[key] != changed.get(key)}
        reasons = [row["reason"] for row in body["not_passed"]] != [row["reason"] for row in changed["not_passed"]]
        same = {**body["task"], **unread} == {**changed["task"], **unread}
        is_harmless = edited <= {*trusted} or (edited == {"not_passed"} and reasons) or (edited == {"task"} and same)
        assert not holds or is_harmless, edited


def test_bytes_of_a_certificate_are_not_changed_unnoticed(
    certificate: Certificate, attacks: Any, tmp_path: Path
) -> None:
    path, rng = tmp_path / "c", Random(attacks.seed)
    write_certificate(certificate, path)
    whole = path.read_bytes()
    for _ in range(attacks.count(300)):
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(data[: rng.choice([len(data), rng.randrange(len(data))])])
        with suppress(BadCertificate):
            assert read_certificate(path).body == certificate.body


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"schema": ' * 50_000, "1" * 10_000, "NaN", '{"a": Infinity}', "\ud800"],
    ids=["lists", "objects", "digits", "nan", "infinity", "surrogate"],
)
def test_text_that_is_too_much_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "c"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(BadCertificate):
        read_certificate(path)


def rewritten(lines: list[Any], path: Path) -> None:
    """Lines of a run with digests that fit."""
    from vyre_conform.run import Journal

    path.unlink(missing_ok=True)
    journal = Journal(path)
    for line in lines:
        journal.write(line)
    journal.close()


def test_a_run_that_was_rewritten_is_shown_or_refused(run: Run, attacks: Any, tmp_path: Path) -> None:
    """With digests that fit. Nothing but a typed error comes out, and what differs in its cells is not certified."""
    path, rng = tmp_path / "run", Random(attacks.seed)
    write_run(run, path)
    lines = [json.loads(line.partition(" ")[2]) for line in path.read_text("utf-8").splitlines()]
    for _ in range(attacks.count(200)):
        changed = mutated(lines, rng)
        if not all(isinstance(line, dict) for line in changed):
            continue
        rewritten(changed, path)
        try:
            found = read_run(path)
            write_page(Report(found), tmp_path / "page.html", detailed=0)
            certify(Report(found), ["run"])
        except VyreError:
            continue
        assert [cell.key for cell in found.cells] == [cell.key for cell in run.cells]


def test_gaps_kills_and_reproducers_end_in_a_typed_error(attacks: Any, tmp_path: Path) -> None:
    from click import UsageError

    from vyre_conform.cli.options import read_kills

    rng, path = Random(attacks.seed), tmp_path / "file"
    texts: dict[Callable[[Path], object], str] = {
        read_gaps: '[[gap]]\ncells = "ops:*"\nbackend = "evil:ATTR"\nreason = "r"\nupstream = "u"\n',
        read_kills: '[{"fault": "f", "layer": "host", "summary": "s", "by": null, "how": "", "tried": 3}]',
        read_reproducer: format_launch(find("traps:one").case().launch, "title"),
    }
    for read, text in texts.items():
        path.write_text(text)
        read(path)
        for _ in range(attacks.count(100)):
            data = bytearray(text.encode())
            for _ in range(rng.randrange(1, 6)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            path.write_bytes(data)
            with suppress(VyreError, UsageError):
                read(path)


EXECUTES = """
import sys
from pathlib import Path
from click.testing import CliRunner
from vyre_conform.cli import conform
words = sys.argv[1:]
print(CliRunner().invoke(conform, words).output)
"""


def test_no_file_executes_anything(
    run: Run, certificate: Certificate, tmp_path: Path, bounded: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    """A certificate, signed or not, and a run that name a module as their backend: it lies in the working directory and
    on the path."""
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'a').write('x')\nATTR = 1\n")
    text = json.dumps(dict(certificate.body)).replace(NAME, "evil:ATTR")
    write_certificate(Certificate(json.loads(text)), tmp_path / "c.json")
    cells = [replace(cell, backend="evil:ATTR") for cell in run.cells]
    bad = replace(cells[0], state=type(cells[0].state)("fail"), reason="x")
    forged = replace(run, backends=[replace(run.backends[0], backend="evil:ATTR")], cells=[bad, *cells[1:]])
    write_run(forged, tmp_path / "run.jsonl")
    commands = (
        ("verify", "c.json"),
        ("verify", "c.json", "--backend", "evil:ATTR"),
        ("report", "run.jsonl", "--html", "page.html"),
        ("certify", "run.jsonl", "--certificate", "d.json"),
        ("diff", "run.jsonl", "run.jsonl"),
    )
    for words in commands:
        done = bounded(EXECUTES, *words, seconds=120, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(tmp_path)})
        assert done.returncode == 0, done.stderr
        assert not (tmp_path / "executed").exists(), words
    assert (
        "does not hold"
        in bounded(
            EXECUTES, "verify", "c.json", seconds=120, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(tmp_path)}
        ).stdout
    )
    done = bounded(
        EXECUTES, "verify", "c.json", "--on", "evil:ATTR", seconds=120, cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert (tmp_path / "executed").exists(), "the command line may name it"
    assert "not a registration" in done.stdout


def test_fewer_cells_than_the_task_are_never_certified(run: Run, attacks: Any) -> None:
    rng = Random(attacks.seed)
    for _ in range(attacks.count(20)):
        kept = rng.sample(run.cells, rng.randrange(len(run.cells)))
        fewer = replace(run, cells=kept, task=replace(run.task, cells=rng.choice([len(kept), run.task.cells])))
        with pytest.raises(NotCertifiable):
            certify(Report(fewer), ["run"])
