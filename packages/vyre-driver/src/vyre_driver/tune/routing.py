"""The choice of a backend by the size of the data, from stored measurements that include transfers.

A route applies to the size bucket in which it was measured, and to buckets between two with the same route. Otherwise
the most preferred backend runs the program. A route is dropped when its backend has opened another device than the
measured one. Every launch asks for its route, so this is checked once for each opened backend and size.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.checked import Fields, read_json
from vyre_driver.errors import BackendError
from vyre_driver.observe.live import backend_for
from vyre_driver.pipeline.signature import DeviceSignature, DeviceSignatureTable
from vyre_driver.pipeline.store import shared_store
from vyre_driver.tune.choice import size_bucket

if TYPE_CHECKING:
    from vyre_driver.backend.contract import VyreBackend
    from vyre_foundation.ir.program import Program

METHOD = 1
"""Part of every question to the store: changes with what a route is."""
MAX_CONFIRMED = 1024


@dataclass(frozen=True, slots=True)
class Route:
    """The backend for a program and a size bucket, with the identity of its device and the measurements.

    `times` has the nanoseconds of a dispatch from host memory to host memory by backend.
    """

    backend: str
    device: tuple[str, ...]
    times: Mapping[str, float]

    def __str__(self) -> str:
        times = ", ".join(f"{backend} {ns / 1e3:.1f} µs" for backend, ns in self.times.items())
        return f"{self.backend} ({times})"


class RoutingTable:
    """Routes by program and size bucket, of this process and of earlier ones. `version` changes with every route."""

    def __init__(self, known: DeviceSignatureTable | None = None) -> None:
        self._known = DeviceSignatureTable(None) if known is None else known
        self._routes: dict[str, dict[int, Route]] = {}
        self.version = 0
        self.confirmed: dict[tuple[object, ...], tuple[Route, VyreBackend]] = {}
        """Routes with the opened backend that has their device, by what was launched, until there is another route."""

    def of(self, program: Program) -> Mapping[int, Route]:
        """Return all routes of a program by bucket."""
        digest = program.fingerprint()
        found = self._routes.get(digest)
        if found is None:
            found = self._routes[digest] = self._known.get(_signature(digest), _read) or {}
        return found

    def route(
        self, program: Program, byte_lengths: Sequence[int], config: DispatchConfig = DEFAULT_CONFIG
    ) -> Route | None:
        """Return the route of a launch over inputs of these sizes, or None."""
        found = self.of(program)
        if not found:
            return None
        bucket = size_bucket(byte_lengths, config)
        return found.get(bucket) or _between(found, bucket)

    def record(self, program: Program, bucket: int, route: Route, cost_ns: int = 0) -> None:
        """Use a route for later launches, also in later processes. The routes of others for other sizes stay."""
        stored = self._known.get(_signature(program.fingerprint()), _read) or {}
        self._replace(program, {**self.of(program), **stored, bucket: route}, cost_ns)

    def forget(self, program: Program, backend: str) -> None:
        """Drop the routes of a program to a backend."""
        self._replace(program, {size: route for size, route in self.of(program).items() if route.backend != backend})

    def _replace(self, program: Program, routes: dict[int, Route], cost_ns: int = 0) -> None:
        digest = program.fingerprint()
        self._routes[digest] = routes
        self.version += 1
        self.confirmed.clear()
        written = {
            str(size): {"backend": route.backend, "device": route.device, "times": dict(route.times)}
            for size, route in routes.items()
        }
        self._known.put(_signature(digest), json.dumps(written).encode(), cost_ns)


def _between(routes: Mapping[int, Route], bucket: int) -> Route | None:
    """The route of both measured neighbours of a bucket, if they have the same backend."""
    below = max((size for size in routes if size < bucket), default=None)
    above = min((size for size in routes if size > bucket), default=None)
    if below is None or above is None or routes[below].backend != routes[above].backend:
        return None
    return routes[below]


def _signature(digest: str) -> DeviceSignature:
    return DeviceSignature(("routes", platform.node()), f"the fastest backend for {digest} by method {METHOD}")


def _read(cached: bytes) -> dict[int, Route]:
    return {int(size): _route(Fields(found)) for size, found in read_json(cached).items()}


def _route(fields: Fields) -> Route:
    times = fields.fields("times")
    return Route(
        fields.text("backend"), fields.texts("device"), {name: float(times.number(name)) for name in times.names()}
    )


@cache
def shared_routes() -> RoutingTable:
    """Return the table of this process, in the store that the environment names."""
    return RoutingTable(DeviceSignatureTable(shared_store()))


def routed_backend(
    program: Program, byte_lengths: Sequence[int], config: DispatchConfig = DEFAULT_CONFIG
) -> VyreBackend:
    """Return the backend for a launch that names none: that of the measured route, or the most preferred available one.

    Raises:
        BackendUnavailable: No backend that may be chosen automatically is available.
    """
    routes = shared_routes()
    key = (program.fingerprint(), config.grid_override, *byte_lengths)
    route, confirmed = routes.confirmed.get(key) or (routes.route(program, byte_lengths, config), None)
    if route is None:
        return backend_for(None)
    try:
        backend = backend_for(route.backend)
        if backend is confirmed:
            return backend
        if backend.device_profile().identity == route.device:
            if len(routes.confirmed) >= MAX_CONFIRMED:
                routes.confirmed.clear()
            routes.confirmed[key] = route, backend
            return backend
    except BackendError:  # it cannot be opened any more
        pass
    routes.forget(program, route.backend)
    return backend_for(None)


def backend_for_launch(
    backend: str | VyreBackend | None,
    program: Program,
    arrays: Mapping[str, object],
    config: DispatchConfig = DEFAULT_CONFIG,
) -> VyreBackend:
    """Return the backend of a launch over arrays by name: the named one, or that of `routed_backend`.

    Raises:
        UnknownBackend: No installed package registers the id.
        BackendUnavailable: The backend cannot be opened on this machine, or there is none.
    """
    if (backend is not None and backend != "auto") or not shared_routes().of(program):
        return backend_for(backend)
    sizes = [getattr(arrays.get(buffer.name), "nbytes", buffer.dtype.size) for buffer in program.inputs]
    return routed_backend(program, sizes, config)
