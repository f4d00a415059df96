"""Augmented assignments to values inside of blocks, where Python does something else than the line says.

``c += 1`` on an immutable value gives the name `c` another value, once, while the program is built. In a branch of the
program that value would hold whether the branch runs or not, and in a loop nothing would add up. Both are found, where
the assignment and the block stand in one Python function: a function that is called there has names of its own.
"""

from __future__ import annotations

from typing import NamedTuple

from vyre_foundation.errors import BuildError
from vyre_foundation.locks import ForkGuard


class OpenBlock(NamedTuple):
    """A branch or loop that is being recorded. `number` counts all that were opened before it, in any thread."""

    number: int
    frame: int
    """The identity of the frame that opened it, which lives as long as the block is open."""
    is_loop: bool


class OpenBlocks:
    """The branches and loops that are being recorded, in all threads. `opened` counts all that ever were."""

    def __init__(self) -> None:
        self.opened = 0
        self._open: set[OpenBlock] = set()
        self._guard = ForkGuard()

    def enter(self, frame: int, *, is_loop: bool) -> OpenBlock:
        """Open a block in the function of this frame."""
        with self._guard.lock:
            self.opened += 1
            block = OpenBlock(self.opened, frame, is_loop)
            self._open.add(block)
        return block

    def leave(self, block: OpenBlock) -> None:
        """Close a block; one that is closed already stays closed."""
        with self._guard.lock:
            self._open.discard(block)

    def __contains__(self, block: object) -> bool:
        return block in self._open

    def entered_since(self, born: int, frame: int) -> list[OpenBlock]:
        """Those that `frame` has opened after a value was made, outermost first."""
        if not self._open:
            return []
        with self._guard.lock:
            return sorted(block for block in self._open if block.frame == frame and block.number > born)


BLOCKS = OpenBlocks()


def refuse_accumulation() -> BuildError:
    """The error for an augmented assignment in a loop to a value from outside of it."""
    return BuildError(
        "got an augmented assignment in a loop to a value that was made outside of it: the body is recorded once, so "
        "nothing adds up",
        fix="make it with p.var(…), where `+=` and .set change the variable; or give the result a new name",
    )


def refuse_use_behind(origin: str) -> BuildError:
    """The error for the use of a value that an augmented assignment in a branch gave its name."""
    return BuildError(
        f"got the value that an augmented assignment at {origin} gave its name in a branch, behind that branch: it "
        "would hold whether the branch runs or not",
        fix="make the variable with p.var(…), where `+=` and .set change it where the branch runs",
    )
