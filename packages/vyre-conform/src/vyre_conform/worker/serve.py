"""The worker: ``python -m vyre_conform.worker BACKEND`` speaks the protocol on its standard streams."""

from __future__ import annotations

import faulthandler
import importlib
import os
import sys
from collections.abc import Sequence
from typing import BinaryIO

from vyre_conform.case import Launch
from vyre_conform.outcome import Outcome, Raised, Returned, raised
from vyre_conform.worker.entries import ENTRIES
from vyre_conform.worker.protocol import (
    Closed,
    Hello,
    hello_message,
    launch_of,
    outcome_message,
    programs_of,
    receive,
    send,
)
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.registration import BackendRegistration
from vyre_driver.errors import BackendUnavailable
from vyre_driver.registry.backends import acquire, register
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.program import Program


def main(backend_id: str) -> int:
    """Serve until the parent closes its end."""
    import vyre_foundation.testing.dialect  # noqa: F401 - random programs call its ops

    faulthandler.enable()
    commands, answers = _private_streams()
    try:
        backend = open_backend(backend_id)
        send(answers, hello_message(_hello(backend_id, backend)))
    except VyreError as error:
        send(answers, hello_message(Hello(backend_id, problem=error.message, fix=error.fix)))
        return 1
    try:
        while True:
            message, blobs = receive(commands)
            if "prepare" in message:
                send(answers, *outcome_message(prepare(backend, programs_of(blobs))))
            else:
                send(answers, *outcome_message(run(backend, *launch_of(message, blobs))))
    except (Closed, BrokenPipeError):
        backend.shutdown()
        return 0


def run(backend: VyreBackend, launch: Launch, repeats: int) -> Outcome:
    """Dispatch a launch; what is not a `VyreError` is an outcome, too: the case fails, the worker lives."""
    try:
        first = _dispatch(backend, launch)
        for _ in range(repeats - 1):
            other = _dispatch(backend, launch)
            if other.outputs != first.outputs:
                return Returned(first.outputs, other.outputs, first.changed_inputs)
        return first
    except Exception as error:
        return raised(error)


def prepare(backend: VyreBackend, programs: Sequence[Program]) -> Outcome:
    """Compile programs together. One that is refused stands apart, its launch says why; any other error is told."""
    try:
        backend.precompile(programs)
    except VyreError:
        half = len(programs) // 2
        if half:
            return next((o for o in (prepare(backend, programs[:half]), prepare(backend, programs[half:]))
                         if isinstance(o, Raised)), Returned(()))  # fmt: skip
    except Exception as error:
        return raised(error)
    return Returned(())


def _dispatch(backend: VyreBackend, launch: Launch) -> Returned:
    """One dispatch over memory that the backend could write to, if it had that fault."""
    arguments = [bytearray(data) for data in launch.arguments]
    outputs = ENTRIES[launch.entry](backend, launch, arguments)
    names = [buffer.name for buffer in launch.program.inputs]
    changed = [n for n, now, was in zip(names, arguments, launch.arguments, strict=True) if now != was]
    return Returned(tuple(bytes(view) for view in outputs), changed_inputs=tuple(changed))


def open_backend(backend_id: str) -> VyreBackend:
    """The backend of that id, or of the registration that ``module:attribute`` names."""
    if ":" not in backend_id:
        return acquire(backend_id)
    module, _, attribute = backend_id.partition(":")
    try:
        registration = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise BackendUnavailable(backend_id, str(error), fix="name a module that can be imported") from error
    if not isinstance(registration, BackendRegistration):
        reason = f"{attribute} is not a registration"
        raise BackendUnavailable(backend_id, reason, fix="name a BackendRegistration as module:ATTRIBUTE")
    register(registration)
    return acquire(registration.id)


def _hello(backend_id: str, backend: VyreBackend) -> Hello:
    profile = backend.device_profile()
    facts = {name: str(getattr(profile, name)) for name in ("device", "vendor", "driver_version", "compiler")}
    return Hello(backend_id, backend.version(), facts)


def _private_streams() -> tuple[BinaryIO, BinaryIO]:
    """The standard streams for the protocol alone: whatever else is printed goes to standard error."""
    commands, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return commands, answers
