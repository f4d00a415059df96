"""Bytes to expressions: the stack machine of `format`."""

from __future__ import annotations

import struct
from itertools import islice

import numpy as np

from vyre_foundation.dtype import DTYPES, DType, bool_, dtype_of_tag
from vyre_foundation.errors import TypeMismatch
from vyre_foundation.ir.code import Code
from vyre_foundation.ir.expr import (
    Apply,
    Bitcast,
    Call,
    Cast,
    Expr,
    Id,
    Length,
    Literal,
    Load,
    Local,
    Select,
)
from vyre_foundation.ops import OPS
from vyre_foundation.wire import format as f
from vyre_foundation.wire.decode_tables import DTYPE_TAGS, BufferTable, StringTable
from vyre_foundation.wire.errors import Malformed, NotCanonical
from vyre_foundation.wire.reader import Reader, only, refuse
from vyre_foundation.wire.stack import Stack

_BY_TAG = {op.tag: op for op in OPS.values()}
_BINARY = [op if op is not None and op.arity == 2 else None for op in map(_BY_TAG.get, range(256))]
_IDS = {token: place for place, token in f.IDS.items()}
_WITH_DTYPE = bytes([f.LITERAL, f.LOCAL, f.CAST, f.CAST_UNCHECKED, f.BITCAST, f.CALL])
_WITH_BUFFER = bytes([f.LOAD, f.LOAD_UNCHECKED, f.LENGTH])
_KNOWN = bytes([f.REUSE, *_BY_TAG, *_IDS, *_WITH_DTYPE, *_WITH_BUFFER, f.SELECT])
_ARITIES = np.zeros(256, np.int64)
_ARITIES[[f.LOAD, f.LOAD_UNCHECKED, f.CAST, f.CAST_UNCHECKED, f.BITCAST]] = 1
_ARITIES[f.SELECT] = 3
_ARITIES[list(_BY_TAG)] = [op.arity for op in _BY_TAG.values()]


class StackMachine:
    """The stack machine with its code and the columns that the tokens consume."""

    def __init__(self, reader: Reader, buffers: BufferTable, strings: StringTable) -> None:
        count = reader.number()
        self._start = reader.at
        tokens = reader.tags(count, _KNOWN, "expression")
        with_dtype = only(_WITH_DTYPE, tokens)
        dtypes = [*map(dtype_of_tag, reader.tags(len(with_dtype), DTYPE_TAGS, "dtype"))]
        literals = [dtype for dtype, token in zip(dtypes, with_dtype, strict=True) if token == f.LITERAL]
        references_at = reader.at
        references = reader.column(tokens.count(f.REUSE))
        if not references.all():
            refuse(Malformed, reader.offset(references_at, int(references.argmin())), "a reuse of nothing")
        self._dtypes = iter(dtypes)
        self._locals = iter(strings.read(reader, tokens.count(f.LOCAL)))
        self._callees = iter(strings.read(reader, tokens.count(f.CALL)))
        self._buffers = iter(buffers.read(reader, len(only(_WITH_BUFFER, tokens))))
        arguments = reader.column(tokens.count(f.CALL))
        self._bits = {dtype: iter(read_bits(reader, dtype, literals.count(dtype))) for dtype in DTYPES}

        kinds = np.frombuffer(tokens, np.uint8)
        arities = _ARITIES[kinds]
        arities[kinds == f.CALL] = np.minimum(arguments, count + 1)
        self._stack = Stack(self._start, arities, np.flatnonzero(kinds == f.REUSE), references)
        self._new = tokens.translate(None, bytes([f.REUSE]))
        self._arities = iter(arguments.tolist())
        self._inner = iter(self._stack.inner_operands.tolist())

    def run(self) -> tuple[Code, list[Expr]]:
        """The code, and its roots: what it leaves on the stack."""
        made: list[Expr] = []
        stack = self._stack
        try:
            self._make(made)
        except TypeMismatch as error:
            refuse(
                Malformed, self._start + int(stack.makes[len(made)]), f"an ill-typed expression: {error.message}", error
            )
        if len(set(made)) < len(made):
            refuse(NotCanonical, self._start, "two tokens make the same expression")
        left = stack.roots
        roots = [made[number] for number in stack.pushes[left].tolist()]
        return Code(made, stack.pushes, stack.made[left].tolist()), roots

    def _make(self, made: list[Expr]) -> None:
        """Make all expressions, each from those before it."""
        make, binary_ops = made.append, _BINARY
        firsts, lasts = self._stack.first_operands.data, self._stack.last_operands.data
        for token, first, last in zip(self._new, firsts, lasts, strict=True):
            op = binary_ops[token]
            make(self._other(token, made, first, last) if op is None else Apply(op, made[first], made[last]))

    def _operands(self, made: list[Expr], count: int, first: int, last: int) -> tuple[Expr, ...]:
        numbers = (first, *islice(self._inner, count - 2), last) if count > 1 else (first,)[:count]
        return tuple([made[number] for number in numbers])

    def _other(self, token: int, made: list[Expr], first: int, last: int) -> Expr:
        """The expression of a token that is no op of two operands."""
        match token:
            case f.LITERAL:
                dtype = next(self._dtypes)
                return Literal(dtype, next(self._bits[dtype]))
            case f.LOAD | f.LOAD_UNCHECKED:
                return Load(next(self._buffers), made[first], checked=token == f.LOAD)
            case f.LOCAL:
                return Local(next(self._locals), next(self._dtypes))
            case f.LENGTH:
                return Length(next(self._buffers))
            case f.SELECT:
                return Select(*self._operands(made, 3, first, last))
            case f.CAST | f.CAST_UNCHECKED:
                return Cast(next(self._dtypes), made[first], checked=token == f.CAST)
            case f.BITCAST:
                return Bitcast(next(self._dtypes), made[first])
            case f.CALL:
                operands = self._operands(made, next(self._arities), first, last)
                return Call(next(self._callees), next(self._dtypes), *operands)
        op = _BY_TAG.get(token)
        if op is None:
            return Id(*_IDS[token])
        return Apply(op, *self._operands(made, op.arity, first, last))


def read_bits(reader: Reader, dtype: DType, count: int) -> tuple[int, ...]:
    """The literals of one type."""
    start = reader.at
    bits = struct.unpack(f"<{count}{f.UNSIGNED[dtype.size]}", reader.take(count * dtype.size))
    if dtype is bool_ and count and max(bits) > 1:
        refuse(NotCanonical, start + next(at for at, bit in enumerate(bits) if bit > 1), "a bool is neither 0 nor 1")
    return bits
