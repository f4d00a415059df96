"""Values that a printer has computed and may use again, as long as they surely hold the same.

What depends on mutable locals is forgotten when one changes, what depends on memory that the kernel writes when
something may have been written, and both at the ends of blocks.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from vyre_driver.codegen.placement import Life, Placement
from vyre_foundation.ir.expr import Expr

ValueT = TypeVar("ValueT")


class KnownValues(Generic[ValueT]):
    """The values that are valid at the present place of one kernel, by expression, in the printer's own form.

    `placement` says how long each stays valid. Statements are printed in program order.
    """

    def __init__(self, placement: Placement) -> None:
        self._placement = placement
        self.values: dict[Expr, ValueT] = {}
        self._scopes: list[list[Expr]] = [[]]
        self._passing: dict[Life, list[Expr]] = {Life.UNTIL_ASSIGN: [], Life.UNTIL_WRITE: []}

    def remember(self, node: Expr, value: ValueT) -> None:
        """Keep the value of `node` for as long as it is valid."""
        life = self._placement.lives[node]
        self.values[node] = value
        (self._scopes[-1] if life is Life.SCOPE else self._passing[life]).append(node)

    def enter(self) -> None:
        """A block begins; control may come back to it from its end."""
        self.forget(Life.UNTIL_ASSIGN)
        self._scopes.append([])

    def leave(self) -> None:
        """A block ends, and with it the values that were computed in it."""
        self.forget(Life.UNTIL_ASSIGN)
        for node in self._scopes.pop():
            self.values.pop(node, None)

    def forget(self, life: Life) -> None:
        """Something has changed that values of this life, and those that pass sooner, may depend on."""
        for passing, nodes in self._passing.items():
            if passing >= life:
                for node in nodes:
                    self.values.pop(node, None)
                nodes.clear()
