"""Element counts: what the inputs bring, and what follows from them by the rules of the declarations."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from vyre_driver.backend.results import Inputs, host_bytes
from vyre_driver.errors import InvalidInput
from vyre_foundation.ir.buffer import Buffer, LengthOf, Per, PerLaunch
from vyre_foundation.ir.program import Program

MAX_LENGTH = 2**32 - 1
"""Lengths are u32 in the language."""


def bind_inputs(program: Program, inputs: Inputs) -> tuple[memoryview, ...]:
    """One view of bytes for each input in binding order, checked by name. Lengths are the plan's to judge."""
    declared = program.inputs
    if len(inputs) != len(declared):
        raise wrong_number(declared, len(inputs))
    return tuple([host_bytes(buffer.name, given) for buffer, given in zip(declared, inputs, strict=True)])


def input_lengths(program: Program, byte_lengths: Sequence[int]) -> dict[str, int]:
    """The element count of every input, or `InvalidInput` naming the first buffer that does not fit."""
    inputs = program.inputs
    if len(byte_lengths) != len(inputs):
        raise wrong_number(inputs, len(byte_lengths))
    return {b.name: _elements(b, got) for b, got in zip(inputs, byte_lengths, strict=True)}


def fixed_lengths(program: Program, known: Mapping[str, int]) -> dict[str, int]:
    """`known` with every count that does not grow with the launch; inputs with a rule must follow it."""
    buffers = {buffer.name: buffer for buffer in program.buffers}
    lengths = dict(known)
    _resolve(buffers, lengths)
    for buffer in program.inputs:
        _require_rule(buffer, lengths)
    return lengths


def launch_lengths(
    buffers: Mapping[str, Buffer], known: Mapping[str, int], workgroups: int, invocations: int
) -> dict[str, int]:
    """The counts of all `buffers`: those in `known`, and the others by their rules for a launch of this size."""
    lengths = {name: known[name] for name in buffers if name in known}
    for name, buffer in buffers.items():
        if isinstance(buffer.count, PerLaunch) and name not in lengths:
            units = invocations if buffer.count.per is Per.INVOCATION else workgroups
            lengths[name] = _as_length(buffer, buffer.count.count * units)
    _resolve(buffers, lengths)
    return {name: lengths[name] for name in buffers}


def least_lengths(program: Program) -> list[int]:
    """Few bytes that each input may have, in binding order: a launch over them touches next to nothing."""
    inputs = program.inputs
    shown = max((b.output_range[1] for b in program.outputs if b.output_range is not None), default=0)
    rules = [b.count for b in program.buffers if isinstance(b.count, LengthOf)]
    taken = sum(max(0, -rule.plus) for rule in rules) * math.prod(rule.over for rule in rules)
    lengths = {b.name: shown + taken for b in inputs if not isinstance(b.count, int | LengthOf)}
    _resolve({buffer.name: buffer for buffer in program.buffers}, lengths)
    return [lengths[b.name] * b.dtype.size for b in inputs]


def wrong_number(inputs: Sequence[Buffer], got: int) -> InvalidInput:
    """The error for `got` buffers where the program has these `inputs`; it names the first that is missing."""
    names = ", ".join(b.name for b in inputs) or "none"
    first = inputs[got].name if got < len(inputs) else f"number {len(inputs)}"
    return InvalidInput(
        first,
        needed=f"{len(inputs)} inputs in binding order ({names})",
        got=f"{got} inputs",
        fix="pass one buffer for each input of the program, in binding order",
    )


def _elements(buffer: Buffer, got: int) -> int:
    size = buffer.dtype.size
    count, rest = divmod(got, size)
    if isinstance(buffer.count, int) and got != buffer.count * size:
        needed = f"{buffer.count * size} bytes ({buffer.count} elements of {buffer.dtype})"
        raise InvalidInput(buffer.name, needed=needed, got=f"{got} bytes")
    if rest:
        raise InvalidInput(buffer.name, needed=f"a multiple of {size} bytes ({buffer.dtype})", got=f"{got} bytes")
    return _as_length(buffer, count)


def _as_length(buffer: Buffer, count: int) -> int:
    if count < 0:
        assert isinstance(buffer.count, LengthOf)
        needed, fix = f"a longer {buffer.count.buffer!r}", "pass at least as many elements as the rule takes away"
        raise InvalidInput(buffer.name, needed=needed, got=f"{count} elements by the rule of its length", fix=fix)
    if count > MAX_LENGTH:
        fix = "split the dispatch, or change the rule of the length: lengths are u32"
        raise InvalidInput(buffer.name, needed=f"at most {MAX_LENGTH} elements", got=f"{count} elements", fix=fix)
    return count


def _resolve(buffers: Mapping[str, Buffer], lengths: dict[str, int]) -> None:
    """Enter every count that follows from declarations and from what is entered, whatever their order."""
    for start in buffers.values():
        chain, buffer = [], start
        while buffer.name not in lengths and isinstance(buffer.count, LengthOf):
            chain.append(buffer)
            buffer = buffers[buffer.count.buffer]
        if isinstance(buffer.count, int):
            lengths.setdefault(buffer.name, buffer.count)
        if buffer.name in lengths:
            _follow(chain, lengths)


def _follow(chain: list[Buffer], lengths: dict[str, int]) -> None:
    for buffer in reversed(chain):
        assert isinstance(buffer.count, LengthOf)
        lengths[buffer.name] = _as_length(buffer, buffer.count.resolve(lengths[buffer.count.buffer]))


def _require_rule(buffer: Buffer, lengths: dict[str, int]) -> None:
    if not isinstance(buffer.count, LengthOf):
        return
    source = buffer.count.buffer
    count = _as_length(buffer, buffer.count.resolve(lengths[source]))
    if lengths[buffer.name] != count:
        needed = f"{count} elements, as {source!r} has {lengths[source]}"
        raise InvalidInput(buffer.name, needed=needed, got=f"{lengths[buffer.name]} elements")
