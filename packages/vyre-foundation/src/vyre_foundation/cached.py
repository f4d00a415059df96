"""Properties that are computed once."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:

    class cached_property(functools.cached_property):
        """As that of `functools` from Python 3.12 on, which computes without a lock.

        The one before has a lock for all objects of a class: threads wait for each other, and a forked process for
        threads of its parent.
        """

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """The value, which takes the place of the property in `instance`."""
            if instance is None:
                return self
            assert self.attrname is not None
            return instance.__dict__.setdefault(self.attrname, self.func(instance))
