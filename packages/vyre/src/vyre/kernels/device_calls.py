"""Calls of functions in a kernel; the body of a device function is read in the place of its call."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from vyre.kernels import calls
from vyre.kernels.aggregates import StructType, StructValue, Vector, VectorType
from vyre.kernels.annotations import annotations_of
from vyre.kernels.assignments import AssignmentReader
from vyre.kernels.device import DeviceFunction
from vyre.kernels.frame import Frame, Names
from vyre.kernels.source import path_of
from vyre_foundation.build import Value
from vyre_foundation.dtype import DType
from vyre_foundation.errors import BuildError


class CallReader(AssignmentReader):
    """Reads calls."""

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
            for part, thing in self.named_things(source, given.get(name)):
                path = path_of(part)
                lines = [line for at, line in self.frame.changed.items() if name in at.split(".")[1:]]
                line = min([*lines, *filter(None, [self._changed_at(path) if path else 0])], default=0)
                if line:
                    self._refuse_second(source, f"{type_.__name__}(…).{name}", part, thing, line)
        return StructValue(type_, tuple(self._field(type_, name, given[name], node) for name in type_.fields))

    def _device_function(self, callee: DeviceFunction, node: ast.Call, bound_to: Sequence[Any] = ()) -> object:
        """Call a device function with the arguments of a node, and those that it is bound to."""
        positional, named = self.arguments(node)
        return self.inline(callee, [*bound_to, *positional], named, node)

    def inline(
        self, callee: DeviceFunction, positional: Sequence[Any], named: Mapping[str, Any], node: ast.AST
    ) -> object:
        """Read the body of a device function in the place of its call."""
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
        self.block(_body_of(source.tree), is_tail=True)
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


def _body_of(tree: ast.FunctionDef) -> list[ast.stmt]:
    """The statements of a function; if each `return` gives None, with one at the end, where Python gives None too."""
    last = tree.body[-1]
    given = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return)]
    if not given or isinstance(last, ast.Return):
        return tree.body
    if any(x is not None and not (isinstance(x, ast.Constant) and x.value is None) for x in given):
        return tree.body
    return [*tree.body, ast.copy_location(ast.Return(), last)]
