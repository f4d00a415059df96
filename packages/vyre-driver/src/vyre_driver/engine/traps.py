"""Reading the trap sidecar: one u64 for each trap statement, all ones where none ran."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from vyre_driver.errors import Trapped
from vyre_foundation.ir.origin import Origin
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Trap

QUIET = 2**64 - 1


def raise_trap(tags: Sequence[str], sidecar: memoryview, program: Program) -> None:
    """Raise `Trapped` for the lowest (invocation, statement, code) that is recorded, if there is any.

    A record is ``invocation << 32 | code``; `tags` are those of the lowered statements in program order. Lowering may
    have copied and removed statements of `program`, the source, so its lines are found by the tag.
    """
    records = struct.unpack(f"<{len(tags)}Q", sidecar)
    trapped = [(r >> 32, statement, r & 0xFFFFFFFF) for statement, r in enumerate(records) if r != QUIET]
    if trapped:
        invocation, statement, code = min(trapped)
        tag = tags[statement]
        raise Trapped(tag, code, invocation, origins=_origins(program, tag), where=f"program {program.name!r}")


def _origins(program: Program, tag: str) -> tuple[Origin, ...]:
    """The lines that wrote the traps with this tag."""
    origins = program.origins
    if origins is None:
        return ()
    numbered = enumerate(program.statements)
    lines = [origins.statement(number) for number, stmt in numbered if isinstance(stmt, Trap) and stmt.tag == tag]
    return tuple(dict.fromkeys(lines))
