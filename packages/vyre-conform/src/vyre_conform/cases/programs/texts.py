"""Bytes of text: UTF-8 validation, base64 and run lengths, judged by the standard library."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from itertools import groupby
from random import Random

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, seeded
from vyre_conform.cases.values import pack
from vyre_foundation.build import program, select
from vyre_foundation.dtype import u8, u32

# Well formed and not: overlong forms, surrogates, what is beyond the last plane, what is cut off, lone continuations.
UTF8_VECTORS = (
    *("", "a", "é", "€", "𝄞", "\u0800", "\ud7ff", "\ue000", "\U0010ffff", "naïve 日本"),
    *(b"\x80", b"\xc0\xaf", b"\xc1\xbf", b"\xc2", b"\xe0\x80\x80", b"\xe0\x9f\xbf", b"\xed\xa0\x80", b"\xed\xbf\xbf"),
    *(
        b"\xf0\x80\x80\x80",
        b"\xf0\x8f\xbf\xbf",
        b"\xf4\x90\x80\x80",
        b"\xf5\x80\x80\x80",
        b"\xff",
        b"a\xe2\x82",
        b"\xfe",
    ),
)
# RFC 4648, section 10.
BASE64_VECTORS = {
    b"": "", b"f": "Zg==", b"fo": "Zm8=", b"foo": "Zm9v",
    b"foob": "Zm9vYg==", b"fooba": "Zm9vYmE=", b"foobar": "Zm9vYmFy",
}  # fmt: skip
ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def specs() -> Iterator[Spec]:
    yield seeded(address("programs", "utf8"), _utf8)
    yield seeded(address("programs", "base64"), _base64)
    for count in (1, 64, 1000):
        yield seeded(address("programs", "run_lengths", n=count), _run_lengths, count)


def _ends(parts: list[bytes]) -> list[int]:
    ends = [0]
    for part in parts:
        ends.append(ends[-1] + len(part))
    return ends


def _utf8(rng: Random) -> tuple[Launch, Expected]:
    """An automaton for each text: what the first byte allows the second to be is a range that moves."""
    texts = [t.encode() if isinstance(t, str) else t for t in UTF8_VECTORS]
    for _ in range(60):
        whole = "".join(rng.choice("aé€𝄞\u07ff\uffff") for _ in range(rng.randrange(1, 6))).encode()
        at = rng.randrange(len(whole))
        texts.append(whole[:at] + bytes([whole[at] ^ rng.choice((0, 0x80, 0x40, 0x10, 1))]) + whole[at + 1 :])
    with program("utf8", 32) as p:
        data, ends = p.read("data", u8), p.read("ends", u32)
        out = p.write("valid", u32, len(texts))
        i = p.let(p.global_id(0))
        left, low, high, valid = p.var(0, u32), p.var(0x80, u8), p.var(0xBF, u8), p.var(1, u32)
        with p.range(ends[i], ends[i + 1]) as at_:
            byte = p.let(data[at_])
            with p.if_(left > 0):
                with p.if_((byte < low) | (byte > high)):
                    valid.set(0)
                    p.break_()
                left.set(left - 1)
                low.set(0x80)
                high.set(0xBF)
                p.continue_()
            with p.if_(byte < 0x80):
                p.continue_()
            with p.if_((byte < 0xC2) | (byte > 0xF4)):
                valid.set(0)
                p.break_()
            left.set(select(byte < 0xE0, 1, select(byte < 0xF0, p.let(2, u32), 3)))
            low.set(select(byte == 0xE0, p.let(0xA0, u8), select(byte == 0xF0, p.let(0x90, u8), 0x80)))
            high.set(select(byte == 0xED, p.let(0x9F, u8), select(byte == 0xF4, p.let(0x8F, u8), 0xBF)))
        out[i] = select(left == 0, valid, 0)
    inputs = {"data": b"".join(texts), "ends": pack(u32, _ends(texts))}
    return Launch(program=p.build(), inputs=inputs), Exactly((pack(u32, [_is_utf8(text) for text in texts]),))


def _is_utf8(text: bytes) -> int:
    try:
        text.decode()
    except UnicodeDecodeError:
        return 0
    return 1


def _base64(rng: Random) -> tuple[Launch, Expected]:
    """Each invocation writes one character; padding where the message has ended."""
    messages = [*BASE64_VECTORS, *(rng.randbytes(n) for n in (10, 57, 100))]
    texts = [BASE64_VECTORS.get(m, base64.b64encode(m).decode()) for m in messages]
    with program("base64", 64) as p:
        data, ends, starts = p.read("data", u8), p.read("ends", u32), p.read("starts", u32)
        alphabet = p.constant("alphabet", u8, list(ALPHABET))
        out = p.write("out", u8, sum(len(text) for text in texts))
        i = p.let(p.global_id(0))
        message = p.var(0, u32)
        with p.range(1, starts.length - 1) as m, p.if_(i >= starts[m]):
            message.set(m)
        begin, end = p.let(ends[message]), p.let(ends[message + 1])
        place = p.let(i - starts[message])
        bit = p.let(place * 6)
        at = p.let(begin + (bit >> 3))
        first = p.let(data[at].cast(u32) << 8)
        second = p.let(select(at + 1 < end, data[at + 1].cast(u32), 0))
        digit = p.let(((first | second) >> (10 - (bit & 7))) & 63)
        out[i] = select(at < end, alphabet[digit], ord("="))
    inputs = {
        "data": b"".join(messages),
        "ends": pack(u32, _ends(messages)),
        "starts": pack(u32, _ends([text.encode() for text in texts])),
    }
    return Launch(program=p.build(), inputs=inputs), Exactly(("".join(texts).encode(),))


def _run_lengths(count: int, rng: Random) -> tuple[Launch, Expected]:
    """Heads of runs are found, numbered by a scan over the grid, and write value and length where their number says."""
    data = bytes(b for n in range(count) for b in [n * 7 % 5] * rng.choice((1, 1, 2, 9)))[:count]
    group = 64
    groups = -(-count // group)
    with program("run_lengths", group) as p:
        x = p.read("x", u8)
        values, lengths, total = (
            p.write("values", u8, like=x),
            p.write("lengths", u32, like=x),
            p.write("total", u32, 1),
        )
        sums, shared = p.scratch("sums", u32, groups), p.workgroup("shared", u32, group)
        i, local, own = p.let(p.global_id(0)), p.let(p.local_id(0)), p.let(p.workgroup_id(0))
        is_head = p.let((i < x.length) & ((i == 0) | (x[i] != x[i - 1])))
        shared[local] = is_head.cast(u32)
        p.barrier()
        with p.range(0, 6) as round:
            distance = p.let(p.let(1, u32) << round)
            below = p.let(select(local >= distance, shared[local - distance], 0))
            p.barrier()
            shared[local] = shared[local] + below
            p.barrier()
        with p.if_(local == group - 1):
            sums[own] = shared[local]
        p.grid_barrier()
        before = p.var(0, u32)
        with p.range(0, own) as g:
            before.set(before + sums[g])
        with p.if_(is_head):
            number = p.let(before + shared[local] - 1)
            stop = p.var(i + 1)
            with p.range(i + 1, x.length) as at:
                with p.if_(x[at] != x[i]):
                    p.break_()
                stop.set(at + 1)
            values[number] = x[i]
            lengths[number] = stop - i
        with p.if_(i == x.length - 1):
            total[0] = before + shared[local]
    runs = [(value, len(list(run))) for value, run in groupby(data)]
    outputs = (
        bytes(value for value, _ in runs) + bytes(count - len(runs)),
        pack(u32, [length for _, length in runs] + [0] * (count - len(runs))),
        pack(u32, [len(runs)]),
    )
    return Launch(program=p.build(), inputs={"x": data}, grid=(groups, 1, 1)), Exactly(outputs, ("x",))
