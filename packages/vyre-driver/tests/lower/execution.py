"""Executing what legalization gives: the schedule is walked as an engine does, every kernel run by the reference."""

from __future__ import annotations

from collections.abc import Mapping

from vyre_driver.engine.bounds import LaunchValues
from vyre_driver.engine.bounds import evaluate as bound
from vyre_driver.engine.schedule import SetCounter, counters_of, walk
from vyre_driver.lower import COUNTERS, TRAPS, Kernel, Lowered, Target, legalize
from vyre_driver.plan.launch import LaunchPlan, OutputLayout
from vyre_driver.plan.lengths import launch_lengths
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.validate import Facts, validate
from vyre_reference import vector

Outcome = dict[str, bytes] | tuple[str, int, int]
"""The bytes of the outputs by name, or (tag, code, invocation) of the trap."""


def run_source(plan: LaunchPlan, inputs: Mapping[str, bytes]) -> Outcome:
    """What the program itself gives."""
    from vyre_driver.errors import Trapped

    memory = {
        b.name: bytearray(inputs.get(b.name, bytes(plan.byte_length(b.name))))
        for b in plan.program.buffers
        if b.memory.is_bound
    }
    try:
        vector.evaluate(plan, memory)
    except Trapped as trap:
        return trap.tag, trap.trap_code, trap.invocation
    return {b.name: bytes(memory[b.name]) for b in plan.program.outputs}


def run_lowered(lowered: Lowered, plan: LaunchPlan, inputs: Mapping[str, bytes]) -> Outcome:
    """What its kernels give, launched in the order of the schedule."""
    groups = plan.num_workgroups
    known = {b.name: plan.lengths[b.name] for b in plan.program.buffers}
    lengths = {**known, **launch_lengths(lowered.buffers, known, groups, groups * plan.program.workgroup_volume)}
    memory = {
        b.name: bytearray(inputs.get(b.name, bytes(lengths[b.name] * b.dtype.size))) for b in lowered.buffers.values()
    }
    if TRAPS in memory:
        memory[TRAPS] = bytearray(b"\xff" * len(memory[TRAPS]))
    kernels = [_plan(kernel, plan, lengths) for kernel in lowered.kernels]
    counters = [0] * counters_of(lowered.schedule)
    values = LaunchValues(lengths, plan.grid, plan.program.subgroup_size or 0, counters)
    for _ in range(plan.repeats):
        for step in walk(lowered.schedule, lambda expr: bound(expr, values)):
            if isinstance(step, SetCounter):
                counters[step.counter] = step.value
                memory[COUNTERS][8 * step.counter : 8 * step.counter + 8] = (step.value % 2**64).to_bytes(8, "little")
            else:
                kernel = kernels[step.kernel]
                vector.evaluate(kernel, {b.name: memory[b.name] for b in kernel.program.buffers if b.memory.is_bound})
    if TRAPS in memory:
        words = [int.from_bytes(memory[TRAPS][k : k + 8], "little") for k in range(0, len(memory[TRAPS]), 8)]
        if min(words) != 2**64 - 1:
            first = min(range(len(words)), key=lambda k: (words[k] >> 32, k))
            return lowered.traps[first], words[first] & 0xFFFF_FFFF, words[first] >> 32
    return {b.name: bytes(memory[b.name]) for b in plan.program.outputs}


def _plan(kernel: Kernel, plan: LaunchPlan, lengths: Mapping[str, int]) -> LaunchPlan:
    program = kernel.program
    own = {b.name: b.count for b in program.buffers if isinstance(b.count, int)}
    return LaunchPlan(
        program=program,
        facts=validate(program, legalized=True),
        grid=plan.grid,
        lengths={**lengths, **own},
        inputs=tuple(b.name for b in program.inputs),
        outputs=tuple(OutputLayout(b.name, 0, lengths[b.name] * b.dtype.size) for b in program.outputs),
    )


def check(plan: LaunchPlan, inputs: Mapping[str, bytes], target: Target, facts: Facts | None = None) -> Lowered:
    """Lower the program of a plan for `target`, and compare its outcome with the program's own."""
    lowered = legalize(plan.program, facts or plan.facts, target)
    expected, got = run_source(plan, inputs), run_lowered(lowered, plan, inputs)
    assert got == expected, difference(expected, got)
    return lowered


def difference(expected: Outcome, got: Outcome) -> str:
    if isinstance(expected, tuple) or isinstance(got, tuple):
        return f"expected {expected if isinstance(expected, tuple) else 'outputs'}, got {got if isinstance(got, tuple) else 'outputs'}"
    for name in expected:
        for k, (a, b) in enumerate(zip(expected[name], got[name], strict=True)):
            if a != b:
                return f"{name} differs at byte {k}: expected {expected[name][k & ~7 : (k | 7) + 1].hex()}, got {got[name][k & ~7 : (k | 7) + 1].hex()}"
    return "equal"
