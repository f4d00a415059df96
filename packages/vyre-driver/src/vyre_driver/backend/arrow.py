"""Conversion of Arrow arrays, by `pyarrow` if it is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from vyre_driver.errors import InvalidInput, UnsupportedFeature

if TYPE_CHECKING:
    import numpy.typing as npt


def arrow() -> Any:
    """Return the module `pyarrow`.

    Raises:
        UnsupportedFeature: It is not installed.
    """
    try:
        import pyarrow as pa
    except ImportError as error:
        fix = "install it: pip install pyarrow"
        raise UnsupportedFeature("exchange with Arrow without pyarrow", backend="vyre", fix=fix) from error
    return pa


def exports_arrow(given: object) -> bool:
    """Return whether to convert an object by Arrow: an Arrow array, or a column of pandas or polars not in NumPy."""
    if not hasattr(given, "__arrow_c_array__") and not hasattr(given, "__arrow_c_stream__"):
        return False
    if isinstance(getattr(given, "dtype", None), np.dtype):  # as a column of pandas mostly has
        return False
    return find_spec("pyarrow") is not None or not hasattr(given, "__array__")


def from_arrow(given: Any, name: str = "array") -> npt.NDArray[Any]:
    """Return an Arrow array as a NumPy array: its memory, or a copy if it has several chunks or is packed in bits.

    Raises:
        InvalidInput: It has nulls, or elements that are not numbers.
        UnsupportedFeature: `pyarrow` is not installed.
    """
    module = arrow()
    is_whole = hasattr(given, "__arrow_c_array__")
    try:
        found = module.array(given) if is_whole else module.chunked_array(given).combine_chunks()
    except Exception as error:  # an exporter raises what it likes
        got, fix = (
            f"a {type(given).__name__} that Arrow cannot read ({error})",
            "pass one of NumPy: numpy.asarray(value)",
        )
        raise InvalidInput(name, needed="memory of the host", got=got, fix=fix) from error
    if found.null_count:
        fix = "fill them first, as in pyarrow.compute.fill_null(array, 0)"
        raise InvalidInput(name, needed="an array without nulls", got=f"{found.null_count} nulls", fix=fix)
    types = module.types
    if not types.is_primitive(found.type) or types.is_time(found.type) or found.type.bit_width > 64:
        got, fix = f"an array of {found.type}", _fix_of(found.type, types, is_whole)
        raise InvalidInput(name, needed="an array of numbers", got=got, fix=fix)
    host: npt.NDArray[Any] = found.to_numpy(zero_copy_only=False)
    return host


def _fix_of(found: Any, types: Any, is_whole: bool) -> str:
    """Return what to pass instead of an array, or a stream of arrays, whose type is not numeric."""
    whole = "pyarrow.array(value)" if is_whole else "pyarrow.chunked_array(value).combine_chunks()"
    if types.is_struct(found):
        name = found.field(0).name
        return f"pass one column of it: {f'value.field({name!r})' if is_whole else f'value[{name!r}]'}"
    if types.is_dictionary(found):
        return f"pass the codes of its values: {whole}.indices"
    if types.is_decimal(found):
        if hasattr(types, "is_decimal64") and 0 <= found.scale <= 18:
            counts = f"{whole}.cast(pyarrow.decimal64(18, {found.scale})).view('int64')"
            return f"pass its counts of 1e-{found.scale}, which are exact: {counts}"
        return f"round it: {whole}.cast('float64')"
    if types.is_time(found):
        return f"pass its counts of units: {whole}.view('int{found.bit_width}')"
    if types.is_list(found) or types.is_large_list(found) or types.is_fixed_size_list(found):
        return f"pass the elements of its lists, one after the other: {whole}.flatten()"
    if types.is_run_end_encoded(found):
        return f"import pyarrow.compute, and pass each element: pyarrow.compute.run_end_decode({whole})"
    if types.is_string_view(found):
        return f"pass a number for each text: {whole}.cast('string').dictionary_encode().indices"
    texts = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    if any(is_text(found) for is_text in texts):
        return f"pass a number for each text: {whole}.dictionary_encode().indices"
    return "convert it to numbers first"
