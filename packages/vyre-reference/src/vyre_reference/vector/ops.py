"""Which NumPy function computes an op, by its id and the kind of its operands. No meaning of the op table is asked."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from vyre_foundation.dtype import DType
from vyre_reference.vector import floats, integers
from vyre_reference.vector.registers import Bools, Values


@cache
def function(op: str, operand: DType) -> Callable[..., Values]:
    """The op on values of type `operand`."""
    table = floats.FUNCTIONS if operand.is_float else integers.FUNCTIONS
    return partial(table[op], operand)


@cache
def precondition(op: str, operand: DType) -> Callable[..., Bools] | None:
    """Where a raw op has a meaning; None for ops that always have one."""
    condition = integers.PRECONDITIONS.get(op)
    return None if condition is None else partial(condition, operand)
