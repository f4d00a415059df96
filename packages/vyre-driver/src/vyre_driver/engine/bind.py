"""From a plan to a launch: which code it runs, what memory and arguments each buffer gets, and who owns them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.engine.buffer_pool import BufferPool
from vyre_driver.engine.code import CompiledCode
from vyre_driver.engine.device import Device
from vyre_driver.engine.launch import PreparedLaunch, static_order
from vyre_driver.engine.pending import Deadline
from vyre_driver.engine.port import Allocation
from vyre_driver.engine.transfer import Args, Copies, InPlace, Input, Output, Transfer
from vyre_driver.errors import InvalidInput, UnsupportedFeature
from vyre_driver.legalization.schedule import COUNTERS, RUNS, TRAPS
from vyre_driver.pipeline.executable import KernelEntry
from vyre_driver.plan.coverage import written_everywhere
from vyre_driver.plan.launch import LaunchPlan
from vyre_driver.plan.lengths import launch_lengths
from vyre_driver.plan.limits import require_memory
from vyre_driver.plan.params import dispatch_param_words
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.validate.facts import Facts, Feature


def code_for(
    device: Device, plan: LaunchPlan, config: DispatchConfig, queue: int, deadline: Deadline | None = None
) -> CompiledCode:
    """Code for a planned dispatch: cooperative if the grid fits on the device, else split at grid barriers.

    Raises `UnsupportedFeature` if the configuration demands a cooperative launch and the grid does not fit.
    """
    if config.cooperative or _may_fit(device, plan):
        code = device.compile(plan.facts, config.replace(cooperative=True), queue, deadline)
        limit = device.side_by_side(code) if static_order(code.executable.schedule) == (0,) else 0
        if plan.num_workgroups <= limit:
            return code
        if config.cooperative:
            what = f"a cooperative launch of {plan.num_workgroups} workgroups (at most {limit})"
            fix = "use fewer workgroups, or leave `cooperative` to the backend"
            raise UnsupportedFeature(what, backend=device.profile.backend, fix=fix)
    return device.compile(plan.facts, config, queue, deadline)


def compilation_config(device: Device, facts: Facts, config: DispatchConfig) -> DispatchConfig:
    """The configuration to compile a program with before its grid is known.

    It is cooperative if a grid may fit on the device: `code_for` asks for that code first.
    """
    grid = config.grid_override
    may_fit = _may_be_resident(device, facts, prod(grid) if grid is not None else 1)
    return config.replace(cooperative=True) if may_fit else config


def _may_fit(device: Device, plan: LaunchPlan) -> bool:
    return _may_be_resident(device, plan.facts, plan.num_workgroups)


def _may_be_resident(device: Device, facts: Facts, workgroups: int) -> bool:
    """Whether a cooperative launch is worth compiling. How many workgroups fit is known only of compiled code."""
    if Feature.GRID_BARRIER not in facts.features or not device.target.grid_barrier:
        return False
    most = device.profile.max_resident_invocations
    return most is None or workgroups * facts.program.workgroup_volume <= most


@dataclass(frozen=True, slots=True)
class LaunchBinding:
    """The buffers of a launch by the code's names: `lengths` in elements, `sizes` in bytes, `allocations`.

    The launch does not own those in `lasting`: persistent memory, and the inputs and outputs that are `placed`. Those
    that are `covered`, by the plan's names, are known to be written everywhere.
    """

    device: Device
    plan: LaunchPlan
    code: CompiledCode
    lengths: Mapping[str, int]
    sizes: Mapping[str, int]
    allocations: Mapping[str, Allocation]
    lasting: frozenset[str]
    placed: frozenset[str]
    covered: frozenset[str]

    @property
    def inputs(self) -> dict[str, int]:
        """The positions of inputs by name."""
        return {name: position for position, name in enumerate(self.code.executable.inputs)}

    @property
    def owned(self) -> tuple[Allocation, ...]:
        """The memory that is freed with the launch."""
        return tuple(a for name, a in self.allocations.items() if name not in self.lasting)

    def args(self, entry: KernelEntry) -> Args:
        """The arguments of a kernel."""
        memories = [self.allocations[name].memory for name in entry.buffers]
        return (*memories, *dispatch_param_words(entry.lengths, self.lengths))

    def fills(self) -> tuple[tuple[Allocation, int, int], ...]:
        """The fills with zeros at the start of every dispatch: allocation, byte, size."""
        persistent = self.lasting - self.placed
        zeroed = self.allocations.keys() - self.inputs.keys() - persistent - {COUNTERS, RUNS, TRAPS}
        fills = [(self.allocations[name], 0, self.sizes[name]) for name in self.allocations if name in zeroed]
        return tuple(fills)


def bind(
    device: Device,
    plan: LaunchPlan,
    code: CompiledCode,
    persistent: dict[str, Allocation] | None,
    places: Mapping[str, Allocation] | None = None,
    longest: float = math.inf,
    covered: frozenset[str] | None = None,
    *,
    is_brief: bool = False,
) -> PreparedLaunch:
    """A launch of `plan` with memory on `device`.

    `persistent` is the memory of a pipeline, to which new persistent buffers are added; None: there is no pipeline.
    `places` is the resident memory of the inputs and outputs, None if they are in host memory. `longest` bounds the
    seconds of each launch. `covered` are the outputs that are written everywhere, where an earlier launch of the plan
    has found them. A launch that `is_brief` is expected to take less than `BRIEF_NS`. Checks come before allocations,
    and a failure frees what was allocated.
    """
    lengths = _lengths(code, plan)
    buffers = code.executable.buffers
    sizes = {name: lengths[name] * buffer.dtype.size for name, buffer in buffers.items()}
    _require_persistent_sizes(sizes, persistent or {})
    placed = _placed(code, plan, places)
    held = {**(persistent or {}), **placed}
    require_memory(sum(sizes.values()), device.profile, plan.program.name)
    fresh: dict[str, Allocation] = {}
    zeroed = {name for name, buffer in buffers.items() if buffer.memory is Memory.PERSISTENT and persistent is not None}
    in_place = device.port.shares_host_memory and places is None
    comes = _comes_with_the_dispatch(code, sizes) if in_place else frozenset()
    try:
        for name in buffers:
            if name not in held and name not in comes:
                fresh[name] = (device.allocate_zeros if name in zeroed else device.allocate)(sizes[name])
        created = {name: allocation for name, allocation in fresh.items() if name in zeroed}
        allocations, lasting = {**held, **fresh}, frozenset((*held, *created))
        covered = written_everywhere(plan) if covered is None else covered
        binding = LaunchBinding(device, plan, code, lengths, sizes, allocations, lasting, frozenset(placed), covered)
        transfer = _in_place(binding) if in_place else _copies(binding) if places is None else _resident(binding)
        outlives = places is not None and _may_outlive_the_call(device, code, placed)
        prepared = _prepared(binding, transfer, longest, is_brief=is_brief, outlives_call=outlives)
    except BaseException:
        device.free(tuple(fresh.values()))
        raise
    if persistent is not None:
        persistent.update(created)
    device.counters.prepared(prepared)
    return prepared


def _placed(code: CompiledCode, plan: LaunchPlan, places: Mapping[str, Allocation] | None) -> dict[str, Allocation]:
    """The resident memory that kernels use, by the code's names: the code may be of an equal program."""
    if places is None:
        return {}
    names = zip(code.executable.declared, plan.program.buffers, strict=True)
    return {o: places[t.name] for o, t in names if t.name in places and o in code.executable.buffers}


def _comes_with_the_dispatch(code: CompiledCode, sizes: Mapping[str, int]) -> frozenset[str]:
    """The buffers that kernels use in host memory. An input without elements has no address there."""
    executable = code.executable
    return frozenset((*executable.outputs, *(name for name in executable.inputs if sizes[name])))


def _lengths(code: CompiledCode, plan: LaunchPlan) -> Mapping[str, int]:
    """The element counts of all buffers, by the code's names: the code may be of an equal program."""
    pairs = zip(code.executable.declared, plan.program.buffers, strict=True)
    known = {ours: plan.lengths[theirs.name] for ours, theirs in pairs}
    groups = plan.num_workgroups
    return known | launch_lengths(code.executable.buffers, known, groups, groups * plan.program.workgroup_volume)


def _require_persistent_sizes(sizes: Mapping[str, int], held: Mapping[str, Allocation]) -> None:
    for name, allocation in held.items():
        if max(1, sizes[name]) != allocation.size:
            needed = f"{allocation.size} bytes, as in the pipeline's first dispatch"
            fix = "dispatch with inputs of the same lengths, or compile another pipeline"
            raise InvalidInput(name, needed=needed, got=f"{sizes[name]} bytes", fix=fix)


def _may_outlive_the_call(device: Device, code: CompiledCode, placed: Mapping[str, Allocation]) -> bool:
    """Whether a dispatch over resident memory may return before its work has ended.

    It may if later waits raise its failure, the program has no traps, and the memory is not shared with other code.
    """
    if not device.port.keeps_failures or code.executable.traps:
        return False
    return not any(map(device.is_shared, placed.values()))


def _prepared(
    binding: LaunchBinding, transfer: Transfer, longest: float, *, is_brief: bool, outlives_call: bool
) -> PreparedLaunch:
    device, plan, code, allocations = binding.device, binding.plan, binding.code, binding.allocations
    executable = code.executable
    order = static_order(executable.schedule) if plan.num_workgroups else ()
    row = _coarsening(device, plan, code, allocations)
    kernels = tuple(
        (entry.name, plan.coarsened_grid(row if entry.most > 1 else 1), entry.workgroup_size)
        for entry in executable.entries
    )
    is_one = order == (0,) and plan.repeats == 1
    runs = is_one and not transfer.reads
    prepared = PreparedLaunch(
        binding=binding,
        device=device,
        code=code,
        plan=plan,
        transfer=transfer,
        kernels=kernels,
        order=order,
        is_one=is_one,
        longest=longest,
        traps=allocations.get(TRAPS),
        counters=allocations.get(COUNTERS),
        output_bytes=sum(layout.size for layout in plan.outputs),
        outlives_call=outlives_call,
    )
    if runs:
        prepared.use_runner(is_brief=is_brief)
    return prepared


def _coarsening(device: Device, plan: LaunchPlan, code: CompiledCode, allocations: Mapping[str, Allocation]) -> int:
    """The coarsening factor of this launch, which is written to where kernels read it; 1 without such kernels."""
    if RUNS not in allocations:
        return 1
    most = min(entry.most for entry in code.executable.entries if entry.most > 1)
    workers = max([queue.workers for queue in device.profile.queues], default=device.profile.compute_units or 1)
    row = plan.workgroups_per_item(most, workers)
    device.copy_in(allocations[RUNS], np.array([row, plan.grid[0]], np.uint32).view(np.uint8).data)
    return row


def _resident(binding: LaunchBinding) -> Copies:
    """For resident memory: only outputs that may not be written everywhere are filled with zeros."""
    return Copies(
        binding.device,
        tuple(binding.args(entry) for entry in binding.code.executable.entries),
        binding.owned,
        uploads=(),
        fills=_needed_fills(binding),
        readbacks=(),
    )


def _needed_fills(binding: LaunchBinding) -> Sequence[tuple[Allocation, int, int]]:
    """The fills, without those of outputs that are known to be written everywhere."""
    covered = {binding.allocations[name] for name in _covered(binding)}
    return [fill for fill in binding.fills() if fill[0] not in covered]


def _covered(binding: LaunchBinding) -> frozenset[str]:
    """The outputs that are known to be written everywhere, by the code's names."""
    ours = dict(zip((b.name for b in binding.plan.program.buffers), binding.code.executable.declared, strict=True))
    return frozenset(ours[name] for name in binding.covered)


def _copies(binding: LaunchBinding) -> Copies:
    """For a device with memory of its own."""
    executable, plan = binding.code.executable, binding.plan
    covered = _covered(binding)
    types = [np.dtype(buffer.dtype.numpy) for buffer in plan.program.outputs]
    outputs = zip(executable.outputs, plan.outputs, types, strict=True)
    return Copies(
        binding.device,
        tuple(binding.args(entry) for entry in executable.entries),
        binding.owned,
        uploads=[(binding.allocations[n], p) for n, p in binding.inputs.items() if n not in covered],
        fills=_needed_fills(binding),
        readbacks=[(binding.allocations[name], layout.start, layout.stop, t) for name, layout, t in outputs],
    )


def _in_place(binding: LaunchBinding) -> InPlace:
    """For a device that works in host memory."""
    device, executable, plan = binding.device, binding.code.executable, binding.plan
    used = {name for entry in executable.entries for name in entry.buffers}
    outputs = [
        Output(
            BufferPool(device, binding.sizes[name], np.dtype(buffer.dtype.numpy)),
            layout.start,
            layout.stop,
            binding.inputs.get(name),
            is_covered=layout.buffer in binding.covered,
        )
        for name, buffer, layout in zip(executable.outputs, plan.program.outputs, plan.outputs, strict=True)
    ]
    read = [name for name in binding.inputs if name in used and name not in executable.outputs and binding.sizes[name]]
    rest: list[Any] = []
    places: dict[tuple[str, str], int] = {("memory", n): i for i, n in enumerate((*read, *executable.outputs))}
    come = len(places)

    def place(kind: str, name: str) -> int:
        """The place of a buffer's memory, or of its length."""
        if (kind, name) not in places:
            places[kind, name] = come + len(rest)
            rest.append(binding.allocations[name].memory if kind == "memory" else binding.lengths[name])
        return places[kind, name]

    return InPlace(
        device,
        [
            [*(place("memory", name) for name in entry.buffers), *(place("length", name) for name in entry.lengths)]
            for entry in executable.entries
        ],
        rest,
        binding.owned,
        binding.fills(),
        [Input(device, binding.inputs[name], binding.sizes[name]) for name in read],
        outputs,
    )
