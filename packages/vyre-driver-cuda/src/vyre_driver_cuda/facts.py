"""What a GPU has shown, kept from one process to the next: the proof takes a compiler and some seconds."""

from __future__ import annotations

import json
from typing import Any

from vyre_driver.checked import read_json
from vyre_driver.device.profile import DeviceProfile
from vyre_driver.engine.port import DevicePort
from vyre_driver.errors import BackendUnavailable
from vyre_driver.pipeline.signature import DeviceSignature, DeviceSignatureTable
from vyre_driver.pipeline.stamp import source_stamp
from vyre_driver.pipeline.store import shared_store
from vyre_driver_cuda._version import __version__
from vyre_driver_cuda.api import BACKEND
from vyre_driver_cuda.proof import GRID_BARRIER, faults


def require_sound(port: DevicePort[Any, Any, Any], profile: DeviceProfile) -> bool:
    """Refuse a device that computes something else than its table says.

    Returns:
        False if all that is wrong are barriers of the grid, which are optional.
    """

    def find() -> tuple[str, ...]:
        return faults(port)

    questions = repr((__version__, port.emitter(), source_stamp("vyre_foundation", "vyre_driver", "vyre_driver_cuda")))
    signature = DeviceSignature(profile.identity, questions)
    found = DeviceSignatureTable(shared_store()).recall(signature, find, write=to_bytes, read=from_bytes)
    wrong = [row for row in found if row != GRID_BARRIER]
    if wrong:
        reason = f"the GPU {profile.device!r} does not compute as defined (wrong: {', '.join(wrong)})"
        fix = "update NVIDIA's driver, and report the rows; until then choose another GPU or backend"
        raise BackendUnavailable(BACKEND, reason, fix=fix)
    return GRID_BARRIER not in found


def to_bytes(found: tuple[str, ...]) -> bytes:
    """Encode findings for the store of proofs."""
    return json.dumps(found).encode()


def from_bytes(data: bytes) -> tuple[str, ...]:
    """What `to_bytes` wrote; ValueError or TypeError for other bytes."""
    return tuple(map(str, read_json(data)))
