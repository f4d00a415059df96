"""The cache of compiled code in the store: artifacts by the identity of a pipeline."""

from __future__ import annotations

import os
import sys
import weakref
from typing import TYPE_CHECKING

from vyre_driver.pipeline.artifact import Artifact
from vyre_driver.pipeline.entry import EntryIdentity
from vyre_driver.pipeline.key import PipelineCacheIdentity
from vyre_driver.pipeline.log import logger
from vyre_driver.pipeline.store import DiskStore
from vyre_foundation.wire import WireError

if TYPE_CHECKING:
    from vyre_driver.pipeline.misses import PipelineCacheMissEvidence


class DiskPipelineCache:
    """A cache of compiled code in a store. Without a store (None) every lookup is a miss, and nothing is stored."""

    def __init__(self, store: DiskStore | None) -> None:
        self._store = store
        self._compiling: dict[PipelineCacheIdentity, EntryIdentity] = {}
        if store is not None:
            weakref.finalize(self, _end_all, store, self._compiling)

    @property
    def keeps(self) -> bool:
        """Whether there is a store for `put`."""
        return self._store is not None and self._store.keeps

    def get(self, identity: PipelineCacheIdentity) -> Artifact | None:
        """Return the artifact with this identity, or None."""
        if self._store is None:
            return None
        entry = identity.entry()
        payload = self._store.get(entry)
        if payload is None:
            return None
        try:
            return Artifact.from_bytes(payload)
        except (ValueError, LookupError, TypeError, WireError) as error:
            self._store.discard(entry, f"its artifact cannot be read: {error}")
            return None

    def put(self, identity: PipelineCacheIdentity, artifact: Artifact, cost_ns: int) -> bool:
        """Store an artifact that took `cost_ns` to make, and return whether it was stored."""
        return self._store is not None and self._store.put(identity.entry(), artifact.to_bytes(), cost_ns)

    def discard(self, identity: PipelineCacheIdentity, reason: str) -> None:
        """Remove an artifact that the device refuses."""
        if self._store is not None:
            self._store.discard(identity.entry(), reason)

    # ── compilers that do not come back ──────────────────────────────────────────────────────────────────────────────

    def begin(self, identity: PipelineCacheIdentity) -> None:
        """Mark the code as being compiled, or run for the first time, in case that this crashes the process."""
        if self.keeps and self._store is not None:
            mark = self._compiling[identity] = identity.in_progress()
            self._store.put(mark, str(os.getpid()).encode(), 0)

    def end(self, identity: PipelineCacheIdentity) -> None:
        """Remove the mark: the process has not crashed."""
        mark = self._compiling.pop(identity, None)
        if mark is not None and self._store is not None:
            self._store.remove(mark)

    def was_fatal(self, identity: PipelineCacheIdentity) -> bool:
        """Return whether a process that no longer exists has left a mark."""
        mark = None if self._store is None else self._store.get(identity.in_progress())
        return mark is not None and not _lives(mark)

    def forget_fatal(self, identity: PipelineCacheIdentity) -> None:
        """Remove the mark of a process that no longer exists, after a successful compilation in another process."""
        if self._store is not None:
            self._store.remove(identity.in_progress())

    def missed(self, identity: PipelineCacheIdentity) -> PipelineCacheMissEvidence | None:
        """Return the evidence for a miss of `get`: the related entries in the store; None without a store."""
        if self._store is None:
            return None
        evidence = self._store.evidence(identity.entry())
        logger().debug("missed %s: %s (%s)", identity.program[:16], evidence.reason.value, evidence)
        return evidence


def _lives(mark: bytes) -> bool:
    """Whether the process of a mark is still there. A later process of the same number hides the mark, no more."""
    if sys.platform == "win32":  # there is no such question, the signal 0 would end it
        return False
    try:
        os.kill(int(mark), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        return False
    except OSError:  # another user's
        return True
    return True


def _end_all(store: DiskStore, in_progress: dict[PipelineCacheIdentity, EntryIdentity]) -> None:
    for mark in tuple(in_progress.values()):  # at the end of the interpreter threads may still compile
        store.remove(mark)
