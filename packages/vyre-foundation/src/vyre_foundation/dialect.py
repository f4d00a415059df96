"""Dialects: ops that are compositions of the language, registered under an id and expanded before lowering.

A composition is a function from expressions to an expression. It runs on every backend at once, because every backend
sees what it expands to. Distributions announce dialects through the entry point group ``vyre.dialects``; its values are
callables that return `Composition` rows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field

from vyre_foundation.dtype import DType
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.expr import Call, Expr
from vyre_foundation.ir.walk import rewrite

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
    """One op: `id` is ``dialect.op``, `signatures` maps operand types to a result type, `expand` gives the meaning."""

    id: str
    signatures: dict[tuple[DType, ...], DType]
    expand: Expand
    summary: str = ""


@dataclass(slots=True)
class _Registry:
    rows: dict[str, Composition] = field(default_factory=dict)
    discovered: bool = False
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


def unregister(ids: Iterable[str]) -> None:
    """Remove ops, for tests that registered them."""
    with _registry.lock:
        for id in ids:
            _registry.rows.pop(id, None)


def lookup(callee: str) -> Composition:
    """The op called `callee`; installed dialects are loaded at the first name that is not known."""
    with _registry.lock:
        if callee not in _registry.rows and not _registry.discovered:
            from importlib.metadata import entry_points  # the slowest import of all, for a rare call

            _registry.discovered = True
            for entry in entry_points(group="vyre.dialects"):
                register(entry.load()())
        try:
            return _registry.rows[callee]
        except KeyError:
            known = ", ".join(sorted(_registry.rows)) or "none"
            raise UnknownCallee(
                f"no installed dialect defines {callee!r} (known: {known})",
                fix="install the distribution that defines it",
            ) from None


def call(callee: str, *args: Expr) -> Call:
    """The call of a registered op; the result type comes from its signature."""
    row = lookup(callee)
    operands = tuple(a.dtype for a in args)
    if operands not in row.signatures:
        accepted = "; ".join("(" + ", ".join(t.name for t in s) + ")" for s in row.signatures)
        got = ", ".join(t.name for t in operands)
        raise SignatureMismatch(f"{callee} got ({got}), expected {accepted}", fix="cast the operands")
    return Call(callee, row.signatures[operands], *args)


def expand(root: Expr, memo: dict[Expr, Expr], native: Container[tuple[str, DType]] = ()) -> Expr:
    """`root` with every call replaced by its composition, also those inside of compositions.

    A call whose (callee, type of the first operand) is in `native` stays: somebody else gives it a meaning.
    """

    def rule(node: Expr) -> Expr:
        if not isinstance(node, Call) or (node.args and (node.callee, node.args[0].dtype) in native):
            return node
        return _expand_call(node, memo, native)

    return rewrite(root, rule, memo)


def _expand_call(node: Call, memo: dict[Expr, Expr], native: Container[tuple[str, DType]]) -> Expr:
    body = lookup(node.callee).expand(*node.args)
    if body.dtype is not node.dtype:
        raise SignatureMismatch(
            f"the composition of {node.callee} gives {body.dtype}, its signature says {node.dtype}",
            fix="correct the dialect's composition",
        )
    return expand(body, memo, native)
