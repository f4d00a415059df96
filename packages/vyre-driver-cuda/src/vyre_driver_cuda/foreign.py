"""Arrays of other libraries on the same GPU, used where they are.

Two protocols are known. With DLPack our stream is handed over, and the other library makes the bytes ready for it.
`__cuda_array_interface__` says which stream the bytes are ready on, and ours waits for that; before its version 3 it
did not say, and then ours waits for the default stream.
"""

from __future__ import annotations

from typing import Any

from vyre_driver_cuda.memory import DeviceMemory

ON_CUDA = (2, 13)
"""Kinds of DLPack devices whose memory a GPU's kernels reach: its own, and managed memory."""
DEFAULT_STREAM = 1


def wrapped(cupy: Any, stream: Any, device: int, foreign: object) -> DeviceMemory | None:
    """The memory of `foreign`, which it keeps alive; None if it is elsewhere, read-only or not contiguous."""
    memory = _of_dlpack(cupy, stream, device, foreign)
    return _of_interface(cupy, stream, device, foreign) if memory is None else memory


def exported(cupy: Any, device: int, memory: DeviceMemory, size: int) -> Any:
    """The first bytes of `memory` as an array of CuPy, which keeps them alive."""
    owned = cupy.cuda.UnownedMemory(memory.address, size, memory.holder, device)
    return cupy.ndarray((size,), cupy.uint8, cupy.cuda.MemoryPointer(owned, 0))


def _of_dlpack(cupy: Any, stream: Any, device: int, foreign: object) -> DeviceMemory | None:
    kind = getattr(foreign, "__dlpack_device__", None)
    if kind is None or tuple(map(int, kind())) not in [(k, device) for k in ON_CUDA]:
        return None
    try:
        with stream:  # CuPy hands over the current one
            array = cupy.from_dlpack(foreign)
    except (BufferError, RuntimeError, TypeError, ValueError):  # what the two libraries do not agree on
        return None
    return DeviceMemory(int(array.data.ptr), (array, foreign)) if array.flags.c_contiguous and array.nbytes else None


def _of_interface(cupy: Any, stream: Any, device: int, foreign: object) -> DeviceMemory | None:
    try:
        interface = getattr(foreign, "__cuda_array_interface__", None)
    except Exception:  # some libraries raise where they cannot, as for arrays that record gradients
        return None
    if interface is None or not _is_contiguous(interface):
        return None
    address, is_read_only = interface["data"]
    if not address or is_read_only or cupy.cuda.runtime.pointerGetAttributes(address).device != device:
        return None
    _wait_for_producer(cupy, stream, interface.get("stream", None if interface["version"] > 2 else DEFAULT_STREAM))
    return DeviceMemory(int(address), foreign)


def _is_contiguous(interface: dict[str, Any]) -> bool:
    """Without strides an array is contiguous in C's order."""
    strides = interface.get("strides")
    if strides is None:
        return True
    size = int(interface["typestr"][2:])
    for length, stride in zip(reversed(interface["shape"]), reversed(strides), strict=True):
        if length != 1 and stride != size:
            return False
        size *= length
    return True


def _wait_for_producer(cupy: Any, stream: Any, producer: int | None) -> None:
    """Let our stream wait for what the producer's has enqueued until now. None: there is nothing to wait for."""
    if producer is not None:
        event = cupy.cuda.Event(disable_timing=True)
        cupy.cuda.runtime.eventRecord(event.ptr, producer)
        cupy.cuda.runtime.streamWaitEvent(stream.ptr, event.ptr)
