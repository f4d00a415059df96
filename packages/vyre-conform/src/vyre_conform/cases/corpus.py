"""Programs that are written as text, with what they must give beside them.

The comments of a file say how its program is run: ``# run: NAME`` begins a run, with ``grid=X,Y,Z``,
``workgroup=X,Y,Z`` and ``iterations=N`` behind the name. Then come lines of ``in BUFFER = VALUES``,
``out BUFFER = VALUES``, ``out BUFFER ~ VALUES`` (in any order), or ``trap "TAG" code=N invocation=N``. Outputs that are
not named are empty.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, ExpectedTrap, Launch, Spec, fixed
from vyre_conform.cases.values import pack
from vyre_driver.backend.config import Extent
from vyre_foundation.dtype import DType
from vyre_foundation.errors import VyreError
from vyre_foundation.ops.scalar import Scalar, round_float
from vyre_foundation.text import parse

LINE = re.compile(r"#\s+(run:|in|out|trap)\s+(.*)")


class BadCorpus(VyreError, ValueError):
    """A line of a corpus file that cannot be interpreted."""

    code = "E1209"


@dataclass(slots=True)
class CorpusRun:
    """One run of a program, as it is written."""

    name: str
    settings: dict[str, str]
    inputs: dict[str, list[str]] = field(default_factory=dict)
    outputs: dict[str, list[str]] = field(default_factory=dict)
    unordered: list[str] = field(default_factory=list)
    trap: ExpectedTrap | None = None


def specs() -> Iterator[Spec]:
    for name, text in texts().items():
        for run in runs_of(text, name):
            yield fixed(address("corpus", name, run=run.name), worked_out, text, run)


@cache
def texts() -> dict[str, str]:
    """The files of the corpus by name."""
    found = [entry for entry in files("vyre_conform").joinpath("corpus").iterdir() if entry.name.endswith(".vyre")]
    return {entry.name.removesuffix(".vyre"): entry.read_text("utf-8") for entry in sorted(found, key=lambda e: e.name)}


def runs_of(text: str, name: str) -> list[CorpusRun]:
    """The runs that the comments of `text` describe."""
    runs: list[CorpusRun] = []
    for number, line in enumerate(text.splitlines(), 1):
        found = LINE.fullmatch(line)
        if found is None:
            continue
        where = f"{name}.vyre:{number}"
        kind, rest = found.groups()
        if kind == "run:":
            first, *settings = rest.split()
            runs.append(CorpusRun(first, dict(word.split("=", 1) for word in settings)))
        elif not runs:
            raise BadCorpus(f"{line!r} stands before any run", fix="write `# run: NAME` above it", where=where)
        else:
            _LINES[kind](runs[-1], rest, where)
    return runs


def _in(run: CorpusRun, rest: str, where: str) -> None:
    name, sign, values = rest.partition("=")
    _require(bool(sign), rest, where)
    run.inputs[name.strip()] = values.split()


def _out(run: CorpusRun, rest: str, where: str) -> None:
    found = re.fullmatch(r"(\S+)\s*([=~])(.*)", rest)
    _require(found is not None, rest, where)
    assert found is not None
    name, sign, values = found.groups()
    run.outputs[name] = values.split()
    if sign == "~":
        run.unordered.append(name)


def _trap(run: CorpusRun, rest: str, where: str) -> None:
    tag, *words = shlex.split(rest)
    facts = dict(word.split("=", 1) for word in words if "=" in word)
    _require(set(facts) == {"code", "invocation"}, rest, where)
    run.trap = ExpectedTrap(tag, int(facts["code"]), int(facts["invocation"]))


_LINES: dict[str, Callable[[CorpusRun, str, str], None]] = {"in": _in, "out": _out, "trap": _trap}


def _require(holds: bool, text: str, where: str) -> None:
    if not holds:
        fix = 'write `in NAME = VALUES`, `out NAME = VALUES` or `trap "TAG" code=N invocation=N`'
        raise BadCorpus(f"{text!r} cannot be read", fix=fix, where=where)


def worked_out(text: str, run: CorpusRun) -> tuple[Launch, Expected]:
    """The launch of a run, and what it must give."""
    program = parse(text)
    launch = Launch(
        program=program,
        inputs={b.name: _bytes(b.dtype, run.inputs.get(b.name, [])) for b in program.inputs},
        grid=_extent(run.settings.get("grid")),
        workgroup=_extent(run.settings.get("workgroup")),
        iterations=int(run.settings.get("iterations", "1")),
    )
    if run.trap is not None:
        return launch, run.trap
    outputs = tuple(_bytes(b.dtype, run.outputs.get(b.name, [])) for b in program.outputs)
    return launch, Exactly(outputs, unordered=tuple(run.unordered))


def _bytes(dtype: DType, words: list[str]) -> bytes:
    return pack(dtype, [_value(dtype, word) for word in words])


def _value(dtype: DType, word: str) -> Scalar:
    if dtype.is_float:
        return round_float(dtype, float(word))
    return int(word, 0) if dtype.is_integer else word == "true"


def _extent(text: str | None) -> Extent | None:
    if text is None:
        return None
    x, y, z = (int(word) for word in text.split(","))
    return x, y, z
