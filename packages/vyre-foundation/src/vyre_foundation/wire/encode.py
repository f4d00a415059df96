"""Programs to bytes. Read `format` first; what follows writes its sections from the head to the body."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable

from vyre_foundation.ir.argument import require
from vyre_foundation.ir.buffer import Buffer, LengthOf, PerLaunch
from vyre_foundation.ir.code import Code
from vyre_foundation.ir.expr import Expr
from vyre_foundation.ir.kinds import naming_wrong_kinds
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Let
from vyre_foundation.wire import format as f
from vyre_foundation.wire.digest import digest
from vyre_foundation.wire.encode_expressions import ExpressionColumns
from vyre_foundation.wire.encode_statements import StatementColumns
from vyre_foundation.wire.errors import Unencodable
from vyre_foundation.wire.varint import write_column


def encode(program: Program) -> bytes:
    """The wire form of `program`, also of one that the validator refuses; `Unencodable` if a field has no bytes."""
    require(encode, Program, program)
    with naming_wrong_kinds(program.name, program.body, Unencodable):
        return assemble(program, program.memoised(StatementColumns.of), program.code, str)


def encode_expr(expr: Expr) -> bytes:
    """The wire form of a program that evaluates `expr` and nothing else."""
    return encode(Program("", (), (1, 1, 1), (Let("", expr),)))


def assemble(program: Program, statements: StatementColumns, code: Code, rename: Callable[[str], str]) -> bytes:
    """The wire form of `program` with the body `statements`; `code` is that of what they evaluate."""
    expressions = code.memoised(ExpressionColumns)
    used = dict.fromkeys((*expressions.buffers, *statements.buffers))
    undeclared = used.keys() - set(program.buffers)
    rows = (*program.buffers, *[buffer for buffer in used if buffer in undeclared])
    numbers = {buffer: number for number, buffer in reversed(list(enumerate(rows)))}
    strings = Strings()
    try:
        sections = (
            head(program, strings),
            write_column((len(program.buffers), len(undeclared))),
            *[row(buffer, strings) for buffer in rows],
            expressions.to_bytes(numbers, strings, rename),
            statements.to_bytes(numbers, strings, rename),
        )
        payload = b"".join((strings.to_bytes(), *sections))
    except (OverflowError, UnicodeEncodeError) as error:
        raise Unencodable(
            f"program {program.name!r} has a number outside of 0 … 2**64 - 1, or a name that is not text ({error})",
            fix="validate the program: no valid one has such a field",
        ) from error
    return f.MAGIC + struct.pack("<H", f.VERSION) + digest(payload) + payload


class Strings(dict[str, int]):
    """The strings used so far, numbered in the order of their first use."""

    def reference(self, text: str) -> int:
        """What a use of `text` is written as: 0 if it is the first, else how many strings ago that was."""
        count = len(self)
        return count - self.setdefault(text, count)

    def references(self, texts: Iterable[str]) -> bytes:
        """Encode references to several strings as a column."""
        return write_column([*map(self.reference, texts)])

    def to_bytes(self) -> bytes:
        """Encode the table: the number of strings, their lengths in bytes, and their UTF-8."""
        encoded = [text.encode() for text in self]
        return write_column((len(encoded),)) + write_column([*map(len, encoded)]) + b"".join(encoded)


def head(program: Program, strings: Strings) -> bytes:
    """Encode what a program has besides its buffers and body: name, workgroup and subgroup size."""
    size = program.subgroup_size
    subgroup = 0 if size is None else size + 1 if size >= 0 else size  # a negative one is refused, not taken for none
    x, y, z = program.workgroup_size
    return write_column((strings.reference(program.name), x, y, z, subgroup))


def row(buffer: Buffer, strings: Strings) -> bytes:
    """One declaration."""
    out = [f.BUFFERS[buffer.memory, buffer.access], strings.reference(buffer.name), buffer.dtype.tag]
    if buffer.binding is not None:
        out.append(buffer.binding)
    match buffer.count:
        case LengthOf(name, times, over, plus):
            out += (f.LENGTH_OF if plus >= 0 else f.LENGTH_LESS, strings.reference(name), times, over, abs(plus))
        case PerLaunch(per, count):
            out += (f.PER[per], count)
        case int(count):
            out += (f.FIXED, count)
        case _:
            out.append(f.RUNTIME_LENGTH)
    if buffer.output_range is not None:
        start, stop = buffer.output_range
        out += (stop - start + 1, start)
    elif buffer.is_output:
        out.append(0)
    return write_column(out) + (buffer.data or b"")
