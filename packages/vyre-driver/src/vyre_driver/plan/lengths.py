"""Element counts: what the inputs bring, and what follows from them by the rules of the declarations."""

from __future__ import annotations

from collections.abc import Sequence

from vyre_driver.errors import InvalidInput, InvalidLaunch
from vyre_foundation.ir.buffer import Buffer, LengthOf, Per, PerLaunch
from vyre_foundation.ir.program import Program

MAX_LENGTH = 2**32 - 1
"""Lengths are u32 in the language."""


def input_lengths(program: Program, byte_lengths: Sequence[int]) -> dict[str, int]:
    """The element count of every input, or `InvalidInput` naming the first buffer that does not fit."""
    inputs = program.inputs
    if len(byte_lengths) != len(inputs):
        raise _wrong_number(inputs, len(byte_lengths))
    return {b.name: _elements(b, got) for b, got in zip(inputs, byte_lengths, strict=True)}


def fixed_lengths(program: Program, known: dict[str, int]) -> dict[str, int]:
    """`known` with every count that does not grow with the launch; inputs with a rule must follow it."""
    lengths = dict(known)
    for buffer in program.buffers:
        _resolve(program, buffer, lengths)
    for buffer in (*program.inputs, *program.outputs):
        _require_known(buffer, lengths)
    for buffer in program.inputs:
        _require_rule(buffer, lengths)
    return lengths


def launch_lengths(program: Program, lengths: dict[str, int], workgroups: int) -> dict[str, int]:
    """All counts: `lengths` with those that grow with the number of workgroups, in the program's order of buffers."""
    complete = dict(lengths)
    for buffer in program.buffers:
        if isinstance(buffer.count, PerLaunch):
            unit = program.workgroup_volume if buffer.count.per is Per.INVOCATION else 1
            complete[buffer.name] = _as_length(buffer, buffer.count.count * workgroups * unit)
    for buffer in program.buffers:
        _resolve(program, buffer, complete)
    return {buffer.name: complete[buffer.name] for buffer in program.buffers}


def _wrong_number(inputs: Sequence[Buffer], got: int) -> InvalidInput:
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
    if count > MAX_LENGTH:
        fix = "split the dispatch: lengths are u32"
        raise InvalidInput(buffer.name, needed=f"at most {MAX_LENGTH} elements", got=f"{count} elements", fix=fix)
    return count


def _resolve(program: Program, buffer: Buffer, lengths: dict[str, int]) -> None:
    """Enter the count of `buffer`, and of those that it follows from, where they do not wait for the launch."""
    chain: list[Buffer] = []
    while buffer.name not in lengths and isinstance(buffer.count, LengthOf) and len(chain) <= len(program.buffers):
        chain.append(buffer)
        buffer = program.buffer(buffer.count.buffer)
    if isinstance(buffer.count, int):
        lengths.setdefault(buffer.name, buffer.count)
    if buffer.name not in lengths:
        return
    for follower in reversed(chain):
        assert isinstance(follower.count, LengthOf)
        count = follower.count.resolve(lengths[follower.count.buffer])
        lengths[follower.name] = _as_length(follower, count)


def _require_known(buffer: Buffer, lengths: dict[str, int]) -> None:
    """The host cannot bind a buffer whose length only the grid decides."""
    if buffer.name not in lengths:
        needed = "a length that follows from the inputs"
        got = f"{buffer.count}, which waits for the launch"
        raise InvalidLaunch(f"buffer {buffer.name!r}", needed=needed, got=got, fix="declare it with another rule")


def _require_rule(buffer: Buffer, lengths: dict[str, int]) -> None:
    if not isinstance(buffer.count, LengthOf):
        return
    source = buffer.count.buffer
    count = _as_length(buffer, buffer.count.resolve(lengths[source]))
    if lengths[buffer.name] != count:
        needed = f"{count} elements, as {source!r} has {lengths[source]}"
        raise InvalidInput(buffer.name, needed=needed, got=f"{lengths[buffer.name]} elements")
