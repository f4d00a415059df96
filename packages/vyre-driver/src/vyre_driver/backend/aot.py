"""Emitters: compilation ahead of time, to files that a later process runs or a person reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NewType, TypeAlias

if TYPE_CHECKING:
    from vyre_driver.backend.config import DispatchConfig
    from vyre_foundation.ir.program import Program

AotTargetId = NewType("AotTargetId", str)
"""The language or binary format of an emitter, such as ``"abacus-source"``, unique among all backends."""

Emit: TypeAlias = "Callable[[Program, DispatchConfig], bytes]"
"""Compiles a whole program, because no target links parts of a kernel."""


@dataclass(frozen=True, slots=True)
class AotEmitter:
    """An emitter of a backend, listed in its registration.

    Attributes:
        target: The language or format.
        emit: Compiles a program. Only the call may import device libraries, not the module of the registration.
        suffix: The suffix of the files.
        summary: A line for lists.
        runs: Whether the bytes are a compiled program, which `load_ahead` accepts. Otherwise they are for people and
            for other tools.
    """

    target: AotTargetId
    emit: Emit
    suffix: str
    summary: str = ""
    runs: bool = False
