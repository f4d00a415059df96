"""The registered backends, and the choice of one.

Installed backends are discovered at the first query and cached. A device is opened only when a backend is acquired; its
availability may be probed before.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.received import kind_of
from vyre_driver.backend.registration import Availability, BackendRegistration, Selection
from vyre_driver.errors import BackendError, BackendUnavailable, DuplicateBackend, InvalidLaunch, UnknownBackend
from vyre_driver.registry.discovery import GROUP, BackendOrigin, BackendProblem, Discovery, discover
from vyre_driver.registry.known import INSTALL_HINTS, install_hint
from vyre_foundation.errors import without_remedy
from vyre_foundation.locks import ForkGuard
from vyre_foundation.plugins import DISABLE, disabled_plugins, installed_plugins


@dataclass(slots=True)
class _Registry:
    registered: dict[str, BackendRegistration] = field(default_factory=dict)
    discovered: Discovery | None = None
    guard: ForkGuard = field(default_factory=lambda: ForkGuard(threading.RLock))

    def discovery(self) -> Discovery:
        with self.guard.lock:
            if self.discovered is None:
                self.discovered = discover()
            return self.discovered

    def all(self) -> dict[str, BackendRegistration]:
        with self.guard.lock:
            return {**self.discovery().backends, **self.registered}


_registry = _Registry()

_DEVICE = re.compile(r"(.+):([0-9]{1,6})")
"""The id of a backend and the index of a device."""


def register(registration: BackendRegistration) -> None:
    """Register a backend without an entry point, for tests and applications.

    Raises:
        DuplicateBackend: The id is registered already.
    """
    with _registry.guard.lock:
        if registration.id in _registry.all():
            first, fix = "an earlier registration", "choose another id, or unregister the first"
            if (origin := origin_of(registration.id)) is not None:
                first, fix = str(origin), f"choose another id, or pip uninstall {origin.distribution}"
            raise DuplicateBackend(registration.id, first, "this call", fix=fix)
        _registry.registered[registration.id] = registration


def unregister(id: str) -> None:
    """Remove a backend that was added by `register`. Installed backends are not affected."""
    with _registry.guard.lock:
        _registry.registered.pop(id, None)


def refresh() -> None:
    """Discover installed backends again at the next query."""
    with _registry.guard.lock:
        _registry.discovered = None


def registered_backends() -> tuple[BackendRegistration, ...]:
    """Return all usable registrations, ordered by id."""
    return tuple(registration for _, registration in sorted(_registry.all().items()))


def registered_backends_by_precedence() -> tuple[BackendRegistration, ...]:
    """Return all usable registrations, the most preferred first. Ties are ordered by id."""
    return tuple(sorted(_registry.all().values(), key=lambda r: (r.precedence, r.id)))


def backend_problems() -> tuple[BackendProblem, ...]:
    """Return the installed backends that cannot be used, each with a reason and a remedy."""
    return _registry.discovery().problems


def origin_of(id: str) -> BackendOrigin | None:
    """Return the distribution of an installed backend; None if it was added by `register`, or is unknown."""
    return None if id in _registry.registered else _registry.discovery().origins.get(id)


def registration_of(id: str) -> BackendRegistration:
    """Return the registration of a backend.

    Raises:
        UnknownBackend: The id is not registered. The error lists the registered ids and what to install.
        BackendUnavailable: The backend is installed, but cannot be used.
    """
    known = _registry.all()
    if id in known:
        return known[id]
    for problem in backend_problems():
        if problem.id == id:
            raise BackendUnavailable(id, problem.reason, fix=problem.fix, where=problem.distribution)
    ids = tuple(sorted(known))
    if id in disabled_plugins(GROUP):
        raise UnknownBackend(id, ids, fix=f"{DISABLE} disables it: take it out, or unset that variable")
    raise UnknownBackend(id, ids, fix=_copied() + install_hint(id, ids))


def availability(id: str) -> Availability:
    """Return the result of the probe of a backend. If the probe fails, the backend is unavailable."""
    return _probe(registration_of(id))


def acquire(id: str, device: int | None = None) -> VyreBackend:
    """Open a backend.

    Args:
        id: The id of the backend, or the id and the index of a device, as in ``"id:1"``.
        device: The index of a device. By default the backend chooses one.

    Returns:
        A new backend, which belongs to the caller. Call `shutdown` to close it.

    Raises:
        UnknownBackend: The id is not registered.
        BackendUnavailable: The backend cannot run on this machine, or has no such device. The error has the reason of
            the probe.
        InvalidLaunch: `device` is not an index, or `id` has one too.
    """
    name, index = split_device(id)
    if device is not None:
        if index is not None or type(device) is not int:
            needed, got = "an index of a device, given once", f"{device!r} for {id!r}"
            fix = 'pass acquire("id:1") or acquire("id", 1)'
            raise InvalidLaunch("device", needed=needed, got=got, fix=fix)
        index = device
    registration = registration_of(name)
    return _acquire(registration) if index is None else _acquire_device(registration, index)


def split_device(name: str) -> tuple[str, int | None]:
    """Return the id and the index of the device in ``"id:1"``. The index is None if the name has none."""
    found = _DEVICE.fullmatch(name)
    return (found[1], int(found[2])) if found else (name, None)


def device_names(id: str) -> tuple[str, ...]:
    """Return the names of the devices of a backend by index; ``("",)`` for a backend that lists no devices.

    Runtimes may be loaded in this process, but no device is opened.

    Raises:
        UnknownBackend: The id is not registered.
        BackendUnavailable: The backend cannot run on this machine.
    """
    registration = registration_of(id)
    _require_available(registration)
    if registration.devices is None:
        return ("",)
    names: object = registration.devices.names()
    if not isinstance(names, Sequence) or isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise _wrong(registration, f"its list of devices is {names!r}, expected a sequence of strings")
    return tuple(names)


def acquire_preferred_dispatch_backend() -> VyreBackend:
    """Open the most preferred backend that is available, among those that may be chosen automatically.

    Backends are tried in the order of precedence. A backend whose probe or factory fails is skipped.

    Returns:
        A new backend, which belongs to the caller.

    Raises:
        BackendUnavailable: No backend is available. The error lists those that were tried, with reasons.
        RecursionError: The caller has used up the stack.
    """
    tried = []
    for registration in registered_backends_by_precedence():
        if registration.selection is not Selection.AUTOMATIC:
            continue
        try:
            return _acquire(registration)
        except BackendError as error:
            tried.append(f"{registration.id}: {error.message} ({error.fix})")
        except RecursionError:
            raise  # the caller's stack is used up; memory may be that of a device
        except (Exception, SystemExit) as error:
            reason = f"its factory raised {type(error).__name__}: {without_remedy(error)}"
            tried.append(f"{registration.id}: {reason} ({report_to_authors(registration.id)})")
    tried.extend(f"{problem.id}: {problem.reason} ({problem.fix})" for problem in backend_problems())
    if disabled := disabled_plugins(GROUP):
        tried.append(f"{DISABLE} disables {', '.join(disabled)}")
    raise BackendUnavailable("preferred", _none_available(tried), fix=_remedy())


def _acquire(registration: BackendRegistration) -> VyreBackend:
    _require_available(registration)
    return _made(registration, registration.factory())


def _acquire_device(registration: BackendRegistration, index: int) -> VyreBackend:
    id, names = registration.id, device_names(registration.id)
    if not 0 <= index < len(names):
        there = ", ".join(f"{id}:{n}{f' ({name})' if name else ''}" for n, name in enumerate(names))
        raise BackendUnavailable(
            id, f"it has no device {index}, only {there}", fix=f"name one of them, or {id!r} alone"
        )
    made = registration.factory() if registration.devices is None else registration.devices.open(index)
    return _made(registration, made)


def _made(registration: BackendRegistration, backend: object) -> VyreBackend:
    """Return the result of a factory, or raise an error if it is not the registered backend."""
    if not isinstance(backend, VyreBackend):
        raise _wrong(registration, f"its factory returned {kind_of(backend)}, expected a VyreBackend")
    if (id := backend.id()) != registration.id:
        raise _wrong(registration, f"its factory returned a backend whose id is {id!r}, expected {registration.id!r}")
    return backend


def _wrong(registration: BackendRegistration, reason: str) -> BackendUnavailable:
    return BackendUnavailable(registration.id, reason, fix=report_to_authors(registration.id))


def report_to_authors(id: str) -> str:
    """Return the remedy for a fault in the code of a backend."""
    origin = origin_of(id)
    whose = "the backend's authors" if origin is None else f"the authors of {origin.distribution}"
    return f"report it to {whose}"


def _require_available(registration: BackendRegistration) -> None:
    state = _probe(registration)
    if not state.is_available:
        raise BackendUnavailable(registration.id, state.reason, fix=state.fix)


def _probe(registration: BackendRegistration) -> Availability:
    try:
        found: object = registration.probe()
    except BackendUnavailable as error:
        return Availability.unavailable(str(error.fields["reason"]), error.fix)
    except BackendError as error:
        return Availability.unavailable(error.message, error.fix)
    except RecursionError:
        raise
    except (Exception, SystemExit) as error:
        reason = f"its probe raised {type(error).__name__}: {without_remedy(error)}"
        return Availability.unavailable(reason, report_to_authors(registration.id))
    if isinstance(found, Availability) and (found.is_available or found.reason):
        return found
    returned = "no reason" if isinstance(found, Availability) else f"{kind_of(found)}, expected an Availability"
    reason = f"its probe returned {returned}"
    return Availability.unavailable(reason, report_to_authors(registration.id))


def _none_available(tried: list[str]) -> str:
    return "; ".join(tried) if tried else "no backend that may be chosen without its name is installed"


def _copied() -> str:
    """The first remedy where no distribution registers a backend: entry points are in the files beside its package."""
    copied = "if vyre has been copied here, copy the .dist-info folders of its distributions too; otherwise "
    return "" if installed_plugins(GROUP) else copied


def _remedy() -> str:
    commands = "; ".join(f"{id}: {command}" for id, command in INSTALL_HINTS.items())
    by_name = [r.id for r in registered_backends() if r.selection is Selection.BY_NAME]
    enable = f"unset {DISABLE}, or " if disabled_plugins(GROUP) else ""
    enable = _copied() or enable
    name_one = f", or name one that never stands in by itself: acquire({by_name[0]!r})" if by_name else ""
    return f"{enable}install or repair a backend ({commands}){name_one}"
