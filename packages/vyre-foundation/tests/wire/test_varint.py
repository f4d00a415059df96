"""Numbers: shortest form, every size, and what the readers refuse."""

import pytest
from hypothesis import given, strategies as st

from vyre_foundation.wire import NotCanonical, Truncated
from vyre_foundation.wire.varint import read_column, read_number, write_column

EDGES = [edge for bits in range(0, 64, 7) for edge in (2**bits - 1, 2**bits, 2**bits + 1)] + [2**64 - 1]
numbers = st.one_of(st.integers(0, 2**64 - 1), st.sampled_from(EDGES), st.integers(0, 300))


def leb128(number: int) -> bytes:
    """As the format's description has it."""
    groups = [number >> shift & 0x7F for shift in range(0, max(number.bit_length(), 1), 7)]
    return bytes([group | 0x80 for group in groups[:-1]] + groups[-1:])


@given(st.lists(numbers))
def test_a_column_is_its_numbers_one_after_the_other(column: list[int]) -> None:
    data = write_column(column)
    assert data == b"".join(map(leb128, column))
    found, end = read_column(b"--" + data + b"\x80", 2, len(column))
    assert (found.tolist(), end) == (column, 2 + len(data))


@pytest.mark.parametrize("number", EDGES)
def test_one_number(number: int) -> None:
    data = leb128(number)
    assert write_column([number]) == data
    assert read_number(b"-" + data + b"\xff", 1) == (number, 1 + len(data))


@pytest.mark.parametrize("number", [-1, 2**64, 2**70])
def test_no_form_for_other_integers(number: int) -> None:
    with pytest.raises(OverflowError):
        write_column([1, number])


# fmt: off
REFUSED = [
    (b"\x80\x00",         0, NotCanonical),  # 0 in two bytes
    (b"\xff\x80\x00",     0, NotCanonical),  # 127 in three
    (b"\x05\x81\x00",     1, NotCanonical),
    (b"\xff" * 9 + b"\x02", 0, NotCanonical),  # 2**64
    (b"\xff" * 10 + b"\x01", 0, NotCanonical),
    (b"\x80" * 30,        0, NotCanonical),
    (b"\x05" + b"\x80" * 30 + b"\x01", 1, NotCanonical),
    (b"",                 0, Truncated),
    (b"\x80",             0, Truncated),
    (b"\x80" * 9,         0, Truncated),
    (b"\x05\xff\xff",     1, Truncated),
]
# fmt: on


@pytest.mark.parametrize(("data", "offset", "error"), REFUSED)
def test_refused(data: bytes, offset: int, error: type[Exception]) -> None:
    with pytest.raises(error, match=r"Fix: .+") as column:
        read_column(data + b"\x01" * 20 if error is NotCanonical else data, 0, offset + 1)
    assert column.value.fields["offset"] == offset
    with pytest.raises(error, match=rf"offset {offset}: .*Fix: .+"):
        read_number(data, offset)


def test_a_column_is_not_longer_than_the_bytes_that_are_left() -> None:
    with pytest.raises(Truncated, match="4000000000 numbers were announced, 2 bytes are left"):
        read_column(b"\x01\x02", 0, 4_000_000_000)


def test_numbers_after_the_column_do_not_matter() -> None:
    found, end = read_column(b"\x81\x01\x02\x80\x00", 0, 2)
    assert (found.tolist(), end) == ([129, 2], 3)
