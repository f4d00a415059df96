"""Compiled code in memory, least recently used out first."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

from vyre_driver.backend.pipeline import PipelineCacheSnapshot
from vyre_driver.pipeline.key import PipelineCacheKey

DEFAULT_ENTRIES = 256

CodeT = TypeVar("CodeT")


class PipelineCache(Generic[CodeT]):
    """At most `entries` values by key. The owner locks: a lookup also changes the order and the counts."""

    def __init__(self, entries: int = DEFAULT_ENTRIES) -> None:
        self._entries = entries
        self._values: OrderedDict[PipelineCacheKey, CodeT] = OrderedDict()
        self._hits = 0
        self._misses = 0

    def get(self, key: PipelineCacheKey) -> CodeT | None:
        """The value of `key`, now the most recently used, or None; counted as a hit or a miss."""
        value = self._values.get(key)
        if value is None:
            self._misses += 1
            return None
        self._hits += 1
        self._values.move_to_end(key)
        return value

    def put(self, key: PipelineCacheKey, value: CodeT) -> None:
        """Keep `value`, and forget what was not used for longest when there is too much."""
        self._values[key] = value
        self._values.move_to_end(key)
        while len(self._values) > self._entries:
            self._values.popitem(last=False)

    def clear(self) -> None:
        """Forget all values; the counts stay."""
        self._values.clear()

    def __len__(self) -> int:
        return len(self._values)

    def snapshot(self) -> PipelineCacheSnapshot:
        """Hits and misses since the cache was made."""
        return PipelineCacheSnapshot(self._hits, self._misses)
