"""Statements as lines, with the place that each line came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from vyre_driver.codegen.c.carried import carrying_loops
from vyre_driver.codegen.c.literals import spell
from vyre_driver.codegen.c.names import Names
from vyre_driver.codegen.c.values import Values, without_brackets
from vyre_driver.codegen.dialect import CDialect
from vyre_driver.codegen.placement import Life, place
from vyre_driver.legalization.lowered import RARE
from vyre_driver.legalization.text_forms import CallForm
from vyre_foundation.dialects.lowering import TextModule
from vyre_foundation.dtype import DType
from vyre_foundation.ir.expr import Expr, Literal, Local
from vyre_foundation.ir.interrupt import visited
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import (
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
    Stmt,
    Store,
    Subgroup,
    Trap,
    Var,
)  # fmt: skip
from vyre_foundation.ir.walk import expressions, postorder, statements

_SHORT = 2000
"""Operations of a loop that is written out."""


class Lines:
    """Lines of text with their indentation, and the place of each."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.places: list[str] = []
        self.place = ""
        self._indent = ""

    def add(self, line: str) -> None:
        """Append a line at the current indentation; an empty one stays empty."""
        self.lines.append(self._indent + line if line else "")
        self.places.append(self.place)

    def open(self, line: str) -> None:
        """A line that begins a block."""
        self.add(f"{line} {{")
        self._indent += "    "

    def close(self, line: str = "}") -> None:
        """End a block: indent less by one level, and append `line`."""
        self._indent = self._indent[:-4]
        self.add(line)

    def reopen(self, line: str) -> None:
        """The end of one block and the beginning of the next."""
        self._indent = self._indent[:-4]
        self.open(line)


def print_body(
    program: Program,
    dialect: CDialect,
    lines: Lines,
    names: Names,
    symbols: Mapping[Expr, str],
    arrays: Mapping[str, str],
    texts: Mapping[CallForm, TextModule],
) -> None:
    """The statements of a kernel. `symbols` name atoms, `arrays` buffers, and `texts` define calls."""
    _Statements(program, dialect, lines, names, symbols, arrays, texts).body(program.body, "body")


class _Statements:
    def __init__(
        self,
        program: Program,
        dialect: CDialect,
        lines: Lines,
        names: Names,
        symbols: Mapping[Expr, str],
        arrays: Mapping[str, str],
        texts: Mapping[CallForm, TextModule],
    ) -> None:
        self._dialect, self._lines, self._symbols, self._kernel = dialect, lines, symbols, program.name
        self._serial = carrying_loops(program) if dialect.serial_loop else frozenset()
        placement = place(program)
        self._early = placement.early
        self._number = 0
        self._rare = 0
        self._values = Values(dialect, placement, symbols, arrays, texts, names.temporary, lines.add)

    def body(self, body: Body, path: str) -> None:
        for position, stmt in enumerate(body):
            visited()
            self._place(path, position)
            for node in self._early.get(self._number, ()):
                self._values.text(node)
            self._number += 1
            self._stmt(stmt, f"{path}[{position}]")

    def _place(self, path: str, position: int) -> None:
        self._lines.place = f"{self._kernel} {path}[{position}]"

    def _stmt(self, stmt: Stmt, path: str) -> None:
        add = self._lines.add
        match stmt:
            case Let(name, value):
                self._declare("const ", name, value.dtype, self._text(value))
            case Var(name, value):
                self._declare("", name, value.dtype, self._text(value))
            case Assign(name, value):
                add(f"{self._word(name, value.dtype)} = {self._text(value)};")
                self._values.known.forget(Life.UNTIL_ASSIGN)
            case Store(buffer, index, value):
                element = self._values.element(buffer.name, index)
                add(f"{element} = {self._text(value)};")
                self._values.known.forget(Life.UNTIL_WRITE)
            case Atomic():
                self._atomic(stmt)
            case Subgroup():
                self._subgroup(stmt)
            case Barrier(scope):
                add(self._dialect.barriers[scope])
                self._values.known.forget(Life.UNTIL_WRITE)
            case If():
                self._if(stmt, path)
            case For():
                self._for(stmt, path)
            case Region(label, body) if label == RARE:
                self._rare += 1
                self.body(body, f"{path}.body")
                self._rare -= 1
                if self._dialect.rare_end and not isinstance(body[-1], For):  # nothing joins loops
                    add(self._dialect.rare_end)
            case Region(_, body):
                self.body(body, f"{path}.body")
            case Break():
                add("break;")
            case Continue():
                add("continue;")
            case Return():
                add("return;")
            case Trap() | IndirectDispatch():
                raise AssertionError(f"{type(stmt).__name__} is not in legalized programs")

    def _text(self, value: Expr) -> str:
        return without_brackets(self._values.text(value))

    def _word(self, name: str, dtype: DType) -> str:
        return self._symbols[Local(name, dtype)]

    def _declare(self, qualifier: str, name: str, dtype: DType, value: str) -> None:
        self._lines.add(f"{qualifier}{self._dialect.types[dtype]} {self._word(name, dtype)} = {value};")

    def _atomic(self, stmt: Atomic) -> None:
        element = self._values.element(stmt.buffer.name, stmt.index)
        operands = [self._values.text(stmt.value)]
        if stmt.expected is not None:
            operands.append(self._values.text(stmt.expected))
        dtype = stmt.buffer.dtype
        self._result(stmt.result, dtype, self._atomic_template(stmt).format(element, *operands))
        self._values.known.forget(Life.UNTIL_WRITE)

    def _atomic_template(self, stmt: Atomic) -> str:
        dtype = stmt.buffer.dtype
        if stmt.op is AtomicOp.EXCHANGE and stmt.result is None and dtype in self._dialect.atomic_stores:
            return self._dialect.atomic_stores[dtype]
        return self._dialect.atomics[stmt.op, dtype]

    def _subgroup(self, stmt: Subgroup) -> None:
        dtype = stmt.value.dtype
        operands = [self._values.text(x) for x in (stmt.value, stmt.lane) if x is not None]
        call = self._dialect.subgroups[stmt.op, dtype].format(*operands)
        self._result(stmt.result, stmt.op.result_type(dtype), call)

    def _result(self, name: str | None, dtype: DType, value: str) -> None:
        if name is None:
            self._lines.add(f"{value};")
        else:
            self._declare("const ", name, dtype, value)

    def _if(self, stmt: If, path: str) -> None:
        self._lines.open(f"if ({self._text(stmt.condition)})")
        self._block(stmt.then, f"{path}.then")
        if stmt.orelse:
            self._lines.reopen("} else")
            self._block(stmt.orelse, f"{path}.orelse")
        self._lines.close()

    def _for(self, stmt: For, path: str) -> None:
        """The end is evaluated before the loop: what it is made of may change inside."""
        dtype = stmt.start.dtype
        start, stop = self._values.text(stmt.start), self._values.fixed(stmt.stop)
        counter, step = self._word(stmt.name, dtype), spell(self._dialect, Literal(dtype, stmt.step))
        for advice in self._advice(stmt):
            self._lines.add(advice)
        self._lines.open(
            f"for ({self._dialect.types[dtype]} {counter} = {start}; {counter} < {stop}; {counter} += {step})"
        )
        self._block(stmt.body, f"{path}.body")
        self._lines.close()

    def _advice(self, loop: For) -> Iterator[str]:
        """What the compiler is told about a loop."""
        dialect = self._dialect
        if self._rare and dialect.rare_loop:
            yield dialect.rare_loop
        if id(loop) in self._serial and not (self._rare and dialect.rare_loop):
            yield dialect.serial_loop
        if not self._rare and dialect.short_loop and _is_short(loop):
            yield dialect.short_loop

    def _block(self, body: Body, path: str) -> None:
        self._values.known.enter()
        self.body(body, path)
        self._values.known.leave()


def _is_short(loop: For) -> bool:
    """Whether a loop is small enough to be unrolled in the text."""
    if loop.trip_count is None:
        return False
    stmts = list(statements(loop.body))
    is_plain = not any(isinstance(s, (For, If, Barrier)) for s in stmts)
    return is_plain and loop.trip_count * len(postorder(e for s in stmts for e in expressions(s))) <= _SHORT
