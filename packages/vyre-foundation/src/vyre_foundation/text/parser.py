"""Text to programs: the program and its statements."""

from __future__ import annotations

from collections.abc import Callable

from vyre_foundation.dtype import u32
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import (
    MAX_NESTING,
    Assign,
    Atomic,
    AtomicOp,
    Barrier,
    Body,
    Break,
    Continue,
    For,
    If,
    IndirectDispatch,
    Let,
    Region,
    Return,
    Scope,
    Stmt,
    Store,
    Subgroup,
    SubgroupOp,
    Trap,
    Var,
)
from vyre_foundation.ops.signs import COMPARE, INFIX
from vyre_foundation.text.cursor import Cursor
from vyre_foundation.text.errors import TextError
from vyre_foundation.text.parse_declarations import declaration, is_declaration, shape, subgroup_size
from vyre_foundation.text.parse_expressions import ExpressionParser
from vyre_foundation.text.syntax import BUFFER_WORDS, RESERVED, STATEMENT_WORDS
from vyre_foundation.text.tokens import TokenKind, shortened

_COMPUTING = frozenset(sign for sign, tightness in INFIX.values() if tightness != COMPARE)
"""Signs that other languages write before the `=` of an assignment."""
_ELSEWHERE = {
    "while": "count with `for`, which `break` leaves: every loop ends",
    "elif": "write `else if`",
    ";": "delete it: statements are not empty",
    "{": 'write `region "label"` before it',
}
"""What to write instead of statements of other languages."""
_PLAIN: dict[str, Callable[[], Stmt]] = {"break": Break, "continue": Continue, "return": Return}


def program_in(text: str) -> Program:
    """The program that `text` writes, or `TextError`."""
    cursor = Cursor(text)
    try:
        return _program(cursor)
    except TextError:
        raise
    except VyreError as error:  # what a constructor refuses
        cursor.refuse_as(error, cursor.token)


def _program(cursor: Cursor) -> Program:
    cursor.expect("program")
    name = cursor.name("a program")
    workgroup_size, subgroup = shape(cursor), subgroup_size(cursor)
    parser = StatementParser(cursor)
    cursor.expect("{")
    declared = parser.declarations()
    body = parser.rest_of_body()
    if cursor.token.kind is not TokenKind.END:
        cursor.refuse(f"got {cursor.token} behind the program", "delete what stands behind its last brace")
    return Program(name, declared, workgroup_size, body, subgroup)


class StatementParser:
    """Reads declarations and statements at `cursor`."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.expressions = ExpressionParser(cursor)
        self.depth = 0

    def declarations(self) -> tuple[Buffer, ...]:
        """All buffers; those that the program declares."""
        declared = []
        known = self.expressions.buffers
        while is_declaration(self.cursor):
            is_undeclared = self.cursor.skip("undeclared")
            token = self.cursor.token
            called, buffer = declaration(self.cursor)
            if known.setdefault(called, buffer) is not buffer:
                self.cursor.refuse(
                    f"two buffers are called {shortened(called)}", "write `as` another name behind its name", token
                )
            if not is_undeclared:
                declared.append(buffer)
        return tuple(declared)

    def body(self) -> Body:
        """Parse ``{ … }``."""
        self.cursor.expect("{")
        self.depth += 1
        body = self.rest_of_body()
        self.depth -= 1
        return body

    def rest_of_body(self) -> Body:
        """Statements up to and with the closing brace."""
        body: list[Stmt] = []
        while not self.cursor.skip("}"):
            if self.cursor.token.kind is TokenKind.END:
                self.cursor.expect("}")
            if self.cursor.is_at("%"):
                self.definition()
            else:
                body.append(self.statement())
        return tuple(body)

    def definition(self) -> None:
        """Parse ``%0 = expression;``, which names a shared expression."""
        token = self.cursor.take()
        number = self.cursor.integer()
        self.cursor.expect("=")
        if number in self.expressions.definitions:
            self.cursor.refuse(f"%{number} is defined twice", "give every definition a number of its own", token)
        self.expressions.definitions[number] = self.expressions.expression()
        self.cursor.expect(";")

    def statement(self) -> Stmt:
        """Parse one statement with its bodies; nesting is bounded by `MAX_NESTING`."""
        if self.depth > MAX_NESTING:
            self.cursor.refuse(f"a statement is inside of more than {MAX_NESTING} others", "nest less, or use `select`")
        word = self.cursor.token.text if self.cursor.token.kind is TokenKind.WORD else ""
        match word:
            case "if":
                return self.conditional()
            case "for":
                return self.loop()
            case "region":
                self.cursor.take()
                label = self.cursor.kind(TokenKind.STRING).text
                return Region(label, self.body())
        stmt = self.simple(word)
        self.cursor.expect(";", "write the type before the value, as in u32(x)" if self.cursor.is_at("as") else "")
        return stmt

    def conditional(self) -> If:
        """Parse ``if c { … } else if d { … } else { … }``."""
        self.cursor.expect("if")
        condition = self.expressions.expression()
        then = self.body()
        if not self.cursor.skip("else"):
            return If(condition, then)
        if not self.cursor.is_at("if"):
            return If(condition, then, self.body())
        self.depth += 1
        orelse = self.statement()
        self.depth -= 1
        return If(condition, then, (orelse,))

    def loop(self) -> For:
        """Parse ``for i in start..stop step k { … }``."""
        self.cursor.expect("for")
        if self.cursor.is_at("("):
            fix = "write `for i in start..stop { … }`, without parentheses"
            self.cursor.refuse(f"got {self.cursor.token}, expected the name of a local", fix)
        name = self.cursor.name("a local")
        self.cursor.expect("in")
        start, stop = self.expressions.bounds()
        step = self.cursor.integer() if self.cursor.skip("step") else 1
        self.expressions.locals[name] = start.dtype
        return For(name, start, stop, step, self.body())

    def simple(self, word: str) -> Stmt:
        """A statement without a body, up to its semicolon."""
        cursor, expressions = self.cursor, self.expressions
        match word:
            case "let":
                return self.let()
            case "var":
                return self.var()
            case "atomic":
                return self.atomic(None)
            case "subgroup":
                return self.subgroup(None)
            case "break" | "continue" | "return":
                cursor.take()
                return _PLAIN[word]()
            case "barrier":
                cursor.take()
                return Barrier(Scope(self.one_of([scope.value for scope in Scope], "a scope")))
            case "trap":
                return self.trap()
            case "indirect_dispatch":
                cursor.take()
                buffer = expressions.buffer()
                cursor.expect("[")
                offset = cursor.integer()
                cursor.expect("]")
                return IndirectDispatch(buffer, offset)
        if cursor.following == "[":
            buffer, index, checked = expressions.element()
            self.equals(f"{shortened(buffer.name)}[…]")
            return Store(buffer, index, expressions.expression(buffer.dtype), checked)
        if word in BUFFER_WORDS:
            cursor.refuse("got a declaration behind a statement", "declare all buffers before the first statement")
        if word in RESERVED or (word and cursor.following in ("(", "")):
            fix = f"write `name = value`, or begin with one of {' '.join(sorted(STATEMENT_WORDS - {'else'}))}"
            kind, _, op = word.partition("_")
            if kind in ("atomic", "subgroup") and op:
                fix = f"write `{kind} {op}`"
            fix = _ELSEWHERE.get(word, fix)
            cursor.refuse(f"no statement begins with {cursor.token}", fix)
        if cursor.token.text in (";", "{") and cursor.token.kind is TokenKind.SIGN:
            cursor.refuse(f"no statement begins with {cursor.token}", _ELSEWHERE[cursor.token.text])
        name = cursor.name("a local or buffer")
        self.equals(shortened(name))
        return Assign(name, expressions.expression(expressions.locals.get(name)))

    def equals(self, target: str) -> None:
        """Go past the sign between `target` and its value."""
        sign = self.cursor.token
        if sign.text in _COMPUTING and sign.kind is TokenKind.SIGN:
            self.cursor.refuse(
                f"got {sign}, expected `=`", f"write it in full, as in {target} = {target} {sign.text} …"
            )
        self.cursor.expect("=")

    def let(self) -> Stmt:
        """``let x = expression``, or the result of an atomic or a collective."""
        name = self.declared()
        if self.cursor.is_at("atomic"):
            return self.atomic(name)
        if self.cursor.is_at("subgroup"):
            return self.subgroup(name)
        value = self.expressions.expression()
        self.expressions.locals[name] = value.dtype
        return Let(name, value)

    def declared(self) -> str:
        """``let x =``, up to the value; gives the name."""
        self.cursor.take()
        name = self.cursor.name("a local")
        typed = "leave the type away, which is that of the value: a number states it behind itself, as in 1:u32"
        self.cursor.expect("=", typed if self.cursor.is_at(":") else "")
        return name

    def var(self) -> Var:
        """Parse ``var x = expression``."""
        name = self.declared()
        value = self.expressions.expression()
        self.expressions.locals[name] = value.dtype
        return Var(name, value)

    def atomic(self, result: str | None) -> Atomic:
        """Parse ``atomic add(a[i], value)``, with ``expected = e`` behind the value."""
        self.cursor.take()
        op = AtomicOp(self.one_of([op.value for op in AtomicOp], "an atomic"))
        self.cursor.expect("(")
        buffer, index, checked = self.expressions.element()
        self.cursor.expect(",")
        value = self.expressions.expression(buffer.dtype)
        expected = None
        if self.cursor.skip(","):
            self.cursor.expect("expected", "write `expected =` before the value that is replaced")
            self.cursor.expect("=")
            expected = self.expressions.expression(buffer.dtype)
        self.cursor.expect(")")
        if result is not None:
            self.expressions.locals[result] = buffer.dtype
        return Atomic(op, buffer, index, value, expected, result, checked)

    def subgroup(self, result: str | None) -> Subgroup:
        """Parse ``subgroup shuffle(value, lane)``."""
        self.cursor.take()
        op = SubgroupOp(self.one_of([op.value for op in SubgroupOp], "a collective"))
        self.cursor.expect("(")
        value = self.expressions.expression()
        lane = self.expressions.expression(u32) if self.cursor.skip(",") else None
        self.cursor.expect(")")
        if result is not None:
            self.expressions.locals[result] = op.result_type(value.dtype)
        return Subgroup(op, value, lane, result)

    def trap(self) -> Trap:
        """Parse ``trap(code, "tag")``."""
        self.cursor.take()
        self.cursor.expect("(")
        code = self.expressions.expression(u32)
        self.cursor.expect(",")
        tag = self.cursor.kind(TokenKind.STRING).text
        self.cursor.expect(")")
        return Trap(code, tag)

    def one_of(self, words: list[str], what: str) -> str:
        """Parse one of some words; the message for another lists them."""
        if self.cursor.token.kind is not TokenKind.WORD or self.cursor.token.text not in words:
            self.cursor.refuse(f"got {self.cursor.token}, expected {what}", f"use one of {' '.join(words)}")
        return self.cursor.take().text
