"""The digest that binds what belongs together."""

from __future__ import annotations

from blake3 import blake3


def digest_of(*parts: bytes) -> str:
    """BLAKE3 over parts with their lengths before them, in hex."""
    hasher = blake3()
    for part in parts:
        hasher.update(len(part).to_bytes(8, "little"))
        hasher.update(part)
    return hasher.hexdigest()
