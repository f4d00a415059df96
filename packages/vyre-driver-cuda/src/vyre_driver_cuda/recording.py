"""Recorded launches and fills, which are replayed as one piece of work."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Any

from vyre_driver_cuda.memory import DeviceMemory


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """A graph of CUDA, and the memory that its launches and fills use."""

    graph: Any
    memories: Set[DeviceMemory]
