"""Canaries: bytes around a buffer that must not be written."""

from __future__ import annotations

from collections.abc import Sequence

from vyre_foundation.errors import VyreError
from vyre_foundation.ir.buffer import Buffer

PAD = 256
"""Bytes on either side of a buffer."""
CANARY = 0xA5
CANARIES = bytes([CANARY]) * PAD


class CanaryDied(VyreError):
    """Something outside of a buffer was written to."""

    code = "E1206"


class GuardedBytes:
    """Bytes with canaries on both sides."""

    def __init__(self, data: bytes) -> None:
        self.all = bytearray(CANARIES + data + CANARIES)
        self.inside = memoryview(self.all)[PAD : PAD + len(data)]

    def check(self, name: str) -> None:
        """Raise an error if the bytes beside the memory have changed."""
        size = len(self.inside)
        for side, pad in (("before", self.all[:PAD]), ("after", self.all[PAD + size :])):
            if pad != CANARIES:
                raise CanaryDied(f"bytes {side} {name!r} were written to", fix="find the access that is not checked")


def foul(data: bytearray) -> bytes:
    """What a caller writes over memory that must no longer be read."""
    return bytes([CANARY]) * len(data)


def names_of(buffers: Sequence[Buffer]) -> list[str]:
    """The names of buffers, in their order."""
    return [buffer.name for buffer in buffers]
