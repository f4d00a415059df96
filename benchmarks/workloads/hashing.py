"""Integer hashes."""

from __future__ import annotations

import hashlib

import blake3 as the_blake3
import numpy as np
import programs
from programs.data import U32
from programs.hashing import CHUNK_WORDS, SHA_WORDS
from programs.sizes import GROUP, ROUNDS

from vyre_foundation import Program
from workloads.work import Array, Launch, Work, Workload

SHA_OPERATIONS = 2 * (64 * 27 + 48 * 16)
"""Of a message of one block, which needs a second one for its padding: adds, shifts, rotates and logic."""
BLAKE_OPERATIONS = 16 * (7 * 8 * 14 + 8)
"""Of a chunk."""


def hash_chain(n: int) -> Work:
    x = programs.words(n)
    return Work(
        program=programs.hash_chain(),
        grid=(n // GROUP, 1, 1),
        inputs={"x": x},
        wanted=hashed(x),
        amount=n * ROUNDS,
        bytes=8 * n,
        operations=4 * n * ROUNDS,
        sizes=(n, ROUNDS),
        launches=(Launch("hash_chain", (n // GROUP,), (GROUP,)),),
        defines={"ROUNDS": ROUNDS},
    )


def hashed(x: U32) -> U32:
    h = x.copy()
    for n in range(ROUNDS):
        h ^= np.uint32(0x9E3779B9 + n)
        h = (h << np.uint32(13)) | (h >> np.uint32(19))
        h *= np.uint32(5)
        h += np.uint32(0xE6546B64)
    return h


def sha256(n: int) -> Work:
    message = programs.words(n * SHA_WORDS)
    rows = message.astype(">u4").tobytes()
    size = 4 * SHA_WORDS
    digests = b"".join(hashlib.sha256(rows[i : i + size]).digest() for i in range(0, len(rows), size))
    wanted = np.frombuffer(digests, ">u4").astype(np.uint32)
    return _digests(programs.sha256(), "sha256", message, wanted, SHA_OPERATIONS * n, n)


def blake3(n: int) -> Work:
    message = programs.words(n * CHUNK_WORDS)
    rows, size = message.tobytes(), 4 * CHUNK_WORDS
    digests = b"".join(the_blake3.blake3(rows[i : i + size]).digest() for i in range(0, len(rows), size))
    return _digests(programs.blake3(), "blake3", message, np.frombuffer(digests, np.uint32), BLAKE_OPERATIONS * n, n)


def _digests(program: Program, name: str, message: Array, wanted: Array, operations: float, n: int) -> Work:
    return Work(
        program=program,
        grid=(n // GROUP, 1, 1),
        inputs={"message": message},
        wanted=wanted,
        amount=message.nbytes,
        bytes=message.nbytes + wanted.nbytes,
        operations=operations,
        sizes=(n,),
        launches=(Launch(name, (n // GROUP,), (GROUP,)),),
    )


WORKLOADS = {
    "hash chain": Workload(domain="hashing", unit="Ground/s", size=2**24, toy=GROUP, make=hash_chain),
    "sha256": Workload(domain="hashing", unit="GB/s", size=2**18, toy=GROUP, make=sha256),
    "blake3": Workload(domain="hashing", unit="GB/s", size=2**15, toy=GROUP, make=blake3),
}
