"""Running a case on the evaluators of the reference, in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import vyre_reference.scalar
import vyre_reference.vector
from vyre_conform.case import Launch
from vyre_conform.outcome import Outcome, Raised, Returned, raised
from vyre_driver.plan.indirect import read_indirect_grid
from vyre_driver.plan.launch import LaunchPlan, plan_launch
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.program import Program
from vyre_foundation.optimize import optimize
from vyre_reference.budget import Budget
from vyre_reference.scalar.races import Races

Evaluate = Callable[..., None]


def evaluate_optimized(plan: LaunchPlan, memory: Mapping[str, Any], **options: Any) -> None:
    """What compilers get: the program that the optimizer makes, by the faster of the evaluators."""
    facts = optimize(plan.facts)
    vyre_reference.vector.evaluate(replace(plan, program=facts.program, facts=facts), memory, **options)


EVALUATORS: Mapping[str, Evaluate] = MappingProxyType(
    {
        "scalar": vyre_reference.scalar.evaluate,
        "vector": vyre_reference.vector.evaluate,
        "optimized": evaluate_optimized,
    }
)
"""The evaluators by name; all have the signature ``(plan, memory, *, budget=…)``."""


def plan_case(launch: Launch) -> LaunchPlan:
    """The launch plan of a case; raises what any backend has to raise for it."""
    arguments = [memoryview(data) for data in launch.arguments]
    lengths = [len(data) for data in arguments]
    indirect = read_indirect_grid(launch.program, arguments)
    return plan_launch(launch.program, lengths, launch.config, indirect_grid=indirect)


def fresh_memory(plan: LaunchPlan, inputs: Mapping[str, bytes]) -> dict[str, bytearray]:
    """The memory of a dispatch before it runs: the inputs, and zeros elsewhere."""
    bound = [buffer for buffer in plan.program.buffers if buffer.memory.is_bound]
    return {b.name: bytearray(inputs[b.name]) if b.is_input else bytearray(plan.byte_length(b.name)) for b in bound}


def evaluate_case(launch: Launch, evaluate: Evaluate, *, seconds: float = 60.0, **options: Any) -> Outcome:
    """Give the outcome of a launch, and of those that follow, in an evaluator.

    Errors that are not vyre's own are left to the caller: they are bugs.
    """
    outputs: list[bytes] = []
    left: dict[str, bytes] = {}
    pipelines: dict[Program, dict[str, bytearray]] = {}
    try:
        for one in launch.launches:
            inputs = completed(one, left)
            plan = plan_case(replace(one, inputs=inputs))
            persistent = pipelines.setdefault(one.program, {})
            memory = fresh_memory(plan, inputs) | persistent
            evaluate(plan, memory, budget=Budget(seconds=seconds), **options)
            persistent.update((b.name, memory[b.name]) for b in plan.program.buffers if b.memory is Memory.PERSISTENT)
            results = [bytes(memory[o.buffer][o.start : o.stop]) for o in plan.outputs]
            outputs += results
            left |= inputs | dict(zip((o.buffer for o in plan.outputs), results, strict=True))
    except VyreError as error:
        return raised(error)
    return Returned(tuple(outputs))


def completed(launch: Launch, left: Mapping[str, bytes]) -> dict[str, bytes]:
    """The inputs of a launch: what it lacks is what those before it have left."""
    return {b.name: launch.inputs[b.name] if b.name in launch.inputs else left[b.name] for b in launch.program.inputs}


def races(launch: Launch, *, seconds: float = 60.0) -> str | None:
    """The race that the scalar evaluator finds, in words, or None."""
    outcome = evaluate_case(launch, EVALUATORS["scalar"], seconds=seconds, races=Races.DETECT)
    return outcome.message if isinstance(outcome, Raised) and outcome.error == "DataRace" else None
