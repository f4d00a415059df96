"""A kernel that is called with ranges of a graph becomes a dispatch of the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vyre.kernels.annotations import ArrayType, Role
from vyre.kernels.compile import CompiledKernel
from vyre_driver.backend.config import DispatchConfig
from vyre_driver.errors import InvalidInput
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.graph.recorded import RecordedRange
from vyre_foundation.build.arguments import shown


def record_call(
    kernel: CompiledKernel,
    graph: GraphRecorder,
    inputs: Mapping[str, Any],
    targets: Mapping[str, Any],
    config: DispatchConfig,
    invocations: int | Sequence[int] | None,
) -> object:
    """Record a call of a kernel. As in every call, arrays that are passed are not changed, but for `targets`.

    Args:
        kernel: The kernel.
        graph: Where it is recorded.
        inputs: What is passed for its inputs by name: ranges of the graph, NumPy arrays and numbers.
        targets: The ranges that receive results, by name.
        config: The options of the dispatch.
        invocations: As for `GraphRecorder.dispatch`.

    Returns:
        What the kernel returns, as ranges.

    Raises:
        InvalidInput: A range or an array has another type or shape, or a target is no range.
    """
    ranges = {**inputs, **_copies(kernel, graph, inputs)}
    for name, target in targets.items():
        if not isinstance(target, RecordedRange):
            fix = "pass a range of the graph, or leave it out"
            raise InvalidInput(name, needed="a range of the graph", got=shown(target), fix=fix)
        if kernel.program.buffer(name).is_input:  # and else a dispatch begins with zeros
            graph.fill(target)
        ranges[name] = target
    outputs = graph.dispatch(kernel.program, ranges, config=config, invocations=invocations)
    found = tuple([outputs[result.name] for result in kernel.results])
    return found if kernel.returns_tuple else found[0] if found else None


def _copies(kernel: CompiledKernel, graph: GraphRecorder, inputs: Mapping[str, Any]) -> dict[str, RecordedRange]:
    """Temporaries with the contents of the inputs that the kernel changes."""
    made = {}
    for name in [p.name for p in kernel.parameters if isinstance(p.type, ArrayType) and p.type.role is Role.INOUT]:
        given, what = inputs[name], f"{kernel.name}.{name}"
        made[name] = graph.temporary(kernel.program.buffer(name).dtype, tuple(given.shape), what)
        if isinstance(given, RecordedRange):
            graph.copy(given, made[name], what)
        else:
            graph.upload(made[name], given, what)
    return made
