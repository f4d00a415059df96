"""Statements of a kernel, and of the functions that it calls."""

from __future__ import annotations

import ast
import functools
import inspect
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import EllipsisType
from typing import Any, NoReturn, TypeVar

from vyre.kernels import calls, intrinsics
from vyre.kernels.aggregates import (
    COMPONENTS,
    StructType,
    Structure,
    StructValue,
    Variables,
    Vector,
    VectorType,
    disassemble,
    part_number,
    parts_of,
    replaced,
)
from vyre.kernels.annotations import annotations_of
from vyre.kernels.device import DeviceFunction
from vyre.kernels.elements import ArrayAtomic
from vyre.kernels.expressions import ExpressionReader
from vyre.kernels.frame import Frame, OpenLoop
from vyre.kernels.matching import other_pattern
from vyre.kernels.reader import IterationLeft, kind_of
from vyre.kernels.source import assigned_names, has_return, is_unnamed, leaves_iteration, path_of
from vyre.kernels.values import (
    ElementPart,
    KernelArray,
    LoopName,
    Merged,
    NumberChoice,
    Unbound,
    has_type_or_number,
    is_runtime,
    typed_text,
)
from vyre_foundation.build import Mutable, Value, constant, select
from vyre_foundation.build.arguments import number
from vyre_foundation.dtype import DType, bool_
from vyre_foundation.errors import BuildError
from vyre_foundation.ir.expr import Id, IdKind

Names = dict[str, object]
_NONE = object()
"""What a name without a value has."""

MAX_UNROLLED = 256
"""Iterations of a `range` that u32 cannot count."""


class KernelReader(ExpressionReader):
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

    # ── assignments ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _Assign(self, node: ast.Assign, *, is_tail: bool) -> bool:
        first = node.targets[0]
        self.assigned = first.id if isinstance(first, ast.Name) else ""
        x = self.eval(node.value)
        self.assigned = ""
        for target in node.targets:
            self._refuse_shared(target, node.value, x)
            self.assign(target, x)
        for target in node.targets[1:]:
            self._refuse_shared(target, first, x)
        return False

    def _refuse_shared(self, target: ast.expr, source: ast.expr, x: Any) -> None:
        """Refuse a second name for a structure of which a part is assigned: in Python both names would see it."""
        if isinstance(target, (ast.Tuple, ast.List)):
            pairs = _pairs(target, source, x)
            names = {path_of(part) for part, _, _ in pairs}
            for part, other, y in pairs:
                if path_of(other) not in names:  # and else they are exchanged
                    self._refuse_shared(part, other, y)
            return
        if self.is_in_array(target):
            return  # memory of the program: what is stored there is a copy in Python, too
        for node, thing in _named_things(source, x):
            paths = [path for part in (target, node) if (path := path_of(part)) is not None]
            line = min((line for path in paths if (line := self._changed_at(path))), default=0)
            if line and len(set(paths)) == len(paths):
                self._refuse_second(target, ast.unparse(target), node, thing, line)

    def _changed_at(self, path: str) -> int:
        """The first line that assigns to a part of what is written so, or of a part of it; 0 for none."""
        lines = (line for name, line in self.frame.changed.items() if f"{name}.".startswith(f"{path}."))
        return min(lines, default=0)

    def _refuse_second(self, at: ast.AST, name: str, source: ast.expr, x: StructValue | Vector, line: int) -> NoReturn:
        written = ast.unparse(source)
        kind, parts = ("vy.vec", COMPONENTS[: len(x)]) if isinstance(x, Vector) else (x.type.__name__, x.type.fields)
        message = (
            f"{name!r} and {written!r} are one {'vector' if isinstance(x, Vector) else kind} in Python, and two here:"
            f" line {line} changes a part of it"
        )
        copied = f"{kind}({', '.join(f'{written}.{part}' for part in parts)})"
        self.refuse(at, message, f"make another one, {copied}")

    def _AnnAssign(self, node: ast.AnnAssign, *, is_tail: bool) -> bool:
        if node.value is None:
            return False
        annotation = self.eval(node.annotation)
        self.assigned = node.target.id if isinstance(node.target, ast.Name) else ""
        x = self.eval(node.value)
        self.assigned = ""
        if annotation in (bool, int, float) and is_runtime(x):
            fix = "write its type, such as vy.u32"
            self.refuse(node.annotation, f"Python's {annotation.__name__} is not a type of the program", fix)
        if isinstance(annotation, DType):
            x = self.value(x, annotation, node.value)
        self.assign(node.target, x)
        return False

    def _AugAssign(self, node: ast.AugAssign, *, is_tail: bool) -> bool:
        target = node.target
        place = None if isinstance(target, ast.Name) else self.place(target)
        if place is not None and place.indices is not None:
            old = self.load_place(place, target)
            self.store_place(place, self.binary(node.op, old, self.eval(node.value), node), target)
            return False
        if isinstance(target, ast.Subscript):
            container = self.eval(target.value)
            if isinstance(container, KernelArray):
                indices = self.indices(container, target)
                old = self.load(container, indices, target)
                self.store(container, indices, self.binary(node.op, old, self.eval(node.value), node), target)
                return False
            at = self._item(container, target)
            container[at] = self.binary(node.op, container[at], self.eval(node.value), node)
            return False
        before = self.frame.names.get(target.id) if isinstance(target, ast.Name) else None
        if isinstance(before, Unbound) and isinstance(operand := self.eval(node.value), Value):
            typed = f"{ast.unparse(target)} = {typed_text(0, operand.dtype)}"
            self.refuse(target, before.message, f"make it a variable of the program before, with a type, as in {typed}")
        old = self.eval(_loaded(target))
        self.assign(target, self.binary(node.op, old, self.eval(node.value), node))
        return False

    def _assign_field(self, target: ast.Attribute, x: Any) -> None:
        """Assign to a field of a structure, or a component of a vector, that a name stands for, or a part of such."""
        names, root = [target.attr], target.value
        while isinstance(root, ast.Attribute):
            names.insert(0, root.attr)
            root = root.value
        if not isinstance(root, ast.Name):
            self.refuse(target, "a field of something without a name is changed", "assign to the field of a name")
        if root.id not in self.frame.names and root.id in self.frame.outer:
            fix = "return the value, or store it in an array"
            self.refuse(target, f"{root.id!r} is a Python object from outside of the kernel, and is changed", fix)
        variables = self.frame.names.get(root.id)
        if variables is not None and variables is self.frame.passed.get(root.id):
            name = self.frame.source.tree.name
            message = f"{root.id!r} is a copy of what the caller passed, and the change would be lost"
            fix = f"return a new one, and assign what {name}(…) returns in the caller"
            self.refuse(target, message, fix)
        thing = variables.thing() if isinstance(variables, Variables) else self.eval(_loaded(root))
        changed = self._with_part(thing, names, x, target)
        if not isinstance(variables, Variables):
            self.bind(root.id, changed, target)
            return
        _, old = disassemble(thing)
        _, new = disassemble(changed)
        for variable, value in zip(old, new, strict=True):
            if value is not variable:
                variable.set(value)

    def _with_part(self, thing: Any, names: Sequence[str], x: Any, target: ast.Attribute) -> Any:
        """A structure or a vector with another part, whose way there are the names."""
        number_ = part_number(thing, names[0])
        if number_ is None:
            fix = "assign to a field of a structure, or to a component of a vector"
            if isinstance(thing, StructValue):
                fix = f"use one of {', '.join(thing.type.fields)}"
            elif isinstance(thing, Vector):
                fix = f"use one of {', '.join(COMPONENTS[: len(thing)])}"
            self.refuse(target, f"{ast.unparse(target.value)!r} has no field {names[0]!r}", fix)
        old = parts_of(thing)[number_]
        if len(names) > 1:
            part = self._with_part(old, names[1:], x, target)
        elif isinstance(thing, StructValue):
            part = self._field(thing.type, names[0], x, target)
        else:
            part = self.value(x, old.dtype, target)
        return replaced(thing, number_, part)

    def _field(self, type_: StructType, name: str, x: Any, node: ast.AST) -> Any:
        """A value for a field of a structure, in the type of the field."""
        wanted = type_.fields[name]
        if isinstance(wanted, DType):
            return self.value(x, wanted, node)
        if isinstance(wanted, VectorType):
            return self.vector(x, wanted, node)
        if not isinstance(x, StructValue) or x.type is not wanted:
            self.refuse(node, f"the field {name!r} holds a {wanted.__name__!r}", f"pass {wanted.__name__}(…)")
        return x

    def assign(self, target: ast.expr, x: Any) -> None:
        """Assign to a name, to several, or to an element."""
        if isinstance(target, ast.Name):
            self.bind(target.id, x, target)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, x)
        elif isinstance(target, (ast.Subscript, ast.Attribute)) and (place := self.place(target)) is not None:
            if place.indices is None:
                self.refuse(target, f"{place.name!r} of all elements is assigned", f"index it, as in {place.name}[i]")
            self.store_place(place, x, target)
        elif isinstance(target, ast.Subscript):
            container = self.eval(target.value)
            if isinstance(container, KernelArray):
                self.store(container, self.indices(container, target), x, target)
            else:
                container[self._item(container, target)] = x
        elif isinstance(target, ast.Attribute):
            self._assign_field(target, x)
        else:
            self.refuse(target, f"got {_word(target)} as a target", "assign to a name or to an element")

    def _item(self, container: Any, target: ast.Subscript) -> object:
        """The index or key of an element of a list or a dictionary that is changed while the kernel is compiled."""
        at = self.eval(target.slice)
        if (
            not isinstance(container, (list, dict))
            or is_runtime(at)
            or not self.may_change(container)
            or self.is_outer(container)
        ):
            fix = "use a private array, as in vy.private(vy.f32, 3)"
            if isinstance(container, Vector) and type(at) is int and -len(container) <= at < len(container):
                fix = (
                    f"assign to the component, as in {ast.unparse(target.value)}.{COMPONENTS[at % len(container)]} = …"
                )
            self.refuse(target, "an element of a Python object is changed", fix)
        return at

    def _unpack(self, target: ast.Tuple | ast.List, x: Any) -> None:
        if isinstance(x, Value) and len(self.shape) == 1 and x.expr is Id(IdKind.GLOBAL_ID, 0):
            fix = f"write {ast.unparse(target.elts[0])} = vy.index(), or state more axes, as in shape=('h', 'w')"
            self.refuse(target, "the launch has one axis, so its index is one value", fix)
        if isinstance(x, (Value, NumberChoice, KernelArray)):
            self.refuse(target, "one value is assigned to several names", "assign a tuple")
        with self.at(target):
            parts = list(x)
        stars = [n for n, part in enumerate(target.elts) if isinstance(part, ast.Starred)]
        needed = len(target.elts) - len(stars)
        if len(parts) < needed or (not stars and len(parts) > needed):
            fix = "name each of them"
            self.refuse(target, f"{len(parts)} values are assigned to {len(target.elts)} names", fix)
        if stars:
            at, extra = stars[0], len(parts) - needed
            parts[at : at + extra] = [parts[at : at + extra]]
        for part, value in zip(target.elts, parts, strict=True):
            self.assign(part.value if isinstance(part, ast.Starred) else part, value)

    # ── simple statements ────────────────────────────────────────────────────────────────────────────────────────────

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
            fix = "return one value for each array"
            self.refuse(node.value, f"got {len(parts)} values for {len(self.results)} arrays", fix)
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
        if not loop.is_unrolled:
            self.builder.break_() if word == "break" else self.builder.continue_()
            return
        if self.depth != loop.depth:
            fix = "count with `for k in range(…)`, which is a loop of the program"
            self.refuse(node, f"`{word}` of a loop that is unrolled, under a condition of the program", fix)
        raise IterationLeft(word)

    def _Match(self, node: ast.Match, *, is_tail: bool) -> NoReturn:
        """Refuse the pattern because of which the statement was not written as branches."""
        fix = "match numbers, names with a point, `|` of these and `_`; else write `if` and `elif`"
        self.refuse(other_pattern(node) or node, "got a pattern that binds or destructures the subject", fix)

    # ── branches ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _if(self, node: ast.If, rest: Sequence[ast.stmt], *, is_tail: bool, is_rest: bool = False) -> tuple[bool, bool]:
        """Read a branch: whether the next statement is not reached, and whether `rest` was read with it.

        `is_rest`: its body is the rest of a device function.
        """
        with self.at(node):
            condition = self.test(node.test)
        if isinstance(condition, bool):
            chosen = node.body if condition else node.orelse
            if not self.frame.is_kernel and has_return(chosen):  # it may return in a branch of the program
                return self.block([*chosen, *rest], is_tail=is_tail), True
            return self.block(chosen, is_tail=is_tail and not rest), False
        takes_rest = is_rest or (not self.frame.is_kernel and has_return([node]))
        then, orelse = list(node.body), list(node.orelse)
        if takes_rest:  # a device function that returns early does the rest in the other branch
            then, orelse, rest = [*then, *rest], [*orelse, *rest], ()
        is_tail = is_tail and not rest
        line = self.builder.line
        names, block = assigned_names([*then, *orelse]), self._enter([*then, *orelse])
        outer = self.frame.names
        self.frame.names = then_names = dict(outer)
        with self.builder.if_(condition):
            then_ends = self.block(then, is_tail=is_tail)
        else_names, else_ends = dict(outer), False
        if orelse:
            self.frame.names = else_names
            self.builder.line = line
            with self.builder.else_():
                else_ends = self.block(orelse, is_tail=is_tail)
        self.frame.names = outer
        self.depth -= 1
        live = [n for n, ends in ((then_names, then_ends), (else_names, else_ends)) if not ends]
        if takes_rest:
            live = [then_names, else_names]
            names = {**names, "return": node}
        self._merge(node, block, outer, live, names)
        return then_ends and else_ends, takes_rest

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
                names[name] = self.builder.var(x, name=_stem(name))
            elif leaves:
                names[name] = Variables(structure, tuple(self.builder.var(leaf, name=_stem(name)) for leaf in leaves))
                if self.frame.passed.get(name) is x:
                    self.frame.passed[name] = names[name]
        for (block, name), (structure, dtypes) in self.known.merged.items():
            if block == self.blocks and not isinstance(names.get(name), (Mutable, Variables)):
                first = self._first_values(names.get(name), structure, dtypes, statements[0])
                variables = tuple(self.builder.var(x, name=_stem(name)) for x in first)
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
            before = outer.get(name, _NONE)
            if isinstance(before, (Mutable, Variables)) or not live:
                continue
            after = [names.get(name, _NONE) for names in live]
            if name == "return" and self.frame.flags:  # read only where the loop was left by a `return`
                after = [x for x in after if x is not _NONE and not isinstance(x, Unbound)]
            if all(x is before for x in after):
                continue
            line = self.frame.source.line_of(where)
            unset = [x for x in after if x is _NONE]
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

    # ── loops ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _For(self, node: ast.For, *, is_tail: bool) -> bool:
        if node.orelse:
            self.refuse(node.orelse[0], "a loop has an `else`", "test a variable behind the loop")
        ranged = self._range(node.iter)
        if isinstance(ranged, tuple):
            return self._count(node, ranged)
        return self._unroll(node, self.iterable(node.iter) if ranged is None else ranged)

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
            opened = self.builder.range(start, stop, step, name=_stem(node.target.id))
        with opened as counter:
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
            count = len(range(start, stop, step))
            if count > MAX_UNROLLED:
                message = f"a loop that counts below 0 or downwards is unrolled, and this one has {count} iterations"
                fix = f"count from 0 upwards, as in range({count}), and compute the number in the loop"
                self.refuse(node, message, fix)
            return range(start, stop, step)
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

    def _begin_loop(self, statements: Sequence[ast.AST], *, skip: str = "") -> tuple[Names, int]:
        """Begin a loop of the program: its names, in which what an iteration changes is not known."""
        outer = self.frame.names
        counter = outer.pop(skip, _NONE)
        if isinstance(counter, Mutable):
            self.refuse(statements[0], f"{skip!r} is a variable, which cannot count a loop", "use another name")
        block = self._enter([s for s in statements if isinstance(s, ast.stmt)])
        if counter is not _NONE:
            outer[skip] = counter
        self.frame.names = names = dict(outer)
        self.frame.loops.append(OpenLoop(False, self.depth, self.frame.carried))
        self.frame.carried = dict(self.frame.carried)
        for name, where in assigned_names(statements).items():
            before = outer.get(name, _NONE)
            if name == skip or before is _NONE or isinstance(before, (Mutable, Variables, Unbound, LoopName)):
                continue
            names[name] = self.frame.carried[name] = LoopName(block, name, before, self.frame.source.line_of(where))
        return outer, block

    def _end_loop(self, outer: Names, block: int, statements: Sequence[ast.AST], node: ast.stmt) -> None:
        carried, self.frame.carried = self.frame.carried, self.frame.loops.pop().carried
        self.depth -= 1
        after, self.frame.names = self.frame.names, outer
        for name, where in assigned_names(statements).items():
            before = outer.get(name, _NONE)
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
            if before is not _NONE and after.get(name) is before:
                continue
            line = self.frame.source.line_of(where)
            message = f"{name!r} may have no value here: the loop that gives it one at line {line} may not run"
            found = after.get(name)
            typed = typed_text(0, found.dtype) if isinstance(found, Value) else "vy.u32(0)"
            fix = f"give {name!r} a value before the loop, with a type, as in {name} = {typed}"
            if isinstance(node, ast.For) and where is node.target:
                message = f"{name!r} has no value behind the loop that it counts, at line {line}"
                fix = f"give another name a value before the loop, and assign to it there, as in last = {name}"
            outer[name] = Unbound(message, fix)
        result = after.get("return", _NONE)
        if self.frame.flags and result is not _NONE and not isinstance(outer.get("return"), (Mutable, Variables)):
            outer["return"] = Merged(block, "return", (result,), node)

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
        flag = self.builder.var(False, bool_, name="returned")
        self.frame.flags.append(flag)
        if isinstance(node, ast.While):
            self._While(node, is_tail=False)
        elif isinstance(ranged, tuple):
            self._count(node, ranged)
        self.frame.flags.pop()
        if "return" not in self.frame.names:  # each is in a branch that is not compiled
            return self.block(rest, is_tail=is_tail)
        if self.frame.flags:  # the loop around it is left too
            with self.builder.if_(flag.get()):
                self.frame.flags[-1].set(True)
                self.builder.break_()
            return self.block(rest, is_tail=is_tail)
        if not rest:
            fix = "return a value behind the loop"
            self.refuse(node, "the function may end without returning a value", fix)
        test = ast.copy_location(KnownValue(~flag.get()), node)
        self._if(ast.copy_location(ast.If(test, list(rest), []), node), (), is_tail=is_tail, is_rest=True)
        return False

    def _KnownValue(self, node: KnownValue) -> object:
        return node.x

    def _unroll(self, node: ast.For, elements: Iterable[Any]) -> bool:
        """A loop over what is known while the kernel is compiled: its body is read for each element."""
        self.frame.loops.append(OpenLoop(True, self.depth))
        ends = False
        for x in elements:
            self.unrolled(node.iter)
            if isinstance(x, (StructValue, Vector)) and (line := self._changed_at(ast.unparse(node.target))):
                fix = "assign to a part of what has a name of its own, outside of the loop"
                self.refuse(node.target, f"line {line} changes a part of a copy of the element", fix)
            self.assign(node.target, x)
            try:
                ends = self.block(node.body, is_tail=False)
            except IterationLeft as left:
                if left.word == "break":
                    break
            if ends:
                break
        self.frame.loops.pop()
        return ends

    def _refuse_unlimited(self, test: ast.expr) -> NoReturn:
        fix = f"state how often it runs at most, as in `while vy.bounded({ast.unparse(test)}, 1000):`"
        self.refuse(test, "a `while` loop has no limit, and every program ends", fix)

    def _unroll_while(self, node: ast.While, holds: bool | Value) -> bool:
        """A loop whose condition is known while the kernel is compiled: its body is read for each iteration."""
        self.frame.loops.append(OpenLoop(True, self.depth))
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
            try:
                ends = self.block(node.body, is_tail=False)
            except IterationLeft as left:
                if left.word == "break":
                    break
            if ends:
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

    # ── calls ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def call(self, callee: Any, node: ast.Call) -> object:
        """Call a function with the arguments of a node."""
        if isinstance(callee, DeviceFunction):
            return self._device_function(callee, node)
        if isinstance(callee, functools.partial) and isinstance(callee.func, DeviceFunction):
            return self._device_function(callee.func, node, callee.args)
        if isinstance(callee, StructType):
            return self._make_struct(callee, node)
        if isinstance(callee, VectorType):
            positional, named = self.arguments(node)
            if named:
                self.refuse(node, "the components of a vector have no names", "pass them in order")
            return self.vector(tuple(positional), callee, node)
        return calls.call(self, callee, node)

    def _make_struct(self, type_: StructType, node: ast.Call) -> StructValue:
        """A structure from its fields."""
        positional, named = self.arguments(node)
        try:
            given = type_.bind(positional, named)
        except BuildError as error:
            self.refuse(node, error.message, error.fix)
        nodes = dict(zip(type_.fields, node.args, strict=False))
        nodes |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
        for name, source in nodes.items():
            for part, thing in _named_things(source, given.get(name)):
                path = path_of(part)
                lines = [line for at, line in self.frame.changed.items() if name in at.split(".")[1:]]
                line = min([*lines, *filter(None, [self._changed_at(path) if path else 0])], default=0)
                if line:
                    self._refuse_second(source, f"{type_.__name__}(…).{name}", part, thing, line)
        return StructValue(type_, tuple(self._field(type_, name, given[name], node) for name in type_.fields))

    def _device_function(self, callee: DeviceFunction, node: ast.Call, bound_to: Sequence[Any] = ()) -> object:
        """Read the body of a device function in the place of its call."""
        positional, named = self.arguments(node)
        positional = [*bound_to, *positional]
        source = callee.source
        if any(frame.source is source for frame in self.frames):
            self.refuse(node, f"{callee.__name__!r} calls itself, and device functions are inlined", "write a loop")
        try:
            bound = inspect.signature(callee.function).bind(*positional, **named)
        except TypeError as error:
            self.refuse(node, f"{callee.__name__}(): {error}", "pass its arguments")
        bound.apply_defaults()
        annotations = annotations_of(source)
        types: dict[TypeVar, DType] = {}
        names: Names = {}
        for name, x in bound.arguments.items():
            names[name] = self._argument(name, annotations.get(name), x, types, node)
        line, frame = self.builder.line, Frame(source, names, False, self.depth)
        wanted = annotations.get("return")
        if isinstance(wanted, TypeVar):
            wanted = types.get(wanted)
        if isinstance(wanted, DType):
            frame.result = wanted
        frame.passed = {name: x for name, x in names.items() if isinstance(x, (StructValue, Vector))}
        self.frames.append(frame)
        self.block(source.tree.body, is_tail=True)
        result = self.frame.names.get("return")
        if result is not None:
            result = self.read(result, source.tree)
        self.frames.pop()
        self.builder.line = line
        return result

    def _argument(self, name: str, wanted: Any, x: Any, types: dict[TypeVar, DType], node: ast.AST) -> object:
        """An argument of a device function in the type of its annotation."""
        if isinstance(wanted, TypeVar):
            if isinstance(x, Value):
                known = types.setdefault(wanted, x.dtype)
                allowed = wanted.__constraints__
                if allowed and not any(known is t for t in allowed):
                    got = ", ".join(map(str, allowed))
                    self.refuse(node, f"got a value of {known} for {name!r}, expected one of {got}", "convert it")
            wanted = types.get(wanted)
        if isinstance(wanted, VectorType):
            return self.vector(x, wanted, node)
        return self.value(x, wanted, node) if isinstance(wanted, DType) else x

    blocks = 0
    """How many branches and loops of the program were begun."""


class KnownValue(ast.expr):
    """An expression whose value is there."""

    def __init__(self, x: object) -> None:
        super().__init__()
        self.x = x


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


def _is_same_static(x: object, y: object) -> bool:
    if x is y:
        return not is_runtime(x) and not isinstance(x, (Mutable, Merged))
    return type(x) is type(y) and isinstance(x, (bool, int, float, str)) and operator.eq(x, y)


def _named_things(node: ast.expr, x: Any) -> Iterator[tuple[ast.expr, StructValue | Vector]]:
    """The structures and vectors in the value of an expression that have names of their own already."""
    if isinstance(node, (ast.Tuple, ast.List)) and isinstance(x, (tuple, list)) and len(x) == len(node.elts):
        for part, y in zip(node.elts, x, strict=True):
            yield from _named_things(part, y)
    elif isinstance(node, ast.IfExp):
        yield from _named_things(node.body, x)
        yield from _named_things(node.orelse, x)
    elif isinstance(x, (StructValue, Vector)) and path_of(node) is not None:
        yield node, x


def _pairs(target: ast.Tuple | ast.List, source: ast.expr, x: Any) -> list[tuple[ast.expr, ast.expr, Any]]:
    """The targets of an assignment to several names, each with the expression and the value that it gets."""
    if not isinstance(source, (ast.Tuple, ast.List)) or not len(source.elts) == len(target.elts) == len(x):
        return []
    return list(zip(target.elts, source.elts, x, strict=True))


def _loaded(target: ast.expr) -> ast.expr:
    """The expression that reads what a target names."""
    copy: ast.expr = type(target)(**{field: getattr(target, field) for field in target._fields} | {"ctx": ast.Load()})
    return ast.copy_location(copy, target)


def _stem(name: str) -> str:
    """A name for a local of the program; names that begin with two underscores are reserved."""
    stem = name.lstrip("_")
    return stem if stem.isascii() and stem and not stem[0].isdigit() else "v"


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
    }  # fmt: skip
    return words.get(type(node).__name__, type(node).__name__)
