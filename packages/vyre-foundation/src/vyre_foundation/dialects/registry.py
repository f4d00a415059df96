"""The ops of dialects by id: those that are installed, and those that are registered by hand."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeAlias

from vyre_foundation.dialects.errors import DuplicateOpId, UnknownCallee
from vyre_foundation.errors import TypeMismatch
from vyre_foundation.ir.argument import require, shown
from vyre_foundation.locks import ForkGuard

if TYPE_CHECKING:
    from vyre_foundation.dialects.definition import Composition, Dialect, DialectProblem

Discover: TypeAlias = "Callable[[frozenset[str]], tuple[dict[str, Dialect], tuple[DialectProblem, ...]]]"
"""Finds installed dialects: op ids that are taken in, usable dialects by id and those that are left out."""


def _discover_nothing(taken: frozenset[str]) -> tuple[dict[str, Dialect], tuple[DialectProblem, ...]]:
    return {}, ()


@dataclass(slots=True)
class _Registry:
    rows: dict[str, Composition] = field(default_factory=dict)
    dialects: dict[str, Dialect] = field(default_factory=dict)
    problems: tuple[DialectProblem, ...] = ()
    discovered: bool = False
    discover: Discover = _discover_nothing
    registrations: Counter[str] = field(default_factory=Counter)
    guard: ForkGuard = field(default_factory=lambda: ForkGuard(threading.RLock))


_registry = _Registry()


def discover_with(discover: Discover) -> None:
    """Have installed dialects found by `discover`, which lies above: manifests contain text of the language."""
    _registry.discover = discover


def register(rows: Iterable[Composition]) -> None:
    """Add ops. An id that is taken raises `DuplicateOpId`, and then none of the rows is added."""
    given = list(rows)
    for row in given:
        if not hasattr(row, "expand"):
            message = f"register got {shown(row)}, expected an op of a dialect"
            raise TypeMismatch(message, fix="pass a Composition")
    new = {row.id: row for row in given}
    with _registry.guard.lock:
        repeated = {id for id, count in Counter(row.id for row in given).items() if count > 1}
        taken = sorted((new.keys() & _registry.rows.keys()) | repeated)
        if taken:
            raise DuplicateOpId(
                f"op id {taken[0]!r} is registered already", fix="prefix op ids with the dialect's name"
            )
        _registry.rows.update(new)
        _registry.registrations.update({id.partition(".")[0] for id in new})


def registration(dialect: str) -> int:
    """How often ops of a dialect were registered by hand in this process: another number, maybe other compositions."""
    return _registry.registrations[dialect]


def unregister(ids: Iterable[str]) -> None:
    """Remove ops, for tests that registered them."""
    with _registry.guard.lock:
        for id in ids:
            _registry.rows.pop(id, None)


def installed_dialects() -> tuple[Dialect, ...]:
    """Every dialect that is installed and usable, by id."""
    with _registry.guard.lock:
        _discover()
        return tuple(_registry.dialects.values())


def dialect_problems() -> tuple[DialectProblem, ...]:
    """Installed dialects that are left out, each with its reason and remedy."""
    with _registry.guard.lock:
        _discover()
        return _registry.problems


def registered_ops() -> tuple[Composition, ...]:
    """Every op of a dialect, installed or registered by hand, by id."""
    with _registry.guard.lock:
        _discover()
        return tuple(row for _, row in sorted(_registry.rows.items()))


def refresh() -> None:
    """Look for installed dialects again at the next question."""
    with _registry.guard.lock:
        for found in _registry.dialects.values():
            unregister(row.id for row in found.ops)
        _registry.dialects, _registry.problems, _registry.discovered = {}, (), False


def lookup(callee: str) -> Composition:
    """The op called `callee`; installed dialects are loaded at the first name that is not known."""
    with _registry.guard.lock:
        if callee not in _registry.rows:
            _discover()
        try:
            return _registry.rows[callee]
        except KeyError:
            require(lookup, str, callee)
            raise _unknown(callee) from None


def _unknown(callee: str) -> UnknownCallee:
    """The error for an op that no dialect defines. Its field `reason` is the cause, if it is known, or empty."""
    message, dialect = f"no installed dialect defines {callee!r}", callee.partition(".")[0]
    found = _registry.dialects.get(dialect)
    for step in () if found is None else found.migrations:
        if step.op == callee and step.to:
            reason = f"it is {step.to!r} since version {step.since} of the dialect"
            how = "migrate(program, changes_results=True)" if step.mutation.changes_results else "migrate(program)"
            fix = f"call {step.to!r}, or bring the program up to date: `{how}` of vyre_foundation.discovery.migration"
            return UnknownCallee(f"{message}: {reason}", fix=fix, reason=reason)
    for problem in _registry.problems if found is None else ():
        if problem.id == dialect:
            reason = f"the dialect {dialect!r} of {problem.source} is left out: {problem.reason}"
            return UnknownCallee(f"{message}: {reason}", fix=problem.fix, reason=reason)
    known = ", ".join(sorted(_registry.rows)) or "none"
    return UnknownCallee(f"{message} (known: {known})", fix=_correction(callee, dialect), reason="")


def _correction(callee: str, dialect: str) -> str:
    """What to write instead of an op that is not known."""
    own = [op for op in _registry.rows if op.startswith(f"{dialect}.")]
    near = get_close_matches(callee, own or _registry.rows, 1, cutoff=0.8)
    if own:
        return f"write {near[0]!r}" if near else "use an op of the dialect, as `vyre ops` lists them"
    if dialect == "math":
        return "pip install vyre-math"
    install = "install the distribution that defines it"
    return f"write {near[0]!r}, or {install}" if near else install


def _discover() -> None:
    """Load what is installed, once. The caller holds the lock."""
    if _registry.discovered:
        return
    _registry.discovered = True
    dialects, problems = _registry.discover(frozenset(_registry.rows))
    _registry.dialects, _registry.problems = dialects, problems
    for found in dialects.values():
        _registry.rows.update((row.id, row) for row in found.ops)


def dialect_of(callee: str) -> Dialect | None:
    """The installed dialect that an op belongs to."""
    with _registry.guard.lock:
        return _registry.dialects.get(callee.partition(".")[0])
