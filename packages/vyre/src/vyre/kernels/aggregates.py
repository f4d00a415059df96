"""Things made of several values: tuples, vectors and structures. A variable of one is a variable for each part."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, dataclass_transform

from vyre.kernels.device import DeviceFunction
from vyre_foundation.build import Mutable
from vyre_foundation.build.arguments import dtype_of
from vyre_foundation.dtype import DType
from vyre_foundation.errors import BuildError

C = TypeVar("C", bound=type)


class Vector(tuple[Any, ...]):
    """A small vector in a kernel: operators work on each component."""

    __slots__ = ()


class StructType:
    """A structure: names of fields with their types. Made by `struct`."""

    def __init__(self, cls: type) -> None:
        annotations = inspect.get_annotations(cls, eval_str=True)
        if not annotations:
            raise BuildError(f"the structure {cls.__name__!r} has no fields", fix="write fields, as in x: vy.f32")
        self.__name__, self.__doc__, self.__module__ = cls.__name__, cls.__doc__, cls.__module__
        self.fields: dict[str, DType | StructType] = {
            name: type_ if isinstance(type_, StructType) else dtype_of(type_) for name, type_ in annotations.items()
        }
        self.methods: Mapping[str, DeviceFunction] = {
            name: DeviceFunction(value) for name, value in vars(cls).items() if inspect.isfunction(value)
        }

    def __repr__(self) -> str:
        return f"<structure {self.__name__!r}>"


@dataclass(frozen=True, slots=True)
class StructValue:
    """A structure in a kernel: what its fields hold, in order."""

    type: StructType
    values: tuple[Any, ...]

    def field(self, name: str) -> Any:
        """What a field holds."""
        return self.values[list(self.type.fields).index(name)]

    def replaced(self, name: str, x: object) -> StructValue:
        """This structure with another value in a field."""
        at = list(self.type.fields).index(name)
        return StructValue(self.type, (*self.values[:at], x, *self.values[at + 1 :]))


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


def map_leaves(x: object, compute: Callable[[Any], Any]) -> Any:
    """Apply a function to each value of which a thing is made."""
    structure, leaves = disassemble(x)
    return assemble(structure, iter([compute(leaf) for leaf in leaves]))


@dataclass_transform()
def struct(cls: C) -> C:
    """Make a structure for kernels of a class: its annotations are the fields, its functions are inlined as methods.

    Args:
        cls: A class with fields such as ``x: vy.f32``, or of other structures.

    Returns:
        What kernels call with the fields, in order or by name.

    Raises:
        BuildError: The class has no fields, or one whose annotation is no type.
    """
    return StructType(cls)  # type: ignore[return-value]
