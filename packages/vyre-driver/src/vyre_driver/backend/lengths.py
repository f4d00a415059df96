"""The lengths of inputs, and the lengths of other buffers that follow from them by the rules of declarations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vyre_driver.backend.results import Inputs, host_bytes
from vyre_driver.errors import InvalidInput
from vyre_foundation.ir.buffer import Buffer, LengthOf, Memory
from vyre_foundation.ir.program import Program
from vyre_foundation.validate.limits import MAX_BYTES

MAX_LENGTH = 2**32 - 1
"""The largest length, which is a u32 in the language."""
ONE_NUMBER = "pass a number, or one element of the array"


def bind_inputs(program: Program, inputs: Inputs) -> tuple[memoryview, ...]:
    """Return the bytes of each input in binding order. Their number is checked, their lengths are not.

    Raises:
        InvalidInput: The number of inputs is wrong, or one is not contiguous memory.
    """
    declared = program.inputs
    if len(inputs) != len(declared):
        raise wrong_number(declared, len(inputs))
    return tuple([host_bytes(buffer.name, given) for buffer, given in zip(declared, inputs, strict=True)])


def input_lengths(program: Program, byte_lengths: Sequence[int]) -> dict[str, int]:
    """Return the number of elements of every input by name.

    Raises:
        InvalidInput: The number of inputs, or the size of one, which the error names, is wrong.
    """
    inputs = program.inputs
    if len(byte_lengths) != len(inputs):
        raise wrong_number(inputs, len(byte_lengths))
    return {b.name: _elements(b, got) for b, got in zip(inputs, byte_lengths, strict=True)}


def fixed_lengths(program: Program, known: Mapping[str, int]) -> dict[str, int]:
    """Return `known` with all lengths that do not depend on the launch.

    Raises:
        InvalidInput: The length of an input contradicts its rule.
    """
    buffers = {buffer.name: buffer for buffer in program.buffers}
    lengths = dict(known)
    resolve(buffers, lengths)
    for buffer in program.inputs:
        _require_rule(buffer, lengths)
    return lengths


def resolve(buffers: Mapping[str, Buffer], lengths: dict[str, int]) -> None:
    """Add all lengths to `lengths` that follow from declarations and from known lengths, in any order."""
    for start in buffers.values():
        chain, buffer = [], start
        while buffer.name not in lengths and isinstance(buffer.count, LengthOf):
            chain.append(buffer)
            buffer = buffers[buffer.count.buffer]
        if isinstance(buffer.count, int):
            lengths.setdefault(buffer.name, buffer.count)
        if buffer.name in lengths:
            _follow(chain, lengths)


def wrong_number(inputs: Sequence[Buffer], got: int) -> InvalidInput:
    """Return the error for `got` buffers for these `inputs`. It names the first missing input."""
    names = ", ".join(b.name for b in inputs) or "none"
    first = inputs[got].name if got < len(inputs) else f"number {len(inputs)}"
    return InvalidInput(
        first,
        needed=f"{len(inputs)} inputs in binding order ({names})",
        got=f"{got} inputs",
        fix="pass one buffer for each input of the program, in binding order",
    )


def as_length(buffer: Buffer, count: int) -> int:
    """Return `count`, or raise `InvalidInput` if it is not a valid length of `buffer`."""
    if count < 0:
        assert isinstance(buffer.count, LengthOf)
        needed, fix = f"a longer {buffer.count.buffer!r}", "pass at least as many elements as the rule takes away"
        raise InvalidInput(buffer.name, needed=needed, got=f"{count} elements by the rule of its length", fix=fix)
    if buffer.memory is Memory.UNIFORM and count * buffer.dtype.size > MAX_BYTES[Memory.UNIFORM]:
        needed, got = f"at most {MAX_BYTES[Memory.UNIFORM]} bytes in a uniform", f"{count * buffer.dtype.size} bytes"
        raise InvalidInput(buffer.name, needed=needed, got=got, fix="declare a buffer that is read, or pass fewer")
    if count > MAX_LENGTH:
        fix = "split the dispatch, or change the rule of the length: lengths are u32"
        raise InvalidInput(buffer.name, needed=f"at most {MAX_LENGTH} elements", got=f"{count} elements", fix=fix)
    return count


def is_number(buffer: Buffer) -> bool:
    """Return whether a caller may pass a number: whether it is a uniform of one element."""
    return buffer.memory is Memory.UNIFORM and buffer.count == 1


def _elements(buffer: Buffer, got: int) -> int:
    size = buffer.dtype.size
    count, rest = divmod(got, size)
    if is_number(buffer) and got != size:
        found = f"{got} bytes" if rest else f"{count} elements"
        raise InvalidInput(buffer.name, needed=f"a number of {buffer.dtype}", got=found, fix=ONE_NUMBER)
    if isinstance(buffer.count, int) and got != buffer.count * size:
        needed = f"{buffer.count * size} bytes ({buffer.count} elements of {buffer.dtype})"
        raise InvalidInput(buffer.name, needed=needed, got=f"{got} bytes")
    if rest:
        raise InvalidInput(buffer.name, needed=f"a multiple of {size} bytes ({buffer.dtype})", got=f"{got} bytes")
    return as_length(buffer, count)


def _follow(chain: list[Buffer], lengths: dict[str, int]) -> None:
    for buffer in reversed(chain):
        assert isinstance(buffer.count, LengthOf)
        lengths[buffer.name] = as_length(buffer, buffer.count.resolve(lengths[buffer.count.buffer]))


def _require_rule(buffer: Buffer, lengths: dict[str, int]) -> None:
    if not isinstance(buffer.count, LengthOf):
        return
    source = buffer.count.buffer
    count = as_length(buffer, buffer.count.resolve(lengths[source]))
    if lengths[buffer.name] != count:
        needed = f"{count} elements, as {source!r} has {lengths[source]}"
        raise InvalidInput(buffer.name, needed=needed, got=f"{lengths[buffer.name]} elements")
