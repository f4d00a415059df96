"""The memory cache: least recently used out first, every lookup counted."""

from typing import Any

from vyre_driver.backend.pipeline import PipelineCacheSnapshot
from vyre_driver.pipeline.cache import PipelineCache
from vyre_driver.pipeline.disk import _end_all
from vyre_driver.pipeline.key import PipelineCacheKey

A, B, C = (PipelineCacheKey(letter) for letter in "abc")


def test_what_was_used_longest_ago_goes_first() -> None:
    cache: PipelineCache[str] = PipelineCache(entries=2)
    cache.put(A, "a")
    cache.put(B, "b")
    assert cache.get(A) == "a"
    cache.put(C, "c")
    assert [cache.get(key) for key in (A, B, C)] == ["a", None, "c"]
    assert len(cache) == 2


def test_lookups_are_counted() -> None:
    cache: PipelineCache[str] = PipelineCache()
    cache.get(A)
    cache.put(A, "a")
    cache.get(A)
    cache.clear()
    cache.get(A)
    assert cache.snapshot() == PipelineCacheSnapshot(hits=1, misses=2)
    assert len(cache) == 0


def test_a_value_may_be_replaced() -> None:
    cache: PipelineCache[str] = PipelineCache(entries=1)
    cache.put(A, "a")
    cache.put(A, "b")
    assert cache.get(A) == "b"


def test_marks_are_removed_while_another_thread_compiles() -> None:
    """At the end of the interpreter, for instance: a daemon thread is not stopped then."""
    compiling: dict[Any, Any] = {A: "a", B: "b"}
    removed = []

    class Store:
        def remove(self, mark: str) -> None:
            removed.append(mark)
            compiling.pop(B, None)
            compiling[C] = "c"

    _end_all(Store(), compiling)  # type: ignore[arg-type]
    assert removed == ["a", "b"]
