"""Python's cyclic collector, told to look less often while very many expressions come into being.

Expressions form no cycles, so the collector finds nothing among them. Yet it looks at all that is alive whenever that
has grown by a quarter, which doubles the time to make a large program. Where thousands of expressions are made at once,
it looks after as many new objects as a program may have instead: still at everything, so cycles that others make in
the meantime are freed, but hardly ever.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = (200_000, 20, 20)
"""New objects until the collector looks at these; how often that, until it looks at older ones, and at the oldest."""

_lock = threading.Lock()
_before: list[tuple[int, int, int]] = []
"""The thresholds that came before, once for each block that is open: they are the process's, and so is this."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """A block in which the collector runs rarely. Blocks may overlap, in any threads; a collector that somebody has
    turned off stays off."""
    with _lock:
        _before.append(_before[0] if _before else gc.get_threshold())
        if _before[0] < THRESHOLDS and _before[0][0] > 0:
            gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        with _lock:
            before = _before.pop()
            if not _before and gc.get_threshold() == THRESHOLDS:  # or somebody else has changed them
                gc.set_threshold(*before)
