"""Stored results of measurements and proofs on devices, by the identity of the device."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from blake3 import blake3

from vyre_driver.pipeline.entry import EntryIdentity, PayloadKind
from vyre_driver.pipeline.store import DiskStore

AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True, slots=True)
class DeviceSignature:
    """The key of a stored result: the identity of a device (see `DeviceProfile.identity`) and a question.

    `question` is a text that changes with the subject and the method of the measurement.
    """

    device: tuple[str, ...]
    question: str

    def entry(self) -> EntryIdentity:
        """The key in the store."""
        text = repr((self.device, self.question))
        key = blake3(b"vyre device facts" + text.encode("utf-8", "surrogateescape")).hexdigest()
        return EntryIdentity(
            kind=PayloadKind.FACTS, key=key, subject=self.device[1], device=repr(self.device), text=text
        )


class DeviceSignatureTable:
    """Stored results by signature, as bytes. Without a store (None) nothing is found or stored."""

    def __init__(self, store: DiskStore | None) -> None:
        self._store = store

    def get(self, signature: DeviceSignature, read: Callable[[bytes], AnswerT]) -> AnswerT | None:
        """Return a stored result. If `read` fails on it (ValueError, LookupError, TypeError), it is removed."""
        entry = signature.entry()
        cached = None if self._store is None else self._store.get(entry)
        if self._store is None or cached is None:
            return None
        try:
            return read(cached)
        except (ValueError, LookupError, TypeError) as error:
            self._store.discard(entry, f"its facts cannot be read: {error}")
            return None

    def put(self, signature: DeviceSignature, answer: bytes, cost_ns: int = 0) -> None:
        """Store a result that took `cost_ns` to obtain."""
        if self._store is not None:
            self._store.put(signature.entry(), answer, cost_ns)

    def recall(
        self,
        signature: DeviceSignature,
        ask: Callable[[], AnswerT],
        *,
        write: Callable[[AnswerT], bytes],
        read: Callable[[bytes], AnswerT],
    ) -> AnswerT:
        """Return the result of `ask` from an earlier process, or call it now."""
        known = self.get(signature, read)
        if known is not None:
            return known
        started = time.perf_counter_ns()
        answer = ask()
        self.put(signature, write(answer), time.perf_counter_ns() - started)
        return answer
