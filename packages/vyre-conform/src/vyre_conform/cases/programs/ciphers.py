"""ChaCha20 and AES-128: rotations and table look-ups, judged by the vectors of RFC 8439, FIPS 197 and SP 800-38A."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import product

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, fixed
from vyre_conform.cases.values import pack
from vyre_foundation.build import Mutable, Value, apply, program
from vyre_foundation.dtype import u8, u32

# Key, counter, nonce, key stream: RFC 8439, 2.3.2 and the first vector of its appendix A.1.
CHACHA20_VECTORS = (
    (
        bytes(range(32)), 1, bytes.fromhex("000000090000004a00000000"),
        ("10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
         "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e"),
    ),
    (
        bytes(32), 0, bytes(12),
        ("76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
         "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"),
    ),
)  # fmt: skip
QUARTERS = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
            (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))  # fmt: skip
# Key, block, cipher text: FIPS 197, appendices B and C.1, and SP 800-38A, F.1.1.
AES_VECTORS = (
    ("2b7e151628aed2a6abf7158809cf4f3c", "3243f6a8885a308d313198a2e0370734", "3925841d02dc09fbdc118597196a0b32"),
    ("000102030405060708090a0b0c0d0e0f", "00112233445566778899aabbccddeeff", "69c4e0d86a7b0430d8cdb78070b4c55a"),
    ("2b7e151628aed2a6abf7158809cf4f3c", "6bc1bee22e409f96e93d7e117393172a", "3ad77bb40d7a3660a89ecaf32466ef97"),
    ("2b7e151628aed2a6abf7158809cf4f3c", "ae2d8a571e03ac9c9eb76fac45af8e51", "f5d3d58503b9699de785895a96fdbaaf"),
    ("2b7e151628aed2a6abf7158809cf4f3c", "30c81c46a35ce411e5fbc1191a0a52ef", "43b1cd7f598ece23881b00e3ed030688"),
    ("2b7e151628aed2a6abf7158809cf4f3c", "f69f2445df4f9b17ad2b417be66c3710", "7b0c785e27e8ad3f8223207104725dd4"),
)


def specs() -> Iterator[Spec]:
    yield fixed(address("programs", "chacha20"), _chacha20)
    yield fixed(address("programs", "aes128"), _aes)


def quarter_round(
    s: Sequence[Mutable], indices: Sequence[int], rotations: Sequence[int], words: Sequence[Value]
) -> None:
    """The mixing of four words that ChaCha20 and BLAKE3 share; BLAKE3 adds message words and rotates right."""
    a, b, c, d = (s[n] for n in indices)
    for step, rotation in enumerate(rotations):
        first, second, third = (a, b, d) if step % 2 == 0 else (c, d, b)
        total = first + second
        first.set(total + words[step // 2] if words and step % 2 == 0 else total)
        third.set(apply("rotl", third ^ first, rotation))


def _chacha20() -> tuple[Launch, Expected]:
    """One invocation for each block: ten double rounds in sixteen locals."""
    with program("chacha20", 4) as p:
        keys, counters, nonces = p.read("keys", u32), p.read("counters", u32), p.read("nonces", u32)
        out = p.write("out", u32, 16 * len(CHACHA20_VECTORS))
        i = p.let(p.global_id(0))
        with p.if_(i >= counters.length):
            p.return_()
        start: list[Value] = [p.let(word, u32) for word in struct.unpack("<4I", b"expand 32-byte k")]
        start += [p.let(keys[i * 8 + n]) for n in range(8)]
        start += [p.let(counters[i]), *(p.let(nonces[i * 3 + n]) for n in range(3))]
        state = [p.var(word) for word in start]
        with p.range(0, 10):
            for indices in QUARTERS:
                quarter_round(state, indices, (16, 12, 8, 7), ())
        for n in range(16):
            out[i * 16 + n] = state[n] + start[n]
    inputs = {
        "keys": b"".join(key for key, _, _, _ in CHACHA20_VECTORS),
        "counters": pack(u32, [counter for _, counter, _, _ in CHACHA20_VECTORS]),
        "nonces": b"".join(nonce for _, _, nonce, _ in CHACHA20_VECTORS),
    }
    expected = b"".join(bytes.fromhex(stream) for _, _, _, stream in CHACHA20_VECTORS)
    return Launch(program=p.build(), inputs=inputs, grid=(1, 1, 1)), Exactly((expected,))


def _times(x: int, y: int) -> int:
    """The product in GF(2**8) of FIPS 197."""
    result = 0
    for bit in range(8):
        result ^= x << bit if y >> bit & 1 else 0
    for bit in range(14, 7, -1):
        result ^= 0x11B << (bit - 8) if result >> bit & 1 else 0
    return result


def substitutions() -> list[int]:
    """The S-box of FIPS 197: the inverse, then an affine map."""
    inverse = {x: y for x, y in product(range(1, 256), repeat=2) if _times(x, y) == 1}
    box = []
    for x in range(256):
        b = inverse.get(x, 0)
        rotated = [(b << n | b >> (8 - n)) & 0xFF for n in range(5)]
        box.append(rotated[0] ^ rotated[1] ^ rotated[2] ^ rotated[3] ^ rotated[4] ^ 0x63)
    return box


def _aes() -> tuple[Launch, Expected]:
    """Sixteen invocations for each block, one for each byte: they meet at barriers, twice in each round."""
    with program("aes128", 16) as p:
        keys, blocks = p.read("keys", u8), p.read("blocks", u8)
        out = p.write("out", u8, like=blocks)
        box = p.constant("box", u8, substitutions())
        state, round_key, next_key = (
            p.workgroup("state", u8, 16),
            p.workgroup("key", u8, 16),
            p.workgroup("next", u8, 16),
        )
        i, at = p.let(p.global_id(0)), p.let(p.local_id(0))
        round_key[at] = keys[i]
        state[at] = blocks[i] ^ keys[i]
        constant = p.var(1, u8)
        p.barrier()
        column, row = p.let(at >> 2), p.let(at & 3)
        with p.range(0, 10) as round:
            # SubBytes and ShiftRows: row r of column c comes from column c + r.
            shifted = [p.let(box[state[((column + n) & 3) * 4 + n]]) for n in range(4)]
            # The key schedule: each column adds the ones before it to the rotated and substituted last one.
            word = p.var(box[round_key[12 + ((row + 1) & 3)]])
            with p.if_(row == 0):
                word.set(word ^ constant)
            with p.range(0, column + 1) as earlier:
                word.set(word ^ round_key[earlier * 4 + row])
            next_key[at] = word
            doubled = [p.let((b << 1) ^ ((b >> 7) * 0x1B)) for b in shifted]
            mixed = p.var(0, u8)
            for n in range(4):
                with p.if_(row == n):
                    a, b, c, d = (shifted[(n + k) % 4] for k in range(4))
                    mixed.set(doubled[n] ^ doubled[(n + 1) % 4] ^ b ^ c ^ d)
                    with p.if_(round == 9):
                        mixed.set(a)
            p.barrier()
            round_key[at] = next_key[at]
            state[at] = mixed ^ next_key[at]
            constant.set((constant << 1) ^ ((constant >> 7) * 0x1B))
            p.barrier()
        out[i] = state[at]
    columns = [b"".join(bytes.fromhex(text) for text in column) for column in zip(*AES_VECTORS, strict=True)]
    return Launch(program=p.build(), inputs={"keys": columns[0], "blocks": columns[1]}), Exactly((columns[2],))
