"""Launching a program over arrays on the backend that a caller names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from vyre_algorithms.arguments import Array, Backend
from vyre_driver import DispatchConfig, backend_for
from vyre_foundation import Program


def launch(program: Program, arrays: Mapping[str, object], workgroups: int, backend: Backend) -> dict[str, Array]:
    """The outputs of a program by name; `workgroups` run, on x."""
    return backend_for(backend).dispatch_arrays(program, arrays, _with_grid(workgroups))


@lru_cache(maxsize=1024)
def _with_grid(workgroups: int) -> DispatchConfig:
    return DispatchConfig(grid_override=(workgroups, 1, 1))
