"""PoCL's two devices as the queues of one: who gets which work, and that nobody can tell from the results."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.codegen.lower import legalize
from vyre_driver_opencl import devices, icd
from vyre_driver_opencl.devices import candidates, siblings
from vyre_driver_opencl.opened import open_device
from vyre_driver_opencl.port import OpenClPort
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program


@pytest.fixture(scope="module", autouse=True)
def two_queues(backend: VyreBackend) -> None:
    if [queue.name for queue in backend.device_profile().queues] != ["basic", "pthread"]:
        pytest.skip("the device has one queue")


def adding(name: str = "adding") -> Program:
    with program(name, workgroup_size=64) as p:
        x = p.read_write("x", u32)
        i = p.global_id(0)
        x[i] = x[i] * 3 + i
    return p.build()


def test_the_facts_of_the_queues(backend: VyreBackend) -> None:
    basic, pthread = backend.device_profile().queues
    assert (basic.workers, basic.is_interruptible, pthread.is_interruptible) == (1, False, True)
    assert pthread.workers == backend.device_profile().compute_units
    assert 0 < basic.launch_ns < pthread.launch_ns


def test_both_give_the_bytes_of_the_reference(agree) -> None:
    for count in (1, 1000, 1 << 20):
        agree(adding(), [np.arange(count, dtype=np.uint32)])


def test_launches_of_both_queues_are_in_order(backend_id: str) -> None:
    """Ten in turns over one buffer: each sees what the one before has written."""
    port = OpenClPort(backend_id, open_device(backend_id))
    source, count = adding(), 1 << 16
    lowered = legalize(source, source.validate(), port.target())
    (kernel,), unit = lowered.kernels, port.emit(lowered)
    modules = [port.compile(unit, queue) for queue in (0, 1)]
    memory = port.allocate(4 * count)
    expected = np.arange(count, dtype=np.uint32)
    port.copy_in(memory, expected.view(np.uint8).data)
    runs, row = port.allocate(8), 4
    port.copy_in(runs, np.array([row, count // 64], np.uint32).view(np.uint8).data)
    args = (memory, runs, *[count] * len(kernel.lengths))
    for turn in range(10):
        port.launch(modules[turn % 2], unit.kernels[0], (count // 64 // row, 1, 1), kernel.program.workgroup_size, args)
        expected = expected * 3 + np.arange(count, dtype=np.uint32)
    got = np.empty(count, np.uint32)
    port.copy_out(memory, got.view(np.uint8).data)
    port.free(memory)
    port.free(runs)
    port.close()
    assert (got == expected).all()


def test_work_that_may_take_long_can_be_interrupted(backend: VyreBackend) -> None:
    """A loop that data bound goes where the host can leave it, however short it turns out to be."""
    with program("bounded_by_data", workgroup_size=1) as p:
        n, out = p.read("n", u32), p.read_write("out", u32, 1)
        with p.range(0, n[0]) as i:
            out[0] = out[0] ^ i
    source = p.build()
    for _ in range(8):
        backend.dispatch(source, [np.array([5], np.uint32), np.zeros(1, np.uint32)], DispatchConfig(timeout=60))
    kept = next(k for k in backend._dispatcher.launch_cache.entries.values() if k.request.program is source)  # type: ignore[attr-defined]
    assert kept.queue == 1


def test_the_variable_pins_one_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for wanted, names in (("pocl", ["basic", "pthread"]), ("pocl:basic", ["basic"]), (":pthread", ["pthread"])):
        monkeypatch.setenv(devices.VARIABLE, wanted)
        found = candidates("opencl")
        together = siblings(found[0], found)
        assert [c.device.name.strip().partition("-")[0] for c in together] == names


def test_a_registered_pocl_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("POCL_DEVICES", raising=False)
    with icd.pocl_settings():
        assert os.environ["POCL_DEVICES"] == icd.BOTH_DEVICES
    (tmp_path / "mine.icd").write_text("libpocl.so.2\n")
    monkeypatch.setenv("OCL_ICD_VENDORS", str(tmp_path))
    with icd.pocl_settings():
        assert "POCL_DEVICES" not in os.environ
    monkeypatch.setenv("POCL_DEVICES", "basic")
    with icd.pocl_settings():
        assert os.environ["POCL_DEVICES"] == "basic"


def test_what_the_environment_says_is_what_there_is() -> None:
    """A process with `POCL_DEVICES` set has the devices that it names, and the variable stays."""
    code = "from vyre_driver_opencl.backend import OpenClBackend; print(*OpenClBackend().device_profile().queues)"
    environment = {**os.environ, "POCL_DEVICES": "basic", "VYRE_OPENCL_DEVICE": "pocl"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.count("Queue(") == 1
    assert "name='basic'" in done.stdout
