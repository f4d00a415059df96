"""SHA-256 of every file, one invocation a file (FIPS 180-4), compared with hashlib."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np

from vyre.demo.corpus import Corpus
from vyre.demo.job import Array, Job
from vyre_driver import DispatchConfig
from vyre_foundation import LengthOf, Program, Value, program, select, u8, u32
from vyre_foundation.functions import min as least, rotr


def primes(count: int) -> list[int]:
    """Give the first primes, from which SHA-256 takes its constants."""
    found: list[int] = []
    candidate = 2
    while len(found) < count:
        if all(candidate % p for p in found):
            found.append(candidate)
        candidate += 1
    return found


def root_fraction_bits(number: int, degree: int) -> int:
    """The first 32 bits of the fraction of the `degree`-th root of `number`: the constants of FIPS 180-4."""
    target = number << (32 * degree)
    low, high = 0, 1 << 40
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= target else (low, middle)
    return low & 0xFFFF_FFFF


ROUND_CONSTANTS = [root_fraction_bits(p, 3) for p in primes(64)]
INITIAL_HASH = [root_fraction_bits(p, 2) for p in primes(8)]


def sha256_program() -> Program:
    """`data` holds the files, `start` and `size` say where in bytes; `digest` gets eight words a file."""
    with program("sha256", workgroup_size=64) as p:
        data = p.read("data", u8)
        starts, sizes = p.read("start", u32), p.read("size", u32)
        digest = p.write("digest", u32, LengthOf("start", times=8))
        constants = p.constant("round_constants", u32, ROUND_CONSTANTS)
        schedule = p.private("schedule", u32, 64)

        file = p.global_id(0)
        with p.if_(file < starts.length):
            start, size = p.let(starts[file]), p.let(sizes[file])
            hash_ = [p.var(h, u32, "h") for h in INITIAL_HASH]

            def padded_byte(position: Value) -> Value:
                """The message, then 0x80, then zeros; the length in bits follows in the last two words."""
                inside = position < size
                byte = data[start + least(position, size)].cast(u32)
                return select(inside, byte, (position == size).cast(u32) << 7)

            with p.range(0, (size + 8) // 64 + 1, name="block") as block:
                with p.range(0, 16, name="word") as word:
                    at = p.let(block * 64 + word * 4)
                    bytes_ = [padded_byte(at + k) for k in range(4)]
                    big_endian = bytes_[0] << 24 | bytes_[1] << 16 | bytes_[2] << 8 | bytes_[3]
                    last = block == (size + 8) // 64
                    high = select(last & (word == 14), size >> 29, big_endian)
                    schedule[word] = select(last & (word == 15), size << 3, high)
                with p.range(16, 64, name="word") as word:
                    w15, w2 = p.let(schedule[word - 15]), p.let(schedule[word - 2])
                    s0 = rotr(w15, 7) ^ rotr(w15, 18) ^ w15 >> 3
                    s1 = rotr(w2, 17) ^ rotr(w2, 19) ^ w2 >> 10
                    schedule[word] = schedule[word - 16] + s0 + schedule[word - 7] + s1

                state = [p.var(h.get(), name=letter) for letter, h in zip("abcdefgh", hash_, strict=True)]
                with p.range(0, 64, name="round") as round_:
                    a, b, c, d, e, f, g, h = (p.let(v.get()) for v in state)
                    choice = e & f ^ ~e & g
                    majority = a & b ^ a & c ^ b & c
                    sum1 = rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)
                    sum0 = rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)
                    t1 = p.let(h + sum1 + choice + constants[round_] + schedule[round_])
                    for variable, value in zip(state, (t1 + sum0 + majority, a, b, c, d + t1, e, f, g), strict=True):
                        variable.set(value)
                for h_, v in zip(hash_, state, strict=True):
                    h_.set(h_ + v)

            for k, h_ in enumerate(hash_):
                digest[file * 8 + k] = h_
    return p.build()


def job(corpus: Corpus) -> Job:
    """Compute the SHA-256 of every text of a corpus, one invocation for each."""
    sizes = np.array([len(c) for c in corpus.contents], np.uint32)
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.uint32)
    data = np.frombuffer(b"".join(corpus.contents), np.uint8)

    def oracle() -> Mapping[str, Array]:
        digests = b"".join(hashlib.sha256(c).digest() for c in corpus.contents)
        return {"digest": np.frombuffer(digests, ">u4").astype(np.uint32)}

    return Job(
        name="SHA-256 of files",
        program=sha256_program(),
        inputs={"data": data, "start": starts, "size": sizes},
        oracle_name="hashlib",
        oracle=oracle,
        config=DispatchConfig(label="sha256", grid_override=(-(-len(sizes) // 64), 1, 1)),
    )
