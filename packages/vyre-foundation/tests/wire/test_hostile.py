"""Any bytes give a program or a typed error. What gives a program is exactly the wire form of that program."""

from collections.abc import Callable
from random import Random

import pytest

from vyre_foundation import Program, WireError, decode, encode
from vyre_foundation.errors import VyreError
from vyre_foundation.testing.structural import structural_program
from vyre_foundation.wire import (
    BadMagic,
    DigestMismatch,
    Malformed,
    NestingTooDeep,
    NotCanonical,
    TrailingBytes,
    Truncated,
    Unencodable,
    UnknownTag,
    UnsupportedVersion,
)
from vyre_foundation.wire.varint import write_column

Seal = Callable[[bytes], bytes]
HEADER = 38
SAMPLES = [encode(structural_program(Random(seed), 20)) for seed in range(12)]


def outcome(data: bytes) -> Program | WireError:
    """What comes of `data`; other errors than `WireError` come through."""
    try:
        program = decode(data)
    except WireError as error:
        refusal = error
    else:
        assert encode(program) == data, "one program, two spellings"
        return program
    assert "Fix: " in str(refusal)
    assert refusal.offset is not None
    assert 0 <= refusal.offset <= len(data)
    return refusal


# ── damaged wire forms ───────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("data", SAMPLES)
def test_every_truncation_is_refused(data: bytes, seal: Seal) -> None:
    for size in range(len(data)):
        assert isinstance(outcome(data[:size]), (Truncated, DigestMismatch))
    for size in range(len(data) - HEADER):
        assert isinstance(outcome(seal(data[HEADER : HEADER + size])), WireError)


@pytest.mark.parametrize("data", SAMPLES)
def test_every_flipped_byte_is_refused(data: bytes) -> None:
    for at in range(len(data)):
        for change in (0x01, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[at] ^= change
            kind = BadMagic if at < 4 else UnsupportedVersion if at < 6 else DigestMismatch
            assert type(outcome(bytes(damaged))) is kind


@pytest.mark.parametrize("data", SAMPLES[:6])
def test_a_flipped_byte_under_a_new_digest_is_refused_or_another_program(data: bytes, seal: Seal) -> None:
    for at in range(HEADER, len(data)):
        for change in (*[1 << bit for bit in range(8)], 0xFF, 0x7F):
            damaged = bytearray(data[HEADER:])
            damaged[at - HEADER] ^= change
            outcome(seal(bytes(damaged)))


@pytest.mark.parametrize("seed", range(20))
def test_cut_copied_and_mixed_payloads(seed: int, seal: Seal) -> None:
    random = Random(seed)
    payloads = [data[HEADER:] for data in SAMPLES]
    for _ in range(150):
        one, other = random.choice(payloads), random.choice(payloads)
        a, b = sorted(random.randrange(len(one) + 1) for _ in range(2))
        c, d = sorted(random.randrange(len(other) + 1) for _ in range(2))
        outcome(seal(one[:a] + other[c:d] + one[b:]))


@pytest.mark.parametrize("seed", range(20))
def test_random_bytes(seed: int, seal: Seal) -> None:
    random = Random(seed)
    for _ in range(200):
        size = random.randrange(60)
        payload = bytes(random.choice((0, 0, 1, 1, 2, 3, 192, 193, random.randrange(256))) for _ in range(size))
        outcome(seal(payload))
        outcome(payload)


@pytest.mark.parametrize("data", SAMPLES)
def test_nothing_may_follow(data: bytes, seal: Seal) -> None:
    assert isinstance(outcome(data + b"\0"), DigestMismatch)
    error = outcome(seal(data[HEADER:] + b"\0"))
    assert isinstance(error, TrailingBytes)
    assert error.offset == len(data)


# ── payloads by hand ─────────────────────────────────────────────────────────────────────────────────────────────────
# The sections: strings, head, buffers, expressions, body.

STRINGS = b"\x01\x01p"  # one string of one byte
HEAD = b"\x00\x01\x01\x01\x00"  # it is the name; workgroup 1 × 1 × 1; no subgroup
NO_BUFFERS = b"\x00\x00"
START = STRINGS + HEAD + NO_BUFFERS
EMPTY = START + b"\x00" + b"\x00"

INPUT = b"\x01\x01\x04\x00\x02"  # read p: u32[] @0, where p was used before


def test_the_empty_program_by_hand(seal: Seal) -> None:
    assert outcome(seal(EMPTY)) == Program("p", (), (1, 1, 1), ())


def test_a_program_by_hand(seal: Seal) -> None:
    # trap(7, "p"): one token (literal), its dtype u32, its bits; one tag (trap), its label the one string ago
    payload = START + b"\x01\xc0" + b"\x04" + b"\x07\0\0\0" + b"\x01\x0e" + b"\x01"
    assert str(outcome(seal(payload))) == 'program p workgroup(1, 1, 1) {\n  trap(7, "p");\n}\n'


def expressions(code: bytes, columns: bytes = b"", body: bytes = b"\x00") -> bytes:
    return START + bytes([len(code)]) + code + columns + body


BUFFER = STRINGS + HEAD + b"\x01\x00"

# fmt: off
REFUSED = {
    "tag of a buffer":               (UnknownTag,   BUFFER + b"\x0a"),
    "tag of a buffer's dtype":       (UnknownTag,   BUFFER + b"\x01\x01\x0e"),
    "tag of a count":                (UnknownTag,   BUFFER + b"\x01\x01\x04\x00\x07"),
    "token":                         (UnknownTag,   expressions(b"\xff")),
    "token that is no op":           (UnknownTag,   expressions(b"\x13")),
    "dtype of a literal":            (UnknownTag,   expressions(b"\xc0", b"\x00")),
    "tag of a statement":            (UnknownTag,   START + b"\x00" + b"\x01\x11"),
    "atomic op":                     (UnknownTag,   START + b"\x00" + b"\x01\x20" + b"\x09"),
    "collective":                    (UnknownTag,   START + b"\x00" + b"\x01\x28" + b"\x19"),
    "collective 0":                  (UnknownTag,   START + b"\x00" + b"\x01\x28" + b"\x00"),
    "number in two bytes":           (NotCanonical, b"\x81\x00"),
    "string twice":                  (NotCanonical, b"\x02\x01\x01pp" + HEAD + NO_BUFFERS + b"\0\0"),
    "string without use":            (NotCanonical, b"\x02\x01\x01pq" + HEAD + NO_BUFFERS + b"\0\0"),
    "bool of 2":                     (NotCanonical, expressions(b"\xc0", b"\x01\x02")),
    "expression twice":              (NotCanonical, expressions(b"\xd0\xd0")),
    "buffer that is not used":       (NotCanonical, STRINGS + HEAD + b"\x00\x01" + INPUT + b"\0\0"),
    "buffer by its second number":   (NotCanonical, STRINGS + HEAD + b"\x02\x00" + 2 * INPUT + b"\x01\xc4\x01"),
    "string that is not there":      (Malformed,    b"\x00" + HEAD),
    "string before the first":       (Malformed,    STRINGS + b"\x01"),
    "not UTF-8":                     (Malformed,    b"\x01\x01\xff"),
    "surrogate":                     (Malformed,    b"\x01\x03\xed\xa0\x80"),
    "buffer without a name":         (Malformed,    b"\x02\x01\x00p" + HEAD + b"\x01\x00\x01\x00\x04\x00\x02"),
    "binding that is too large":     (Malformed,    BUFFER + b"\x01\x01\x04\x80\x80\x04\x02"),
    "count that is too large":       (Malformed,    BUFFER + b"\x01\x01\x04\x00\x01\x80\x80\x80\x80\x10"),
    "output without a length":       (Malformed,    BUFFER + b"\x02\x01\x04\x00\x02\x00"),
    "buffer that is not there":      (Malformed,    expressions(b"\xc4", b"\x00")),
    "operand that is not there":     (Malformed,    expressions(b"\xd0\x01")),
    "operands that are not there":   (Malformed,    expressions(b"\xd0\xc5")),
    "arguments that are not there":  (Malformed,    expressions(b"\xc9", b"\x04" + b"\x01" + b"\xff\xff\xff\xff\x0f")),
    "reuse of nothing":              (Malformed,    expressions(b"\xd0\x00", b"\x02")),
    "reuse of none ago":             (Malformed,    expressions(b"\xd0\x00", b"\x00")),
    "ill-typed op":                  (Malformed,    expressions(b"\xc0\xd0\x01", b"\x01\x01")),
    "ill-typed select":              (Malformed,    expressions(b"\xd0\xd1\xd2\xc5")),
    "ill-typed bitcast":             (Malformed,    expressions(b"\xd0\xc8", b"\x0d")),
    "float as an index":             (Malformed,    BUFFER + INPUT + b"\x02\xc0\xc2\x0c\x00\0\0\x80\x3f"),
    "expression without use":        (Malformed,    expressions(b"\xd0")),
    "statement without expression":  (Malformed,    START + b"\x00" + b"\x01\x0e\x01"),
    "end of nothing":                (Malformed,    START + b"\x00" + b"\x01\x00"),
    "else of nothing":               (Malformed,    START + b"\x00" + b"\x01\x07"),
    "if without else":               (Malformed,    expressions(b"\xd0", b"", b"\x02\x06\x00")),
    "else and else":                 (Malformed,    expressions(b"\xd0", b"", b"\x04\x06\x07\x07\x00")),
    "else of a region":              (Malformed,    START + b"\x00" + b"\x03\x10\x07\x00\x01"),
    "body without end":              (Malformed,    START + b"\x00" + b"\x01\x10\x01"),
    "nothing":                       (Truncated,    b""),
    "2**60 strings":                 (Truncated,    b"\x80\x80\x80\x80\x80\x80\x80\x80\x10"),
    "string of 2**60 bytes":         (Truncated,    b"\x01\x80\x80\x80\x80\x80\x80\x80\x80\x10"),
    "2**60 buffers":                 (Truncated,    STRINGS + HEAD + b"\x80\x80\x80\x80\x80\x80\x80\x80\x10\x00"),
    "2**60 tokens":                  (Truncated,    START + b"\x80\x80\x80\x80\x80\x80\x80\x80\x10"),
    "2**60 tags":                    (Truncated,    START + b"\x00\x80\x80\x80\x80\x80\x80\x80\x80\x10"),
    "2**35 bytes of data":           (Truncated,    BUFFER + b"\x05\x01\x0d\x01\xff\xff\xff\xff\x0f"),
    "literal":                       (Truncated,    expressions(b"\xc0", b"\x0d\x00\x00")),
}
# fmt: on


@pytest.mark.parametrize(("error", "payload"), REFUSED.values(), ids=REFUSED)
def test_refused(error: type[WireError], payload: bytes, seal: Seal) -> None:
    assert type(outcome(seal(payload))) is error


def test_errors_say_where_and_what_to_do(seal: Seal) -> None:
    messages = [str(outcome(seal(REFUSED[case][1]))) for case in ("token", "ill-typed op", "2**60 tokens")]
    assert messages == [
        "offset 49: no expression has the tag 255. Fix: decode it with the version of the library that wrote it",
        (
            "offset 51: an ill-typed expression: add got (bool, u32), expected operands of one type. "
            "Fix: write it with `encode`, from a program"
        ),
        f"offset 57: {2**60} bytes were announced, 0 are left. Fix: give the whole program",
    ]


def test_headers() -> None:
    def message(data: bytes) -> str:
        return str(outcome(data))

    good = SAMPLES[0]
    assert message(b"") == "offset 0: got 0 bytes, a header has 38. Fix: give the whole program"
    assert message(good[:37]).startswith("offset 37: got 37 bytes")
    assert (
        message(b"PK\x03\x04" + good)
        == "offset 0: got b'PK\\x03\\x04', expected b'VYRE'. Fix: give the bytes of `encode`"
    )
    assert message(good[:4] + b"\x02\x00" + good[6:]).startswith(
        "offset 4: got version 2, expected 1. Fix: decode it with"
    )
    assert message(good[:5] + b"\x01" + good[6:]).startswith("offset 4: got version 257")
    assert message(good[:-1]).startswith("offset 6: the bytes do not have the digest that the header gives")


def test_decoding_takes_any_buffer() -> None:
    assert decode(bytearray(SAMPLES[0])) == decode(memoryview(SAMPLES[0])) == decode(SAMPLES[0])


# ── depth ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_statements_nested_deep(seal: Seal) -> None:
    region, end = b"\x10", b"\x00"
    for depth, kind in ((64, Program), (65, Program), (66, NestingTooDeep), (100_000, NestingTooDeep)):
        tags = region * depth + end * depth
        labels = b"\x01" * depth
        assert isinstance(outcome(seal(START + b"\x00" + write_column([len(tags)]) + tags + labels)), kind)


def test_expressions_may_be_as_deep_as_they_like(seal: Seal) -> None:
    depth = 100_000
    code = b"\xd0" + b"\x23" * depth  # not(not(… global_id.x))
    program = outcome(seal(START + write_column([len(code)]) + code + b"\x01\x0e\x01"))
    assert isinstance(program, Program)
    node, count = program.body[0].code, 0  # type: ignore[union-attr]
    while node.args:
        node, count = node.args[0], count + 1
    assert count == depth


def test_every_class_of_error_is_met() -> None:
    met = {error for error, _ in REFUSED.values()}
    met |= {BadMagic, UnsupportedVersion, DigestMismatch, TrailingBytes, NestingTooDeep, Unencodable}
    assert met == set(WireError.__subclasses__())
    assert len({error.code for error in (VyreError, WireError, *met)}) == len(met) + 2


def test_the_bytes_of_a_compiled_program_are_named() -> None:
    with pytest.raises(BadMagic, match="these are the bytes of a compiled program"):
        decode(b"VYRE\0C1\n" + bytes(100))
