"""Memory that stays on the device, sequences over it, arrays of others, and dispatches in flight."""

import gc
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pyopencl as cl
import pytest

from vyre_driver.backend.resources import ResidentDispatchStep, ResidentReadRange
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.errors import InvalidInput
from vyre_driver_opencl import recording
from vyre_driver_opencl.order import Order, Work
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program

N = 1000


def tripling() -> Program:
    with program("tripling", workgroup_size=64) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        out[p.global_id(0)] = a[p.global_id(0)] * 3
    return p.build()


def evens() -> Program:
    """Writes every other element: the others must be zeros."""
    with program("evens", workgroup_size=64) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        i = p.global_id(0)
        with p.if_(i % 2 == 0):
            out[i] = a[i] + 1
    return p.build()


A = np.arange(N, dtype=np.uint32)


@pytest.fixture
def ring(backend: EngineBackend) -> Any:
    """Two resources of A and of rubbish, freed in the end."""
    first, second = backend.allocate_resident(4 * N), backend.allocate_resident(4 * N)
    assert bytes(backend.download_resident(first)) == bytes(4 * N)
    backend.upload_resident_many([(first, A), (second, np.full(N, 99, np.uint32))])
    yield first, second
    backend.free_resident(first)
    backend.free_resident(second)


def contents(backend: EngineBackend, resource: Any) -> list[int]:
    return list(np.frombuffer(backend.download_resident(resource), np.uint32).tolist())


def test_outputs_begin_as_zeros_in_the_order_of_the_queue(backend: EngineBackend, ring: Any) -> None:
    """The fill comes after the launch that reads what it overwrites."""
    first, second = ring
    source = evens()
    there = ResidentDispatchStep(program=tripling(), resources=(first, second))
    back = ResidentDispatchStep(program=source, resources=(second, first))
    forth = ResidentDispatchStep(program=source, resources=(first, second))
    for _ in range(2):  # one by one, and recorded
        backend.upload_resident(first, A)
        backend.dispatch_resident_sequence_read_ranges_into([there, back, forth], [], [])
        assert contents(backend, second) == [3 * n + 2 if n % 2 == 0 else 0 for n in range(N)]


def test_a_sequence_waits_once(backend: EngineBackend, ring: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The port's waits are counted, also those that it makes for itself."""
    waits: dict[Work, None] = {}
    ended = Order.ended

    def counted(order: Order, work: Work, timeout: float | None = None) -> bool:
        waits[work] = None
        return ended(order, work, timeout)

    first, second = ring
    source = tripling()
    steps = [
        ResidentDispatchStep(program=source, resources=(first, second)),
        ResidentDispatchStep(program=source, resources=(second, first)),
    ] * 50
    target = np.zeros(N, np.uint32)
    whole = [ResidentReadRange(resource=first, byte_offset=0, byte_len=4 * N)]
    monkeypatch.setattr(Order, "ended", counted)
    for turn in (1, 2, 3):
        backend.upload_resident(first, A)
        waits.clear()
        backend.dispatch_resident_sequence_read_ranges_into(steps, whole, [target])
        assert len(waits) == 1, turn
        assert (target == A * np.uint32(pow(3, 100, 2**32))).all()
    timing = backend.dispatch_resident_sequence_read_ranges_timed_into(steps[:2], [], [])
    assert timing.device_ns is not None
    assert 0 < timing.device_ns < timing.wall_ns


def test_a_recording_of_many_bindings_shares_kernel_objects(
    backend: EngineBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two programs by turns over other memory at each step, of other sizes: replays set what is not alike."""
    made: list[str] = []

    loaded = recording.LoadedKernel

    def counted(kernel: cl.Kernel, **settings: bool) -> Any:
        made.append(kernel.function_name)
        return loaded(kernel, **settings)

    monkeypatch.setattr(recording, "LoadedKernel", counted)
    monkeypatch.setattr(recording, "OWN_KERNELS", 5)
    count = 100
    resources = [backend.allocate_resident(4 * (10 + n)) for n in range(count)]
    sources = tripling(), evens()
    steps = [
        ResidentDispatchStep(
            program=sources[n % 2], resources=(resources[n], resources[n + 1]), grid_override=(1, 1, 1)
        )
        for n in range(count - 1)
    ]
    expected = A[:10]
    for n in range(count - 1):
        expected = expected + np.uint32(1) if n % 2 else expected * np.uint32(3)
        if n % 2:
            expected = np.where(np.arange(expected.size) % 2 == 0, expected, np.uint32(0)).astype(np.uint32)
    for _ in range(3):  # one by one, and recorded
        backend.upload_resident(resources[0], A[:10])
        backend.dispatch_resident_sequence_read_ranges_into(steps, [], [])
        assert contents(backend, resources[-1])[:10] == expected.tolist()
    assert len(made) == 5 + 2
    del steps
    for resource in resources:
        backend.free_resident(resource)


class DlpackExporter:
    """Exports host memory by DLPack alone."""

    def __init__(self, array: Any) -> None:
        self.array, self.nbytes = array, array.nbytes

    def __dlpack__(self, **how: Any) -> Any:
        return self.array.__dlpack__(**how)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


class InterfaceExporter:
    """Exports host memory by the array interface alone."""

    def __init__(self, array: Any) -> None:
        self.array, self.nbytes, self.__array_interface__ = array, array.nbytes, array.__array_interface__


EXPORTS = {"numpy": lambda array: array, "dlpack": DlpackExporter, "interface": InterfaceExporter}


@pytest.mark.parametrize("export", EXPORTS.values(), ids=EXPORTS)
def test_arrays_of_others_are_used_where_they_are(backend: EngineBackend, export: Any) -> None:
    """A large array, which begins on an address that the device can use."""
    given, made = np.arange(2**16, dtype=np.uint32), np.zeros(2**16, np.uint32)
    try:
        a, out = backend.wrap_device_buffer(export(given)), backend.wrap_device_buffer(export(made))
    except InvalidInput:
        if backend.device_profile().compiler.startswith("PoCL"):
            raise
        pytest.skip("the device has memory of its own")
    source = tripling()
    for _ in range(2):
        backend.dispatch_with_device_buffers(source, [a], [out])
        assert (made == 3 * given).all()
        given += 1
    assert np.frombuffer(backend.download_device_buffer(a), np.uint32).tolist() == given.tolist()
    for buffer in (a, out):
        backend.free_device_buffer(buffer)


def test_arrays_that_cannot_be_wrapped(backend: EngineBackend) -> None:
    frozen = A.copy()
    frozen.flags.writeable = False
    for foreign in (A[::2], frozen, [1, 2], np.zeros(0, np.uint32), np.zeros(65, np.uint8)[1:]):
        with pytest.raises(InvalidInput):
            backend.wrap_device_buffer(foreign)


def test_many_are_in_flight(backend: EngineBackend) -> None:
    source = tripling()
    pending = [backend.dispatch_async(source, [A + n]) for n in range(20)]
    kept = [backend.dispatch_borrowed_async(source, [(scratch := A.copy())])]
    scratch[:] = 0
    del pending[5:8]
    gc.collect()
    for n, one in [*enumerate(pending)][::-1]:
        (out,) = one.await_result()
        first = n if n < 5 else n + 3
        assert (np.frombuffer(out, np.uint32) == 3 * (A + first)).all()
    (out,) = kept[0].await_result()
    assert (np.frombuffer(out, np.uint32) == 3 * A).all()


def test_what_is_in_flight_begins_before_somebody_waits(
    backend: EngineBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend.dispatch(tripling(), [A])
    flush = cl.CommandQueue.flush
    flushes: list[cl.CommandQueue] = []

    def counted(queue: cl.CommandQueue) -> None:
        flushes.append(queue)
        flush(queue)

    monkeypatch.setattr(cl.CommandQueue, "flush", counted)
    pending = [backend.dispatch_async(tripling(), [A]) for _ in range(3)]
    assert len(flushes) == 3
    for one in pending:
        one.await_result()
    backend.dispatch(tripling(), [A])
    assert len(flushes) == 3


def test_outputs_in_memory_of_the_caller(backend: EngineBackend) -> None:
    """Large ones, which are worth it."""
    source = tripling()
    given = np.arange(2**16, dtype=np.uint32)
    pipeline = backend.compile_native(source)
    slots: list[Any] = [[np.zeros(2**16, np.uint32)] for _ in range(3)]
    rooms = [slot[0] for slot in slots]
    for _ in range(2):
        pipeline.dispatch_batched_into([[given + n] for n in range(3)], None, slots)
        for n, (slot, room) in enumerate(zip(slots, rooms, strict=True)):
            assert slot[0] is room
            assert (room == 3 * (given + n)).all()
            room[:] = 0
    pipeline.dispatch_into([given], None, [given])
    assert (given == 3 * np.arange(2**16, dtype=np.uint32)).all()
    pipeline.close()


FORK = """
import os, sys
import numpy as np
from vyre_driver.errors import StaleHandle
from vyre_driver_opencl.backend import OpenClBackend
from vyre_foundation.build import program
from vyre_foundation.dtype import u32

with program("k", 64) as p:
    a = p.read_write("a", u32)
    a[p.global_id(0)] = a[p.global_id(0)] + 1
source, given = p.build(), [np.zeros(4, np.uint32)]
backend = OpenClBackend(sys.argv[1])
pipeline = backend.compile_native(source)
pipeline.dispatch(given)
child = os.fork()
if child == 0:
    refused = 0
    for use in (lambda: pipeline.dispatch(given), lambda: OpenClBackend(sys.argv[1]).dispatch(source, given)):
        try:
            use()
        except StaleHandle:
            refused += 1
    pipeline.close()
    backend.shutdown()
    sys.exit(0 if refused == 2 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert np.frombuffer(pipeline.dispatch(given)[0], np.uint32).tolist() == [1] * 4
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform does not fork")
def test_a_forked_process_is_told(backend_id: str, proven: dict[str, str]) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FORK, backend_id],
        env=os.environ | proven,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
