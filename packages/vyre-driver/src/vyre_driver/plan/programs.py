"""Programs, and what stands for one where callers pass them."""

from __future__ import annotations

from typing import Protocol

from vyre_foundation.ir.program import Program


class HasProgram(Protocol):
    """A kernel."""

    @property
    def program(self) -> Program:
        """What a launch of it runs."""
        ...


def program_of(given: object) -> Program | None:
    """A program as it is, and the program of a kernel; None for anything else."""
    if isinstance(given, Program):
        return given
    found = getattr(given, "program", None)
    return found if isinstance(found, Program) else None
