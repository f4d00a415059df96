"""What a plan and its code come to on a device: the memory of each buffer, and the arguments of each kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vyre_driver.engine.allocation import Allocation
from vyre_driver.engine.code import Code
from vyre_driver.engine.device import Device
from vyre_driver.engine.transfer import Args
from vyre_driver.legalization.lowered import COUNTERS, RUNS, TRAPS
from vyre_driver.pipeline.executable import KernelEntry
from vyre_driver.plan.launch import LaunchPlan
from vyre_driver.plan.params import dispatch_param_words


@dataclass(frozen=True, slots=True)
class Binding:
    """What binding knows: `sizes` in bytes and `allocations` by the code's names.

    Those in `lasting` are not the launch's to free: persistent memory, and the inputs and outputs that are `placed`.
    """

    device: Device
    plan: LaunchPlan
    code: Code
    lengths: Mapping[str, int]
    sizes: Mapping[str, int]
    allocations: Mapping[str, Allocation]
    lasting: frozenset[str]
    placed: frozenset[str]

    @property
    def inputs(self) -> dict[str, int]:
        """Positions by name."""
        return {name: position for position, name in enumerate(self.code.executable.inputs)}

    @property
    def owned(self) -> tuple[Allocation, ...]:
        return tuple(a for name, a in self.allocations.items() if name not in self.lasting)

    def args(self, entry: KernelEntry) -> Args:
        """The arguments of a kernel."""
        memories = [self.allocations[name].memory for name in entry.buffers]
        return (*memories, *dispatch_param_words(entry.lengths, self.lengths))

    def fills(self) -> tuple[tuple[Allocation, int, int], ...]:
        """The zeros that every dispatch begins with."""
        persistent = self.lasting - self.placed
        zeroed = self.allocations.keys() - self.inputs.keys() - persistent - {COUNTERS, RUNS, TRAPS}
        fills = [(self.allocations[name], 0, self.sizes[name]) for name in self.allocations if name in zeroed]
        return tuple(fills)
