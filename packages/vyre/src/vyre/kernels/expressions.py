"""Expressions of a kernel: what Python knows is computed, the rest becomes values of the program."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from vyre.kernels import intrinsics
from vyre.kernels.elements import ElementReader
from vyre.kernels.operators import OperatorReader
from vyre.kernels.source import assigned_names
from vyre.kernels.values import is_runtime
from vyre_foundation.build import Value

_TAKE_ALL = (sum, min, max, list, tuple, set, frozenset, dict, sorted)
"""The functions of Python that take all elements of a generator before they do anything else."""


class ExpressionReader(OperatorReader, ElementReader, ABC):
    """Reads all expressions: comprehensions and calls too."""

    def _ListComp(self, node: ast.ListComp) -> list[object]:
        return self._elements(node)

    def _GeneratorExp(self, node: ast.GeneratorExp) -> list[object]:
        place = "a generator expression, which Python evaluates only as far as needed,"
        with self.under_condition(place, f"write a list, [{ast.unparse(node)[1:-1]}]"):
            return self._elements(node)

    def _SetComp(self, node: ast.SetComp) -> set[object]:
        return set(self._elements(node))

    def _elements(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> list[object]:
        """The elements of a comprehension, where ``*x`` stands for those of `x` (Python 3.15)."""
        element = node.elt
        if not isinstance(element, ast.Starred):
            return self._comprehension(node.generators, lambda: self.eval(element))
        rows: list[Any] = self._comprehension(node.generators, lambda: list(self.iterable(element.value)))
        return [x for row in rows for x in row]

    def _DictComp(self, node: ast.DictComp) -> dict[object, object]:
        value: ast.expr | None = node.value
        if value is None:  # ``{**x for x in y}`` (Python 3.15)
            tables: list[Any] = self._comprehension(node.generators, lambda: self.eval(node.key))
            return {key: x for table in tables for key, x in table.items()}
        pairs = self._comprehension(node.generators, lambda: (self.eval(node.key), self.eval(value)))
        return dict(pairs)  # type: ignore[arg-type]

    def _comprehension(self, generators: Sequence[ast.comprehension], result: Callable[[], object]) -> list[object]:
        targets = assigned_names([generator.target for generator in generators])
        names = self.frame.names
        before = {name: names[name] for name in targets if name in names}
        carried = self.frame.carried
        self.frame.carried = {name: x for name, x in carried.items() if name not in targets}
        found: list[object] = []

        def run(level: int) -> None:
            if level == len(generators):
                found.append(result())
                if is_runtime(found[-1]):
                    self.unrolled(generators[0].iter)
                return
            generator = generators[level]
            for x in self.iterable(generator.iter):
                self.computed(generator.iter)
                for name in assigned_names([generator.target]):
                    names.pop(name, None)
                self.assign(generator.target, x)
                if all(self._static_test(test) for test in generator.ifs):
                    run(level + 1)

        run(0)
        self.frame.carried = carried
        for name in targets:
            names.pop(name, None)
        names.update(before)
        return found

    def _static_test(self, node: ast.expr) -> bool:
        found = self.test(node)
        if isinstance(found, Value):
            fix = "choose the value instead, as in (x if condition else 0)"
            self.refuse(node, "the condition of a comprehension is known only when the program runs", fix)
        return found

    @abstractmethod
    def assign(self, target: ast.expr, x: Any) -> None:
        """Assign to a name, to several, or to an element."""

    def _Call(self, node: ast.Call) -> object:
        callee = self.eval(node.func)
        if callee is intrinsics.bounded:
            self.refuse(node, "bounded(…) is the condition of a `while` loop", "write `while vy.bounded(…, limit):`")
        if (
            node.args
            and isinstance(generator := node.args[0], ast.GeneratorExp)
            and any(callee is f for f in _TAKE_ALL)
        ):
            elements = ast.copy_location(ast.ListComp(generator.elt, generator.generators), generator)
            node = ast.copy_location(ast.Call(node.func, [elements, *node.args[1:]], node.keywords), node)
        return self.call(callee, node)

    @abstractmethod
    def block(self, statements: Sequence[ast.stmt], *, is_tail: bool) -> bool:
        """Read statements up to one behind which none is reached; `is_tail`: the function ends behind them."""

    @abstractmethod
    def call(self, callee: Any, node: ast.Call) -> object:
        """Call a function with the arguments of a node."""

    def arguments(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of a call by position and by name."""
        named: dict[str, Any] = {}
        positional = self._items(node.args)
        for keyword in node.keywords:
            if keyword.arg is None:
                named.update(self.eval(keyword.value))
            else:
                named[keyword.arg] = self.eval(keyword.value)
        return positional, named
