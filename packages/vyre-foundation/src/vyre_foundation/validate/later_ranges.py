"""Bounds that are computed on demand, from those of an earlier program where there is one."""

from __future__ import annotations

from collections.abc import Mapping

from vyre_foundation.ir.expr import Expr
from vyre_foundation.ir.program import Program
from vyre_foundation.validate.facts import Interval
from vyre_foundation.validate.later import Later
from vyre_foundation.validate.ranges import Inference


class LaterRanges(Later[Expr, Interval]):
    """Bounds of the integer expressions of a valid program, found at the first look.

    Those of a program that was made from another one are found from what is known of that, or of the one before it.
    """

    __slots__ = ("_finder",)

    _finder: _Finder

    def __init__(self, program: Program, source: Mapping[Expr, Interval] | None = None) -> None:
        self._finder = _Finder(program, source._finder if isinstance(source, LaterRanges) else None)
        super().__init__(self._finder)


class _Finder:
    """Computes the bounds for `LaterRanges`, and caches the inference for later programs."""

    __slots__ = ("_inference", "_program", "_source")

    def __init__(self, program: Program, source: _Finder | None) -> None:
        self._program, self._source = program, source
        self._inference: Inference | None = None

    def __call__(self) -> Mapping[Expr, Interval]:
        source = self._source
        while source is not None and source._inference is None:
            source = source._source
        self._source = None  # programs are not retained for those that were made from them
        self._inference = Inference(self._program)
        self._inference.run(self._program.code.nodes, None if source is None else source._inference)
        return self._inference.of
