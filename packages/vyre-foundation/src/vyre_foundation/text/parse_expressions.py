"""Operands and operators to expressions, with a stack of its own: depth costs memory, not Python's stack."""

from __future__ import annotations

from typing import NamedTuple

from vyre_foundation.dtype import DType, u32
from vyre_foundation.errors import TypeMismatch
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Expr
from vyre_foundation.ops import OPS, Op
from vyre_foundation.ops.signs import COMPARE, INFIX, UNARY
from vyre_foundation.text.parse_operands import Opened, Operand, OperandParser
from vyre_foundation.text.tokens import Token, TokenKind

_INFIX = {sign: (OPS[id], tightness) for id, (sign, tightness) in INFIX.items()}
_PREFIX = {"-": OPS["neg"], "!": OPS["not"], "~": OPS["not"]}


class _Operator(NamedTuple):
    """An operator that waits for its last operand."""

    token: Token
    op: Op
    tightness: int


class _Bracket(NamedTuple):
    """An open bracket; what stands inside are the values from `first` on."""

    opened: Opened
    first: int


class ExpressionParser(OperandParser):
    """Reads whole expressions."""

    def expression(self, expected: DType | None = None) -> Expr:
        """The expression here; a number without a type is of type `expected`, if that is given."""
        return self.typed(self.operand(), expected)

    def bounds(self) -> tuple[Expr, Expr]:
        """Parse ``start..stop``; a number takes the type of the other bound."""
        start = self.operand()
        self.cursor.expect("..")
        first, last = self.group([start, self.operand()])
        return first, last

    def element(self) -> tuple[Buffer, Expr, bool]:
        """``buffer[index]``, and whether it is checked."""
        buffer = self.buffer()
        self.cursor.expect("[")
        checked = not self.cursor.skip("unchecked")
        index = self.expression(u32)
        self.cursor.expect("]")
        return buffer, index, checked

    def operand(self) -> Operand:
        """What stands here, up to the first token that does not go on with it."""
        values: list[Operand] = []
        waiting: list[_Operator | _Bracket] = []
        while True:
            if self._begin(values, waiting) and not self._go_on(values, waiting):
                return values[0]

    def _begin(self, values: list[Operand], waiting: list[_Operator | _Bracket]) -> bool:
        """Take a whole operand, or what may stand before one; tell whether it was whole."""
        token = self.cursor.token
        top = waiting[-1] if waiting else None
        if isinstance(top, _Bracket) and len(values) == top.first and self.cursor.is_at(top.opened.closer):
            self._close(values, waiting)
            return True
        if token.kind is TokenKind.SIGN and token.text in _PREFIX:
            self.cursor.take()
            if token.text == "-" and self.is_at_number():
                values.append(self.number(negative=True))
                return True
            waiting.append(_Operator(token, _PREFIX[token.text], UNARY))
            return False
        start = self.start()
        if isinstance(start, Opened):
            waiting.append(_Bracket(start, len(values)))
            return False
        values.append(start)
        return True

    def _go_on(self, values: list[Operand], waiting: list[_Operator | _Bracket]) -> bool:
        """Behind a whole operand, take what asks for another one; tell whether there was such a thing."""
        while True:
            token = self.cursor.token
            if token.kind is TokenKind.SIGN and token.text in _INFIX:
                self._infix(values, waiting)
                return True
            self._reduce(values, waiting, 0)
            if not waiting:
                return False
            if self.cursor.skip(","):
                return True
            self._close(values, waiting)

    def _infix(self, values: list[Operand], waiting: list[_Operator | _Bracket]) -> None:
        token = self.cursor.take()
        op, tightness = _INFIX[token.text]
        self._reduce(values, waiting, tightness + (tightness == COMPARE))
        if tightness == COMPARE and waiting and isinstance(waiting[-1], _Operator):
            self.cursor.refuse(f"got {token} behind a comparison", "put one of the two between parentheses", token)
        waiting.append(_Operator(token, op, tightness))

    def _reduce(self, values: list[Operand], waiting: list[_Operator | _Bracket], tightness: int) -> None:
        """Apply the operators at the end that bind at least so tightly."""
        while waiting and isinstance(top := waiting[-1], _Operator) and top.tightness >= tightness:
            waiting.pop()
            operands = values[-top.op.arity :]
            del values[-top.op.arity :]
            try:
                values.append(self.apply(top.op, operands))
            except TypeMismatch as error:
                self.cursor.refuse_as(error, top.token)

    def _close(self, values: list[Operand], waiting: list[_Operator | _Bracket]) -> None:
        """Go past the closer of the innermost bracket and make its value."""
        bracket = waiting.pop()
        assert isinstance(bracket, _Bracket)
        opened, first = bracket
        if not self.cursor.is_at(opened.closer):
            fix = f"close what {opened.token} opens"
            self.cursor.refuse(f"got {self.cursor.token}, expected an operator, `,` or `{opened.closer}`", fix)
        self.cursor.take()
        inside = values[first:]
        del values[first:]
        try:
            values.append(opened.finish(inside))
        except TypeMismatch as error:
            self.cursor.refuse_as(error, opened.token)
