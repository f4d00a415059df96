"""Quantities that a run of the compiler decides and no clock: what the gate keeps from growing.

They are counted at toy size without a device: the shape of what is emitted does not depend on it, and neither does
what the engine does for a warm dispatch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workloads import WORKLOADS, Work

from vyre_driver import DispatchConfig
from vyre_driver.codegen.lower import legalize
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.legalization.target import Groups, Target
from vyre_driver.testing.fake_port import FakePort
from vyre_driver.testing.target import generous_target
from vyre_foundation import Facts, Program, print_program, validate
from vyre_foundation.ir.expr import Load
from vyre_foundation.ir.stmt import If
from vyre_foundation.ir.walk import program_expressions, statements
from vyre_foundation.optimize import optimize

Counts = dict[str, int]

FORMS = {
    "loops": replace(generous_target(), groups=Groups.LOOPS, wide_indices=True, loop_versioning=True),
    "work items": generous_target(),
}
"""One work item runs a workgroup, or one invocation."""
WARM = ("launches", "fills", "copies_in", "copies_out", "bytes_in", "bytes_out", "allocations", "plans", "compiles")
"""What the engine counts, of a dispatch that is not the first."""


def counts(name: str) -> Counts:
    """All counts of one workload."""
    workload = WORKLOADS[name]
    work = workload.make(workload.toy)
    optimized = optimize(validate(work.program))
    found = {"nodes": nodes(optimized.program)}
    for form, target in FORMS.items():
        found |= {f"{form}: {count}": number for count, number in _lowered(optimized, target).items()}
    return found | {f"warm: {count}": number for count, number in _warm(work).items()}


def nodes(program: Program) -> int:
    return len(program_expressions(program)) + sum(1 for _ in statements(program.body))


def _lowered(optimized: Facts, target: Target) -> Counts:
    kernels = [kernel.program for kernel in legalize(optimized.program, optimized, target).kernels]
    return {
        "kernels": len(kernels),
        "nodes": sum(map(nodes, kernels)),
        "guards": sum(1 for kernel in kernels for _ in _guards(kernel)),
        "needless guards": sum(_needless_guards(kernel) for kernel in kernels),
        "branches": sum(isinstance(stmt, If) for kernel in kernels for stmt in statements(kernel.body)),
        "characters": sum(len(print_program(kernel)) for kernel in kernels),
    }


def _guards(program: Program) -> Iterator[Load]:
    """Loads that compare their index with the length."""
    return (node for node in program_expressions(program) if isinstance(node, Load) and node.checked)


def _needless_guards(kernel: Program) -> int:
    """Guards of which an interval shows that they hold whatever the input is."""
    facts = validate(kernel, legalized=True)
    return sum(_is_in_bounds(load, facts) for load in _guards(kernel))


def _is_in_bounds(load: Load, facts: Facts) -> bool:
    count = load.buffer.count
    low, high = facts.ranges[load.index]
    return isinstance(count, int) and low >= 0 and high < count


def _warm(work: Work) -> Counts:
    """The second of two dispatches over a device that does nothing."""
    port = FakePort(lambda plan, memory: None, has_binaries=False)
    backend = EngineBackend("counted", lambda: port)
    before: Counts = {}
    for _ in range(2):
        before = backend.backend_metric_snapshot()
        backend.dispatch(work.program, list(work.inputs.values()), DispatchConfig(grid_override=work.grid))
    after = backend.backend_metric_snapshot()
    backend.shutdown()
    return {count: after[count] - before[count] for count in WARM}
