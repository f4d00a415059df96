"""Every rule that looks at one statement or one expression, applied in program order."""

from __future__ import annotations

from vyre_foundation.ir.code import NO_OP
from vyre_foundation.ir.expr import Apply, Call, Cast, Expr, Id, Length, Literal, Load, Local
from vyre_foundation.ir.stmt import Atomic, Break, Continue, For, If, IndirectDispatch, Store, Subgroup, Trap
from vyre_foundation.ops import OPS, Tier
from vyre_foundation.validate import collectives, control, raw
from vyre_foundation.validate.access import Accesses
from vyre_foundation.validate.outline import Place
from vyre_foundation.validate.report import Report
from vyre_foundation.validate.scope import Scopes

_WITH_RULES = (NO_OP, *[op.tag for op in OPS.values() if op.tier is Tier.RAW])
"""Most expressions are applications of ops, whose types were checked when they were made. Only raw ops have rules."""


class Rules:
    """Applies the rules to `report.program`, whose statements are not nested too deep."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._scopes = Scopes(report)
        self._accesses = Accesses(report)

    def run(self) -> None:
        code = self._report.program.code
        numbers = [*code.numbers_of(_WITH_RULES).tolist(), len(code.nodes)]
        checked, ends = 0, iter(code.ends)
        for place in self._report.outline.places:
            roots = place.roots()
            for field, _ in roots:
                end = next(ends)
                while numbers[checked] < end:  # which occurs here for the first time
                    self._check_node(place, field, code.nodes[numbers[checked]])
                    checked += 1
            self._scopes.check_statement(place, roots)
            self._check_statement(place)

    def _check_node(self, place: Place, field: str, node: Expr) -> None:
        match node:
            case Literal():
                pass
            case Local():
                self._scopes.check_local(place, field, node)
            case Apply():
                raw.check_op(self._report, place, field, node)
            case Load():
                self._accesses.check_load(place, field, node)
                raw.check_checked(self._report, place, field, node)
            case Cast():
                raw.check_checked(self._report, place, field, node)
            case Length():
                self._accesses.check_length(place, field, node)
            case Id():
                collectives.check_id(self._report, place, field, node)
            case Call():
                from vyre_foundation.validate.calls import check_call  # few programs call

                check_call(self._report, place, field, node)

    def _check_statement(self, place: Place) -> None:
        report, stmt = self._report, place.stmt
        control.check_reachable(report, place)
        match stmt:
            case If():
                control.check_if(report, place, stmt)
            case For():
                control.check_for(report, place, stmt)
            case Break() | Continue():
                control.check_jump(report, place, stmt)
            case Trap():
                control.check_trap(report, place, stmt)
            case Store():
                self._accesses.check_store(place, stmt)
                raw.check_checked(report, place, "", stmt)
            case Atomic():
                self._accesses.check_atomic(place, stmt)
                raw.check_checked(report, place, "", stmt)
            case Subgroup():
                collectives.check_subgroup(report, place, stmt)
            case IndirectDispatch():
                self._accesses.check_belongs(place, stmt.buffer)
                control.check_indirect_dispatch(report, place, stmt)
