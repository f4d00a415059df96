"""What a caller may ask of one dispatch."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import Enum
from types import NoneType
from typing import Any

from vyre_driver.device.profile import Extent as Extent
from vyre_driver.errors import InvalidInput, InvalidLaunch
from vyre_foundation.cached import cached_property


class Preference(Enum):
    """Leave a mechanism to the backend, demand it, or forbid it."""

    AUTO = "auto"
    FORCE = "force"
    DISABLE = "disable"

    __hash__ = object.__hash__  # members are single objects, and every dispatch hashes two of them


@dataclass(frozen=True, kw_only=True)
class DispatchConfig:
    """Options of a dispatch; every path either applies a field or refuses it with a typed error.

    `ulp_budget`: the largest error of elementary functions in units in the last place; 0 means exact. `timeout`:
    seconds from the call, at most 10**9; None: as long as it takes. `max_output_bytes`: refuse dispatches whose outputs
    are larger. `workgroup_override` replaces the program's workgroup size, `grid_override` the inferred grid
    (workgroups per axis). `fixpoint_iterations` runs the whole program that many times over the same buffers.
    `cooperative`: all workgroups of a launch run at the same time, with grid barriers inside the launch, or the
    dispatch is refused; without it the backend does so if it can, and otherwise splits the launch at grid barriers.
    `label` and `profile` name the dispatch in reports.
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

    def __post_init__(self) -> None:
        _at_least(0, "ulp_budget", self.ulp_budget)
        _at_least(1, "fixpoint_iterations", self.fixpoint_iterations)
        _seconds("timeout", self.timeout)
        if self.max_output_bytes is not None:
            _at_least(0, "max_output_bytes", self.max_output_bytes)
        _extent(1, "workgroup_override", self.workgroup_override)
        _extent(0, "grid_override", self.grid_override)
        for field in ("profile", "label"):
            _of((str, NoneType), field, getattr(self, field), "a string or None")
        for field in ("speculation", "persistent_thread"):
            _of(Preference, field, getattr(self, field), "a Preference")
        _of(bool, "cooperative", self.cooperative, "True or False")

    def __repr__(self) -> str:
        options = ((field.name, getattr(self, field.name), field.default) for field in fields(self))
        return f"DispatchConfig({', '.join(f'{name}={value!r}' for name, value, usual in options if value != usual)})"

    def replace(self, **changes: Any) -> DispatchConfig:
        """This configuration with some fields changed."""
        return replace(self, **changes)

    @cached_property
    def launch_shape(self) -> tuple[object, ...]:
        """What a launch plan depends on: two configurations with equal shapes share plans and pipelines."""
        return (
            self.ulp_budget, self.max_output_bytes, self.workgroup_override, self.grid_override,
            self.fixpoint_iterations, self.speculation, self.persistent_thread, self.cooperative,
        )  # fmt: skip


def is_timeout(value: object) -> bool:
    """Whether `value` is a number of seconds in ``0 … MAX_TIMEOUT``, or None for no limit."""
    if value is None:
        return True
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= MAX_TIMEOUT


def require_wait(timeout: object) -> None:
    """Raise `InvalidInput` for what cannot limit a wait. With 0 the caller asks once and does not wait."""
    if not is_timeout(timeout):
        needed = f"a number of seconds from 0 to {MAX_TIMEOUT}, or None for no limit"
        raise InvalidInput("timeout", needed=needed, got=repr(timeout), fix="pass such a number, or None")


def _seconds(field: str, value: object) -> None:
    if not is_timeout(value) or value == 0:
        needed = f"a number of seconds above 0 and up to {MAX_TIMEOUT}, or None for no timeout"
        raise InvalidLaunch(field, needed=needed, got=repr(value))


def _at_least(least: int, field: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidLaunch(field, needed=f"an integer of at least {least}", got=repr(value))


def _of(kinds: type | tuple[type, ...], field: str, value: object, needed: str) -> None:
    if not isinstance(value, kinds):
        raise InvalidLaunch(field, needed=needed, got=repr(value))


def _extent(least: int, field: str, extent: object) -> None:
    if extent is None:
        return
    sizes = (
        isinstance(extent, tuple) and len(extent) == 3 and all(type(n) is int and least <= n < 2**32 for n in extent)
    )
    if not sizes:
        raise InvalidLaunch(field, needed=f"three integers in {least} … {2**32 - 1}", got=repr(extent))


MAX_TIMEOUT = 10**9
"""Seconds, about 30 years: what every clock and every wait of a system can take."""

DEFAULT_CONFIG = DispatchConfig()
"""Exact, no limits, the program's own geometry."""
