"""Determinism of one launch: with its grid, its lengths and its uniform values, more is proven than of all launches.

    out[global_id.y * width[0] + global_id.x] = …      is deterministic if no row is longer than `width[0]`

The values become literals, and the proof is that of any program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from vyre_driver.plan.launch import LaunchPlan, validated
from vyre_foundation.dtype import u32
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.expr import Expr, Length, Literal, Load
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, IndirectDispatch, Stmt, Store
from vyre_foundation.ir.walk import rewrite, rewrite_body, with_expressions
from vyre_foundation.validate.facts import Determinism, Facts

CACHED = 64
"""Launches whose facts are cached; these keep the verdicts of grids."""
MAX_UNIFORM_BYTES = 256
"""The values of larger uniform buffers stay unknown."""


def launch_determinism(plan: LaunchPlan, inputs: Sequence[memoryview]) -> Determinism:
    """Whether the order of execution can show in the launch `plan` over `inputs`, which are in binding order.

    The verdict for all launches, where that is a proof.
    """
    general = plan.facts.determinism
    return general if general.is_deterministic else launch_facts(plan, inputs).determinism_in(plan.grid)


def launch_facts(plan: LaunchPlan, inputs: Sequence[memoryview]) -> Facts:
    """The facts of the program in one launch, with its lengths and the values of small uniforms as literals.

    Its statements are those of the plan's program, one for one.
    """
    given = zip(plan.program.inputs, inputs, strict=True)
    values = tuple(
        (buffer.name, bytes(data))
        for buffer, data in given
        if buffer.memory is Memory.UNIFORM and buffer.dtype.is_integer and data.nbytes <= MAX_UNIFORM_BYTES
    )
    return _launch_facts(plan.program, tuple(plan.lengths.items()), values)


@lru_cache(CACHED)
def _launch_facts(
    program: Program, lengths: tuple[tuple[str, int], ...], values: tuple[tuple[str, bytes], ...]
) -> Facts:
    return validated(_with_literals(program, dict(lengths), dict(values)))


def _with_literals(program: Program, lengths: Mapping[str, int], values: Mapping[str, bytes]) -> Program:
    """`program` with what is known of a launch in place of lengths and of elements of uniforms."""
    buffers = {b: b if isinstance(b.count, int) else b.replace(count=lengths[b.name]) for b in program.buffers}
    memo: dict[Expr, Expr] = {}

    def known(node: Expr) -> Expr:
        match node:
            case Length(buffer):
                return Literal(u32, lengths[buffer.name])
            case Load(buffer, Literal() as index) if buffer.name in values:
                size, first = buffer.dtype.size, int(index.value) * buffer.dtype.size
                element = values[buffer.name][first : first + size] if first >= 0 else b""
                return Literal(buffer.dtype, int.from_bytes(element, "little"))
            case Load(buffer, index):
                return Load(buffers[buffer], index)
        return node

    def statement(stmt: Stmt) -> Stmt:
        stmt = with_expressions(stmt, lambda root: rewrite(root, known, memo))
        match stmt:
            case Store() | Atomic() | IndirectDispatch():
                return replace(stmt, buffer=buffers[stmt.buffer])
        return stmt

    return replace(program, buffers=tuple(buffers.values()), body=rewrite_body(program.body, statement))
