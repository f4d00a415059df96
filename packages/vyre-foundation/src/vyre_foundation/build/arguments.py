"""What callers pass to the builder, checked: Python's own errors would speak of the builder's insides."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from vyre_foundation.dtype import DTYPES, DType, bf16, u8
from vyre_foundation.errors import BuildError
from vyre_foundation.ir.argument import shown as shown, shown_type as shown_type
from vyre_foundation.ir.buffer import RUNTIME, Count, LengthOf, PerLaunch
from vyre_foundation.ir.expr import literal
from vyre_foundation.ir.stmt import SubgroupOp
from vyre_foundation.ops import OPS, Op
from vyre_foundation.ops.signs import INFIX

if TYPE_CHECKING:
    import numpy.typing as npt

DTypeLike: TypeAlias = "DType | type[np.generic] | np.dtype[Any] | str"
"""A type of the language, or NumPy's name for it: ``f32``, ``np.float32`` or ``"float32"``."""

# fmt: off
_NUMPY_NAMES = {
    "bool": "bool", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "int8": "i8", "int16": "i16",
    "int32": "i32", "int64": "i64", "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64",
}
# fmt: on
_OF_CODES = "pass the codes of its characters, as in text.view('uint8')"
_OF_BYTES = "pass the bytes of its characters, as in numpy.strings.encode(text).view('uint8')"
NUMBERS_OF_TEXTS = (
    "give each text a number, as numpy.unique(texts, return_inverse=True) does, or read texts that are numbers, as in"
    " x.astype('float64')"
)
_FIXES = {
    "S": _OF_CODES,
    "U": _OF_BYTES,
    "T": _OF_BYTES,
    "O": "make numbers of its objects, as in x.astype('float64')",
}
"""What to do with an array, by the kind of a type that is none of the language."""
_PYTHON_TYPES = {bool: "bool_", int: "i32 or i64", float: "f32 or f64"}
_ABSTRACT = frozenset({
    np.generic, np.number, np.integer, np.signedinteger, np.unsignedinteger, np.inexact, np.floating,
    np.complexfloating, np.flexible, np.character,
})  # fmt: skip
"""NumPy's abstract types of scalars. Arrays have none of them, but NumPy before 2.4 takes a type for some."""
_BY_NAME = {t.name: t for t in DTYPES}
_BY_NUMPY = {t.numpy: t for t in DTYPES if t is not bf16}  # NumPy has no bf16: packages that have are known by name


def dtype_of(given: object) -> DType:
    """The type of the language that `given` names."""
    if given.__class__ is DType:
        return given
    if isinstance(given, type) and given in _PYTHON_TYPES:
        fix = f"use {_PYTHON_TYPES[given]}"
        raise BuildError(f"got Python's type {given.__name__}, expected one that says its width", fix=fix)
    if isinstance(given, str) and given in _NUMPY_NAMES:
        return _BY_NAME[_NUMPY_NAMES[given]]
    found = numpy_type(given)
    if found is not None:
        if found in _BY_NUMPY:
            return _BY_NUMPY[found]
        known = _BY_NAME.get(_NUMPY_NAMES.get(found.name, ""))
        if known is not None and found == known.numpy:
            return known
        if known is not None and not found.isnative:
            fix = f"use {found.name}, to which .astype({found.name!r}) converts an array"
            raise BuildError(f"got {shown(found)}, expected a type", fix=fix)
    names = ", ".join(t.name if t.name != "bool" else "bool_" for t in DTYPES)
    fix = f"use one of {names}, or NumPy's type of one"
    if found is not None:
        fix = fix_of_elements(found) or ("convert it with .astype('float64')" if found.kind == "f" else fix)
    elif isinstance(given, str) and given in _BY_NAME:
        fix = f"use vy.{given}, or {_BY_NAME[given].numpy.name!r}, which is NumPy's name of it"
    raise BuildError(f"got {shown(given)}, expected a type", fix=fix)


def numpy_type(given: object) -> np.dtype[Any] | None:
    """NumPy's type that `given` is, as a type of arrays or of scalars; None for anything else, also `np.floating`."""
    if isinstance(given, np.dtype):
        return given
    if isinstance(given, type) and issubclass(given, np.generic) and given not in _ABSTRACT:
        return np.dtype(given)
    return None


def fix_of_elements(given: object) -> str | None:
    """What to pass in the place of a text, a sparse matrix, or an array or type that no conversion maps to numbers.

    None for numbers, and for anything else.
    """
    if isinstance(given, str):
        return "pass its bytes, as in text.encode()"
    if hasattr(given, "tocsr"):
        return "pass x.toarray(), or m.data, m.indices and m.indptr of m = x.tocsr(), as vyre.spmv takes them"
    dtype = given if isinstance(given, np.dtype) else getattr(given, "dtype", None)
    if not isinstance(dtype, np.dtype):
        return None
    if dtype.names is not None:
        return f"pass a field of it, as in x[{dtype.names[0]!r}]"
    if dtype.kind in "cMm" and not dtype.isnative:
        return f"convert it with .astype({dtype.newbyteorder('=').name!r})"
    if dtype.kind == "c":
        part = np.empty(0, dtype).real.dtype.name
        return f"pass its parts, z.real and z.imag, or both as a last axis, z.view({part!r}).reshape(*z.shape, 2)"
    if dtype.kind in "Mm":
        counts = f"numpy.asarray(time, {dtype.name!r}).view('int64')"
        return f"pass its counts of units, where NaT is the least i64, as in {counts}"
    if dtype.type is np.void:
        return "say what its bytes are, as in x.view('uint8')"
    if dtype.kind == "O" and isinstance(given, np.ndarray) and given.size and isinstance(given.flat[0], str):
        return NUMBERS_OF_TEXTS
    return _FIXES.get(dtype.kind)


def missing_elements(given: Any) -> tuple[str, str, str] | None:
    """What hides or lacks elements: the array that is expected, what was passed, and a remedy. None if all are there.

    NumPy reads what a mask hides, and nulls of Arrow, Polars and pandas as NaN.
    """
    if isinstance(given, np.ndarray):
        if type(given) is np.ndarray or not isinstance(given, np.ma.MaskedArray):
            return None
        return "an array without a mask", "a masked array", "pass .filled(value), or .data for all elements"
    count = getattr(given, "null_count", None)
    if count is None and hasattr(given, "isna") and not isinstance(getattr(given, "dtype", None), np.dtype):
        count = given.isna().sum()
    nulls = count() if callable(count) else count
    if not isinstance(nulls, (int, np.integer)) or not nulls:
        return None
    fix = "fill them first, as in value.fill_null(0) or value.fillna(0)"
    return "an array without nulls", f"{nulls} nulls", fix


def code_of(text: str | bytes) -> str:
    """How the code of a character is written, for messages about a text in the place of a number."""
    if len(text) != 1:
        return "compute with the codes of its characters, one after the other"
    return f"write its code, as in ord({text!r})"


def optional_dtype(given: object) -> DType | None:
    """Give the type of the language that `given` names; None for None."""
    return None if given is None else dtype_of(given)


def is_value(given: object) -> bool:
    """Whether it is known only when the program runs."""
    return hasattr(type(given), "expr")


def text(given: object, what: str) -> str:
    """Give a string, or refuse what is none; `what` says in the message what it was for."""
    if not isinstance(given, str):
        raise BuildError(f"got {shown(given)} as {what}, expected a string", fix="pass a string")
    return given


def integer(given: object, what: str, fix: str = "pass a Python integer") -> int:
    """A whole number that is known while the program is built."""
    if isinstance(given, bool) or not isinstance(given, (int, np.integer)):
        raise BuildError(f"got {shown(given)} as {what}, expected an integer", fix=fix)
    return int(given)


def require_condition(given: object) -> None:
    """Refuse a condition of a loop that is no function: a value would be read once, before the loop."""
    if not callable(given):
        fix = "pass a function, which reads anew in each iteration, as in p.while_(lambda: n > 1, limit=1000)"
        raise BuildError(f"got {shown(given)} as a condition, expected a function", fix=fix)


def step_of(given: object) -> int:
    """Give the step of a loop, which is known while the program is built."""
    fix = "count the steps in a loop of step 1, and multiply its counter" if is_value(given) else "pass an integer"
    return integer(given, "the step of a loop", fix)


def axis(given: object) -> int:
    """Return the number of an axis. Whether there is such an axis is checked by the node."""
    return integer(given, "an axis", "pass 0, 1 or 2, for x, y and z")


def count_of(given: object, name: str) -> Count:
    """The length of the buffer called `name`, from its declaration."""
    if given is None or given is RUNTIME:
        return RUNTIME
    if isinstance(given, (LengthOf, PerLaunch)):
        return given
    fix = "pass an integer, like=…, or LengthOf(…)"
    if is_value(given):
        fix = "a length is known before the launch: use an integer, like=… or LengthOf(…), and as many as may be needed"
    return length_of(given, name, fix)


def length_of(given: object, name: str, fix: str = "pass a Python integer") -> int:
    """The number of elements of the buffer called `name`."""
    if isinstance(given, (tuple, list)):
        fix = f"pass the lengths of its axes as shape={tuple(given)!r}"
    return integer(given, f"the length of {name!r}", fix)


def byte_range(given: object) -> tuple[int, int] | None:
    """Give the first and last bound of an `output_range`, in bytes; None for all of them."""
    if given is None:
        return None
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise BuildError(
            f"got {shown(given)} as output_range, expected two integers", fix="pass (start, stop) in bytes"
        )
    start, stop = (integer(bound, "a bound of output_range") for bound in given)
    return start, stop


def workgroup_sizes(given: object) -> tuple[int, int, int]:
    """x, y and z."""
    sizes: Sequence[object] = given if isinstance(given, Sequence) and not isinstance(given, str) else (given,)
    if not 1 <= len(sizes) <= 3:
        raise BuildError(f"workgroup_size has {len(sizes)} axes", fix="give one, two or three sizes")
    fix = "pass an integer, or a tuple of up to three"
    x, y, z = (*(integer(size, "workgroup_size", fix) for size in sizes), 1, 1)[:3]
    return x, y, z


def subgroup_op(given: object) -> SubgroupOp:
    """Give the collective that `given` names; the message for another name lists them."""
    try:
        return SubgroupOp(given)
    except ValueError:
        names = ", ".join(op.value for op in SubgroupOp)
        raise BuildError(
            f"got {shown(given)}, expected a collective of the subgroup", fix=f"use one of {names}"
        ) from None


def op_of(given: object) -> Op:
    """A row of the op table."""
    if isinstance(given, Op):
        return given
    if isinstance(given, str) and given in OPS:
        return OPS[given]
    fix = "use an id of the op table, as `vyre ops` lists them"
    if isinstance(given, str):
        signs = [op for op, (sign, _) in INFIX.items() if sign == given]
        if near := signs or get_close_matches(given, OPS, 3):
            fix = f"use {' or '.join(near)}"
        elif "." in given:
            fix = f"call an op of a dialect by vyre.call({given!r}, …)"
    raise BuildError(f"got {shown(given)}, expected an op", fix=fix)


def number(given: object) -> bool | int | float | None:
    """`given` as a number of Python, if it is one, or NumPy's of one: a scalar, or an array without axes."""
    if isinstance(given, np.generic) or (type(given) is np.ndarray and not given.ndim):
        given = given.item() if given.dtype.kind in "biuf" else float(given) if given.dtype.name == "bfloat16" else None
    return given if isinstance(given, (bool, int, float)) else None


def elements_of(dtype: DType, given: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    """Values in `dtype`: floats are rounded, but no finite one to an infinity; integers and bools are kept.

    Bytes are elements of u8.

    Raises:
        BuildError: A value does not fit, or `given` is no array of numbers, or has a mask or nulls.
    """
    if isinstance(given, (bytes, bytearray)):
        if dtype is not u8:
            fix = f"say what the bytes are, with numpy.frombuffer(data, {dtype.numpy.name!r})"
            raise BuildError(f"{name!r} got bytes, expected numbers of {dtype}", fix=fix)
        given = memoryview(given)
    if missing := missing_elements(given):
        needed, got, fix = missing
        raise BuildError(f"{name!r} got {got}, expected {needed}", fix=fix)
    try:
        values = np.asarray(given)
    except ValueError as error:
        raise BuildError(f"{name!r} got rows of different lengths ({error})", fix="pass an array") from None
    plain = values.dtype.kind in "biuf" or values.dtype.name == "bfloat16"
    if not plain and not (values.dtype.kind == "O" and all(isinstance(v, (int, float)) for v in values.ravel())):
        fix = fix_of_elements(given) or fix_of_elements(values) or "pass an array of numbers"
        raise BuildError(f"{name!r} got values of {values.dtype}, expected numbers", fix=fix)
    if dtype.is_float:
        table = _rounded(dtype, values)
        with np.errstate(invalid="ignore"):  # of signalling NaNs
            is_infinite = np.isinf(table)
        if is_infinite.any() and (is_lost := is_infinite & (np.abs(values) != np.inf)).any():
            raise _does_not_fit(dtype, name, values[is_lost][0])
        return table
    exact = _exact(dtype, values)
    if exact is None:
        raise _does_not_fit(dtype, name, _first_inexact(dtype, values.ravel()))
    return exact


def _rounded(dtype: DType, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if values.dtype.kind != "O" and (dtype is not bf16 or values.dtype.itemsize <= 4):
        with np.errstate(over="ignore", invalid="ignore"):
            return values.astype(dtype.numpy)
    # Integers beyond 64 bits are no values of NumPy, and its conversion to bf16 rounds twice, to f32 first.
    bits = [literal(dtype, value).bits for value in values.ravel().tolist()]
    return np.array(bits, dtype.unsigned.numpy).view(dtype.numpy).reshape(values.shape)


def _exact(dtype: DType, values: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    """None if an integer or bool would not keep its value."""
    if values.dtype.kind == "f" and not ((values >= dtype.lowest) & (values < dtype.highest + 1)).all():
        return None
    try:
        table = values.astype(dtype.numpy)
    except (OverflowError, TypeError, ValueError):
        return None
    return table if np.array_equal(table, values) else None


def _first_inexact(dtype: DType, values: npt.NDArray[Any]) -> object:
    """The first of values that is not kept, of which there is one: found by halves, as there may be many."""
    while values.size > 1:
        half = values[: values.size // 2]
        values = half if _exact(dtype, half) is None else values[values.size // 2 :]
    return values[0]


def _does_not_fit(dtype: DType, name: str, given: object) -> BuildError:
    value = number(given)
    fix = f"use values in {dtype.lowest} … {dtype.highest}, or another type"
    if dtype.is_float:
        fix = "use a wider type of floats, or write an infinity as math.inf"
    elif dtype.bits > 1 and isinstance(value, float) and dtype.lowest <= value <= dtype.highest:
        fix = "round the values first, or use a type of floats"
    return BuildError(f"the value {shown(value)} of {name!r} does not fit {dtype}", fix=fix)
