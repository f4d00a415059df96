"""Inputs are used where the caller has them and outputs where they are made: nobody may notice, but for the counts."""

import threading

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.engine.buffer_pool import LINE, PAGE
from vyre_driver.tune.queue import QueueChoice
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program


def doubling() -> Program:
    with program("doubling", workgroup_size=64) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        out[p.global_id(0)] = x[p.global_id(0)] * 2
    return p.build()


def adding() -> Program:
    with program("adding", workgroup_size=64) as p:
        x = p.read_write("x", u32)
        x[p.global_id(0)] = x[p.global_id(0)] + 1
    return p.build()


@pytest.fixture(scope="module", autouse=True)
def in_place(backend: VyreBackend) -> None:
    if not backend._session.device.port.shares_host_memory:  # type: ignore[attr-defined]
        pytest.skip("the device has memory of its own")


def counted(backend: VyreBackend, *names: str) -> tuple[int, ...]:
    snapshot = backend.backend_metric_snapshot()
    return tuple(snapshot[name] for name in names)


def test_a_warm_dispatch_copies_and_fills_nothing(backend: VyreBackend) -> None:
    source, x = doubling(), np.arange(1000, dtype=np.uint32)
    names = ("bytes_in", "bytes_out", "copies_in", "copies_out", "fills", "prepares")
    backend.dispatch_arrays(source, {"x": x})
    before = counted(backend, *names)
    for _ in range(5):
        assert (backend.dispatch_arrays(source, {"x": x})["out"] == x * 2).all()
    assert counted(backend, *names) == before


def test_memory_of_one_size_begins_at_different_lines_of_the_cache(backend: VyreBackend) -> None:
    """Equal elements of several arrays would compete for a few places in the cache otherwise."""
    source, x = doubling(), np.arange(50_000, dtype=np.uint32)
    results = [backend.dispatch_arrays(source, {"x": x})["out"] for _ in range(16)]
    assert len({result.ctypes.data % PAGE for result in results}) == 16
    resources = [backend.allocate_resident(x.nbytes) for _ in range(16)]
    memories = [backend._session.device.residents.find(one).memory for one in resources]  # type: ignore[attr-defined]
    begins = [np.frombuffer(memory._view, np.uint8).ctypes.data for memory in memories]
    assert len({begin % PAGE for begin in begins}) == 16
    assert all(begin % LINE == 0 for begin in begins)


def test_outputs_in_large_memory_of_the_caller_copy_nothing(backend: VyreBackend) -> None:
    source, x = doubling(), np.arange(50_000, dtype=np.uint32)
    names = ("bytes_in", "bytes_out", "copies_in", "copies_out", "fills", "prepares", "allocations")
    slot = np.empty_like(x)
    backend.dispatch_borrowed_into(source, [x], DispatchConfig(), [slot])
    before, runs = counted(backend, *names), counted(backend, "dispatches", "launches")
    for turn in range(1, 5):
        slots: list[object] = [slot]
        x[7] = turn
        slot[:] = 0
        backend.dispatch_borrowed_into(source, [x], DispatchConfig(), slots)
        assert slots[0] is slot
        assert np.array_equal(slot, x * 2)
    assert counted(backend, *names) == before
    assert counted(backend, "dispatches", "launches") == (runs[0] + 4, runs[1] + 4)
    backend.dispatch_borrowed_into(source, [x], DispatchConfig(), [x])  # over its own input: by a copy
    assert x[7] == 8


def test_results_live_as_long_as_somebody_holds_them(backend: VyreBackend) -> None:
    source, held = doubling(), []
    for n in range(12):
        x = np.full(500, n, np.uint32)
        held.append((n, backend.dispatch_arrays(source, {"x": x})["out"]))
        held.append((n, np.frombuffer(backend.dispatch(source, [x])[0], np.uint32)[3:7].reshape(2, 2)))
    for n, got in held:
        assert (got == 2 * n).all()
        got += 1  # they are the caller's own
    assert (backend.dispatch_arrays(source, {"x": np.zeros(500, np.uint32)})["out"] == 0).all()


def test_memory_of_a_result_that_nobody_holds_is_used_again(
    backend: VyreBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QueueChoice, "took", lambda choice, ns: False)  # the other queue would have memory of its own
    source, x = doubling(), np.arange(2000, dtype=np.uint32)
    out = backend.dispatch_arrays(source, {"x": x})["out"]
    before = counted(backend, "allocations")
    for _ in range(10):
        out = backend.dispatch_arrays(source, {"x": x})["out"]
    assert counted(backend, "allocations")[0] - before[0] == 1  # beside the one that is held
    assert (out == x * 2).all()


def test_a_result_may_be_the_next_input(backend: VyreBackend) -> None:
    source, x = doubling(), np.ones(100, np.uint32)
    for _ in range(8):
        x = backend.dispatch_arrays(source, {"x": x})["out"]
    assert (x == 256).all()
    (y,) = backend.dispatch(source, backend.dispatch(source, [np.ones(100, np.uint32)]))
    assert (np.frombuffer(y, np.uint32) == 4).all()


def test_an_input_that_is_also_an_output_is_left_alone(backend: VyreBackend) -> None:
    source, x = adding(), np.arange(300, dtype=np.uint32)
    for _ in range(4):
        assert (backend.dispatch_arrays(source, {"x": x})["x"] == np.arange(300) + 1).all()
    assert (x == np.arange(300)).all()


@pytest.mark.parametrize("start", [0, 1, 2, 3, 4, 5])
def test_any_address_will_do(backend: VyreBackend, start: int) -> None:
    source, x = doubling(), np.arange(400, dtype=np.uint32)[start:]
    for _ in range(3):
        assert (backend.dispatch_arrays(source, {"x": x})["out"] == x * 2).all()


def test_read_only_inputs(backend: VyreBackend) -> None:
    source, x = doubling(), np.arange(64, dtype=np.uint32)
    x.flags.writeable = False
    for given in (x, x.tobytes(), memoryview(x.tobytes())):
        for _ in range(2):
            assert backend.dispatch(source, [given]) == [(x * 2).tobytes()]


def test_nothing_of_an_input_is_kept(backend: VyreBackend) -> None:
    """A bytearray cannot be resized while anybody has a view of it."""
    source, given = doubling(), bytearray(256)
    for _ in range(3):
        backend.dispatch(source, [given])
    given.append(0)


def test_threads_get_their_own_results(backend: VyreBackend) -> None:
    source, wrong = doubling(), []

    def work(number: int) -> None:
        x = np.full(700, number, np.uint32)
        for _ in range(200):
            if not (backend.dispatch_arrays(source, {"x": x})["out"] == 2 * number).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_last_kernel_is_waited_for_though_only_the_first_can_trap(agree) -> None:
    """The record of traps belongs to the first kernel. Reading it says nothing about those after the grid barrier."""
    with program("late", 64) as p:
        x = p.read("x", u32)
        out, mirrored = p.write("out", u32, like=x), p.scratch("mirrored", u32, like=x)
        i = p.global_id(0)
        with p.if_(x[i] == 0):
            p.trap(1, "zero")
        mirrored[x.length - 1 - i] = x[i]
        p.grid_barrier()
        total = p.var(mirrored[i])
        with p.range(0, 20_000) as n:
            total.set((total ^ n) * 16777619)
        out[i] = total
    agree(p.build(), [np.arange(1, 4097, dtype=np.uint32)])


def test_launches_of_one_kernel_in_turn(backend: VyreBackend) -> None:
    """They share the runtime's kernel object: each finds its own arguments and sizes there, whichever ran before."""
    source = doubling()
    short, long = np.arange(100, dtype=np.uint32), np.arange(5000, dtype=np.uint32)[::-1].copy()
    given, made = backend.allocate_resident(short.nbytes), backend.allocate_resident(short.nbytes)
    backend.upload_resident(given, short)
    pipeline = backend.compile_native(source)
    assert pipeline is not None
    for n in range(4):
        for x in (short, long, short + n):
            assert (backend.dispatch_arrays(source, {"x": x})["out"] == x * 2).all()
            assert (np.frombuffer(pipeline.dispatch([x])[0], np.uint32) == x * 2).all()
        backend.upload_resident(given, short + n)
        pipeline.dispatch_resident([given, made])
        pipeline.dispatch_resident([given, made])
        assert (np.frombuffer(backend.download_resident(made), np.uint32) == (short + n) * 2).all()
        pending = backend.dispatch_async(source, [long])
        assert (backend.dispatch_arrays(source, {"x": short})["out"] == short * 2).all()
        assert (np.frombuffer(pending.await_result()[0], np.uint32) == long * 2).all()
    pipeline.close()
    backend.free_resident(given)
    backend.free_resident(made)
