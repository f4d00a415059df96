"""Python's cyclic collector, told to look less often while very many expressions come into being.

Expressions form no cycles, so the collector finds nothing among them. Yet it looks at each when it is new, and at all
that is alive whenever that has grown by a quarter, which doubles the time to make a large program. Where thousands of
expressions are made at once, it looks after as many new objects as a program may have instead, and what such a block
leaves behind is old at once. After a million objects it looks at everything, so cycles that others make in the
meantime are freed, but hardly ever.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

MOST_UNSEEN = 1_000_000
"""New objects that the collector need not have looked at."""

THRESHOLDS = (MOST_UNSEEN, 20, 20)
"""New objects until the collector looks at these; how often that, until it looks at older ones, and at the oldest."""

_lock = threading.Lock()
_before: list[tuple[int, int, int]] = []
"""The thresholds that came before, once for each block that is open: they are the process's, and so is this."""

_unseen = 0
_full_looks = 0
"""Objects that became old unseen, and how many looks at everything there had been then."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """A block in which the collector runs rarely. Blocks may overlap, in any threads; a collector that somebody has
    turned off stays off."""
    with _lock:
        _before.append(_before[0] if _before else gc.get_threshold())
        if 0 < _before[0][0] < THRESHOLDS[0]:
            gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        is_due = False
        with _lock:
            before = _before.pop()
            if not _before and gc.get_threshold() == THRESHOLDS:  # or somebody else has changed them
                is_due = _age(before[0])
                gc.set_threshold(*before)
        if is_due:  # not under the lock: what is freed may open blocks
            gc.collect()


def _age(threshold: int) -> bool:
    """Make what is new old, without a look, where the collector would look at it next; or True if there has been so
    much of it that it is time to look at everything. What somebody has frozen stays frozen."""
    global _unseen, _full_looks
    new, full_looks = gc.get_count()[0], gc.get_stats()[2]["collections"]
    if new <= threshold or gc.get_freeze_count() or not gc.isenabled():
        return False
    _unseen = new + (_unseen if full_looks == _full_looks else 0)
    _full_looks = full_looks
    if _unseen >= MOST_UNSEEN:
        return True
    gc.freeze()  # the only way to age objects; the next line has them collected again, as the oldest
    gc.unfreeze()
    return False
