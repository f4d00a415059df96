"""Faults of graphs: what is fused, which memory is shared, what a loop does past its end, and what waves wait for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from vyre_conform.controls.engine import on_engine
from vyre_conform.controls.fault import Fault, Layer
from vyre_driver.graph.flatten import FlatGraph
from vyre_driver.graph.fuse import Elementwise
from vyre_driver.plan.launch import LaunchPlan
from vyre_driver.schedule.memory import Lifetime
from vyre_driver.schedule.waves import Wave
from vyre_foundation.dtype import bool_
from vyre_foundation.ir.expr import literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import If

Right = Callable[..., Any]


def _aligned(right: Right) -> Right:
    """Every access is thought to be at the global id."""

    def elementwise(program: Program) -> Elementwise | None:
        proof: Elementwise | None = right(program)
        return proof and replace(proof, aligned=frozenset(buffer.name for buffer in program.buffers))

    return elementwise


def _never(right: Right) -> Right:
    return lambda *operands: False


def _one_less(right: Right) -> Right:
    """Temporaries live until the node before the last one that uses them."""

    def lifetimes(*operands: Any) -> dict[str, Lifetime]:
        return {name: replace(found, last=max(found.first, found.last - 1)) for name, found in right(*operands).items()}

    return lifetimes


def _unguarded(right: Right) -> Right:
    """The word of a loop is bound, and not looked at."""

    def guarded(program: Program) -> Program | None:
        found: Program | None = right(program)
        if found is None:
            return None
        (condition,) = found.body
        return replace(found, body=condition.then) if isinstance(condition, If) else found

    return guarded


def _all(right: Right) -> Right:
    """All outputs are thought to be written everywhere."""

    def written(plan: LaunchPlan) -> frozenset[str]:
        return frozenset(buffer.name for buffer in plan.program.outputs)

    return written


def _at_once(right: Right) -> Right:
    """All nodes are thought to be independent."""
    return lambda dependences: [0] * len(dependences)


def _anywhere(right: Right) -> Right:
    """An index outside of the part of a member is not looked at."""
    return lambda count, index: literal(bool_, value=True)


def _read_early(right: Right) -> Right:
    """All outputs are thought to be complete after the first wave."""

    def in_waves(flat: FlatGraph) -> tuple[FlatGraph, tuple[Wave, ...], str]:
        graph, waves, reason = right(flat)
        for wave in waves[1:]:
            waves[0].outputs += wave.outputs
            wave.outputs = []
        return graph, waves, reason

    return in_waves


def _unordered(right: Right) -> Right:
    """No node of a wave is thought to need another."""
    return lambda graph, nodes: [()] * len(nodes)


_in = partial(Fault, Layer.PLANNER)

# fmt: off
FAULTS = (
    _in("fused-unaligned", "dispatches are fused though one reads what other invocations write",
        on_engine("vyre_driver.graph.fuse:elementwise", _aligned), "claims:graphs"),
    _in("fused-over-conflicts", "dispatches are fused over others that use the same memory",
        on_engine("vyre_driver.graph.ranges:NodeAccesses.conflicts", _never), "claims:graphs"),
    _in("lifetimes-short", "memory of a temporary serves another while the last node reads it",
        on_engine("vyre_driver.schedule.memory:lifetimes", _one_less), "claims:graphs"),
    _in("loops-unguarded", "iterations past the end of a loop are not without effect",
        on_engine("vyre_driver.schedule.steps:guarded", _unguarded), "claims:graphs"),
    _in("loops-uncleared", "outputs of dispatches in a loop do not begin as zeros",
        on_engine("vyre_driver.schedule.steps:written_everywhere", _all), "claims:graphs"),
    _in("batched-dependent", "dispatches that depend on each other are launched together",
        on_engine("vyre_driver.graph.batch:waves", _at_once), "claims:graphs"),
    _in("batched-outside", "an index outside of a member of a launch is in the next one",
        on_engine("vyre_driver.graph.batch:within", _anywhere), "claims:graphs"),
    _in("waves-unawaited", "outputs are read before the waves that make them have ended",
        on_engine("vyre_driver.schedule.executors:in_waves", _read_early), "claims:graphs"),
    _in("waves-unordered", "nodes of waves do not wait for those whose results they use",
        on_engine("vyre_driver.schedule.waves:edges", _unordered), "claims:graphs"),
)
# fmt: on
