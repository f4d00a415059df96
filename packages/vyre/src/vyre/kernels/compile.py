"""From the source of a kernel to a program."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from vyre.kernels.aggregates import StructType
from vyre.kernels.annotations import ArrayType, KernelSignature, Parameter, Role, ScalarType
from vyre.kernels.frame import Frame, Hints
from vyre.kernels.reader import ResultRead, VariableNeeded
from vyre.kernels.shared_elements import shared_stores
from vyre.kernels.source import FunctionSource
from vyre.kernels.statements import KernelReader
from vyre.kernels.values import KernelArray
from vyre_foundation.build import Array, Value
from vyre_foundation.build.recorder import program
from vyre_foundation.dtype import DType
from vyre_foundation.errors import BuildError
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.expr import Apply
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.shapes import GRID_AXES, LAUNCH_SHAPE, Axis
from vyre_foundation.ir.stmt import Atomic, Store, Trap
from vyre_foundation.ir.walk import statements

FEW = 4
"""Elements of an axis that a workgroup has all of."""
WORKGROUP_SIZES: Sequence[int | tuple[int, ...]] = (64, 64, (16, 16), (8, 8, 4))
"""The size of a workgroup on x, y and z by the number of axes of the launch, where the kernel states none."""
MAX_READINGS = 256


@dataclass(frozen=True, slots=True)
class Options:
    """What the decorator of a kernel says."""

    workgroup_size: int | Sequence[int] | None
    subgroup_size: int | None
    shape: tuple[Axis, ...] | None


@dataclass(frozen=True, slots=True)
class KernelResult:
    """An array that a launch gives."""

    name: str
    axes: tuple[Axis, ...]
    is_input: bool
    """Whether the launch passes an array for it: the caller's, or zeros."""


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """A program, and what a launch has to know of its arrays."""

    name: str
    program: Program
    parameters: tuple[Parameter, ...]
    results: tuple[KernelResult, ...]
    returns_tuple: bool
    axes: tuple[str, ...]
    """The shape variables whose lengths the launch passes, in order."""
    shape: tuple[Axis, ...]
    """The shape of the launch."""
    structures: Mapping[str, np.dtype[np.void]] = field(default_factory=dict)
    """The arrays of structures by name, and their types in NumPy."""

    @property
    def defaults(self) -> dict[str, object]:
        """The numbers that parameters have where a caller passes none, by name."""
        return {p.name: p.default for p in self.parameters if p.default is not None}


def compile_kernel(source: FunctionSource, signature: KernelSignature, options: Options) -> CompiledKernel:
    """Compile a kernel whose types are known.

    Raises:
        KernelError: The kernel means no program.
        InvalidProgram: The program breaks a rule.
    """
    known = Hints()
    for _ in range(MAX_READINGS):
        reading = _Reading(source, signature, options, known)
        try:
            compiled = reading.read_kernel()
        except VariableNeeded as needed:
            known = reading.known_with(needed)
            continue
        except ResultRead as result:
            known = replace(known, read=known.read | {result.name})
            continue
        except RecursionError:
            raise source.nested_too_deep() from None
        if compiled is not None:
            return compiled
        known = reading.next
    raise source.error(
        source.tree, "the kernel has too many branches that give names values", "give them values before"
    )


def _workgroup_size(shape: Sequence[Axis]) -> int | tuple[int, ...]:
    """The workgroup size for a shape: all of a short last axis, such as that of colours, and much of the next."""
    if len(shape) > 1 and isinstance(shape[-1], int) and 1 < shape[-1] <= FEW:
        return (shape[-1], 64, 1)[: len(shape)]
    return WORKGROUP_SIZES[min(len(shape), GRID_AXES)]


def result_names(source: FunctionSource, signature: KernelSignature) -> list[str]:
    """The names of the arrays that a kernel returns."""
    count = len(signature.returned)
    names = ["out"] if count == 1 else [f"out{n}" for n in range(count)]
    for parameter in signature.parameters:
        if parameter.name in names:
            message = f"the parameter {parameter.name!r} has the name of an array that is returned"
            raise source.error(source.tree.args, message, "give it another name")
    return names


class _Reading:
    """One reading of a kernel. What it finds out too late is known to the next one."""

    def __init__(self, source: FunctionSource, signature: KernelSignature, options: Options, known: Hints) -> None:
        self.source, self.signature, self.options, self.known = source, signature, options, known
        self.next = known
        returned = zip(result_names(source, signature), signature.returned, strict=True)
        self.types: dict[str, ArrayType | ScalarType] = {p.name: p.type for p in signature.parameters} | dict(returned)
        self.arrays = {name: type_ for name, type_ in self.types.items() if isinstance(type_, ArrayType)}
        self.shape = self._shape()
        self._require_shape_of_returned()
        size = _workgroup_size(self.shape) if options.workgroup_size is None else options.workgroup_size
        try:
            self.builder = program(source.tree.name, size, options.subgroup_size, shape=self.shape or None)
        except BuildError as error:
            raise source.error(source.tree, error.message, error.fix) from None
        self.builder.line = source.file, source.tree.lineno
        self.results: list[KernelResult] = []
        self.found = Hints()

    def read_kernel(self) -> CompiledKernel | None:
        """The program; None if another reading is needed."""
        signature, builder, arrays = self.signature, self.builder, self.arrays
        self._require_lengths()
        scalars: dict[str, Value] = {}
        declared: dict[str, KernelArray] = {}
        for name, type_ in self.types.items():
            assert isinstance(type_.dtype, DType)
            if isinstance(type_, ScalarType):
                scalars[name] = builder.scalar(name, type_.dtype)
            else:
                declared[name] = KernelArray(self._array(name, type_, type_.dtype), name, type_.element)
        names: dict[str, object] = {
            p.name: declared[p.name] if p.name in arrays else scalars[p.name] for p in signature.parameters
        }
        frame = Frame(self.source, names, True)
        reader = KernelReader(builder, frame, builder.shape, self.known)
        self.found = reader.found
        reader.results = [declared[name] for name in result_names(self.source, signature)]
        reader.buffer_names |= {*self.types, LAUNCH_SHAPE}
        if self.known.is_guarded:
            self._guard(reader)
        ends = reader.block(self.source.tree.body, is_tail=True)
        if signature.returned:
            self._require_returned(reader.has_returned, ends)
        elif self.options.shape is None:
            self._require_shape_of_use(reader.own_uses)
        needs_guard = reader.has_effects and not reader.has_barrier and bool(self.shape)
        if reader.found.merged or needs_guard != self.known.is_guarded:
            self.next = replace(self.known, merged=self.known.merged | reader.found.merged, is_guarded=needs_guard)
            return None
        builder.line = self.source.file, self.source.tree.lineno
        compiled = builder.build_unchecked()
        compiled.validate()
        self._require_stores(compiled)
        self._refuse_lost_stores(compiled, reader)
        return CompiledKernel(
            self.source.tree.name,
            compiled,
            tuple(replace(p, type=_plain(p.type)) for p in signature.parameters),
            tuple(self.results),
            signature.returns_tuple or len(self.results) > 1,
            () if compiled.shapes is None else compiled.shapes.passed,
            self.shape,
            {n: t.element.dtype for n, t in self.arrays.items() if isinstance(t.element, StructType)},
        )

    def known_with(self, needed: VariableNeeded) -> Hints:
        """What the next reading knows where this one has found a variable that a loop needs.

        What is known of later branches and loops is left out: the variable may change what they are.
        """
        merged = self.known.merged | self.found.merged
        earlier = {(block, name): types for (block, name), types in merged.items() if block <= needed.block}
        return replace(self.known, merged=earlier | {needed.key: needed.types})

    def _require_lengths(self) -> None:
        """Refuse an axis whose length follows from no input, where its name stands."""
        inputs = {axis for type_ in self.arrays.values() if type_.role is not Role.OUT for axis in type_.axes}
        scalars = {name: t.dtype for name, t in self.types.items() if isinstance(t, ScalarType)}
        inputs |= {name for name, dtype in scalars.items() if isinstance(dtype, DType) and dtype.is_integer}
        named = [axis for type_ in self.arrays.values() for axis in type_.axes if isinstance(axis, str)]
        for axis in [*named, *(axis for axis in self.options.shape or () if isinstance(axis, str))]:
            if axis not in inputs:
                message = f"the length of {axis!r} follows from no input"
                fix = f"use a shape variable of the inputs, a number, or a parameter that is one, {axis}: vy.u32"
                if scalars and not inputs - scalars.keys():
                    name, dtype = next(iter(scalars.items()))
                    fix = f"annotate an input that is an array as one, as in {name}: vy.Array[vy.{dtype}, {axis!r}]"
                raise self.source.error(self._text(axis), message, fix)

    def _text(self, axis: str) -> ast.AST:
        """The node of an axis in the annotations."""
        nodes = (n for n in ast.walk(self.source.tree) if isinstance(n, ast.Constant) and n.value == axis)
        return next(nodes, self.source.tree)

    def _array(self, name: str, type_: ArrayType, dtype: DType) -> Array:
        builder = self.builder
        if type_.role is Role.OUT:
            array = builder.write(name, dtype, shape=type_.axes, is_read=name in self.known.read)
        else:
            array = (builder.read if type_.role is Role.IN else builder.read_write)(name, dtype, shape=type_.axes)
        if type_.role is not Role.IN:
            self.results.append(KernelResult(name, type_.axes, array.decl.is_input))
        return array

    def _shape(self) -> tuple[Axis, ...]:
        """The shape of the launch: as the decorator says, or that of the first result."""
        shape = self.options.shape
        if shape is None:
            results = [type_.outer for type_ in self.arrays.values() if type_.role is not Role.IN]
            shape = results[0] if results else ()
        if "" in shape:
            message = "the shape of the launch has an axis without a name"
            raise self.source.error(self.source.tree, message, "name the axes, as in vy.Array[vy.f32, 'n']")
        return shape

    def _require_shape_of_returned(self) -> None:
        """Refuse a returned array of another shape than the launch: each invocation returns one element of it."""
        returned = self.signature.returned
        if all(type_.outer == self.shape for type_ in returned):
            return
        other = next(type_.outer for type_ in returned if type_.outer != self.shape)
        source = "" if self.options.shape is not None else f", that of {self._first_result()}"
        message = (
            f"the shape of a returned array is {_text_of(other)}, and the launch has {_text_of(self.shape)}{source}"
        )
        fix = "annotate a parameter with vy.Out, and store its elements"
        if self.options.shape is None and all(type_.outer == other for type_ in returned):
            fix = f"state the shape of the launch, as in @vy.kernel(shape={_argument(other)})"
        raise self.source.error(self.source.tree.returns or self.source.tree, message, fix)

    def _require_returned(self, has_returned: bool, ends: bool) -> None:
        """Refuse a kernel that returns no value, or may reach its end without a `return`."""
        tree = self.source.tree
        if not has_returned:
            message = "the kernel returns an array, and no `return` gives its elements a value"
            raise self.source.error(tree.returns or tree, message, "return a value, as in return x[vy.index()]")
        if not ends:
            fix = "return a value there too, or write `return`, which leaves the element 0"
            raise self.source.error(tree.body[-1], "the kernel may end without returning a value", fix)

    def _require_stores(self, compiled: Program) -> None:
        """Refuse a result in which nothing is stored, where its parameter stands."""
        changed = {s.buffer.name for s in statements(compiled.body) if isinstance(s, (Store, Atomic))}
        if not self.results and not any(isinstance(s, Trap) for s in statements(compiled.body)):
            fix = "annotate a result, as in -> vy.Array[vy.f32, 'n'], and give its elements values"
            raise self.source.error(self.source.tree, "the kernel has no result, and no assertion", fix)
        given = self.source.tree.args
        for parameter in (*given.posonlyargs, *given.args, *given.kwonlyargs):
            name = parameter.arg
            if name in self.arrays and self.arrays[name].role is not Role.IN and name not in changed:
                other = "leave the parameter out" if self.arrays[name].role is Role.OUT else "annotate it with vy.Array"
                fix = f"store its elements, as in {name}[vy.index()] = x, or {other}"
                raise self.source.error(parameter, f"nothing is stored in the result {name!r}", fix)

    def _refuse_lost_stores(self, compiled: Program, reader: KernelReader) -> None:
        """Refuse ``out[0] += x[i]``, and ``out[0] = x[i]`` in all invocations, which lose what others store."""
        lost = next(shared_stores(compiled, reader.own_index, self.shape), None)
        if lost is None:
            return
        assert compiled.origins is not None
        array, memory = lost.store.buffer, lost.store.buffer.memory
        source, node = reader.stores[array.name, compiled.origins.statement(lost.number)]
        place = ast.unparse(node)
        who = "all invocations" if lost.by_all else "several invocations"
        if memory is Memory.WORKGROUP:
            who += " of a workgroup"
        if not lost.is_update:
            message = f"{who} store in {place}, and which of their values stays is undefined"
            names = {value.expr: name for name, value in reader.frame.names.items() if isinstance(value, Value)}
            subscript = (lambda k: "") if len(self.shape) == 1 else "[{}]".format
            indices = [names.get(reader.own_index[k].expr, f"vy.index(){subscript(k)}") for k in lost.axes]
            first = " and ".join(f"{index} == 0" for index in indices)
            fix = f"store in one of them, as in if {first}, or give each an element of its own"
            raise source.error(node, message, fix)
        message = f"{who} update {place} at once, and lose updates of others"
        op = "max"  # where it is a condition that reads the element
        if lost.reads_itself:
            op = lost.store.value.op.id if isinstance(lost.store.value, Apply) else "add"
        fix = "do it in one invocation, as in if vy.local_id(0) == 0, in a loop"
        if memory is not Memory.WORKGROUP:
            named = tuple(axis for k, axis in enumerate(self.shape) if k not in lost.axes)
            reduction = op if op in ("min", "max") else "sum"
            by_axis = f", axis={lost.axes[0]}" if named else ""
            fix = (
                f"compute it outside of the kernel, as with vy.{reduction}(x{by_axis}), or in"
                f" one invocation, as with @vy.kernel(shape={_argument(named or (1,))})"
            )
        if array.dtype.is_integer and isinstance(node, ast.Subscript):
            op = op if op in ("min", "max", "and", "or", "xor") else "add"
            fix = (
                f"write an atomic, as in {ast.unparse(node.value)}.atomic_{op}({ast.unparse(node.slice)}, x), or {fix}"
            )
        raise source.error(node, message, fix)

    def _require_shape_of_use(self, uses: Sequence[tuple[KernelArray, ast.AST]]) -> None:
        """Refuse the shape of the first result where what has the places of the launch is arrays of other shapes.

        A histogram is such a kernel: its result has a shape of its own, and the launch is one over the data.
        """
        own = [self.arrays[array.place].outer for array, _ in uses]
        if not own or self.shape in own:
            return
        array, node = uses[0]
        message = (
            f"the launch has the shape of {self._first_result()}, which is {_text_of(self.shape)},"
            f" and vy.index() is the place in {array.place!r}, which has {_text_of(own[0])}"
        )
        shape = self.shape if "" in own[0] else own[0]
        fix = f"state the shape of the launch, as in @vy.kernel(shape={_argument(shape)})"
        raise self.source.error(node, message, fix)

    def _first_result(self) -> str:
        """What a message calls the array whose shape the launch has, where the decorator states none."""
        results = [p.name for p in self.signature.parameters if p.name in self.arrays]
        named = [name for name in results if self.arrays[name].role is not Role.IN]
        return f"its first result, {named[0]!r}" if named else "the first array that it returns"

    def _guard(self, reader: KernelReader) -> None:
        """End the invocations beyond the shape, which whole workgroups have."""
        outside = None
        for index, length in zip(reader.own_index, reader.shape, strict=True):
            is_beyond = index >= length
            outside = is_beyond if outside is None else outside | is_beyond
        assert outside is not None
        with reader.builder.if_(outside):
            reader.builder.return_()


def _text_of(shape: tuple[Axis, ...]) -> str:
    """What a message says of a shape."""
    return f"({', '.join(map(str, shape))})"


def _argument(shape: tuple[Axis, ...]) -> str:
    """How a shape is passed to the decorator."""
    return repr(shape[0] if len(shape) == 1 else shape)


def _plain(type_: ArrayType | ScalarType) -> ArrayType | ScalarType:
    """The type without what only the compilation knows: structures are not pickled with a kernel."""
    return replace(type_, element=None) if isinstance(type_, ArrayType) else type_
