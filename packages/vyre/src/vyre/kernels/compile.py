"""From the source of a kernel to a program."""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vyre.kernels.annotations import ArrayType, Axis, KernelSignature, Parameter, Role, ScalarType
from vyre.kernels.frame import Frame, Hints
from vyre.kernels.source import FunctionSource
from vyre.kernels.statements import KernelReader
from vyre.kernels.values import KernelArray
from vyre_foundation.build import Array, ProgramBuilder, Value
from vyre_foundation.build.recorder import program
from vyre_foundation.dtype import DType, u32
from vyre_foundation.ir.buffer import LengthOf
from vyre_foundation.ir.program import Program

AXES = "launch.shape"
"""The buffer of the lengths that follow from no length of a buffer; no parameter can have its name."""
WORKGROUP_SIZES: Sequence[int | tuple[int, ...]] = (64, 64, (16, 16), (8, 8, 4))
"""The size of a workgroup on x, y and z by the number of axes of the launch, where the kernel states none."""
MAX_READINGS = 64


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
        except RecursionError:
            message = "an expression, or a chain of device functions, is nested too deep"
            raise source.error(source.tree, message, "give parts of it names, or write a loop") from None
        if compiled is not None:
            return compiled
        known = reading.next
    raise source.error(
        source.tree, "the kernel has too many branches that give names values", "give them values before"
    )


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
        size = WORKGROUP_SIZES[len(self.shape)] if options.workgroup_size is None else options.workgroup_size
        self.builder: ProgramBuilder = program(source.tree.name, size, options.subgroup_size)
        self.builder.line = source.file, source.tree.lineno
        self.lengths: dict[str, int | Value] = {}
        """The length of each shape variable."""
        self.declared: list[tuple[str, tuple[Axis, ...], Array]] = []
        """The inputs that are declared, with their axes."""
        self.results: list[KernelResult] = []

    def read_kernel(self) -> CompiledKernel | None:
        """The program; None if another reading is needed."""
        signature, builder, types, arrays, shape = self.signature, self.builder, self.types, self.arrays, self.shape
        axes = self._passed_axes(arrays)
        buffers: dict[str, Array] = {}
        for name, type_ in types.items():
            assert isinstance(type_.dtype, DType)
            if isinstance(type_, ScalarType):
                buffers[name] = builder.uniform(name, type_.dtype, 1)
            else:
                buffers[name] = self._array(name, type_, type_.dtype)
        if axes:
            table = builder.uniform(AXES, u32, len(axes))
            self.lengths |= {axis: table[number] for number, axis in enumerate(axes)}
        for name, type_ in arrays.items():
            if len(type_.axes) == 1 and isinstance(type_.axes[0], str) and type_.role is not Role.OUT:
                self.lengths.setdefault(type_.axes[0], buffers[name].length)
        kernel_arrays = {
            name: KernelArray(buffers[name], tuple(self._length(axis, buffers[name]) for axis in type_.axes), name)
            for name, type_ in arrays.items()
        }
        names: dict[str, object] = {
            p.name: kernel_arrays[p.name] if isinstance(p.type, ArrayType) else buffers[p.name][0]
            for p in signature.parameters
        }
        frame = Frame(self.source, names, True)
        reader = KernelReader(builder, frame, tuple(self._length(axis, None) for axis in shape), self.known)
        reader.results = [kernel_arrays[name] for name in result_names(self.source, signature)]
        reader.buffer_names |= {*buffers, AXES}
        if self.known.is_guarded:
            self._guard(reader)
        reader.block(self.source.tree.body, is_tail=True)
        needs_guard = reader.has_effects and not reader.has_barrier and bool(shape)
        if reader.found.merged or needs_guard != self.known.is_guarded:
            self.next = Hints(self.known.merged | reader.found.merged, needs_guard)
            return None
        builder.line = self.source.file, self.source.tree.lineno
        compiled = builder.build_unchecked()
        compiled.validate()
        return CompiledKernel(
            self.source.tree.name,
            compiled,
            signature.parameters,
            tuple(self.results),
            signature.returns_tuple or len(self.results) > 1,
            tuple(axes),
            shape,
        )

    def _passed_axes(self, arrays: Mapping[str, ArrayType]) -> list[str]:
        """The shape variables whose lengths no buffer has: those that are in no input of one axis."""
        known = {type_.axes[0] for type_ in arrays.values() if len(type_.axes) == 1 and type_.role is not Role.OUT}
        named = [axis for type_ in arrays.values() for axis in type_.axes if isinstance(axis, str)]
        named += [axis for axis in self.options.shape or () if isinstance(axis, str)]
        inputs = {axis for type_ in arrays.values() if type_.role is not Role.OUT for axis in type_.axes}
        for axis in named:
            if axis not in inputs:
                message = f"the length of {axis!r} follows from no input"
                fix = "use the shape variables of the inputs, or a number"
                raise self.source.error(self._text(axis), message, fix)
        return [axis for axis in dict.fromkeys(named) if axis not in known]

    def _text(self, axis: str) -> ast.AST:
        """The node of an axis in the annotations."""
        nodes = (n for n in ast.walk(self.source.tree) if isinstance(n, ast.Constant) and n.value == axis)
        return next(nodes, self.source.tree)

    def _array(self, name: str, type_: ArrayType, dtype: DType) -> Array:
        builder, rule = self.builder, self._count(type_.axes)
        if type_.role is Role.IN:
            array = builder.read(name, dtype, rule)
        elif type_.role is Role.INOUT or rule is None:
            array = builder.read_write(name, dtype, rule)
            self.results.append(KernelResult(name, type_.axes, True))
        else:
            array = builder.write(name, dtype, rule)
            self.results.append(KernelResult(name, type_.axes, False))
        if type_.role is not Role.OUT:
            self.declared.append((name, type_.axes, array))
        return array

    def _count(self, axes: Sequence[Axis]) -> int | LengthOf | None:
        """The number of elements as a number, or as a rule over the length of an input; None if there is no rule."""
        fixed, named = _split(axes)
        if not named:
            return fixed
        for name, other, _ in self.declared:
            times, same = _split(other)
            if same == named and "" not in named and fixed % times == 0:
                return LengthOf(name, fixed // times)
            if same == named and "" not in named and times % fixed == 0:
                return LengthOf(name, over=times // fixed)
        return None

    def _length(self, axis: Axis, buffer: Array | None) -> int | Value:
        if isinstance(axis, int):
            return axis
        if axis == "":
            assert buffer is not None
            return buffer.length
        return self.lengths[axis]

    def _shape(self) -> tuple[Axis, ...]:
        """The shape of the launch: as the decorator says, or that of the first result."""
        shape = self.options.shape
        if shape is None:
            results = [type_.axes for type_ in self.arrays.values() if type_.role is not Role.IN]
            shape = results[0] if results else ()
        if "" in shape:
            message = "the shape of the launch has an axis without a name"
            raise self.source.error(self.source.tree, message, "name the axes, as in vy.Array[vy.f32, 'n']")
        if len(shape) > 3:
            fix = "state one of up to three axes, as in @vy.kernel(shape=('n',))"
            raise self.source.error(self.source.tree, f"the shape of the launch has {len(shape)} axes", fix)
        return shape

    def _guard(self, reader: KernelReader) -> None:
        """End the invocations beyond the shape, which whole workgroups have."""
        rank, outside = len(reader.shape), None
        for axis, length in enumerate(reader.shape):
            is_beyond = reader.builder.global_id(rank - 1 - axis) >= length
            outside = is_beyond if outside is None else outside | is_beyond
        assert outside is not None
        with reader.builder.if_(outside):
            reader.builder.return_()


def _split(axes: Sequence[Axis]) -> tuple[int, list[str]]:
    """The product of the numbers among axes, and the names in order."""
    return math.prod(axis for axis in axes if isinstance(axis, int)), sorted(a for a in axes if isinstance(a, str))
