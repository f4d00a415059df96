"""Faults of the host: what it launches, what it reads back, what it remembers."""

from __future__ import annotations

from dataclasses import replace

from vyre_conform.case import Launch
from vyre_conform.controls.fault import Execute, Fault, of_launches, of_outputs, without_new_refusals
from vyre_conform.oracle.evaluators import plan_case
from vyre_conform.outcome import Outcome, Returned
from vyre_foundation.dtype import DType, bool_
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.buffer import Access
from vyre_foundation.ir.expr import Expr, Literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Stmt
from vyre_foundation.ir.walk import rewrite, rewrite_body, with_expressions


def _regrid(launch: Launch, by: int, *, only_partial: bool = False) -> Launch:
    """Another number of workgroups on x than was inferred."""
    if launch.grid is not None:
        return launch
    try:
        plan = plan_case(launch)
    except VyreError:
        return launch
    longest = max((plan.lengths[b.name] for b in plan.program.outputs), default=0)
    if only_partial and longest % plan.program.workgroup_volume == 0:
        return launch
    x, y, z = plan.grid
    return replace(launch, grid=(max(0, x + by), y, z))


def _last_group_dropped(launch: Launch) -> Launch:
    return _regrid(launch, -1, only_partial=True)


def _one_group_more(launch: Launch) -> Launch:
    return _regrid(launch, 1)


def _one_round_less(launch: Launch) -> Launch:
    return replace(launch, iterations=max(1, launch.iterations - 1))


def _override_ignored(launch: Launch) -> Launch:
    return replace(launch, workgroup=None)


def _low_bit(launch: Launch) -> Launch:
    """A bool is the lowest bit of its byte."""
    bools = {b.name for b in launch.program.inputs if b.dtype is bool_}
    inputs = {n: bytes(x & 1 for x in data) if n in bools else data for n, data in launch.inputs.items()}
    return replace(launch, inputs=inputs)


def _fresh_outputs(launch: Launch) -> Launch:
    """The contents of read and written buffers are not copied to the device."""
    both = {b.name for b in launch.program.inputs if b.access is Access.READ_WRITE}
    inputs = {n: bytes(len(data)) if n in both else data for n, data in launch.inputs.items()}
    return replace(launch, inputs=inputs)


def _truncated(launch: Launch, outcome: Returned) -> Outcome:
    return Returned(tuple(data[:-1] + bytes(1) if data else data for data in outcome.outputs))


def _in_order_of_names(launch: Launch, outcome: Returned) -> Outcome:
    named = sorted(zip([b.name for b in launch.program.outputs], outcome.outputs, strict=True))
    return Returned(tuple(data for _, data in named))


def _range_ignored(launch: Launch, outcome: Returned) -> Outcome:
    """Whole buffers are read back where a range was asked for."""
    ranges = [b.output_range for b in launch.program.outputs]
    return Returned(tuple(d if r is None else d + bytes(4) for d, r in zip(outcome.outputs, ranges, strict=True)))


def _signed_nans(launch: Launch, outcome: Returned) -> Outcome:
    """NaNs keep the sign that the hardware gives them."""
    dtypes = [b.dtype for b in launch.program.outputs]
    return Returned(tuple(_with_sign(t, data) for t, data in zip(dtypes, outcome.outputs, strict=True)))


def _with_sign(dtype: DType, data: bytes) -> bytes:
    if not dtype.is_float:
        return data
    nan = dtype.nan_bits.to_bytes(dtype.size, "little")
    signed = (dtype.nan_bits | 1 << (dtype.bits - 1)).to_bytes(dtype.size, "little")
    elements = [data[n : n + dtype.size] for n in range(0, len(data), dtype.size)]
    return b"".join(signed if element == nan else element for element in elements)


def _in_place(launch: Launch, outcome: Returned) -> Outcome:
    """Results of read and written buffers go to the caller's input, too."""
    results = dict(zip([b.name for b in launch.program.outputs], outcome.outputs, strict=True))
    changed = tuple(
        b.name for b in launch.program.inputs if results.get(b.name, b"") not in (b"", launch.inputs[b.name])
    )
    return replace(outcome, changed_inputs=changed)


def _stale_module() -> Execute:
    """Compiled code is found again by a key that leaves out the literals."""
    compiled: dict[str, Program] = {}

    def execute(launch: Launch) -> Outcome | None:
        key = str(_without_literals(launch.program))
        program = compiled.setdefault(key, launch.program)
        if program == launch.program:
            return None
        return without_new_refusals(launch, replace(launch, program=program), "vector")

    return execute


def _without_literals(program: Program) -> Program:
    memo: dict[Expr, Expr] = {}

    def zeroed(node: Expr) -> Expr:
        return Literal(node.dtype, 0) if isinstance(node, Literal) else node

    def in_stmt(stmt: Stmt) -> Stmt:
        return with_expressions(stmt, lambda e: rewrite(e, zeroed, memo))

    return replace(program, body=rewrite_body(program.body, in_stmt))


def _second_differs(launch: Launch, outcome: Returned) -> Outcome:
    """Every other dispatch begins with the memory that the last one left."""
    return replace(outcome, again=tuple(bytes(len(data)) for data in outcome.outputs))


# fmt: off
FAULTS = (
    Fault("last-group", "the last, partial workgroup is not launched",
          of_launches(_last_group_dropped), "memory:sizes"),
    Fault("group-too-many", "one workgroup too many is launched",
          of_launches(_one_group_more), "ids:inferred_grid"),
    Fault("iteration-short", "the last fixpoint iteration is left out",
          of_launches(_one_round_less), "iterations:*"),
    Fault("override-ignored", "the workgroup override is ignored",
          of_launches(_override_ignored), "ids:workgroup_override"),
    Fault("bool-low-bit", "a bool is the lowest bit of its byte",
          of_launches(_low_bit), "memory:bool_bytes"),
    Fault("upload-forgotten", "read and written buffers start as zeros",
          of_launches(_fresh_outputs), "memory:untouched_outputs"),
    Fault("readback-short", "the last byte of an output is not read back",
          of_outputs(_truncated), "memory:*"),
    Fault("outputs-by-name", "outputs come in the order of their names",
          of_outputs(_in_order_of_names), "memory:many_buffers"),
    Fault("range-ignored", "an output range is not kept",
          of_outputs(_range_ignored), "memory:output_range"),
    Fault("nan-sign", "a NaN keeps its sign",
          of_outputs(_signed_nans), "memory:nan*"),
    Fault("inputs-written", "results are written into the caller's inputs",
          of_outputs(_in_place), "memory:*"),
    Fault("stale-memory", "a second dispatch gives something else",
          of_outputs(_second_differs), "memory:*"),
    Fault("stale-module", "the cache key leaves out literals",
          _stale_module, "literals:cached"),
)
# fmt: on
