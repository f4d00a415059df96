"""The port of GPUs over a stand-in for CuPy, which is the emulation with CuPy's names: order, lifetimes, refusals.

What is shown here is how the port uses CuPy, not what a GPU makes of it.
"""

from __future__ import annotations

import _thread
import os
import subprocess
import threading
from collections.abc import Iterator
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from cuda_emulation.fake_cupy import FakeCupy
from cuda_emulation.rehearsal import RehearsedPort, opened, rehearsed

from vyre_driver import process
from vyre_driver.arrays import make
from vyre_driver.backend.config import DispatchConfig
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.engine.lowering import lowered_for
from vyre_driver.errors import (
    DeviceLost,
    DeviceOutOfMemory,
    DispatchFailed,
    DispatchTimeout,
    KernelCompileFailed,
    UnsupportedFeature,
)
from vyre_driver.observe.live import traced
from vyre_driver.observe.trace import Trace
from vyre_driver.testing.traces import require_trace_events
from vyre_driver_cuda import memory as memory_module, port as port_module
from vyre_driver_cuda.emit import CudaSource
from vyre_driver_cuda.port import CudaPort
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program


@pytest.fixture
def fake() -> FakeCupy:
    return FakeCupy()


@pytest.fixture
def port(fake: FakeCupy) -> Iterator[RehearsedPort]:
    port = RehearsedPort(opened(fake))
    yield port
    port.close()


def adding(count: int = 4) -> Program:
    """Adds its length to each element."""
    with program("adding", workgroup_size=count) as p:
        out = p.read_write("out", u32)
        i = p.local_id(0)
        out[i] = out[i] + out.length
    return p.build()


def compiled(port: RehearsedPort, source: Program):
    unit = port.emit(lowered_for(port.target(), source.validate()))
    return port.compile(unit), unit.kernels[0]


def read(port: RehearsedPort, memory, count: int) -> list[int]:
    out = np.zeros(count, np.uint32)
    port.copy_out(memory, out.view(np.uint8).data)
    return out.tolist()


ONE, FOUR = (1, 1, 1), (4, 1, 1)

# ── memory ──


SIZES = (
    *(1, 3, 4096, memory_module.SMALL, memory_module.SMALL + 1, memory_module.SHARED - 1, memory_module.SHARED),
    *(7 * memory_module.LARGE + 5, 3 * memory_module.THREADS * memory_module.LARGE + 1),
)


@pytest.mark.parametrize("threads", [1, 2, memory_module.THREADS])
@pytest.mark.parametrize("size", SIZES)
def test_bytes_go_in_and_come_out(size: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_module, "usable_cpus", lambda: threads)
    port = RehearsedPort(opened(FakeCupy()))
    memory = port.allocate(size)
    data = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    given = data.copy()
    port.copy_in(memory, given.data)
    given[:] = 0  # the bytes are free at return
    port.copy_in(memory, memoryview(b"\x09"), size - 1)
    got = np.zeros(size, np.uint8)
    port.copy_out(memory, got.data)
    data[-1] = 9
    assert (got == data).all()
    port.close()


@pytest.mark.parametrize("way", ["in", "out"])
def test_a_shared_copy_that_fails_leaves_the_memory_of_the_caller(
    fake: FakeCupy, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No thread reads it or writes to it any more when the call has ended, and the next copy is complete."""
    monkeypatch.setattr(memory_module, "usable_cpus", lambda: memory_module.THREADS)
    port = RehearsedPort(opened(fake))
    size = 3 * memory_module.THREADS * memory_module.LARGE
    memory, data = port.allocate(size), np.random.default_rng(1).integers(0, 256, size, np.uint8)
    others = set(threading.enumerate())
    port.copy_in(memory, data.data)
    got, copy = np.zeros(size, np.uint8), port.copy_in if way == "in" else port.copy_out
    threads = set(threading.enumerate()) - others
    assert threads
    fake.refuse("memcpyAsync", 1, nth=memory_module.LARGES + 3)
    with pytest.raises(DispatchFailed):
        copy(memory, data.data if way == "in" else got.data)
    assert not any(thread.is_alive() for thread in threads)
    got[:] = 0
    port.copy_out(memory, got.data)
    assert (got == data).all()
    port.close()


def test_an_interpreter_that_ends_copies_on_its_own_thread() -> None:
    script = (
        "import atexit, numpy as np; from cuda_emulation.rehearsal import open_port\n"
        "import vyre_driver_cuda.memory as memory_module; memory_module.usable_cpus = lambda: 2\n"
        f"port, data = open_port(), np.arange({memory_module.SHARED // 4}, dtype=np.uint32)\n"
        "memory, got = port.allocate(data.nbytes), np.zeros_like(data)\n"
        "port.copy_in(memory, data.view(np.uint8).data)\n"
        "def leave():\n"
        "    port.copy_out(memory, got.view(np.uint8).data); print((got == data).all())\n"
        "atexit.register(leave)\n"
    )
    environment = process.environment(PYTHONPATH=os.pathsep.join(process.search_path()))
    done = subprocess.run(process.python("-c", script), env=environment, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_many_copies_are_under_way_at_once(port: RehearsedPort, fake: FakeCupy) -> None:
    """Nothing waits before there are more copies than slots, and no copy overwrites the bytes of one before."""
    memory = port.allocate(4 * 100)
    for i in range(memory_module.SMALLS):
        port.copy_in(memory, np.array([i], np.uint32).view(np.uint8).data, 4 * i)
    assert fake.under_way == 2 * memory_module.SMALLS
    for i in range(memory_module.SMALLS, 100):
        port.copy_in(memory, np.array([i], np.uint32).view(np.uint8).data, 4 * i)
    assert read(port, memory, 100) == list(range(100))


def test_a_slot_whose_copy_was_not_marked_is_waited_for(port: RehearsedPort, fake: FakeCupy) -> None:
    """An interrupt, or a failure, came between the copy and its event: nobody may use the slot before the copy."""
    first, second = port.allocate(4), port.allocate(4)
    fake.refuse("eventRecord", 1)
    with pytest.raises(DispatchFailed):
        port.copy_in(first, np.array([7], np.uint32).view(np.uint8).data)
    for i in range(memory_module.SMALLS):
        port.copy_in(second, np.array([i], np.uint32).view(np.uint8).data)
    assert read(port, first, 1) == [7]
    assert read(port, second, 1) == [memory_module.SMALLS - 1]


def test_arguments_that_were_not_bound_to_the_end_are_bound_again(port: RehearsedPort) -> None:
    module, kernel = compiled(port, adding())
    first, second = (port.allocate(16), 4), (port.allocate(16), 4, None)
    port.fill(first[0], 0, 16)
    port.launch(module, kernel, ONE, FOUR, first)
    with pytest.raises(AttributeError):
        port.launch(module, kernel, ONE, FOUR, second)
    port.launch(module, kernel, ONE, FOUR, first)
    assert read(port, first[0], 4) == [8] * 4


def test_a_full_gpu_says_how_much_there_is(fake: FakeCupy) -> None:
    fake.room = 1000
    port = RehearsedPort(opened(fake))
    with pytest.raises(DeviceOutOfMemory, match="1001 bytes are needed, 1000 are available"):
        port.allocate(1001)


def test_freed_memory_goes_back_to_the_pool(port: RehearsedPort) -> None:
    memory = port.allocate(8)
    port.free(memory)
    assert memory.holder is None


# ── launches ──


def test_arguments_are_bound_when_they_change(port: RehearsedPort, fake: FakeCupy) -> None:
    module, kernel = compiled(port, adding())
    first, second = port.allocate(16), port.allocate(16)
    for memory in (first, second):
        port.fill(memory, 0, 16)
    for args in ((first, 4), (first, 4), (second, 100), (first, 7)):
        port.launch(module, kernel, ONE, FOUR, args)
    again = (second, 50)
    port.launch(module, kernel, ONE, FOUR, again)
    port.launch(module, kernel, ONE, FOUR, again)
    assert read(port, first, 4) == [15] * 4
    assert read(port, second, 4) == [200] * 4
    assert fake.log.count("launchKernel") == 6


def test_a_launch_makes_no_event_before_somebody_asks(port: RehearsedPort, fake: FakeCupy) -> None:
    module, kernel = compiled(port, adding())
    memory = port.allocate(16)
    port.fill(memory, 0, 16)
    before = len(fake.log)
    mark = port.launch(module, kernel, ONE, FOUR, (memory, 4))
    assert fake.log[before:] == ["launchKernel"]
    assert port.wait(mark)
    assert fake.log[before:] == ["launchKernel", "Event", "eventRecord", "eventQuery"]
    assert port.wait(mark)
    assert port.query(mark)
    assert len(fake.log) == before + 4


def test_reading_settles_what_was_launched_before(port: RehearsedPort, fake: FakeCupy) -> None:
    module, kernel = compiled(port, adding())
    memory = port.allocate(16)
    mark = port.launch(module, kernel, ONE, FOUR, (memory, 4))
    read(port, memory, 4)
    before = len(fake.log)
    assert port.wait(mark)
    assert len(fake.log) == before


def test_timed_launches_are_timed(port: RehearsedPort) -> None:
    module, kernel = compiled(port, adding())
    memory = port.allocate(16)
    timed = port.launch(module, kernel, ONE, FOUR, (memory, 4), timed=True)
    plain = port.launch(module, kernel, ONE, FOUR, (memory, 4))
    assert port.wait(plain)
    assert port.wait(timed)
    nanoseconds = port.elapsed(timed)
    assert nanoseconds is not None
    assert nanoseconds > 0
    assert port.elapsed(plain) is None


def test_code_goes_from_one_process_to_the_next(port: RehearsedPort) -> None:
    module, kernel = compiled(port, adding())
    binary = port.binary(module)
    assert binary is not None
    memory = port.allocate(16)
    port.fill(memory, 0, 16)
    port.launch(port.load(binary), kernel, ONE, FOUR, (memory, 5))
    assert read(port, memory, 4) == [5] * 4
    with pytest.raises(KernelCompileFailed, match="no head"):
        port.load(b"nonsense")


# ── cooperative launches ──


def meeting() -> Program:
    """Workgroups of 4 that leave something for each other."""
    with program("meeting", workgroup_size=4) as p:
        x = p.read_write("x", u32)
        out = p.write("out", u32, like=x)
        x[p.global_id(0)] = x[p.global_id(0)] + 1
        p.grid_barrier()
        out[p.global_id(0)] = x[x.length - 1 - p.global_id(0)]
    return p.build()


@pytest.mark.parametrize(("workgroups", "log"), [(32, ["launchCooperativeKernel"]), (33, ["launchKernel"] * 2)])
def test_barriers_are_inside_of_launches_that_fit(fake: FakeCupy, workgroups: int, log: list[str]) -> None:
    """The pretended GPU holds 2 * 16 workgroups."""
    backend = EngineBackend("cuda-rehearsal", lambda: RehearsedPort(opened(fake)))
    given, source = np.arange(4 * workgroups, dtype=np.uint32), meeting()
    for _ in range(3):
        before = len(fake.log)
        out = backend.dispatch(source, [given])[1]
        assert np.frombuffer(out, np.uint32).tolist() == [4 * workgroups - i for i in range(4 * workgroups)]
        assert [call for call in fake.log[before:] if call.startswith("launch")] == log
    backend.shutdown()


def test_cooperative_launches_are_demanded_and_refused(fake: FakeCupy) -> None:
    backend = EngineBackend("cuda-rehearsal", lambda: RehearsedPort(opened(fake)))
    assert backend.supports_grid_sync()
    config = DispatchConfig(cooperative=True)
    backend.dispatch(meeting(), [np.zeros(4 * 32, np.uint32)], config)
    with pytest.raises(UnsupportedFeature, match="a cooperative launch of 33 workgroups \\(at most 32\\)"):
        backend.dispatch(meeting(), [np.zeros(4 * 33, np.uint32)], config)
    backend.shutdown()


def test_a_launch_that_the_gpu_finds_too_large_loses_nothing(port: RehearsedPort, fake: FakeCupy) -> None:
    module, kernel = compiled(port, meeting())
    memories = port.allocate(4 * 132), port.allocate(4 * 132)
    assert port.side_by_side(module, kernel, FOUR) == 32
    with pytest.raises(DispatchFailed, match="Fix: use fewer workgroups"):
        port.launch(module, kernel, (33, 1, 1), FOUR, (*memories, 132, 132))
    port.fill(memories[0], 0, 4 * 132)
    port.launch(module, kernel, (32, 1, 1), FOUR, (*memories, 132, 132))
    assert read(port, memories[0], 128) == [1] * 128


def test_bandwidth_is_that_of_the_clock_and_the_bus(port: RehearsedPort) -> None:
    """Two transfers of 512 bytes in each of two billion cycles."""
    assert port.probe().mem_bw_gbps == 2048.0


@pytest.mark.parametrize("is_sound", [True, False])
def test_a_gpu_whose_barriers_fail_their_proof_is_used_without(
    port: RehearsedPort, monkeypatch: pytest.MonkeyPatch, is_sound: bool
) -> None:
    key = port.emitter()
    monkeypatch.setattr(port_module, "require_sound", lambda port, profile: is_sound)
    assert CudaPort.probe(port).supports_grid_sync == is_sound
    assert port.target().grid_barrier == is_sound
    assert (port.emitter() == key) == is_sound
    module, _ = compiled(port, adding())
    assert not any(kernel.is_cooperative for kernel in module.kernels.values())


def test_a_cooperative_launch_is_recorded(port: RehearsedPort, fake: FakeCupy) -> None:
    module, kernel = compiled(port, meeting())
    memories = port.allocate(16), port.allocate(16)
    port.fill(memories[0], 0, 16)
    recording = port.record(lambda: port.launch(module, kernel, ONE, FOUR, (*memories, 4, 4)))
    for _ in range(3):
        port.replay(recording)
    assert read(port, memories[1], 4) == [3] * 4
    assert fake.log.count("launchCooperativeKernel") == 1


def test_code_of_cooperative_launches_goes_from_one_process_to_the_next(port: RehearsedPort, fake: FakeCupy) -> None:
    module, kernel = compiled(port, meeting())
    binary = port.binary(module)
    assert binary is not None
    assert port.load(binary).kernels[kernel].is_cooperative


# ── recordings ──


def test_a_recording_runs_when_it_is_replayed(port: RehearsedPort, fake: FakeCupy) -> None:
    module, kernel = compiled(port, adding())
    memory = port.allocate(16)
    port.fill(memory, 0, 16)

    def enqueue() -> None:
        for _ in range(3):
            port.launch(module, kernel, ONE, FOUR, (memory, 4))

    recording = port.record(enqueue)
    assert read(port, memory, 4) == [0] * 4
    port.replay(recording)
    mark = port.replay(recording)
    assert port.wait(mark)
    assert read(port, memory, 4) == [24] * 4
    assert fake.log.count("launchKernel") == 3
    port.forget(recording)


def test_a_recording_that_fails_leaves_the_stream_usable(port: RehearsedPort) -> None:
    module, kernel = compiled(port, adding())
    memory = port.allocate(16)
    port.fill(memory, 0, 16)

    def enqueue() -> None:
        port.launch(module, kernel, ONE, FOUR, (memory, 4))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        port.record(enqueue)
    port.launch(module, kernel, ONE, FOUR, (memory, 5))
    assert read(port, memory, 4) == [5] * 4


# ── waiting ──


def test_a_wait_ends_with_its_time(port: RehearsedPort, fake: FakeCupy) -> None:
    module, kernel = compiled(port, adding())
    memory = port.allocate(16)
    port.fill(memory, 0, 16)
    fake.patience = 10**9
    mark = port.launch(module, kernel, ONE, FOUR, (memory, 4))
    assert not port.query(mark)
    assert not port.wait(mark, 0.002)
    fake.patience = 3
    assert port.wait(mark, 10.0)


def test_an_interrupt_gets_through(port: RehearsedPort, fake: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> None:
    module, kernel = compiled(port, adding())
    memory = port.allocate(16)
    fake.patience = 10_000
    mark = port.launch(module, kernel, ONE, FOUR, (memory, 4))
    looks, look = count(), port._runtime.eventQuery

    def interrupted(event: int) -> int:
        if next(looks) == 5:
            _thread.interrupt_main()
        status: int = look(event)
        return status

    monkeypatch.setattr(port._runtime, "eventQuery", interrupted)
    with pytest.raises(KeyboardInterrupt):
        port.wait(mark)
    fake.patience = 0
    assert port.wait(mark)


# ── failures ──


@pytest.mark.parametrize(
    ("call", "status", "error"),
    [
        ("launchKernel", 701, DispatchFailed),
        ("launchKernel", 700, DeviceLost),
        ("memsetAsync", 719, DeviceLost),
        ("memcpyAsync", 1, DispatchFailed),
        ("malloc", 2, DeviceOutOfMemory),
        ("load", 209, DispatchFailed),
    ],
)
def test_what_cuda_refuses_is_an_error_of_the_backend(
    port: RehearsedPort, fake: FakeCupy, call: str, status: int, error: type[Exception]
) -> None:
    module, kernel = compiled(port, adding())
    memory = port.allocate(16)
    fake.refuse(call, status)
    calls = {
        "launchKernel": lambda: port.launch(module, kernel, ONE, FOUR, (memory, 4)),
        "memsetAsync": lambda: port.fill(memory, 0, 16),
        "memcpyAsync": lambda: port.copy_in(memory, memoryview(b"abcd")),
        "malloc": lambda: port.allocate(16),
        "load": lambda: compiled(port, adding()),
    }
    with pytest.raises(error, match="Fix: "):
        calls[call]()
    assert fake.device == 0


def test_a_failed_kernel_is_a_lost_device_and_everything_can_be_given_back(port: RehearsedPort, fake: FakeCupy) -> None:
    unit = CudaSource(
        'extern "C" __global__ void k(unsigned *out, unsigned n) { out[0] = 7u / (n - n); }\n', ("k",), "CUDA C++"
    )
    module, memory = port.compile(unit), port.allocate(16)
    mark = port.launch(module, "k", ONE, FOUR, (memory, 4))
    with pytest.raises(DeviceLost, match="cudaErrorLaunchFailure"):
        port.wait(mark)
    with pytest.raises(DeviceLost):
        port.fill(memory, 0, 16)
    port.free(memory)
    port.close()
    port.close()


# ── threads and devices ──


def test_the_thread_keeps_its_own_device(fake: FakeCupy) -> None:
    fake.devices = 2
    port = RehearsedPort(opened(fake))
    fake.device = 1
    memory = port.allocate(16)
    assert fake.device == 1
    fake.refuse("memsetAsync", 700)
    with pytest.raises(DeviceLost):
        port.fill(memory, 0, 16)
    assert fake.device == 1


def test_a_new_thread_gets_a_context(port: RehearsedPort, fake: FakeCupy) -> None:
    before = fake.log.count("setDevice")
    port.allocate(1)
    assert fake.log.count("setDevice") == before
    thread = threading.Thread(target=port.allocate, args=(1,))
    thread.start()
    thread.join()
    assert fake.log.count("setDevice") == before + 1


# ── arrays of others ──


def interface(array: np.ndarray, **other: object) -> SimpleNamespace:
    found = {"data": (array.ctypes.data, False), "shape": array.shape, "strides": None, "typestr": array.dtype.str}
    return SimpleNamespace(__cuda_array_interface__=found | {"version": 3, "stream": None} | other, nbytes=array.nbytes)


def test_an_array_of_another_library_is_used_where_it_is(port: RehearsedPort, fake: FakeCupy) -> None:
    module, kernel = compiled(port, adding())
    array = np.array([1, 2, 3, 4], np.uint32)
    foreign = interface(array, stream=7)
    memory = port.wrap(foreign)
    assert memory is not None
    assert memory.holder is foreign
    assert fake.log[-2:] == ["eventRecord", "streamWaitEvent"]
    assert port.wait(port.launch(module, kernel, ONE, FOUR, (memory, 4)))
    assert array.tolist() == [5, 6, 7, 8]


def test_dlpack_gets_our_stream_and_comes_first(port: RehearsedPort, fake: FakeCupy) -> None:
    array = np.zeros(4, np.uint32)
    given = SimpleNamespace(data=SimpleNamespace(ptr=array.ctypes.data), nbytes=16, flags=array.flags)
    fake.from_dlpack = lambda foreign: fake.called("from_dlpack") or given
    foreign = interface(array)
    foreign.__dlpack_device__ = lambda: (2, 0)
    memory = port.wrap(foreign)
    assert memory is not None
    assert memory.address == array.ctypes.data
    assert fake.log[-2:] == ["current stream", "from_dlpack"]


def test_memory_goes_out_where_it_is(fake: FakeCupy) -> None:
    """By the interface of CUDA, which says its place, shape and type; not by that of the host."""
    backend = EngineBackend("cuda", lambda: RehearsedPort(opened(fake)))
    array = make.array(backend, np.arange(6, dtype=np.float32).reshape(2, 3))
    there = array.__cuda_array_interface__
    address, is_read_only = there["data"]
    assert (there["shape"], there["typestr"], there["version"], is_read_only) == ((2, 3), "<f4", 3, False)
    assert array[1].__cuda_array_interface__["data"][0] == address + 12
    assert array.__dlpack_device__() == (2, 0)
    assert not hasattr(array, "__array_interface__")
    exported = backend.export_resident(array.resource)
    assert exported.pointer.mem.owner is not None, "the memory lives as long as the array over it"
    exported.host.view(np.float32)[0] = 7
    assert array.numpy().tolist() == [[7, 1, 2], [3, 4, 5]]
    assert np.asarray(array).tolist() == [[7, 1, 2], [3, 4, 5]], "NumPy gets a copy"
    with pytest.raises(UnsupportedFeature, match=r"view whose elements are apart. Fix: copy it"):
        array.T._exported()


@pytest.mark.parametrize(("version", "waits"), [(2, True), (3, False)])
def test_an_interface_that_names_no_stream(port: RehearsedPort, fake: FakeCupy, version: int, waits: bool) -> None:
    foreign = interface(np.zeros(4, np.uint32), version=version)
    del foreign.__cuda_array_interface__["stream"]
    assert port.wrap(foreign) is not None
    assert ("streamWaitEvent" in fake.log) == waits


@pytest.mark.parametrize(
    ("strides", "shape", "is_wrapped"),
    [
        ((8, 4), (2, 2), True),
        ((4, 8), (2, 2), False),
        ((4, 4), (1, 4), True),
        ((8,), (2,), False),
        ((99, 4), (1, 4), True),
    ],
)
def test_only_contiguous_arrays_are_wrapped(port: RehearsedPort, strides, shape, is_wrapped: bool) -> None:
    array = np.zeros(4, np.uint32)
    assert (port.wrap(interface(array, strides=strides, shape=shape)) is not None) == is_wrapped


def test_what_cannot_be_wrapped_is_not(port: RehearsedPort) -> None:
    array = np.zeros(4, np.uint32)
    assert port.wrap(interface(array, data=(array.ctypes.data, True))) is None
    assert port.wrap(interface(array, data=(0, False))) is None
    assert port.wrap(array) is None  # of the host
    assert port.wrap(object()) is None


# ── all of it ──


def test_the_engine_runs_programs_over_it(fake: FakeCupy) -> None:
    backend = EngineBackend("cuda-rehearsal", lambda: RehearsedPort(opened(fake)))
    given = np.arange(4, dtype=np.uint32)
    for _ in range(3):
        (out,) = backend.dispatch(adding(), [given])
        assert np.frombuffer(out, np.uint32).tolist() == [4, 5, 6, 7]
    timed = backend.dispatch_borrowed_timed(adding(), [given])
    assert timed.device_ns is not None
    fake.patience = 10**9
    with pytest.raises(DispatchTimeout):
        backend.dispatch(adding(), [given], DispatchConfig(timeout=0.05))
    fake.patience = 0
    backend.shutdown()


def test_a_trace_has_the_times_of_events_and_the_places_of_the_host(fake: FakeCupy) -> None:
    trace = Trace()
    backend = traced(EngineBackend("cuda-rehearsal", lambda: RehearsedPort(opened(fake))), trace)
    made = adding()
    for _ in range(3):
        backend.dispatch(made, [np.arange(4, dtype=np.uint32)])
    backend.shutdown()
    require_trace_events(trace.to_json())
    kernels = sorted((s for s in trace.spans() if s.category == "kernel"), key=lambda span: span.begin_ns)
    assert [span.name for span in kernels] == [made.name] * 3
    assert {span.facts["clock"] for span in kernels} == {"device, placed by the host"}
    launches = {span.flow: span for span in trace.spans() if span.category == "launch"}
    for span, run in zip(kernels, trace.kernels, strict=True):
        assert span.begin_ns >= launches[span.flow].begin_ns
        assert run.device_ns == span.end_ns - span.begin_ns


def test_after_a_loss_nothing_runs_until_the_backend_recovers() -> None:
    fakes: list[FakeCupy] = []

    def open_port() -> RehearsedPort:
        fakes.append(FakeCupy())
        return RehearsedPort(opened(fakes[-1]))

    backend = EngineBackend("cuda-rehearsal", open_port)
    given = [np.arange(4, dtype=np.uint32)]
    backend.dispatch(adding(), given)
    fakes[0].sticky = 700
    for _ in range(2):
        with pytest.raises(DeviceLost):
            backend.dispatch(adding(), given)
    assert backend.device_lost()
    backend.try_recover()
    (out,) = backend.dispatch(adding(), given)
    assert np.frombuffer(out, np.uint32).tolist() == [4, 5, 6, 7]
    assert len(fakes) == 2
    backend.shutdown()


def test_random_programs_over_it() -> None:
    from vyre_conform.testing import cells, require

    backend = rehearsed()
    for spec in cells("fuzz", fuzz=6, seed=9):
        require(backend, spec)
    backend.shutdown()


def test_programs_of_several_workgroup_sizes_are_compiled_together() -> None:
    """A word that knew the size of one of them would be wrong in the others."""
    backend, sizes, sources = rehearsed(), (8, 32, 1, 4), []
    for size in sizes:
        with program(f"of_{size}", workgroup_size=size) as p:
            out = p.write("out", u32, 3 * size)
            out[p.global_id(0)] = p.global_id(0) * 100 + p.local_id(0)
        sources.append(p.build())
    backend.precompile(sources)
    for source, size in zip(sources, sizes, strict=True):
        (out,) = backend.dispatch(source, [])
        assert np.frombuffer(out, np.uint32).tolist() == [100 * i + i % size for i in range(3 * size)]
    assert backend.backend_metric_snapshot()["compiles"] == 1
    backend.shutdown()
