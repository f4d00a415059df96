"""Calls of dialect ops: built, checked and expanded."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeGuard

from vyre_foundation.dialects.attributes import AttrValue, operands_of, values_of
from vyre_foundation.dialects.definition import default_validator
from vyre_foundation.dialects.errors import SignatureMismatch
from vyre_foundation.dialects.registry import dialect_of, lookup
from vyre_foundation.ir.argument import require
from vyre_foundation.ir.expr import Call, Expr
from vyre_foundation.ir.walk import rewrite


def objection(node: Call) -> str:
    """What the dialect of a well-typed call has against it, "" if nothing."""
    row = lookup(node.callee)
    found = dialect_of(node.callee)
    if found is None or found.validator is default_validator:
        return ""
    return found.validator(row.id, tuple(a.dtype for a in node.args), values_of(row.attrs, node.args))


def call(callee: str, *args: Expr, **attrs: AttrValue | Expr) -> Call:
    """The call of a registered op; the result type comes from its signature. `attrs` are its attributes by name."""
    row = lookup(callee)
    require(call, Expr, *args)
    if attrs or all(len(args) < len(signature) for signature in row.signatures):
        args = (*args, *operands_of(row.attrs, attrs))
    operands = tuple(a.dtype for a in args)
    if operands not in row.signatures:
        accepted = "; ".join("(" + ", ".join(t.name for t in s) + ")" for s in row.signatures)
        got = ", ".join(t.name for t in operands)
        is_complete = any(len(operands) == len(signature) for signature in row.signatures)
        fix = "cast the operands" if is_complete else "pass as many operands as it takes"
        raise SignatureMismatch(f"{callee} got ({got}), expected {accepted}", fix=fix)
    return Call(callee, row.signatures[operands], *args)


def is_rare_call(node: Expr) -> TypeGuard[Call]:
    """Whether `node` is a call of a rare op."""
    return isinstance(node, Call) and lookup(node.callee).rare


def never(node: Call) -> bool:
    """No call stays."""
    return False


def expand(root: Expr, memo: dict[Expr, Expr], stays: Callable[[Call], bool] = never) -> Expr:
    """`root` with every call replaced by its composition, also those inside of compositions.

    A call that `stays` is left: something else gives it a meaning.
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
