"""What the parent and a worker say to each other: a line of JSON, then the blobs whose sizes it gives.

The first message comes from the worker and says which backend it has. Then the parent sends launches and gets an
outcome for each, or programs that are known together, and hears when they are compiled. Programs travel in their wire
form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from typing import Any, Protocol

from vyre_conform.case import Launch
from vyre_conform.outcome import Outcome, Raised, Returned
from vyre_conform.plain import checked, texts, without
from vyre_driver.backend.config import Extent
from vyre_foundation.ir.program import Program
from vyre_foundation.wire import decode

LEAVE: dict[str, Any] = {"leave": True}
"""Asks a worker to end while its streams stay open, for the one that follows it."""
KNOWN = 64
"""Programs that a worker remembers: those of one preparation are sent once more to be launched."""


class Closed(Exception):
    """The other side is gone."""


class Sink(Protocol):
    """Where messages go."""

    def write(self, data: bytes, /) -> object:
        """Write all of `data`."""
        ...

    def flush(self) -> object:
        """Pass on what was written."""
        ...


class MessageReader(Protocol):
    """Where messages come from; less than was asked for means the end."""

    def readline(self) -> bytes:
        """Read up to the end of a line."""
        ...

    def read(self, size: int, /) -> bytes:
        """Read `size` bytes, or fewer at the end."""
        ...


@dataclass(frozen=True, slots=True)
class Hello:
    """A worker has the backend that it was asked for, or says why not (`problem`, `fix`).

    `packages` has the names of the backend's own packages, with spaces between, and `code` is BLAKE3 over their files.
    """

    backend: str
    version: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    problem: str = ""
    fix: str = ""
    log: str = ""
    """The last words of a process that did not start."""
    packages: str = ""
    code: str = ""
    sources: dict[str, str] = field(default_factory=dict)
    """Of a run: the commit of the checkout around these packages, and whether it was ``dirty`` when the run began."""

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Hello:
        """Out of a file; raises `ValueError` for anything that is not one."""
        tables = ("facts", "sources")
        rest = without(facts, *tables)
        return checked(cls, rest, **{name: texts(facts.get(name, {}), name) for name in tables})


def send(stream: Sink, message: dict[str, Any], blobs: Sequence[bytes] = ()) -> None:
    """Write one message."""
    head = json.dumps(message | {"blobs": [len(blob) for blob in blobs]}, separators=(",", ":"))
    stream.write(head.encode() + b"\n")
    for blob in blobs:
        stream.write(blob)
    stream.flush()


def receive(stream: MessageReader) -> tuple[dict[str, Any], list[bytes]]:
    """Read one message; `Closed` at the end of the stream."""
    head = stream.readline()
    if not head.endswith(b"\n"):
        raise Closed
    message = json.loads(head)
    sizes = message.pop("blobs")
    blobs = [stream.read(size) for size in sizes]
    if [len(blob) for blob in blobs] != sizes:
        raise Closed
    return message, blobs


def hello_message(hello: Hello) -> dict[str, Any]:
    """Encode what a worker says first."""
    return asdict(hello)


def launch_message(launch: Launch, repeats: int) -> tuple[dict[str, Any], list[bytes]]:
    """A launch that is to be dispatched `repeats` times."""
    blobs = [blob for one in launch.launches for blob in (one.program.encode(), *one.inputs.values())]
    return {"launches": [_facts(one) for one in launch.launches], "entry": launch.entry, "repeats": repeats}, blobs


def _facts(launch: Launch) -> dict[str, Any]:
    return {
        "grid": launch.grid, "workgroup": launch.workgroup, "iterations": launch.iterations,
        "ulp_budget": launch.ulp_budget, "inputs": list(launch.inputs),
    }  # fmt: skip


def launch_of(message: dict[str, Any], blobs: Sequence[bytes]) -> tuple[Launch, int]:
    """The inverse of `launch_message`."""
    left = iter(blobs)
    first, *then = [
        Launch(
            program=_decoded(next(left)),
            inputs={name: next(left) for name in facts["inputs"]},
            grid=_extent(facts["grid"]),
            workgroup=_extent(facts["workgroup"]),
            iterations=facts["iterations"],
            ulp_budget=facts["ulp_budget"],
        )
        for facts in message["launches"]
    ]
    return replace(first, entry=message["entry"], then=tuple(then)), message["repeats"]


def preparation_message(programs: Sequence[Program]) -> tuple[dict[str, Any], list[bytes]]:
    """Programs that are to be compiled before they are launched."""
    return {"prepare": len(programs)}, [program.encode() for program in programs]


def programs_of(blobs: Sequence[bytes]) -> list[Program]:
    """The programs of such a message."""
    return [_decoded(blob) for blob in blobs]


@lru_cache(KNOWN)
def _decoded(wire: bytes) -> Program:
    return decode(wire)


def _extent(sizes: list[int] | None) -> Extent | None:
    if sizes is None:
        return None
    x, y, z = sizes
    return x, y, z


def outcome_message(outcome: Outcome) -> tuple[dict[str, Any], list[bytes]]:
    """What a worker can say of a launch: it has returned or raised. Death and silence are for the parent to see."""
    match outcome:
        case Returned(outputs, again, changed):
            message = {"returned": len(outputs), "again": again is not None, "changed": list(changed)}
            return message, [*outputs, *(again or ())]
        case Raised(classes, words, facts, traceback):
            return {"classes": list(classes), "message": words, "facts": dict(facts), "traceback": traceback}, []
    raise TypeError(f"a worker cannot report {outcome}")


def outcome_of(message: dict[str, Any], blobs: list[bytes]) -> Outcome:
    """The inverse of `outcome_message`."""
    if "returned" not in message:
        return Raised(tuple(message["classes"]), message["message"], message["facts"], message["traceback"])
    count = message["returned"]
    again = tuple(blobs[count:]) if message["again"] else None
    return Returned(tuple(blobs[:count]), again, tuple(message["changed"]))
