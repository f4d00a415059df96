"""Expressions to bytes: the code of a stack machine to columns."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from vyre_foundation.dtype import DTYPES, DType
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.code import Code
from vyre_foundation.ir.expr import Bitcast, Call, Cast, Expr, Id, Length, Literal, Load, Local, Select
from vyre_foundation.wire import format as f
from vyre_foundation.wire.varint import write_column

if TYPE_CHECKING:
    import numpy.typing as npt

    from vyre_foundation.wire.encode import Strings


class ExpressionColumns:
    """The fields of all expressions of `code`, in the order in which it makes them; made once for all encodings."""

    def __init__(self, code: Code) -> None:
        self.dtypes = bytes([node.dtype.tag for node in in_order(code, Literal, Local, Cast, Bitcast, Call)])
        self.locals = [node.name for node in code.of(Local)]
        self.buffers: list[Buffer] = [node.buffer for node in in_order(code, Load, Length)]
        self.callees = [node.callee for node in code.of(Call)]
        self.arities = [len(node.args) for node in code.of(Call)]
        self.literals: dict[DType, list[int]] = {dtype: [] for dtype in DTYPES}
        for node in code.of(Literal):
            self.literals[node.dtype].append(node.bits)
        tokens = np.frombuffer(bytearray(code.tags), np.uint8)
        for kind, numbers in code.numbers_by_kind.items():
            tokens[numbers] = [*map(_TOKENS[kind], code.of(kind))]
        self.tokens = interleave(tokens, code.reuses.at)
        self.references = write_column(code.reuses.back)

    def to_bytes(self, numbers: Mapping[Buffer, int], strings: Strings, rename: Callable[[str], str]) -> bytes:
        """The section, with buffers written as their `numbers`."""
        columns = (
            write_column((len(self.tokens),)),
            self.tokens,
            bytes(self.dtypes),
            self.references,
            strings.references(map(rename, self.locals)),
            strings.references(self.callees),
            write_column([numbers[buffer] for buffer in self.buffers]),
            write_column(self.arities),
            *[struct.pack(f"<{len(bits)}{f.UNSIGNED[dtype.size]}", *bits) for dtype, bits in self.literals.items()],
        )
        return b"".join(columns)


_TOKENS: dict[type[Expr], Callable[[Any], int]] = {
    Literal: lambda node: f.LITERAL,
    Local: lambda node: f.LOCAL,
    Load: lambda node: f.LOAD if node.checked else f.LOAD_UNCHECKED,
    Length: lambda node: f.LENGTH,
    Id: lambda node: f.IDS[node.kind, node.axis],
    Select: lambda node: f.SELECT,
    Cast: lambda node: f.CAST if node.checked else f.CAST_UNCHECKED,
    Bitcast: lambda node: f.BITCAST,
    Call: lambda node: f.CALL,
}


def in_order(code: Code, *kinds: type[Expr]) -> list[Any]:
    """The expressions of these kinds in the order of `code`."""
    numbers = chain.from_iterable(code.numbers_by_kind.get(kind, ()) for kind in kinds)
    return [code.nodes[number] for number in sorted(numbers)]


def interleave(tokens: npt.NDArray[np.uint8], reuses: npt.NDArray[np.int64]) -> bytes:
    """`tokens` with `REUSE` at each of the places `reuses` of the result."""
    made = np.ones(len(tokens) + len(reuses), np.bool_)
    made[reuses] = False
    out = np.full(len(made), f.REUSE, np.uint8)
    out[made] = tokens
    return out.tobytes()
