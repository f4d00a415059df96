"""Bytes to programs. Any bytes give the one program whose wire form they are, or a `WireError`, in linear time."""

from __future__ import annotations

from vyre_foundation.ir.expr import Expr
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Let
from vyre_foundation.wire import format as f
from vyre_foundation.wire.decode_expressions import StackMachine
from vyre_foundation.wire.decode_statements import StatementReader
from vyre_foundation.wire.decode_tables import BufferTable, StringTable
from vyre_foundation.wire.digest import digest
from vyre_foundation.wire.errors import (
    BadMagic,
    DigestMismatch,
    Malformed,
    TrailingBytes,
    Truncated,
    UnsupportedVersion,
)
from vyre_foundation.wire.reader import Reader, bytes_of


def decode(data: bytes | bytearray | memoryview) -> Program:
    """The program whose wire form is `data`; it is not validated."""
    data = bytes_of(data, "decode", "pass the bytes of `encode`; `parse` reads text")
    reader = Reader(data, check_header(data))
    strings = StringTable(reader)
    (name,) = strings.read(reader, 1)
    x, y, z, subgroup = reader.numbers(4)
    buffers = BufferTable(reader, strings)
    code, roots = StackMachine(reader, buffers, strings).run()
    body = StatementReader(reader, buffers, strings, roots).run()
    strings.finish()
    buffers.finish()
    if reader.at < len(data):
        raise TrailingBytes(
            f"{len(data) - reader.at} bytes follow the end of the program",
            fix="give exactly the bytes of one program",
            where=f"offset {reader.at}",
            offset=reader.at,
        )
    program = Program(name, buffers.declared, (x, y, z), body, subgroup - 1 if subgroup else None)
    return program.with_code(code)


def decode_expr(data: bytes) -> Expr:
    """The expression whose bytes `encode_expr` gave."""
    body = decode(data).body
    if len(body) != 1 or not isinstance(body[0], Let):
        raise Malformed("the bytes are of a program, not of an expression", fix="read them with `decode`", offset=0)
    return body[0].value


def check_header(data: bytes) -> int:
    """Where the payload starts, once magic, version and digest are right."""
    if data[:4] != f.MAGIC[: len(data)]:
        raise BadMagic(
            f"got {data[:4]!r}, expected {f.MAGIC!r}", fix="give the bytes of `encode`", where="offset 0", offset=0
        )
    if len(data) < f.HEADER_SIZE:
        raise Truncated(
            f"got {len(data)} bytes, a header has {f.HEADER_SIZE}",
            fix="give the whole program",
            where=f"offset {len(data)}",
            offset=len(data),
        )
    if data[4:6] == b"\0C":
        raise BadMagic(
            f"got {data[:6]!r}, expected {f.MAGIC!r} and a version: these are the bytes of a compiled program",
            fix="give the bytes of `encode`",
            where="offset 4",
            offset=4,
        )
    version = int.from_bytes(data[4:6], "little")
    if version != f.VERSION:
        raise UnsupportedVersion(
            f"got version {version}, expected {f.VERSION}",
            fix="decode it with the version of the library that wrote it, and encode it again",
            where="offset 4",
            offset=4,
        )
    if data[6 : f.HEADER_SIZE] != digest(data[f.HEADER_SIZE :]):
        raise DigestMismatch(
            "the bytes do not have the digest that the header gives",
            fix="get the bytes again from where they came",
            where="offset 6",
            offset=6,
        )
    return f.HEADER_SIZE
