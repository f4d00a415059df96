"""The head of a program: its name and shape, and its buffers."""

from __future__ import annotations

from vyre_foundation.errors import DeclarationError
from vyre_foundation.ir.buffer import RUNTIME, Buffer, Count, LengthOf, Per, PerLaunch
from vyre_foundation.text.cursor import Cursor
from vyre_foundation.text.syntax import BUFFER_WORDS
from vyre_foundation.text.tokens import Token, TokenKind


def shape(cursor: Cursor) -> tuple[int, int, int]:
    """``workgroup(64, 1, 1)``; sizes left out are 1."""
    token = cursor.expect("workgroup")
    cursor.expect("(")
    sizes = [cursor.integer()]
    while cursor.skip(","):
        sizes.append(cursor.integer())
    cursor.expect(")")
    if len(sizes) > 3:
        cursor.refuse(f"a workgroup got {len(sizes)} sizes, expected up to 3", "write workgroup(x, y, z)", token)
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def subgroup_size(cursor: Cursor) -> int | None:
    """``subgroup(32)``, or nothing."""
    if not cursor.skip("subgroup"):
        return None
    cursor.expect("(")
    size = cursor.integer()
    cursor.expect(")")
    return size


def is_declaration(cursor: Cursor) -> bool:
    """Whether the next token begins the declaration of a buffer."""
    return cursor.token.kind is TokenKind.WORD and cursor.token.text in (*BUFFER_WORDS, "undeclared")


def declaration(cursor: Cursor) -> tuple[str, Buffer]:
    """One buffer, and what the text calls it."""
    word = cursor.kind(TokenKind.WORD)
    if word.text not in BUFFER_WORDS:
        cursor.refuse(f"got {word}, expected a kind of buffer", f"use one of {' '.join(BUFFER_WORDS)}", word)
    memory, access = BUFFER_WORDS[word.text]
    name = cursor.name("a buffer")
    called = cursor.name("a buffer") if cursor.skip("as") else name
    cursor.expect(":")
    dtype = cursor.dtype()
    cursor.expect("[")
    count = _count(cursor)
    cursor.expect("]")
    binding = cursor.integer() if cursor.skip("@") else None
    output_range = _range(cursor) if cursor.skip("bytes") else None
    data = _data(cursor) if cursor.skip("=") else None
    cursor.expect(";")
    try:
        return called, Buffer(name, dtype, access, memory, count, binding, data, output_range)
    except DeclarationError as error:
        cursor.refuse_as(error, word)


def _count(cursor: Cursor) -> Count:
    """What stands between the brackets: nothing, a number, a rule over another buffer's length, or over the launch."""
    if cursor.is_at("]"):
        return RUNTIME
    if cursor.is_at("len") or cursor.is_at("ceil"):
        return _length_of(cursor)
    number = cursor.integer()
    if not cursor.skip("per"):
        return number
    per = cursor.kind(TokenKind.WORD)
    if per.text not in [p.value for p in Per]:
        cursor.refuse(f"got {per}, expected workgroup or invocation", "count per workgroup or per invocation", per)
    return PerLaunch(Per(per.text), number)


def _length_of(cursor: Cursor) -> LengthOf:
    """Parse ``len(a)``, ``len(a) - 1``, ``len(a) * 3 + 1`` or ``ceil(len(a) * 3 / 4) + 1``."""
    rounded = cursor.skip("ceil")
    if rounded:
        cursor.expect("(")
    cursor.expect("len")
    cursor.expect("(")
    buffer = cursor.name("a buffer")
    cursor.expect(")")
    times = cursor.integer() if cursor.skip("*") else 1
    over = 1
    if rounded:
        cursor.expect("/")
        over = cursor.integer()
        cursor.expect(")")
    plus = cursor.integer() if cursor.skip("+") else -cursor.integer() if cursor.skip("-") else 0
    return LengthOf(buffer, times, over, plus)


def _range(cursor: Cursor) -> tuple[int, int]:
    """Parse ``(start, stop)``."""
    cursor.expect("(")
    start = cursor.integer()
    cursor.expect(",")
    stop = cursor.integer()
    cursor.expect(")")
    return start, stop


def _data(cursor: Cursor) -> bytes:
    """Parse ``hex`` and strings of hexadecimal digits."""
    cursor.expect("hex")
    data = bytearray(_digits(cursor, cursor.kind(TokenKind.STRING)))
    while cursor.token.kind is TokenKind.STRING:
        data += _digits(cursor, cursor.take())
    return bytes(data)


def _digits(cursor: Cursor, token: Token) -> bytes:
    try:
        return bytes.fromhex(token.text)
    except ValueError:
        cursor.refuse("the string is not bytes in hexadecimal digits", "write two digits for each byte", token)
