"""Memory that is freed is given back: by an engine to its port, and by the backend to the process that it is in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import psutil

from vyre_conform.worker.claiming import BrokenClaim, NotExercised
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.resources import Resource
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.engine.port import DevicePort
from vyre_driver.errors import DeviceOutOfMemory, UnsupportedFeature
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.errors import without_remedy

PIECE, PIECES = 40 << 20, 4
"""Bytes of each piece of memory that is allocated and freed, and how many there are, one after the other.

A process asks the system for pieces of this size, and gives them back: smaller ones may come from memory that it has.
"""


def freed_memory(backend: VyreBackend) -> None:
    """Freed resources go back to the port, all memory does at shutdown, and the process does not grow by what is freed.

    The process does not have the memory of a device that has its own.
    """
    try:
        _allocate_and_free(backend)
    except UnsupportedFeature as error:
        raise NotExercised(
            f"it has no resident memory: {without_remedy(error)}", fix="judge it by its other ways in"
        ) from error
    if isinstance(backend, EngineBackend):
        _require_freed_by_engine(backend)
        _require_freed_at_shutdown(backend.opened_again())
    _require_no_growth(backend)


def _allocate_and_free(backend: VyreBackend, size: int = PIECE) -> Resource:
    resource = backend.allocate_resident(size)
    backend.free_resident(resource)
    backend.flush()
    return resource


def _require_freed_by_engine(backend: EngineBackend) -> None:
    with backend.session() as device:
        port = device.port
    with _counted(port) as held:
        handles = [_allocate_and_free(backend, size) for size in (1, 64, 4097)]
        _require_none(held, "after their resources were freed")
    del handles  # until now: memory of handles that nothing refers to is freed in any case


def _require_freed_at_shutdown(backend: EngineBackend) -> None:
    with program("held", 16) as p:
        x = p.read("x", u32)
        p.write("out", u32, like=x)[p.global_id(0)] = x[p.global_id(0)] + 1
    with backend.session() as device:
        port = device.port
    with _counted(port) as held:
        try:
            resource = backend.allocate_resident(64)
            backend.dispatch(p.build(), [bytes(64)])
            backend.download_resident(resource)
        finally:
            backend.shutdown()
        _require_none(held, "after the backend was shut down")


@contextmanager
def _counted(port: DevicePort[Any, Any, Any]) -> Iterator[Counter[int]]:
    """How often each memory of a port, by its identity, was allocated and not freed meanwhile."""
    held: Counter[int] = Counter()
    seen: list[Any] = []  # so that no identity comes twice
    allocate, free = port.allocate, port.free

    def allocated(size: int) -> Any:
        memory = allocate(size)
        seen.append(memory)
        held[id(memory)] += 1
        return memory

    def freed(memory: Any) -> None:
        if id(memory) in held:
            held[id(memory)] -= 1
        free(memory)

    with patch.object(port, "allocate", allocated), patch.object(port, "free", freed):
        yield held


def _require_none(held: Counter[int], when: str) -> None:
    left = sum(count > 0 for count in held.values())
    if left:
        words = f"{left} of {len(held)} pieces of memory of the port were not passed to its `free` {when}"
        raise BrokenClaim(words, fix="let the backend end what it has allocated, as EngineBackend does")
    if any(count < 0 for count in held.values()):
        raise BrokenClaim(f"memory of the port was passed to its `free` twice {when}", fix="free it once")


def _require_no_growth(backend: VyreBackend) -> None:
    process = psutil.Process()
    before = process.memory_info().rss
    for done in range(PIECES):
        try:
            _allocate_and_free(backend)
        except DeviceOutOfMemory as error:
            words = f"no memory is left after {done} pieces of {PIECE:,} bytes were allocated and freed, one by one"
            raise BrokenClaim(words, fix="give memory back in `free`") from error
    grown = process.memory_info().rss - before
    if grown > PIECE * PIECES // 2:
        words = (
            f"{PIECES} pieces of {PIECE:,} bytes were allocated and freed, one by one, and the process has {grown:,}"
        )
        raise BrokenClaim(f"{words} bytes more", fix="give memory back in `free`, or use it for what is allocated next")
