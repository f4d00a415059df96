"""Registering a backend for the length of a `with` block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from vyre_driver.backend.registration import BackendRegistration
from vyre_driver.registry.backends import register, unregister


@contextmanager
def registered(*registrations: BackendRegistration) -> Iterator[None]:
    """The registry with these backends in it as well."""
    done = []
    try:
        for registration in registrations:
            register(registration)
            done.append(registration.id)
        yield
    finally:
        for id in done:
            unregister(id)
