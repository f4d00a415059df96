"""One launch plan: grid, lengths, binding order and output layout, computed once and used by every executor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import index
from types import MappingProxyType
from typing import NamedTuple, SupportsIndex

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig, Extent
from vyre_driver.backend.received import validated as validated
from vyre_driver.device.profile import DeviceProfile
from vyre_driver.errors import InvalidInput, InvalidLaunch
from vyre_driver.plan.binding import BindingPlan, dispatch_element_count, dispatch_element_count_for_program
from vyre_driver.plan.indirect import find_indirect_dispatch
from vyre_driver.plan.lengths import fixed_lengths, input_lengths, launch_lengths
from vyre_driver.plan.limits import require_limits
from vyre_driver.plan.outputs import OutputLayout as OutputLayout, enforce_actual_output_budget, output_binding_layouts
from vyre_driver.plan.shapes import resolve_fixpoint_iterations
from vyre_driver.plan.tail import TailMaskPolicy
from vyre_foundation.ir.expr import Id, IdKind
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.shapes import on_axes, surplus_axis
from vyre_foundation.validate.facts import Facts

ROWS = 16
"""Rows of workgroups for each worker: enough that none waits for long when the others are done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchPlan:
    """Everything about a launch that does not depend on the contents of its inputs.

    `program` has the workgroup size that is launched, including an override, and `facts` has its facts. `grid` is the
    number of workgroups on each axis; if one is 0, nothing runs. `lengths` has the number of elements of every buffer
    by name. `inputs` and `outputs` are in binding order. The program runs `repeats` times over the same memory. `axes`
    has the lengths that the launch passes in `LAUNCH_SHAPE`, if they are known.
    """

    program: Program
    facts: Facts
    grid: Extent
    lengths: Mapping[str, int]
    inputs: tuple[str, ...]
    outputs: tuple[OutputLayout, ...]
    repeats: int = 1
    axes: tuple[int, ...] = ()

    def __repr__(self) -> str:
        buffers = f"{len(self.inputs)} inputs, {len(self.outputs)} outputs"
        return f"<LaunchPlan of {self.program.name!r}: grid {self.grid} of {self.program.workgroup_size}, {buffers}>"

    @property
    def bindings(self) -> BindingPlan:
        """The roles of the buffers in the dispatch."""
        return BindingPlan.of(self.program, self.lengths)

    @property
    def num_workgroups(self) -> int:
        """The number of all workgroups; 0 if nothing runs."""
        x, y, z = self.grid
        return x * y * z

    def workgroups_per_item(self, most: int, workers: int) -> int:
        """Return the number of workgroups on x, at most `most`, that one of `workers` should run as a batch.

        The batches of a launch are about equally long, and there are enough for all workers.
        """
        x, longest = self.grid[0], max(1, min(most, self.num_workgroups // (workers * ROWS)))
        return -(-x // -(-x // longest)) if x else 1

    def coarsened_grid(self, row: int) -> Extent:
        """Return the grid of a kernel whose work items run batches of workgroups."""
        x, y, z = self.grid
        return (-(-x // row), y, z)

    @property
    def tail(self) -> TailMaskPolicy:
        """The numbers of elements and of invocations of the launch. Invocations of the tail have no element."""
        lanes = self.num_workgroups * self.program.workgroup_volume
        return TailMaskPolicy(min(lanes, dispatch_element_count(self.bindings)), lanes)

    def byte_length(self, buffer: str) -> int:
        """Return the size of a buffer in bytes."""
        return self.lengths[buffer] * self.program.buffer(buffer).dtype.size


def plan_launch(
    program: Program,
    byte_lengths: Sequence[int],
    config: DispatchConfig = DEFAULT_CONFIG,
    profile: DeviceProfile | None = None,
    indirect_grid: Extent | None = None,
    axes: tuple[int, ...] = (),
) -> LaunchPlan:
    """Plan a launch of `program` for inputs of these sizes in bytes, in binding order.

    A program with an `indirect_dispatch` needs `indirect_grid`, the result of `read_indirect_grid`; a `grid_override`
    takes precedence. With a `profile`, the limits of the device are checked too, and all violations are reported at
    once. `axes` has the lengths of axes that the launch passes, if they are known: then more outputs are proven to be
    written everywhere.

    Raises:
        InvalidProgram: The program is invalid.
        InvalidInput: The number or the size of inputs is wrong. The error names the buffer.
        InvalidLaunch: The grid, or another option, is invalid.
        OutputLimitExceeded: The outputs exceed the limit of the configuration.
        UnsupportedFeature: The device lacks a feature, or the launch exceeds a limit.
        DeviceOutOfMemory: The buffers exceed the memory of the device.
    """
    facts = validated(with_workgroup_size(program, config.workgroup_override))
    program = facts.program
    lengths = fixed_lengths(program, input_lengths(program, byte_lengths))
    grid = launch_grid(program, lengths, config, indirect_grid)
    require_ids_fit(program, grid)
    outputs = output_binding_layouts(program, lengths)
    enforce_actual_output_budget(config, outputs)
    groups = grid[0] * grid[1] * grid[2]
    buffers = {buffer.name: buffer for buffer in program.buffers}
    plan = LaunchPlan(
        program=program,
        facts=facts,
        grid=grid,
        lengths=MappingProxyType(launch_lengths(buffers, lengths, groups, groups * program.workgroup_volume)),
        inputs=tuple(buffer.name for buffer in program.inputs),
        outputs=outputs,
        repeats=resolve_fixpoint_iterations(config),
        axes=axes,
    )
    if profile is not None:
        require_limits(program, grid, {name: plan.byte_length(name) for name in plan.lengths}, profile)
    return plan


def with_workgroup_size(program: Program, size: Extent | None) -> Program:
    """Return `program` with another workgroup size; itself for None, or for the size that it has."""
    if size is None or size == program.workgroup_size:
        return program
    sized, origins = replace(program, workgroup_size=size), program.origins
    return sized if origins is None else sized.with_origins(origins)


def infer_dispatch_grid(program: Program, lengths: Mapping[str, int]) -> Extent:
    """Return the grid, on x, with an invocation for each element of the longest output, or one workgroup."""
    return infer_dispatch_grid_for_count(dispatch_element_count_for_program(program, lengths), program.workgroup_size)


def infer_dispatch_grid_for_count(count: int, workgroup_size: Extent) -> Extent:
    """Return the grid, on x, with an invocation for each of `count` elements. It is empty for 0 elements."""
    x, y, z = workgroup_size
    return (-(-count // (x * y * z)), 1, 1)


def grid_of_invocations(
    program: Program, invocations: int | Sequence[int], config: DispatchConfig = DEFAULT_CONFIG
) -> Extent:
    """Compute the number of workgroups on each axis for a number of invocations.

    Args:
        program: Has the workgroup size.
        invocations: The least number on x, or on (x, y) or (x, y, z): the width of an image comes first, unlike in the
            shape of its array.
        config: May have a workgroup size that replaces the program's.

    Returns:
        The grid, for `DispatchConfig.grid_override`.

    Raises:
        InvalidLaunch: The number of invocations is none; or a workgroup has several invocations on an axis that the
            shape of the launch does not have, and for which no number is passed.
    """
    given = invocations if isinstance(invocations, (tuple, list)) else (invocations,)
    if not 1 <= len(given) <= 3 or not all(map(_is_count, given)):
        needed, fix = "one, two or three integers of at least 0", "pass (x, y), as in (width, height)"
        raise InvalidLaunch("invocations", needed=needed, got=repr(invocations), fix=fix)
    sizes = config.workgroup_override or program.workgroup_size
    _require_axes_of_shape(program, given, sizes)
    x, y, z = (-(-index(n) // size) for n, size in zip((*given, 1, 1), sizes, strict=False))
    return x, y, z


def with_invocations(program: Program, invocations: int | Sequence[int], config: DispatchConfig) -> DispatchConfig:
    """Return the options of a launch with a number of invocations.

    Args:
        program: Has the workgroup size.
        invocations: As for `grid_of_invocations`.
        config: The options, which state no grid.

    Returns:
        The options, with the grid.

    Raises:
        InvalidLaunch: The number of invocations is none, or the grid is stated already, by `config` or by an input.
    """
    if config.grid_override is not None:
        raise InvalidLaunch("invocations", needed="invocations or a grid_override", got="both", fix="pass one")
    stmt = find_indirect_dispatch(program)
    if stmt is not None:
        raise InvalidLaunch(
            "invocations",
            needed=f"none, as the program takes its grid from three words of {stmt.buffer.name!r}",
            got=repr(invocations),
            fix=f"pass the grid in {stmt.buffer.name!r}, or replace it with DispatchConfig(grid_override=(x, y, z))",
        )
    return config.replace(grid_override=grid_of_invocations(program, invocations, config))


def _require_axes_of_shape(program: Program, invocations: Sequence[SupportsIndex], sizes: Extent) -> None:
    """Refuse workgroups whose further invocations would each do the work of an element once more."""
    shape = () if program.shapes is None else program.shapes.launch
    if not shape:
        return
    asked = max([len(shape), *(axis + 1 for axis, count in enumerate(invocations) if index(count) > 1)])
    surplus = surplus_axis(asked, sizes)
    if surplus is None:
        return
    letter, text = "xyz"[surplus], ", ".join(map(str, shape))
    raise InvalidLaunch(
        "workgroup size",
        needed=f"one invocation on {letter}, which the shape of the launch, ({text}), does not have",
        got=f"{sizes}",
        fix=f"use workgroups of {on_axes(asked, sizes)}, or pass the number of invocations on {letter} too",
    )


def require_x_alone(program: Program, config: DispatchConfig) -> None:
    """Refuse a program that asks for y or z where no grid is given, or whose workgroups extend there in vain.

    Without a grid there are as many invocations on x as the longest output has elements, and one row of workgroups: the
    program would compute a part of its outputs, and nothing would say so.

    Raises:
        InvalidLaunch: It is such a program.
    """
    workgroup_size = config.workgroup_override or program.workgroup_size
    places = program.memoised(_places)
    if places.asked:
        axes = " and ".join("xyz"[axis] for axis in places.asked)
        raise InvalidLaunch(
            "invocations",
            needed=f"how many there are on {axes}, as the program asks for its place there",
            got="none",
            fix="pass invocations=(width, height), or DispatchConfig(grid_override=…); to `vyre run`, --invocations",
        )
    for axis in places.unused:
        if workgroup_size[axis] > 1:
            raise InvalidLaunch(
                "workgroup size",
                needed=f"one invocation on {'xyz'[axis]}, as the program does not ask for its place there",
                got=f"{tuple(workgroup_size)}",
                fix=f"use workgroups of {on_axes(1, workgroup_size)}, or pass invocations=… for each axis",
            )


class _Places(NamedTuple):
    """The axes beside x on which the invocations of a program ask for their place, or do not."""

    asked: Sequence[int] = ()
    """Those on which it is one in the whole grid."""
    unused: Sequence[int] = ()
    """Those on which a larger workgroup would only repeat what its first row does."""


def _places(program: Program) -> _Places:
    if find_indirect_dispatch(program) is not None:
        return _Places()
    ids = program.code.of(Id)
    asked = {node.axis for node in ids if node.kind in (IdKind.GLOBAL_ID, IdKind.WORKGROUP_ID)} - {0}
    local = {node.axis for node in ids if node.kind is IdKind.LOCAL_ID}
    uses_x = program.subgroup_size is None and Id(IdKind.GLOBAL_ID, 0) in ids
    return _Places(sorted(asked), [axis for axis in (1, 2) if uses_x and axis not in local])


def _is_count(given: object) -> bool:
    if type(given) is int:  # a look at a protocol takes microseconds
        return given >= 0
    return isinstance(given, SupportsIndex) and not isinstance(given, bool) and index(given) >= 0


def launch_grid(
    program: Program, lengths: Mapping[str, int], config: DispatchConfig, indirect: Extent | None
) -> Extent:
    """Return the grid of a launch: the override, the grid from a buffer, or the one that lengths imply."""
    if config.grid_override is not None:
        return config.grid_override
    stmt = find_indirect_dispatch(program)
    if stmt is None:
        return infer_dispatch_grid(program, lengths)
    if indirect is None:
        raise InvalidInput(
            stmt.buffer.name,
            needed="its three words of the grid",
            got="a plan without them",
            fix="pass indirect_grid=read_indirect_grid(program, inputs), or a grid_override",
        )
    return indirect


def require_ids_fit(program: Program, grid: Extent) -> None:
    """Raise an error unless every id, including the linear id of a trap, is a u32."""
    if 0 in grid:
        return
    total = 1
    for axis, groups, size in zip("xyz", grid, program.workgroup_size, strict=True):
        total *= groups * size
        if groups * size > 2**32:
            got = f"{groups} workgroups of {size} on {axis}"
            needed = f"at most {2**32} invocations on each axis"
            raise InvalidLaunch("grid", needed=needed, got=got, fix="use fewer workgroups, or split the dispatch")
    if total > 2**32:
        raise InvalidLaunch("grid", needed=f"at most {2**32} invocations", got=f"{total}", fix="split the dispatch")
