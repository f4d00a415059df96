"""Calls of the OpenCL runtime that fail, one at a time, wherever the driver makes one.

A workload runs once to count its calls, and then again and again, each time with another call that fails. Its results
are right, or it raises a typed error; the next dispatch is right, in a device that was opened again if it was lost; and
nothing stays allocated.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from long_kernels import EXPECTED, GIVEN, filling, scaling, words

from vyre_driver import (
    BackendError,
    DeviceLost,
    DispatchConfig,
    ResidentDispatchStep,
    ResidentReadRange,
    acquire,
    compile,
)
from vyre_driver_opencl import aside

pytestmark = pytest.mark.backend("opencl")
STATUSES = {"out of resources": -5, "out of memory": -4, "lost": -36}
SITES = [
    *((cl, name) for name in ("Buffer", "SVM", "CommandQueue", "Context", "Program", "Kernel")),
    *((cl, name) for name in ("enqueue_nd_range_kernel", "enqueue_fill", "enqueue_copy", "enqueue_marker")),
    *((cl.Event, name) for name in ("get_info", "get_profiling_info", "wait")),
    *((cl.Kernel, name) for name in ("set_arg",)),
    *((cl.CommandQueue, name) for name in ("flush", "finish")),
    *((cl.Program, name) for name in ("get_info", "get_build_info")),
    *((aside, name) for name in ("build", "enqueue")),
]


class Faults:
    """Counts the calls at all sites. The call `failing`, counted from 0, raises, or gives a status."""

    def __init__(self, status: int, failing: int | None = None) -> None:
        self.status, self.failing = status, failing
        self.calls = 0
        self.failed = ""

    def called(self, owner: Any, name: str, right: Callable[..., Any], *operands: Any, **options: Any) -> Any:
        number, self.calls = self.calls, self.calls + 1
        if number != self.failing:
            return right(*operands, **options)
        self.failed = f"{getattr(owner, '__name__', owner)}.{name}"
        if owner is aside:
            return self.status
        raise cl.RuntimeError(SimpleNamespace(code=lambda: self.status, routine=lambda: name, what=lambda: "injected"))

    @contextmanager
    def planted(self) -> Iterator[None]:
        before = [(owner, name, getattr(owner, name)) for owner, name in SITES]
        try:
            for owner, name, right in before:
                setattr(owner, name, _replacement(right, partial(self.called, owner, name, right), owner))
            yield
        finally:
            for owner, name, right in before:
                setattr(owner, name, right)


def _replacement(right: Any, called: Callable[..., Any], owner: Any) -> Any:
    """A class stays one that `isinstance` takes; a method is bound."""
    if isinstance(right, type):

        class Meta(type):
            def __call__(cls, *operands: Any, **options: Any) -> Any:
                return called(*operands, **options)

            def __instancecheck__(cls, instance: object) -> bool:
                return isinstance(instance, right)

            def __getattr__(cls, name: str) -> Any:
                return getattr(right, name)

        return Meta(right.__name__, (), {})
    if isinstance(owner, type):
        return lambda self, *operands, **options: called(self, *operands, **options)
    return called


# ── workloads ──


def dispatched(backend: Any) -> bool:
    return all(bytes(backend.dispatch(scaling(), [GIVEN[:n]])[0]) == EXPECTED[: 4 * n] for n in (1, 1000, 1000, 1000))


def long_ones(backend: Any) -> bool:
    program, given = filling(), [words(3), np.ones(1 << 14, np.uint32)]
    first = [bytes(backend.dispatch(program, given, DispatchConfig(timeout=60.0))[0]) for _ in range(2)]
    return first[0] == first[1] == bytes(backend.dispatch_async(program, given).await_result()[0])


def resident(backend: Any) -> bool:
    x, y = backend.allocate_resident(4000), backend.allocate_resident(4000)
    backend.upload_resident(x, GIVEN)
    steps = [ResidentDispatchStep(program=scaling(), resources=(x, y))]
    into = np.zeros(1000, np.uint32)
    whole = [ResidentReadRange(resource=y, byte_offset=0, byte_len=4000)]
    for _ in range(2):
        backend.dispatch_resident_repeated_sequence_read_ranges_into([], steps, 3, whole, [into])
    return into.tobytes() == EXPECTED == bytes(backend.download_resident(y))


def pipelined(backend: Any) -> bool:
    with compile(backend, scaling()) as pipeline:
        slots: list[Any] = [np.zeros(1000, np.uint32)]
        pipeline.dispatch_into([GIVEN], None, slots)
        batch = pipeline.dispatch_batched([[GIVEN]] * 3)
        timed = pipeline.dispatch_timed([GIVEN]).outputs
        return all(bytes(out) == EXPECTED for out in (slots[0], timed[0], *(outputs[0] for outputs in batch)))


@pytest.mark.parametrize("workload", [dispatched, long_ones, resident, pipelined], ids=lambda work: work.__name__)
@pytest.mark.parametrize("failure", STATUSES)
def test_one_call_fails(attacks, failure: str, workload: Callable[[Any], bool]) -> None:
    counted = Faults(STATUSES[failure])
    backend = acquire("opencl")
    assert workload(backend)
    backend.shutdown()
    backend = acquire("opencl")
    with counted.planted():
        assert workload(backend)
    backend.shutdown()
    assert counted.calls > 5
    rng = Random(f"{attacks.seed} {failure} {workload.__name__}")
    for _ in range(attacks.count(5)):
        faults = Faults(STATUSES[failure], rng.randrange(counted.calls))
        backend = acquire("opencl")
        with faults.planted(), suppress(BackendError):
            assert workload(backend), faults.failed
        if backend.device_lost():
            with pytest.raises(DeviceLost):
                backend.dispatch(scaling(), [GIVEN])
            backend.try_recover()
        assert workload(backend), f"after {faults.failed}"
        gc.collect()
        backend.flush()
        backend.shutdown()
        counts = backend.backend_metric_snapshot()
        assert counts["bytes_allocated"] == counts["bytes_freed"], faults.failed
