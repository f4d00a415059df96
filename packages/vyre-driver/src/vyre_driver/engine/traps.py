"""Reading the trap sidecar: one u64 for each trap statement, all ones where none ran."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from vyre_driver.errors import Trapped

QUIET = 2**64 - 1


def raise_trap(tags: Sequence[str], sidecar: memoryview, where: str) -> None:
    """Raise `Trapped` for the lowest (invocation, statement, code) that is recorded, if there is any.

    A record is ``invocation << 32 | code``; `tags` are those of the statements in program order.
    """
    records = struct.unpack(f"<{len(tags)}Q", sidecar)
    trapped = [(r >> 32, statement, r & 0xFFFFFFFF) for statement, r in enumerate(records) if r != QUIET]
    if trapped:
        invocation, statement, code = min(trapped)
        raise Trapped(tags[statement], code, invocation, where=where)
