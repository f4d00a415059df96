"""Graphs over arrays of a device that come again: the same bits by one call, within limits, and after anything."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import vyre_algorithms as va
from vyre_algorithms import launches, replay
from vyre_algorithms.replay import ReplayedGraphs
from vyre_driver import DeviceArray, acquire, registered_backends
from vyre_driver.arrays.make import array as array_on

pytestmark = pytest.mark.skipif(
    all(registration.id != "cpu" for registration in registered_backends()), reason="the backend is not installed"
)
SIZE = 20_000
"""Keys that are sorted in passes."""
random = np.random.default_rng(1)


@pytest.fixture
def device():
    """One of its own, which a test may close."""
    made = acquire("cpu")
    yield made
    made.shutdown()


@pytest.fixture
def graphs(monkeypatch):
    """The graphs that algorithms find, none at first."""
    made = ReplayedGraphs()
    monkeypatch.setattr(launches, "_replayed", made)
    return made


def compiled(graphs):
    return [graph for graph, _ in graphs._known.values() if graph is not None]


def words(device, size=SIZE):
    host = random.integers(0, 2**32, size, dtype=np.uint32)
    return host, array_on(device, host)


def sorted_right(device, size=SIZE):
    host, x = words(device, size)
    found = va.sort(x)
    assert isinstance(found, DeviceArray)
    np.testing.assert_array_equal(found.numpy(), np.sort(host))


def test_it_is_compiled_when_it_comes_for_the_third_time(device, graphs):
    for calls in range(1, 6):
        sorted_right(device)
        assert len(compiled(graphs)) == (calls >= 3)
    before = device.backend_metric_snapshot()
    _, x = words(device)
    found = va.sort(x)
    after = device.backend_metric_snapshot()
    assert after["replays"] - before["replays"] == 1
    assert after["prepares"] == before["prepares"]
    del found


def test_results_are_the_callers_own(device, graphs):
    held = []
    for _ in range(8):
        host, x = words(device)
        held.append((host, va.sort(x), va.argsort(x)))
    assert len(compiled(graphs)) == 2
    for host, values, places in held:
        np.testing.assert_array_equal(values.numpy(), np.sort(host))
        np.testing.assert_array_equal(places.numpy(), np.argsort(host, kind="stable"))


def test_few_dispatches_are_not_worth_it(device, graphs):
    host, x = words(device)
    for _ in range(5):
        np.testing.assert_array_equal(va.scan(x, dtype=np.uint32).numpy(), np.cumsum(host, dtype=np.uint32))
    assert graphs._known
    assert not compiled(graphs)


def test_large_arrays_are_not_copied(device, graphs):
    for _ in range(4):
        sorted_right(device, 1 << 19)
    assert not graphs._known


def test_what_was_not_used_for_long_makes_room(device, graphs, monkeypatch):
    total = device.device_profile().global_memory_bytes
    monkeypatch.setattr(replay, "SHARE", total // (3 << 20))  # three graphs of about one MiB
    for size in range(SIZE, SIZE + 6):
        for _ in range(3):
            sorted_right(device, size)
    kept = [key[1] for key, (graph, _) in graphs._known.items() if graph is not None]
    assert 0 < len(kept) < 6
    assert SIZE + 5 in kept[-1]
    monkeypatch.setattr(replay, "SHARE", total)
    for _ in range(4):
        sorted_right(device, SIZE + 9)
    assert SIZE + 9 not in {number for key in graphs._known if graphs._known[key][0] for number in key[1]}


def test_the_device_may_be_opened_again(device, graphs):
    for _ in range(4):
        sorted_right(device)
    assert compiled(graphs)
    device.try_recover()
    for calls in range(1, 6):
        sorted_right(device)
        assert len(compiled(graphs)) == (calls >= 4), "the first call finds the old one"


def test_a_thread_does_not_wait_for_another(device, graphs):
    for _ in range(3):
        sorted_right(device)
    (graph,) = compiled(graphs)
    graph._lock.acquire()  # as a thread that runs it
    try:
        sorted_right(device)
    finally:
        graph._lock.release()


def test_threads_get_their_own_results(device, graphs):
    errors = []

    def work(seed):
        try:
            own = np.random.default_rng(seed)
            for _ in range(20):
                host = own.integers(0, 2**32, SIZE, dtype=np.uint32)
                np.testing.assert_array_equal(va.sort(array_on(device, host)).numpy(), np.sort(host))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


POINTS = random.random((500, 2), dtype=np.float32)
BEGINS, ENDS = np.array([0, 1, 2]), np.array([1, 2, 0])
AFTER = {
    "loops": lambda on: va.connected_components(BEGINS, ENDS, 3, backend=on),
    "fft of an array of the device": lambda on: va.fft(array_on(on, POINTS[:384])).numpy(),
    "sort by a comparison": lambda on: va.sort(POINTS[:, 0], before=lambda a, b: a < b, backend=on),
}


@pytest.mark.parametrize("name", AFTER)
def test_other_graphs_are_compiled_again_too(name, device):
    call = AFTER[name]
    wanted = call(device)
    device.try_recover()
    for _ in range(2):
        np.testing.assert_array_equal(call(device), wanted)
