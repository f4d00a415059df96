"""Exceptions of a backend's own code: whose they are, and what to do about them."""

from __future__ import annotations

from types import FrameType

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.pipeline import CompiledPipeline
from vyre_driver.backend.registration import BackendRegistration
from vyre_driver.errors import BackendError
from vyre_driver.registry.backends import origin_of, registered_backends, report_to_authors


def of_a_backend(error: BaseException) -> BackendError | None:
    """What a command says of an exception that has passed through a backend; None for others."""
    id = raised_by(error)
    if id is None:
        return None
    origin = origin_of(id)
    whose = "" if origin is None else f" of {origin.distribution}"
    words = " ".join(str(error).split())
    fix = f"{report_to_authors(id)}; VYRE_DEBUG=1 shows where it was raised"
    if isinstance(error, MemoryError):
        fix = f"give less input, or use a larger machine; otherwise {fix}"
    return BackendError(f"backend {id!r}{whose} raised {type(error).__name__}{f': {words}' if words else ''}", fix=fix)


def raised_by(error: BaseException) -> str | None:
    """The id of the backend that an exception has passed through: its code raised it, or what that code calls."""
    trace = error.__traceback__
    while trace is not None:
        if (id := _backend_of(trace.tb_frame)) is not None:
            return id
        trace = trace.tb_next
    return None


def _backend_of(frame: FrameType) -> str | None:
    """The id of the backend that a function is a method of, or that the registry opens or has emit code there."""
    found = frame.f_locals.get("self")
    if isinstance(found, (VyreBackend, CompiledPipeline)):
        return _id(found)
    if str(frame.f_globals.get("__name__")).startswith("vyre_driver.registry."):
        opened, emitter = frame.f_locals.get("registration"), frame.f_locals.get("emitter")
        if isinstance(opened, BackendRegistration):
            return opened.id
        return next((known.id for known in registered_backends() if emitter in known.aot), None)
    return None


def _id(found: VyreBackend | CompiledPipeline) -> str:
    """The id of the backend, also of its pipelines; the name of the class where asking for it fails."""
    try:
        return str(found.id()).partition(":")[0]
    except (Exception, SystemExit):  # whatever foreign code raises
        return type(found).__name__
