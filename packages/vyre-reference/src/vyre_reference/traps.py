"""Traps: every invocation runs to its end, then the dispatch fails with the first failure there was."""

from __future__ import annotations

from vyre_driver.errors import Trapped
from vyre_driver.observe.accesses import Path
from vyre_foundation.ir.program import Program
from vyre_reference.place import describe, origin_of


class Traps:
    """Keeps the trap of the lowest invocation; of its traps the first statement, and there the lowest code."""

    def __init__(self) -> None:
        self._first: tuple[int, Path, int, str] | None = None

    def record(self, invocation: int, path: Path, code: int, tag: str) -> None:
        """Record a trap; the one of the first invocation, and there of the first statement, is reported."""
        trap = (invocation, path, code, tag)
        if self._first is None or trap < self._first:
            self._first = trap

    def raise_first(self, program: Program) -> None:
        """Raise `Trapped` if anything was recorded."""
        if self._first is not None:
            invocation, path, code, tag = self._first
            origin = origin_of(program, path)
            origins = () if origin is None else (origin,)
            raise Trapped(tag, code, invocation, origins=origins, where=describe(program.body, path))
