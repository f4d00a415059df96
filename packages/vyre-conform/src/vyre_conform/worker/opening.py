"""Which backend a name means, and who may name one by hand.

``module:attribute`` imports that module, hence executes it. A caller may ask for that, on the command line or in code.
A name that stands in a file (a journal, a certificate) is an id among the installed backends, and is never imported.
"""

from __future__ import annotations

import importlib
from enum import Enum

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.registration import BackendRegistration
from vyre_driver.errors import BackendUnavailable
from vyre_driver.registry.backends import acquire, register


class NamedBy(Enum):
    """Where the name of a backend comes from."""

    CALLER = "caller"
    """The command line, or Python code: ``module:attribute`` is imported."""
    FILE = "file"
    """Something that was read: only ids of installed backends."""


def open_backend(name: str, named_by: NamedBy = NamedBy.FILE) -> VyreBackend:
    """The installed backend of that id or, if a caller names it, of the registration that ``module:attribute`` is.

    Raises `UnknownBackend` or `BackendUnavailable`.
    """
    if ":" not in name or named_by is NamedBy.FILE:
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
    register(registration)
    return acquire(registration.id)
