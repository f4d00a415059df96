"""What legalization may use on one CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vyre_driver.legalization.target import Groups, Target
from vyre_driver_cpu import codegen
from vyre_driver_cpu.spelling import Spellings
from vyre_foundation.dtype import bool_
from vyre_foundation.passes import Pass

if TYPE_CHECKING:
    from vyre_driver.legalization.context import Context


def passes_of(stream_bits: int) -> tuple[Pass[Context], ...]:
    """What comes behind legalization, for vectors of a size in loops that memory limits."""
    return (
        Pass("unswitch-loops", "Evaluate uniform conditions before a loop over invocations",
             lambda p, c: codegen.unswitch_loops(p)),
        Pass("write-out-rows", "Write out short loops along rows", lambda p, c: codegen.write_out_rows(p)),
        Pass("jam-lookups", "Run a few invocations together that look up small elements",
             lambda p, c: codegen.jam_lookups(p)),
        Pass("follow-versions", "Write what comes behind a region in two versions behind each of them",
             lambda p, c: codegen.follow_versions(p, stream_bits)),
    )  # fmt: skip


def target_of(name: str, spellings: Spellings) -> Target:
    """Everything that is spelled, and nothing else; workgroups are loops, of which LLVM makes vectors."""
    return Target(
        name=name,
        ops=frozenset(spellings.ops),
        memory=spellings.arithmetic - {bool_},
        arithmetic=spellings.arithmetic,
        casts=frozenset(spellings.casts),
        bitcasts=frozenset(spellings.bitcasts),
        atomics=frozenset(spellings.atomics),
        groups=Groups.LOOPS,
        wide_indices=True,
        loop_versioning=True,
        functions=True,
        masks=True,
        masked_memory=spellings.masked_memory,
        passes=passes_of(spellings.stream_bits),
    )
