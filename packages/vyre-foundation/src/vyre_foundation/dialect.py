"""Dialects: ops that are compositions of the language, registered under an id and expanded before lowering.

A composition is a function from expressions to an expression. It runs on every backend at once, because every backend
sees what it expands to. Distributions announce dialects through the entry point group ``vyre.dialects``; its values are
callables that return a `Dialect`, or plain `Composition` rows. Folders in `VYRE_DIALECT_PATH` hold more, as manifests.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeGuard

from vyre_foundation.attributes import AttrSchema, AttrValue, operands_of, values_of
from vyre_foundation.dtype import DType
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.expr import Call, Expr
from vyre_foundation.ir.walk import rewrite
from vyre_foundation.lowering import NO_LOWERINGS, LoweringTable
from vyre_foundation.mutation import MutationClass

Expand = Callable[..., Expr]


class UnknownCallee(VyreError, LookupError):
    """A program calls an op that no installed dialect defines."""

    code = "E105"


class DuplicateOpId(VyreError, ValueError):
    """Two dialects define the same op id."""

    code = "E106"


class SignatureMismatch(VyreError, TypeError):
    """A call's operands do not match the op's signature, or its composition does not give the declared type."""

    code = "E107"


@dataclass(frozen=True, slots=True)
class Composition:
    """One op: `id` is ``dialect.op``, `signatures` maps operand types to a result type, `expand` gives the meaning.

    The last operands may be attributes: `expand` gets them as literals. `lowerings` are what stands in for it, where.
    Calls of a `rare` op are the first arm of a selection that hardly ever takes it; where a target can branch, it
    computes them only then.
    """

    id: str
    signatures: dict[tuple[DType, ...], DType]
    expand: Expand
    summary: str = ""
    attrs: tuple[AttrSchema, ...] = ()
    lowerings: LoweringTable = NO_LOWERINGS
    rare: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """What has become of an op: calls of `op` mean `to`, with the operands in the order of `operands`.

    `attrs` are attributes of the new op that the old one did not have. `mutation` says how much changes: programs are
    not rewritten to a semantic one unless it is asked for. An empty `to` is a deprecation alone: the op still means
    what it did, and `note` says what to use.
    """

    op: str
    to: str = ""
    since: str
    note: str = ""
    operands: tuple[int, ...] | None = None
    attrs: tuple[tuple[str, AttrValue], ...] = ()
    mutation: MutationClass = MutationClass.STRUCTURAL


LANGUAGE = 1
"""The version of the language that dialects are written for; it counts the breaks."""

Validator = Callable[[str, tuple[DType, ...], Mapping[str, AttrValue]], str]
"""What a dialect says to a call: op, operand types and attributes in, the reason against it or "" out. Pure."""


def default_validator(op: str, operands: tuple[DType, ...], attrs: Mapping[str, AttrValue]) -> str:
    """Types and schemas are all that there is to say."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Ops that belong together: ids begin with ``id.``. `language` is the `LANGUAGE` that it was written for.

    `validator` may refuse calls whose types are right. `digest` tells apart what the version does not: the contents of
    a manifest.
    """

    id: str
    version: str
    ops: tuple[Composition, ...]
    language: int = LANGUAGE
    migrations: tuple[Migration, ...] = ()
    summary: str = ""
    validator: Validator = default_validator
    digest: str = ""


@dataclass(frozen=True, slots=True)
class DialectProblem:
    """A dialect, or one version of it, that is left out: from where it came, why, and the remedy."""

    id: str
    source: str
    reason: str
    fix: str

    def __str__(self) -> str:
        return f"dialect {self.id!r} of {self.source}: {self.reason}. Fix: {self.fix}"


@dataclass(slots=True)
class _Registry:
    rows: dict[str, Composition] = field(default_factory=dict)
    dialects: dict[str, Dialect] = field(default_factory=dict)
    problems: tuple[DialectProblem, ...] = ()
    discovered: bool = False
    registrations: Counter[str] = field(default_factory=Counter)
    lock: threading.RLock = field(default_factory=threading.RLock)


_registry = _Registry()


def register(rows: Iterable[Composition]) -> None:
    """Add ops. An id that is taken raises `DuplicateOpId`, and then none of the rows is added."""
    new = {row.id: row for row in rows}
    with _registry.lock:
        taken = sorted(new.keys() & _registry.rows.keys())
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
    with _registry.lock:
        for id in ids:
            _registry.rows.pop(id, None)


def installed_dialects() -> tuple[Dialect, ...]:
    """Every dialect that is installed and usable, by id."""
    with _registry.lock:
        _discover()
        return tuple(_registry.dialects.values())


def dialect_problems() -> tuple[DialectProblem, ...]:
    """Installed dialects that are left out, each with its reason and remedy."""
    with _registry.lock:
        _discover()
        return _registry.problems


def registered_ops() -> tuple[Composition, ...]:
    """Every op of a dialect, installed or registered by hand, by id."""
    with _registry.lock:
        _discover()
        return tuple(row for _, row in sorted(_registry.rows.items()))


def refresh() -> None:
    """Look for installed dialects again at the next question."""
    with _registry.lock:
        for found in _registry.dialects.values():
            unregister(row.id for row in found.ops)
        _registry.dialects, _registry.problems, _registry.discovered = {}, (), False


def lookup(callee: str) -> Composition:
    """The op called `callee`; installed dialects are loaded at the first name that is not known."""
    with _registry.lock:
        if callee not in _registry.rows:
            _discover()
        try:
            return _registry.rows[callee]
        except KeyError:
            known = ", ".join(sorted(_registry.rows)) or "none"
            raise UnknownCallee(
                f"no installed dialect defines {callee!r} (known: {known})",
                fix="install the distribution that defines it",
            ) from None


def _discover() -> None:
    """Load what is installed, once. The caller holds the lock."""
    if _registry.discovered:
        return
    from vyre_foundation.dialect_discovery import discover  # only those who call dialects pay for it

    _registry.discovered = True
    dialects, problems = discover(frozenset(_registry.rows))
    _registry.dialects, _registry.problems = dialects, problems
    for found in dialects.values():
        _registry.rows.update((row.id, row) for row in found.ops)


def objection(node: Call) -> str:
    """What the dialect of a well-typed call has against it, "" if nothing."""
    row = lookup(node.callee)
    with _registry.lock:
        found = _registry.dialects.get(node.callee.partition(".")[0])
    if found is None or found.validator is default_validator:
        return ""
    return found.validator(row.id, tuple(a.dtype for a in node.args), values_of(row.attrs, node.args))


def call(callee: str, *args: Expr, **attrs: AttrValue) -> Call:
    """The call of a registered op; the result type comes from its signature. `attrs` are its attributes by name."""
    row = lookup(callee)
    if attrs or all(len(args) < len(signature) for signature in row.signatures):
        args = (*args, *operands_of(row.attrs, attrs))
    operands = tuple(a.dtype for a in args)
    if operands not in row.signatures:
        accepted = "; ".join("(" + ", ".join(t.name for t in s) + ")" for s in row.signatures)
        got = ", ".join(t.name for t in operands)
        raise SignatureMismatch(f"{callee} got ({got}), expected {accepted}", fix="cast the operands")
    return Call(callee, row.signatures[operands], *args)


def is_rare_call(node: Expr) -> TypeGuard[Call]:
    """Whether `node` is a call of a rare op."""
    return isinstance(node, Call) and lookup(node.callee).rare


def never(node: Call) -> bool:
    """No call stays."""
    return False


def expand(root: Expr, memo: dict[Expr, Expr], stays: Callable[[Call], bool] = never) -> Expr:
    """`root` with every call replaced by its composition, also those inside of compositions.

    A call that `stays` is left: somebody else gives it a meaning.
    """

    def rule(node: Expr) -> Expr:
        return _expand_call(node, memo, stays) if isinstance(node, Call) and not stays(node) else node

    return rewrite(root, rule, memo)


def _expand_call(node: Call, memo: dict[Expr, Expr], stays: Callable[[Call], bool]) -> Expr:
    body = lookup(node.callee).expand(*node.args)
    if body.dtype is not node.dtype:
        raise SignatureMismatch(
            f"the composition of {node.callee} gives {body.dtype}, its signature says {node.dtype}",
            fix="correct the dialect's composition",
        )
    return expand(body, memo, stays)
