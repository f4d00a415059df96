"""What a device has shown once and need not show again: proofs, measured choices, rates. Kept with who it is."""

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
    """A device (see `DeviceProfile.identity`) and a question that was put to it.

    `question` is a text that changes with the subject of the question and with the method.
    """

    device: tuple[str, ...]
    question: str

    def entry(self) -> EntryIdentity:
        """What the store finds the answer by."""
        text = repr((self.device, self.question))
        key = blake3(b"vyre device facts" + text.encode("utf-8", "surrogateescape")).hexdigest()
        return EntryIdentity(
            kind=PayloadKind.FACTS, key=key, subject=self.device[1], device=repr(self.device), text=text
        )


class DeviceSignatureTable:
    """Answers of devices by signature, as bytes, in the store. None for no store: then nothing is known or kept."""

    def __init__(self, store: DiskStore | None) -> None:
        self._store = store

    def get(self, signature: DeviceSignature, read: Callable[[bytes], AnswerT]) -> AnswerT | None:
        """The answer that was kept. What `read` cannot read (ValueError, LookupError, TypeError) is thrown away."""
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
        """Keep an answer that took `cost_ns` to find out."""
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
        """What `ask` gave in an earlier process, or gives now."""
        known = self.get(signature, read)
        if known is not None:
            return known
        started = time.perf_counter_ns()
        answer = ask()
        self.put(signature, write(answer), time.perf_counter_ns() - started)
        return answer
