"""What a device has shown once and need not show again: proofs, measured choices."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from blake3 import blake3

from vyre_driver.pipeline.entry import EntryIdentity, Kind
from vyre_driver.pipeline.store import Store

FactsT = TypeVar("FactsT")


def device_facts(device: tuple[str, ...], questions: str) -> EntryIdentity:
    """The identity of the answers of one device (see `DeviceProfile.identity`) to `questions`: a text that changes with
    whatever is asked, and with how."""
    text = repr((device, questions))
    key = blake3(b"vyre device facts" + text.encode("utf-8", "surrogateescape")).hexdigest()
    return EntryIdentity(kind=Kind.FACTS, key=key, subject=device[1], device=repr(device), text=text)


def recall(
    store: Store | None,
    identity: EntryIdentity,
    ask: Callable[[], FactsT],
    *,
    write: Callable[[FactsT], bytes],
    read: Callable[[bytes], FactsT],
) -> FactsT:
    """What `ask` gave in an earlier process, or gives now. `read` raises ValueError or LookupError for other bytes."""
    kept = None if store is None else store.get(identity)
    if store is not None and kept is not None:
        try:
            return read(kept)
        except (ValueError, LookupError, TypeError) as error:
            store.discard(identity, f"its facts can not be read: {error}")
    started = time.perf_counter_ns()
    facts = ask()
    if store is not None:
        store.put(identity, write(facts), time.perf_counter_ns() - started)
    return facts
