"""Memory of the host by DLPack, also that of bf16, for which NumPy's side of the protocol has no name.

The bits of bf16 go by the name of u16, which is replaced in the description of the memory: a capsule is of the one who
asked for it, until it is used.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from vyre_foundation.dtype import bf16, u16

if TYPE_CHECKING:
    import numpy.typing as npt

HOST = 1
"""The code of memory of the host."""
UNSIGNED, BRAIN = 1, 4
"""The codes of unsigned integers and of bf16."""
_TYPES = {b"dltensor": 20, b"dltensor_versioned": 52}
"""Where the type of the elements stands behind the pointer of a capsule: its code, and bits and lanes."""

_name = ctypes.pythonapi.PyCapsule_GetName
_name.restype, _name.argtypes = ctypes.c_char_p, [ctypes.py_object]
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def from_dlpack(exporter: Any) -> npt.NDArray[Any]:
    """The array whose memory an object exports, without a copy."""
    try:
        return np.from_dlpack(exporter)
    except Exception:
        if exporter.__dlpack_device__()[0] != HOST or not _is_bf16(exporter.__dlpack__()):
            raise
    return np.from_dlpack(_Bits(exporter)).view(bf16.numpy)


def export_dlpack(array: Any, **options: Any) -> Any:
    """The capsule of an array, which may be of bf16."""
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
