"""Rules about convergence: barriers and collectives are reached by all invocations of a workgroup or by none."""

from __future__ import annotations

from vyre_foundation.ir.stmt import Barrier, For, If, Scope, Subgroup, SubgroupOp
from vyre_foundation.validate.outline import Place
from vyre_foundation.validate.report import ValidationReport
from vyre_foundation.validate.uniformity import LAUNCH, WORKGROUP, Analysis

_MOVE = "move it to where all invocations of a workgroup come"


def check_convergence(report: ValidationReport, analysis: Analysis) -> None:
    """Barriers, collectives, the lane of a broadcast, and the bounds of loops around grid barriers."""
    loops: set[Place] = set()
    for place in report.outline.places:
        match place.stmt:
            case Barrier(scope):
                if analysis.reaching(place.number) < WORKGROUP:
                    report.at(place, "V050", f"got a barrier {_why(analysis, place)}", _MOVE)
                if scope is Scope.GRID:
                    loops.update(p for p in place.around() if isinstance(p.stmt, For))
            case Subgroup():
                _check_collective(report, analysis, place, place.stmt)
    for place in sorted(loops, key=lambda p: p.number):
        _check_grid_loop(report, analysis, place)


def _check_collective(report: ValidationReport, analysis: Analysis, place: Place, stmt: Subgroup) -> None:
    if analysis.reaching(place.number) < WORKGROUP:
        report.at(place, "V051", f"got {stmt.op.value} {_why(analysis, place)}", _MOVE)
    if stmt.op is SubgroupOp.BROADCAST and stmt.lane is not None and analysis.of(stmt.lane) < WORKGROUP:
        message = "got a broadcast from a lane that may differ between invocations of a workgroup"
        report.at(place, "V059", message, "use shuffle, or compute the lane from what is uniform", field="lane")


def _check_grid_loop(report: ValidationReport, analysis: Analysis, place: Place) -> None:
    for name, bound in place.roots():
        if analysis.of(bound) < LAUNCH:
            message = "got a bound that the host does not know, of a loop with a grid barrier"
            fix = "compute it from literals, lengths and num_workgroups"
            report.at(place, "V053", message, fix, field=name)


def _why(analysis: Analysis, place: Place) -> str:
    """How it can be that only some invocations reach `place`."""
    for around in place.around():
        if isinstance(around.stmt, (If, For)) and any(analysis.of(e) < WORKGROUP for _, e in around.roots()):
            what = "condition" if isinstance(around.stmt, If) else "bounds"
            return f"inside of {around.path}, whose {what} may differ between invocations of a workgroup"
    return "after a return, break or continue that only some invocations of a workgroup may take"
