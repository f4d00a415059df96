"""Compiled code in the store: artifacts by the identity of a pipeline."""

from __future__ import annotations

import logging

from vyre_driver.pipeline.artifact import Artifact
from vyre_driver.pipeline.key import PipelineCacheIdentity
from vyre_driver.pipeline.misses import PipelineCacheMissEvidence
from vyre_driver.pipeline.store import Store
from vyre_foundation.wire import WireError

_logger = logging.getLogger("vyre.cache")


class DiskPipelineCache:
    """The code in a store. None stands for no store: then everything is missed and nothing is kept."""

    def __init__(self, store: Store | None) -> None:
        self._store = store

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
            self._store.discard(entry, f"its artifact can not be read: {error}")
            return None

    def put(self, identity: PipelineCacheIdentity, artifact: Artifact, cost_ns: int) -> bool:
        """Keep what took `cost_ns` to make. Whether it is kept."""
        return self._store is not None and self._store.put(identity.entry(), artifact.to_bytes(), cost_ns)

    def discard(self, identity: PipelineCacheIdentity, reason: str) -> None:
        """Forget an artifact that the device refuses."""
        if self._store is not None:
            self._store.discard(identity.entry(), reason)

    def missed(self, identity: PipelineCacheIdentity) -> PipelineCacheMissEvidence | None:
        """Why `get` had nothing: what the store has beside it; None without a store."""
        if self._store is None:
            return None
        evidence = self._store.evidence(identity.entry())
        _logger.debug("missed %s: %s (%s)", identity.program[:16], evidence.reason.value, evidence)
        return evidence
