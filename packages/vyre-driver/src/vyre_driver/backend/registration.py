"""The registration of a backend: a record that is found by entry point, without opening a device."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from vyre_driver.backend.aot import AotEmitter
from vyre_driver.errors import InvalidInput

if TYPE_CHECKING:
    from vyre_driver.backend.contract import VyreBackend

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Availability:
    """Whether a backend can run on this machine; if not, the reason and a remedy."""

    is_available: bool
    reason: str = ""
    fix: str = ""

    @classmethod
    def available(cls, reason: str = "") -> Availability:
        """Return that the backend can run. `reason` may name the device."""
        return cls(True, reason)

    @classmethod
    def unavailable(cls, reason: str, fix: str) -> Availability:
        """Return that the backend cannot run. `reason` states what is missing, and `fix` the remedy."""
        return cls(False, reason, fix)


class Selection(Enum):
    """How a backend can be selected."""

    AUTOMATIC = "automatic"
    """By `acquire_preferred_dispatch_backend`, or by name."""
    BY_NAME = "by_name"
    """Only by name. An interpreter must not silently replace a device."""


@dataclass(frozen=True, slots=True)
class DeviceFactory:
    """The devices of a backend that has several.

    Attributes:
        names: Returns the names of the devices by index, without opening one. The first is the one that
            `BackendRegistration.factory` prefers.
        open: Returns a new backend for the device with an index. It opens that device or fails.
    """

    names: Callable[[], Sequence[str]]
    open: Callable[[int], VyreBackend]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendRegistration:
    """A backend, as an entry point of the group ``vyre.backends`` provides it. The entry point has the id as its name.

    Attributes:
        id: The result of `VyreBackend.id`: one or more of ``A … Z``, ``a … z``, ``0 … 9``, ``-``, ``_`` and ``.``, a
            letter or a digit first. A colon separates it from the index of a device.
        precedence: Backends with a lower number are preferred.
        contract: The `CONTRACT` for which the backend was written, as a literal.
        factory: Returns a new backend, which belongs to the caller.
        probe: Returns whether `factory` would succeed, at little cost. `factory` and `probe` may import device
            libraries; the module of the registration must not.
        selection: Whether the backend may be chosen automatically.
        summary: A line for lists.
        aot: The emitters for compilation ahead of time.
        devices: The devices; None for a backend with one device.
        is_distributed: Whether the backend opens a cluster. `devices()` does not list such backends by default.
    """

    id: str
    precedence: int
    contract: int
    factory: Callable[[], VyreBackend]
    probe: Callable[[], Availability]
    selection: Selection = Selection.AUTOMATIC
    summary: str = ""
    aot: tuple[AotEmitter, ...] = ()
    devices: DeviceFactory | None = None
    is_distributed: bool = False

    def __post_init__(self) -> None:
        id: object = self.id
        if not isinstance(id, str) or _ID.fullmatch(id) is None:
            needed = "letters, digits, '-', '_' and '.', a letter or a digit first"
            raise InvalidInput("id", needed=needed, got=repr(id), fix="give the backend such an id")
        aot: object = self.aot
        is_emitters = isinstance(aot, tuple) and all(isinstance(one, AotEmitter) for one in aot)
        for field, holds, needed in (
            ("precedence", type(self.precedence) is int, "an integer"),
            ("contract", type(self.contract) is int, "an integer"),
            ("factory", callable(self.factory), "a function without arguments"),
            ("probe", callable(self.probe), "a function without arguments"),
            ("selection", isinstance(self.selection, Selection), "a Selection"),
            ("summary", isinstance(self.summary, str), "a string"),
            ("aot", is_emitters, "a tuple of AotEmitters"),
            ("devices", self.devices is None or isinstance(self.devices, DeviceFactory), "a DeviceFactory or None"),
        ):
            if not holds:
                fix, got = f"register {self.id!r} with {needed}", repr(getattr(self, field))
                raise InvalidInput(field, needed=needed, got=got, fix=fix)

    def __repr__(self) -> str:
        return f"<BackendRegistration {self.id!r}: precedence {self.precedence}, selected {self.selection.value}>"
