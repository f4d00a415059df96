"""Digests of many messages at once, one message for each invocation."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from vyre_algorithms.arguments import Array, Backend
from vyre_algorithms.launches import launch
from vyre_driver.backend.typed import refuse_missing
from vyre_driver.errors import InvalidInput
from vyre_foundation import LengthOf, Program, ProgramBuilder, Value, program, u8, u32
from vyre_foundation.build.arguments import fix_of_elements, shown
from vyre_foundation.functions import min as least, rotr

GROUP = 64
BLOCK, WORDS = 64, 16
"""Bytes and words of a block of SHA-256."""
Message: TypeAlias = bytes | bytearray | memoryview | npt.NDArray[np.uint8]


def sha256(messages: Iterable[Message], /, *, backend: Backend = None) -> Array:
    """Compute the SHA-256 digests of messages (FIPS 180-4).

    Args:
        messages: Bytes-like objects of any lengths.
        backend: As for `vyre.run`.

    Returns:
        An array of uint8 with a row of 32 for each message.

    Raises:
        InvalidInput: A message is not bytes-like.
    """
    given = bytes_of(messages)
    if not given:
        return np.zeros((0, 32), np.uint8)
    texts, lengths = padded(given, lambda n: b"\x80" + bytes(-(n + 9) % BLOCK) + (8 * n).to_bytes(8, "big"))
    words, starts = np.frombuffer(texts, ">u4").astype(np.uint32), _starts(-(-(lengths + 9) // BLOCK))
    found = launch(_sha256(), {"words": words, "starts": starts}, -(-len(given) // GROUP), backend)["digests"]
    return found.astype(">u4").view(np.uint8).reshape(-1, 32)


def crc32(messages: Iterable[Message], /, *, backend: Backend = None) -> Array:
    """Compute the CRC-32 checksums of messages, as `zlib.crc32` does.

    Args:
        messages: Bytes-like objects of any lengths.
        backend: As for `vyre.run`.

    Returns:
        An array of uint32 with an element for each message.

    Raises:
        InvalidInput: A message is not bytes-like.
    """
    given = bytes_of(messages)
    if not given:
        return np.zeros(0, np.uint32)
    texts, lengths = padded(given, lambda n: b"")
    arrays = {"text": np.frombuffer(texts or b"\0", np.uint8), "starts": _starts(lengths)}
    return launch(_crc32(), arrays, -(-len(given) // GROUP), backend)["sums"]


def bytes_of(messages: object, name: str = "messages") -> list[bytes]:
    """Messages of any iterable as bytes; refused if one is none."""
    needed, fix = "bytes-like objects", "pass a list of bytes"
    if not isinstance(messages, Iterable):
        raise InvalidInput(name, needed=needed, got=shown(messages), fix=fix)
    if isinstance(messages, (str, bytes, bytearray)):
        got, fix = type(messages).__name__, "pass it in a list"
        raise InvalidInput(name, needed=f"a list of {needed}", got=got, fix=fix)
    given = list(messages)
    if set(map(type, given)) <= {bytes}:
        return given
    for message in given:
        refuse_missing(name, message)
        if not isinstance(message, (bytes, bytearray, memoryview)) and not _is_array_of_bytes(message):
            raise InvalidInput(name, needed=needed, got=type(message).__name__, fix=fix_of_elements(message) or fix)
    return [bytes(message) for message in given]


def _is_array_of_bytes(message: object) -> bool:
    return isinstance(message, np.ndarray) and message.dtype == np.uint8 and message.ndim == 1


def padded(messages: Sequence[bytes], padding: Callable[[int], bytes]) -> tuple[bytes, npt.NDArray[np.int64]]:
    """All messages, each with the padding of its length behind it; and their lengths without it."""
    lengths = list(map(len, messages))
    of_length = {length: padding(length) for length in set(lengths)}
    parts = [b""] * (2 * len(lengths))
    parts[::2], parts[1::2] = messages, [of_length[length] for length in lengths]
    return b"".join(parts), np.array(lengths, np.int64)


def _starts(lengths: npt.NDArray[np.int64]) -> Array:
    return np.append(0, lengths.cumsum()).astype(np.uint32)


def _primes(number: int) -> list[int]:
    found: list[int] = []
    candidate = 2
    while len(found) < number:
        if all(candidate % prime for prime in found):
            found.append(candidate)
        candidate += 1
    return found


def _root_bits(value: int, degree: int) -> int:
    """The first 32 bits behind the point of a root."""
    low, high = 0, value << 32
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle**degree <= value << (32 * degree) else (low, middle - 1)
    return low & 0xFFFF_FFFF


FIRST_STATE = tuple(_root_bits(prime, 2) for prime in _primes(8))
"""The first state of SHA-256 and of BLAKE3."""


@lru_cache(maxsize=1)
def _sha256() -> Program:
    constants = [_root_bits(prime, 3) for prime in _primes(64)]
    with program("sha256", GROUP) as p:
        words, starts = p.read("words", u32), p.read("starts", u32)
        digests = p.write("digests", u32, LengthOf("starts", times=8, plus=-8))
        i = p.global_id(0)
        state = [p.var(word, u32) for word in FIRST_STATE]
        with p.range(starts[i], least(starts[i + 1], words.length // WORDS)) as block:
            message = [p.let(words[block * WORDS + n]) for n in range(WORDS)]
            mixed = _compressed(p, [word.get() for word in state], message, constants)
            for word, change in zip(state, mixed, strict=True):
                word += change
        for n, word in enumerate(state):
            digests[i * 8 + n] = word
    return p.build()


def _compressed(p: ProgramBuilder, state: Sequence[Value], block: list[Value], constants: Sequence[int]) -> list[Value]:
    a, b, c, d, e, f, g, h = state
    words = list(block)
    for n, fixed in enumerate(constants):
        if n >= WORDS:
            near, far = words[n - 2], words[n - 15]
            from_near = rotr(near, 17) ^ rotr(near, 19) ^ (near >> 10)
            from_far = rotr(far, 7) ^ rotr(far, 18) ^ (far >> 3)
            words.append(p.let(words[n - 16] + from_far + words[n - 7] + from_near))
        choice, majority = g ^ (e & (f ^ g)), (a & b) | (c & (a | b))
        one = p.let(h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + choice + fixed + words[n])
        two = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + majority
        a, b, c, d, e, f, g, h = p.let(one + two), a, b, c, p.let(d + one), e, f, g
    return [a, b, c, d, e, f, g, h]


@lru_cache(maxsize=1)
def _crc32() -> Program:
    """A step for each byte, from a table. Checksums are linear, so two of them show the step between their bytes."""
    table = [zlib.crc32(bytes([byte])) ^ zlib.crc32(b"\0") for byte in range(256)]
    with program("crc32", GROUP) as p:
        text, starts = p.read("text", u8), p.read("starts", u32)
        steps = p.constant("steps", u32, table)
        sums = p.write("sums", u32, LengthOf("starts", plus=-1))
        i = p.global_id(0)
        state = p.var(0xFFFF_FFFF, u32)
        with p.range(starts[i], least(starts[i + 1], text.length)) as k:
            state.set(steps[(state ^ text[k].cast(u32)) & 0xFF] ^ (state >> 8))
        sums[i] = ~state.get()
    return p.build()
