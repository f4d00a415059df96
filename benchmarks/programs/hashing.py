"""Integer hashes: a chain of rounds over each word, SHA-256 of short messages, BLAKE3 of chunks."""

from __future__ import annotations

from collections.abc import Sequence

from programs.sizes import GROUP, ROUNDS
from vyre_foundation import LengthOf, Mutable, Program, ProgramBuilder, Value, constant, program, select, u32
from vyre_foundation.functions import rotl, rotr


def hash_chain() -> Program:
    with program("hash_chain", GROUP) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        h = p.var(x[p.global_id(0)])
        with p.range(0, ROUNDS) as n:
            h.set(rotl(h ^ (n + 0x9E3779B9), 13) * 5 + 0xE6546B64)
        out[p.global_id(0)] = h
    return p.build()


# ── SHA-256 ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _primes(count: int) -> list[int]:
    found: list[int] = []
    candidate = 2
    while len(found) < count:
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
    return low & 0xFFFFFFFF


SHA_START = tuple(_root_bits(prime, 2) for prime in _primes(8))
SHA_ROUNDS = tuple(_root_bits(prime, 3) for prime in _primes(64))
SHA_WORDS = 16
"""Words of a message, and of a block."""
SHA_PADDING = (0x80000000, *(0 for _ in range(14)), 32 * SHA_WORDS)
"""The block behind a message of one block."""


def sha256() -> Program:
    """The digest of one message of 16 words for each invocation, as in the inner nodes of a tree of hashes.

    Words are those of the standard: the first byte is the highest.
    """
    with program("sha256", GROUP) as p:
        message = p.read("message", u32)
        digest = p.write("digest", u32, LengthOf("message", over=2))
        i = p.let(p.global_id(0))
        state = _literals(SHA_START)
        for block in [message[i * SHA_WORDS + n] for n in range(SHA_WORDS)], _literals(SHA_PADDING):
            state = [before + mixed for before, mixed in zip(state, _sha_rounds(p, state, block), strict=True)]
        for n, word in enumerate(state):
            digest[i * len(state) + n] = word
    return p.build()


def _sha_rounds(p: ProgramBuilder, state: Sequence[Value], block: Sequence[Value]) -> Sequence[Value]:
    a, b, c, d, e, f, g, h = state
    words = list(block)
    for n, fixed in enumerate(SHA_ROUNDS):
        if n >= SHA_WORDS:
            near, far = words[n - 2], words[n - 15]
            from_near = rotr(near, 17) ^ rotr(near, 19) ^ (near >> 10)
            from_far = rotr(far, 7) ^ rotr(far, 18) ^ (far >> 3)
            words.append(p.let(words[n - 16] + from_far + words[n - 7] + from_near))
        choice, majority = g ^ (e & (f ^ g)), (a & b) | (c & (a | b))
        one = p.let(h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + choice + fixed + words[n])
        two = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + majority
        a, b, c, d, e, f, g, h = p.let(one + two), a, b, c, p.let(d + one), e, f, g
    return a, b, c, d, e, f, g, h


def _literals(words: Sequence[int]) -> list[Value]:
    return [constant(u32, word) for word in words]


# ── BLAKE3 ───────────────────────────────────────────────────────────────────────────────────────────────────────────

CHUNK_WORDS, BLOCK_WORDS, BLOCK_BYTES = 256, 16, 64
BLAKE_ROUNDS = 7
BLAKE_ORDER = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
"""Where each word of a block comes from in the next round."""
CHUNK_START, CHUNK_END_AND_ROOT = 1, 2 | 8


def blake3() -> Program:
    """The digest of one message of a whole chunk, 1 KiB, for each invocation."""
    with program("blake3", GROUP) as p:
        message = p.read("message", u32)
        digest = p.write("digest", u32, LengthOf("message", times=8, over=CHUNK_WORDS))
        i = p.let(p.global_id(0))
        chain = [p.var(word, u32) for word in SHA_START]
        last = CHUNK_WORDS // BLOCK_WORDS - 1
        with p.range(0, last + 1) as block:
            first = p.let(i * CHUNK_WORDS + block * BLOCK_WORDS)
            flags = select(block == 0, constant(u32, CHUNK_START), select(block == last, CHUNK_END_AND_ROOT, block & 0))
            words = [message[first + n] for n in range(BLOCK_WORDS)]
            for word, mixed in zip(chain, _blake_block(p, chain, words, flags), strict=True):
                word.set(mixed)
        for n, word in enumerate(chain):
            digest[i * len(chain) + n] = word
    return p.build()


def _blake_block(p: ProgramBuilder, chain: Sequence[Mutable], words: Sequence[Value], flags: Value) -> list[Value]:
    counter_and_size = _literals((0, 0, BLOCK_BYTES))
    v = [*(word.get() for word in chain), *_literals(SHA_START[:4]), *counter_and_size, flags]
    for _ in range(BLAKE_ROUNDS):
        for column in range(4):
            _blake_mix(p, v, *range(column, 16, 4), *words[2 * column : 2 * column + 2])
        for n in range(4):
            diagonal = (n, 4 + (n + 1) % 4, 8 + (n + 2) % 4, 12 + (n + 3) % 4)
            _blake_mix(p, v, *diagonal, *words[8 + 2 * n : 8 + 2 * n + 2])
        words = [words[source] for source in BLAKE_ORDER]
    return [v[n] ^ v[n + 8] for n in range(8)]


def _blake_mix(p: ProgramBuilder, v: list[Value], a: int, b: int, c: int, d: int, x: Value, y: Value) -> None:
    for word, far, near in ((x, 16, 12), (y, 8, 7)):
        v[a] = p.let(v[a] + v[b] + word)
        v[d] = p.let(rotr(v[d] ^ v[a], far))
        v[c] = p.let(v[c] + v[d])
        v[b] = p.let(rotr(v[b] ^ v[c], near))
