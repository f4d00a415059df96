"""The hash of the wire form, in the one file that names it."""

from __future__ import annotations

from blake3 import blake3


def digest(data: bytes) -> bytes:
    """BLAKE3-256."""
    return blake3(data).digest()
