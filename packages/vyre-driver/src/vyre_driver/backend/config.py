"""The options of a dispatch."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from enum import Enum
from types import NoneType
from typing import Any

from vyre_driver.device.profile import Extent as Extent
from vyre_driver.errors import InvalidInput, InvalidLaunch
from vyre_foundation.cached import cached_property


class Preference(Enum):
    """Whether the backend chooses a mechanism, must use it, or must not use it."""

    AUTO = "auto"
    FORCE = "force"
    DISABLE = "disable"

    __hash__ = object.__hash__  # members are single objects, and every dispatch hashes two of them


@dataclass(frozen=True, kw_only=True)
class DispatchConfig:
    """The options of a dispatch. Every backend either applies an option or refuses it with a typed error.

    Attributes:
        profile: A name for the dispatch in reports.
        ulp_budget: The largest error of elementary functions in units in the last place; 0 means exact.
        timeout: The time limit in seconds from the call, at most 10**9; None for no limit.
        label: Another name for the dispatch in reports.
        max_output_bytes: The limit of the total size of the outputs. Larger dispatches are refused.
        workgroup_override: The workgroup size, in place of that of the program.
        grid_override: The number of workgroups on each axis, in place of the inferred grid.
        fixpoint_iterations: How often the whole program runs over the same buffers.
        speculation: Whether the dispatch may run before its condition is known.
        persistent_thread: Whether the kernel may stay on the device.
        cooperative: Whether all workgroups of a launch must be resident at once, with grid barriers inside the launch.
            The dispatch is refused if they cannot be. If False, the backend does so if it can, and splits the launch at
            grid barriers otherwise.
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
        """Return a copy with other values for some options."""
        return replace(self, **changes)

    @cached_property
    def launch_shape(self) -> tuple[object, ...]:
        """The options on which a launch plan depends. Configurations with equal shapes share plans and pipelines."""
        return (
            self.ulp_budget, self.max_output_bytes, self.workgroup_override, self.grid_override,
            self.fixpoint_iterations, self.speculation, self.persistent_thread, self.cooperative,
        )  # fmt: skip


def is_timeout(value: object) -> bool:
    """Return whether `value` is a number of seconds in ``0 … MAX_TIMEOUT``, or None for no limit."""
    if value is None:
        return True
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= MAX_TIMEOUT


def require_wait(timeout: object) -> None:
    """Raise `InvalidInput` for an invalid timeout of a wait. 0 is valid: the caller checks once and does not wait."""
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
"""The longest timeout in seconds, about 30 years, which all clocks and waits of a system support."""

DEFAULT_CONFIG = DispatchConfig()
"""Exact results, no limits, and the geometry of the program."""
