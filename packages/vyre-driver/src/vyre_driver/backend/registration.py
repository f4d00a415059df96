"""How a distribution announces a backend: a light record, found by entry point, that opens nothing."""

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
    """Whether a backend can run here. An unavailable one says why, and what would make it run."""

    is_available: bool
    reason: str = ""
    fix: str = ""

    @classmethod
    def available(cls, reason: str = "") -> Availability:
        """It can run; `reason` may say on what."""
        return cls(True, reason)

    @classmethod
    def unavailable(cls, reason: str, fix: str) -> Availability:
        """It cannot: what was looked for and found, and the remedy."""
        return cls(False, reason, fix)


class Selection(Enum):
    """Who may choose a backend."""

    AUTOMATIC = "automatic"
    """`acquire_preferred_dispatch_backend` may."""
    BY_NAME = "by_name"
    """Only a caller who names it: an interpreter must not stand in for a device silently."""


@dataclass(frozen=True, slots=True)
class DeviceFactory:
    """The devices of a backend that can open any of several.

    `names` lists them by index, the one that `factory` prefers first, and opens none of them. `open` makes a fresh
    backend for one, by its index; that device or none is what it opens.
    """

    names: Callable[[], Sequence[str]]
    open: Callable[[int], VyreBackend]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendRegistration:
    """What an entry point of the group ``vyre.backends`` names; the entry point is called as the backend.

    `id` is one or more of ``A … Z``, ``a … z``, ``0 … 9``, ``-``, ``_`` and ``.``, a letter or a digit first: a colon
    separates it from the index of a device. It is what `VyreBackend.id` of the backend returns. `precedence` ranks:
    lower is preferred. `contract` is the `CONTRACT` that the backend was written for, as a literal. `probe` answers
    cheaply whether `factory` would succeed; the two may import device libraries, importing the module of the
    registration must not. `factory` makes a fresh backend, which belongs to the caller. `aot` are the emitters of code
    ahead of time. `devices` is None for a backend of one device. `is_distributed`: it opens a cluster, so a query of
    all backends of this machine passes it over.
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
