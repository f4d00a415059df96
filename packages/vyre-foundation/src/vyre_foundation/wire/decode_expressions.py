"""Bytes to expressions: the stack machine of `format`."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from operator import length_hint

from vyre_foundation.dtype import DTYPES, DType, bool_, dtype_of_tag
from vyre_foundation.errors import TypeMismatch
from vyre_foundation.ir.expr import Bitcast, Call, Cast, Expr, Id, Length, Literal, Load, Local, Select, applied
from vyre_foundation.ops import OPS
from vyre_foundation.wire import format as f
from vyre_foundation.wire.decode_tables import DTYPE_TAGS, BufferTable, StringTable
from vyre_foundation.wire.errors import Malformed, NotCanonical
from vyre_foundation.wire.reader import Reader, only, refuse

_BY_TAG = {op.tag: op for op in OPS.values()}
_BINARY = [op if op is not None and op.arity == 2 else None for op in map(_BY_TAG.get, range(256))]
_IDS = {token: place for place, token in f.IDS.items()}
_WITH_DTYPE = bytes([f.LITERAL, f.LOCAL, f.CAST, f.CAST_UNCHECKED, f.BITCAST, f.CALL])
_WITH_BUFFER = bytes([f.LOAD, f.LOAD_UNCHECKED, f.LENGTH])
_KNOWN = bytes([f.REUSE, *_BY_TAG, *_IDS, *_WITH_DTYPE, *_WITH_BUFFER, f.SELECT])


class Machine:
    """The stack machine with its code and the columns that the tokens consume."""

    def __init__(self, reader: Reader, buffers: BufferTable, strings: StringTable) -> None:
        count = reader.number()
        self.start = reader.at
        self.tokens = tokens = reader.tags(count, _KNOWN, "expression")
        with_dtype = only(_WITH_DTYPE, tokens)
        dtypes = [*map(dtype_of_tag, reader.tags(len(with_dtype), DTYPE_TAGS, "dtype"))]
        literals = [dtype for dtype, token in zip(dtypes, with_dtype, strict=True) if token == f.LITERAL]
        references_at = reader.at
        references = reader.numbers(tokens.count(f.REUSE))
        if 0 in references:
            refuse(Malformed, reader.offset(references_at, references.index(0)), "a reuse of nothing")
        self.references = iter(references)
        self.dtypes = iter(dtypes)
        self.locals = iter(strings.read(reader, tokens.count(f.LOCAL)))
        self.callees = iter(strings.read(reader, tokens.count(f.CALL)))
        self.buffers = iter(buffers.read(reader, len(only(_WITH_BUFFER, tokens))))
        self.arities = iter(reader.numbers(tokens.count(f.CALL)))
        self.bits = {dtype: iter(read_bits(reader, dtype, literals.count(dtype))) for dtype in DTYPES}
        self.stack: list[Expr] = []
        self.made: list[Expr] = []

    def run(self) -> list[Expr]:
        """What the code leaves on the stack."""
        code = iter(self.tokens)
        try:
            self._run(code)
        except IndexError as error:
            refuse(Malformed, self._before(code), "a token pops or reuses an expression that is not there", error)
        except TypeMismatch as error:
            refuse(Malformed, self._before(code), f"an ill-typed expression: {error.message}", error)
        if len(set(self.made)) < len(self.made):
            refuse(NotCanonical, self.start, "two tokens make the same expression")
        return self.stack

    def _before(self, code: Iterator[int]) -> int:
        """The offset of the token that `code` gave last."""
        return self.start + len(self.tokens) - length_hint(code) - 1

    def _run(self, code: Iterator[int]) -> None:
        push, pop, made, make = self.stack.append, self.stack.pop, self.made, self.made.append
        references, reuse = self.references, f.REUSE
        top: Expr | None = None  # of the stack; the stack has the rest
        for token in code:
            op = _BINARY[token]
            if op is not None and top is not None:
                top = applied(op, (pop(), top))
            else:
                if top is not None:
                    push(top)
                if token == reuse:
                    top = made[-next(references)]
                    continue
                top = self._other(token)
            make(top)
        if top is not None:
            push(top)

    def _operands(self, count: int) -> list[Expr]:
        if count > len(self.stack):
            raise IndexError(count)
        cut = len(self.stack) - count
        operands = self.stack[cut:]
        del self.stack[cut:]
        return operands

    def _other(self, token: int) -> Expr:
        """The expression of a token that is no op of two operands, or lacks them."""
        op = _BY_TAG.get(token)
        if op is not None:
            return applied(op, tuple(self._operands(op.arity)))
        match token:
            case f.LITERAL:
                dtype = next(self.dtypes)
                return Literal(dtype, next(self.bits[dtype]))
            case f.LOCAL:
                return Local(next(self.locals), next(self.dtypes))
            case f.LOAD | f.LOAD_UNCHECKED:
                return Load(next(self.buffers), self.stack.pop(), checked=token == f.LOAD)
            case f.LENGTH:
                return Length(next(self.buffers))
            case f.SELECT:
                return Select(*self._operands(3))
            case f.CAST | f.CAST_UNCHECKED:
                return Cast(next(self.dtypes), self.stack.pop(), checked=token == f.CAST)
            case f.BITCAST:
                return Bitcast(next(self.dtypes), self.stack.pop())
            case f.CALL:
                return Call(next(self.callees), next(self.dtypes), *self._operands(next(self.arities)))
            case _:
                return Id(*_IDS[token])


def read_bits(reader: Reader, dtype: DType, count: int) -> tuple[int, ...]:
    """The literals of one type."""
    start = reader.at
    bits = struct.unpack(f"<{count}{f.UNSIGNED[dtype.size]}", reader.take(count * dtype.size))
    if dtype is bool_ and count and max(bits) > 1:
        refuse(NotCanonical, start + next(at for at, bit in enumerate(bits) if bit > 1), "a bool is neither 0 nor 1")
    return bits
