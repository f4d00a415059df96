"""Rules about barriers and subgroups that need no analysis: sizes, operands, and where a grid barrier may stand."""

from __future__ import annotations

from vyre_foundation.dtype import INTEGERS, NUMBERS, DType, bool_, u32
from vyre_foundation.ir.expr import Id, IdKind
from vyre_foundation.ir.stmt import Barrier, Break, Continue, For, If, Return, Scope, Subgroup, SubgroupOp
from vyre_foundation.validate.outline import Outline, Place
from vyre_foundation.validate.report import ValidationReport

SUBGROUP_IDS = (IdKind.SUBGROUP_LANE, IdKind.SUBGROUP_SIZE)


def needs_convergence(outline: Outline) -> bool:
    """Whether there is anything that `convergence.check_convergence` looks at."""
    return bool(outline.of(Barrier, Subgroup))


def check_id(report: ValidationReport, number: int, node: Id) -> None:
    """Report an id of the subgroup in a program that declares no subgroup size."""
    if node.kind in SUBGROUP_IDS and report.program.subgroup_size is None:
        report.on_node(number, *_needs_subgroup_size(node.kind.value))


def check_subgroup(report: ValidationReport, place: Place, stmt: Subgroup) -> None:
    """Report a collective without a subgroup size, or on operands that it does not take."""
    if report.program.subgroup_size is None:
        report.at(place, *_needs_subgroup_size(stmt.op.value))
    accepted = _accepted(stmt.op)
    if accepted is not None and stmt.value.dtype not in accepted:
        names = " ".join(t.name for t in accepted)
        message = f"got {stmt.op.value} of {stmt.value.dtype}, expected one of {names}"
        report.at(place, "V057", message, "cast the operand", field="value")
    if stmt.op.takes_lane != (stmt.lane is not None):
        expected = "a lane or mask of u32" if stmt.op.takes_lane else "no lane"
        got = "none" if stmt.lane is None else "one"
        message = f"got {got} for {stmt.op.value}, expected {expected}"
        report.at(place, "V058", message, "pass a lane to broadcast, shuffle and shuffle_xor only", field="lane")
    elif stmt.lane is not None and stmt.lane.dtype is not u32:
        message = f"got a lane of {stmt.lane.dtype}, expected u32"
        report.at(place, "V058", message, "cast the lane to u32", field="lane")


def check_grid_barriers(report: ValidationReport) -> None:
    """A grid barrier cuts the program: around it are only loops that all invocations go through alike, to the end."""
    first_return = next(iter(report.outline.of(Return)), None)
    loops: set[Place] = set()
    for place in report.outline.of(Barrier):
        if place.stmt != Barrier(Scope.GRID):
            continue
        around = list(place.around())
        loops.update(p for p in around if isinstance(p.stmt, For))
        inside = next((p for p in around if isinstance(p.stmt, If)), None)
        if inside is not None:
            message = f"got a grid barrier inside of the if {inside.path}, expected it at the top or in loops only"
            report.at(place, "V052", message, "move the barrier out of the if")
        outermost = next((p for p in reversed(around) if isinstance(p.stmt, For)), place)
        if first_return is not None and first_return.number <= report.outline.end(outermost):
            message = f"got a grid barrier that invocations may have left at {first_return.path}"
            report.at(place, "V054", message, "use a condition instead of the return")
    if loops:
        _check_jumps(report, loops)


def _check_jumps(report: ValidationReport, loops: set[Place]) -> None:
    """Iterations of a loop with a grid barrier are counted by the host, so no invocation may leave one early."""
    for place in report.outline.of(Break, Continue):
        loop = next((p for p in place.around() if isinstance(p.stmt, For)), None)
        if loop in loops:
            word = "break" if isinstance(place.stmt, Break) else "continue"
            message = f"got {word} in the loop {loop.path}, which has a grid barrier"
            report.at(place, "V055", message, "use a condition instead of the jump")


def _needs_subgroup_size(what: str) -> tuple[str, str, str]:
    return "V056", f"got {what} in a program without a subgroup size", "declare a subgroup_size"


def _accepted(op: SubgroupOp) -> tuple[DType, ...] | None:
    """The operand types of a collective; None: all."""
    if op in (SubgroupOp.ANY, SubgroupOp.ALL, SubgroupOp.BALLOT):
        return (bool_,)
    match op.combine:
        case None:
            return None
        case "and" | "or" | "xor":
            return INTEGERS
        case _:
            return NUMBERS
