"""Branches of a kernel, and what names stand for after them."""

from __future__ import annotations

import ast
import operator
from collections.abc import Mapping, Sequence
from typing import Any

from vyre.kernels.aggregates import Structure, Variables, disassemble
from vyre.kernels.assignments import AssignmentReader
from vyre.kernels.frame import NONE, Names
from vyre.kernels.reader import IterationLeft
from vyre.kernels.source import assigned_names, has_return, leaves_iteration, stem_of
from vyre.kernels.values import LoopName, Merged, Unbound, has_type_or_number, is_runtime
from vyre_foundation.build import Mutable, Value, constant
from vyre_foundation.dtype import DType


class BranchReader(AssignmentReader):
    """Reads branches."""

    blocks = 0
    """How many branches and loops of the program were begun."""

    def _if(self, node: ast.If, rest: Sequence[ast.stmt], *, is_tail: bool, is_rest: bool = False) -> tuple[bool, bool]:
        """Read a branch: whether the next statement is not reached, and whether `rest` was read with it.

        `is_rest`: its body is the rest of a device function.
        """
        with self.at(node):
            condition = self.test(node.test)
        if isinstance(condition, bool):
            chosen = node.body if condition else node.orelse
            if self._returns(chosen) or self._leaves(chosen):  # it may do so in a branch of the program
                return self.block([*chosen, *rest], is_tail=is_tail), True
            return self.block(chosen, is_tail=is_tail and not rest), False
        returns, leaves = is_rest or self._returns([node]), self._leaves([node])
        takes_rest = returns or leaves
        then, orelse = list(node.body), list(node.orelse)
        if takes_rest:  # what returns or leaves an iteration early does the rest in the other branch
            then, orelse, rest = [*then, *rest], [*orelse, *rest], ()
        is_tail = is_tail and not rest
        line = self.builder.line
        names, block = assigned_names([*then, *orelse]), self._enter([*then, *orelse])
        outer = self.frame.names
        self.frame.names = then_names = dict(outer)
        with self.builder.if_(condition):
            then_ends = self._arm(then, leaves, is_tail=is_tail)
        else_names, else_ends = dict(outer), False
        if orelse:
            self.frame.names = else_names
            self.builder.line = line
            with self.builder.else_():
                else_ends = self._arm(orelse, leaves, is_tail=is_tail)
        self.frame.names = outer
        self.depth -= 1
        live = [n for n, ends in ((then_names, then_ends), (else_names, else_ends)) if not ends]
        if returns:
            live = [then_names, else_names]
            names = {**names, "return": node}
        if leaves and self.frame.loops[-1].left:
            names = {**names, self.frame.loops[-1].left: node}
        self._merge(node, block, outer, live, names)
        return then_ends and else_ends, takes_rest

    def _returns(self, statements: Sequence[ast.stmt]) -> bool:
        """Whether a device function may return in statements."""
        return not self.frame.is_kernel and has_return(statements)

    def _leaves(self, statements: Sequence[ast.stmt]) -> bool:
        """Whether statements may leave an iteration of the unrolled loop around them."""
        loops = self.frame.loops
        return bool(loops) and loops[-1].is_unrolled and leaves_iteration(statements)

    def _arm(self, statements: Sequence[ast.stmt], leaves: bool, *, is_tail: bool) -> bool:
        """Read an arm of a branch: whether no statement behind it is reached, in later iterations neither."""
        try:
            return self.block(statements, is_tail=is_tail)
        except IterationLeft:
            if not leaves:
                raise
            return False

    def _enter(self, statements: Sequence[ast.stmt]) -> int:
        """Begin a branch or a loop of the program: names that it gives values to become variables before it."""
        self.depth += 1
        self.blocks += 1
        names = self.frame.names
        for name in assigned_names(statements):
            x: Any = names.get(name)
            if isinstance(x, Merged):
                x = names[name] = self.read(x, statements[0])
            structure, leaves = disassemble(x)
            if isinstance(x, Variables) or not all(isinstance(leaf, Value) for leaf in leaves):
                continue
            if structure is None:
                names[name] = self.builder.var(x, name=stem_of(name))
            elif leaves:
                names[name] = Variables(structure, tuple(self.builder.var(leaf, name=stem_of(name)) for leaf in leaves))
                if self.frame.passed.get(name) is x:
                    self.frame.passed[name] = names[name]
        for (block, name), (structure, dtypes) in self.known.merged.items():
            if block == self.blocks and not isinstance(names.get(name), (Mutable, Variables)):
                first = self._first_values(names.get(name), structure, dtypes, statements[0])
                variables = tuple(self.builder.var(x, name=stem_of(name)) for x in first)
                names[name] = variables[0] if structure is None else Variables(structure, variables)
        return self.blocks

    def _first_values(
        self, before: object, structure: Structure | None, dtypes: Sequence[DType], node: ast.AST
    ) -> list[Value]:
        """What a variable begins with: what its name stands for, or zeros if each path gives it another value."""
        own, leaves = disassemble(before.before if isinstance(before, LoopName) else before)
        is_same = own == structure and len(leaves) == len(dtypes)
        if is_same and all(map(has_type_or_number, leaves)):
            return [self.value(x, dtype, node) for x, dtype in zip(leaves, dtypes, strict=True)]
        return [constant(dtype, 0) for dtype in dtypes]

    def _merge(
        self, node: ast.If, block: int, outer: Names, live: Sequence[Names], assigned: Mapping[str, ast.AST]
    ) -> None:
        """What the names stand for behind an ``if``."""
        for name, where in assigned.items():
            before = outer.get(name, NONE)
            if isinstance(before, (Mutable, Variables)) or not live:
                continue
            after = [names.get(name, NONE) for names in live]
            if name == "return" and self.frame.flags:  # read only where the loop was left by a `return`
                after = [x for x in after if x is not NONE and not isinstance(x, Unbound)]
            if all(x is before for x in after):
                continue
            line = self.frame.source.line_of(where)
            unset = [x for x in after if x is NONE]
            if unset and name == "return":
                fix = "return a value in every branch, or behind the `if`"
                outer[name] = Unbound("the function may end without returning a value", fix)
            elif unset:
                message = f"{name!r} may have no value here: line {line} gives it one only in one branch"
                outer[name] = Unbound(message, f"give {name!r} a value before the `if`")
            elif all(_is_same_static(x, after[0]) for x in after):
                outer[name] = after[0]
            elif any(isinstance(x, Unbound) for x in after):
                outer[name] = next(x for x in after if isinstance(x, Unbound))
            elif carried := [x for x in after if isinstance(x, LoopName)]:
                outer[name] = carried[0].unbound()
            else:
                outer[name] = Merged(block, name, tuple(after), node)


def _is_same_static(x: object, y: object) -> bool:
    if x is y:
        return not is_runtime(x) and not isinstance(x, (Mutable, Merged))
    return type(x) is type(y) and isinstance(x, (bool, int, float, str)) and operator.eq(x, y)
