"""Running a program on the host with an evaluator that the caller brings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from vyre_driver.backend.config import DispatchConfig, Preference
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.results import Outputs
from vyre_driver.device.profile import DeviceProfile
from vyre_driver.errors import UnsupportedFeature
from vyre_driver.plan.indirect import read_indirect_grid
from vyre_driver.plan.launch import LaunchPlan, plan_launch
from vyre_foundation.ir.program import Program

Evaluate: TypeAlias = Callable[[LaunchPlan, Mapping[str, memoryview]], None]
"""Run the plan's program once over its bound buffers: their bytes by name, changed in place."""


def refuse_demands(config: DispatchConfig, backend: VyreBackend) -> None:
    """Raise `UnsupportedFeature` for what a configuration demands of a backend that does not claim it."""
    missing = [
        what
        for what, is_demanded, is_there in (
            ("speculation", config.speculation is Preference.FORCE, backend.supports_speculation()),
            (
                "persistent threads",
                config.persistent_thread is Preference.FORCE,
                backend.supports_persistent_thread_dispatch(),
            ),
            ("cooperative launches", config.cooperative, backend.supports_grid_sync()),
        )
        if is_demanded and not is_there
    ]
    if missing:
        raise UnsupportedFeature("; ".join(missing), backend=backend.id())


def dispatch_on_host(
    program: Program,
    inputs: Sequence[memoryview],
    config: DispatchConfig,
    evaluate: Evaluate,
    profile: DeviceProfile | None = None,
) -> Outputs:
    """One dispatch in host memory: inputs in, zeros elsewhere, the whole program as often as the plan says."""
    grid = None if config.grid_override is not None else read_indirect_grid(program, inputs)
    plan = plan_launch(program, [view.nbytes for view in inputs], config, profile, grid)
    given = dict(zip(plan.inputs, inputs, strict=True))
    memory = {
        buffer.name: memoryview(bytearray(given.get(buffer.name, bytes(plan.byte_length(buffer.name)))))
        for buffer in plan.program.buffers
        if buffer.memory.is_bound
    }
    once = replace(plan, repeats=1)  # some evaluators repeat by themselves
    for _ in range(plan.repeats if plan.num_workgroups else 0):
        evaluate(once, memory)
    return [memoryview(bytearray(memory[out.buffer][out.start : out.stop])) for out in plan.outputs]
