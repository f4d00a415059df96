"""Reductions of segments. In a graph the starts of segments may be known only at its launch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from vyre_algorithms.arguments import Array, Backend
from vyre_algorithms.launches import counted_up, launch, runs_loops
from vyre_algorithms.scans import scan
from vyre_algorithms.search import places_in
from vyre_algorithms.tree import (
    BLOCK,
    COLUMNS,
    IN_VARIABLES,
    Reduction,
    SequenceLayout,
    block_program,
    segment_program,
)
from vyre_foundation import Program, program, u32
from vyre_foundation.functions import max as greatest, min as least

GROUP = 64


def reduce_segments(
    reduction: Reduction, arrays: Sequence[Array], starts: Array, longest: int, backend: Backend
) -> list[Array]:
    """The state of each segment, an array for each value of the state; empty segments have the identity.

    Args:
        reduction: What is combined.
        arrays: Its sources, of one length.
        starts: Where each segment begins, and the end of the last behind them, as u32, in the memory of the sources.
        longest: A number of elements that no segment exceeds.
        backend: As for `vyre.run`.
    """
    found = list(arrays)
    while longest > BLOCK:
        offsets = scan(
            _launch(_blocks(), {"starts": starts}, backend)["blocks"], exclusive=True, dtype=u32, backend=backend
        )
        most = found[0].size // BLOCK + starts.size - 1
        numbers = counted_up(most)
        given = {"starts": starts, "offsets": offsets, "behind": places_in(offsets, numbers, True, backend)}
        found = _of_blocks(reduction, found, _launch(_bounds(), given, backend, most), backend)
        starts, longest, reduction = offsets, -(-longest // BLOCK), reduction.of_states
    return _of_blocks(reduction, found, {"first": starts[:-1], "last": starts[1:]}, backend)


def _of_blocks(
    reduction: Reduction, arrays: Sequence[Array], bounds: dict[str, Array], backend: Backend
) -> list[Array]:
    given = {**dict(zip(reduction.names, arrays, strict=True)), **bounds}
    number = bounds["first"].size
    if arrays[0].size <= IN_VARIABLES * number and runs_loops([*arrays, *bounds.values()], backend):
        return list(launch(segment_program(reduction), given, -(-number // COLUMNS), backend).values())
    return list(launch(block_program(reduction, SequenceLayout.SEGMENTS), given, number, backend).values())


def _launch(program: Program, arrays: dict[str, Array], backend: Backend, size: int | None = None) -> dict[str, Array]:
    number = next(iter(arrays.values())).size if size is None else size
    return launch(program, arrays, -(-number // GROUP), backend)


@lru_cache(maxsize=1)
def _blocks() -> Program:
    """The number of blocks of each segment, at least one; 0 behind the last."""
    with program("segment_blocks", GROUP) as p:
        starts = p.read("starts", u32)
        blocks = p.write("blocks", u32, like=starts)
        i = p.global_id(0)
        with p.if_(i + 1 < starts.length):
            blocks[i] = greatest((starts[i + 1] - starts[i] + (BLOCK - 1)) // BLOCK, 1)
    return p.build()


@lru_cache(maxsize=1)
def _bounds() -> Program:
    """The elements of each block; `behind` is one more than the segment. Blocks behind the last have none."""
    with program("segment_bounds", GROUP) as p:
        starts, offsets, behind = p.read("starts", u32), p.read("offsets", u32), p.read("behind", u32)
        first, last = p.write("first", u32, like=behind), p.write("last", u32, like=behind)
        i = p.global_id(0)
        segment = p.let(behind[i] - 1)
        with p.if_(i < offsets[offsets.length - 1]):
            begin = p.let(starts[segment] + (i - offsets[segment]) * BLOCK)
            first[i] = begin
            last[i] = least(begin + BLOCK, starts[segment + 1])
    return p.build()
