"""Which GPU the backend opens: the driver's first one, or what `VYRE_CUDA_DEVICE` says.

The variable is a position in the driver's order (``0``) or a piece of a name, in any case; among several matches the
first one counts. `CUDA_VISIBLE_DEVICES` is the driver's own, and has been obeyed before.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from vyre_driver.errors import BackendUnavailable
from vyre_driver_cuda.api import BACKEND, cupy, device_count
from vyre_driver_cuda.architecture import OLDEST, Architecture
from vyre_driver_cuda.errors import translated

VARIABLE = "VYRE_CUDA_DEVICE"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A GPU by its position in the driver's order."""

    id: int
    name: str
    architecture: Architecture

    def __str__(self) -> str:
        return f"{self.id} ({self.name}, {self.architecture})"


def candidates() -> list[Candidate]:
    """The GPUs that the variable allows, in the driver's order; `BackendUnavailable` says why there are none."""
    device_count()  # says better than CuPy what is missing
    api = cupy()
    with translated(BACKEND):
        found = [_candidate(api, id) for id in range(api.cuda.runtime.getDeviceCount())]
    wanted = os.environ.get(VARIABLE, "").strip()
    allowed = [candidate for candidate in found if matches(candidate, wanted)]
    if allowed:
        return allowed
    there = "; ".join(map(str, found)) or "none"
    reason = f"{VARIABLE}={wanted!r} matches no GPU (found: {there})"
    raise BackendUnavailable(BACKEND, reason, fix="name one of them, or unset it")


def chosen(index: int | None = None) -> Candidate:
    """The GPU to open: the first of `candidates`, or the one at `index`; `BackendUnavailable` if it is too old."""
    allowed = candidates()
    if index is not None and index >= len(allowed):
        reason = f"there are {len(allowed)} GPUs now, and none with the index {index}"
        raise BackendUnavailable(BACKEND, reason, fix="list them again with `vyre devices`")
    return _required(allowed[index or 0])


def matches(candidate: Candidate, wanted: str) -> bool:
    """Whether the text of the variable means this GPU; no text means any."""
    if wanted.isdecimal():
        return candidate.id == int(wanted)
    return wanted.casefold() in candidate.name.casefold()


def _candidate(api: Any, id: int) -> Candidate:
    properties = api.cuda.runtime.getDeviceProperties(id)
    architecture = Architecture(properties["major"], properties["minor"])
    return Candidate(id, properties["name"].decode().strip(), architecture)


def _required(candidate: Candidate) -> Candidate:
    architecture = candidate.architecture
    if (architecture.major, architecture.minor) < OLDEST:
        reason = f"GPU {candidate} is older than sm_{OLDEST[0]}{OLDEST[1]}"
        raise BackendUnavailable(BACKEND, reason, fix=f"choose another one with {VARIABLE}, or another backend")
    return candidate
