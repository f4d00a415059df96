"""What a caller may ask of one dispatch."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

Extent = tuple[int, int, int]


class Preference(Enum):
    """Leave a mechanism to the backend, demand it, or forbid it."""

    AUTO = "auto"
    FORCE = "force"
    DISABLE = "disable"


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchConfig:
    """Options of a dispatch; every field is honoured by every path or refused with a typed error.

    `ulp_budget`: greatest error in units in the last place that elementary functions may have; 0 means exact.
    `timeout`: seconds. `max_output_bytes`: refuse dispatches whose outputs are larger. `workgroup_override` replaces
    the program's workgroup size, `grid_override` the inferred grid (workgroups per axis). `fixpoint_iterations` runs the
    whole program that many times over the same buffers. `label` and `profile` name the dispatch in reports.
    """

    profile: str | None = None
    ulp_budget: int = 0
    timeout: float | None = None
    label: str | None = None
    max_output_bytes: int | None = None
    workgroup_override: Extent | None = None
    grid_override: Extent | None = None
    fixpoint_iterations: int = 1
    speculation: Preference = Preference.AUTO
    persistent_thread: Preference = Preference.AUTO
    cooperative: bool = False
