"""Elements of arrays, of tables and of sequences, and attributes."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

import vyre_foundation.functions as ops
import vyre_math
from vyre.kernels.aggregates import COMPONENTS, StructType, StructValue, Variables, Vector, VectorType
from vyre.kernels.conversions import converted, wraps
from vyre.kernels.reader import OF_ARRAYS, NodeReader, ResultRead, kind_of
from vyre.kernels.values import ElementPart, KernelArray, NumberChoice, is_runtime
from vyre_driver import DeviceArray
from vyre_foundation.build import Value
from vyre_foundation.dtype import DType, bool_, i32, u32
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.expr import Apply, Expr, Literal
from vyre_foundation.ir.stmt import AtomicOp

MAX_ROW = 16
"""Elements of a row that are loaded at once."""
ATOMICS = tuple([f"atomic_{op.value}" for op in AtomicOp])
"""The methods of arrays that apply atomics."""


class ElementReader(NodeReader):
    """Reads subscripts and attributes."""

    def _part_of(self, node: ast.expr) -> Any:
        """The value of an expression of which a part is used: of variables, only that is read."""
        if isinstance(node, ast.Name) and isinstance(variables := self.frame.names.get(node.id), Variables):
            return variables.thing()
        return self.eval(node)

    def is_in_array(self, node: ast.expr) -> bool:
        """Whether an expression names an element of an array, or a part of one."""
        root = node
        while isinstance(root, (ast.Attribute, ast.Subscript)):
            root = root.value
        name = self.frame.names.get(root.id) if isinstance(root, ast.Name) else None
        return node is not root and isinstance(name, (KernelArray, ElementPart))

    def place(self, node: ast.expr) -> ElementPart | None:
        """The part of an array of structures or vectors that an expression names; None for other expressions."""
        if isinstance(node, ast.Name):
            found = self.frame.names.get(node.id)
            if isinstance(found, KernelArray) and found.element is not None:
                return ElementPart(found, None, found.element, 0, node.id)
            return found if isinstance(found, ElementPart) else None
        if not isinstance(node, (ast.Attribute, ast.Subscript)):
            return None
        whole = self.place(node.value)
        if whole is None:
            return None
        if isinstance(node, ast.Subscript) and whole.indices is None:
            indices = tuple(self.indices(whole.array, node))
            return replace(whole, indices=indices, name=f"{whole.name}[…]")
        if isinstance(whole.type, StructType) and isinstance(node, ast.Attribute) and node.attr in whole.type.fields:
            _, offset, *_ = whole.type.dtype.fields[node.attr]  # type: ignore[index]
            name = f"{whole.name}.{node.attr}"
            return replace(whole, type=whole.type.fields[node.attr], offset=whole.offset + offset, name=name)
        if isinstance(whole.type, VectorType):
            return self._component(whole, whole.type, node)
        return None

    def _component(
        self, whole: ElementPart, type_: VectorType, node: ast.Attribute | ast.Subscript
    ) -> ElementPart | None:
        """A component of a vector in an array, by its letter or its number."""
        letters = COMPONENTS[: type_.size]
        number_: Any = None
        if isinstance(node, ast.Subscript):
            number_ = self.eval(node.slice)
            if type(number_) is not int or not -type_.size <= number_ < type_.size:
                fix = f"write a number in 0 … {type_.size - 1}"
                self.refuse(node, "the index of a component must be a number that is known at compile time", fix)
            number_ %= type_.size
        elif node.attr in letters and len(node.attr) == 1:
            number_ = letters.index(node.attr)
        if number_ is None:
            return None
        offset = whole.offset + number_ * type_.dtype.size
        return replace(whole, type=type_.dtype, offset=offset, name=f"{whole.name}.{letters[number_]}")

    def load_place(self, place: ElementPart, node: ast.AST) -> Any:
        """What a part of an element holds."""
        self._require_readable(place.array)
        if isinstance(place.type, StructType):
            fields = place.type.dtype.fields
            assert fields is not None
            parts = (
                replace(place, type=type_, offset=place.offset + fields[name][1])
                for name, type_ in place.type.fields.items()
            )
            return StructValue(place.type, tuple(self.load_place(part, node) for part in parts))
        if isinstance(place.type, VectorType):
            return Vector(self._load_number(part) for part in _components(place, place.type))
        return self._load_number(place)

    def _load_number(self, place: ElementPart) -> Value:
        dtype, unit, units = _units(place)
        loaded = [place.array.array[(*_indices(place), at)] for at in units]
        if dtype is unit:
            return loaded[0]
        if dtype is bool_:
            return loaded[0] != 0
        wide, value = dtype.unsigned, loaded[0].cast(dtype.unsigned)
        for number_, part in enumerate(loaded[1:], 1):
            value = value | (part.cast(wide) << (number_ * unit.bits))
        return value.bitcast(dtype)

    def store_place(self, place: ElementPart, x: Any, node: ast.AST) -> None:
        """Write a part of an element; nothing is done where an index is out of bounds."""
        self._require_writable(place.array, node)
        values = list(self._numbers(place, x, node))
        self._stored(place.array, _indices(place), node)
        for part, value in values:
            dtype, unit, units = _units(part)
            if dtype is not unit:
                value = value.cast(unit) if dtype is bool_ else value.bitcast(dtype.unsigned)
            for number_, at in enumerate(units):
                stored = value if len(units) == 1 else (value >> (number_ * unit.bits)).cast(unit)
                place.array.array[(*_indices(part), at)] = stored

    def _numbers(self, place: ElementPart, x: Any, node: ast.AST) -> Iterator[tuple[ElementPart, Value]]:
        """The numbers in a part of an element, and what they become."""
        if isinstance(place.type, StructType):
            if not isinstance(x, StructValue) or x.type is not place.type:
                name = place.type.__name__
                self.refuse(node, f"got {kind_of(x)} for {place.name}, expected a {name}", f"pass {name}(…)")
            fields = place.type.dtype.fields
            assert fields is not None
            for (name, type_), value in zip(place.type.fields.items(), x.values, strict=True):
                part = replace(place, type=type_, offset=place.offset + fields[name][1], name=f"{place.name}.{name}")
                yield from self._numbers(part, value, node)
        elif isinstance(place.type, VectorType):
            vector = self.vector(x, place.type, node)
            yield from zip(_components(place, place.type), vector, strict=True)
        else:
            yield place, self.value(x, place.type, node)

    def vector(self, x: Any, type_: VectorType, node: ast.AST) -> Vector:
        """An operand as a vector of a type: numbers take the type of the components."""
        if not isinstance(x, tuple) or len(x) != type_.size:
            fix = f"pass vy.vec(…) of {type_.size} components"
            self.refuse(node, f"got {kind_of(x)}, expected {type_.size} components of {type_.dtype}", fix)
        return Vector(self.value(part, type_.dtype, node) for part in x)

    def _Subscript(self, node: ast.Subscript) -> object:
        place = self.place(node)
        if place is not None:
            return self.load_place(place, node)
        container = self._part_of(node.value)
        index = self._slice(node.slice)
        if isinstance(container, KernelArray):
            if isinstance(index, slice):
                self.refuse(node, f"got a slice of {container.place!r}", "load and store one element at a time")
            return self._row(container, index, node) or self.load(container, self.indices(container, node, index), node)
        if isinstance(container, Value):
            self.refuse(node, f"a value of {container.dtype} has no elements", "index an array")
        if isinstance(container, StructValue):
            fields, written = container.type.fields, ast.unparse(node.value)
            fix = (
                f"write {written}.{index}" if index in fields else f"name a field, as in {written}.{next(iter(fields))}"
            )
            self.refuse(node, f"the fields of a {container.type.__name__} have no index", fix)
        if not is_runtime(index):
            return self.current(container[index])
        if not isinstance(container, (np.ndarray, bytes)):
            fix = (
                "loop over a tuple, as in tuple(range(3)), or index an array: vy.private, or one of NumPy from outside"
            )
            if isinstance(container, tuple) and isinstance(node.value, ast.Subscript):
                inner = node.value
                fix = f"write an index for each axis, as in {ast.unparse(inner.value)}[{_parts(inner)}, {_parts(node)}]"
            if isinstance(container, DeviceArray):
                fix = "take the array as a parameter"
            if isinstance(container, str):
                fix = "index bytes, as in text.encode()[i], or an array of NumPy from outside"
            self.refuse(node, f"got a value of the program as an index of {kind_of(container)}", fix)
        table = self.table(container, node.value)
        return self._row(table, index, node) or self.load(table, self.indices(table, node, index), node)

    def _row(self, array: KernelArray, index: Any, node: ast.Subscript) -> tuple[Value, ...] | None:
        """The elements of a row of known length, where an index for the last axis is missing."""
        parts = index if isinstance(index, tuple) else (index,)
        length = array.axes[-1]
        if len(parts) != len(array.axes) - 1 or not isinstance(length, int) or length > MAX_ROW:
            return None
        return tuple([self.load(array, self.indices(array, node, (*parts, k)), node) for k in range(length)])

    def _slice(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Slice):
            return slice(*(None if part is None else self.eval(part) for part in (node.lower, node.upper, node.step)))
        return self.eval(node)

    def indices(self, array: KernelArray, node: ast.Subscript, given: Any = None) -> list[int | Value]:
        """The indices of an element, one for each axis."""
        if given is None:
            if isinstance(node.slice, ast.Slice):
                self.refuse(node, f"got a slice of {array.place!r}", "load and store one element at a time")
            given = self.eval(node.slice)
        parts = list(given) if isinstance(given, tuple) else [given]
        if len(parts) != len(array.axes):
            axes = "one axis" if len(array.axes) == 1 else f"{len(array.axes)} axes"
            fix = f"pass {'an index' if len(array.axes) == 1 else 'an index for each axis'}"
            if len(parts) < len(array.axes) and not any(isinstance(part, tuple) for part in parts):
                given_and_more = [_parts(node), *"klmnpq"[: len(array.axes) - len(parts)]]
                fix += f", as in {ast.unparse(node.value)}[{', '.join(given_and_more)}]"
            self.refuse(node, f"got {len(parts)} indices of {array.place!r}, which has {axes}", fix)
        found: list[int | Value] = []
        for part in parts:
            if isinstance(part, (int, np.integer)) and not isinstance(part, bool):
                if part < 0:
                    length = f"len({array.place})" if len(array.axes) == 1 else f"{array.place}.shape[axis]"
                    fix = f"indices do not count from the end: use {length} - {-part}"
                    self.refuse(node, f"the index {part} is out of bounds", fix)
                found.append(int(part))
            elif isinstance(part, NumberChoice):
                found.append(self.value(part, u32, node))
            elif isinstance(part, Value) and part.dtype.is_integer:
                self._require_reach(array, part, len(found), node)
                if _is_from_the_end(part.expr):
                    length = f"len({array.place})" if len(array.axes) == 1 else f"{array.place}.shape[{len(found)}]"
                    fix = f"indices do not count from the end: subtract from the length, as in {length} - 1 - i"
                    self.refuse(node, f"an index of {array.place!r} is below 0, and so out of bounds", fix)
                found.append(part)
            else:
                what = f"a value of {part.dtype}" if isinstance(part, Value) else kind_of(part)
                fix = "pass an integer; a value becomes one with .cast(vy.u32)"
                if isinstance(part, tuple) and len(part) == len(self.own_index):
                    fix = f"give each index a name, as in {', '.join('ijklmn'[: len(part)])} = vy.index()"
                self.refuse(node, f"got {what} as an index of {array.place!r}, expected an integer", fix)
        if array.array.decl.memory is Memory.STORAGE and self._is_own_place(found):
            self.own_uses.append((array, node))
        return found

    def _require_reach(self, array: KernelArray, index: Value, axis: int, node: ast.Subscript) -> None:
        """Refuse a sum or a product in a type that does not reach the end of the axis: it wraps where it would."""
        length, dtype = array.axes[axis], index.dtype
        is_sum = isinstance(index.expr, Apply) and index.expr.op.id in ("add", "mul", "shl")
        if not isinstance(length, int) or length <= dtype.highest + 1 or not is_sum:
            return
        place = node.slice.elts[axis] if isinstance(node.slice, ast.Tuple) else node.slice
        wide = i32 if dtype.is_signed else u32
        fix = f"convert before it wraps, as in {ast.unparse(converted(place, wide))}"
        if not wraps(place):
            fix = f"convert what it is computed from, as in vy.{wide}(x[i])"
        message = (
            f"an index of {array.place!r} is computed in {dtype}, which ends at {dtype.highest}, and the axis has"
            f" {length} elements"
        )
        self.refuse(node, message, fix)

    def _stored(self, array: KernelArray, indices: Sequence[int | Value], node: ast.AST) -> None:
        """Note a store, which is refused where others see it whatever the condition is."""
        if self.conditions and array.array.decl.name in self.conditions[-1].buffers:
            self.refuse_under_condition(node, "a store")
        self.actions += 1
        assert self.builder.line is not None
        self.stores[array.array.decl.name, self.builder.line] = self.frame.source, node
        if not self._is_own_element(array, indices) and array.array.decl.memory.is_host_visible:
            self.has_effects = True

    def _require_readable(self, array: KernelArray) -> None:
        if not array.array.decl.access.reads:
            raise ResultRead(array.array.decl.name)

    def _require_writable(self, array: KernelArray, node: ast.AST) -> None:
        if not array.array.decl.access.writes:
            fix = f"annotate {array.place!r} with vy.Out or vy.InOut"
            self.refuse(node, f"{array.place!r} is an input, which cannot be written", fix)

    def load(self, array: KernelArray, indices: Sequence[int | Value], node: ast.AST) -> Value:
        """The element at indices; 0 where any of them is out of bounds."""
        self._require_readable(array)
        return array.array[tuple(indices)]

    def store(self, array: KernelArray, indices: Sequence[int | Value], x: Any, node: ast.AST) -> None:
        """Write an element; nothing is done where an index is out of bounds."""
        self._require_writable(array, node)
        stored = self.value(x, array.array.dtype, node)
        self._stored(array, indices, node)
        array.array[tuple(indices)] = stored

    def _is_own_element(self, array: KernelArray, indices: Sequence[int | Value]) -> bool:
        """Whether the element has the indices of the invocation, so that none is written beyond the shape."""
        is_own = self._is_own_place(indices)
        return is_own and all(_is_same(a, b) for a, b in zip(array.axes, self.shape, strict=True))

    def _is_own_place(self, indices: Sequence[int | Value]) -> bool:
        """Whether indices are those of the invocation in the shape of the launch."""
        return len(indices) == len(self.own_index) and all(
            isinstance(x, Value) and x.expr is own.expr for x, own in zip(indices, self.own_index, strict=True)
        )

    def table(self, values: np.ndarray[Any, Any] | bytes, node: ast.AST) -> KernelArray:
        """A NumPy array or bytes from outside of the kernel as a table of the program."""
        if id(values) not in self.tables:
            stem = node.id if isinstance(node, ast.Name) else "table"
            with self.at(node):
                data = np.frombuffer(values, np.uint8) if isinstance(values, bytes) else values
                array = self.builder.constant(self.buffer_name(stem), data.dtype, data)
            self.tables[id(values)] = KernelArray(array, stem), values
        return self.tables[id(values)][0]

    def buffer_name(self, stem: str) -> str:
        """A name for a buffer that no other has; what the language has no name for is called an array."""
        stem = "array" if not stem.isascii() or stem.startswith("__") else stem
        name, count = stem, 1
        while name in self.buffer_names:
            count += 1
            name = f"{stem}.{count}"
        self.buffer_names.add(name)
        return name

    def _Attribute(self, node: ast.Attribute) -> object:
        place = self.place(node)
        if place is not None:
            return place if place.indices is None else self.load_place(place, node)
        x = self._part_of(node.value)
        name = node.attr
        if isinstance(x, ElementPart):
            return self._of_part(x, name, node)
        if isinstance(x, StructValue):
            if name in x.type.methods:
                return functools.partial(x.type.methods[name], self.current(x))
            if name not in x.type.fields:
                fix = f"use one of {', '.join((*x.type.fields, *x.type.methods))}"
                self.refuse(node, f"{x.type.__name__!r} has no field {name!r}", fix)
            return self.current(x.field(name))
        if isinstance(x, Vector):
            if name in ("cast", "bitcast"):
                components = [self.value(self.current(part), None, node) for part in x]
                return lambda dtype: Vector(getattr(component, name)(dtype) for component in components)
            return self._swizzled(x, name, node)
        if isinstance(x, KernelArray):
            if name == "shape":
                return x.axes
            if name == "ndim":
                return len(x.axes)
            if name in ("length", "size"):
                return x.size
            if name == "dtype":
                return x.dtype
            if name.startswith("atomic_") and hasattr(x.array, name):
                if x.element is not None:
                    fix = f"name a number of it, as in {x.place}.field.{name}(…)"
                    self.refuse(node, f"an element of {x.place!r} is not a number, so it has no atomics", fix)
                return ArrayAtomic(x, name)
            fix = "use shape, ndim, size, dtype or an atomic"
            if name.startswith("atomic"):
                fix = f"use one of {', '.join(ATOMICS)}"
            if name in OF_ARRAYS or name == "mean":
                fix = f"write a loop over its elements; outside of a kernel, vy.{name} computes with whole arrays"
            self.refuse(node, f"an array has no attribute {name!r}", fix)
        if isinstance(x, Value) and name not in ("dtype", "cast", "bitcast"):
            fix = "use dtype, cast or bitcast"
            if name == "astype":
                fix = f"write {ast.unparse(node.value)}.cast(…)"
            elif name in ATOMICS and isinstance(node.value, ast.Subscript):
                fix = f"write {ast.unparse(node.value.value)}.{name}({ast.unparse(node.value.slice)}, …)"
            elif hasattr(ops, name) or hasattr(vyre_math, name):
                fix = f"write vy.{name}({ast.unparse(node.value)})"
            self.refuse(node, f"a value has no attribute {name!r}", fix)
        if isinstance(x, NumberChoice):
            self.refuse(node, "a number has no type here", "give it one, as in vy.u32(1)")
        return getattr(x, name)

    def _swizzled(self, x: Vector, name: str, node: ast.Attribute) -> object:
        """A component of a vector, or a vector of two to four of them, in the order of their letters."""
        letters = COMPONENTS[: len(x)]
        if len(name) > len(COMPONENTS) or not {*letters}.issuperset(name):
            several = f"{ast.unparse(node.value)}.{letters[::-1]}"
            fix = f"use {', '.join(letters)}, several of them, as in {several}, or an index"
            self.refuse(node, f"a vector of {len(x)} components has no {name!r}", fix)
        components = [self.current(x[letters.index(letter)]) for letter in name]
        return components[0] if len(components) == 1 else Vector(components)

    def _of_part(self, part: ElementPart, name: str, node: ast.Attribute) -> object:
        """An attribute of a part of all elements, as ``particles.mass``."""
        if name == "dtype":
            return part.type
        if name in ("shape", "ndim", "size", "length"):
            axes = part.array.axes
            return {"shape": axes, "ndim": len(axes)}.get(name, part.array.size)
        if name.startswith("atomic_") and hasattr(part.array.array, name):
            if not isinstance(part.type, DType) or _units(part)[0] is not _units(part)[1]:
                fix = "give all fields one type, or keep this one in an array of its own"
                self.refuse(node, f"{part.name!r} shares its memory with other numbers, so it has no atomics", fix)
            return ArrayAtomic(part.array, name, tuple(_units(part)[2]))
        self.refuse(node, f"{part.name!r} has no attribute {name!r}", f"index it first, as in {part.name}[i].{name}")


def _parts(node: ast.Subscript) -> str:
    """The indices of a subscript, as they are written."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return ", ".join(map(ast.unparse, parts))


def _is_from_the_end(index: Expr) -> bool:
    """Whether an unsigned index is a number below 0, as ``-i``, ``-i - 1`` and ``~i`` are for each but the least i."""
    match index:
        case Apply(op, (x, Literal())) if op.id == "sub":
            return isinstance(x, Apply) and x.op.id == "neg" and _is_from_the_end(x)
        case Apply(op):
            return op.id in ("neg", "not") and not index.dtype.is_signed and index.dtype.bits >= 32
    return False


class ArrayAtomic:
    """The method of an array that applies an atomic, bound to the array."""

    def __init__(self, array: KernelArray, name: str, last: tuple[int, ...] = ()) -> None:
        self.array, self.name = array, name
        self.last = last
        """The index on the last axis, of a number in an array of structures."""


def _units(place: ElementPart) -> tuple[DType, DType, range]:
    """The type of a number in an element, that of the units, and which units it is."""
    assert isinstance(place.type, DType)
    unit = place.array.array.dtype
    first = place.offset // unit.size
    return place.type, unit, range(first, first + max(1, place.type.size // unit.size))


def _indices(place: ElementPart) -> tuple[int | Value, ...]:
    assert place.indices is not None
    return place.indices


def _components(place: ElementPart, type_: VectorType) -> Iterator[ElementPart]:
    """The components of a vector in an element."""
    for number_ in range(type_.size):
        yield replace(place, type=type_.dtype, offset=place.offset + number_ * type_.dtype.size)


def _is_same(a: int | Value, b: int | Value) -> bool:
    """Whether two lengths are known to be the same."""
    if isinstance(a, int) or isinstance(b, int):
        return isinstance(a, int) and isinstance(b, int) and a == b
    return a.expr is b.expr
