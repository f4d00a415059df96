"""Running a program in one call: NumPy in, NumPy out."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vyre_driver import DispatchConfig, VyreBackend, acquire, acquire_preferred_dispatch_backend
from vyre_driver.observe.live import by_profile
from vyre_foundation import Program

if TYPE_CHECKING:
    import numpy.typing as npt

_open: dict[str | None, VyreBackend] = {}
_shadowed: dict[tuple[VyreBackend, str], VyreBackend] = {}
_lock = threading.Lock()


def backend_for(backend: str | VyreBackend | None = None) -> VyreBackend:
    """The backend with this id, or the most preferred one that is available (never the reference) for None and "auto".

    Opened once per process and kept. Raises `UnknownBackend` or `BackendUnavailable`.
    """
    if isinstance(backend, VyreBackend):
        return backend
    key = None if backend == "auto" else backend
    with _lock:
        if key not in _open:
            _open[key] = acquire_preferred_dispatch_backend() if key is None else acquire(key)
        return _open[key]


def run(
    program: Program,
    inputs: Mapping[str, object] | None = None,
    /,
    *,
    backend: str | VyreBackend | None = None,
    config: DispatchConfig | None = None,
    **arrays: object,
) -> dict[str, npt.NDArray[Any]]:
    """The outputs of `program` by buffer name, as one-dimensional arrays of their declared types.

    Inputs are arrays by buffer name, as keywords or as a mapping (for names that are no keywords): NumPy arrays of the
    declared types, or whatever exports DLPack or the array interface. Errors are `BackendError`s, all with a remedy.
    The profile ``shadow`` (``shadow:16``: one run in sixteen) compares the outputs with those of the reference.
    """
    named = {**(inputs or {}), **arrays}
    chosen = backend_for(backend)
    if config is None:
        return chosen.dispatch_arrays(program, named)
    return _profiled(chosen, config).dispatch_arrays(program, named, config)


def _profiled(backend: VyreBackend, config: DispatchConfig) -> VyreBackend:
    """`backend` with the shadow that the profile asks for: one for each backend and profile, which counts its turns."""
    if config.profile is None:
        return backend
    with _lock:
        key = backend, config.profile
        if key not in _shadowed:
            _shadowed[key] = by_profile(backend, config)
        return _shadowed[key]
