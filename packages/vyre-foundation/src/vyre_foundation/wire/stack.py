"""What a stack machine does, found for all of its code at once: no expression is made here.

How high the stack is behind each token follows from how many operands the tokens pop. The last operand of a token is
what the token before it has left. Operand n of a token that leaves a stack of height h is what last left one of h + n.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vyre_foundation.wire.errors import Malformed
from vyre_foundation.wire.reader import refuse

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers = npt.NDArray[np.int64]


class Stack:
    """The effect of tokens on the stack: what those from the offset `start` on push, pop and leave.

    Expressions have numbers, in the order in which they are made.
    """

    def __init__(self, start: int, arities: Numbers, reused: Numbers, back: npt.NDArray[np.uint64]) -> None:
        """Compute the effect of all tokens at once.

        Args:
            start: The offset of the first token, for messages.
            arities: For each token the number of operands that it pops.
            reused: The places of the tokens that push an expression which exists.
            back: For each of these, how many expressions ago it was made.
        """
        count = len(arities)
        made = np.ones(count, np.int64)
        made[reused] = 0
        self.makes = np.flatnonzero(made)
        """The places of the tokens that make an expression."""
        self.made = np.cumsum(made)
        """How many there are behind each token."""
        self.pushes = self.made - 1
        """The number of what each token pushes."""
        self.pushes[reused] -= np.minimum(back, count + 1).astype(np.int64) - 1
        self._heights = np.cumsum(1 - np.minimum(arities, count + 1))
        missing = (self._heights < 1) | (self.pushes < 0)
        if missing.any():
            refuse(Malformed, start + int(missing.argmax()), "a token pops or reuses an expression that is not there")
        self._by_height = np.argsort(self._heights, kind="stable")
        self._arities = arities

    @property
    def first_operands(self) -> Numbers:
        """For each expression the number of its first operand; of one without operands, any."""
        before = np.zeros_like(self._by_height)  # what was there at this height before
        before[self._by_height[1:]] = self._by_height[:-1]
        return self.pushes[before[self.makes]]

    @property
    def last_operands(self) -> Numbers:
        """For each expression the number of its last operand; of one without operands, any."""
        return self.pushes[self.makes - 1]

    @property
    def inner_operands(self) -> Numbers:
        """The numbers of the operands between first and last, of those expressions that have more than two."""
        several = np.flatnonzero(self._arities > 2)
        counts = self._arities[several] - 2
        parents = np.repeat(several, counts)
        nth = np.arange(1, len(parents) + 1) - np.repeat(np.cumsum(counts) - counts, counts)
        span = len(self._heights)
        left = self._heights[self._by_height] * span + self._by_height
        wanted = (self._heights[parents] + nth) * span + parents
        return self.pushes[self._by_height[np.searchsorted(left, wanted) - 1]]

    @property
    def roots(self) -> Numbers:
        """The places of the tokens that have left what is on the stack in the end."""
        heights = np.arange(1, self._heights[-1] + 1 if len(self._heights) else 1)
        return self._by_height[np.searchsorted(self._heights[self._by_height], heights, side="right") - 1]
