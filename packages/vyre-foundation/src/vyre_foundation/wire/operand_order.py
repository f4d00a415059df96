"""In which order a commutative op has its operands, told from what they are and not from how they were built.

Operands of different kinds are ordered by kind, so that literals come last. Those of one kind are ordered by their own
fields, and where these are equal by a hash of all that is below them, which is the same for both orders of a
commutative op. Should two different operands have one hash, they keep their order: then two spellings of one program
may have two fingerprints, but two programs never have one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, NamedTuple
from zlib import crc32

from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.code import Code
from vyre_foundation.ir.expr import Apply, Bitcast, Call, Cast, Expr, Id, Length, Literal, Load, Local, Select
from vyre_foundation.ir.walk import postorder
from vyre_foundation.ops import OPS
from vyre_foundation.wire import format as f

COMMUTATIVE = frozenset(op for op in OPS.values() if all(op.laws_for(dtype).commutative for dtype in op.accepts))
_COMMUTATIVE_TAGS = [op.tag for op in COMMUTATIVE]

# Ops come before these, by their tags.
_KINDS = {Load: 256, Select: 257, Cast: 258, Bitcast: 259, Call: 260, Local: 261, Id: 262, Length: 263, Literal: 264}

_MASK = 2**64 - 1
_FACTOR = 0x9E3779B97F4A7C15


class OperandOrder(NamedTuple):
    """The applications of commutative ops whose operands are not known to be in order."""

    wrong: Set[Apply]
    """Their operands are in the other order."""
    undecided: Set[Apply]
    """Their operands are two, but look the same."""


def operand_order(made: Code, locals: Mapping[str, int], buffers: Sequence[Buffer]) -> OperandOrder:
    """What is not in order among the expressions of `made`; `locals` numbers its locals."""
    fields = _Fields(locals, buffers)
    wrong: set[Apply] = set()
    undecided: set[Apply] = set()
    for number in made.numbers_of(_COMMUTATIVE_TAGS).tolist():
        node = made.nodes[number]
        first, second = node.args
        kind = first.op.tag if first.__class__ is Apply else _KINDS[first.__class__]
        other = second.op.tag if second.__class__ is Apply else _KINDS[second.__class__]
        if kind > other:
            wrong.add(node)
        elif kind == other and first is not second:
            after = fields.difference(first, second)
            if after >= 0:
                (wrong if after else undecided).add(node)
    return OperandOrder(wrong, undecided)


class _Fields:
    """The order of operands of one kind."""

    def __init__(self, locals: Mapping[str, int], buffers: Sequence[Buffer]) -> None:
        self._locals = locals
        self._buffers = {buffer: number for number, buffer in enumerate(buffers)}
        self._hashes: dict[Expr, int] = {}
        self._hashed: set[Expr] = set()

    def difference(self, first: Expr, second: Expr) -> int:
        """Above 0 if `second` belongs before `first`, below 0 if it belongs behind, 0 if nothing tells."""
        if first.__class__ is not Apply:
            fields, others = self._fields(first), self._fields(second)
            if fields != others:
                return 1 if fields > others else -1
        return self._hash(first) - self._hash(second) if first.args else 0

    def _fields(self, node: Expr) -> tuple[int, ...]:
        """What tells `node` from others of its kind over the same operands."""
        match node:
            case Load():
                return self._buffers.get(node.buffer, -1), node.checked
            case Literal():
                return node.dtype.tag, node.bits
            case Local():
                number = self._locals.get(node.name)
                return node.dtype.tag, _number(node.name) if number is None else number
            case Id():
                return (f.IDS[node.kind, node.axis],)
            case Length():
                return (self._buffers.get(node.buffer, -1),)
            case Cast():
                return node.dtype.tag, node.checked
            case Bitcast():
                return (node.dtype.tag,)
            case Call():
                return node.dtype.tag, _number(node.callee)
        return ()

    def _hash(self, root: Expr) -> int:
        """A 64-bit hash of all that `root` is, the same on every machine and in every process."""
        hashes = self._hashes
        node: Any
        for node in postorder((root,), self._hashed):
            operands = [hashes[operand] for operand in node.args]
            if node.__class__ is Apply:
                state = node.op.tag
                if node.op in COMMUTATIVE:
                    operands.sort()
            else:
                state = _mixed(_KINDS[node.__class__], self._fields(node))
            hashes[node] = _mixed(state, operands)
        return hashes[root]


def _mixed(state: int, numbers: Iterable[int]) -> int:
    """`state` after `numbers`, in 64 bits: multiply and shift, so that their order counts.

    A state is a small number at first, and is spread out before it meets others: a local and a literal are then not the
    same because their kinds differ as their types do.
    """
    state = state * _FACTOR & _MASK
    for number in numbers:
        state = (state ^ number & _MASK) * _FACTOR & _MASK
        state ^= state >> 32
    return state


def _number(name: str) -> int:
    return crc32(name.encode(errors="surrogatepass"))
