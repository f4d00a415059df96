"""Statements of a kernel, and of the functions that it calls."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from types import EllipsisType
from typing import Any, NoReturn

from vyre.kernels.aggregates import StructValue, Vector
from vyre.kernels.device_calls import CallReader
from vyre.kernels.elements import ArrayAtomic
from vyre.kernels.loops import LoopReader
from vyre.kernels.matching import other_pattern
from vyre.kernels.reader import IterationLeft, kind_of
from vyre.kernels.source import has_return
from vyre.kernels.values import ElementPart, KernelArray, is_runtime
from vyre_foundation.build import constant
from vyre_foundation.dtype import bool_


class KernelReader(LoopReader, CallReader):
    """Reads statements, one method for each kind of node. Each says whether the next statement is not reached."""

    results: Sequence[KernelArray] = ()
    """Where a `return` of the kernel stores what it returns."""
    has_returned = False
    """Whether a `return` of the kernel has a value."""

    def block(self, statements: Sequence[ast.stmt], *, is_tail: bool) -> bool:
        """Read statements up to one behind which none is reached; `is_tail`: the function ends behind them."""
        for number_, statement in enumerate(statements):
            rest = statements[number_ + 1 :]
            self.builder.line = self.frame.source.file, statement.lineno
            if isinstance(statement, (ast.For, ast.While)) and not self.frame.is_kernel and has_return([statement]):
                return self._returning_loop(statement, rest, is_tail=is_tail)
            if isinstance(statement, ast.If):
                ends, took_rest = self._if(statement, rest, is_tail=is_tail)
                if ends or took_rest:
                    return ends
                continue
            method = getattr(self, f"_{type(statement).__name__}", None)
            if method is None:
                fix = _REMEDIES.get(type(statement), "write it without")
                self.refuse(statement, f"got {_word(statement)}, which a kernel cannot have", fix)
            with self.at(statement):
                if method(statement, is_tail=is_tail and not rest):
                    return True
        return False

    def _Expr(self, node: ast.Expr, *, is_tail: bool) -> bool:
        actions, x = self.actions, self.eval(node.value)
        if isinstance(node.value, _ACTING):
            is_used = self.actions > actions or _is_nothing(x) or not (is_runtime(x) or isinstance(x, StructValue))
        else:  # a text is a comment
            is_comment = isinstance(node.value, ast.Constant) and isinstance(x, (str, EllipsisType))
            is_used = is_comment or isinstance(node.value, ast.NamedExpr)
        if not is_used:
            self._refuse_unused(node.value, x, is_tail=is_tail)
        return False

    def _refuse_unused(self, node: ast.expr, x: object, *, is_tail: bool) -> NoReturn:
        """Refuse a statement that is an expression of which nothing takes the value."""
        written, fix = ast.unparse(node), "assign it to a name, store it in an array, or leave the line out"
        if isinstance(node, (ast.Name, ast.Attribute)) and (callable(x) or isinstance(x, ArrayAtomic)):
            self.refuse(node, f"{written!r} is named and not called", f"call it, as in {written}({_parameters(x)})")
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq) and len(node.ops) == 1:
            left, right = node.left, node.comparators[0]
            if isinstance(left, (ast.Name, ast.Attribute, ast.Subscript)):
                fix = f"assign with one `=`, as in {ast.unparse(left)} = {ast.unparse(right)}, or leave the line out"
            self.refuse(node, f"nothing uses what the comparison {written} gives", fix)
        if is_tail and (self.results or not self.frame.is_kernel):
            fix = f"return it, as in return {written}, or leave the line out"
        self.refuse(node, f"nothing uses the value of {written}", fix)

    def _Pass(self, node: ast.Pass, *, is_tail: bool) -> bool:
        return False

    def _Assert(self, node: ast.Assert, *, is_tail: bool) -> bool:
        condition = self.test(node.test)
        if condition is True:
            return False
        tag: object = ast.unparse(node.test)
        if node.msg is not None:
            with self.under_condition("the message of an assertion", "do it in a statement before"):
                tag = self.eval(node.msg)
        if not isinstance(tag, str):
            self.refuse(
                node.msg or node,
                "the message of an assertion is not a string",
                "write a string that is known at compile time",
            )
        if condition is False:
            self.refuse(node, f"an assertion fails while the kernel is compiled: {tag}", "correct what it tests")
        self.effect(node, "an assertion")
        with self.builder.if_(~condition):
            self.builder.trap(0, tag)
        return False

    def _Return(self, node: ast.Return, *, is_tail: bool) -> bool:
        x = None if node.value is None else self.eval(node.value)
        if not self.frame.is_kernel:
            if self.frame.result is not None:
                x = self.value(x, self.frame.result, node.value or node)
            self.bind("return", x, node)
            if self.frame.flags:
                self.frame.flags[-1].set(True)
                self.builder.break_()
            else:
                self.leave(self.frame.exits, node)
            return True
        if node.value is not None:
            self._store_results(x, node)
        if not is_tail:
            self.builder.return_()
        return True

    def _store_results(self, x: Any, node: ast.Return) -> None:
        assert node.value is not None
        if not self.results:
            fix = "annotate what the kernel returns, as in -> vy.Array[vy.f32, 'n']"
            self.refuse(node.value, "a value is returned, but the kernel has no annotation of what it returns", fix)
        is_plain = isinstance(x, (tuple, list)) and not isinstance(x, Vector)
        if is_plain and len(self.results) == 1 and self.results[0].element is None:
            fix = "return one value, or annotate several arrays, as in -> tuple[vy.Array[…], vy.Array[…]]"
            self.refuse(node.value, f"got {kind_of(x)} for one array", fix)
        parts = list(x) if isinstance(x, tuple) and len(self.results) > 1 else [x]
        if len(parts) != len(self.results):
            number = "one value" if len(parts) == 1 else f"{len(parts)} values"
            fix = "return one value for each array"
            self.refuse(node.value, f"got {number} for {len(self.results)} arrays", fix)
        self.has_returned = True
        for array, part in zip(self.results, parts, strict=True):
            if array.element is not None:
                self.store_place(ElementPart(array, self.own_index, array.element, 0, array.place), part, node.value)
            else:
                self.store(array, self.own_index, part, node.value)

    def _Break(self, node: ast.Break, *, is_tail: bool) -> bool:
        self._leave_iteration(node, "break")
        return True

    def _Continue(self, node: ast.Continue, *, is_tail: bool) -> bool:
        self._leave_iteration(node, "continue")
        return True

    def _leave_iteration(self, node: ast.stmt, word: str) -> None:
        loop = self.frame.loops[-1]
        if loop.exits is None:
            self.builder.break_() if word == "break" else self.builder.continue_()
            return
        if word == "break" and self.depth != loop.depth:
            if not loop.exits.outcome:
                fix = "state a limit on its iterations, as in `while vy.bounded(…, 1000)`, a loop of the program"
                self.refuse(node, "`break` of a `while` loop that is unrolled, under a condition of the program", fix)
            self.bind(loop.exits.outcome, constant(bool_, True), node)
        self.leave(loop.exits, node)
        raise IterationLeft(word)

    def _Match(self, node: ast.Match, *, is_tail: bool) -> NoReturn:
        """Refuse the pattern because of which the statement was not written as branches."""
        fix = "match numbers, names with a point, `|` of these and `_`; else write `if` and `elif`"
        self.refuse(other_pattern(node) or node, "got a pattern that binds or destructures the subject", fix)


_ACTING = (ast.Call, ast.IfExp, ast.ListComp, ast.SetComp, ast.DictComp)
"""Expressions that may act, and so be statements."""


def _is_nothing(x: object) -> bool:
    """Whether an expression gave None, or as many None as a comprehension has elements."""
    return x is None or (isinstance(x, (list, set)) and all(element is None for element in x))


def _parameters(function: object) -> str:
    """What a message writes for the arguments of a call: nothing, if a function has no parameters."""
    try:
        return "…" if inspect.signature(function).parameters else ""  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return "…"


_REMEDIES: Mapping[type[ast.stmt], str] = {
    ast.FunctionDef: "define it outside of the kernel, and decorate it with @vy.func",
    ast.ClassDef: "define it outside of the kernel, and decorate it with @vy.struct",
    ast.Raise: "write vy.trap(code, text), or `assert condition, text`",
    ast.Import: "import it outside of the kernel",
    ast.ImportFrom: "import it outside of the kernel",
    ast.Global: "return the value, or store it in an array",
    ast.Nonlocal: "return the value, or store it in an array",
}
"""What to write instead of a statement."""


def _word(node: ast.AST) -> str:
    """What a message says of a statement."""
    words = {
        "With": "`with`", "Try": "`try`", "TryStar": "`try`", "Raise": "`raise`", "FunctionDef": "a function",
        "ClassDef": "a class", "Delete": "`del`", "Import": "`import`", "ImportFrom": "`import`",
        "Global": "`global`", "Nonlocal": "`nonlocal`", "AsyncFor": "`async for`", "AsyncWith": "`async with`",
        "TypeAlias": "`type`",
    }  # fmt: skip
    return words.get(type(node).__name__, type(node).__name__)
