"""From a plan and its code to a launch with memory and arguments: what each buffer gets, and who owns it."""

from __future__ import annotations

from collections.abc import Mapping

from vyre_driver.engine.code import Code
from vyre_driver.engine.device import Allocation, Device
from vyre_driver.engine.prepared import BoundKernel, Prepared
from vyre_driver.engine.schedule import straight
from vyre_driver.errors import InvalidInput
from vyre_driver.lower.lowered import COUNTERS, TRAPS
from vyre_driver.pipeline.executable import Entry
from vyre_driver.plan.launch import LaunchPlan
from vyre_driver.plan.lengths import launch_lengths
from vyre_driver.plan.limits import require_room
from vyre_foundation.ir.buffer import Buffer, Memory


def bind(device: Device, plan: LaunchPlan, code: Code, kept: dict[str, Allocation] | None) -> Prepared:
    """`plan` with memory on `device`. `kept` is a pipeline's persistent memory, which grows here; None: no pipeline.

    Refuses before it allocates, and when the device has no room, what was allocated is freed again.
    """
    lengths = _lengths(code, plan)
    buffers = code.executable.buffers
    sizes = {name: lengths[name] * buffer.dtype.size for name, buffer in buffers.items()}
    held = kept or {}
    _require_kept_sizes(sizes, held)
    require_room(sum(sizes.values()), device.profile, plan.program.name)
    fresh: dict[str, Allocation] = {}
    try:
        for name in buffers:
            if name not in held:
                fresh[name] = device.allocate(sizes[name])
        persistent = _persistent(device, buffers, sizes, fresh) if kept is not None else {}
        prepared = _prepared(device, plan, code, lengths, sizes, {**held, **fresh}, {**held, **persistent})
    except BaseException:
        device.free(tuple(fresh.values()))
        raise
    if kept is not None:
        kept.update(persistent)
    device.counters.prepares += 1
    return prepared


def _lengths(code: Code, plan: LaunchPlan) -> Mapping[str, int]:
    """The element counts of all buffers of the code. Code may come from an equal program with other names."""
    pairs = zip(code.executable.declared, plan.program.buffers, strict=True)
    known = {ours: plan.lengths[theirs.name] for ours, theirs in pairs}
    groups = plan.num_workgroups
    return known | launch_lengths(code.executable.buffers, known, groups, groups * plan.program.workgroup_volume)


def _require_kept_sizes(sizes: Mapping[str, int], held: Mapping[str, Allocation]) -> None:
    for name, allocation in held.items():
        if max(1, sizes[name]) != allocation.size:
            needed = f"{allocation.size} bytes, as in the pipeline's first dispatch"
            fix = "dispatch with inputs of the same lengths, or compile another pipeline"
            raise InvalidInput(name, needed=needed, got=f"{sizes[name]} bytes", fix=fix)


def _persistent(
    device: Device, buffers: Mapping[str, Buffer], sizes: Mapping[str, int], fresh: Mapping[str, Allocation]
) -> dict[str, Allocation]:
    """The persistent buffers among `fresh`, zero as they begin."""
    begun = {name: a for name, a in fresh.items() if buffers[name].memory is Memory.PERSISTENT}
    for name, allocation in begun.items():
        device.fill(allocation, 0, sizes[name])
    return begun


def _prepared(
    device: Device,
    plan: LaunchPlan,
    code: Code,
    lengths: Mapping[str, int],
    sizes: Mapping[str, int],
    allocations: Mapping[str, Allocation],
    persistent: Mapping[str, Allocation],
) -> Prepared:
    executable = code.executable
    positions = {name: position for position, name in enumerate(executable.inputs)}
    zeroed = allocations.keys() - positions.keys() - persistent.keys() - {COUNTERS, TRAPS}
    fills = [(allocations[name], 0, sizes[name]) for name in allocations if name in zeroed]
    if TRAPS in allocations:
        fills.append((allocations[TRAPS], 0xFF, sizes[TRAPS]))
    outputs = zip(executable.outputs, plan.outputs, strict=True)
    return Prepared(
        device=device,
        code=code,
        plan=plan,
        owned=tuple(allocation for name, allocation in allocations.items() if name not in persistent),
        uploads=tuple((allocations[name], position) for name, position in positions.items()),
        fills=tuple(fills),
        kernels=tuple(_bound(entry, lengths, allocations) for entry in executable.entries),
        readbacks=tuple((allocations[name], layout.start, layout.stop) for name, layout in outputs),
        lengths=lengths,
        straight=straight(executable.schedule),
        traps=allocations.get(TRAPS),
        counters=allocations.get(COUNTERS),
    )


def _bound(entry: Entry, lengths: Mapping[str, int], allocations: Mapping[str, Allocation]) -> BoundKernel:
    memories = [allocations[name].memory for name in entry.buffers]
    return BoundKernel(entry.name, entry.workgroup_size, (*memories, *(lengths[name] for name in entry.lengths)))
