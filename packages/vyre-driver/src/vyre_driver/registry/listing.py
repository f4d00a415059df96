"""The devices of all backends. Each backend is queried in a separate process; this one loads no runtimes.

``python -m vyre_driver.registry.listing ID`` prints the devices of one backend as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from enum import Enum
from itertools import chain
from typing import Any

from vyre_driver import process
from vyre_driver.device.profile import DeviceProfile, DeviceTimingQuality
from vyre_driver.device.queue import Queue
from vyre_driver.errors import BackendError
from vyre_driver.registry.backends import (
    acquire,
    availability,
    device_names,
    registered_backends_by_precedence,
    registration_of,
)
from vyre_foundation.markup import fragment, table

TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceListing:
    """A device of a backend. If it cannot be opened, `profile` is None, and `reason` states why."""

    backend: str
    index: int
    name: str
    profile: DeviceProfile | None
    reason: str = ""

    @property
    def address(self) -> str:
        """The name of the device, such as ``id:1``, which is accepted wherever a backend is named."""
        return f"{self.backend}:{self.index}"

    @property
    def identity(self) -> tuple[str, ...] | None:
        """The facts on which compiled code depends. They are equal for devices that share code."""
        return None if self.profile is None else self.profile.identity


class DeviceListings(tuple[DeviceListing, ...]):
    """The devices of a machine in order of preference; a notebook shows them as a table."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{len(self)} devices: {', '.join(device.address for device in self)}>"

    def _repr_html_(self) -> str:
        rows = [(d.address, d.name, d.reason or "works") for d in self]
        return fragment("devices", f"{len(self)}, most preferred first", table(("address", "device", "state"), rows))


def devices(backend: str | None = None) -> DeviceListings:
    """List the devices of all available backends of this machine, the most preferred backend first.

    All backends are queried at the same time, each in a separate process, which takes about a second.

    Args:
        backend: The id of a backend, to query only that one.

    Returns:
        The devices by backend and index. A backend that is not available has none.

    Raises:
        UnknownBackend: No installed package registers the id.
    """
    here = [r.id for r in registered_backends_by_precedence() if not r.is_distributed]
    ids = here if backend is None else [registration_of(backend).id]
    with ThreadPoolExecutor(max(1, len(ids))) as pool:
        return DeviceListings(chain.from_iterable(pool.map(_ask, ids)))


def _ask(id: str) -> list[DeviceListing]:
    try:
        done = process.run(process.python("-m", __name__, id), seconds=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return [_failed(id, f"no answer within {TIMEOUT_S:g} s")]
    reason = process.failure(done)
    if reason is not None:
        return [_failed(id, reason)]
    rows = json.loads(done.stdout)
    return [DeviceListing(**{**row, "profile": _profile_of(row["profile"])}) for row in rows]


def _failed(id: str, reason: str) -> DeviceListing:
    return DeviceListing(backend=id, index=0, name="", profile=None, reason=reason)


def _profile_of(fields: dict[str, Any] | None) -> DeviceProfile | None:
    if fields is None:
        return None
    tuples = {name: tuple(value) for name, value in fields.items() if isinstance(value, list)}
    tuples["queues"] = tuple(Queue(**queue) for queue in fields["queues"])
    quality = DeviceTimingQuality(fields["timing_quality"])
    return DeviceProfile(**{**fields, **tuples, "timing_quality": quality})


def _rows(id: str) -> list[dict[str, Any]]:
    if not availability(id).is_available:
        return []
    return [_row(id, index, name) for index, name in enumerate(device_names(id))]


def _row(id: str, index: int, name: str) -> dict[str, Any]:
    row: dict[str, Any] = {"backend": id, "index": index, "name": name}
    try:
        backend = acquire(id, index)
        profile = backend.device_profile()
        backend.shutdown()
    except BackendError as error:
        return {**row, "profile": None, "reason": str(error)}
    plain = {key: value.value if isinstance(value, Enum) else value for key, value in asdict(profile).items()}
    return {**row, "name": name or profile.device, "profile": plain}


if __name__ == "__main__":
    process.end_with_parent()
    with process.answer_stream() as stream:
        stream.write(json.dumps(_rows(sys.argv[1])))
