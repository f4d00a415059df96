"""One expression as text, from the texts of its operands. Who calls decides which operands are names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from vyre_foundation.dtype import DType, bool_, u32
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Apply, Bitcast, Call, Cast, Expr, Id, Length, Literal, Load, Local, Select
from vyre_foundation.ops.signs import ATOM, COMPARE, INFIX, UNARY
from vyre_foundation.text.syntax import callee, default_type, name, number


class PrintedExpression(NamedTuple):
    """What stands for an expression: `tightness` says when it needs parentheses, `nodes` how much is written out."""

    text: str
    tightness: int
    nodes: int


class ExpressionWriter:
    """Writes expressions whose operands are in `texts`.

    `buffers` names the buffers. `locals` are the types of the locals declared so far: others have theirs written beside
    them, or none at all has if `locals` is None.
    """

    def __init__(self, buffers: Mapping[Buffer, str], locals: Mapping[str, DType] | None) -> None:
        self.texts: dict[Expr, PrintedExpression] = {}
        self._buffers, self._locals = buffers, locals

    def buffer(self, buffer: Buffer) -> str:
        """The name of a buffer, or another one where two share it."""
        return self._buffers.get(buffer) or name(buffer.name)

    def element(self, buffer: Buffer, index: Expr, checked: bool) -> str:
        """Print ``a[i]``."""
        return f"{self.buffer(buffer)}[{'' if checked else 'unchecked '}{self.typed(index, u32)}]"

    def typed(self, expr: Expr, expected: DType | None) -> str:
        """`expr` where a number without a type is taken to be of the type `expected` (None: of its default type)."""
        if not isinstance(expr, Literal):
            return self.texts[expr].text
        return _literal(expr, expected or default_type(expr))

    def group(self, operands: Sequence[Expr]) -> list[str]:
        """Operands beside each other: numbers without a type take the type of the first that has one."""
        numbers = [operand for operand in operands if isinstance(operand, Literal)]
        if len(numbers) < len(operands):
            anchor = next(operand.dtype for operand in operands if not isinstance(operand, Literal))
            return [self.typed(operand, anchor) for operand in operands]
        if any(literal.dtype is not numbers[0].dtype for literal in numbers):
            return [_literal(literal, None) for literal in numbers]
        return [self.typed(numbers[0], None), *map(number, numbers[1:])]

    def write(self, node: Expr) -> None:
        """Enter the text of `node`."""
        nodes = 1 + sum([self.texts[a].nodes for a in node.args])
        match node:
            case Literal():
                text, tightness = "", ATOM  # `typed` writes it, because it depends on the place
            case Local():
                text, tightness = name(node.name), ATOM
                if self._locals is not None and self._locals.get(node.name) is not node.dtype:
                    text += f":{node.dtype}"
            case Load():
                text, tightness = self.element(node.buffer, node.index, node.checked), ATOM
            case Length():
                text, tightness = f"len({self.buffer(node.buffer)})", ATOM
            case Id():
                text = f"{node.kind.value}.{'xyz'[node.axis]}" if node.kind.has_axis else f"{node.kind.value}()"
                tightness = ATOM
            case Apply():
                text, tightness = self._apply(node)
            case Select():
                arms = ", ".join(self.group(node.args[1:]))
                text, tightness = f"select({self.typed(node.condition, bool_)}, {arms})", ATOM
            case Cast():
                text = f"{node.dtype}({'' if node.checked else 'unchecked '}{self.typed(node.value, None)})"
                tightness = ATOM
            case Bitcast():
                text, tightness = f"bitcast<{node.dtype}>({self.typed(node.value, None)})", ATOM
            case Call():
                operands = ", ".join([self.typed(a, None) for a in node.args])
                text, tightness = f"call<{node.dtype}> {callee(node.callee)}({operands})", ATOM
        self.texts[node] = PrintedExpression(text, tightness, nodes)

    def _apply(self, node: Apply) -> tuple[str, int]:
        id, args = node.op.id, node.args
        operands = self.group(args)
        if id in INFIX:
            sign, tightness = INFIX[id]
            left = self._at_least(args[0], operands[0], tightness + (tightness == COMPARE))
            return f"{left} {sign} {self._at_least(args[1], operands[1], tightness + 1)}", tightness
        if id in ("neg", "not") and not isinstance(args[0], Literal):  # `-5` is a number
            sign = "-" if id == "neg" else "!" if node.dtype is bool_ else "~"
            return sign + self._at_least(args[0], operands[0], ATOM), UNARY
        return f"{id}({', '.join(operands)})", ATOM

    def _at_least(self, expr: Expr, text: str, tightness: int) -> str:
        return text if self.texts[expr].tightness >= tightness else f"({text})"


def _literal(literal: Literal, expected: DType | None) -> str:
    text = number(literal)
    return text if literal.dtype in (expected, bool_) else f"{text}:{literal.dtype}"
