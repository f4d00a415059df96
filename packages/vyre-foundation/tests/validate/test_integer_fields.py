"""Every integer field of the IR: what a program is made of is a plain int, and what validates has bytes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from vyre_foundation import decode, encode, fingerprint, parse
from vyre_foundation.dtype import u8, u32, u64
from vyre_foundation.errors import VyreError
from vyre_foundation.ir import (
    Access,
    Body,
    Buffer,
    For,
    Id,
    IdKind,
    IndirectDispatch,
    LengthOf,
    Let,
    Literal,
    Memory,
    Per,
    PerLaunch,
    Program,
    Region,
    Trap,
    literal,
)

X = Buffer("x", u32, Access.READ, binding=0)


def program(*buffers: Buffer, body: Body = (), size: Any = (1, 1, 1), subgroup: Any = None, name: Any = "p") -> Program:
    return Program(name, (X, *buffers), size, body, subgroup)


LIKE = LengthOf("x")


def output(count: Any = LIKE, output_range: Any = None) -> Buffer:
    return Buffer("out", u32, Access.WRITE, count=count, binding=1, output_range=output_range)


def unbound(memory: Memory, count: Any) -> Buffer:
    return Buffer("w", u32, Access.READ_WRITE, memory, count)


FIELDS: dict[str, Callable[[Any], Program]] = {
    "binding": lambda n: Program("p", (Buffer("x", u32, Access.READ, binding=n),), (1, 1, 1), ()),
    "count": lambda n: program(output(n)),
    "count of workgroup memory": lambda n: program(unbound(Memory.WORKGROUP, n)),
    "count of a constant": lambda n: program(Buffer("t", u32, Access.READ, Memory.CONSTANT, n, data=bytes(8))),
    "times": lambda n: program(output(LengthOf("x", times=n))),
    "over": lambda n: program(output(LengthOf("x", over=n))),
    "plus": lambda n: program(output(LengthOf("x", plus=n))),
    "per workgroup": lambda n: program(
        Buffer("s", u32, Access.READ_WRITE, Memory.SCRATCH, PerLaunch(Per.WORKGROUP, n), 1)
    ),
    "start of an output range": lambda n: program(output(output_range=(n, 2**62))),
    "end of an output range": lambda n: program(output(output_range=(0, n))),
    "empty output range": lambda n: program(output(output_range=(n, n))),
    "workgroup size": lambda n: program(size=(n, 1, 1)),
    "workgroup size on z": lambda n: program(size=(1, 1, n)),
    "subgroup size": lambda n: program(size=(64, 1, 1), subgroup=n),
    "step": lambda n: program(body=(For("i", literal(u64, 0), literal(u64, 9), n, ()),)),
    "narrow step": lambda n: program(body=(For("i", literal(u8, 0), literal(u8, 9), n, ()),)),
    "offset": lambda n: program(body=(IndirectDispatch(X, n),)),
    "bits": lambda n: program(body=(Let("a", Literal(u32, n)),)),
    "axis": lambda n: program(body=(Let("a", Id(IdKind.GLOBAL_ID, n)),)),
}
LIMITS = (0, 1, 2, 3, 64, 255, 256, 2**16, 2**31, 2**32, 2**62, 2**63, 2**64, 2**65, 2**70)
numbers = st.one_of(
    st.sampled_from(sorted({sign * limit + d for limit in LIMITS for d in (-1, 0, 1) for sign in (1, -1)})),
    st.integers(-(2**70), 2**70),
)


@pytest.mark.parametrize("field", FIELDS)
@given(number=numbers)
@example(number=2**64)
@example(number=2**64 - 1)
@example(number=-1)
def test_what_validates_has_bytes(field: str, number: int) -> None:
    try:
        p = FIELDS[field](number)
        p.validate()
    except VyreError as refusal:
        text, code = str(refusal), refusal.code
        assert "Fix: " in text
        assert code
        return
    assert decode(encode(p)) == p
    assert fingerprint(decode(encode(p))) == fingerprint(p)
    assert parse(str(p)) == p


@pytest.mark.parametrize("field", FIELDS)
def test_what_equals_a_number_is_that_number(field: str) -> None:
    for one in (True, np.int64(1), np.uint8(1), np.int8(1)):
        try:
            expected = FIELDS[field](1)
        except VyreError as error:
            with pytest.raises(type(error)):
                FIELDS[field](one)
        else:
            assert repr(FIELDS[field](one)) == repr(expected), type(one)


@pytest.mark.parametrize("other", [1.0, 1.5, float("nan"), float("inf"), "1", b"1", (1,), [], np.float32(1)], ids=repr)
def test_what_is_no_integer_is_refused(other: Any) -> None:
    for field, make in FIELDS.items():
        with pytest.raises(VyreError, match=r"expected an integer|expected a tuple of three|agree") as caught:
            make(other).validate()
        assert "Fix: " in str(caught.value), field


@pytest.mark.parametrize("size", [1, (1, 1), (1, 1, 1, 1), [1, 1, 1], None, "111"], ids=repr)
def test_a_workgroup_size_is_three_integers(size: Any) -> None:
    with pytest.raises(VyreError, match="expected a tuple of three integers"):
        program(size=size)


@pytest.mark.parametrize("output_range", [1, (1,), (0, 1, 2), "ab", (0, "1")], ids=repr)
def test_an_output_range_is_two_integers(output_range: Any) -> None:
    with pytest.raises(VyreError, match="output range"):
        output(output_range=output_range)


@pytest.mark.parametrize("text", [1, None, b"x", 1.5, (), []], ids=repr)
def test_names_labels_and_tags_are_texts(text: Any) -> None:
    made: list[Callable[[], Program]] = [
        lambda: program(name=text or 1),
        lambda: program(Buffer(text, u32, Access.READ, binding=1)),
        lambda: program(output(LengthOf(text))),
        lambda: program(body=(Let(text, literal(u32, 1)),)),
        lambda: program(body=(Region(text, ()),)),
        lambda: program(body=(Trap(literal(u32, 1), text or 1),)),
    ]
    for make in made:
        with pytest.raises(VyreError, match="expected"):
            make().validate()


def test_trip_counts_are_not_bounded_by_the_machine() -> None:
    most = For("i", literal(u64, 0), literal(u64, 2**64 - 1), 1, ())
    assert most.trip_count == 2**64 - 1
    assert For("i", literal(u64, 0), literal(u64, 2**64 - 1), 3, ()).trip_count == (2**64 - 1) // 3
    assert For("i", literal(u64, 5), literal(u64, 5), 3, ()).trip_count == 0
    assert For("i", literal(u64, 7), literal(u64, 5), 3, ()).trip_count == 0
    assert For("i", literal(u64, 5), literal(u64, 9), 3, ()).trip_count == 2
    assert For("i", Id(IdKind.GLOBAL_ID), literal(u32, 9), 3, ()).trip_count is None
