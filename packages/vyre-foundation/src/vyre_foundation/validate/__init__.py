"""The validator: every rule that a constructor cannot check, and the facts that later stages need.

A valid program obeys these rules. `codes.RULES` has an example and the repair for each, and so has the documentation.

Names and declarations (`names`, `buffers`)
    V001  Buffers have names of their own.
    V002  Buffers with a binding come first, and their bindings are 0, 1, 2, … in this order.
    V003  Names have ASCII letters, digits, `_` and dots, no digit first; a program's is any non-empty text.
    V004  Names do not begin with `__`; these belong to lowering.
    V005  A length that follows from another buffer names a buffer of the program that has a binding.
    V006  Lengths that follow from lengths end at a count or an input, not at themselves or at the grid.
    V007  A length that is known from the declarations is not negative, and below 2**32.
    V008  The byte range of an output with a fixed count lies inside of the output.

Limits (`limits`, `names`)
    V010  A workgroup has 1 … 1024 invocations on x and y, 1 … 64 on z, and at most 1024 in all.
    V011  The subgroup size is a power of two in 1 … 64 that divides the invocations of the workgroup.
    V012  At most 32 KiB of workgroup, 16 KiB of private, 4 MiB of constant memory, 64 KiB in a uniform one.
    V013  At most 64 buffers have a binding.
    V014  A statement is inside of at most 64 others.
    V015  Names, labels and tags are Unicode text of at most 1024 bytes in UTF-8.
    V016  A body is a tuple of statements, whose fields are of the kinds that their classes declare.

Locals (`scope`)
    V020  A local is declared once in the whole program.
    V021  A local is declared.
    V022  A local is used after its declaration and inside of the body that declares it.
    V023  A local has the type with which it is declared.
    V024  Only locals declared with `var` are assigned; loop counters are not.
    V025  A local is assigned values of its own type.

Memory (`access`)
    V009  The body uses buffers that the program declares, with exactly this declaration.
    V030  Write-only buffers are not loaded from.
    V031  Read-only buffers are not stored to.
    V032  Atomics are for written storage, persistent, scratch and workgroup memory.
    V033  A stored value has the type of the buffer.
    V034  An index is of an integer type.
    V035  Atomics are for u32, i32, u64 and i64.
    V036  The operands of an atomic have the type of the buffer.
    V037  Compare_exchange has an expected value, and no other atomic has one.

Control (`control`, `names`)
    V040  A condition is a bool.
    V041  The bounds of a loop have one integer type.
    V042  The step of a loop is a positive number of the type of its bounds.
    V043  Break and continue are inside of a loop.
    V044  No statement comes after one that always leaves the body.
    V045  The code of a trap is a u32.
    V046  The tag of a trap is not empty.
    V047  An indirect dispatch is the first statement of the program.
    V048  The grid of an indirect dispatch is three elements of a u32 input.

Barriers and subgroups (`collectives`, `convergence`)
    V050  A barrier is reached by all invocations of a workgroup or by none.
    V051  A collective is reached by all invocations of a workgroup or by none.
    V052  A grid barrier is at the top of the program or in loops, not in an if.
    V053  The bounds of loops around a grid barrier are known to the host: literals, lengths, num_workgroups.
    V054  No invocation may have returned before a grid barrier.
    V055  Loops around a grid barrier have no break and no continue.
    V056  Programs that use subgroups declare a subgroup size.
    V057  Collectives add and compare numbers, combine bits of integers, and count bools.
    V058  Broadcast, shuffle and shuffle_xor have a lane or mask of u32, and the other collectives have none.
    V059  The lane of a broadcast is the same in the whole workgroup.

Calls, and what is for legalizers (`calls`, `raw`)
    V060  Ops with a precondition are for legalizers.
    V061  Accesses and casts without a check are for legalizers.
    V062  The op of a call is defined by an installed dialect.
    V063  The operands and the result of a call have the types of one of the op's signatures.
    V064  A called op is a composition of pure ops over its operands, and not of itself.
    V065  An attribute of a call is a literal of the attribute's type.
    V066  The dialect of a called op has nothing against the call.

Determinism: not a condition for validity, but reported (`determinism`)
    D001  A store meets no other access of its barrier interval.
    D002  A load meets no write of its barrier interval.
    D003  An atomic whose order shows meets no other access of its barrier interval.
    D004  Atomics with different ops do not meet in a barrier interval.
    D005  The program is small enough for a proof.

Facts about a valid program: which expressions are the same for whom (`uniformity`), what values integers can have
(`ranges`), whether the order of execution can show (`determinism`), what it declares, touches and needs (`declared`).

All findings are raised in one error. Uniformity is judged only where locals are declared as they should be. A program
of a legalizer may use what is for legalizers, reserved names and more memory; its lengths and its control flow are
those of the program that it comes from, so they are not judged again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache

from vyre_foundation.ir.argument import require
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Var
from vyre_foundation.validate import determinism
from vyre_foundation.validate.buffers import check_buffers
from vyre_foundation.validate.collectives import check_grid_barriers, needs_convergence
from vyre_foundation.validate.convergence import check_convergence
from vyre_foundation.validate.declared import buffer_usage, features
from vyre_foundation.validate.facts import (
    Determinism,
    Facts,
    Feature,
    Finding,
    Grid,
    Interval,
    InvalidProgram,
    Uniformity,
    Usage,
)
from vyre_foundation.validate.later import Later
from vyre_foundation.validate.later_ranges import LaterRanges
from vyre_foundation.validate.limits import check_kinds, check_limits, check_nesting
from vyre_foundation.validate.names import check_names
from vyre_foundation.validate.outline import Outline
from vyre_foundation.validate.report import ValidationReport
from vyre_foundation.validate.rules import Rules
from vyre_foundation.validate.scope import SCOPE_CODES
from vyre_foundation.validate.uniformity import Analysis

__all__ = [
    "Determinism",
    "Facts",
    "Feature",
    "Finding",
    "Grid",
    "Interval",
    "InvalidProgram",
    "Uniformity",
    "Usage",
    "validate",
]


CACHED_GRIDS = 16
"""Grids of a program whose verdicts are cached."""


def validate(program: Program, *, legalized: bool = False) -> Facts:
    """The facts of `program`, or `InvalidProgram` with every finding. `legalized`: a legalizer has written it."""
    require(validate, Program, program)
    return _validated(ValidationReport(program, legalized=legalized))


def _validated(report: ValidationReport) -> Facts:
    program = report.program
    check_kinds(report)
    check_nesting(report)
    check_names(report)
    check_buffers(report)
    check_limits(report)
    Rules(report).run()
    check_grid_barriers(report)
    if report.has(SCOPE_CODES):
        report.raise_if_any()

    @cache
    def analysis() -> Analysis:
        return Analysis(program, program.code.nodes)

    if not report.legalized and needs_convergence(report.outline):
        check_convergence(report, analysis())
    report.raise_if_any()
    return _facts(program, report.outline, analysis)


def _facts(program: Program, outline: Outline, analysis: Callable[[], Analysis]) -> Facts:
    """The facts of a valid program."""
    nodes = program.code.nodes
    uniformity = Later(lambda: analysis().uniformity())
    ranges = LaterRanges(program)

    @lru_cache(CACHED_GRIDS)
    def prove_determinism(grid: Grid | None) -> Determinism:
        return determinism.find_determinism(program, outline, nodes, ranges.now, uniformity.now, grid)

    return Facts(
        program=program,
        features=features(program),
        locals={name: dtype for _, name, dtype in outline.declared},
        mutable=frozenset(stmt.name for stmt in program.of(Var)),
        usage=buffer_usage(program),
        uniformity=uniformity,
        ranges=ranges,
        prove_determinism=prove_determinism,
    )
