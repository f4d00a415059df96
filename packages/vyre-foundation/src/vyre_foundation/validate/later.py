"""Facts that are computed on demand."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping
from functools import cache
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Later(Mapping[K, V]):
    """A table that is computed on first use, and then cached.

    Two threads that come at the same time may both compute it; they get equal tables.
    """

    __slots__ = ("_find",)

    def __init__(self, compute: Callable[[], Mapping[K, V]]) -> None:
        self._find = cache(compute)

    @property
    def now(self) -> Mapping[K, V]:
        """The table itself."""
        return self._find()

    def __getitem__(self, key: K) -> V:
        return self._find()[key]

    def get(self, key: K, default: Any = None) -> Any:
        """Give the value of `key` as `dict.get` does, computing the mapping if need be."""
        return self._find().get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self._find()

    def items(self) -> ItemsView[K, V]:
        """Give the items as `dict.items` does, computing the mapping if need be."""
        return self._find().items()

    def __iter__(self) -> Iterator[K]:
        return iter(self._find())

    def __len__(self) -> int:
        return len(self._find())
