"""The two tables of a program that the rest refers to: strings and buffers, each in the order of first use."""

from __future__ import annotations

from itertools import accumulate, pairwise

from vyre_foundation.dtype import DTYPES, dtype_of_tag
from vyre_foundation.errors import DeclarationError
from vyre_foundation.ir.buffer import RUNTIME, Buffer, Count, LengthOf, Memory, PerLaunch
from vyre_foundation.wire import format as f
from vyre_foundation.wire.errors import Malformed, NotCanonical
from vyre_foundation.wire.reader import Reader, refuse

DTYPE_TAGS = bytes([dtype.tag for dtype in DTYPES])
_PLACES = {tag: place for place, tag in f.BUFFERS.items()}
_PER = {tag: per for per, tag in f.PER.items()}
_COUNT_TAGS = bytes([f.FIXED, f.RUNTIME_LENGTH, f.LENGTH_OF, f.LENGTH_LESS, *_PER])


class StringTable:
    """The strings of a program; `read` gives those that a column refers to."""

    def __init__(self, reader: Reader) -> None:
        self._start = reader.at
        sizes = reader.numbers(reader.number())
        start = reader.at
        text = reader.take(sum(sizes))
        try:
            self._strings = [text[a:b].decode() for a, b in pairwise(accumulate(sizes, initial=0))]
        except UnicodeDecodeError as error:
            refuse(Malformed, start, "a string is not UTF-8", error)
        if len(set(self._strings)) < len(self._strings):
            refuse(NotCanonical, start, "the string table has a string twice")
        self._used = 0

    def read(self, reader: Reader, count: int) -> list[str]:
        """The strings that the next `count` numbers refer to."""
        start, strings, used = reader.at, self._strings, self._used
        references = reader.numbers(count)
        out = []
        for index, back in enumerate(references):
            if back > used or (back == 0 and used == len(strings)):
                refuse(Malformed, reader.offset(start, index), f"a reference to a string that is not there ({back})")
            out.append(strings[used - back])
            used += back == 0
        self._used = used
        return out

    def finish(self) -> None:
        """Refuse strings that nothing refers to."""
        if self._used < len(self._strings):
            refuse(NotCanonical, self._start, "the string table has a string that is not used")


class BufferTable:
    """The buffers of a program, the first `declared` of them its declarations; `read` gives those of a column."""

    def __init__(self, reader: Reader, strings: StringTable) -> None:
        self._start = reader.at
        declared, others = reader.number(), reader.number()
        if declared + others > len(reader.data) - reader.at:
            reader.take(declared + others)
        rows = [read_buffer(reader, strings) for _ in range(declared + others)]
        self.declared = tuple(rows[:declared])
        self._rows = rows
        self._first = {buffer: number for number, buffer in reversed(list(enumerate(rows)))}
        self._used = declared

    def read(self, reader: Reader, count: int) -> list[Buffer]:
        """The buffers that the next `count` numbers refer to."""
        start, rows = reader.at, self._rows
        numbers = reader.numbers(count)
        for number in dict.fromkeys(numbers):
            if number >= len(rows):
                offset = reader.offset(start, numbers.index(number))
                refuse(Malformed, offset, f"a reference to buffer {number} of {len(rows)}")
            if number > self._used or self._first[rows[number]] != number:
                offset = reader.offset(start, numbers.index(number))
                refuse(NotCanonical, offset, f"buffer {number} is not referred to by its first number, or too early")
            self._used += number == self._used
        return [rows[number] for number in numbers]

    def finish(self) -> None:
        """Refuse buffers that are neither declared nor used."""
        if self._used < len(self._rows):
            refuse(NotCanonical, self._start, "the buffer table has a buffer that is neither declared nor used")


def read_buffer(reader: Reader, strings: StringTable) -> Buffer:
    """One row."""
    start = reader.at
    memory, access = _PLACES[reader.tags(1, bytes(_PLACES), "buffer")[0]]
    (name,) = strings.read(reader, 1)
    dtype = dtype_of_tag(reader.tags(1, DTYPE_TAGS, "dtype")[0])
    binding = reader.number() if memory.is_bound else None
    count = read_count(reader, strings)
    data = output_range = None
    if memory is Memory.CONSTANT:
        data = reader.take(count * dtype.size if isinstance(count, int) else 0)
    elif memory is Memory.STORAGE and access.writes and (size := reader.number()):
        first = reader.number()
        output_range = first, first + size - 1
    try:
        return Buffer(name, dtype, access, memory, count, binding, data, output_range)
    except DeclarationError as error:
        refuse(Malformed, start, str(error), error)


def read_count(reader: Reader, strings: StringTable) -> Count:
    """Read the length of a buffer: fixed, of the launch, a rule, or elements for each workgroup or invocation."""
    tag = reader.tags(1, _COUNT_TAGS, "element count")[0]
    if tag == f.FIXED:
        return reader.number()
    if tag == f.RUNTIME_LENGTH:
        return RUNTIME
    if tag in (f.LENGTH_OF, f.LENGTH_LESS):
        (name,) = strings.read(reader, 1)
        start, (times, over, plus) = reader.at, reader.numbers(3)
        if tag == f.LENGTH_LESS and not plus:
            refuse(NotCanonical, start, "a length that is less by 0")
        return LengthOf(name, times, over, plus if tag == f.LENGTH_OF else -plus)
    return PerLaunch(_PER[tag], reader.number())
