"""Programs as text. `parse(print_program(p)) == p` for every program, also for one that the validator refuses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from vyre_foundation.dtype import DType, u32
from vyre_foundation.ir.argument import require
from vyre_foundation.ir.buffer import RUNTIME, Buffer, Count, LengthOf, PerLaunch
from vyre_foundation.ir.expr import Expr, Length, Load
from vyre_foundation.ir.kinds import naming_wrong_kinds
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import (
    Assign,
    Atomic,
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
    Stmt,
    Store,
    Subgroup,
    Trap,
    Var,
)
from vyre_foundation.ir.walk import expressions, program_expressions
from vyre_foundation.ops.signs import ATOM
from vyre_foundation.text.print_expressions import ExpressionWriter, PrintedExpression
from vyre_foundation.text.syntax import BUFFER_WORDS, name, quoted

REPEATABLE = 3
"""A shared expression of up to this many nodes is written out at each use; a larger one gets a name."""
LONGEST = 32
"""An operand of more nodes gets a name, so that lines stay short and parentheses shallow."""

Lines: TypeAlias = "Iterator[str | Lines]"
"""Lines, and what is nested between them."""

_WORD_OF = {place: word for word, place in BUFFER_WORDS.items()}


def print_program(program: Program) -> str:
    """The text form of `program`, one statement a line; `DeclarationError` for fields of another kind than declared."""
    require(print_program, Program, program)
    with naming_wrong_kinds(program.name, program.body):
        return "\n".join(_Printer(program).lines()) + "\n"


class _Printer:
    def __init__(self, program: Program) -> None:
        nodes = program_expressions(program)
        self.program = program
        self.uses = Counter(a for node in nodes for a in node.args)
        self.uses.update(e for s in program.statements for e in expressions(s))
        self.undeclared = _undeclared(program, nodes)
        self.names = _buffer_names((*program.buffers, *self.undeclared))
        self.locals: dict[str, DType] = {}
        self.defined: dict[Expr, PrintedExpression] = {}
        self.writer = ExpressionWriter(self.names, self.locals)

    def lines(self) -> Iterator[str]:
        """Every line; what an unchecked program nests may be deeper than Python's stack."""
        stack = [self.parts()]
        while stack:
            part = next(stack[-1], None)
            if part is None:
                stack.pop()
            elif isinstance(part, str):
                yield part
            else:
                stack.append(part)

    def parts(self) -> Lines:
        p = self.program
        subgroup = "" if p.subgroup_size is None else f" subgroup({p.subgroup_size})"
        yield f"program {name(p.name)} workgroup({', '.join(map(str, p.workgroup_size))}){subgroup} {{"
        for buffer in p.buffers:
            yield from self.declaration(buffer, "")
        for buffer in self.undeclared:
            yield from self.declaration(buffer, "undeclared ")
        if self.names and p.body:
            yield ""
        yield self.body(p.body, "  ")
        yield "}"

    def declaration(self, buffer: Buffer, before: str) -> list[str]:
        called = self.names[buffer]
        alias = "" if called == name(buffer.name) else f" as {called}"
        line = f"  {before}{_WORD_OF[buffer.memory, buffer.access]} {name(buffer.name)}{alias}: {buffer.dtype}"
        line += f"[{count(buffer.count)}]"
        if buffer.binding is not None:
            line += f" @{buffer.binding}"
        if buffer.output_range is not None:
            line += " bytes({}, {})".format(*buffer.output_range)
        if buffer.data is None:
            return [line + ";"]
        rows = [f'    "{buffer.data[at : at + 32].hex()}"' for at in range(0, len(buffer.data), 32)] or ['    ""']
        return [line + " = hex", *rows[:-1], rows[-1] + ";"]

    def body(self, body: Body, indent: str) -> Lines:
        for stmt in body:
            yield self.statement(stmt, indent)

    def statement(self, stmt: Stmt, indent: str) -> Lines:
        for line in self.definitions(expressions(stmt)):
            yield indent + line
        match stmt:
            case If():
                yield self.conditional(stmt, indent, "")
            case For():
                start, stop = self.writer.group((stmt.start, stmt.stop))
                step = "" if stmt.step == 1 else f" step {stmt.step}"
                self.locals[stmt.name] = stmt.start.dtype
                yield f"{indent}for {name(stmt.name)} in {start}..{stop}{step} {{"
                yield self.body(stmt.body, indent + "  ")
                yield indent + "}"
            case Region():
                yield f"{indent}region {quoted(stmt.label, chr(34))} {{"
                yield self.body(stmt.body, indent + "  ")
                yield indent + "}"
            case _:
                yield f"{indent}{self.simple(stmt)};"

    def conditional(self, stmt: If, indent: str, before: str) -> Lines:
        """``if`` and its branches; the condition is written."""
        yield f"{indent}{before}if {self.writer.typed(stmt.condition, None)} {{"
        yield self.body(stmt.then, indent + "  ")
        match stmt.orelse:
            case ():
                yield indent + "}"
            case (If() as nested,):
                definitions = self.definitions((nested.condition,))
                if not definitions:
                    yield self.conditional(nested, indent, "} else ")
                    return
                yield indent + "} else {"
                yield from (f"{indent}  {line}" for line in definitions)
                yield self.conditional(nested, indent + "  ", "")
                yield indent + "}"
            case _:
                yield indent + "} else {"
                yield self.body(stmt.orelse, indent + "  ")
                yield indent + "}"

    def simple(self, stmt: Stmt) -> str:
        """A statement without a body. Its expressions are written."""
        w = self.writer
        match stmt:
            case Let() | Var():
                value = w.typed(stmt.value, None)
                self.locals[stmt.name] = stmt.value.dtype
                return f"{'let' if isinstance(stmt, Let) else 'var'} {name(stmt.name)} = {value}"
            case Assign():
                return f"{name(stmt.name)} = {w.typed(stmt.value, self.locals.get(stmt.name))}"
            case Store():
                return f"{w.element(stmt.buffer, stmt.index, stmt.checked)} = {w.typed(stmt.value, stmt.buffer.dtype)}"
            case Atomic():
                operands = [w.element(stmt.buffer, stmt.index, stmt.checked), w.typed(stmt.value, stmt.buffer.dtype)]
                if stmt.expected is not None:
                    operands.append(f"expected = {w.typed(stmt.expected, stmt.buffer.dtype)}")
                text = f"atomic {stmt.op.value}({', '.join(operands)})"
                return self.bound(stmt.result, stmt.buffer.dtype) + text
            case Subgroup():
                operands = [w.typed(stmt.value, None)] + ([] if stmt.lane is None else [w.typed(stmt.lane, u32)])
                text = f"subgroup {stmt.op.value}({', '.join(operands)})"
                return self.bound(stmt.result, stmt.op.result_type(stmt.value.dtype)) + text
            case Trap():
                return f"trap({w.typed(stmt.code, u32)}, {quoted(stmt.tag, chr(34))})"
            case IndirectDispatch():
                return f"indirect_dispatch {w.buffer(stmt.buffer)}[{stmt.offset}]"
            case Barrier():
                return f"barrier {stmt.scope.value}"
            case Break():
                return "break"
            case Continue():
                return "continue"
            case Return():
                return "return"
        raise AssertionError(f"{stmt!r} has a body")

    def bound(self, result: str | None, dtype: DType) -> str:
        if result is None:
            return ""
        self.locals[result] = dtype
        return f"let {name(result)} = "

    def definitions(self, roots: Iterable[Expr]) -> list[str]:
        """Write `roots`; gives the lines that name what is shared or large in them."""
        texts = self.writer.texts = {}
        lines = []
        for root in roots:
            stack = [root]
            while stack:
                node = stack[-1]
                if node in texts:
                    stack.pop()
                elif node in self.defined:
                    texts[node] = self.defined[node]
                elif todo := [a for a in node.args if a not in texts]:
                    stack.extend(reversed(todo))
                else:
                    self.writer.write(node)
                    size = texts[node].nodes
                    is_shared = size > REPEATABLE and self.uses[node] > 1
                    if is_shared or (size > LONGEST and node is not root):
                        defined = PrintedExpression(f"%{len(self.defined)}", ATOM, 1)
                        lines.append(f"{defined.text} = {texts[node].text};")
                        texts[node] = self.defined[node] = defined
        return lines


def format_expr(expr: Expr, limit: int = 32) -> str:
    """`expr` on one line, for messages: the outermost nodes, about `limit` of them, the rest as ``…``."""
    near = _nearest(expr, limit)
    writer = ExpressionWriter({}, None)
    stack = [expr]
    while stack:
        node = stack[-1]
        if node in writer.texts:
            stack.pop()
        elif node not in near:
            writer.texts[node] = PrintedExpression("…", ATOM, 1)
        elif todo := [a for a in node.args if a not in writer.texts]:
            stack.extend(reversed(todo))
        else:
            writer.write(node)
            if writer.texts[node].nodes > limit and node is not expr:
                writer.texts[node] = PrintedExpression("…", ATOM, 1)
    return writer.typed(expr, None)


def _nearest(root: Expr, limit: int) -> dict[Expr, None]:
    """About `limit` expressions under `root`, those with the fewest steps from it."""
    near = {root: None}
    queue = [root]
    for node in queue:
        if len(near) >= limit:
            break
        queue.extend(dict.fromkeys(a for a in node.args if a not in near))
        near.update(dict.fromkeys(node.args))
    return near


def count(rule: Count) -> str:
    """An element count, as it stands between the brackets of a declaration."""
    match rule:
        case LengthOf(buffer, times, over, plus):
            scaled = f"len({name(buffer)})" + (f" * {times}" if times != 1 else "")
            scaled = scaled if over == 1 else f"ceil({scaled} / {over})"
            return scaled + (f" {'+' if plus > 0 else '-'} {abs(plus)}" if plus else "")
        case PerLaunch(per, number):
            return f"{number} per {per.value}"
        case _:
            return "" if rule is RUNTIME else str(rule)


def describe_buffer(buffer: Buffer) -> str:
    """Describe a buffer in one line, as messages and `repr` do: ``<storage out: write u32[len(a)]>``."""
    return f"<{buffer.memory.value} {buffer.name}: {buffer.access.value} {buffer.dtype}[{count(buffer.count)}]>"


def _undeclared(program: Program, nodes: Iterable[Expr]) -> tuple[Buffer, ...]:
    """The buffers that are used without being declared, which only an invalid program does."""
    used = dict.fromkeys(n.buffer for n in nodes if isinstance(n, (Load, Length)))
    acting = (s for s in program.statements if isinstance(s, (Store, Atomic, IndirectDispatch)))
    used |= dict.fromkeys(s.buffer for s in acting)
    return tuple(b for b in used if b not in program.buffers)


def _buffer_names(buffers: Iterable[Buffer]) -> dict[Buffer, str]:
    """What the text calls each buffer: its name, or an alias where an earlier one has the same name."""
    names: dict[Buffer, str] = {}
    taken: set[str] = set()
    for buffer in dict.fromkeys(buffers):
        called, number = buffer.name, 1
        while called in taken:
            number += 1
            called = f"{buffer.name}_{number}"
        taken.add(called)
        names[buffer] = name(called)
    return names
