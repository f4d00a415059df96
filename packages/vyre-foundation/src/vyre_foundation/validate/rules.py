"""Every rule that looks at one statement or one expression, applied in program order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from vyre_foundation.ir.code import NO_OP
from vyre_foundation.ir.expr import Apply, Call, Cast, Expr, Id, Length, Load, Local
from vyre_foundation.ir.stmt import (
    Assign,
    Atomic,
    Break,
    Continue,
    For,
    If,
    IndirectDispatch,
    Stmt,
    Store,
    Subgroup,
    Trap,
)
from vyre_foundation.ops import OPS, Tier
from vyre_foundation.validate import collectives, control, raw
from vyre_foundation.validate.access import Accesses
from vyre_foundation.validate.calls import check_call
from vyre_foundation.validate.outline import Place
from vyre_foundation.validate.report import ValidationReport
from vyre_foundation.validate.scope import Scopes

_WITH_RULES = (NO_OP, *[op.tag for op in OPS.values() if op.tier is Tier.RAW])
"""Most expressions are applications of ops, whose types were checked when they were made. Only raw ops have rules."""


class Rules:
    """Applies the rules to `report.program`, whose statements are not nested too deep."""

    def __init__(self, report: ValidationReport) -> None:
        self._report = report
        self._scopes = Scopes(report)
        self._accesses = Accesses(report)

    def run(self) -> None:
        """Apply all rules to the whole program; findings go to the report."""
        self._check_expressions()
        self._check_statements()
        self._scopes.check_visible()
        self._scopes.report_undeclared()

    def _check_expressions(self) -> None:
        code, rules = self._report.program.code, self._for_expressions()
        for number in code.numbers_of(_WITH_RULES).tolist():
            node = code.nodes[number]
            for rule in rules.get(node.__class__, ()):
                rule(number, node)

    def _check_statements(self) -> None:
        report, rules = self._report, self._for_statements()
        for place in report.outline.places:
            control.check_reachable(report, place)
            for rule in rules.get(place.stmt.__class__, ()):
                rule(place, place.stmt)

    def _for_expressions(self) -> Mapping[type[Expr], Sequence[Callable[[int, Any], None]]]:
        """The rules for each kind: they get the number of an expression, and it."""
        report = self._report
        return {
            Local: (self._scopes.check_local,),
            Apply: (partial(raw.check_op, report),),
            Load: (self._accesses.check_load, partial(raw.check_checked, report)),
            Cast: (partial(raw.check_checked, report),),
            Length: (self._accesses.check_length,),
            Id: (partial(collectives.check_id, report),),
            Call: (partial(_check_call, report),),
        }

    def _for_statements(self) -> Mapping[type[Stmt], Sequence[Callable[[Place, Any], None]]]:
        """The rules for each kind: they get the place of a statement, and it."""
        report = self._report
        return {
            If: (partial(control.check_if, report),),
            For: (partial(control.check_for, report),),
            Break: (partial(control.check_jump, report),),
            Continue: (partial(control.check_jump, report),),
            Trap: (partial(control.check_trap, report),),
            Assign: (self._scopes.check_assign,),
            Store: (self._accesses.check_store, partial(raw.check_checked_access, report)),
            Atomic: (self._accesses.check_atomic, partial(raw.check_checked_access, report)),
            Subgroup: (partial(collectives.check_subgroup, report),),
            IndirectDispatch: (
                self._accesses.check_indirect_dispatch,
                partial(control.check_indirect_dispatch, report),
            ),
        }


def _check_call(report: ValidationReport, number: int, node: Call) -> None:
    check_call(report, number, node)
