"""What changed between two runs."""

from __future__ import annotations

from dataclasses import dataclass

from vyre_conform.cell import Cell, State
from vyre_conform.run import Run


@dataclass(frozen=True, slots=True)
class Change:
    """A cell of two runs; None where one of them does not have it."""

    before: Cell | None
    after: Cell | None

    @property
    def cell(self) -> Cell:
        """The cell after, or before where there is none after."""
        found = self.after or self.before
        assert found is not None
        return found

    @property
    def is_worse(self) -> bool:
        """Whether a cell passes no more, is bad and was not, or was well and is gone."""
        was_well = self.before is not None and not self.before.state.is_bad
        if self.after is None:
            return was_well
        if self.before is not None and self.before.state is State.PASS:
            return self.after.state is not State.PASS
        return self.after.state.is_bad and (was_well or self.before is None)

    def __str__(self) -> str:
        before, after = (cell.state.value if cell else "absent" for cell in (self.before, self.after))
        what = before if before == after else f"{before} -> {after}"
        reason = f": {self.after.reason}" if self.after is not None and self.after.reason else ""
        return f"{self.cell.address} on {self.cell.backend}: {what}{reason}"


def changes(before: Run, after: Run) -> list[Change]:
    """The cells whose states, or whose results, are not the same, in the order of the later run."""
    old, new = ({cell.key: cell for cell in run.cells} for run in (before, after))
    keys = [*new, *(key for key in old if key not in new)]
    pairs = (Change(old.get(key), new.get(key)) for key in keys)
    return [pair for pair in pairs if _differs(pair)]


def _differs(pair: Change) -> bool:
    if pair.before is None or pair.after is None:
        return True
    same = (pair.before.state, pair.before.digests.expected, pair.before.reason)
    return same != (pair.after.state, pair.after.digests.expected, pair.after.reason)
