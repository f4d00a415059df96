"""What arrays of a device, and ranges of a graph, do with the operators of Python: say what to write instead."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

import numpy as np


class WithoutOperators:
    """An array without comparisons, and without arithmetic but with operands of NumPy, where NumPy computes."""

    __slots__ = ()

    instead_of_arithmetic: ClassVar[str] = (
        "write a kernel, call a function such as vyre.matmul, or compute with .numpy()"
    )
    """The remedy of the error."""

    def _refuse_comparison(self, other: object) -> NoReturn:
        """Raise where Python would tell whether both are the same object: readers expect another answer of arrays."""
        raise TypeError(f"{self!r} has no comparisons. Fix: compare .numpy(), or ask `is` whether it is the same array")

    def _refuse_arithmetic(self, other: object = None) -> Any:
        if isinstance(other, np.ndarray | np.generic):
            return NotImplemented
        raise TypeError(f"{self!r} has no arithmetic. Fix: {self.instead_of_arithmetic}")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse_comparison
    __hash__ = object.__hash__
    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __pow__ = __matmul__ = _refuse_arithmetic
    __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = _refuse_arithmetic
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = _refuse_arithmetic
    __rand__ = __ror__ = __rxor__ = __rlshift__ = __rrshift__ = __rmatmul__ = _refuse_arithmetic
    __neg__ = __pos__ = __abs__ = __invert__ = _refuse_arithmetic
