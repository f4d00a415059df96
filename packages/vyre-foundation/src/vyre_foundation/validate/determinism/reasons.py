"""Findings where the proof fails."""

from __future__ import annotations

from collections.abc import Sequence

from vyre_foundation.ir.origin import Origins
from vyre_foundation.validate.determinism.accesses import AccessKind, MemoryAccess
from vyre_foundation.validate.determinism.identity import Between
from vyre_foundation.validate.determinism.ownership import Bounds
from vyre_foundation.validate.facts import Finding

_SEPARATE = "index it by the id of the invocation, put a barrier between, or use a commutative atomic"


class Reasons:
    """Collects reasons, one of a kind for each statement."""

    def __init__(self, origins: Origins | None) -> None:
        self._origins = origins
        self._found: dict[tuple[int, str], Finding] = {}

    def add(self, cluster: Sequence[MemoryAccess], between: Between, bounds: Bounds = ()) -> None:
        """Name the statements of accesses that may meet; with `bounds` of the invocations they would not."""
        for access in cluster:
            other = next((a for a in cluster if a is not access and _matters(access, a)), access)
            code, message, fix = _reason(access, other, between)
            if (bound := _bound(bounds)) is not None and _matters(access, other):
                fix = f"{bound}; else {fix}"
            if _matters(access, other):
                place = access.place
                origin = None if self._origins is None else self._origins.statement(place.number)
                self._found.setdefault((place.number, code), Finding(code, place.path, message, fix, origin))

    def in_order(self) -> tuple[Finding, ...]:
        """The reasons in program order."""
        return tuple(self._found[key] for key in sorted(self._found))


def too_large() -> Finding:
    """Give the finding for a program whose analysis would take too long (D005)."""
    message = "the program has too many expressions in too many statements for a proof"
    return Finding("D005", "body", message, "bind what several statements share to locals")


_IDS = {"global": "global_id", "local": "local_id", "group": "workgroup_id"}


def _bound(bounds: Bounds) -> str | None:
    """The remedy that states bounds; None if there are none, or for numbers that no id is."""
    if not bounds or any(digit.of not in _IDS or digit.over != 1 for digit, _ in bounds):
        return None
    tests = [f"{_IDS[digit.of]}.{'xyz'[digit.axis]} < {below}" for digit, below in bounds]
    condition = tests[0] if len(tests) == 1 else " & ".join(f"({test})" for test in tests)
    return f"bound the ids, as their index may wrap around or reach another one's, as in if {condition}"


def _matters(a: MemoryAccess, b: MemoryAccess) -> bool:
    """Whether the order of the two shows."""
    return not a.commutes_with(b)


def _reason(access: MemoryAccess, other: MemoryAccess, between: Between) -> tuple[str, str, str]:
    name = repr(access.buffer.name)
    by = f"by two invocations {between.value} in one barrier interval"
    partner = "itself" if other is access else f"the {other.kind.value} at {other.place.path}"
    match access.kind:
        case AccessKind.STORE:
            return "D001", f"the store to {name} may meet {partner}, {by}", _SEPARATE
        case AccessKind.LOAD:
            return "D002", f"the load from {name} may meet {partner}, {by}", _SEPARATE
        case AccessKind.ORDERED:
            message = f"the atomic on {name} may meet {partner}, {by}, and its order shows"
            return "D003", message, "leave the old value unused, with a commutative op, or own the element"
        case AccessKind.COMMUTES:
            message = f"the atomic on {name} may meet {partner}, {by}, and the two do not commute"
            return "D004", message, "use one op, or put a barrier between"
