"""Programs, and what stands for one where callers pass them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from vyre_driver.errors import InvalidLaunch
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


def defaults_of(given: object) -> Mapping[str, object]:
    """The numbers that parameters of a kernel have where a caller passes none; a program has no such."""
    found: Mapping[str, object] = {} if isinstance(given, Program) else getattr(given, "defaults", {})
    return found


def required_program(given: object) -> Program:
    """The program that a caller passes, or that of a kernel.

    Raises:
        InvalidLaunch: It is none.
    """
    found = program_of(given)
    if found is None:
        fix = "pass what build() returned, or a kernel; a graph runs by graph.compile().run(…)"
        got = "None" if given is None else type(given).__name__
        raise InvalidLaunch("program", needed="a Program", got=got, fix=fix)
    return found
