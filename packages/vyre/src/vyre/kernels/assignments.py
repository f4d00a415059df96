"""Assignments of a kernel: to names, elements, fields and components."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from vyre.kernels.aggregates import (
    COMPONENTS,
    StructType,
    StructValue,
    Variables,
    Vector,
    VectorType,
    disassemble,
    part_number,
    parts_of,
    replaced,
)
from vyre.kernels.expressions import ExpressionReader
from vyre.kernels.source import path_of
from vyre.kernels.values import KernelArray, NumberChoice, Unbound, is_runtime, typed_text
from vyre_foundation.build import Value
from vyre_foundation.build.arguments import number
from vyre_foundation.dtype import DType
from vyre_foundation.ir.expr import Id, IdKind


class AssignmentReader(ExpressionReader):
    """Reads assignments."""

    def _Assign(self, node: ast.Assign, *, is_tail: bool) -> bool:
        first = node.targets[0]
        x = self._assigned_value(first, node.value)
        for target in node.targets:
            self._refuse_shared(target, node.value, x)
            self.assign(target, x)
        for target in node.targets[1:]:
            self._refuse_shared(target, first, x)
        return False

    def _assigned_value(self, target: ast.expr, source: ast.expr) -> Any:
        """The value of an expression, where arrays that it declares get the names of the target."""
        if isinstance(target, ast.Tuple) and isinstance(source, ast.Tuple) and len(target.elts) == len(source.elts):
            pairs = list(zip(target.elts, source.elts, strict=True))
            if not any(isinstance(part, ast.Starred) for pair in pairs for part in pair):
                return tuple([self._assigned_value(*pair) for pair in pairs])
        self.assigned = target.id if isinstance(target, ast.Name) else ""
        x = self.eval(source)
        self.assigned = ""
        return x

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
        for node, thing in self.named_things(source, x):
            paths = [path for part in (target, node) if (path := path_of(part)) is not None]
            line = min((line for path in paths if (line := self._changed_at(path))), default=0)
            if line and len(set(paths)) == len(paths):
                self._refuse_second(target, ast.unparse(target), node, thing, line)

    def named_things(self, node: ast.expr, x: Any) -> Iterator[tuple[ast.expr, StructValue | Vector]]:
        """The structures and vectors in the value of an expression that have names of their own already."""
        if isinstance(node, (ast.Tuple, ast.List)) and isinstance(x, (tuple, list)) and len(x) == len(node.elts):
            for part, y in zip(node.elts, x, strict=True):
                yield from self.named_things(part, y)
        elif isinstance(node, ast.IfExp):
            yield from self.named_things(node.body, x)
            yield from self.named_things(node.orelse, x)
        elif isinstance(x, (StructValue, Vector)) and path_of(node) is not None:
            is_swizzle = isinstance(node, ast.Attribute) and isinstance(self.eval(node.value), Vector)
            if not is_swizzle:  # which is a new vector
                yield node, x

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
        x = self._assigned_value(node.target, node.value)
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
        at = part_number(thing, names[0])
        if at is None:
            fix = "assign to a field of a structure, or to a component of a vector"
            if isinstance(thing, StructValue):
                fix = f"use one of {', '.join(thing.type.fields)}"
            elif isinstance(thing, Vector):
                fix = f"use one of {', '.join(COMPONENTS[: len(thing)])}"
            self.refuse(target, f"{ast.unparse(target.value)!r} has no field {names[0]!r}", fix)
        old = parts_of(thing)[at]
        if len(names) > 1:
            part = self._with_part(old, names[1:], x, target)
        elif isinstance(thing, StructValue):
            part = self._field(thing.type, names[0], x, target)
        elif number(old) is None:
            part = self.value(x, old.dtype, target)
        elif number(x) is not None:
            part = x
        else:  # the other numbers take its type
            typed = replaced(thing, at, self.value(x, None, target))
            return Vector(self.unify(parts_of(typed), target))
        return replaced(thing, at, part)

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
                fix = f"index it, as in {self.element_of(place)}"
                self.refuse(target, f"{place.name!r} of all elements is assigned", fix)
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
            self.refuse(target, f"got {type(target).__name__} as a target", "assign to a name or to an element")

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


def _pairs(target: ast.Tuple | ast.List, source: ast.expr, x: Any) -> list[tuple[ast.expr, ast.expr, Any]]:
    """The targets of an assignment to several names, each with the expression and the value that it gets."""
    if not isinstance(source, (ast.Tuple, ast.List)) or not len(source.elts) == len(target.elts) == len(x):
        return []
    return list(zip(target.elts, source.elts, x, strict=True))


def _loaded(target: ast.expr) -> ast.expr:
    """The expression that reads what a target names."""
    copy: ast.expr = type(target)(**{field: getattr(target, field) for field in target._fields} | {"ctx": ast.Load()})
    return ast.copy_location(copy, target)
