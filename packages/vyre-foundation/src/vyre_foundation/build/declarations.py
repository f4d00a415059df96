"""Declarations of buffers: inputs, outputs, tables and memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vyre_foundation.build import arguments
from vyre_foundation.build.arguments import DTypeLike
from vyre_foundation.build.axes import ShapedBuffer, axes_of, fixed_axes, refuse_reserved
from vyre_foundation.build.caller import caller
from vyre_foundation.build.control_flow import ControlFlowRecorder
from vyre_foundation.build.memory import Array, AxisLength
from vyre_foundation.build.values import Value
from vyre_foundation.errors import BuildError
from vyre_foundation.ir.buffer import Access, Buffer, Count, LengthOf, Memory
from vyre_foundation.ir.shapes import Axis

if TYPE_CHECKING:
    import numpy.typing as npt


class DeclarationRecorder(ControlFlowRecorder):
    """Records buffers; stores to them may need branches."""

    def read(
        self,
        name: str,
        dtype: DTypeLike,
        count: int | LengthOf | None = None,
        *,
        like: Array | None = None,
        shape: Axis | Sequence[Axis] | None = None,
    ) -> Array:
        """Declare an input.

        Args:
            name: The name by which a launch binds it.
            dtype: The type of the elements.
            count: The number of elements, or a rule. Without `count`, `like` and `shape` the launch decides.
            like: Another buffer of the same length, and the same shape.
            shape: The axes in the order of NumPy's shapes, as in ``("h", "w")``: numbers, and names of shape variables,
                which stand for the same length wherever they occur. The buffer then takes an index for each axis.

        Returns:
            The buffer, which can be loaded from.

        Raises:
            BuildError: The name is taken, or an argument is invalid.
            DeclarationError: The declaration contradicts itself.
        """
        return self._host(name, dtype, Access.READ, count, like, shape)

    def write(
        self,
        name: str,
        dtype: DTypeLike,
        count: int | LengthOf | None = None,
        *,
        like: Array | None = None,
        shape: Axis | Sequence[Axis] | None = None,
        output_range: tuple[int, int] | None = None,
        is_read: bool = False,
    ) -> Array:
        """Declare an output, initially zero.

        Args:
            name: The name under which a launch returns it.
            dtype: The type of the elements.
            count: The number of elements, or a rule. One of `count`, `like` and `shape` is needed.
            like: Another buffer of the same length; the output takes the shape of the array that is passed for it.
            shape: The axes, as for `read`, in names of inputs; the output comes in this shape.
            output_range: The bytes start … stop that the host receives; all of them by default.
            is_read: Whether the program loads from it, too. It needs a shape, for which launches then pass zeros.

        Returns:
            The buffer, which can be stored to.

        Raises:
            BuildError: The name is taken, or an argument is invalid.
            DeclarationError: The declaration contradicts itself.
        """
        return self._host(name, dtype, Access.WRITE, count, like, shape, output_range, is_read)

    def read_write(
        self,
        name: str,
        dtype: DTypeLike,
        count: int | LengthOf | None = None,
        *,
        like: Array | None = None,
        shape: Axis | Sequence[Axis] | None = None,
        output_range: tuple[int, int] | None = None,
    ) -> Array:
        """Declare an input that is also an output. The array that a caller passes is not changed.

        Args:
            name: The name by which a launch binds and returns it.
            dtype: The type of the elements.
            count: The number of elements, or a rule. Without `count`, `like` and `shape` the launch decides.
            like: Another buffer of the same length, and the same shape.
            shape: The axes, as for `read`.
            output_range: The bytes start … stop that the host receives; all of them by default.

        Returns:
            The buffer, which can be loaded from and stored to, and allows atomics.

        Raises:
            BuildError: The name is taken, or an argument is invalid.
            DeclarationError: The declaration contradicts itself.
        """
        return self._host(name, dtype, Access.READ_WRITE, count, like, shape, output_range)

    def uniform(self, name: str, dtype: DTypeLike, count: int | None = None) -> Array:
        """Declare a small input that is the same for all invocations.

        Args:
            name: The name by which a launch binds it.
            dtype: The type of the elements.
            count: The number of elements; by default the launch decides. For a single element, `vyre.run` takes a
                number.

        Returns:
            The buffer, which can be loaded from.

        Raises:
            BuildError: The name is taken, or an argument is invalid.
            DeclarationError: The declaration contradicts itself.
        """
        return self._declare(name, dtype, Access.READ, Memory.UNIFORM, count, None)

    def scalar(self, name: str, dtype: DTypeLike) -> Value:
        """Declare a number that is the same for all invocations: a uniform of one element, as its value.

        An integer is a shape variable too: axes of its name are as long as its value.

        Args:
            name: The name by which a launch binds it; it takes a Python number.
            dtype: The type of the number.

        Returns:
            The value, as ``p.uniform(name, dtype, 1)[0]``.

        Raises:
            BuildError: The name is taken, or an argument is invalid.
        """
        number = self.uniform(name, dtype, 1)
        if number.decl.dtype.is_integer:
            self._shapes.scalars[number.decl.name] = number.decl
        return number[0]

    def constant(self, name: str, dtype: DTypeLike, values: npt.ArrayLike) -> Array:
        """Declare a table that is embedded in the program.

        Args:
            name: Its name in the text form and in messages.
            dtype: The type of the elements.
            values: Numbers, of any shape: floats are rounded, but not to infinities; integers and bools must fit the
                type. Of several axes, the buffer takes an index for each, or one that counts elements in order.

        Returns:
            The buffer, which can be loaded from.

        Raises:
            BuildError: The name is taken, or the values are not numbers or do not fit.
            DeclarationError: The declaration contradicts itself.
        """
        name, type_ = arguments.text(name, "the name of a buffer"), arguments.dtype_of(dtype)
        table = arguments.elements_of(type_, values, name)
        axes = table.shape or (1,)
        return self._declare(
            name, type_, Access.READ, Memory.CONSTANT, table.size, None, data=table.tobytes(), axes=axes
        )

    def workgroup(
        self, name: str, dtype: DTypeLike, count: int | None = None, *, shape: int | Sequence[int] | None = None
    ) -> Array:
        """Declare memory that the invocations of a workgroup share, zero when the workgroup starts.

        Args:
            name: Its name in the text form and in messages.
            dtype: The type of the elements.
            count: The number of elements. All workgroup memory of a program is at most 32 KiB (V012).
            shape: The lengths of the axes, instead of `count`; the buffer then takes an index for each.

        Returns:
            The buffer, which can be loaded from and stored to, and allows atomics.

        Raises:
            BuildError: The name is taken, or an argument is invalid.
            DeclarationError: The declaration contradicts itself.
        """
        length, axes = fixed_axes(count, shape, name)
        return self._declare(name, dtype, Access.READ_WRITE, Memory.WORKGROUP, length, None, axes=axes)

    def private(
        self, name: str, dtype: DTypeLike, count: int | None = None, *, shape: int | Sequence[int] | None = None
    ) -> Array:
        """Declare a small array of each invocation, initially zero.

        Args:
            name: Its name in the text form and in messages.
            dtype: The type of the elements.
            count: The number of elements. All private memory of a program is at most 16 KiB (V012).
            shape: The lengths of the axes, instead of `count`; the buffer then takes an index for each.

        Returns:
            The buffer, which can be loaded from and stored to.

        Raises:
            BuildError: The name is taken, or an argument is invalid.
            DeclarationError: The declaration contradicts itself.
        """
        length, axes = fixed_axes(count, shape, name)
        return self._declare(name, dtype, Access.READ_WRITE, Memory.PRIVATE, length, None, axes=axes)

    def scratch(self, name: str, dtype: DTypeLike, count: Count | None = None, *, like: Array | None = None) -> Array:
        """Declare temporary memory of a dispatch, initially zero.

        Args:
            name: Its name in the text form and in messages.
            dtype: The type of the elements.
            count: The number of elements, or a rule, such as `PerLaunch` for elements of each workgroup or invocation.
            like: Another buffer of the same length.

        Returns:
            The buffer, which can be loaded from and stored to, and allows atomics.

        Raises:
            BuildError: The name is taken, or an argument is invalid.
            DeclarationError: The declaration contradicts itself.
        """
        return self._declare(name, dtype, Access.READ_WRITE, Memory.SCRATCH, count, like)

    def persistent(
        self, name: str, dtype: DTypeLike, count: int | LengthOf | None = None, *, like: Array | None = None
    ) -> Array:
        """Declare memory that a compiled pipeline retains on the device between dispatches, initially zero.

        Args:
            name: Its name in the text form and in messages.
            dtype: The type of the elements.
            count: The number of elements, or a rule. One of `count` and `like` is needed.
            like: Another buffer of the same length.

        Returns:
            The buffer, which can be loaded from and stored to, and allows atomics.

        Raises:
            BuildError: The name is taken, or an argument is invalid.
            DeclarationError: The declaration contradicts itself.
        """
        return self._declare(name, dtype, Access.READ_WRITE, Memory.PERSISTENT, count, like)

    def _declare(
        self,
        name: str,
        dtype: DTypeLike,
        access: Access,
        memory: Memory,
        count: Count | None,
        like: Array | None,
        output_range: tuple[int, int] | None = None,
        data: bytes | None = None,
        axes: tuple[AxisLength, ...] | None = None,
    ) -> Array:
        self._require_open()
        name = arguments.text(name, "the name of a buffer")
        refuse_reserved(name)
        if count is not None and like is not None:
            raise BuildError(f"{name!r} has both a count and a buffer it is like", fix="give one of them")
        if like is not None:
            count = LengthOf(self._array(like, "like").decl.name)
        if name in self._names:
            raise BuildError(f"the name {name!r} is taken", fix="give every buffer a name of its own")
        binding = sum(b.binding is not None for b in self._buffers) if memory.is_bound else None
        length, shown = arguments.count_of(count, name), arguments.byte_range(output_range)
        decl = Buffer(name, arguments.dtype_of(dtype), access, memory, length, binding, data, shown)
        self._names.add(name)
        self._buffers.append(decl)
        self._buffer_lines.append(self.line or caller())
        if axes is None and like is not None:
            axes = like._axes
        return Array(self, decl, axes, takes_linear=memory is Memory.CONSTANT)

    def _host(
        self,
        name: str,
        dtype: DTypeLike,
        access: Access,
        count: int | LengthOf | None,
        like: Array | None,
        shape: Axis | Sequence[Axis] | None,
        output_range: tuple[int, int] | None = None,
        is_read: bool = False,
    ) -> Array:
        """An input or an output, which may have a shape. An axis "" has the length of the buffer.

        An output with a shape is an input too if it is read or if no rule gives its length: a launch passes zeros.
        """
        if shape is None:
            if is_read:
                fix = "declare it with p.read_write, or give it a shape"
                raise BuildError(f"{name!r} is read and has no shape, so that launches pass nothing for it", fix=fix)
            made = self._declare(name, dtype, access, Memory.STORAGE, count, like, output_range)
            axes = None if like is None else next((b.axes for b in self._shapes.buffers if b.decl is like.decl), None)
            if axes is not None:
                self._shapes.buffers.append(ShapedBuffer(made.decl, axes, access is Access.WRITE))
            return made
        if count is not None or like is not None:
            message = f"{name!r} has a shape and a {'count' if like is None else 'buffer it is like'}"
            raise BuildError(message, fix="give one of them")
        axes = axes_of(shape, repr(name))
        is_result, rule = access is Access.WRITE, self._shapes.count_of(axes)
        if is_result and (is_read or rule is None):
            access = Access.READ_WRITE
        made = self._declare(name, dtype, access, Memory.STORAGE, rule, None, output_range)
        made._axes = tuple([self._length(axis) if axis != "" else made.length for axis in axes])
        self._shapes.buffers.append(ShapedBuffer(made.decl, axes, is_result))
        return made
