"""Tokens to operands: what stands beside operators, and the expressions that operands make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from typing import NoReturn

from vyre_foundation.dialects.registry import registered_ops
from vyre_foundation.dtype import DType, bool_, u32
from vyre_foundation.errors import LiteralOutOfRange
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Apply, Bitcast, Call, Cast, Expr, Id, IdKind, Length, Literal, Load, Local, Select
from vyre_foundation.ops import OPS, Op
from vyre_foundation.text.cursor import DTYPES_BY_NAME, Cursor
from vyre_foundation.text.numbers import UntypedNumber
from vyre_foundation.text.tokens import Token, TokenKind, shortened

Operand = Expr | UntypedNumber
"""An expression, or a number that waits for its type."""

Finish = Callable[[Sequence[Operand]], Operand]

_ID_KINDS = {kind.value: kind for kind in IdKind}


@dataclass(frozen=True, slots=True)
class Opened:
    """Behind an opening bracket: operands follow up to `closer`, and `finish` makes one of them all."""

    token: Token
    closer: str
    finish: Finish


_ELSEWHERE = {
    "&": "write one `&`, which combines conditions too",
    "|": "write one `|`, which combines conditions too",
    "*": "write a value here; a power is `call<f32> math.pow(x, y)`",
    "/": "write a value here; comments extend from `//` or `#` to the end of the line",
    ".": "write a digit before the point, as in 0.5",
}
"""What to write instead of signs of other languages, where an operand should begin."""
_EFFECTS = {"atomic": "add(b[i], x)", "subgroup": "reduce_add(x)"}
"""The statements that give a result, each with an example."""


@dataclass(slots=True)
class OperandParser:
    """Reads operands at `cursor`. `buffers`, `locals` and `definitions` say what the names stand for so far."""

    cursor: Cursor
    buffers: dict[str, Buffer] = field(default_factory=dict)
    locals: dict[str, DType] = field(default_factory=dict)
    definitions: dict[int, Expr] = field(default_factory=dict)

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def start(self) -> Operand | Opened:
        """A whole operand, or the beginning of one, up to its opening bracket."""
        cursor, token = self.cursor, self.cursor.token
        if self.is_at_number():
            return self.number(negative=False)
        if cursor.skip("("):
            return Opened(token, ")", partial(self.only, token))
        if cursor.skip("%"):
            return self._definition(token)
        if token.kind is TokenKind.WORD:
            return self._word(token, token.text)
        if token.kind is TokenKind.NAME:
            return self._named(token)
        fix = _ELSEWHERE.get(token.text, "write a value here") if token.kind is TokenKind.SIGN else "write a value here"
        if token.kind is TokenKind.STRING:
            fix = "write a number: only labels and tags are texts"
        cursor.refuse(f"got {token}, expected an expression", fix)

    def _word(self, token: Token, word: str) -> Operand | Opened:
        """Names of ops and the like mean something only before their bracket, so that locals may have them too."""
        following = self.cursor.following
        if word in ("true", "false"):
            self.cursor.take()
            return Literal(bool_, word == "true")
        if word in _EFFECTS:
            fix = f"bind its result before, as in `let old = {word} {_EFFECTS[word]};`, and write `old` here"
            self.cursor.refuse(f"got the statement {token}, expected an expression", fix)
        if word in DTYPES_BY_NAME:
            return self._cast(token)
        if word == "bitcast":
            return self._bitcast(token)
        if word == "call":
            return self._call(token)
        if word in _ID_KINDS and following == ("." if _ID_KINDS[word].has_axis else "("):
            return self._id(_ID_KINDS[word])
        if following == "(" and word == "len":
            return self._length()
        if following == "(" and word == "select":
            return self._function(token, partial(self._select, token))
        if following == "(" and word in OPS:
            return self._function(token, partial(self.apply, OPS[word]))
        return self._named(token)

    def _function(self, token: Token, finish: Finish) -> Opened:
        self.cursor.take()
        self.cursor.expect("(")
        return Opened(token, ")", finish)

    def _cast(self, token: Token) -> Opened:
        dtype = self.cursor.dtype()
        self.cursor.expect("(", f"write `{dtype}(…)` around the value")
        checked = not self.cursor.skip("unchecked")
        return Opened(token, ")", lambda args: Cast(dtype, self.typed(self.only(token, args)), checked=checked))

    def _bitcast(self, token: Token) -> Opened:
        self.cursor.take()
        dtype = self._angles("write the type between angles, as in `bitcast<f32>(…)`")
        self.cursor.expect("(")
        return Opened(token, ")", lambda args: Bitcast(dtype, self.typed(self.only(token, args))))

    def _call(self, token: Token) -> Opened:
        self.cursor.take()
        dtype = self._angles("write the type of the result between angles, as in `call<f32> math.exp(…)`")
        callee = self.cursor.kind(TokenKind.NAME if self.cursor.token.kind is TokenKind.NAME else TokenKind.WORD).text
        while self.cursor.skip("."):
            callee += "." + self.cursor.kind(TokenKind.WORD).text
        self.cursor.expect("(")
        return Opened(token, ")", lambda args: Call(callee, dtype, *map(self.typed, args)))

    def _angles(self, fix: str) -> DType:
        self.cursor.expect("<", fix)
        dtype = self.cursor.dtype()
        self.cursor.expect(">")
        return dtype

    def _id(self, kind: IdKind) -> Expr:
        self.cursor.take()
        if not kind.has_axis:
            self.cursor.expect("(")
            self.cursor.expect(")")
            return Id(kind)
        self.cursor.expect(".")
        axis = self.cursor.kind(TokenKind.WORD)
        if axis.text not in ("x", "y", "z"):
            self.cursor.refuse(f"got {axis}, expected an axis", "write x, y or z", axis)
        return Id(kind, "xyz".index(axis.text))

    def _length(self) -> Expr:
        self.cursor.take()
        self.cursor.expect("(")
        length = Length(self.buffer())
        self.cursor.expect(")")
        return length

    def _named(self, token: Token) -> Operand | Opened:
        """A local, or an element of a buffer."""
        if self.cursor.following == "[":
            buffer = self.buffer()
            self.cursor.expect("[")
            checked = not self.cursor.skip("unchecked")
            return Opened(
                token, "]", lambda args: Load(buffer, self.typed(self.only(token, args), u32), checked=checked)
            )
        name = self.cursor.name("a local")
        if self.cursor.skip(":"):
            return Local(name, self.cursor.dtype())
        if name not in self.locals:
            self._refuse_unknown(token, name)
        return Local(name, self.locals[name])

    def _refuse_unknown(self, token: Token, name: str) -> NoReturn:
        """Say what the name that was read, which no local has, may stand for instead."""
        called = shortened(name)
        if name in _ID_KINDS:
            fix = f"write {name}.x" if _ID_KINDS[name].has_axis else f"write {name}()"
            self.cursor.refuse(f"{token} alone is no value", fix, token)
        if name == "not":
            self.cursor.refuse(
                f"no local is called {token}", "write `!` before a condition, `~` before an integer", token
            )
        if self.cursor.is_at("("):
            near = get_close_matches(name, ["len", "select", *OPS], 1)
            fix = "write an op of the table, or call<type> before an op of a dialect"
            if own := [row.id for row in registered_ops() if row.id.partition(".")[2] == name]:
                fix = f"write `call<f32> {own[0]}(…)`, or another type between the angles"
            elif name == "range":
                fix = "write `start..stop`"
            elif near:
                fix = f"write `{near[0]}`, if that is meant"
            self.cursor.refuse(f"no op is called {token}", fix, token)
        if name in self.buffers:
            self.cursor.refuse(f"{token} is a buffer, expected a value", f"write an element: {called}[index]", token)
        near = get_close_matches(called, self.locals, 1)
        fix = "declare it before this line: in a program by `let` or `var`, in an op of a dialect under `params`"
        if near:
            fix = f"write `{near[0]}`, if that is meant"
        self.cursor.refuse(f"no local is called {token}", fix, token)

    def buffer(self) -> Buffer:
        """The buffer whose name is here."""
        token = self.cursor.token
        name = self.cursor.name("a buffer")
        if name not in self.buffers:
            self.cursor.refuse(f"no buffer is called {token}", "declare it at the top of the program", token)
        return self.buffers[name]

    def _definition(self, token: Token) -> Expr:
        number = self.cursor.integer()
        if number not in self.definitions:
            self.cursor.refuse(f"%{number} is not defined", f"write %{number} = … before", token)
        return self.definitions[number]

    # ── numbers ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def is_at_number(self) -> bool:
        """Whether the next token is a number, ``inf`` or ``nan``."""
        token = self.cursor.token
        return token.kind is TokenKind.NUMBER or (token.kind is TokenKind.WORD and token.text in ("inf", "nan"))

    def number(self, *, negative: bool) -> Operand:
        """The number here; one with a type is an expression."""
        token = self.cursor.take()
        payload = None
        if token.text == "nan" and self.cursor.skip("("):
            payload = self.cursor.integer()
            self.cursor.expect(")")
        self.cursor.refuse_suffix(token)
        number = UntypedNumber(token, negative, payload)
        return self.typed(number, self.cursor.dtype()) if self.cursor.skip(":") else number

    def typed(self, operand: Operand, expected: DType | None = None) -> Expr:
        """`operand`; a number is of the type `expected`, or of its default type."""
        if isinstance(operand, Expr):
            return operand
        try:
            return operand.literal(expected or operand.default)
        except LiteralOutOfRange as error:
            self.cursor.refuse_as(error, operand.token)

    def group(self, operands: Sequence[Operand]) -> list[Expr]:
        """Operands beside each other: numbers take the type of the first that has one, or of the first number."""
        anchor = next((operand.dtype for operand in operands if isinstance(operand, Expr)), None)
        if anchor is None and operands:
            anchor = self.typed(operands[0]).dtype
        return [self.typed(operand, anchor) for operand in operands]

    # ── making ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def apply(self, op: Op, operands: Sequence[Operand]) -> Expr:
        """Apply `op`; numbers among the operands take the type of the others."""
        return Apply(op, *self.group(operands))

    def _select(self, token: Token, operands: Sequence[Operand]) -> Expr:
        if len(operands) != 3:
            self.cursor.refuse(
                f"select got {len(operands)} operands, expected 3", "write select(condition, a, b)", token
            )
        return Select(self.typed(operands[0], bool_), *self.group(operands[1:]))

    def only(self, token: Token, operands: Sequence[Operand]) -> Operand:
        """The one operand between brackets."""
        if len(operands) != 1:
            self.cursor.refuse(f"got {len(operands)} operands, expected one", "write one expression", token)
        return operands[0]
