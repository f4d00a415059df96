"""The worker: ``python -m vyre_conform.worker NAMED_BY BACKEND`` speaks the protocol on its standard streams."""

from __future__ import annotations

import faulthandler
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import vyre_foundation.testing.dialect  # noqa: F401 - registers the ops that random programs call
from vyre_conform.case import Launch
from vyre_conform.host import own_packages, package_digest
from vyre_conform.outcome import Outcome, Raised, Returned, raised
from vyre_conform.worker.canary import CanaryDied
from vyre_conform.worker.claiming import BrokenClaim
from vyre_conform.worker.entries import entry_of
from vyre_conform.worker.inbox import Inbox, private_streams
from vyre_conform.worker.opening import NamedBy, open_backend, registering_module
from vyre_conform.worker.protocol import LEAVE, Hello, hello_message, launch_of, outcome_message, programs_of, send
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.engine.backend import EngineBackend
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.program import Program


def main(named_by: str, backend_id: str) -> int:
    """Serve until the parent asks to leave, closes its end, or has gone."""
    faulthandler.enable()
    commands, answers = private_streams()
    inbox = Inbox(commands)
    try:
        backend = open_backend(backend_id, NamedBy(named_by))
        send(answers, hello_message(_hello(backend_id, backend)))
    except VyreError as error:
        send(answers, hello_message(Hello(backend_id, problem=error.message, fix=error.fix)))
        return 1
    while (taken := inbox.take()) is not None:
        message, blobs = taken
        if message == LEAVE:
            break
        with _limited(message["seconds"]):
            if "prepare" in message:
                outcome = prepare(backend, programs_of(blobs))
            else:
                outcome = run(backend, *launch_of(message, blobs))
        try:
            send(answers, *outcome_message(outcome))
        except BrokenPipeError:
            break
    backend.shutdown()
    return 0


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    """After `seconds` the process prints where each of its threads is, and ends: whatever holds the interpreter."""
    faulthandler.dump_traceback_later(seconds, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def run(backend: VyreBackend, launch: Launch, repeats: int) -> Outcome:
    """Dispatch a launch; what is not a `VyreError` is an outcome, too: the case fails, the worker lives.

    What the suite itself says of the backend has the traceback of its cause alone, if it has one: no frame of the suite
    says more.
    """
    try:
        first = _dispatch(backend, launch)
        for _ in range(repeats - 1):
            other = _dispatch(backend, launch)
            if other.outputs != first.outputs:
                return Returned(first.outputs, other.outputs, first.changed_inputs)
        return first
    except (BrokenClaim, CanaryDied) as error:
        return replace(raised(error), traceback=raised(error.__cause__).traceback if error.__cause__ else "")
    except (Exception, SystemExit) as error:
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
    except (Exception, SystemExit) as error:
        return raised(error)
    return Returned(())


def _dispatch(backend: VyreBackend, launch: Launch) -> Returned:
    """One dispatch over memory that the backend could write to, if it had that fault."""
    arguments = [bytearray(data) for data in launch.arguments]
    outputs = entry_of(launch.entry)(backend, launch, arguments)
    names = [buffer.name for buffer in launch.program.inputs]
    changed = [n for n, now, was in zip(names, arguments, launch.arguments, strict=True) if now != was]
    return Returned(tuple(bytes(view) for view in outputs), changed_inputs=tuple(changed))


def _hello(backend_id: str, backend: VyreBackend) -> Hello:
    profile = backend.device_profile()
    facts = {name: str(getattr(profile, name)) for name in ("device", "vendor", "driver_version", "compiler")}
    packages = own_packages([registering_module(backend_id), *_modules(backend)])
    code = package_digest(packages) if packages else ""
    return Hello(backend_id, backend.version(), facts, packages=" ".join(packages), code=code)


def _modules(backend: VyreBackend) -> Iterator[str]:
    """The modules, or packages, in which a backend and its port have their code."""
    yield type(backend).__module__
    if isinstance(backend, EngineBackend):
        with backend.session() as device:
            module, package = type(device.port).__module__, device.port.package
        yield module if module.partition(".")[0] == package else package
