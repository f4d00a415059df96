"""Exchange of host memory by DLPack, including bf16, which NumPy's implementation of the protocol does not support.

NumPy exchanges the bits of bf16 as u16, and the type code in the capsule is replaced. A capsule belongs to its consumer
until it is used.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from vyre_foundation.dtype import bf16, u16

if TYPE_CHECKING:
    import numpy.typing as npt

HOST = 1
"""The device code of host memory."""
UNSIGNED, BRAIN = 1, 4
"""The type codes of unsigned integers and of bf16."""
_TYPES = {b"dltensor": 20, b"dltensor_versioned": 52}
"""The offset of the element type (code, bits, lanes) from the pointer of a capsule."""

_name = ctypes.pythonapi.PyCapsule_GetName
_name.restype, _name.argtypes = ctypes.c_char_p, [ctypes.py_object]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def from_dlpack(exporter: Any) -> npt.NDArray[Any]:
    """Return an array over the memory that an object exports, without a copy."""
    try:
        return np.from_dlpack(exporter)
    except Exception:
        if exporter.__dlpack_device__()[0] != HOST or not _is_bf16(exporter.__dlpack__()):
            raise
    return np.from_dlpack(_Bits(exporter)).view(bf16.numpy)


def host_array(foreign: object) -> npt.NDArray[Any] | None:
    """Return an array over the memory of an object of another library, or None if it exports no host memory."""
    if isinstance(foreign, np.ndarray):
        return foreign
    try:
        if hasattr(foreign, "__dlpack__"):
            return from_dlpack(foreign)
        return np.asarray(foreign) if hasattr(foreign, "__array_interface__") else None
    except (BufferError, RuntimeError, TypeError, ValueError):
        return None


def export_dlpack(array: Any, **options: Any) -> Any:
    """Return the capsule of an array, which may be of bf16."""
    if not isinstance(array, np.ndarray) or array.dtype != bf16.numpy:
        return array.__dlpack__(**options)
    return _renamed(array.view(u16.numpy).__dlpack__(**options), BRAIN)


class _Bits:
    """The exporter of bf16 as one of u16."""

    def __init__(self, exporter: Any) -> None:
        self._exporter = exporter

    def __dlpack__(self, **options: Any) -> Any:
        return _renamed(self._exporter.__dlpack__(**options), UNSIGNED)

    def __dlpack_device__(self) -> Any:
        return self._exporter.__dlpack_device__()


def _type_of(capsule: Any) -> ctypes.Array[ctypes.c_uint8]:
    name = _name(capsule)
    return (ctypes.c_uint8 * 2).from_address(_pointer(capsule, name) + _TYPES[name])


def _is_bf16(capsule: Any) -> bool:
    return bytes(_type_of(capsule)) == bytes((BRAIN, 16))


def _renamed(capsule: Any, code: int) -> Any:
    _type_of(capsule)[0] = code
    return capsule
