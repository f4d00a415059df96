"""Watching every call of a backend: a wrapper observes; without one nothing is paid.

An observer is a context manager around each call that compiles, dispatches or moves data. It gets a `CallRecord`
of what is known before the call; when the context ends, the record holds the results too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.delegate import DelegatingBackend, DelegatingPipeline, contract_methods, programs_of
from vyre_driver.backend.pipeline import CompiledPipeline
from vyre_driver.backend.results import ResidentSequenceTiming, TimedDispatchResult
from vyre_foundation.ir.program import Program


class CallKind(Enum):
    """What a call does."""

    COMPILE = "compile"
    DISPATCH = "dispatch"
    UPLOAD = "upload"
    DOWNLOAD = "download"
    GRAPH = "graph"
    """A launch of a graph; what it uploads and dispatches are calls of their own."""


@dataclass(slots=True, kw_only=True)
class CallRecord:
    """One call. `input_bytes` are those handed over, `output_bytes` those that came back to the host.

    `program` is its name, or those of several with commas; empty where the call has none. `device_ns`, `enqueue_ns` and
    `wait_ns` are known for timed dispatches only; `error` is what the call raised.
    """

    kind: CallKind
    method: str
    backend: str
    program: str = ""
    label: str = ""
    input_bytes: int = 0
    output_bytes: int = 0
    wall_ns: int = 0
    device_ns: int | None = None
    enqueue_ns: int | None = None
    wait_ns: int | None = None
    error: BaseException | None = None


Observer: TypeAlias = Callable[[CallRecord], AbstractContextManager[Any]]


class ObservedBackend(DelegatingBackend, contract=1, checked=False):
    """A backend whose calls, and those of its pipelines, are seen by `observers`; the first is the outermost."""

    def __init__(self, inner: VyreBackend, observers: Sequence[Observer]) -> None:
        super().__init__(inner)
        self.observers = tuple(observers)

    def watch_graph(self, name: str, input_bytes: int, run: Callable[[], Any]) -> Any:
        """See `GraphWatcher`."""
        call = CallRecord(
            kind=CallKind.GRAPH, method="launch", backend=self.id(), program=name, input_bytes=input_bytes
        )
        return _watch(self.observers, call, run)


class ObservedPipeline(DelegatingPipeline):
    """A pipeline of an observed backend."""

    def __init__(self, inner: CompiledPipeline, program: Program, backend: ObservedBackend) -> None:
        super().__init__(inner)
        self.program, self.backend, self.observers = program, backend.id(), backend.observers


def observed(backend: VyreBackend, *observers: Observer) -> VyreBackend:
    """`backend`, seen by `observers`; itself if there are none."""
    return ObservedBackend(backend, observers) if observers else backend


def _kind(method: str) -> CallKind | None:
    begins = {
        "dispatch": CallKind.DISPATCH,
        "compile": CallKind.COMPILE,
        "precompile": CallKind.COMPILE,
        "upload": CallKind.UPLOAD,
        "download": CallKind.DOWNLOAD,
    }
    return begins.get(method.partition("_")[0])


def _watch(observers: Sequence[Observer], call: CallRecord, run: Callable[[], Any]) -> Any:
    with ExitStack() as stack:
        for observer in observers:
            stack.enter_context(observer(call))
        started = time.perf_counter_ns()
        try:
            result = run()
        except BaseException as error:
            call.error = error
            raise
        finally:
            call.wall_ns = time.perf_counter_ns() - started
        call.output_bytes = _size(result)
        if isinstance(result, (TimedDispatchResult, ResidentSequenceTiming)):
            call.device_ns, call.enqueue_ns, call.wait_ns = result.device_ns, result.enqueue_ns, result.wait_ns
        return result


def _size(value: object) -> int:
    """The bytes of host memory in an argument or a result."""
    match value:
        case bytes() | bytearray():
            return len(value)
        case list() | tuple():
            return sum(map(_size, value))
        case dict():
            return sum(map(_size, value.values()))
        case TimedDispatchResult():
            return _size(value.outputs)
        case Program() | DispatchConfig() | str() | int() | None:
            return 0
        case _:
            size = getattr(value, "nbytes", 0)
            return size if isinstance(size, int) else 0


def _observed_method(name: str, kind: CallKind) -> Callable[..., Any]:
    def method(self: ObservedBackend, *args: Any, **named: Any) -> Any:
        given = (*args, *named.values())
        programs = programs_of(given)
        config = next((a for a in given if isinstance(a, DispatchConfig)), None)
        call = CallRecord(
            kind=kind,
            method=name,
            backend=self.id(),
            program=", ".join(dict.fromkeys(program.name for program in programs)),
            label=(config.label or "") if config is not None else "",
            input_bytes=_size(given),
        )
        result = _watch(self.observers, call, lambda: getattr(self.inner, name)(*args, **named))
        if isinstance(result, CompiledPipeline):
            (program,) = programs
            return ObservedPipeline(result, program, self)
        return result

    method.__name__, method.__doc__ = name, getattr(VyreBackend, name).__doc__
    return method


def _observed_pipeline_method(name: str) -> Callable[..., Any]:
    def method(self: ObservedPipeline, *args: Any, **named: Any) -> Any:
        given = (*args, *named.values())
        config = next((a for a in given if isinstance(a, DispatchConfig)), None)
        call = CallRecord(
            kind=CallKind.DISPATCH,
            method=name,
            backend=self.backend,
            program=self.program.name,
            label=(config.label or "") if config is not None else "",
            input_bytes=_size(given),
        )
        return _watch(self.observers, call, lambda: getattr(self.inner, name)(*args, **named))

    method.__name__, method.__doc__ = name, getattr(CompiledPipeline, name).__doc__
    return method


for _name in contract_methods(VyreBackend):
    _is = _kind(_name)
    if _is is not None:
        setattr(ObservedBackend, _name, _observed_method(_name, _is))
for _name in contract_methods(CompiledPipeline):
    if _kind(_name) is CallKind.DISPATCH:
        setattr(ObservedPipeline, _name, _observed_pipeline_method(_name))
