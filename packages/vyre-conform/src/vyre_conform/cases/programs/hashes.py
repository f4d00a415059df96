"""SHA-256, MD5, BLAKE3 and CRC-32, judged by other implementations and by the published vectors."""

from __future__ import annotations

import hashlib
import math
import struct
import zlib
from collections.abc import Iterator, Sequence
from random import Random
from typing import Literal

from blake3 import blake3

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, seeded
from vyre_conform.cases.programs.ciphers import QUARTERS, quarter_round
from vyre_conform.cases.values import pack
from vyre_foundation.build import Value, apply, program, select
from vyre_foundation.dtype import u8, u32

# FIPS 180-4, the examples of the standard, and the empty message.
SHA256_VECTORS = {
    b"": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    b"abc": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq": (
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
}
# RFC 1321, A.5.
MD5_VECTORS = {
    b"": "d41d8cd98f00b204e9800998ecf8427e",
    b"a": "0cc175b9c0f1b6a831c399e269772661",
    b"abc": "900150983cd24fb0d6963f7d28e17f72",
    b"message digest": "f96b697d7cb7938d525a2f31aaf161d0",
    b"abcdefghijklmnopqrstuvwxyz": "c3fcd3d76192e4007dfb496cca67e13b",
    b"1234567890" * 8: "57edf4a22be3c955ac49da2e2107b67a",
}
# The test vectors of BLAKE3: byte n of the input is n modulo 251.
BLAKE3_VECTORS = {
    b"": "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
    b"\0": "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213",
}
BLAKE3_ORDER = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
"""Which word of the message takes each place in the next round."""
CRC32_VECTORS = {b"123456789": 0xCBF43926, b"": 0}


def specs() -> Iterator[Spec]:
    yield seeded(address("programs", "sha256"), _sha256)
    yield seeded(address("programs", "md5"), _md5)
    yield seeded(address("programs", "blake3"), _blake3)
    yield seeded(address("programs", "crc32"), _crc32)


def _primes(count: int) -> list[int]:
    found: list[int] = []
    n = 2
    while len(found) < count:
        if all(n % q for q in found):
            found.append(n)
        n += 1
    return found


def _root_bits(n: int, power: int) -> int:
    """The first 32 bits of the fraction of the root of n, by integers alone."""
    scaled, low, high = n << (32 * power), 0, n << 32
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**power <= scaled else (low, middle)
    return low & 0xFFFF_FFFF


def _padded(message: bytes, order: Literal["big", "little"] = "big") -> bytes:
    zeros = (55 - len(message)) % 64
    return message + b"\x80" + bytes(zeros) + (8 * len(message)).to_bytes(8, order)


def _sha256(rng: Random) -> tuple[Launch, Expected]:
    """One invocation per message; the schedule of 64 words lies in private memory."""
    messages = [*SHA256_VECTORS, *(rng.randbytes(n) for n in (1, 55, 56, 63, 64, 119, 200))]
    blocks = [_padded(m) for m in messages]
    with program("sha256", 4) as p:
        words, first, count = p.read("words", u32), p.read("first", u32), p.read("count", u32)
        constants = p.constant("constants", u32, [_root_bits(q, 3) for q in _primes(64)])
        out, schedule = p.write("out", u32, 8 * len(messages)), p.private("schedule", u32, 64)
        i = p.let(p.global_id(0))
        state = [p.var(_root_bits(q, 2), u32) for q in _primes(8)]
        with p.range(0, count[i]) as block:
            start = p.let((first[i] + block) * 16)
            with p.range(0, 64) as t:
                with p.if_(t < 16):
                    schedule[t] = words[start + t]
                with p.else_():
                    w2, w15 = p.let(schedule[t - 2]), p.let(schedule[t - 15])
                    s1 = _rotr(w2, 17) ^ _rotr(w2, 19) ^ (w2 >> 10)
                    s0 = _rotr(w15, 7) ^ _rotr(w15, 18) ^ (w15 >> 3)
                    schedule[t] = s1 + schedule[t - 7] + s0 + schedule[t - 16]
            a, b, c, d, e, f, g, h = (p.var(s.get()) for s in state)
            with p.range(0, 64) as t:
                big1 = _rotr(e.get(), 6) ^ _rotr(e.get(), 11) ^ _rotr(e.get(), 25)
                choice = (e & f) ^ (~e.get() & g)
                t1 = p.let(h + big1 + choice + constants[t] + schedule[t])
                big0 = _rotr(a.get(), 2) ^ _rotr(a.get(), 13) ^ _rotr(a.get(), 22)
                t2 = p.let(big0 + ((a & b) ^ (a & c) ^ (b & c)))
                for later, earlier in ((h, g), (g, f), (f, e)):
                    later.set(earlier.get())
                e.set(d + t1)
                for later, earlier in ((d, c), (c, b), (b, a)):
                    later.set(earlier.get())
                a.set(t1 + t2)
            for s, v in zip(state, (a, b, c, d, e, f, g, h), strict=True):
                s.set(s + v)
        with p.if_(i < count.length):
            for n, s in enumerate(state):
                out[i * 8 + n] = s
    counts = [len(b) // 64 for b in blocks]
    stream = b"".join(blocks)
    inputs = {
        "words": pack(u32, struct.unpack(f">{len(stream) // 4}I", stream)),
        "first": pack(u32, [sum(counts[:n]) for n in range(len(counts))]),
        "count": pack(u32, counts),
    }
    digests = [SHA256_VECTORS.get(m) or hashlib.sha256(m).hexdigest() for m in messages]
    expected = pack(u32, [w for d in digests for w in struct.unpack(">8I", bytes.fromhex(d))])
    return Launch(program=p.build(), inputs=inputs, grid=(-(-len(messages) // 4), 1, 1)), Exactly((expected,))


def _md5(rng: Random) -> tuple[Launch, Expected]:
    """One invocation for each message; the four kinds of rounds are chosen by branches."""
    messages = [*MD5_VECTORS, *(rng.randbytes(n) for n in (55, 56, 63, 64, 119))]
    blocks = [_padded(m, "little") for m in messages]
    shifts = [s for four in ((7, 12, 17, 22), (5, 9, 14, 20), (4, 11, 16, 23), (6, 10, 15, 21)) for s in four]
    sines = [int(abs(math.sin(n + 1)) * 2**32) for n in range(64)]
    with program("md5", 4) as p:
        words, first, count = p.read("words", u32), p.read("first", u32), p.read("count", u32)
        out = p.write("out", u32, 4 * len(messages))
        table, rotations = p.constant("table", u32, sines), p.constant("rotations", u32, shifts)
        i = p.let(p.global_id(0))
        state = [p.var(word, u32) for word in (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476)]
        with p.range(0, count[i]) as block:
            start = p.let((first[i] + block) * 16)
            a, b, c, d = (p.var(s.get()) for s in state)
            with p.range(0, 64) as t:
                mixed, word = p.var((b & c) | (~b & d)), p.var(t)
                with p.if_(t >> 4 == 1):
                    mixed.set((d & b) | (~d & c))
                    word.set(5 * t + 1)
                with p.if_(t >> 4 == 2):
                    mixed.set(b ^ c ^ d)
                    word.set(3 * t + 5)
                with p.if_(t >> 4 == 3):
                    mixed.set(c ^ (b | ~d))
                    word.set(7 * t)
                total = p.let(a + mixed + table[t] + words[start + (word & 15)])
                for later, earlier in ((a, d), (d, c), (c, b)):
                    later.set(earlier.get())
                b.set(b + apply("rotl", total, rotations[(t >> 4) * 4 + (t & 3)]))
            for s, v in zip(state, (a, b, c, d), strict=True):
                s.set(s + v)
        with p.if_(i < count.length):
            for n, s in enumerate(state):
                out[i * 4 + n] = s
    counts = [len(b) // 64 for b in blocks]
    inputs = {
        "words": b"".join(blocks),
        "first": pack(u32, [sum(counts[:n]) for n in range(len(counts))]),
        "count": pack(u32, counts),
    }
    digests = [MD5_VECTORS.get(m) or hashlib.md5(m, usedforsecurity=False).hexdigest() for m in messages]
    expected = b"".join(bytes.fromhex(digest) for digest in digests)
    return Launch(program=p.build(), inputs=inputs, grid=(-(-len(messages) // 4), 1, 1)), Exactly((expected,))


def _blake3(rng: Random) -> tuple[Launch, Expected]:
    """One chunk for each invocation: up to 1024 bytes in blocks of 64, seven rounds each."""
    pattern = bytes(n % 251 for n in range(1024))
    messages = [*BLAKE3_VECTORS, *(pattern[:n] for n in (63, 64, 65, 1023, 1024)), rng.randbytes(200)]
    iv = [_root_bits(prime, 2) for prime in _primes(8)]
    with program("blake3", 4) as p:
        words, first, sizes = p.read("words", u32), p.read("first", u32), p.read("sizes", u32)
        out = p.write("out", u32, 8 * len(messages))
        order = p.constant("order", u32, BLAKE3_ORDER)
        message, shuffled = p.private("message", u32, 16), p.private("shuffled", u32, 16)
        i = p.let(p.global_id(0))
        with p.if_(i >= sizes.length):
            p.return_()
        chain = [p.var(word, u32) for word in iv]
        blocks = p.let(apply("max", (sizes[i] + 63) >> 6, 1))
        with p.range(0, blocks) as block:
            with p.range(0, 16) as at:
                message[at] = words[(first[i] + block) * 16 + at]
            last = block == blocks - 1
            size = p.let(select(last, sizes[i] - block * 64, 64))
            flags = p.let(select(block == 0, p.let(1, u32), 0) | select(last, p.let(2 | 8, u32), 0))
            fixed_ = [p.let(word, u32) for word in (*iv[:4], 0, 0)]
            v = [p.var(word) for word in (*(c.get() for c in chain), *fixed_, size, flags)]
            with p.range(0, 7):
                for n, indices in enumerate(QUARTERS):
                    pair = message[2 * n], message[2 * n + 1]
                    quarter_round(v, indices, (16, 20, 24, 25), pair)
                with p.range(0, 16) as at:
                    shuffled[at] = message[order[at]]
                with p.range(0, 16) as at:
                    message[at] = shuffled[at]
            for n in range(8):
                chain[n].set(v[n] ^ v[n + 8])
        for n in range(8):
            out[i * 8 + n] = chain[n]
    padded = [m + bytes(-len(m) % 64 if m else 64) for m in messages]
    counts = [len(m) // 64 for m in padded]
    inputs = {
        "words": b"".join(padded),
        "first": pack(u32, [sum(counts[:n]) for n in range(len(counts))]),
        "sizes": pack(u32, [len(m) for m in messages]),
    }
    digests = [BLAKE3_VECTORS.get(m) or blake3(m).hexdigest() for m in messages]
    expected = b"".join(bytes.fromhex(digest) for digest in digests)
    return Launch(program=p.build(), inputs=inputs, grid=(-(-len(messages) // 4), 1, 1)), Exactly((expected,))


def _rotr(x: Value, count: int) -> Value:
    return apply("rotr", x, count)


def _crc32(rng: Random) -> tuple[Launch, Expected]:
    """Bit by bit, with the reflected polynomial."""
    messages = [*CRC32_VECTORS, *(rng.randbytes(n) for n in (1, 17, 64, 100))]
    with program("crc32", 8) as p:
        data, ends, out = p.read("data", u8), p.read("ends", u32), p.write("out", u32, like=p.read("shape", u32))
        i = p.let(p.global_id(0))
        crc = p.var(0xFFFF_FFFF, u32)
        with p.range(ends[i], ends[i + 1]) as at:
            crc.set(crc ^ data[at].cast(u32))
            with p.range(0, 8):
                crc.set((crc >> 1) ^ select((crc & 1) == 1, p.let(0xEDB8_8320, u32), 0))
        out[i] = ~crc.get()
    ends_ = _ends(messages)
    inputs = {"data": b"".join(messages), "ends": pack(u32, ends_), "shape": bytes(4 * len(messages))}
    expected = [CRC32_VECTORS.get(m, zlib.crc32(m)) for m in messages]
    return Launch(program=p.build(), inputs=inputs), Exactly((pack(u32, expected),))


def _ends(messages: Sequence[bytes]) -> list[int]:
    ends = [0]
    for message in messages:
        ends.append(ends[-1] + len(message))
    return ends
