"""A piece of device memory in the hands of the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    """Device memory that the engine holds; `memory` is the port's handle. `is_borrowed`: another's, who frees it."""

    memory: Any
    size: int
    is_borrowed: bool = False
