"""BLAKE3 of many messages: an invocation for each chunk of 1024 bytes, then one for each pair of nodes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from vyre_algorithms.arguments import Array, Backend
from vyre_algorithms.digest import FIRST_STATE, Message, bytes_of, padded
from vyre_algorithms.launches import launch
from vyre_foundation import LengthOf, Program, ProgramBuilder, Value, constant, program, select, u32
from vyre_foundation.functions import min as least, rotr

GROUP = 64
BLOCK, CHUNK, WORDS = 64, 1024, 16
MIXED = 7
"""How often a block is mixed into the state."""
ORDER = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
"""Where each word of a block comes from when it is mixed again."""
CHUNK_START, CHUNK_END, PARENT, ROOT = 1, 2, 4, 8
QUARTERS = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15))
DIAGONALS = ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))


def blake3(messages: Iterable[Message], /, *, backend: Backend = None) -> Array:
    """Compute the BLAKE3 digests of messages.

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
    texts, lengths = padded(given, lambda n: bytes(-n % BLOCK if n else BLOCK))
    counts = np.maximum(1, -(-lengths // CHUNK))
    blocks = np.maximum(1, -(-lengths // BLOCK))
    number = _numbers(counts)
    chunks = {
        "words": np.frombuffer(texts, "<u4").astype(np.uint32, copy=False),
        "first": (np.repeat(np.cumsum(blocks) - blocks, counts) + number * (CHUNK // BLOCK)).astype(np.uint32),
        "sizes": np.minimum(CHUNK, np.repeat(lengths, counts) - number * CHUNK).astype(np.uint32),
        "numbers": number.astype(np.uint32),
        "roots": np.repeat(np.where(counts == 1, ROOT, 0), counts).astype(np.uint32),
    }
    nodes = launch(_chunks(), chunks, -(-number.size // GROUP), backend)["nodes"]
    while (counts > 1).any():
        above = -(-counts // 2)
        place = _numbers(above)
        pairs = {
            "children": nodes,
            "left": (np.repeat(np.cumsum(counts) - counts, above) + 2 * place).astype(np.uint32),
            "is_pair": (2 * place + 1 < np.repeat(counts, above)).astype(np.uint32),
            "roots": np.repeat(np.where(counts == 2, ROOT, 0), above).astype(np.uint32),
        }
        nodes = launch(_parents(), pairs, -(-place.size // GROUP), backend)["nodes"]
        counts = above
    return nodes.astype("<u4", copy=False).view(np.uint8).reshape(-1, 32)


def _numbers(counts: Array) -> Array:
    """0, 1, … for each of some numbers of elements."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


@lru_cache(maxsize=1)
def _chunks() -> Program:
    """The chaining value of each chunk, whose bytes behind the end of the message are zeros."""
    with program("blake3_chunks", GROUP) as p:
        words, first, sizes = p.read("words", u32), p.read("first", u32), p.read("sizes", u32)
        numbers, roots = p.read("numbers", u32), p.read("roots", u32)
        nodes = p.write("nodes", u32, LengthOf("first", times=8))
        i = p.global_id(0)
        size, begin = p.let(sizes[i]), p.let(first[i])
        last = p.let(least((select(size == 0, constant(u32, 1), size) - 1) // BLOCK, constant(u32, CHUNK // BLOCK - 1)))
        chain = [p.var(word, u32) for word in FIRST_STATE]
        with p.if_(i < first.length):
            with p.range(0, last + 1) as block:
                begins = select(block == 0, constant(u32, CHUNK_START), constant(u32, 0))
                ends = select(block == last, roots[i] | CHUNK_END, constant(u32, 0))
                message = [p.let(words[(begin + block) * WORDS + n]) for n in range(WORDS)]
                length = p.let(least(size - block * BLOCK, constant(u32, BLOCK)))
                state = [word.get() for word in chain]
                found = _compressed(p, state, message, p.let(numbers[i]), length, p.let(begins | ends))
                for word, value in zip(chain, found, strict=True):
                    word.set(value)
            for n, word in enumerate(chain):
                nodes[i * 8 + n] = word
    return p.build()


@lru_cache(maxsize=1)
def _parents() -> Program:
    """The nodes of a level of the trees, from those below; the last one without a neighbour stays."""
    with program("blake3_parents", GROUP) as p:
        children, left = p.read("children", u32), p.read("left", u32)
        is_pair, roots = p.read("is_pair", u32), p.read("roots", u32)
        nodes = p.write("nodes", u32, LengthOf("left", times=8))
        i = p.global_id(0)
        with p.if_(i < left.length):
            message = [p.let(children[left[i] * 8 + n]) for n in range(WORDS)]
            with p.if_(is_pair[i] != 0):
                state = [constant(u32, word) for word in FIRST_STATE]
                zero, flags = constant(u32, 0), p.let(roots[i] | PARENT)
                for n, word in enumerate(_compressed(p, state, message, zero, constant(u32, BLOCK), flags)):
                    nodes[i * 8 + n] = word
            with p.else_():
                for n, word in enumerate(message[:8]):
                    nodes[i * 8 + n] = word
    return p.build()


def _compressed(
    p: ProgramBuilder, chain: Sequence[Value], block: Sequence[Value], number: Value, length: Value, flags: Value
) -> list[Value]:
    """The chaining value after a block. Chunks are numbered below 2**32."""
    v = [*chain, *(constant(u32, word) for word in FIRST_STATE[:4]), number, constant(u32, 0), length, flags]
    words = list(block)
    for _ in range(MIXED):
        for place, (a, b, c, d) in enumerate((*QUARTERS, *DIAGONALS)):
            for word, by_d, by_b in ((words[2 * place], 16, 12), (words[2 * place + 1], 8, 7)):
                v[a] = p.let(v[a] + v[b] + word)
                v[d] = p.let(rotr(v[d] ^ v[a], by_d))
                v[c] = p.let(v[c] + v[d])
                v[b] = p.let(rotr(v[b] ^ v[c], by_b))
        words = [words[n] for n in ORDER]
    return [p.let(low ^ high) for low, high in zip(v[:8], v[8:], strict=True)]
