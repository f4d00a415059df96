"""Calls in a kernel: what only a kernel can do, functions of Python with values, and functions of vyre."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from functools import reduce
from typing import Any, NoReturn

import numpy as np

import vyre_algorithms
import vyre_foundation.functions as ops
import vyre_math
from vyre import overloads
from vyre.kernels import intrinsics
from vyre.kernels.aggregates import VECTORS, StructType, StructValue, Vector, VectorType
from vyre.kernels.device import DeviceFunction, HostCallable
from vyre.kernels.elements import ArrayAtomic
from vyre.kernels.expressions import ExpressionReader
from vyre.kernels.reader import OF_ARRAYS, kind_of
from vyre.kernels.values import KernelArray, NumberChoice, is_runtime, public_name
from vyre_algorithms.numpy_names import ELEMENTS, FUNCTIONS
from vyre_driver import DeviceArray
from vyre_foundation.build import Array, Value, composed
from vyre_foundation.build.arguments import dtype_of, number
from vyre_foundation.build.composed import clamp
from vyre_foundation.dtype import DType, bool_, u32
from vyre_foundation.ir.stmt import SubgroupOp

Given = Sequence[Any]
Handler = Callable[[ExpressionReader, ast.Call, Given], object]


# ── what only a kernel can do ────────────────────────────────────────────────────────────────────────────────────────


def _index(reader: ExpressionReader, node: ast.Call, _: Given) -> object:
    if not reader.shape:
        fix = "annotate the result, as in -> vy.Array[vy.f32, 'n'], or write @vy.kernel(shape=('n',))"
        reader.refuse(node, "the launch has no shape, because the kernel has no result", fix)
    return reader.own_index[0] if len(reader.own_index) == 1 else reader.own_index


def _subgroup(reader: ExpressionReader, node: ast.Call, given: Given) -> object:
    reader.refuse_under_condition(node, "a collective")
    reader.has_effects = reader.has_barrier = True
    op, value, lane = given
    is_truth = op in ("ballot", "any", "all", SubgroupOp.BALLOT, SubgroupOp.ANY, SubgroupOp.ALL)
    operand = reader.value(value, bool_ if is_truth else None, node)
    return reader.builder.subgroup(op, operand, None if lane is None else reader.value(lane, u32, node))


def _barrier(reader: ExpressionReader, node: ast.Call, _: Given) -> None:
    reader.effect(node, "a barrier")
    reader.has_barrier = True
    reader.builder.barrier()


def _grid_barrier(reader: ExpressionReader, node: ast.Call, _: Given) -> None:
    reader.effect(node, "a barrier")
    reader.has_barrier = True
    reader.builder.grid_barrier()


def _trap(reader: ExpressionReader, node: ast.Call, given: Given) -> None:
    reader.effect(node, "a trap")
    code, tag = given
    reader.builder.trap(reader.value(code, u32, node), tag)


def _private(reader: ExpressionReader, node: ast.Call, given: Given) -> KernelArray:
    return _declare(reader, node, given, reader.builder.private)


def _workgroup(reader: ExpressionReader, node: ast.Call, given: Given) -> KernelArray:
    return _declare(reader, node, given, reader.builder.workgroup)


def _declare(reader: ExpressionReader, node: ast.Call, given: Given, declare: Callable[..., Array]) -> KernelArray:
    dtype, *lengths = given
    if reader.depth:
        fix = "declare it before the branch or the loop"
        reader.refuse(node, "an array is declared in a branch or a loop of the program", fix)
    if len(lengths) == 1 and isinstance(lengths[0], (tuple, list)):
        (lengths,) = lengths
    if not lengths or not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n > 0 for n in lengths):
        fix = f"write {ast.unparse(node.func)}({ast.unparse(node.args[0])}, 8)"
        reader.refuse(node, "the lengths of the axes must be positive integers that are known at compile time", fix)
    stem = reader.assigned or "local"
    unit, shape = dtype, tuple(map(int, lengths))
    element: StructType | VectorType | None = None
    if isinstance(dtype, VectorType):
        unit, element, shape = dtype.dtype, dtype, (*shape, dtype.size)
    elif isinstance(dtype, StructType):
        unit, element, shape = dtype.layout.unit, dtype, (*shape, dtype.layout.count)
    return KernelArray(declare(reader.buffer_name(stem), dtype_of(unit), shape=shape), stem, element)


def _vec(reader: ExpressionReader, node: ast.Call, given: Given) -> Vector | VectorType:
    if given and isinstance(given[0], intrinsics.TYPES):
        return intrinsics.vec(*given)  # type: ignore[no-any-return]
    if not 2 <= len(given) <= 4:
        reader.refuse(node, f"got {len(given)} components of a vector", "pass two to four")
    return Vector(reader.unify(given, node) if is_runtime(given) else given)


def _vectors(reader: ExpressionReader, node: ast.Call, name: str, given: Given) -> Given:
    other = next((v for v in given if not isinstance(v, Vector)), None)
    if other is not None:
        is_product = name == "dot" and isinstance(other, Value)
        fix = "make vectors with vy.vec(…)" + (", or multiply by the number" if is_product else "")
        reader.refuse(node, f"got {kind_of(other)} as an operand of {name}, expected a vector", fix)
    return given


def _dot(reader: ExpressionReader, node: ast.Call, given: Given) -> object:
    v, w = _vectors(reader, node, "dot", given)
    return _sum(reader, node, [reader.binary(ast.Mult(), v, w, node)])


def _cross(reader: ExpressionReader, node: ast.Call, given: Given) -> Vector:
    v, w = _vectors(reader, node, "cross", given)
    if len(v) != 3 or len(w) != 3:
        reader.refuse(node, f"got vectors of {len(v)} and {len(w)} components", "pass vectors of three components")

    def component(a: int, b: int) -> object:
        return reader.binary(
            ast.Sub(), reader.binary(ast.Mult(), v[a], w[b], node), reader.binary(ast.Mult(), v[b], w[a], node), node
        )

    return Vector((component(1, 2), component(2, 0), component(0, 1)))


def _length(reader: ExpressionReader, node: ast.Call, given: Given) -> Value:
    (v,) = _vectors(reader, node, "length", given)
    return ops.sqrt(reader.value(_dot(reader, node, (v, v)), None, node))


def _normalize(reader: ExpressionReader, node: ast.Call, given: Given) -> object:
    (v,) = _vectors(reader, node, "normalize", given)
    return reader.binary(ast.Div(), v, _length(reader, node, (v,)), node)


def _id(kind: str) -> Handler:
    return lambda reader, node, given: getattr(reader.builder, kind)(*given)


def _isinstance(reader: ExpressionReader, node: ast.Call, given: Given) -> bool:
    """Python's own, where structures and vectors are instances of the types that made them."""
    x, types = given
    own: list[Any] = []
    others: list[Any] = []
    for type_ in types if isinstance(types, tuple) else (types,):
        (own if isinstance(type_, StructType) or type_ in VECTORS else others).append(type_)
    if isinstance(x, StructValue):
        return any(type_ is x.type for type_ in own)
    if isinstance(x, Vector):
        return any(type_ in VECTORS and type_.size == len(x) for type_ in own)
    if others and is_runtime(x):
        fix = "compare its type, as in x.dtype is vy.f32"
        reader.refuse(node, "a value of the program is an instance of no type of Python", fix)
    return isinstance(x, tuple(others))


INTRINSICS: Mapping[object, Handler] = {
    builtins.isinstance: _isinstance,
    intrinsics.index: _index,
    intrinsics.global_id: _id("global_id"),
    intrinsics.local_id: _id("local_id"),
    intrinsics.workgroup_id: _id("workgroup_id"),
    intrinsics.num_workgroups: _id("num_workgroups"),
    intrinsics.subgroup_lane: _id("subgroup_lane"),
    intrinsics.subgroup: _subgroup,
    intrinsics.barrier: _barrier,
    intrinsics.grid_barrier: _grid_barrier,
    intrinsics.trap: _trap,
    intrinsics.private: _private,
    intrinsics.workgroup: _workgroup,
    intrinsics.vec: _vec,
    intrinsics.dot: _dot,
    intrinsics.cross: _cross,
    intrinsics.length: _length,
    intrinsics.normalize: _normalize,
}
"""What a kernel does for each of the functions in `intrinsics`; arguments come in the order of the signature."""


# ── functions of Python with values ──────────────────────────────────────────────────────────────────────────────────


def _sum(reader: ExpressionReader, node: ast.Call, given: Given) -> object:
    elements = _elements(reader, node, given[0])
    if len(given) > 1:
        elements.insert(0, given[1])
    return reduce(lambda x, y: reader.binary(ast.Add(), x, y, node), elements) if elements else 0


def _extreme(name: str) -> Handler:
    def handler(reader: ExpressionReader, node: ast.Call, given: Given) -> object:
        numbers = _elements(reader, node, given[0]) if len(given) == 1 else given
        if name == "max":
            reader.require_sign(numbers, node, name)
        operands = reader.unify(numbers, node)
        if operands[0].dtype.is_float:
            fix = f"write vy.{name}, which gives the other operand for a NaN"
            reader.refuse(node, f"the result of Python's {name} depends on the order of its operands for a NaN", fix)
        return reduce(getattr(ops, name), operands)

    return handler


def _truths(is_all: bool) -> Handler:
    def handler(reader: ExpressionReader, node: ast.Call, given: Given) -> object:
        result: bool | Value = is_all
        for element in _elements(reader, node, given[0]):
            x = reader.truth(element, node)
            if isinstance(x, bool):
                if x is not is_all:
                    return x
            elif isinstance(result, bool):
                result = x
            else:
                result = result & x if is_all else result | x
        return result

    return handler


def _len(reader: ExpressionReader, node: ast.Call, given: Given) -> object:
    return given[0].axes[0] if isinstance(given[0], KernelArray) else len(given[0])


def _abs(reader: ExpressionReader, node: ast.Call, given: Given) -> object:
    if isinstance(given[0], Vector):
        return Vector(_abs(reader, node, [component]) for component in given[0])
    reader.require_sign(given, node, "abs")
    return abs(reader.value(given[0], None, node))


def _bool(reader: ExpressionReader, node: ast.Call, given: Given) -> object:
    return reader.truth(given[0], node)


def _print(reader: ExpressionReader, node: ast.Call, given: Given) -> object:
    fix = 'add a result that holds the value, as in seen: vy.Out[vy.f32, "n"], and store it: seen[i] = value'
    reader.refuse(node, "a kernel does not print values of the program", fix)


def _range(reader: ExpressionReader, node: ast.Call, given: Given) -> object:
    counting = ast.unparse(node)
    fix = f"write a loop, as in total = vy.f32(0), and in the next lines for k in {counting}: total += x[k]"
    if len(given) > 1:
        fix = f"count to a number that is known, as in x[i + k] for k in range(4), or {fix}"
    reader.refuse(node, "only a `for` statement can count to a number that is known only when the program runs", fix)


def _operators(name: str, *operators: ast.operator) -> Handler:
    """A function that gives what one operator gives, or what several give as a tuple."""

    def handler(reader: ExpressionReader, node: ast.Call, given: Given) -> object:
        if len(given) != 2:
            reader.refuse(node, f"got {len(given)} arguments of {name}, expected 2", f"write {name}(x, y)")
        found = tuple(reader.binary(op, given[0], given[1], node) for op in operators)
        return found if len(found) > 1 else found[0]

    return handler


def _elements(reader: ExpressionReader, node: ast.Call, given: Any) -> list[Any]:
    """The elements of an argument that a function of Python takes one by one."""
    reader.require_iterable(given, node)
    return list(given)


def _conversion(name: str, types: str) -> Handler:
    def handler(reader: ExpressionReader, node: ast.Call, given: Given) -> object:
        reader.refuse(node, f"Python's {name} does not say how wide the result is", f"write {types}")

    return handler


BUILTINS: Mapping[object, Handler] = {
    builtins.sum: _sum,
    builtins.min: _extreme("min"),
    builtins.max: _extreme("max"),
    builtins.any: _truths(False),
    builtins.all: _truths(True),
    builtins.len: _len,
    builtins.abs: _abs,
    builtins.pow: _operators("pow", ast.Pow()),
    builtins.divmod: _operators("divmod", ast.FloorDiv(), ast.Mod()),
    builtins.bool: _bool,
    builtins.int: _conversion("int", "vy.i32(x) or another type"),
    builtins.float: _conversion("float", "vy.f32(x) or another type"),
    builtins.print: _print,
    builtins.range: _range,
}
"""What some functions of Python do with values of the program."""

_STRUCTURAL = (zip, enumerate, reversed, list, tuple, dict)
"""Functions of Python that arrange objects, whatever these are."""


_OF_NEGATIVE = (overloads.max, ops.max, ops.abs, ops.sign, clamp)
"""Functions of vyre that replace negative numbers, if there is no second argument, or one of the first two is 0."""
_CHANGING = frozenset(
    "add append clear difference_update discard extend insert intersection_update pop popitem remove reverse setdefault"
    " sort symmetric_difference_update update".split()
)
"""The methods that change a list, a dictionary, a set or a bytearray."""


def call(reader: ExpressionReader, callee: Any, node: ast.Call) -> object:
    """Call anything but a device function."""
    inner = _wrapped(callee)
    if isinstance(inner, HostCallable):
        _refuse_kernel(reader, inner, node)
    if isinstance(inner, DeviceFunction):
        fix = f"leave out the decorator above that of {inner.__name__!r}"
        reader.refuse(
            node,
            f"{ast.unparse(node.func)!r} is wrapped, and a kernel is compiled from the source of the function itself",
            fix,
        )
    positional, named = reader.arguments(node)
    if isinstance(callee, ArrayAtomic):
        return _atomic(reader, callee, node, positional, named)
    if isinstance(callee, DType):
        return _typed(reader, callee, node, positional)
    handler = INTRINSICS.get(callee) if _is_hashable(callee) else None
    if handler is not None:
        return handler(reader, node, _in_order(reader, callee, node, positional, named))
    changed = getattr(callee, "__self__", None)
    is_change = isinstance(changed, (list, dict, set, bytearray)) and getattr(callee, "__name__", "") in _CHANGING
    if is_change and not reader.may_change(changed):
        _refuse_change(reader, callee, node)
    reader.actions += is_change
    if is_change and (is_runtime(positional) or is_runtime(named)) and reader.is_outer(changed):
        fix = "make it in the kernel, as in found = []; what a launch computes is stored in an array"
        reader.refuse(node, "a Python object from outside of the kernel would hold a value of the program", fix)
    is_by_component = _takes_values(callee) and any(isinstance(x, Vector) for x in positional)
    if is_change or not (is_runtime(positional) or is_runtime(named) or is_by_component):
        _require_constant(reader, callee, node)
        makes_arrays = getattr(callee, "__module__", "") == "vyre.arrays"
        found = None if makes_arrays else callee(*positional, **named)
        if makes_arrays or isinstance(found, DeviceArray):
            message = f"{ast.unparse(node.func)}(…) makes an array of a device, while the kernel is compiled"
            fix = "write vy.private(vy.f32, 3), or vy.workgroup(…) for memory that a workgroup shares"
            reader.refuse(node, message, fix)
        return found
    handler = BUILTINS.get(callee) if _is_hashable(callee) else None
    if callee is builtins.sum and named.keys() == {"start"}:
        positional, named = [*positional, named["start"]], {}
    if handler is not None and (not named or callee is print):
        return handler(reader, node, positional)
    if any(callee is function for function in _STRUCTURAL):
        for x in positional:
            reader.require_iterable(x, node)
        return callee(*positional, **named)
    if isinstance(getattr(callee, "__self__", None), Value):
        return callee(*positional, **named)
    if _takes_values(callee):
        return _vyre_function(reader, callee, node, positional, named)
    name = getattr(callee, "__name__", type(callee).__name__)
    if callee is getattr(vyre_algorithms, name, None):
        fix = "call it outside of the kernel, and pass what it returns"
        reader.refuse(node, f"{name}(…) computes with whole arrays, and runs kernels of its own", fix)
    if name in OF_ARRAYS and any(isinstance(x, KernelArray) for x in positional):
        fix = f"write a loop over its elements; outside of a kernel, vy.{name} computes with whole arrays"
        reader.refuse(node, f"{ast.unparse(node.func)}(…) computes with a whole array", fix)
    same = FUNCTIONS.get(name, name if any(hasattr(module, name) for module in (ops, vyre_math, composed)) else None)
    fix = f"write vy.{same}" if same else "use the functions of vyre, or pass values that are known at compile time"
    if callee in VECTORS:
        fix = "write vy.vec(…)"
    elif not same and name in ELEMENTS:
        fix = f"write {ELEMENTS[name]}".replace("vyre.", "vy.").replace("[i]", "")
    elif isinstance(callee, type) and issubclass(callee, np.generic):
        dtype = dtype_of(callee)
        fix = f"write vy.{'bool_' if dtype is bool_ else dtype}(…)"
    elif isinstance(callee, type) and (is_dataclass(callee) or hasattr(callee, "_fields")):
        fix = f"decorate {name} with @vy.struct, and annotate its fields with types of vyre"
    elif inspect.isfunction(callee):
        fix = f"decorate {name} with @vy.func"
        if name == "<lambda>":
            fix = "make it a function with `def`, and decorate that with @vy.func"
    reader.refuse(node, f"{name}(…) is a function of Python, which cannot compute with values of the program", fix)


def _require_constant(reader: ExpressionReader, callee: Any, node: ast.Call) -> None:
    """Refuse a function that gives another number in each call: a kernel calls it once, while it is compiled."""
    of = getattr(callee, "__self__", None)
    module = str(getattr(callee, "__module__", None) or type(of).__module__)
    if module.partition(".")[0] in ("random", "secrets", "time") or module.startswith("numpy.random"):
        message = f"{ast.unparse(node.func)}(…) gives other numbers in each call, and is called once, by the compiler"
        fix = "pass what it gives as an argument; vy.uniform(key, n) makes an array of random numbers"
        reader.refuse(node, message, fix)


def _wrapped(callee: Any) -> Any:
    """The kernel or the device function in a wrapper; the function in a wrapper of another one."""
    return inspect.unwrap(callee, stop=lambda inner: isinstance(inner, (HostCallable, DeviceFunction)))


def _refuse_change(reader: ExpressionReader, callee: Any, node: ast.Call) -> NoReturn:
    """Refuse a method that changes an object of Python: that happens once, while the kernel is compiled."""
    is_named = isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)
    of = node.func.value.id if is_named else "found"  # type: ignore[attr-defined]
    message = f"{ast.unparse(node.func)}(…) changes a Python object, whatever the condition of the program is"
    kinds: Mapping[type, str] = {dict: f"{{**{of}, key: x}}", set: f"{{*{of}, x}}"}
    new = kinds.get(type(callee.__self__), f"[*{of}, x]")
    reader.refuse(node, message, f"assign a new one, as in {of} = {new}")


def _refuse_kernel(reader: ExpressionReader, callee: HostCallable, node: ast.Call) -> NoReturn:
    called = ast.unparse(node.func)
    if getattr(callee, "__wrapped__", None) is reader.frames[0].source.function:
        reader.refuse(node, f"the kernel {called!r} calls itself", "write a loop")
    fix = "decorate what both compute with @vy.func, and call that function in both kernels"
    reader.refuse(node, f"{called!r} is a kernel, which only the host launches", fix)


def _typed(reader: ExpressionReader, dtype: DType, node: ast.Call, positional: Given) -> Value:
    if len(positional) != 1:
        reader.refuse(node, f"got {len(positional)} arguments of {dtype}, expected one", f"write vy.{dtype}(x)")
    (x,) = positional
    if isinstance(x, Value):
        return x.cast(dtype)
    if number(x) is not None:
        return reader.literal(x, dtype, node)
    if isinstance(x, NumberChoice):
        return x.typed(lambda chosen: reader.literal(chosen, dtype, node))
    if isinstance(x, Vector):
        fix = f"write {ast.unparse(node.args[0])}.cast(vy.{public_name(dtype)})"
        reader.refuse(node, f"got a vector, expected one value to convert to {dtype}", fix)
    return reader.value(x, dtype, node)


def _atomic(
    reader: ExpressionReader, callee: ArrayAtomic, node: ast.Call, positional: list[Any], named: dict[str, Any]
) -> object:
    reader.effect(node, "an atomic")
    method = getattr(callee.array.array, callee.name)
    try:
        given = list(inspect.signature(method).bind(*positional, **named).args)
    except TypeError as error:
        reader.refuse(node, f"{callee.name}: {error}", "pass the index and the value")
    index, *values = given
    target = ast.copy_location(
        ast.Subscript(node.func, node.args[0] if node.args else ast.Constant(None), ast.Load()), node
    )
    indices = [*reader.indices(callee.array, target, index), *callee.last]
    operands = [reader.value(x, callee.array.array.dtype, node) for x in values]
    return method(tuple(indices), *operands)


def _takes_values(callee: Any) -> bool:
    """Whether a function is made for values: one of vyre, or of a dialect."""
    if callee in (overloads.min, overloads.max):
        return True
    package = (getattr(callee, "__module__", None) or "").partition(".")[0]
    if package in ("vyre_foundation", "vyre_math"):
        return True
    signature = getattr(callee, "__signature__", None)
    return signature is not None and signature.return_annotation == "Value"


def _vyre_function(
    reader: ExpressionReader, callee: Any, node: ast.Call, positional: list[Any], named: dict[str, Any]
) -> object:
    is_extreme = callee in (overloads.min, overloads.max)
    if is_extreme and len(positional) == 1 and isinstance(positional[0], (list, tuple)):
        if isinstance(positional[0], Vector):
            reader.refuse(node, f"got one operand of {callee.__name__}, expected two", "pass v.x and v.y")
        positional = [*positional[0]]
        if len(positional) == 1:
            return positional[0]
    vectors = [x for x in (*positional, *named.values()) if isinstance(x, Vector)]
    if vectors:
        size = len(vectors[0])
        if any(len(v) != size for v in vectors):
            sizes = " and ".join(str(len(v)) for v in vectors)
            reader.refuse(node, f"got vectors of {sizes} components", "use vectors of one size")

        def part(x: Any, at: int) -> Any:
            return x[at] if isinstance(x, Vector) else x

        return Vector(
            _vyre_function(
                reader, callee, node, [part(x, n) for x in positional], {k: part(x, n) for k, x in named.items()}
            )
            for n in range(size)
        )
    if callee in _OF_NEGATIVE:
        reader.require_sign(positional if is_extreme else positional[:2], node, callee.__name__)
    dtypes = [x.dtype for x in (*positional, *named.values()) if isinstance(x, Value) and x.dtype is not bool_]
    dtype = dtypes[0] if dtypes else bool_

    def operand(x: Any) -> Any:
        if isinstance(x, KernelArray):
            reader.refuse(node, f"got {kind_of(x)}, expected a value", f"index it, as in {reader.element_of(x)}")
        return reader.value(x, dtype, node) if isinstance(x, NumberChoice) else x

    return callee(*map(operand, positional), **{name: operand(x) for name, x in named.items()})


def _in_order(
    reader: ExpressionReader, callee: Any, node: ast.Call, positional: list[Any], named: dict[str, Any]
) -> Given:
    """The arguments of an intrinsic in the order of its signature, with its defaults."""
    try:
        bound = inspect.signature(callee).bind(*positional, **named)
    except TypeError as error:
        fix = f"write vy.{callee.__name__}({', '.join(inspect.signature(callee).parameters)})"
        if callee is intrinsics.index:
            fix += ", and state the shape of the launch in the decorator, as in @vy.kernel(shape=('h', 'w'))"
        reader.refuse(node, f"{callee.__name__}(): {error}", fix)
    bound.apply_defaults()
    return bound.args


def _is_hashable(x: object) -> bool:
    return type(x).__hash__ is not None
