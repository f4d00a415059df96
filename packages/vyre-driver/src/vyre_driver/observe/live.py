"""Opening backends and compiling programs, with the observation that the environment requests.

`VYRE_TRACE` writes a trace of every acquired backend, `VYRE_SHADOW` shadows it, `VYRE_OBSERVE` logs its calls or makes
spans of them. A configuration with
the profile ``shadow``, or ``shadow:16`` for one dispatch in sixteen, shadows the pipeline that is compiled with it, and
on backends of the engine every dispatch with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from os import environ
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from vyre_driver import observe, plan
from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.delegate import DelegatingBackend, innermost
from vyre_driver.errors import BackendUnavailable, InvalidLaunch, InvalidSetting, MissingExtra
from vyre_driver.observe.calls import Observer, observed
from vyre_driver.observe.log import log_calls
from vyre_driver.pipeline.compile import compile as compile_pipeline
from vyre_driver.pipeline.settings import folder_of, setting
from vyre_driver.registry import backends as registry
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.program import Program
from vyre_foundation.locks import ForkGuard

if TYPE_CHECKING:
    from vyre_driver.backend.pipeline import CompiledPipeline
    from vyre_driver.observe.trace import Trace
    from vyre_driver.plan.specialize import SpecMap

SHADOW = "VYRE_SHADOW"
REFERENCE = "VYRE_SHADOW_REFERENCE"
DIVERGENCE = "VYRE_SHADOW_DIVERGENCE"
CAPSULES = "VYRE_SHADOW_CAPSULES"
OBSERVE = "VYRE_OBSERVE"
TRACE = "VYRE_TRACE"

_EVERY = re.compile(r"off|always|1/(\d+)")
_PROFILE = re.compile(r"shadow(?::([1-9]\d*))?")

_open: dict[str | None, VyreBackend] = {}
_guard = ForkGuard()


def acquire(id: str, device: int | None = None) -> VyreBackend:
    """Open a backend, which belongs to the caller. Call `shutdown` to close it.

    Args:
        id: The id of a backend, which opens the best device that works; or an id with an index, such as ``"id:1"``,
            which opens that device.
        device: The index of a device, if `id` has none. `devices` lists them.

    Raises:
        UnknownBackend: No installed package registers the id.
        BackendUnavailable: The backend cannot run on this machine, or has no such device. The error states the reason.
    """
    return layered(registry.acquire(id, device))


def acquire_preferred_dispatch_backend() -> VyreBackend:
    """Open the most preferred backend that is available, among those that may be chosen automatically.

    Backends are tried in the order of precedence.

    Returns:
        A new backend, which belongs to the caller.

    Raises:
        BackendUnavailable: No backend is available. The error lists those that were tried, with reasons.
    """
    return layered(registry.acquire_preferred_dispatch_backend())


def backend_for(backend: str | VyreBackend | None = None) -> VyreBackend:
    """Open the backend with an id, once per process.

    Args:
        backend: An id that `vyre backends` lists, which opens its best device; or one with the index of a device, as
            `vyre devices` lists them, such as "id:1". None or "auto" for the most preferred available backend,
            which is never the reference. A backend is returned as it is.

    Returns:
        The backend; later calls with a name of the same device return the same object.

    Raises:
        UnknownBackend: No installed package registers the id.
        BackendUnavailable: The backend cannot be opened on this machine, or has no such device.
        InvalidLaunch: The argument is neither an id nor a backend.
    """
    name = None if backend == "auto" else backend
    if (name is None or type(name) is str) and (found := _open.get(name)) is not None:
        return found
    if isinstance(name, VyreBackend):
        return name
    if name is not None:
        _require_id(name)
    with _guard.lock:
        if name not in _open:
            _open[name] = _preferred() if name is None else _named(name)
        return _open[name]


def _preferred() -> VyreBackend:
    """The default backend, which is also the one of its name, so that both share arrays."""
    opened = acquire_preferred_dispatch_backend()
    address = _address(opened.id())
    if address in _open:
        opened.shutdown()
        return _open[address]
    _open[address] = opened
    return opened


def _named(name: str) -> VyreBackend:
    address = _address(name)
    if address not in _open:
        _open[address] = acquire(name if address.endswith(":0") else address)
    return _open[address]


def _address(name: str) -> str:
    """The name with an index of the device that a name opens; of several devices the first that works."""
    id, index = registry.split_device(name)
    if index is not None:
        return f"{id}:{index}"
    found = [f"{id}:{number}" for number, _ in enumerate(registry.device_names(id))]
    for address in found if len(found) > 1 else ():
        opened = _open[address] if address in _open else acquire(address)
        try:
            opened.device_profile()
        except BackendUnavailable:
            opened.shutdown()
            continue
        _open[address] = opened
        return address
    return f"{id}:0"


def _require_id(given: object) -> None:
    if not isinstance(given, str):
        fix = "pass an id that `vyre backends` lists, or a backend"
        raise InvalidLaunch("backend", needed="a string", got=type(given).__name__, fix=fix)


def compile(
    backend: VyreBackend,
    program: Program,
    config: DispatchConfig = DEFAULT_CONFIG,
    specialization: SpecMap | None = None,
) -> CompiledPipeline:
    """Compile a program for a backend.

    Returns:
        The pipeline of the backend; if it has none, a pipeline that calls `dispatch`. It is shadowed if the profile of
        the configuration requests it. Uniforms in `specialization` are constants of the code, and not inputs of the
        pipeline.

    Raises:
        InvalidProgram: The program is invalid.
        UnsupportedFeature: The program has persistent buffers, and the backend has no pipelines.
    """
    if specialization is not None:
        program = plan.specialize.specialize(program, specialization)
    return compile_pipeline(by_profile(backend, config), program, config)


def compile_many(
    backend: VyreBackend, programs: Sequence[Program], config: DispatchConfig = DEFAULT_CONFIG
) -> list[CompiledPipeline]:
    """Compile several programs, which can take less time than one by one, and return their pipelines in order."""
    backend = by_profile(backend, config)
    backend.precompile(programs, config)
    return [compile_pipeline(backend, program, config) for program in programs]


def by_profile(backend: VyreBackend, config: DispatchConfig) -> VyreBackend:
    """Return a backend, shadowed if the profile of the configuration requests it. A shadowed backend is not changed."""
    if config.profile is None or not config.profile.startswith("shadow"):
        return backend
    if isinstance(backend, DelegatingBackend):
        return backend
    found = _PROFILE.fullmatch(config.profile)
    if found is None:
        raise InvalidLaunch("profile", needed="'shadow', or 'shadow:N' for one dispatch in N", got=repr(config.profile))
    return _shadowed(backend, int(found[1] or 1), environ)


def layered(backend: VyreBackend, environment: Mapping[str, str] = environ) -> VyreBackend:
    """Return a backend with the observation that environment variables request; itself if they request none."""
    path = environment.get(TRACE, "")
    if path.strip():
        file = observe.trace.trace_file(path)
        try:
            observe.writing.require_writable(file, TRACE)
            is_in_folder = file.parent.is_dir()
        except VyreError:
            is_in_folder = False
        if not is_in_folder:
            raise InvalidSetting(TRACE, needed="a file that can be written, in a folder that is there", got=path)
        backend = traced(backend, observe.trace.process_trace(path))
    every = _every(setting(SHADOW, environment) or "off")
    if every:
        backend = _shadowed(backend, every, environment)
    return _observed(backend, setting(OBSERVE, environment))


@runtime_checkable
class Traceable(Protocol):
    """A backend that can trace its internal work, not only its calls."""

    def traced(self, trace: Trace) -> VyreBackend:
        """Return a new backend of the same device that adds its spans to `trace`."""
        ...


def traced(backend: VyreBackend, trace: Trace) -> VyreBackend:
    """Return a backend of the same device whose work is traced. The given backend is not changed.

    Args:
        backend: A backend. If it does not use the engine, only its calls are traced.
        trace: The trace that receives the spans.

    Returns:
        A backend that belongs to the caller, with its own device, caches and resident memory.
    """
    inner = innermost(backend)
    return observed(inner.traced(trace) if isinstance(inner, Traceable) else inner, observe.trace.trace_calls(trace))


def _every(text: str) -> int:
    found = _EVERY.fullmatch(text.casefold())
    if found is None or found[1] == "0":
        raise InvalidSetting(SHADOW, needed="off, always or 1/N", got=text)
    return {"off": 0, "always": 1}.get(found[0]) or int(found[1] or 0)


def _shadowed(backend: VyreBackend, every: int, environment: Mapping[str, str]) -> VyreBackend:
    reference = setting(REFERENCE, environment) or "reference"
    if backend.id() == reference:
        return backend
    shadow = observe.shadow
    given = setting(DIVERGENCE, environment) or shadow.OnDivergence.RAISE.value
    wanted = given.casefold()
    if wanted not in {choice.value for choice in shadow.OnDivergence}:
        raise InvalidSetting(DIVERGENCE, needed="raise or record", got=given)
    folder = environment.get(CAPSULES, "")
    policy = shadow.ShadowPolicy(
        every=every,
        on_divergence=shadow.OnDivergence(wanted),
        capsules=folder_of(CAPSULES, folder) if folder.strip() else None,
    )
    return observe.shadowed.ShadowedBackend(backend, registry.acquire(reference), policy)


def _observed(backend: VyreBackend, text: str) -> VyreBackend:
    if not text:
        return backend
    observers: list[Observer] = []
    for word in filter(None, (part.strip().casefold() for part in text.split(","))):
        if word == "log":
            observers.append(log_calls)
        elif word == "spans":
            observers.append(_spans())
        else:
            raise InvalidSetting(OBSERVE, needed="log, spans, or both with a comma", got=text)
    return observed(backend, *observers)


def _spans() -> Observer:
    try:
        from vyre_driver.observe.spans import span_calls
    except MissingExtra as error:
        needed = "spans only with OpenTelemetry"
        raise InvalidSetting(OBSERVE, needed=needed, got="spans", fix=error.fix) from error
    return span_calls()
