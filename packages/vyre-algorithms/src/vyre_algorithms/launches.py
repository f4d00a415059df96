"""Running programs and graphs over arrays on the backend that a caller names."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import lru_cache

from vyre_algorithms.arguments import Array, Backend
from vyre_driver import CompiledGraph, DispatchConfig, VyreBackend, backend_for, compile_graph
from vyre_driver.device.profile import Extent
from vyre_driver.graph.record import GraphRecorder
from vyre_foundation import Program

PLANS = 32
"""Compiled graphs that are cached. Each has memory on its device."""


def launch(
    program: Program, arrays: Mapping[str, object], workgroups: int | Extent, backend: Backend
) -> dict[str, Array]:
    """The outputs of a program by name; `workgroups` run on x, or on (x, y, z)."""
    return backend_for(backend).dispatch_arrays(program, arrays, with_grid(workgroups))


@lru_cache(maxsize=1024)
def with_grid(workgroups: int | Extent) -> DispatchConfig:
    """The options of a dispatch of so many workgroups."""
    return DispatchConfig(grid_override=(workgroups, 1, 1) if isinstance(workgroups, int) else workgroups)


def run_graph(
    record: Callable[..., None], parameters: tuple[Hashable, ...], arrays: Mapping[str, object], backend: Backend
) -> dict[str, Array]:
    """The outputs of the graph that ``record(graph, *parameters)`` records, which is compiled once for a backend."""
    return _compiled(record, parameters, backend_for(backend)).run(arrays)


@lru_cache(maxsize=PLANS)
def _compiled(record: Callable[..., None], parameters: tuple[Hashable, ...], backend: VyreBackend) -> CompiledGraph:
    with GraphRecorder(record.__name__) as graph:
        record(graph, *parameters)
    return compile_graph(graph.build(), backend)
