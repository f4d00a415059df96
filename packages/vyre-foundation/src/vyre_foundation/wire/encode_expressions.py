"""Expressions to bytes: a graph to the code of a stack machine, and that to columns."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Set
from typing import TYPE_CHECKING, Any

import numpy as np

from vyre_foundation.dtype import DTYPES, DType
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Apply, Bitcast, Call, Cast, Expr, Id, Length, Literal, Load, Local, Select
from vyre_foundation.wire import format as f
from vyre_foundation.wire.varint import write_column

if TYPE_CHECKING:
    from vyre_foundation.wire.encode import Strings


class ExpressionColumns:
    """The fields of all expressions under `roots`, in the order of the code that makes them.

    Those that are in `swapped` have their two operands the other way round.
    """

    def __init__(self, roots: Iterable[Expr], swapped: Set[Expr]) -> None:
        made, reused_after, self.references = stack_code(roots, swapped)
        self.dtypes = bytearray()
        self.locals: list[str] = []
        self.buffers: list[Buffer] = []
        self.callees: list[str] = []
        self.arities: list[int] = []
        self.literals: dict[DType, list[int]] = {dtype: [] for dtype in DTYPES}
        self.tokens = interleave(self._tokens(made), reused_after)

    def _tokens(self, made: Iterable[Any]) -> bytes:
        other = self._other
        return bytes([node.op.tag if node.__class__ is Apply else other(node) for node in made])

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
            write_column(self.references),
            strings.references(map(rename, self.locals)),
            strings.references(self.callees),
            write_column([numbers[buffer] for buffer in self.buffers]),
            write_column(self.arities),
            *[struct.pack(f"<{len(bits)}{f.UNSIGNED[dtype.size]}", *bits) for dtype, bits in self.literals.items()],
        )
        return b"".join(columns)


def stack_code(roots: Iterable[Expr], swapped: Set[Expr]) -> tuple[Iterable[Expr], list[int], list[int]]:
    """What a stack machine does to push all of `roots`: the expressions it makes, in order, and its reuses.

    A reuse is the number of expressions that are made before it, and how many expressions ago the reused one was made.
    """
    made: dict[Expr, int] = {}
    reused_after: list[int] = []
    references: list[int] = []
    unfinished: list[Expr] = []
    places: list[int] = []  # how many operands of each unfinished expression are pushed
    for root in roots:
        if root in made:
            reused_after.append(len(made))
            references.append(len(made) - made[root])
            continue
        node, place = root, 0
        operands = root.args if root not in swapped else root.args[::-1]
        while True:
            for operand in operands:
                place += 1
                if operand in made:
                    count = len(made)
                    reused_after.append(count)
                    references.append(count - made[operand])
                elif below := operand.args:
                    unfinished.append(node)
                    places.append(place)
                    node, place = operand, 0
                    operands = below if operand not in swapped else below[::-1]
                    break
                else:
                    made[operand] = len(made)
            else:
                made[node] = len(made)
                if not unfinished:
                    break
                node, place = unfinished.pop(), places.pop()
                operands = node.args[place:] if node not in swapped else node.args[::-1][place:]
    return made, reused_after, references


def interleave(tokens: bytes, reused_after: list[int]) -> bytes:
    """`tokens` with `REUSE` after as many of them as `reused_after` says, each time."""
    if not reused_after:
        return tokens
    return np.insert(np.frombuffer(tokens, np.uint8), reused_after, f.REUSE).tobytes()
