from __future__ import annotations

from vyre_foundation.ir.program import Program
from vyre_foundation.validate.buffers import check_buffers
from vyre_foundation.validate.collectives import check_grid_barriers
from vyre_foundation.validate.convergence import check_convergence
from vyre_foundation.validate.declared import buffer_usage, declared_locals, features, mutable_locals
from vyre_foundation.validate.determinism import find_determinism
from vyre_foundation.validate.facts import (
    Determinism,
    Facts,
    Feature,
    Finding,
    Interval,
    InvalidProgram,
    Uniformity,
    Usage,
)
from vyre_foundation.validate.limits import check_limits, check_nesting
from vyre_foundation.validate.names import check_names
from vyre_foundation.validate.ranges import find_ranges
from vyre_foundation.validate.report import Report
from vyre_foundation.validate.rules import Rules
from vyre_foundation.validate.scope import SCOPE_CODES
from vyre_foundation.validate.uniformity import Analysis

__all__ = [
    "Determinism",
    "Facts",
    "Feature",
    "Finding",
    "Interval",
    "InvalidProgram",
    "Uniformity",
    "Usage",
    "validate",
]


def validate(program: Program, *, legalized: bool = False) -> Facts:
    """The facts of `program`, or `InvalidProgram` with every finding. `legalized`: a legalizer has written it."""
    report = Report(program, legalized=legalized)
    check_nesting(report)
    check_names(report)
    check_buffers(report)
    check_limits(report)
    rules = Rules(report)
    rules.run()
    check_grid_barriers(report)
    if report.has(SCOPE_CODES):
        report.raise_if_any()
    analysis = Analysis(program, rules.nodes)
    if not legalized:
        check_convergence(report, analysis)
    report.raise_if_any()
    uniformity = analysis.uniformity()
    ranges = find_ranges(program, rules.nodes)
    return Facts(
        program=program,
        features=features(program, rules.nodes),
        locals=declared_locals(program.body),
        mutable=mutable_locals(program.body),
        usage=buffer_usage(program, rules.nodes),
        uniformity=uniformity,
        ranges=ranges,
        determinism=find_determinism(program, report.outline, rules.nodes, ranges, uniformity),
    )
