"""Objects that remember what was computed about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

SelfT = TypeVar("SelfT", bound="Memo")
T = TypeVar("T")


class Memo:
    """Base of immutable objects of which expensive things are computed, by functions that lie above this package."""

    def memoised(self: SelfT, compute: Callable[[SelfT], T]) -> T:
        """`compute(self)`, computed once for this object. An exception is not remembered."""
        results: dict[Any, Any] = vars(self).setdefault("_results", {})
        if compute not in results:
            results[compute] = compute(self)
        return results[compute]  # type: ignore[no-any-return]
