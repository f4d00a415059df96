"""What happens around dispatches: leaks, failures, interrupts, timeouts, threads, the end."""

import _thread
import gc
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.codegen.lower import legalize
from vyre_driver.errors import (
    BackendUnavailable,
    DeviceOutOfMemory,
    DispatchTimeout,
    KernelCompileFailed,
    StaleHandle,
)
from vyre_driver_opencl import launch, opened
from vyre_driver_opencl.backend import OpenClBackend
from vyre_driver_opencl.emit import OpenClSource
from vyre_driver_opencl.memory import BufferMemory, Sharing
from vyre_driver_opencl.opened import open_device
from vyre_driver_opencl.port import OpenClPort
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program


def xor(name: str = "xor") -> Program:
    with program(name, workgroup_size=64) as p:
        a, b = p.read("a", u32), p.read("b", u32)
        out = p.write("out", u32, like=a)
        out[p.global_id(0)] = a[p.global_id(0)] ^ b[p.global_id(0)]
    return p.build()


def spin(rounds: int) -> Program:
    """Takes about 10 ns a round, in one invocation."""
    with program("spin", workgroup_size=1) as p:
        out = p.read_write("out", u32, 1)
        value = p.var(out[0], u32)
        with p.range(0, rounds) as j:
            value.set((value ^ j) * 2654435761 + (value >> 7))
        out[0] = value
    return p.build()


GIVEN = [np.arange(1000, dtype=np.uint32), np.full(1000, 77, np.uint32)]


@pytest.fixture
def fresh_port(backend_id: str) -> Iterator[OpenClPort]:
    port = OpenClPort(backend_id, open_device(backend_id))
    yield port
    port.close()


@pytest.fixture(params=["as the device has it", "copied"])
def any_port(backend_id: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Iterator[OpenClPort]:
    """A port whose buffers are what they are on the device, and one as for a device with memory of its own."""
    if request.param == "copied":
        monkeypatch.setattr(Sharing, "of", lambda device, **proven: Sharing.NONE)
    port = OpenClPort(backend_id, open_device(backend_id))
    yield port
    port.close()


# ── memory ──


def test_every_allocation_is_freed(backend_id: str) -> None:
    backend = OpenClBackend(backend_id)
    for count in (1, 5, 1000):
        backend.dispatch(xor(), [array[:count] for array in GIVEN])
    pipeline = backend.compile_native(xor())
    pipeline.dispatch(GIVEN)
    del pipeline
    gc.collect()
    backend.shutdown()
    counters = backend.backend_metric_snapshot()
    assert counters["allocations"] == counters["frees"] > 0
    assert counters["bytes_allocated"] == counters["bytes_freed"]


def test_too_much_is_refused_before_the_runtime_is_asked(fresh_port: OpenClPort) -> None:
    most = fresh_port.probe().max_storage_buffer_binding_size
    assert most is not None
    with pytest.raises(DeviceOutOfMemory, match=f"{most + 1} bytes are needed, {most} are available"):
        fresh_port.allocate(most + 1)


@pytest.mark.parametrize("size", [1, 3, 4096, 100_000, 4 << 20])
def test_bytes_go_in_and_come_out(any_port: OpenClPort, size: int) -> None:
    memory = any_port.allocate(size)
    data = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    any_port.copy_in(memory, data.data)
    got = np.zeros(size, np.uint8)
    any_port.copy_out(memory, got.data)
    assert (got == data).all()
    any_port.fill(memory, 0xA5, size - size // 2)
    any_port.copy_in(memory, memoryview(b"\x09"), size - 1)
    any_port.copy_out(memory, got.data)
    expected = data.copy()
    expected[: size - size // 2] = 0xA5
    expected[-1] = 9
    assert (got == expected).all()
    part = np.zeros(1, np.uint8)
    any_port.copy_out(memory, part.data, size - 1)
    assert part[0] == 9
    any_port.free(memory)


def test_the_queue_keeps_its_order_for_each_buffer(any_port: OpenClPort) -> None:
    """Copies between launches see what was before them, and change nothing that was."""
    unit = any_port.emit(legalized(any_port, spin(200_000)))
    module = any_port.compile(unit)
    first, second = any_port.allocate(4), any_port.allocate(4)
    results = []
    for memory, start in ((first, 1), (second, 1), (first, 1)):
        any_port.copy_in(memory, np.array([start], np.uint32).view(np.uint8).data)
        for _ in range(3):
            any_port.launch(module, unit.kernels[0], (1, 1, 1), (1, 1, 1), (memory,))
        got = np.zeros(4, np.uint8)
        any_port.copy_out(memory, got.data)
        results.append(bytes(got))
    assert len(set(results)) == 1
    for memory in (first, second):
        any_port.free(memory)


def test_memory_in_use_is_freed_later(fresh_port: OpenClPort) -> None:
    unit = fresh_port.emit(legalized(fresh_port, spin(30_000_000)))
    module = fresh_port.compile(unit)
    memory = fresh_port.allocate(4)
    fresh_port.fill(memory, 0, 4)
    event = fresh_port.launch(module, unit.kernels[0], (1, 1, 1), (1, 1, 1), (memory,))
    fresh_port.query(event)
    fresh_port.free(memory)
    assert event.freed in ([], [memory])  # it may have ended before
    assert fresh_port.wait(event)
    assert event.freed == []
    assert not fresh_port._order.entries


def legalized(port: OpenClPort, program: Program):
    return legalize(program, program.validate(), port.target())


# ── launches ──


def test_only_what_changed_is_bound_again(backend_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same sequence sets nothing, and another what differs."""

    class Recorder:
        def __init__(self) -> None:
            self.calls: list[str] = []

        def set_arg(self, position: int, argument: object) -> None:
            self.calls.append(str(position))

    class Memory(BufferMemory):
        argument = None  # type: ignore[assignment]

    recorder = Recorder()
    kernel = launch.LoadedKernel(recorder, is_flat=False)  # type: ignore[arg-type]
    a, b, c = Memory(), Memory(), Memory()
    for args in ((first := (a, b, 7)), first, (a, b, 7), (a, c, 7), (a, c, 8)):
        kernel.bind(args)
        recorder.calls.append("|")
    assert "".join(recorder.calls) == "012|||1|2|"
    assert kernel.memories == (a, c)


@pytest.mark.parametrize(
    ("grid", "workgroup", "is_flat", "span", "local"),
    [
        ((5, 1, 1), (64, 1, 1), False, (320,), (64,)),
        ((5, 2, 1), (4, 4, 1), False, (20, 8), (4, 4)),
        ((1, 1, 2), (4, 1, 1), False, (4, 1, 2), (4, 1, 1)),
        ((5, 2, 1), (3, 4, 2), True, (120, 2), (24, 1)),
    ],
)
def test_sizes_have_no_more_axes_than_needed(grid, workgroup, is_flat, span, local) -> None:
    kernel = launch.LoadedKernel(None, is_flat=is_flat)  # type: ignore[arg-type]
    for _ in range(2):
        kernel.shape(grid, workgroup)
        assert (kernel.span, kernel.local) == (span, local)


def test_the_device_times_its_kernels(backend: VyreBackend) -> None:
    timed = backend.dispatch_borrowed_timed(spin(100_000), [np.ones(1, np.uint32)])
    assert timed.device_ns is not None
    assert 0 < timed.device_ns < timed.wall_ns


# ── failures ──


def test_a_refused_text_says_where_and_why(fresh_port: OpenClPort, backend_id: str) -> None:
    source = OpenClSource(
        text="__kernel void k(__global uint *a) {\n    a[0] = nonsense;\n}\n",
        kernels=("k",),
        language="OpenCL C",
        places=("k", "k body[0]", "k"),
    )
    with pytest.raises(KernelCompileFailed) as caught:
        fresh_port.compile(source)
    error = caught.value
    assert error.where == "k body[0]"
    assert "use of undeclared identifier 'nonsense'" in error.log
    assert error.source == source.text
    assert str(error).startswith(f"k body[0]: the compiler of {backend_id} refused the emitted source: ")
    assert "Fix: " in str(error)


def test_devices_that_fail_are_passed_over_with_their_reasons(monkeypatch: pytest.MonkeyPatch, backend_id: str) -> None:
    def refuse(backend: str, *rest: object) -> None:
        raise BackendUnavailable(backend, "it cannot count", fix="choose another device")

    monkeypatch.setenv("VYRE_CACHE", "off")
    monkeypatch.setattr("vyre_driver_opencl.proof.prove_device", refuse)
    monkeypatch.setattr(opened, "_facts", {})
    with pytest.raises(BackendUnavailable, match=r"no device can be used \(.*it cannot count\)\. Fix: choose another"):
        open_device(backend_id)


def test_a_timeout_is_met_and_the_backend_goes_on(backend_id: str) -> None:
    backend = OpenClBackend(backend_id)
    long, given = spin(2**29), [np.ones(1, np.uint32)]
    backend.dispatch(spin(10), given)
    started = time.perf_counter()
    with pytest.raises(DispatchTimeout):
        backend.dispatch(long, given, DispatchConfig(timeout=0.1))
    assert time.perf_counter() - started < 20
    assert bytes(backend.dispatch(xor(), GIVEN)[0]) == (GIVEN[0] ^ GIVEN[1]).tobytes()
    backend.shutdown()


def test_an_interrupt_gets_through(backend: VyreBackend) -> None:
    """While a long kernel runs, and for good: the next dispatch is right."""
    given = [np.ones(1, np.uint32)]
    long = backend.compile_native(spin(2**29))
    assert long is not None
    timer = threading.Timer(0.1, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        long.dispatch(given)
    timer.join()
    assert bytes(backend.dispatch(xor(), GIVEN)[0]) == (GIVEN[0] ^ GIVEN[1]).tobytes()


def spin_as_told() -> Program:
    """As `spin`, with the number of rounds from a buffer: no bound is known before the launch."""
    with program("spin_as_told", workgroup_size=1) as p:
        rounds, out = p.read("rounds", u32, 1), p.read_write("out", u32, 1)
        value = p.var(out[0], u32)
        with p.range(0, rounds[0]) as j:
            value.set((value ^ j) * 2654435761 + (value >> 7))
        out[0] = value
    return p.build()


def test_a_kernel_that_was_short_and_is_long_for_other_data_meets_its_timeout(backend_id: str) -> None:
    backend, source = OpenClBackend(backend_id), spin_as_told()
    one = np.ones(1, np.uint32)
    for _ in range(8):
        backend.dispatch(source, [one, one], DispatchConfig(timeout=60.0))
    started = time.perf_counter()
    with pytest.raises(DispatchTimeout):
        backend.dispatch(source, [np.full(1, 2**30, np.uint32), one], DispatchConfig(timeout=0.2))
    assert time.perf_counter() - started < 1.0
    backend.shutdown()


def test_the_end_is_the_end(backend_id: str) -> None:
    backend = OpenClBackend(backend_id)
    backend.dispatch(xor(), GIVEN)
    backend.shutdown()
    backend.shutdown()
    with pytest.raises(StaleHandle):
        backend.dispatch(xor(), GIVEN)


def test_threads_take_turns(backend: VyreBackend) -> None:
    programs = [xor(f"xor_{n}") for n in range(4)]
    wrong: list[int] = []

    def work(number: int) -> None:
        given = [GIVEN[0] + number, GIVEN[1]]
        for _ in range(20):
            (got,) = backend.dispatch(programs[number], given)
            if bytes(got) != (given[0] ^ given[1]).tobytes():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_large_buffers_are_exact_every_time(backend: VyreBackend) -> None:
    """Megabytes in place: nothing of an earlier dispatch is seen in a later one."""
    program, rng = xor("large"), np.random.default_rng(0)
    for _ in range(5):
        given = [rng.integers(0, 2**32, 1 << 20, np.uint32) for _ in range(2)]
        (got,) = backend.dispatch(program, given)
        assert (np.frombuffer(got, np.uint32) == given[0] ^ given[1]).all()
