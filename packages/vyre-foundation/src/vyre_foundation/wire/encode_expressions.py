"""Expressions to bytes: the code of a stack machine to columns."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from vyre_foundation.dtype import DTYPES, DType
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.code import NO_OP, Code
from vyre_foundation.ir.expr import Bitcast, Call, Cast, Expr, Id, Length, Literal, Load, Local, Select
from vyre_foundation.wire import format as f
from vyre_foundation.wire.varint import write_column

if TYPE_CHECKING:
    import numpy.typing as npt

    from vyre_foundation.wire.encode import Strings


class ExpressionColumns:
    """The fields of all expressions of `code`, in the order in which it makes them; made once for all encodings."""

    def __init__(self, code: Code) -> None:
        self.dtypes = bytearray()
        self.locals: list[str] = []
        self.buffers: list[Buffer] = []
        self.callees: list[str] = []
        self.arities: list[int] = []
        self.literals: dict[DType, list[int]] = {dtype: [] for dtype in DTYPES}
        tokens = bytearray(code.tags)
        for number in code.numbers_of((NO_OP,)).tolist():
            tokens[number] = self._other(code.nodes[number])
        self.tokens = interleave(tokens, code.reuses.at)
        self.references = write_column(code.reuses.back)

    def _other(self, node: Expr) -> int:
        """The token of an expression that is no op; its fields go to their columns."""
        match node:
            case Literal():
                self.dtypes.append(node.dtype.tag)
                self.literals[node.dtype].append(node.bits)
                return f.LITERAL
            case Local():
                self.dtypes.append(node.dtype.tag)
                self.locals.append(node.name)
                return f.LOCAL
            case Load():
                self.buffers.append(node.buffer)
                return f.LOAD if node.checked else f.LOAD_UNCHECKED
            case Length():
                self.buffers.append(node.buffer)
                return f.LENGTH
            case Id():
                return f.IDS[node.kind, node.axis]
            case Select():
                return f.SELECT
            case Cast():
                self.dtypes.append(node.dtype.tag)
                return f.CAST if node.checked else f.CAST_UNCHECKED
            case Bitcast():
                self.dtypes.append(node.dtype.tag)
                return f.BITCAST
            case Call():
                self.dtypes.append(node.dtype.tag)
                self.callees.append(node.callee)
                self.arities.append(len(node.args))
                return f.CALL
        raise AssertionError(f"{node!r} has no token")

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


def interleave(tokens: bytearray, reuses: npt.NDArray[np.int64]) -> bytes:
    """`tokens` with `REUSE` at each of the places `reuses` of the result."""
    made = np.ones(len(tokens) + len(reuses), np.bool_)
    made[reuses] = False
    out = np.full(len(made), f.REUSE, np.uint8)
    out[made] = np.frombuffer(tokens, np.uint8)
    return out.tobytes()
