"""Compiled code in the store: artifacts by the identity of a pipeline."""

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
    """The code in a store. None stands for no store: then everything is missed and nothing is kept."""

    def __init__(self, store: DiskStore | None) -> None:
        self._store = store
        self._compiling: dict[PipelineCacheIdentity, EntryIdentity] = {}
        if store is not None:
            weakref.finalize(self, _end_all, store, self._compiling)

    @property
    def keeps(self) -> bool:
        """Whether `put` would keep anything."""
        return self._store is not None and self._store.keeps

    def get(self, identity: PipelineCacheIdentity) -> Artifact | None:
        """The artifact of exactly this identity, or None."""
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
        """Keep what took `cost_ns` to make. Whether it is kept."""
        return self._store is not None and self._store.put(identity.entry(), artifact.to_bytes(), cost_ns)

    def discard(self, identity: PipelineCacheIdentity, reason: str) -> None:
        """Forget an artifact that the device refuses."""
        if self._store is not None:
            self._store.discard(identity.entry(), reason)

    # ── compilers that do not come back ──────────────────────────────────────────────────────────────────────────────

    def begin(self, identity: PipelineCacheIdentity) -> None:
        """From now on this process compiles the code, or runs it for the first time: let others know, should it die."""
        if self.keeps and self._store is not None:
            mark = self._compiling[identity] = identity.in_progress()
            self._store.put(mark, str(os.getpid()).encode(), 0)

    def end(self, identity: PipelineCacheIdentity) -> None:
        """The process has survived it."""
        mark = self._compiling.pop(identity, None)
        if mark is not None and self._store is not None:
            self._store.remove(mark)

    def was_fatal(self, identity: PipelineCacheIdentity) -> bool:
        """Whether a process that is no more has begun with the code, and not ended."""
        mark = None if self._store is None else self._store.get(identity.in_progress())
        return mark is not None and not _lives(mark)

    def forget_fatal(self, identity: PipelineCacheIdentity) -> None:
        """The code has been compiled in a process that survived it."""
        if self._store is not None:
            self._store.remove(identity.in_progress())

    def missed(self, identity: PipelineCacheIdentity) -> PipelineCacheMissEvidence | None:
        """Why `get` had nothing: what the store has beside it; None without a store."""
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
