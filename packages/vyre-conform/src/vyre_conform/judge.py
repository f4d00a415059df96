"""From the outcome of a launch to its cells."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace

from vyre_conform.case import Case, Exactly, Launch, OutputSlice
from vyre_conform.cell import Cell, Digests, State
from vyre_conform.compare import bytes_of, describe, difference
from vyre_conform.digest import digest_of
from vyre_conform.gaps import Gap
from vyre_conform.oracle import Verdict
from vyre_conform.outcome import Crashed, Outcome, Raised, Returned, TimedOut


def judge(case: Case, verdict: Verdict, backend: str, outcome: Outcome, seconds: float = 0.0) -> list[Cell]:
    """The cells of a case whose outcome is there; `seconds` are those of its launch."""
    parts: tuple[OutputSlice | None, ...] = case.parts or (None,)
    program, launch = digests_of_launch(case.launch)
    cells = []
    for part in parts:
        cell = _cell(case, part, verdict, backend, outcome)
        digests = Digests(program, launch, *_digests(case.launch, part, verdict, outcome))
        cells.append(replace(cell, seconds=seconds / len(parts), digests=digests))
    return cells


def skip(case: Case, backend: str, reason: str) -> list[Cell]:
    """The cells of a case that no backend is judged by."""
    addresses = [part.address for part in case.parts] or [case.address]
    return [Cell(address=a, backend=backend, state=State.SKIPPED, reason=reason) for a in addresses]


def forgive(cell: Cell, gaps: Iterable[Gap]) -> Cell:
    """Known gaps may fail, and must."""
    gap = next((gap for gap in gaps if gap.concerns(cell)), None)
    if gap is None:
        return cell
    if cell.state.is_bad:
        return replace(cell, state=State.XFAIL, reason=f"{gap.reason} ({cell.reason})")
    if cell.state is State.PASS:
        return replace(cell, state=State.FAIL, reason=f"it passes: strike the known gap {gap.query.text!r}")
    return cell


def digests_of_launch(launch: Launch) -> tuple[str, str]:
    """The digests of the program and of the whole launch."""
    wire = launch.program.encode()
    return digest_of(wire), digest_of(*(part for one in launch.launches for part in _parts_of(one)))


def _parts_of(launch: Launch) -> Iterator[bytes]:
    """Everything that one launch is made of."""
    facts = [launch.grid, launch.workgroup, launch.iterations, launch.entry]
    yield launch.program.encode()
    yield json.dumps([*facts, launch.ulp_budget] if launch.ulp_budget else facts).encode()
    yield from (part for name, data in sorted(launch.inputs.items()) for part in (name.encode(), data))


def _cell(case: Case, part: OutputSlice | None, verdict: Verdict, backend: str, outcome: Outcome) -> Cell:
    address = part.address if part is not None else case.address
    found = difference(case.launch, verdict.expected, outcome, part)
    if found is None:
        return Cell(address=address, backend=backend, state=State.PASS)
    state, reason, log = State.FAIL, str(found), ""
    match outcome:
        case Crashed(words=words):
            state, reason, log = State.CRASHED, describe(outcome), words
        case TimedOut(words=words):
            state, reason, log = State.TIMEOUT, describe(outcome), words
        case Raised() if outcome.error == "UnsupportedFeature":
            state, reason = State.UNSUPPORTED, outcome.message
        case Raised() if outcome.error == "NotExercised":
            state, reason = State.SKIPPED, outcome.message
        case Raised() if outcome.error == "DispatchTimeout":
            state, reason, log = State.TIMEOUT, outcome.message, outcome.traceback
        case Raised():
            log = outcome.traceback
    return Cell(
        address=address,
        backend=backend,
        state=state,
        reason=reason,
        output=found.output,
        index=found.index,
        got=found.got,
        expected=found.expected,
        differing=found.count,
        window=found.window,
        log=log,
    )


def _digests(launch: Launch, part: OutputSlice | None, verdict: Verdict, outcome: Outcome) -> tuple[str, str]:
    """Of what was expected and of what came."""
    expected = got = ""
    if isinstance(verdict.expected, Exactly):
        expected = digest_of(*bytes_of(launch, verdict.expected.outputs, part))
    if isinstance(outcome, Returned):
        got = digest_of(*bytes_of(launch, outcome.outputs, part))
    if launch.ulp_budget and difference(launch, verdict.expected, outcome, part) is None:
        got = expected  # whatever is near enough is the same
    return expected, got
