"""Emitters: how a backend's code is made ahead of time, for a file that a later process runs or a person reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NewType, TypeAlias

if TYPE_CHECKING:
    from vyre_driver.backend.config import DispatchConfig
    from vyre_foundation.ir.program import Program

AotTargetId = NewType("AotTargetId", str)
"""What an emitter makes: a language or a binary form, such as ``"abacus-source"``. Unique among all backends."""

Emit: TypeAlias = "Callable[[Program, DispatchConfig], bytes]"
"""Makes machine code: of a program, whole, because no target links a part of a kernel to the rest."""


@dataclass(frozen=True, slots=True)
class AotEmitter:
    """A backend states its emitters in its registration; `emit` may import device libraries, stating it must not.

    `suffix` is that of the files. `runs`: the bytes are a compiled program, which `load_ahead` takes; otherwise they
    are for people and for other tools.
    """

    target: AotTargetId
    emit: Emit
    suffix: str
    summary: str = ""
    runs: bool = False
