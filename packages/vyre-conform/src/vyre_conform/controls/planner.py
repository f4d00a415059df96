"""Faults of planning: grids, lengths, ranges and rounds that do not follow from the program and its inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from vyre_conform.controls.engine import on_engine
from vyre_conform.controls.fault import Fault, Layer
from vyre_driver.backend.config import Extent
from vyre_driver.plan.indirect import find_indirect_dispatch
from vyre_driver.plan.launch import LaunchPlan, infer_dispatch_grid_for_count
from vyre_driver.plan.outputs import OutputLayout
from vyre_foundation.ir.buffer import LengthOf
from vyre_foundation.ir.program import Program

Right = Callable[..., Any]
PLAN = "vyre_driver.plan.launch"


def _of_the_first_output(right: Right) -> Right:
    def infer(program: Program, lengths: Mapping[str, int]) -> Extent:
        if not program.outputs:
            return (1, 1, 1)
        return infer_dispatch_grid_for_count(lengths[program.outputs[0].name], program.workgroup_size)

    return infer


def _of_inputs_too(right: Right) -> Right:
    def infer(program: Program, lengths: Mapping[str, int]) -> Extent:
        bound = [b.name for b in program.buffers if b.memory.is_bound]
        return infer_dispatch_grid_for_count(max((lengths.get(n, 1) for n in bound), default=1), program.workgroup_size)

    return infer


def _rounded_down(right: Right) -> Right:
    def infer(count: int, size: Extent) -> Extent:
        x, y, z = size
        return (max(1, count // (x * y * z)), 1, 1) if count else (0, 1, 1)

    return infer


def _along_x(right: Right) -> Right:
    """A workgroup is taken to be as large as its first axis."""
    return lambda count, size: (-(-count // size[0]), 1, 1)


def _at_least_one(right: Right) -> Right:
    return lambda *operands: tuple(max(1, n) for n in right(*operands))


def _without_z(right: Right) -> Right:
    """Grids are planes."""
    return lambda *operands: (*right(*operands)[:2], 1)


def _reversed_words(right: Right) -> Right:
    def read(program: Program, inputs: Any) -> Extent | None:
        grid = right(program, inputs)
        return None if grid is None else (grid[2], grid[1], grid[0])

    return read


def _from_the_start(right: Right) -> Right:
    """The offset of the grid's words is overlooked."""

    def read(program: Program, inputs: Any) -> Extent | None:
        stmt = find_indirect_dispatch(program)
        if stmt is not None:
            program = replace(program, body=(replace(stmt, offset=0), *program.body[1:]))
        grid: Extent | None = right(program, inputs)
        return grid

    return read


def _ranges_from_zero(right: Right) -> Right:
    def layouts(*operands: Any) -> tuple[OutputLayout, ...]:
        return tuple(OutputLayout(o.buffer, 0, o.stop - o.start) for o in right(*operands))

    return layouts


def _whole_buffers(right: Right) -> Right:
    """Ranges of outputs are not looked at."""

    def layouts(program: Program, lengths: Mapping[str, int]) -> tuple[OutputLayout, ...]:
        return tuple(OutputLayout(b.name, 0, lengths[b.name] * b.dtype.size) for b in program.outputs)

    return layouts


def _truncating(right: Right) -> Right:
    """Lengths that follow from others are rounded down."""
    return lambda rule, length: length * rule.times // rule.over + rule.plus


def _without_constant(right: Right) -> Right:
    def resolve(rule: LengthOf, length: int) -> int:
        return -(-length * rule.times // rule.over)

    return resolve


def _iterations(change: Callable[[int], int]) -> Callable[[Right], Right]:
    def wrap(right: Right) -> Right:
        def plan_launch(*operands: Any, **options: Any) -> LaunchPlan:
            plan: LaunchPlan = right(*operands, **options)
            return replace(plan, repeats=change(plan.repeats))

        return plan_launch

    return wrap


def _units_swapped(right: Right) -> Right:
    """Scratch per invocation is as long as if it were per workgroup."""
    return lambda buffers, known, workgroups, invocations: right(buffers, known, workgroups, workgroups)


_fault = partial(Fault, Layer.PLANNER)

# fmt: off
FAULTS = (
    _fault("grid-of-first-output", "the grid follows from the first output, not from the longest",
           on_engine(f"{PLAN}:infer_dispatch_grid", _of_the_first_output), "ids:*grid* memory:*"),
    _fault("grid-of-inputs", "the grid follows from inputs too",
           on_engine(f"{PLAN}:infer_dispatch_grid", _of_inputs_too), "temptations:long_input"),
    _fault("grid-rounded-down", "the grid has whole workgroups alone",
           on_engine(f"{PLAN}:infer_dispatch_grid_for_count", _rounded_down), "memory:sizes:group=7,n=8"),
    _fault("grid-along-x", "the grid forgets y and z of the workgroup",
           on_engine(f"{PLAN}:infer_dispatch_grid_for_count", _along_x), "ids:*grid* ids:*"),
    _fault("grid-never-empty", "a grid without workgroups has one",
           on_engine(f"{PLAN}:launch_grid", _at_least_one), "ids:empty_grid"),
    _fault("grid-flat", "the third axis of a grid is 1",
           on_engine(f"{PLAN}:launch_grid", _without_z), "ids:*"),
    _fault("indirect-reversed", "the words of an indirect grid are read from z to x",
           on_engine("vyre_driver.engine.launch_request:read_indirect_grid", _reversed_words), "indirect:*"),
    _fault("indirect-offset", "the offset of an indirect grid is overlooked",
           on_engine("vyre_driver.engine.launch_request:read_indirect_grid", _from_the_start), "indirect:*"),
    _fault("range-start", "the range of an output begins at 0",
           on_engine(f"{PLAN}:output_binding_layouts", _ranges_from_zero), "memory:output_range*"),
    _fault("range-whole", "the range of an output is all of it",
           on_engine(f"{PLAN}:output_binding_layouts", _whole_buffers), "memory:output_range*"),
    _fault("length-rounded-down", "lengths that follow from others are rounded down",
           on_engine("vyre_foundation.ir.buffer:LengthOf.resolve", _truncating), "memory:*length*"),
    _fault("length-plus", "the constant of a length's rule is left out",
           on_engine("vyre_foundation.ir.buffer:LengthOf.resolve", _without_constant), "memory:*length*"),
    _fault("iteration-more", "of several iterations there is one more",
           on_engine("vyre_driver.engine.cached_launch:plan_launch", _iterations(lambda n: n + (n > 1))),
           "iterations:*"),
    _fault("iteration-once", "iterations are not counted",
           on_engine("vyre_driver.engine.cached_launch:plan_launch", _iterations(lambda n: 1)), "iterations:*"),
    _fault("scratch-short", "scratch memory per invocation is that of one per workgroup",
           on_engine("vyre_driver.engine.bind:launch_lengths", _units_swapped), "grid:* memory:*"),
)
# fmt: on
