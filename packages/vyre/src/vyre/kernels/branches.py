"""Branches of a kernel, and what names stand for after them."""

from __future__ import annotations

import ast
import operator
from collections.abc import Mapping, Sequence
from typing import Any

from vyre.kernels.aggregates import Structure, Variables, disassemble
from vyre.kernels.assignments import AssignmentReader
from vyre.kernels.frame import NONE, EarlyExits, Names
from vyre.kernels.reader import IterationLeft
from vyre.kernels.source import assigned_names, has_return, leaves_iteration, stem_of
from vyre.kernels.values import LoopName, Merged, Unbound, has_type_or_number, is_runtime
from vyre_foundation.build import Mutable, Value, constant
from vyre_foundation.dtype import DType, bool_


class BranchReader(AssignmentReader):
    """Reads branches."""

    blocks = 0
    """How many branches and loops of the program were begun."""

    def _if(self, node: ast.If, rest: Sequence[ast.stmt], *, is_tail: bool) -> tuple[bool, bool]:
        """Read a branch: whether the next statement is not reached, and whether `rest` was read with it."""
        with self.at(node):
            condition = self.test(node.test)
        if isinstance(condition, bool):
            chosen = node.body if condition else node.orelse
            if self._exits(chosen) is not None:  # it may be left in a branch of the program
                return self.block([*chosen, *rest], is_tail=is_tail), True
            return self.block(chosen, is_tail=is_tail and not rest), False
        exits = self._exits([node])
        if exits is None:
            _, ends = self._branch(node, condition, node.body, node.orelse, is_tail=is_tail and not rest)
            return ends, False
        then, orelse, behind = node.body, node.orelse, rest
        if _always_leaves(then) or _always_leaves(orelse):  # one arm alone comes to the rest, which is read there
            then, orelse, behind = [*then, *rest], [*orelse, *rest], ()
        known = len(exits.names)
        block, ends = self._branch(node, condition, then, orelse, is_tail=is_tail and not behind)
        if behind and not ends:
            if len(exits.names) > known:
                _, ends = self._branch(node, self._goes_on(exits, block, node), behind, None, is_tail=is_tail)
            else:
                ends = self.block(behind, is_tail=is_tail)
        return self._rejoin(exits, block, node, rest, ends=ends), True

    def _exits(self, statements: Sequence[ast.stmt]) -> EarlyExits | None:
        """What statements may leave: an iteration of the unrolled loop around them, or a device function."""
        if not self.frame.is_kernel and has_return(statements):
            return self.frame.exits
        exits = self.frame.loops[-1].exits if self.frame.loops else None
        return exits if exits is not None and leaves_iteration(statements) else None

    def leave(self, exits: EarlyExits, node: ast.stmt) -> None:
        """Note that a statement leaves an iteration or a function, if it does so under a condition of the program."""
        if self.depth > exits.depth:
            if exits.flag in self.frame.names:
                self.bind(exits.flag, True, node)
            exits.names.append(self.frame.names)

    def _goes_on(self, exits: EarlyExits, block: int, node: ast.stmt) -> Value:
        """Whether no statement of a branch has left what `exits` are of: a variable from the next reading on."""
        flag = self.frame.names.get(exits.flag, Merged(block, exits.flag, (False, True), node))
        return ~self.value(self.read(flag, node), bool_, node)

    def _rejoin(self, exits: EarlyExits, block: int, node: ast.stmt, rest: Sequence[ast.stmt], *, ends: bool) -> bool:
        """What the names stand for behind what statements leave, if it ends here; whether no next one is reached."""
        if self.depth > exits.depth or not exits.names:
            return ends
        outer = self.frame.names
        names = assigned_names([node, *rest])
        if exits.outcome:
            names[exits.outcome] = node
        self._merge(node, block, outer, [*exits.names, *([] if ends else [outer])], names)
        exits.names.clear()
        outer.pop(exits.flag, None)
        return False

    def _branch(
        self,
        node: ast.stmt,
        condition: Value,
        then: Sequence[ast.stmt],
        orelse: Sequence[ast.stmt] | None,
        *,
        is_tail: bool,
    ) -> tuple[int, bool]:
        """Read a branch of the program: its number, and whether no statement behind it is reached.

        Where `orelse` is None, none is reached unless the condition holds.
        """
        line = self.builder.line
        both = [*then, *(orelse or ())]
        names, block = assigned_names(both), self._enter(both)
        outer = self.frame.names
        self.frame.names = then_names = dict(outer)
        with self.builder.if_(condition):
            then_ends = self._arm(then, is_tail=is_tail)
        else_names, else_ends = dict(outer), orelse is None
        if orelse:
            self.frame.names = else_names
            self.builder.line = line
            with self.builder.else_():
                else_ends = self._arm(orelse, is_tail=is_tail)
        self.frame.names = outer
        self.depth -= 1
        live = [n for n, ends in ((then_names, then_ends), (else_names, else_ends)) if not ends]
        self._merge(node, block, outer, live, names)
        if self.frame.flags:  # what a `return` in a loop gives is read behind the loop
            self._merge(node, block, outer, [then_names, else_names], {"return": node})
        return block, then_ends and else_ends

    def _arm(self, statements: Sequence[ast.stmt], *, is_tail: bool) -> bool:
        """Read an arm of a branch: whether no statement behind it is reached."""
        try:
            return self.block(statements, is_tail=is_tail)
        except IterationLeft:
            return True

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
        self, node: ast.stmt, block: int, outer: Names, live: Sequence[Names], assigned: Mapping[str, ast.AST]
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


def _always_leaves(statements: Sequence[ast.stmt]) -> bool:
    """Whether none of the statements lets the one behind them be reached, whatever the conditions are."""
    return any(
        isinstance(statement, (ast.Return, ast.Break, ast.Continue))
        or (isinstance(statement, ast.If) and _always_leaves(statement.body) and _always_leaves(statement.orelse))
        for statement in statements
    )


def _is_same_static(x: object, y: object) -> bool:
    if x is y:
        return not is_runtime(x) and not isinstance(x, (Mutable, Variables, Merged))
    return type(x) is type(y) and isinstance(x, (bool, int, float, str)) and operator.eq(x, y)
