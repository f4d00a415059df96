"""Rules about what only a legalizer may write: ops with preconditions, and accesses and casts that skip their check."""

from __future__ import annotations

from vyre_foundation.ir.expr import Apply, Cast, Load
from vyre_foundation.ir.stmt import Atomic, Store
from vyre_foundation.ops import Tier
from vyre_foundation.validate.outline import Place
from vyre_foundation.validate.report import Report


def check_op(report: Report, place: Place, field: str, node: Apply) -> None:
    if node.op.tier is Tier.RAW and not report.legalized:
        plain = node.op.id.removeprefix("raw_")
        message = f"got {node.op.id}, which has no meaning for some operands"
        report.at(place, "V060", message, f"use {plain}, which is total", field=field)


def check_checked(report: Report, place: Place, field: str, what: Load | Cast | Store | Atomic) -> None:
    if not what.checked and not report.legalized:
        message = f"got an unchecked {type(what).__name__.lower()}"
        report.at(place, "V061", message, "leave the check in: it is not emitted where it is proven", field=field)
