"""Which backend a name means, and who may name one by hand.

``module:attribute`` imports that module, hence executes it. A caller may ask for that, on the command line or in code.
A name that stands in a file (a journal, a certificate) is an id among the installed backends, and is never imported.
"""

from __future__ import annotations

import importlib
from enum import Enum

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.registration import BackendRegistration
from vyre_driver.errors import BackendUnavailable, DuplicateBackend
from vyre_driver.registry.backends import acquire, origin_of, register, registered_backends, split_device


class NamedBy(Enum):
    """Where the name of a backend comes from."""

    CALLER = "caller"
    """The command line, or Python code: ``module:attribute`` is imported."""
    FILE = "file"
    """Something that was read: only ids of installed backends."""


def open_backend(name: str, named_by: NamedBy = NamedBy.FILE) -> VyreBackend:
    """The installed backend of that id or, if a caller names it, of the registration that ``module:attribute`` is.

    That of an installed backend is this backend. Raises `UnknownBackend`, `BackendUnavailable`, or `DuplicateBackend`
    for another registration of an id that is taken.
    """
    if ":" not in split_device(name)[0] or named_by is NamedBy.FILE:
        return acquire(name)
    module, _, attribute = name.partition(":")
    try:
        registration = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        fix = "name a module that can be imported: the working directory is not searched, PYTHONPATH is"
        raise BackendUnavailable(name, str(error), fix=fix) from error
    if not isinstance(registration, BackendRegistration):
        reason = f"{attribute} is not a registration"
        raise BackendUnavailable(name, reason, fix="name a BackendRegistration as module:ATTRIBUTE")
    taken = {known.id: known for known in registered_backends()}.get(registration.id)
    if taken is None:
        register(registration)
    elif taken is not registration:
        raise _duplicate(registration.id, name)
    return acquire(registration.id)


def registering_module(name: str) -> str:
    """The module that has the registration of a backend that is open; "" for one that was registered by other means."""
    id = split_device(name)[0]
    if ":" not in id:
        origin = origin_of(id)
        id = origin.value if origin else ""
    return id.partition(":")[0]


def _duplicate(id: str, name: str) -> DuplicateBackend:
    origin = origin_of(id)
    if origin is None:
        return DuplicateBackend(id, "an earlier registration", f"the module {name}", fix="give one of them another id")
    fix = (
        f"name the installed one, --backend {id}; give the registration of the module another id; "
        f"or pip uninstall {origin.distribution}"
    )
    return DuplicateBackend(id, str(origin), f"the module {name}", fix=fix)
