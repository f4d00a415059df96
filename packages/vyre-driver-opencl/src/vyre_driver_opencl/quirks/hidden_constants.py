"""Constants that a compiler cannot know. A launch has workgroups, so whether it has none decides nothing."""

from __future__ import annotations

from vyre_foundation.dtype import DType, u32
from vyre_foundation.ir.expr import Apply, Id, IdKind, Literal, Local, Select, literal
from vyre_foundation.ir.fresh import Fresh
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Let
from vyre_foundation.ops import OPS


class HiddenConstants:
    """``let hidden = select(num_workgroups.x == 0, other, constant);`` for each constant that was asked for."""

    def __init__(self, program: Program) -> None:
        self._fresh = Fresh.of(program)
        self._lets: dict[tuple[DType, int], Let] = {}

    @property
    def lets(self) -> tuple[Let, ...]:
        """The statements that the program must begin with."""
        return tuple(self._lets.values())

    def of(self, dtype: DType, bits: int, other: int) -> Local:
        """The constant with these bits; for all that the compiler knows it might be the other one."""
        if (dtype, bits) not in self._lets:
            never = Apply(OPS["eq"], Id(IdKind.NUM_WORKGROUPS, 0), literal(u32, 0))
            value = Select(never, Literal(dtype, other), Literal(dtype, bits))
            self._lets[dtype, bits] = Let(self._fresh("hidden"), value)
        return Local(self._lets[dtype, bits].name, dtype)
