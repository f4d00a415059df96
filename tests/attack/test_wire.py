"""Hostile bytes for the decoder: it gives a program or a typed error, and a program decodes from one sequence alone."""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Iterator

import pytest
from blake3 import blake3

from vyre_foundation.errors import VyreError
from vyre_foundation.testing import DEFAULT, generate
from vyre_foundation.wire import decode, encode
from vyre_foundation.wire.errors import WireError
from vyre_foundation.wire.format import HEADER_SIZE, MAGIC, VERSION

SECONDS_A_BYTE = 1e-3
"""Far above what decoding takes: about 1 µs a byte."""


def seal(payload: bytes) -> bytes:
    """A payload behind a header with its digest."""
    return MAGIC + struct.pack("<H", VERSION) + blake3(payload).digest() + payload


def blobs(seed: int, count: int) -> Iterator[bytes]:
    """Encoded programs of the generator."""
    for number in range(count):
        yield encode(generate(seed * 1_000_003 + number, DEFAULT).program)


def mutated(rng: random.Random, blob: bytes, other: bytes) -> bytes:
    """One of a few kinds of damage."""
    data = bytearray(blob)
    match rng.randrange(7):
        case 0:
            for _ in range(rng.randint(1, 8)):
                data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        case 1:
            del data[rng.randrange(len(data)) :]
        case 2:
            start = rng.randrange(len(data))
            del data[start : start + rng.randint(1, 16)]
        case 3:
            place = rng.randrange(len(data))
            data[place:place] = rng.randbytes(rng.randint(1, 16))
        case 4:  # a long number
            place = rng.randrange(len(data))
            data[place:place] = b"\xff" * rng.randint(1, 12)
        case 5:
            place = rng.randrange(min(len(data), len(other)))
            data[place:] = other[place:]
        case _:
            start = rng.randrange(len(data))
            data[start : start + 64] = rng.randbytes(min(64, len(data) - start))
    return bytes(data)


def judge(data: bytes) -> bool:
    """Whether `data` is a program. It is then the only bytes of that program, which validates or is refused."""
    started = time.monotonic()
    try:
        program = decode(data)
    except WireError as refusal:
        fix = refusal.fix
        assert fix
        return False
    finally:
        assert time.monotonic() - started < 1 + SECONDS_A_BYTE * len(data)
    assert encode(program) == data
    try:
        program.validate()
    except VyreError as refusal:
        codes = refusal.code
        assert codes
    return True


@pytest.mark.parametrize("sealed", [False, True], ids=["as they are", "with a right digest"])
def test_damaged_blobs(attacks, sealed: bool) -> None:
    """With a right digest the damage reaches what is behind the header."""
    rng = random.Random(attacks.seed)
    sources = list(blobs(attacks.seed, 40))
    programs = 0
    for number in range(attacks.count(4000)):
        blob, other = sources[number % len(sources)], rng.choice(sources)
        if sealed:
            data = seal(mutated(rng, blob[HEADER_SIZE:], other[HEADER_SIZE:]))
        else:
            data = mutated(rng, blob, other)
        programs += judge(data)
    assert sealed or programs < attacks.count(4000) // 10


def test_random_bytes(attacks) -> None:
    rng = random.Random(attacks.seed)
    for _ in range(attacks.count(4000)):
        data = rng.randbytes(rng.randint(0, 200))
        judge(data)
        judge(seal(data))


def test_announced_sizes_take_no_memory(bounded) -> None:
    """Numbers that announce more than the blob holds are refused before anything of that size is made."""
    code = """
import struct
from blake3 import blake3
from vyre_foundation.wire import decode
from vyre_foundation.wire.errors import WireError
from vyre_foundation.wire.format import MAGIC, VERSION

def seal(payload):
    return MAGIC + struct.pack("<H", VERSION) + blake3(payload).digest() + payload

for length in range(0, 40):
    for announced in (b"\\xff\\xff\\xff\\xff\\x0f", b"\\xff" * 9 + b"\\x01", b"\\xff\\xff\\xff\\x7f"):
        try:
            decode(seal(b"\\x01" * length + announced + b"\\x01" * 8))
        except WireError:
            pass
"""
    done = bounded(code, seconds=60, megabytes=1024)
    assert done.returncode == 0, done.stderr
