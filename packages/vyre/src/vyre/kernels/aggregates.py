"""Things made of several values: tuples, vectors and structures. A variable of one is a variable for each part."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn, SupportsIndex, TypeAlias, TypeVar, Union, dataclass_transform, overload

import numpy as np

from vyre.kernels import overloads
from vyre.kernels.decorated import plain_source_of, refuse_options
from vyre.kernels.device import DeviceFunction, Unchanging
from vyre_driver.arrays.structs import VECTOR_SIZES, StructLayout, layout_of
from vyre_foundation.build import Mutable, Value
from vyre_foundation.build.arguments import dtype_of, number, shown
from vyre_foundation.dtype import DType
from vyre_foundation.errors import BuildError
from vyre_foundation.ir.expr import Literal

C = TypeVar("C", bound=type)
COMPONENTS = "xyzw"
"""The names of the components of a vector."""


class Vector(tuple[Any, ...]):
    """A small vector in a kernel: operators work on each component."""

    __slots__ = ()

    def __getitem__(self, at: SupportsIndex | slice[Any, Any, Any]) -> Any:
        """A component, or a vector of several."""
        found = super().__getitem__(at)
        return Vector(found) if isinstance(at, slice) and len(found) in VECTOR_SIZES else found


@dataclass(frozen=True, slots=True)
class VectorType:
    """The type of vectors: that of their components, and how many there are. ``vy.vec(vy.f32, 3)`` makes it."""

    dtype: DType
    size: int

    def __post_init__(self) -> None:
        if self.size not in VECTOR_SIZES:
            raise BuildError(f"got a vector of {shown(self.size)} components", fix="write two to four")

    @property
    def __name__(self) -> str:
        return f"Vec{self.size}[{self.dtype}]"

    def __call__(self, *components: object) -> NoReturn:
        """Refuse the call: only kernels can make it."""
        raise BuildError("a vector is made outside of a kernel", fix="use a NumPy array there")


class _VectorOf:
    """Makes the types of vectors of one size."""

    size: ClassVar[int]

    def __new__(cls, *_: object) -> NoReturn:
        """Refuse the call: it is a type without that of its components."""
        fix = f"write vy.vec(…) in a kernel; a type of vectors is vy.{cls.__name__}[vy.f32]"
        raise BuildError(f"vy.{cls.__name__} annotates vectors, and makes none", fix=fix)

    def __class_getitem__(cls, dtype: object) -> VectorType:
        return VectorType(dtype_of(dtype), cls.size)


class Vec2(_VectorOf):
    """Annotates a vector of two components, as in ``vy.Vec2[vy.f32]``."""

    size = 2


class Vec3(_VectorOf):
    """Annotates a vector of three components, as in ``vy.Vec3[vy.f32]``."""

    size = 3


class Vec4(_VectorOf):
    """Annotates a vector of four components, as in ``vy.Vec4[vy.f32]``."""

    size = 4


VECTORS = (Vec2, Vec3, Vec4)


class Struct:
    """A base class that tells type checkers that arrays of a structure have elements. It has no other effect."""


_NO_METHODS = (staticmethod, classmethod, property, functools.cached_property, functools.singledispatchmethod)
_ANNOTATE = ("__annotate__", "__annotate_func__")
"""What evaluates the annotations of a class, from Python 3.14 on (PEP 649)."""


class StructType(Unchanging):
    """A structure: names of fields with their types. Made by `struct`."""

    def __init__(self, name: str, fields: Mapping[str, FieldType], dtype: np.dtype[Any] | None = None) -> None:
        """Not for callers: `dtype` is how the fields lie in memory; by default as a compiler of C lays them out."""
        self.__name__ = name
        self.fields = dict(fields)
        self.methods: Mapping[str, DeviceFunction] = {}
        self.defaults: Mapping[str, bool | int | float] = {}
        """The numbers of fields that a call may leave out."""
        self._dtype = dtype

    def __call__(self, *_: object, **__: object) -> NoReturn:
        """Refuse the call: only kernels can make it."""
        name = self.__name__
        fix = f"use NumPy there, as in numpy.zeros(n, {name}.dtype)"
        raise BuildError(f"the structure {name!r} is made outside of a kernel", fix=fix)

    def __or__(self, other: object) -> object:
        """A union, for annotations that type checkers read."""
        return Union[self, other]  # noqa: UP007

    def __ror__(self, other: object) -> object:
        """The same, on the right."""
        return Union[other, self]  # noqa: UP007

    def __mro_entries__(self, bases: tuple[object, ...]) -> NoReturn:
        """Refuse a class with this structure as its base."""
        fix = f"write a field that holds it, as in base: {self.__name__}"
        raise BuildError(f"the structure {self.__name__!r} is the base of a class", fix=fix)

    def bind(self, positional: Sequence[object], named: Mapping[str, object]) -> dict[str, Any]:
        """What a call passes for each field, in order; defaults for what it leaves out.

        Raises:
            BuildError: A field has no value or two, or there is no such field.
        """
        given, fix = dict(zip(self.fields, positional, strict=False)), f"pass {', '.join(self.fields)}"
        if len(positional) > len(self.fields):
            raise BuildError(
                f"got {len(positional)} values for the {len(self.fields)} fields of {self.__name__!r}", fix=fix
            )
        for name in named:
            if name not in self.fields or name in given:
                what = "gets two values" if name in given else "does not exist"
                raise BuildError(f"the field {name!r} of {self.__name__!r} {what}", fix=fix)
        given = {**self.defaults, **given, **named}
        missing = [name for name in self.fields if name not in given]
        if missing:
            raise BuildError(f"the field {missing[0]!r} of {self.__name__!r} has no value", fix=fix)
        return given

    @classmethod
    def of_class(cls, given: type) -> StructType:
        """The structure that a class describes."""
        try:
            annotations = inspect.get_annotations(given, eval_str=True)
        except Exception as error:  # an annotation is any expression
            message = f"an annotation of {given.__name__!r} cannot be evaluated ({type(error).__name__}: {error})"
            fix = "write types of vyre, such as vy.f32, by names that the module has when it runs"
            raise BuildError(message, fix=fix) from None
        if not annotations:
            raise BuildError(f"the structure {given.__name__!r} has no fields", fix="write fields, as in x: vy.f32")
        fields = {name: field_type(type_, f"{given.__name__}.{name}") for name, type_ in annotations.items()}
        made = cls(given.__name__, fields)
        made.defaults = {name: _default(made, name, vars(given)[name]) for name in annotations if name in vars(given)}
        made.__doc__, made.__module__ = given.__doc__, given.__module__
        if dataclasses.is_dataclass(given):
            raise BuildError(f"the structure {given.__name__!r} is a dataclass", fix="leave @dataclass out")
        members = {name: value for name, value in vars(given).items() if name not in _ANNOTATE}
        for name, value in members.items():
            if name.startswith("__") and name not in overloads.METHODS and inspect.isfunction(value):
                message = f"{given.__name__}.{name} would never be called: a structure is made of its fields"
                fix = "give the method another name, and call it as a method of a value"
                if (binary := f"__{name[3:]}") in overloads.METHODS:  # __iadd__
                    fix = f"define {binary}, which augmented assignments use"
                raise BuildError(message, fix=fix)
            if isinstance(value, _NO_METHODS):
                message = (
                    f"{given.__name__}.{name} is a {type(value).__name__}, and methods of structures are functions"
                )
                raise BuildError(message, fix="leave the decorator out, and call it as a method of a value")
        functions = {name: value for name, value in members.items() if inspect.isfunction(value)}
        sources = {name: plain_source_of(value, fix="leave it out") for name, value in functions.items()}
        made.methods = {name: DeviceFunction(source) for name, source in sources.items()}
        return made

    @classmethod
    def of_dtype(cls, dtype: np.dtype[Any], name: str) -> StructType:
        """The structure that a structured type of NumPy describes, in its layout."""
        layout_of(dtype)  # refuses what has no fields, and fields that are nothing of kernels
        parts = {field: dtype.fields[field][0] for field in dtype.names or ()}  # type: ignore[index]
        return cls(name, {field: _of_numpy(part, field) for field, part in parts.items()}, dtype)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The structured type of NumPy: fields at multiples of their sizes, as a compiler of C lays them out."""
        if self._dtype is None:
            self._dtype = np.dtype([(name, *_numpy(type_)) for name, type_ in self.fields.items()], align=True)
        return self._dtype

    @property
    def layout(self) -> StructLayout:
        """How the fields lie in the elements of an array."""
        return layout_of(self.dtype)

    def __repr__(self) -> str:
        return f"<structure {self.__name__!r}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.global_name() or super().__reduce_ex__(protocol)


def _default(type_: StructType, name: str, given: object) -> bool | int | float:
    """The default of a field, which is a number."""
    found = default_number(given, type_.fields[name])
    if found is None or not isinstance(type_.fields[name], DType):
        message = f"the field {name!r} of {type_.__name__!r} has the default {shown(given)}; a default is a number"
        raise BuildError(message, fix="pass it where the structure is made")
    return found


def default_number(given: object, type_: object) -> bool | int | float | None:
    """The number of a default: itself, or that in ``vy.f32(2.0)``, which type checkers want; None for other things."""
    if isinstance(given, Value) and given.dtype is type_ and isinstance(given.expr, Literal):
        return given.expr.value
    return number(given)


FieldType: TypeAlias = DType | VectorType | StructType


def field_type(given: object, where: str = "") -> FieldType:
    """The type of a field from its annotation; `where` is what errors call it."""
    if isinstance(given, (StructType, VectorType)):
        return given
    try:
        return dtype_of(given)
    except BuildError as error:
        raise BuildError(error.message, fix=front_door(error.fix), where=where) from None


def front_door(fix: str) -> str:
    """A remedy of the builder, as kernels write it: they have the types from `vyre`."""
    return re.sub(r"(?<![\w.'])(bool_|[iu](?:8|16|32|64)|b?f16|f32|f64)\b(?!')", r"vy.\1", fix).replace("vyre.", "vy.")


def _numpy(type_: FieldType) -> tuple[Any, ...]:
    """What NumPy calls a type of a field: a type, and the shape of a vector."""
    if isinstance(type_, VectorType):
        return type_.dtype.numpy, (type_.size,)
    return (type_.dtype,) if isinstance(type_, StructType) else (type_.numpy,)


def _of_numpy(dtype: np.dtype[Any], name: str) -> FieldType:
    if dtype.names is not None:
        return StructType.of_dtype(dtype, name)
    if dtype.subdtype is not None:
        base, (size,) = dtype.subdtype
        return VectorType(dtype_of(base), size)
    return dtype_of(dtype)


@dataclass(frozen=True, slots=True)
class StructValue:
    """A structure in a kernel: what its fields hold, in order."""

    type: StructType
    values: tuple[Any, ...]

    def field(self, name: str) -> Any:
        """What a field holds."""
        return self.values[list(self.type.fields).index(name)]


@dataclass(frozen=True, slots=True)
class Structure:
    """How a thing is made of parts."""

    kind: object
    parts: tuple[Structure | None, ...]


@dataclass(frozen=True, slots=True)
class Variables:
    """The variables of the program for a thing made of several values."""

    structure: Structure
    parts: tuple[Mutable, ...]

    def thing(self) -> Any:
        """The thing, with variables in the place of values."""
        return assemble(self.structure, iter(self.parts))


def disassemble(x: object) -> tuple[Structure | None, list[Any]]:
    """The values of which a thing is made, and how; None for what is not made of others."""
    if isinstance(x, Variables):
        return x.structure, list(x.parts)
    if isinstance(x, StructValue):
        kind: object = x.type
        parts: Sequence[object] = x.values
    elif isinstance(x, tuple):
        kind, parts = Vector if isinstance(x, Vector) else tuple, x
    else:
        return None, [x]
    found = [disassemble(part) for part in parts]
    return Structure(kind, tuple(s for s, _ in found)), [leaf for _, leaves in found for leaf in leaves]


def assemble(structure: Structure | None, leaves: Iterator[Any]) -> Any:
    """The thing that `disassemble` has taken apart."""
    if structure is None:
        return next(leaves)
    parts = tuple(assemble(part, leaves) for part in structure.parts)
    if isinstance(structure.kind, StructType):
        return StructValue(structure.kind, parts)
    return Vector(parts) if structure.kind is Vector else parts


def part_number(x: object, name: str) -> int | None:
    """Which part of a structure or a vector a name is; None if it is none."""
    if isinstance(x, StructValue):
        return list(x.type.fields).index(name) if name in x.type.fields else None
    return COMPONENTS.index(name) if isinstance(x, Vector) and name in [*COMPONENTS[: len(x)]] else None


def parts_of(x: StructValue | Vector) -> tuple[Any, ...]:
    """The parts of a structure or a vector."""
    return x.values if isinstance(x, StructValue) else tuple(x)


def replaced(x: StructValue | Vector, number: int, part: object) -> StructValue | Vector:
    """A structure or a vector with another part."""
    parts = parts_of(x)
    changed = (*parts[:number], part, *parts[number + 1 :])
    return StructValue(x.type, changed) if isinstance(x, StructValue) else Vector(changed)


def map_leaves(x: object, compute: Callable[[Any], Any]) -> Any:
    """Apply a function to each value of which a thing is made."""
    structure, leaves = disassemble(x)
    return assemble(structure, iter([compute(leaf) for leaf in leaves]))


def _of_ctypes(structure: type) -> np.dtype[Any]:
    """The structured type of NumPy with the layout of a structure of `ctypes`.

    NumPy's own leaves out the fields of base classes.
    """
    fields = [field for base in reversed(structure.__mro__) for field in vars(base).get("_fields_", ())]
    names = [field[0] for field in fields]
    try:
        if any(len(field) > 2 for field in fields):
            raise ValueError("a bit field")
        formats = [_of_ctypes(type_) if hasattr(type_, "_fields_") else np.dtype(type_) for _, type_ in fields]
        offsets, size = [getattr(structure, name).offset for name in names], ctypes.sizeof(structure)
        return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})
    except (TypeError, ValueError) as error:  # it has bit fields, or pointers, or two fields of one name
        fix = "use fields of numbers: for bit fields, the integer that holds them"
        raise BuildError(
            f"the structure {structure.__name__!r} has fields that NumPy has no type for", fix=fix
        ) from error


@overload
def struct(cls: np.dtype[np.void]) -> Any: ...
@overload
def struct(cls: C) -> C: ...
@dataclass_transform()
def struct(cls: Any = None, /, **options: object) -> Any:
    """Make a structure for kernels from a class: its annotations are the fields, its functions are inlined as methods.

    Args:
        cls: A class with fields such as ``x: vy.f32``, which may be vectors or other structures; or a structured NumPy
            type, or a structure of `ctypes`, whose layout the structure keeps.
        **options: Not accepted: the decorator has none.

    Returns:
        The structure. Kernels call it with the fields, in order or by name, and it annotates arrays:
        ``vy.Array[Particle, "n"]``. Its `dtype` is the NumPy type of such arrays.

    Raises:
        BuildError: The class has no fields, or a field whose annotation is not a type.
    """
    refuse_options("struct", options)
    if cls is None:
        raise BuildError("got no class, expected one", fix="write @vy.struct, without parentheses")
    if isinstance(cls, np.dtype):
        return StructType.of_dtype(cls, "Record")
    if hasattr(cls, "_fields_"):
        return StructType.of_dtype(_of_ctypes(cls), cls.__name__)
    return StructType.of_class(cls)
