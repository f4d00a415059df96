"""Branches that follow each other: each stands in the ``else`` of the one before."""

from __future__ import annotations

from typing import NamedTuple

from vyre_foundation.ir.stmt import Body, If


class BranchChain(NamedTuple):
    """An ``if`` with branches behind it, each in the ``else`` of the one before."""

    branch: If
    depth: int
    """How many there are behind the first."""

    @property
    def last(self) -> If:
        """The last of the branches."""
        found = self.branch
        for _ in range(self.depth):
            inner = found.orelse[-1]
            assert isinstance(inner, If)
            found = inner
        return found

    def extended(self, orelse: Body) -> If:
        """The chain with statements for the case that no condition holds."""
        outer: list[If] = []
        found = self.branch
        for _ in range(self.depth):
            outer.append(found)
            found = found.orelse[-1]  # type: ignore[assignment]
        made = If(found.condition, found.then, orelse)
        for branch in reversed(outer):
            made = If(branch.condition, branch.then, (*branch.orelse[:-1], made))
        return made
