"""Rules about control: conditions, loops, jumps, traps and the indirect dispatch."""

from __future__ import annotations

from vyre_foundation.dtype import bool_, u32
from vyre_foundation.ir.stmt import Break, Continue, For, If, IndirectDispatch, Region, Return, Stmt, Trap
from vyre_foundation.validate.buffers import MAX_LENGTH
from vyre_foundation.validate.outline import Place
from vyre_foundation.validate.report import ValidationReport


def check_if(report: ValidationReport, place: Place, stmt: If) -> None:
    """Report a condition that is no bool (V040)."""
    if stmt.condition.dtype is not bool_:
        message = f"got a condition of {stmt.condition.dtype}, expected bool"
        report.at(place, "V040", message, "compare it with something", field="condition")


def check_for(report: ValidationReport, place: Place, stmt: For) -> None:
    """Report bounds that are not of one integer type (V041), and a step that does not fit it (V042)."""
    start, stop = stmt.start.dtype, stmt.stop.dtype
    if start is not stop or not start.is_integer:
        message = f"got bounds of {start} and {stop}, expected one integer type"
        report.at(place, "V041", message, "cast both to one integer type", field="start")
    elif not 1 <= stmt.step <= start.highest:
        message = f"got a step of {stmt.step}, expected 1 … {start.highest}"
        report.at(place, "V042", message, "count upwards, and compute what counts down from the counter", field="step")


def check_jump(report: ValidationReport, place: Place, stmt: Break | Continue) -> None:
    """Report a `break` or `continue` outside of a loop (V043)."""
    if not any(isinstance(around.stmt, For) for around in place.around()):
        word = "break" if isinstance(stmt, Break) else "continue"
        report.at(place, "V043", f"got {word} outside of a loop", "use return, or put it into a loop")


def check_reachable(report: ValidationReport, place: Place) -> None:
    """Report a statement after one that always leaves the body (V044)."""
    if leaves(place.before):
        message = "got a statement after one that always leaves the body"
        report.at(place, "V044", message, "remove what is never reached")


def check_trap(report: ValidationReport, place: Place, stmt: Trap) -> None:
    """Report a code that is no u32 (V045)."""
    if stmt.code.dtype is not u32:
        message = f"got a code of {stmt.code.dtype}, expected u32"
        report.at(place, "V045", message, "cast the code to u32", field="code")


def check_indirect_dispatch(report: ValidationReport, place: Place, stmt: IndirectDispatch) -> None:
    """Report an indirect dispatch that is not the first statement (V047), or whose grid is no input of u32."""
    if place.number != 0:
        message = "got an indirect dispatch here, expected it as the first statement of the program"
        report.at(place, "V047", message, "move it to the top; there can be only one")
    buffer = stmt.buffer
    if not buffer.is_input or buffer.dtype is not u32:
        message = f"got the grid from {buffer!r}, expected an input of u32"
        report.at(place, "V048", message, "name a storage or uniform buffer of u32 that the host binds", field="buffer")
        return
    count, has = (buffer.count, buffer.count) if isinstance(buffer.count, int) else (MAX_LENGTH, "less than 2**32")
    if not 0 <= stmt.offset <= count - 3:
        message = f"got three words from element {stmt.offset} of {buffer.name!r}, which has {has}"
        report.at(place, "V048", message, "use an offset with three elements from there on", field="offset")


def leaves(stmt: Stmt | None) -> bool:
    """Whether what follows `stmt` in its body is never reached."""
    while isinstance(stmt, Region) and stmt.body:
        stmt = stmt.body[-1]
    return stmt.__class__ in _JUMPS


_JUMPS = (Return, Break, Continue)
