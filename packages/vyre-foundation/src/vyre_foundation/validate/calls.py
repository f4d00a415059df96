"""Rules about calls: the op exists, takes these operands, and what it expands to depends on nothing but them."""

from __future__ import annotations

from typing import NamedTuple

from vyre_foundation import dialects
from vyre_foundation.dialects.errors import SignatureMismatch
from vyre_foundation.dtype import DType
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.argument import shown
from vyre_foundation.ir.expr import Apply, Call, Cast, Expr, Id, Length, Load, Local
from vyre_foundation.ir.walk import postorder
from vyre_foundation.ops import Tier
from vyre_foundation.validate.report import ValidationReport

Signature = tuple[str, tuple[DType, ...], tuple[Expr, ...]]
"""An op, the types of its operands, and the last of these, which are its attributes."""


class CompositionCheck(NamedTuple):
    """On a composition for operands like these: what is wrong with it, and the ops that it calls."""

    row: dialects.Composition
    wrong: str | None
    calls: frozenset[str]


_verdicts: dict[Signature, CompositionCheck] = {}
"""Given once for each row."""


def check_call(report: ValidationReport, number: int, node: Call) -> None:
    """Report a call that no installed dialect defines (V062), or whose types are in no signature."""
    try:
        row = dialects.lookup(node.callee)
    except dialects.UnknownCallee as error:
        message = f"got a call of {node.callee}, expected an op of an installed dialect"
        if reason := error.fields["reason"]:
            message = f"{message}: {reason}"
        report.on_node(number, "V062", message, error.fix)
        return
    operands = tuple(a.dtype for a in node.args)
    if row.signatures.get(operands) is not node.dtype:
        got = f"({', '.join(t.name for t in operands)}) -> {node.dtype}"
        accepted = "; ".join(f"({', '.join(t.name for t in s)}) -> {t}" for s, t in row.signatures.items())
        message = f"got {node.callee} as {got}, expected {accepted}"
        report.on_node(number, "V063", message, "build the call with dialects.call, and cast the operands")
        return
    if (wrong := dialects.attributes.complaint(row.attrs, node.args)) is not None:
        message = f"got {node.callee} with {wrong}"
        report.on_node(number, "V065", message, "write a constant: a value of the program is an operand")
        return
    if reason := dialects.objection(node):
        message = f"got {node.callee}, which its dialect refuses: {reason}"
        report.on_node(number, "V066", message, "call it as the dialect says")
        return
    impurity = _verdict(_signature(row, node), ()).wrong
    if impurity is not None:
        message = f"got {node.callee}, which {impurity}, expected a composition of pure ops over its operands"
        report.on_node(number, "V064", message, "correct the dialect: pass what it needs as operands")


def reached(node: Call) -> frozenset[str]:
    """The ops that a valid call comes to, itself among them."""
    return _verdict(_signature(dialects.lookup(node.callee), node), ()).calls


def _signature(row: dialects.Composition, node: Call) -> Signature:
    return node.callee, tuple(a.dtype for a in node.args), node.args[len(node.args) - len(row.attrs) :]


def _verdict(signature: Signature, around: tuple[Signature, ...]) -> CompositionCheck:
    """Whether the expansion of an op is a pure function of its operands; `around` are being expanded."""
    row = dialects.lookup(signature[0])
    known = _verdicts.get(signature)
    if known is None or known.row is not row:
        calls = {row.id}
        wrong = _judge(row, signature, around, calls)
        known = _verdicts[signature] = CompositionCheck(row, wrong, frozenset(calls))
    return known


def _judge(
    row: dialects.Composition, signature: Signature, around: tuple[Signature, ...], calls: set[str]
) -> str | None:
    """What is wrong; `calls` gets the ops that are called."""
    if signature in around:
        return "expands to itself"
    if signature[1] not in row.signatures:
        return f"has no signature for ({', '.join(t.name for t in signature[1])})"
    if (wrong := dialects.attributes.complaint(row.attrs, signature[2])) is not None:
        return f"gets {wrong}"
    values = signature[1][: len(signature[1]) - len(row.attrs)]
    formal: list[Expr] = [*(Local(f"__operand{n}", dtype) for n, dtype in enumerate(values)), *signature[2]]
    try:
        body = _expanded(row, formal)
        if not isinstance(body, Expr):
            return f"expands to {shown(body)}, not to an expression"
        if body.dtype is not row.signatures[signature[1]]:
            return f"expands to {body.dtype}, not {row.signatures[signature[1]]}"
        for node in postorder((body,)):
            if (foreign := _foreign(node, formal)) is not None:
                return f"expands to an expression with {foreign}"
            if isinstance(node, Call):
                inner = _verdict(_signature(dialects.lookup(node.callee), node), (*around, signature))
                calls |= inner.calls
                wrong = inner.wrong or (f"is refused: {reason}" if (reason := dialects.objection(node)) else None)
                if wrong is not None:
                    return f"calls {node.callee}, which {wrong}"
    except VyreError as error:
        return f"cannot be expanded ({error.message})"
    return None


def _expanded(row: dialects.Composition, operands: list[Expr]) -> object:
    """What the function of a composition gives; `SignatureMismatch` for an error of Python, which it may raise."""
    try:
        return row.expand(*operands)
    except (VyreError, MemoryError, RecursionError):
        raise
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        raise SignatureMismatch(message, fix="correct the function of the composition") from error


def _foreign(node: Expr, formal: list[Expr]) -> str | None:
    """What `node` is, if it is no pure op over the operands."""
    match node:
        case Apply() if node.op.tier is Tier.RAW:
            return f"{node.op.id}, which is for legalizers"
        case Cast() if not node.checked:
            return "an unchecked cast, which is for legalizers"
        case Id() | Load() | Length():
            return f"{node!r}, which is no operand"
        case Local() if node not in formal:
            return f"the local {node.name!r}, which is no operand"
        case _:
            return None
