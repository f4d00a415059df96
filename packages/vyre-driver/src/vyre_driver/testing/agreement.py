"""The outcome of a dispatch as a value, for tests that compare backends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.errors import Trapped
from vyre_foundation.ir.program import Program

Outcome: TypeAlias = list[bytes] | tuple[str, int, int]
"""The outputs as bytes, or the trap as (tag, code, invocation)."""


def outcome(
    backend: VyreBackend, program: Program, inputs: Sequence[Any] = (), config: DispatchConfig = DEFAULT_CONFIG
) -> Outcome:
    """Dispatch a program once: its outputs, or its trap."""
    try:
        return [bytes(output) for output in backend.dispatch(program, inputs, config)]
    except Trapped as trap:
        return trap.tag, trap.trap_code, trap.invocation
