"""Loops of a kernel: of the program, or unrolled while the kernel is compiled."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from vyre.kernels import intrinsics
from vyre.kernels.aggregates import StructValue, Variables, Vector
from vyre.kernels.branches import BranchReader
from vyre.kernels.frame import NONE, EarlyExits, Names, OpenLoop
from vyre.kernels.reader import IterationLeft
from vyre.kernels.source import assigned_names, has_return, is_unnamed, leaves_iteration, scaled_names, stem_of
from vyre.kernels.values import LoopName, Merged, NumberChoice, Unbound, is_runtime, typed_text
from vyre_foundation.build import Mutable, Value, constant, select
from vyre_foundation.build.arguments import number
from vyre_foundation.dtype import bool_
from vyre_foundation.ir.expr import Literal

MAX_UNROLLED = 256
"""Iterations of a `range` that u32 cannot count."""


class LoopReader(BranchReader):
    """Reads loops."""

    def _For(self, node: ast.For, *, is_tail: bool) -> bool:
        if node.orelse:
            self.refuse(node.orelse[0], "a loop has an `else`", "test a variable behind the loop")
        ranged = self._range(node.iter) or self._reversed_range(node.iter)
        if isinstance(ranged, tuple):
            return self._count(node, ranged)
        return self._unroll(node, self.iterable(node.iter) if ranged is None else ranged)

    def _reversed_range(self, node: ast.expr) -> tuple[Any, Any, int] | range | None:
        """What ``reversed(range(…))`` counts, as `_range` gives it; None for anything else."""
        if not isinstance(node, ast.Call) or len(node.args) != 1 or self.eval(node.func) is not reversed:
            return None
        ranged = self._range(node.args[0])
        if ranged is None or isinstance(ranged, range):
            return None if ranged is None else ranged[::-1]
        start, stop, step = ranged
        if all(type(x) is int for x in (start, stop)):
            return self._unrolled(range(start, stop, step)[::-1], node)
        if step == 1 and isinstance(stop, Value) and _is_zero(start):
            return stop - 1, None, -1
        fix = "count upwards, and compute the number in the loop, as in k = stop - 1 - j"
        self.refuse(node, "`reversed` takes a range that begins at 0 and has no step", fix)

    def _count(self, node: ast.For, ranged: tuple[Any, Any, int]) -> bool:
        """A loop of the program, which counts."""
        start, stop, step = ranged
        highest = None
        if step < 0:  # counted upwards, from the highest
            highest, (start, stop, step) = start, (0, _iterations_downwards(*ranged), 1)
        if not isinstance(node.target, ast.Name):
            self.refuse(node.target, "the counter of a loop is one name", "write `for k in range(…)`")
        if is_unnamed(node.target):
            self.frame.names["_"] = Unbound("'_' counts a loop, and has no value", "give the counter another name")
        changed = node.body if is_unnamed(node.target) else [node.target, *node.body]
        outer, number_ = self._begin_loop(changed, skip=node.target.id)
        with self.at(node.iter):
            opened = self.builder.range(start, stop, step, name=stem_of(node.target.id))
        with opened as counter:
            if _is_zero(start):
                self.from_zero.add(counter.expr)
            if not is_unnamed(node.target):
                at = counter if highest is None else self.builder.let(highest - counter * -ranged[2])
                self.frame.names[node.target.id] = at
            self.block(node.body, is_tail=False)
        self._end_loop(outer, number_, changed, node)
        return False

    def _range(self, node: ast.expr) -> tuple[Any, Any, int] | range | None:
        """The bounds and the step of a ``range(…)``, itself if it is unrolled; None for anything else."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Name, ast.Attribute)):
            return None
        if self.eval(node.func) is not range:
            return None
        given, named = self.arguments(node)
        if named or not 1 <= len(given) <= 3:
            self.refuse(node, "range takes stop, start and stop, or start, stop and step", "write range(start, stop)")
        start, stop, step = given if len(given) == 3 else (*given, 1) if len(given) == 2 else (0, *given, 1)
        if all(type(x) is int for x in (start, stop, step)) and step and (start < 0 or step < 0):
            return self._unrolled(range(start, stop, step), node)
        if is_runtime(step) or type(step) is not int or step == 0:
            fix = "count with a step of 1, and compute the index in the loop"
            self.refuse(node, "the step of a loop must be a nonzero integer that is known at compile time", fix)
        for bound in (start, stop):
            if isinstance(bound, Value):
                if not bound.dtype.is_integer:
                    self.refuse(node, f"got a bound of {bound.dtype}", "convert it with .cast(vy.u32)")
            elif not isinstance(bound, NumberChoice) and (
                isinstance(bound, bool) or not isinstance(number(bound), int)
            ):
                self.refuse(node, "a bound of range is not an integer", "pass integers")
        if step < 0 and isinstance(start, Value) and type(stop) is int and stop == -1:
            return start, None, step
        if any(isinstance(bound, (Value, NumberChoice)) for bound in (start, stop)):
            start, stop = self.unify((start, stop), node)
        return start, stop, step

    def _unrolled(self, counted: range, node: ast.expr) -> range:
        if len(counted) > MAX_UNROLLED:
            message = f"a loop that counts below 0 or downwards is unrolled, and this one has {len(counted)} iterations"
            fix = f"count from 0 upwards, as in range({len(counted)}), and compute the number in the loop"
            self.refuse(node, message, fix)
        return counted

    def _begin_loop(self, statements: Sequence[ast.AST], *, skip: str = "") -> tuple[Names, int]:
        """Begin a loop of the program: its names, in which what an iteration changes is not known."""
        outer = self.frame.names
        counter = outer.pop(skip, NONE)
        if isinstance(counter, Mutable):
            self.refuse(statements[0], f"{skip!r} is a variable, which cannot count a loop", "use another name")
        block = self._enter([s for s in statements if isinstance(s, ast.stmt)])
        if counter is not NONE:
            outer[skip] = counter
        self.frame.names = names = dict(outer)
        self.frame.loops.append(OpenLoop(self.depth, self.frame.carried))
        self.frame.carried = dict(self.frame.carried)
        scaled = scaled_names(statements)
        for name, where in assigned_names(statements).items():
            before = outer.get(name, NONE)
            if name == skip or before is NONE or isinstance(before, (Mutable, Variables, Unbound, LoopName)):
                continue
            line = self.frame.source.line_of(where)
            names[name] = self.frame.carried[name] = LoopName(block, name, before, line, scaled.get(name))
        return outer, block

    def _end_loop(self, outer: Names, block: int, statements: Sequence[ast.AST], node: ast.stmt) -> None:
        carried, self.frame.carried = self.frame.carried, self.frame.loops.pop().carried
        self.depth -= 1
        after, self.frame.names = self.frame.names, outer
        for name, where in assigned_names(statements).items():
            before = outer.get(name, NONE)
            if isinstance(before, (Mutable, Variables)):
                continue
            known = carried.get(name)
            if known is not None and known.block == block:
                if known.is_changed and known.is_read:
                    unbound = known.unbound()
                    self.refuse(where, unbound.message, unbound.fix)
                if not known.is_changed and after[name] is known:
                    continue
                outer[name] = known.unbound()
                continue
            if before is not NONE and after.get(name) is before:
                continue
            line = self.frame.source.line_of(where)
            message = f"{name!r} may have no value here: the loop that gives it one at line {line} may not run"
            found = after.get(name)
            typed = typed_text(0, found.dtype) if isinstance(found, Value) else "vy.u32(0)"
            fix = f"give {name!r} a value before the loop, with a type, as in {name} = {typed}"
            unbound = Unbound(message, fix)
            if isinstance(node, ast.For) and where is node.target:
                unbound = _unbound_counter(name, line, name)
            outer[name] = unbound
        result = after.get("return", NONE)
        if self.frame.flags and result is not NONE and not isinstance(outer.get("return"), (Mutable, Variables)):
            outer["return"] = None if result is None else Merged(block, "return", (result,), node)

    def _returning_loop(self, node: ast.For | ast.While, rest: Sequence[ast.stmt], *, is_tail: bool) -> bool:
        """A loop of a device function that a `return` leaves: the rest of the function runs where none did."""
        if isinstance(node, ast.For) and node.orelse:
            self.refuse(node.orelse[0], "a loop has an `else`", "test a variable behind the loop")
        ranged = self._range(node.iter) if isinstance(node, ast.For) else None
        if isinstance(node, ast.For) and not isinstance(ranged, tuple):
            if leaves_iteration(node.body):
                fix = "count with `for k in range(…)`, or return without them"
                self.refuse(node, "a loop that is unrolled has `return` and `break` or `continue`", fix)
            unrolled: list[ast.stmt] = []
            for x in self.iterable(node.iter) if ranged is None else ranged:
                self.unrolled(node.iter)
                known = ast.Assign([node.target], KnownValue(x))
                unrolled += [ast.copy_location(known, node), *node.body]
            return self.block([*unrolled, *rest], is_tail=is_tail)
        exits = self.frame.exits
        variable = self.frame.names.get(exits.flag)
        flag = variable if isinstance(variable, Mutable) else self.builder.var(False, bool_, name="returned")
        self.frame.flags.append(flag)
        if isinstance(node, ast.While):
            self._While(node, is_tail=False)
        elif isinstance(ranged, tuple):
            self._count(node, ranged)
        self.frame.flags.pop()
        names = self.frame.names
        if "return" not in names:  # each is in a branch that is not compiled
            return self.block(rest, is_tail=is_tail)
        if self.frame.flags:  # the loop around it is left too
            with self.builder.if_(flag.get()):
                self.frame.flags[-1].set(True)
                self.builder.break_()
            return self.block(rest, is_tail=is_tail)
        if not rest and self.depth == exits.depth:
            fix = "return a value behind the loop"
            self.refuse(node, "the function may end without returning a value", fix)
        exits.names.append(dict(names))
        if not isinstance(names["return"], (Mutable, Variables)):
            del names["return"]
        block, ends = self._branch(node, ~flag.get(), rest, None, is_tail=is_tail)
        return self._rejoin(exits, block, node, rest, ends=ends)

    def _KnownValue(self, node: KnownValue) -> object:
        return node.x

    def _unroll(self, node: ast.For, elements: Iterable[Any]) -> bool:
        """A loop over what is known while the kernel is compiled: its body is read for each element."""
        left, goes_on = f"{len(self.frame.loops)} left", constant(bool_, False)  # no name of Python has a space
        exits = EarlyExits(self.depth, f"{len(self.frame.loops)} over", left)
        self.frame.loops.append(OpenLoop(self.depth, exits=exits))
        self.frame.names[left] = goes_on
        ends = False
        for x in elements:
            self.unrolled(node.iter)
            if isinstance(x, (StructValue, Vector)) and (line := self._changed_at(ast.unparse(node.target))):
                fix = "assign to a part of what has a name of its own, outside of the loop"
                self.refuse(node.target, f"line {line} changes a part of a copy of the element", fix)
            if self.frame.names[left] is goes_on:
                self.assign(node.target, x)
                ends, is_left = self._iteration(node.body)
                if is_left:
                    break
            else:
                self._iteration_unless_left(left, node, x)
        if self.frame.names.pop(left) is not goes_on:
            self._unbind_target(node, x)
        self.frame.loops.pop()
        return ends

    def _iteration_unless_left(self, left: str, node: ast.For, x: object) -> None:
        """Read an iteration of an unrolled loop behind a `break` under a condition of the program: a branch."""
        for name in assigned_names([node.target]):
            if not isinstance(self.frame.names.get(name), (Mutable, Variables)):
                self.frame.names.pop(name, None)
        goes_on = KnownValue(~self.value(self.read(self.frame.names[left], node), bool_, node))
        body = [ast.copy_location(ast.Assign([node.target], KnownValue(x)), node), *node.body]
        self._if(ast.copy_location(ast.If(goes_on, body, []), node), (), is_tail=False)

    def _unbind_target(self, node: ast.For, last: object) -> None:
        """What the names that an unrolled loop counts stand for behind it, if the program decides where it ends."""
        plain, line = number(last), self.frame.source.line_of(node.target)
        for name in assigned_names([node.target]):
            if not isinstance(self.frame.names.get(name), (Mutable, Variables)):
                value = name if plain is None else f"{typed_text(plain).partition('(')[0]}({name})"
                self.frame.names[name] = _unbound_counter(name, line, value)

    def _iteration(self, body: Sequence[ast.stmt]) -> tuple[bool, bool]:
        """Read an iteration of an unrolled loop: whether the function ends in it, and whether the loop does."""
        try:
            ends = self.block(body, is_tail=False)
        except IterationLeft as left:
            return False, left.word == "break"
        return ends, ends

    def _refuse_unlimited(self, test: ast.expr) -> NoReturn:
        fix = f"state how often it runs at most, as in `while vy.bounded({ast.unparse(test)}, 1000):`"
        self.refuse(test, "a `while` loop has no limit, and every program ends", fix)

    def _unroll_while(self, node: ast.While, holds: bool | Value) -> bool:
        """A loop whose condition is known while the kernel is compiled: its body is read for each iteration."""
        self.frame.loops.append(OpenLoop(self.depth, exits=EarlyExits(self.depth, f"{len(self.frame.loops)} over")))
        count, ends = 0, False
        while True:
            if not isinstance(holds, bool):
                self._refuse_unlimited(node.test)
            if not holds:
                break
            count += 1
            self.unrolled(node.test)
            if count > MAX_UNROLLED:
                fix = "make what it tests a value of the program, and state a limit with vy.bounded(…)"
                self.refuse(node.test, f"a loop is unrolled more than {MAX_UNROLLED} times", fix)
            ends, is_left = self._iteration(node.body)
            if is_left:
                break
            holds = self.test(node.test)
        self.frame.loops.pop()
        return ends

    def _While(self, node: ast.While, *, is_tail: bool) -> bool:
        if node.orelse:
            self.refuse(node.orelse[0], "a loop has an `else`", "test a variable behind the loop")
        test = node.test
        if not isinstance(test, ast.Call) or self.eval(test.func) is not intrinsics.bounded:
            returns = not self.frame.is_kernel and has_return([node])
            if not isinstance(test, ast.Constant) and not returns:
                return self._unroll_while(node, self.test(test))
            self._refuse_unlimited(test)
        condition, limit_node = self._bounded(test)
        limit = self.eval(limit_node)
        if type(limit) is not int or not 0 < limit < 2**32 - 1:
            self.refuse(
                limit_node,
                "the limit of a loop must be a positive integer that is known at compile time",
                "write a number",
            )
        self.effect(node, "a loop")
        outer, number_ = self._begin_loop(node.body)
        found: list[Any] = []

        def holds() -> Any:
            found.append(self.test(condition))
            return found[0]

        tag = f"a loop of {self.frame.source.tree.name} reached its limit"
        with self.builder.while_(holds, limit, tag):
            if found[0] is not False:
                self.block(node.body, is_tail=False)
        self._end_loop(outer, number_, node.body, node)
        return False

    def _bounded(self, node: ast.Call) -> tuple[ast.expr, ast.expr]:
        """The condition and the limit of a loop."""
        given: dict[str, ast.expr] = dict(zip(("condition", "iterations"), node.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
        if given.keys() != {"condition", "iterations"} or len(node.args) + len(node.keywords) != 2:
            self.refuse(node, "bounded takes a condition and a limit", "write vy.bounded(condition, 1000)")
        return given["condition"], given["iterations"]


class KnownValue(ast.expr):
    """An expression whose value is there."""

    def __init__(self, x: object) -> None:
        super().__init__()
        self.x = x


def _unbound_counter(name: str, line: int, value: str) -> Unbound:
    """What the counter of a loop stands for behind it, where the program decides which iteration is the last."""
    message = f"{name!r} has no value behind the loop that it counts, at line {line}"
    return Unbound(message, f"give another name a value before the loop, and assign to it there, as in last = {value}")


def _is_zero(x: object) -> bool:
    return x == 0 if type(x) is int else isinstance(x, Value) and isinstance(x.expr, Literal) and x.expr.value == 0


def _iterations_downwards(start: Value, stop: Value | None, step: int) -> Value:
    """How often ``range(start, stop, step)`` iterates, whose step is negative; None for a stop of -1.

    An unsigned start that is one less than a length of 0 wraps, and so does their number, to 0.
    """
    if stop is not None:
        distance = select(start > stop, start - stop, 0)
    elif start.dtype.is_signed:
        distance = select(start < 0, 0, start + 1)
    else:
        distance = start + 1
    return _rounded_up(distance, -step)


def _rounded_up(number_: Value, step: int) -> Value:
    """The quotient of an integer that is not negative and a step, rounded up."""
    if step == 1:
        return number_
    rest = number_.cast(number_.dtype.unsigned)
    return (rest // step + (rest % step != 0).cast(rest.dtype)).cast(number_.dtype)
