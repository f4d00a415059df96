"""Rules about what only a legalizer may write: ops with preconditions, and accesses and casts that skip their check."""

from __future__ import annotations

from vyre_foundation.ir.expr import Apply, Cast, Load
from vyre_foundation.ir.stmt import Atomic, Store
from vyre_foundation.ops import Tier
from vyre_foundation.validate.outline import Place
from vyre_foundation.validate.report import ValidationReport


def check_op(report: ValidationReport, number: int, node: Apply) -> None:
    """Report a raw op (V060) before legalization."""
    if node.op.tier is Tier.RAW and not report.legalized:
        plain = node.op.id.removeprefix("raw_")
        message = f"got {node.op.id}, which has no meaning for some operands"
        report.on_node(number, "V060", message, f"use {plain}, which is total")


def check_checked(report: ValidationReport, number: int, node: Load | Cast) -> None:
    """Report an unchecked load or conversion before legalization."""
    if not node.checked and not report.legalized:
        report.on_node(number, *_unchecked(node))


def check_checked_access(report: ValidationReport, place: Place, stmt: Store | Atomic) -> None:
    """Report an unchecked store or atomic before legalization."""
    if not stmt.checked and not report.legalized:
        report.at(place, *_unchecked(stmt))


def _unchecked(what: Load | Cast | Store | Atomic) -> tuple[str, str, str]:
    message = f"got an unchecked {type(what).__name__.lower()}"
    return "V061", message, "leave the check in: it is not emitted where it is proven"
