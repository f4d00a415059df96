"""A cell: how one part of one case ended on one backend, and all that is needed to look into it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import Enum
from typing import Any

from vyre_conform.address import Address, parse_address
from vyre_conform.plain import checked, require, without


class State(Enum):
    """How a cell ended. They are never added together."""

    PASS = "pass-exact"
    UNSUPPORTED = "unsupported"
    """The backend refuses with `UnsupportedFeature`."""
    SKIPPED = "skipped"
    """Not judged: the opinions disagree about the case, or the backend does not do here what it is about."""
    XFAIL = "xfail"
    """It fails, and the list of known gaps says so."""
    FAIL = "fail"
    CRASHED = "crashed"
    TIMEOUT = "timeout"

    @property
    def is_bad(self) -> bool:
        """Whether it says that the backend is wrong."""
        return self in (State.FAIL, State.CRASHED, State.TIMEOUT)


@dataclass(frozen=True, slots=True)
class Digests:
    """BLAKE3 of what went in and came out, in hex, over length-prefixed parts; "" where there is nothing.

    `program` is over the wire form, `launch` over the program, the configuration and the inputs by name, `expected` and
    `got` over the bytes of this cell: its elements of each output, in the order of their bindings.
    """

    program: str = ""
    launch: str = ""
    expected: str = ""
    got: str = ""


@dataclass(frozen=True, slots=True)
class Window:
    """The elements of an output around the first one that differs.

    It has the index of the first, and both sides as numbers in hexadecimal, with spaces between.
    """

    first: int
    got: str
    expected: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One part of a case on one backend. Of a failure: the first element that differs, as ``value (hex)``."""

    address: Address
    backend: str
    state: State
    reason: str = ""
    output: str = ""
    index: int | None = None
    got: str = ""
    expected: str = ""
    differing: int = 0
    """How many elements differ."""
    seconds: float = 0.0
    """What the launch took, all its repetitions and the way to the worker and back; its parts share that equally."""
    digests: Digests = Digests()
    window: Window | None = None
    """Of an output with a wrong element."""
    log: str = ""
    """The last words of a process that died, or a traceback."""
    reproducer: str = ""
    """The file that replays a random program."""

    @property
    def key(self) -> tuple[str, str]:
        """What no two cells of a run have in common."""
        return str(self.address), self.backend

    def to_json(self) -> dict[str, Any]:
        """The cell as plain data, without the fields that say nothing."""
        digests = {k: v for k, v in asdict(self.digests).items() if v}
        facts = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("address", "digests")}
        facts |= {"state": self.state.value, "seconds": round(self.seconds, 4), "digests": digests}
        facts["window"] = asdict(self.window) if self.window else None
        stated = {k: v for k, v in facts.items() if v not in ("", None, {}) and not (k == "differing" and v == 0)}
        return {"case": str(self.address)} | stated

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Cell:
        """The inverse of `to_json`; raises `ValueError` for anything else."""
        rest = without(facts, "case", "state", "digests", "window")
        window = facts.get("window")
        return checked(
            cls,
            rest,
            address=_address(facts),
            state=State(facts.get("state")),
            digests=checked(Digests, facts.get("digests", {})),
            window=None if window is None else checked(Window, window),
        )


def _address(facts: Mapping[str, Any]) -> Address:
    return parse_address(require(facts.get("case"), str, what="case"))


@dataclass(frozen=True, slots=True)
class OracleMismatch:
    """An opinion that is not the case's: the suite is in doubt, and no backend is judged by the case."""

    address: Address
    opinion: str
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Give the fields with the address as text."""
        return {"case": str(self.address), "opinion": self.opinion, "reason": self.reason}

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> OracleMismatch:
        """Read what `to_json` gave, and check its types."""
        return checked(cls, without(facts, "case"), address=_address(facts))


@dataclass(frozen=True, slots=True)
class Undecided:
    """A case about which an opinion did not come in time. No backend is judged by it, until it is asked about again."""

    address: Address
    opinion: str
    why: str

    def to_json(self) -> dict[str, Any]:
        """Give the fields with the address as text."""
        return {"case": str(self.address), "opinion": self.opinion, "why": self.why}

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Undecided:
        """Read what `to_json` gave, and check its types."""
        return checked(cls, without(facts, "case"), address=_address(facts))
