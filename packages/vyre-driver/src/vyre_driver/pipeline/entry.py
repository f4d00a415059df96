"""One entry of the store: what it is found by, what it was made from, and a digest over all of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from blake3 import blake3


class PayloadKind(Enum):
    """What a payload is."""

    CODE = "code"
    """An `Artifact`: kernels of one program for one device."""
    FACTS = "facts"
    """What a device has proven, in the words of its driver."""
    IN_PROGRESS = "begun"
    """The number of a process that is compiling this code: left behind, it says that the process did not survive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryIdentity:
    """`key` is a digest of everything that the payload depends on, `text` the same to read and to compare.

    `subject`, `policy` and `device` are parts of it: when a key is missed, entries with equal parts tell what changed.
    """

    kind: PayloadKind
    key: str
    subject: str
    policy: str = ""
    device: str = ""
    text: str


@dataclass(frozen=True, slots=True)
class CacheEntry:
    """`cost_ns` is what it took to make the payload."""

    identity: EntryIdentity
    payload: bytes
    cost_ns: int

    def digest(self) -> bytes:
        """Over every field, each with its length, so that no byte of an entry changes unseen."""
        i = self.identity
        hasher = blake3(b"vyre store entry")
        for text in (i.kind.value, i.key, i.subject, i.policy, i.device, i.text, str(self.cost_ns)):
            _update(hasher, text.encode("utf-8", "surrogateescape"))
        _update(hasher, self.payload)
        return hasher.digest()


def _update(hasher: blake3, data: bytes) -> None:
    hasher.update(len(data).to_bytes(8, "little"))
    hasher.update(data)
