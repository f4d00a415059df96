"""Both evaluators for every test that asks for one; programs that validation would refuse; arrays of exact bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

from vyre_driver.plan.launch import LaunchPlan, OutputLayout
from vyre_foundation.dtype import DType
from vyre_foundation.ir.buffer import RUNTIME
from vyre_foundation.ir.program import Program
from vyre_foundation.ops.scalar import to_bits
from vyre_reference import scalar, vector
from vyre_reference.launch import Evaluator, host_memory, run as run_program

EVALUATORS: Mapping[str, Evaluator] = MappingProxyType({"scalar": scalar.evaluate, "vector": vector.evaluate})


@pytest.fixture(params=EVALUATORS)
def evaluate(request: pytest.FixtureRequest) -> Evaluator:
    """Each evaluator in turn."""
    return EVALUATORS[request.param]


@pytest.fixture
def run(evaluate: Evaluator) -> Callable[..., dict[str, Any]]:
    """`run(program, arrays, config)` by each evaluator in turn: the outputs by name."""
    return partial(run_program, evaluate=evaluate)


@pytest.fixture
def plan_of() -> Callable[..., LaunchPlan]:
    """A plan without validation: `plan_of(program, inputs by name, grid)`."""
    return _plan


@pytest.fixture
def force(evaluate: Evaluator) -> Callable[..., dict[str, bytes]]:
    """`force(program, inputs by name, grid)`, not validated, by each evaluator in turn: all bound memory after it."""

    def force(program: Program, inputs: Mapping[str, Any] = MappingProxyType({}), grid: int = 1) -> dict[str, bytes]:
        plan = _plan(program, inputs, grid)
        memory = host_memory(plan, [memoryview(bytes(inputs[name])) for name in plan.inputs], {})
        evaluate(plan, memory)
        return {name: bytes(contents) for name, contents in memory.items()}

    return force


@pytest.fixture
def typed() -> Callable[[DType, Sequence[Any]], np.ndarray[Any, Any]]:
    """`typed(dtype, values)`: an array of the values, rounded by nobody."""

    def typed(dtype: DType, values: Sequence[Any]) -> np.ndarray[Any, Any]:
        return np.array([to_bits(dtype, value) for value in values], f"<u{dtype.size}").view(dtype.numpy)

    return typed


def _plan(program: Program, inputs: Mapping[str, Any], grid: int = 1) -> LaunchPlan:
    lengths = {
        b.name: len(bytes(inputs[b.name])) // b.dtype.size if b.count is RUNTIME else b.count for b in program.buffers
    }
    return LaunchPlan(
        program=program,
        facts=None,  # the evaluators do not look at them
        grid=(grid, 1, 1),
        lengths=lengths,
        inputs=tuple(b.name for b in program.inputs),
        outputs=tuple(OutputLayout(b.name, 0, lengths[b.name] * b.dtype.size) for b in program.outputs),
    )
