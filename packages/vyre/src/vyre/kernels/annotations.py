"""What the annotations of a kernel say: types, shapes, and which arrays are results."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from types import GenericAlias
from typing import Any, ClassVar, TypeVar, get_args, get_origin

from vyre.kernels.aggregates import StructType, VectorType, default_number, front_door
from vyre.kernels.source import FunctionSource, closure_of
from vyre_driver.errors import BackendError
from vyre_foundation.build import Array
from vyre_foundation.build.arguments import dtype_of, shown
from vyre_foundation.dtype import DType
from vyre_foundation.errors import BuildError
from vyre_foundation.ir.shapes import Axis


class Out:
    """Annotates a parameter of a kernel that is a result: ``out: vy.Out[vy.u8, "h", "w"]``. It is initially zero."""

    __class_getitem__: ClassVar[Any] = classmethod(GenericAlias)


class InOut:
    """Annotates a parameter of a kernel that is an input and a result: ``counts: vy.InOut[vy.u32, 256]``."""

    __class_getitem__: ClassVar[Any] = classmethod(GenericAlias)


class Role(Enum):
    """What a launch does with an array."""

    IN = "in"
    OUT = "out"
    INOUT = "inout"


_BY_NAME = inspect.Parameter.POSITIONAL_OR_KEYWORD
_ROLES: Mapping[type, Role] = {Array: Role.IN, Out: Role.OUT, InOut: Role.INOUT}


@dataclass(frozen=True, slots=True)
class ArrayType:
    """The type of an array: elements, axes in the order of NumPy's shapes, and role."""

    dtype: DType | TypeVar
    axes: tuple[Axis, ...]
    role: Role = Role.IN
    element: StructType | VectorType | None = None
    """What an element is, if it is no number: then the last axis is the parts of one."""

    @property
    def outer(self) -> tuple[Axis, ...]:
        """The axes that a kernel indexes."""
        return self.axes if self.element is None else self.axes[:-1]

    def __str__(self) -> str:
        name = self.dtype.name if isinstance(self.dtype, DType) else self.dtype.__name__
        return f"{name}[{', '.join(map(str, self.axes))}]"


@dataclass(frozen=True, slots=True)
class ScalarType:
    """The type of a number that is the same for all invocations."""

    dtype: DType | TypeVar


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kernel."""

    name: str
    type: ArrayType | ScalarType
    default: object = None
    """The number that is passed where a call passes none; None for an input of every call."""


@dataclass(frozen=True, slots=True)
class KernelSignature:
    """The parameters of a kernel, and the arrays that it returns."""

    parameters: tuple[Parameter, ...]
    returned: tuple[ArrayType, ...]
    returns_tuple: bool

    @property
    def type_variables(self) -> tuple[TypeVar, ...]:
        """The type variables of a generic kernel, in the order of the parameters."""
        types = [p.type.dtype for p in self.parameters] + [t.dtype for t in self.returned]
        return tuple(dict.fromkeys(t for t in types if isinstance(t, TypeVar)))

    def parameters_of_function(self, without: Container[str]) -> inspect.Signature:
        """The parameters as those of a function, for `inspect.signature`; `without` names those without a type."""
        made = []
        for p in self.parameters:
            annotation: object = p.type.dtype
            if isinstance(p.type, ArrayType):
                (kind,) = (kind for kind, role in _ROLES.items() if role is p.type.role)
                annotation = GenericAlias(kind, (p.type.dtype, *p.type.axes))
            default = inspect.Parameter.empty if p.default is None else p.default
            if p.name in without:
                annotation = inspect.Parameter.empty
            made.append(inspect.Parameter(p.name, _BY_NAME, default=default, annotation=annotation))
        return inspect.Signature(made)

    def specialized(self, dtypes: Mapping[TypeVar, DType]) -> KernelSignature:
        """This signature with types for its type variables."""

        def known(type_: Any) -> Any:
            return replace(type_, dtype=dtypes[type_.dtype]) if isinstance(type_.dtype, TypeVar) else type_

        parameters = tuple(replace(p, type=known(p.type)) for p in self.parameters)
        return KernelSignature(parameters, tuple(known(t) for t in self.returned), self.returns_tuple)


def annotations_of(source: FunctionSource) -> dict[str, Any]:
    """The values of the annotations of a function by name; a text is evaluated where the function was defined."""
    function = source.function
    try:
        return inspect.get_annotations(function, eval_str=True, locals=closure_of(function))
    except Exception as error:  # an annotation is any expression
        name = getattr(error, "name", None)
        node = next((n for n in ast.walk(source.tree) if isinstance(n, ast.Name) and n.id == name), source.tree)
        fix = "annotate with types of vyre, such as vy.f32 or vy.Array[vy.f32, 'n']"
        if isinstance(error, NameError):
            fix += "; axes are quoted, and some linters remove the quotes where annotations are postponed"
        raise source.error(node, f"an annotation cannot be evaluated ({type(error).__name__}: {error})", fix) from None


def signature_of(source: FunctionSource) -> KernelSignature:
    """Read the signature of a kernel.

    Raises:
        KernelError: A parameter has no annotation, or one that is no type of a kernel.
    """
    given, arguments = annotations_of(source), source.tree.args
    for extra in (arguments.vararg, arguments.kwarg):
        if extra is not None:
            message = f"a kernel cannot have a variable number of parameters, got {extra.arg!r}"
            raise source.error(extra, message, f"name each{_above(source)}")
    parameters, defaults = [], inspect.signature(source.function).parameters
    first = next(iter((*arguments.posonlyargs, *arguments.args)), None)
    for node in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        if node.annotation is None and node is first and node.arg in ("self", "cls"):
            fix = f"leave {node.arg!r} out, and write @staticmethod above @vy.kernel, or define it outside of the class"
            raise source.error(node, "a kernel is a function, and no method", fix)
        if node.annotation is None:
            message = f"the parameter {node.arg!r} has no annotation"
            fix = f"write its type, such as vy.f32 or vy.Array[vy.f32, 'n']{_above(source)}"
            raise source.error(node, message, fix)
        type_, default = _type(source, node.annotation, given[node.arg]), defaults[node.arg].default
        if default is inspect.Parameter.empty:
            default = None
        elif isinstance(type_, ScalarType) and (plain := default_number(default, type_.dtype)) is not None:
            default = plain
        else:
            message = f"the parameter {node.arg!r} has the default {shown(default)}; only numbers have defaults"
            raise source.error(node, message, "pass it in each call")
        parameters.append(Parameter(node.arg, type_, default))
    returned, is_tuple = _returned(source, given.get("return"))
    return KernelSignature(tuple(parameters), returned, is_tuple)


def _above(source: FunctionSource) -> str:
    """What a message says of a function that has no decorator where it stands: another one may have made it."""
    return "" if source.tree.decorator_list else "; if a decorator has made this function, write that above @vy.kernel"


def _returned(source: FunctionSource, given: Any) -> tuple[tuple[ArrayType, ...], bool]:
    node = source.tree.returns
    if node is None or given is None:
        return (), False
    is_tuple = get_origin(given) is tuple
    if isinstance(given, (tuple, list)) or get_origin(given) is list:
        fix = "write -> tuple[vy.Array[vy.f32, 'n'], vy.Array[vy.f32, 'n']], or one array alone"
        raise source.error(node, "several arrays are annotated as a tuple", fix)
    nodes = _elements(node) if is_tuple else [node]
    values = get_args(given) if is_tuple else (given,)
    if len(nodes) != len(values):
        nodes = [node] * len(values)
    types = []
    for part, value in zip(nodes, values, strict=True):
        found = _type(source, part, value)
        if not isinstance(found, ArrayType) or found.role is not Role.IN:
            fix = "return vy.Array[dtype, axes…]; one element is returned by each invocation"
            raise source.error(part, "a kernel returns arrays", fix)
        types.append(replace(found, role=Role.OUT))
    return tuple(types), is_tuple


def _elements(node: ast.expr) -> list[ast.expr]:
    inner = node.slice if isinstance(node, ast.Subscript) else node
    return list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]


def _type(source: FunctionSource, node: ast.expr, given: Any) -> ArrayType | ScalarType:
    role = _ROLES.get(get_origin(given))
    if role is not None:
        dtype, *axes = get_args(given)
        for axis in axes:
            is_length = isinstance(axis, int) and not isinstance(axis, bool) and 0 < axis < 2**32
            if not is_length and not (isinstance(axis, str) and axis.isidentifier()):
                message = f"got {shown(axis)} as an axis, expected the name of a shape variable or a length"
                fix = "write vy.Array[vy.f32, 'h', 'w'] or vy.Array[vy.f32, 16]"
                if isinstance(axis, str) and not set(axis).isdisjoint("+-*/"):
                    fix = "give this length a name of its own; an `assert` in the kernel compares it with others"
                raise source.error(node, message, fix)
        outer = tuple(axes) or ("",)
        if isinstance(dtype, VectorType):
            return ArrayType(dtype.dtype, (*outer, dtype.size), role, dtype)
        if isinstance(dtype, StructType):
            try:
                layout = dtype.layout
            except BackendError as error:
                raise source.error(node, error.message, error.fix) from None
            return ArrayType(layout.unit, (*outer, layout.count), role, dtype)
        return ArrayType(_dtype(source, node, dtype), outer, role)
    if isinstance(given, type) and given in _ROLES:
        fix = f"write vy.{given.__name__}[vy.f32, 'n']"
        raise source.error(node, f"got {given.__name__} without a type and axes", fix)
    if isinstance(given, (StructType, VectorType)):
        fix = f"pass an array of one element, vy.Array[{given.__name__}, 1], and take its element [0]"
        raise source.error(node, f"a {given.__name__} is a parameter of a kernel, which takes numbers and arrays", fix)
    return ScalarType(_dtype(source, node, given, "; an array is vy.Array[vy.f32, 'n']"))


def _dtype(source: FunctionSource, node: ast.expr, given: Any, otherwise: str = "") -> DType | TypeVar:
    """The type that an annotation names. `otherwise`: what a message says besides about what can be written."""
    if isinstance(given, TypeVar):
        if not given.__constraints__ or not all(isinstance(c, DType) for c in given.__constraints__):
            fix = f"write TypeVar({given.__name__!r}, vy.f32, vy.f64), with all types for which the kernel is meant"
            raise source.error(node, f"the type variable {given.__name__} has no constraints that are types", fix)
        return given
    if isinstance(given, type) and any(isinstance(t, DType) for t in inspect.get_annotations(given).values()):
        raise source.error(node, f"the class {given.__name__!r} is no structure", "decorate it with @vy.struct")
    try:
        return dtype_of(given)
    except BuildError as error:
        raise source.error(node, error.message, front_door(error.fix) + otherwise) from None
