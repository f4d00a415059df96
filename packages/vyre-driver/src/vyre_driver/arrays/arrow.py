"""Arrays of Arrow, through `pyarrow` where it is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vyre_driver.errors import InvalidInput, UnsupportedFeature

if TYPE_CHECKING:
    import numpy.typing as npt


def arrow() -> Any:
    """The module `pyarrow`.

    Raises:
        UnsupportedFeature: It is not installed.
    """
    try:
        import pyarrow as pa
    except ImportError as error:
        fix = "install it: pip install pyarrow"
        raise UnsupportedFeature("exchange with Arrow without pyarrow", backend="vyre", fix=fix) from error
    return pa


def from_arrow(given: Any) -> npt.NDArray[Any]:
    """An array of Arrow as one of NumPy: its memory, or a copy of what is in several pieces or in bits.

    Raises:
        InvalidInput: It has nulls, or elements that are no numbers.
        UnsupportedFeature: `pyarrow` is not installed.
    """
    module = arrow()
    is_whole = hasattr(given, "__arrow_c_array__")
    found = module.array(given) if is_whole else module.chunked_array(given).combine_chunks()
    if found.null_count:
        fix = "fill them first, as in pyarrow.compute.fill_null(array, 0)"
        raise InvalidInput("array", needed="an array without nulls", got=f"{found.null_count} nulls", fix=fix)
    if not (module.types.is_primitive(found.type) and found.type.bit_width <= 64):
        got, fix = f"an array of {found.type}", "convert it to numbers first"
        raise InvalidInput("array", needed="an array of numbers", got=got, fix=fix)
    host: npt.NDArray[Any] = found.to_numpy(zero_copy_only=False)
    return host
