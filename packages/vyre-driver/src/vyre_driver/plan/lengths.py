"""Element counts of a launch, and least ones: they follow from inputs, declarations and the grid."""

from __future__ import annotations

import math
from collections.abc import Mapping

from vyre_driver.backend.lengths import (
    MAX_LENGTH as MAX_LENGTH,
    as_length,
    bind_inputs as bind_inputs,
    fixed_lengths as fixed_lengths,
    input_lengths as input_lengths,
    resolve,
)
from vyre_foundation.ir.buffer import Buffer, LengthOf, Per, PerLaunch
from vyre_foundation.ir.program import Program


def launch_lengths(
    buffers: Mapping[str, Buffer], known: Mapping[str, int], workgroups: int, invocations: int
) -> dict[str, int]:
    """The counts of all `buffers`: those in `known`, and the others by their rules for a launch of this size."""
    lengths = {name: known[name] for name in buffers if name in known}
    for name, buffer in buffers.items():
        if isinstance(buffer.count, PerLaunch) and name not in lengths:
            units = invocations if buffer.count.per is Per.INVOCATION else workgroups
            lengths[name] = as_length(buffer, buffer.count.count * units)
    resolve(buffers, lengths)
    return {name: lengths[name] for name in buffers}


def least_lengths(program: Program) -> list[int]:
    """Few bytes that each input may have, in binding order: a launch over them touches next to nothing."""
    inputs = program.inputs
    shown = max((b.output_range[1] for b in program.outputs if b.output_range is not None), default=0)
    rules = [b.count for b in program.buffers if isinstance(b.count, LengthOf)]
    taken = sum(max(0, -rule.plus) for rule in rules) * math.prod(rule.over for rule in rules)
    lengths = {b.name: shown + taken for b in inputs if not isinstance(b.count, int | LengthOf)}
    resolve({buffer.name: buffer for buffer in program.buffers}, lengths)
    return [lengths[b.name] * b.dtype.size for b in inputs]
