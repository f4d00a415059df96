"""The least program that still fails: statements, blocks, expressions, buffers and inputs are taken away one by one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from vyre_foundation.dtype import Kind
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.buffer import RUNTIME
from vyre_foundation.ir.expr import Expr, Literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import (
    Assign,
    Atomic,
    Barrier,
    Body,
    For,
    If,
    IndirectDispatch,
    Let,
    Region,
    Stmt,
    Subgroup,
)
from vyre_foundation.ir.walk import expressions, postorder, rewrite, statements, with_expressions
from vyre_foundation.ops.scalar import to_bits
from vyre_foundation.testing.edit import edit, inlined, unused_buffers, with_buffers

Inputs = Mapping[str, bytes]
StillFails = Callable[[Program, Inputs], bool]


def shrink(
    program: Program,
    inputs: Inputs,
    still_fails: StillFails,
    *,
    attempts: int = 2000,
    seconds: float = math.inf,
) -> tuple[Program, dict[str, bytes]]:
    """A program and inputs that `still_fails` accepts and that no single step makes smaller.

    Every candidate is valid. It may race where the original did not (a store can move to a literal index): a
    `still_fails` that compares executors should refuse programs for which the reference finds a race. Gives up after
    `attempts` calls of `still_fails`, or when `seconds` have passed.
    """
    return _Shrinker(program, dict(inputs), still_fails, attempts, time.monotonic() + seconds).run()


class _Shrinker:
    def __init__(
        self, program: Program, inputs: dict[str, bytes], still_fails: StillFails, attempts: int, until: float
    ) -> None:
        self.program, self.inputs = program, inputs
        self.still_fails, self.attempts, self.until = still_fails, attempts, until

    def run(self) -> tuple[Program, dict[str, bytes]]:
        passes = (
            self.delete_statements,
            self.open_blocks,
            self.inline_locals,
            self.simplify_expressions,
            self.shorten_data,
        )
        shrunk = True
        while shrunk and not self.is_over:
            before = (self.program, self.inputs)
            for step in passes:
                step()
            shrunk = (self.program, self.inputs) != before
        return self.program, self.inputs

    @property
    def is_over(self) -> bool:
        return self.attempts <= 0 or time.monotonic() > self.until

    def accept(self, program: Program, inputs: dict[str, bytes] | None = None) -> bool:
        """Take a candidate if it is valid and still fails."""
        inputs = self.inputs if inputs is None else inputs
        if self.is_over or (program == self.program and inputs == self.inputs):
            return False
        try:
            program.validate()
        except VyreError:
            return False
        self.attempts -= 1
        if not self.still_fails(program, inputs):
            return False
        self.program, self.inputs = program, inputs
        return True

    # ── statements ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _count(self) -> int:
        return sum(1 for _ in statements(self.program.body))

    def delete_statements(self) -> None:
        """Runs of statements, long runs first and from the end, because later statements use earlier ones."""
        size = self._count() // 2
        while size:
            stop = self._count()
            while stop > 0:
                first = max(0, stop - size)
                self._delete(first, stop)
                stop = min(first, self._count())
            size //= 2

    def _delete(self, first: int, stop: int) -> None:
        """Barriers stay in the first try, so that a race is not taken for the failure."""
        if not self.accept(
            edit(self.program, lambda n, s: s if n < first or n >= stop or isinstance(s, Barrier) else ())
        ):
            self.accept(edit(self.program, lambda n, s: () if first <= n < stop else s))

    def open_blocks(self) -> None:
        """Put bodies in the place of their blocks, and let loops run once."""
        number = 0
        while number < self._count():
            if not any(self.accept(self._with(number, new)) for new in _smaller(self._statement(number))):
                number += 1

    def _statement(self, number: int) -> Stmt:
        return list(statements(self.program.body))[number]

    def _with(self, number: int, new: Stmt | Body) -> Program:
        return edit(self.program, lambda n, s: new if n == number else s)

    def inline_locals(self) -> None:
        """Put values in the place of the locals that hold them."""
        number = 0
        while number < self._count():
            match self._statement(number):
                case Let(name, value) | Assign(name, value) if self.accept(inlined(self.program, number, name, value)):
                    continue
            number += 1

    # ── expressions ──────────────────────────────────────────────────────────────────────────────────────────────────

    def simplify_expressions(self) -> None:
        """Replace expressions by literals or by their operands, large ones first."""
        number = 0
        while number < self._count():
            while self._simplify_one(number):
                pass
            number += 1

    def _simplify_one(self, number: int) -> bool:
        stmt = self._statement(number)
        roots = expressions(stmt)
        for node in reversed(postorder(roots)):
            if isinstance(stmt, For) and node in roots:
                continue  # another bound could count to 2**64
            for simple in _simpler(node):
                if self.accept(self._with(number, _substitute(stmt, node, simple))):
                    return True
        return False

    # ── buffers and inputs ───────────────────────────────────────────────────────────────────────────────────────────

    def shorten_data(self) -> None:
        """Drop buffers, shorten them, put zeros into them, and make the workgroup smaller."""
        for buffer in unused_buffers(self.program):
            dropped = {buffer: None}
            left = {name: data for name, data in self.inputs.items() if name != buffer.name}
            self.accept(with_buffers(self.program, dropped), left)
        if self.program.subgroup_size is not None:
            self.accept(replace(self.program, subgroup_size=None))
        for size in ((1, 1, 1), (self.program.workgroup_volume, 1, 1)):
            self.accept(replace(self.program, workgroup_size=size))
        for name in [b.name for b in self.program.buffers]:
            while any(self.accept(*candidate) for candidate in self._shorter(name)):
                pass

    def _shorter(self, name: str) -> Iterator[tuple[Program, dict[str, bytes]]]:
        """Programs and inputs with less in one buffer; the words of an indirect dispatch stay."""
        buffer = self.program.buffer(name)
        if any(isinstance(s, IndirectDispatch) and s.buffer is buffer for s in self.program.body):
            return
        data, size = self.inputs.get(name), buffer.dtype.size
        count = buffer.count if isinstance(buffer.count, int) else len(data or b"") // size
        for shorter in dict.fromkeys((count // 2, count - 1)):
            if 0 <= shorter < count and (isinstance(buffer.count, int) or buffer.count is RUNTIME):
                embedded = None if buffer.data is None else buffer.data[: shorter * size]
                changed = buffer.replace(count=shorter if isinstance(buffer.count, int) else RUNTIME, data=embedded)
                inputs = self.inputs if data is None else self.inputs | {name: data[: shorter * size]}
                yield with_buffers(self.program, {buffer: changed}), inputs
        if data is not None and any(data):
            yield self.program, self.inputs | {name: bytes(len(data))}
            for start in range(0, len(data), size):
                if any(data[start : start + size]):
                    zeroed = data[:start] + bytes(size) + data[start + size :]
                    yield self.program, self.inputs | {name: zeroed}


def _smaller(stmt: Stmt) -> Iterator[Stmt | Body]:
    """What a block may become. An assignment that is not read becomes a `let`."""
    match stmt:
        case If(condition, then, orelse):
            yield then
            if orelse:
                yield orelse
                yield If(condition, then)
        case Region(body=body):
            yield body
        case For(name, start, stop, step, body):
            yield (Let(name, start), *body)
            if step != 1:
                yield replace(stmt, step=1)
            if not isinstance(stop, Literal) or stop.bits > 2:
                for bits in (1, 2):
                    yield replace(stmt, start=Literal(start.dtype, 0), stop=Literal(stop.dtype, bits))
        case Atomic(result=str()) | Subgroup(result=str()):
            yield replace(stmt, result=None)
        case Assign(name, value):
            yield Let(f"{name}_then", value)


def _simpler(node: Expr) -> Iterator[Expr]:
    """What an expression may become: zero, one, or an operand of its type, however deep."""
    dtype = node.dtype
    zero, one = Literal(dtype, 0), Literal(dtype, to_bits(dtype, 1.0 if dtype.kind is Kind.FLOAT else 1))
    if node is zero:
        return
    yield zero
    if node is one:
        return
    yield one
    for inner in postorder((node,))[:-1][:24]:
        if inner.dtype is dtype and inner is not zero and inner is not one:
            yield inner


def _substitute(stmt: Stmt, old: Expr, new: Expr) -> Stmt:
    memo: dict[Expr, Expr] = {}
    return with_expressions(stmt, lambda e: rewrite(e, lambda n: new if n is old else n, memo))
