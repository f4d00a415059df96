"""What a warm dispatch asks of CUDA, call by call: work that nothing reads is enqueued, and not waited for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import numpy as np
import pytest
from cuda_emulation.fake_cupy import FakeCupy
from cuda_emulation.rehearsal import RehearsedPort, opened

from vyre_driver.arrays import make, memory as arrays_memory
from vyre_driver.arrays.array import DeviceArray
from vyre_driver.arrays.dispatch import dispatch_device_arrays
from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.resources import Resource
from vyre_driver.engine import launch as launch_module
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.engine.resident import EngineBuffer
from vyre_driver.errors import DeviceLost, Trapped
from vyre_driver_cuda import memory as memory_module, order as order_module
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program

COUNT = 64


@pytest.fixture
def fake() -> FakeCupy:
    return FakeCupy()


@pytest.fixture
def backend(fake: FakeCupy) -> Iterator[EngineBackend]:
    backend = EngineBackend("cuda-rehearsal", lambda: RehearsedPort(opened(fake)))
    yield backend
    backend.shutdown()


def doubling() -> Program:
    with program("doubling", workgroup_size=COUNT) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        i = p.global_id(0)
        out[i] = x[i] * 2
    return p.build()


def trapping() -> Program:
    """Doubles, and traps at an element of 7."""
    with program("trapping", workgroup_size=COUNT) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        i = p.global_id(0)
        with p.if_(x[i] == 7):
            p.trap(x[i], "seven")
        out[i] = x[i] * 2
    return p.build()


def adding() -> Program:
    with program("adding", workgroup_size=COUNT) as p:
        x, by = p.read("x", u32), p.uniform("by", u32, 1)
        out = p.write("out", u32, like=x)
        i = p.global_id(0)
        out[i] = x[i] + by[0]
    return p.build()


WORDS = np.arange(COUNT, dtype=np.uint32)


def resident(backend: EngineBackend) -> list[Resource]:
    given, made = backend.allocate_resident(WORDS.nbytes), backend.allocate_resident(WORDS.nbytes)
    backend.upload_resident(given, WORDS)
    return [given, made]


def calls(fake: FakeCupy, run: Callable[[], object]) -> Counter[str]:
    """The calls of one of many."""
    for _ in range(memory_module.SMALLS + 4):
        run()
    fake.log.clear()
    run()
    return Counter(fake.log)


LAUNCH = Counter(launchKernel=1)


def test_a_dispatch_over_resident_memory_is_one_launch(fake: FakeCupy, backend: EngineBackend) -> None:
    source, resources = doubling(), resident(backend)
    assert calls(fake, lambda: backend.dispatch_resident(source, resources)) == LAUNCH
    with backend.compile_native(source) as pipeline:
        assert calls(fake, lambda: pipeline.dispatch_resident(resources)) == LAUNCH
    assert fake.under_way
    assert np.frombuffer(backend.download_resident(resources[1]), np.uint32).tolist() == (WORDS * 2).tolist()


def test_a_dispatch_over_arrays_of_the_device_is_one_launch(fake: FakeCupy, backend: EngineBackend) -> None:
    source, x = doubling(), make.array(backend, WORDS)
    assert calls(fake, lambda: dispatch_device_arrays(backend, source, {"x": x})) == LAUNCH
    out = dispatch_device_arrays(backend, source, {"x": x})["out"]
    out = dispatch_device_arrays(backend, source, {"x": out})["out"]
    assert out.numpy().tolist() == (WORDS * 4).tolist()


@pytest.mark.parametrize("read", [np.asarray, DeviceArray.numpy, lambda array: hasattr(array, "__array_interface__")])
def test_a_result_that_numpy_has_copied_gives_its_memory_to_the_next(
    fake: FakeCupy, backend: EngineBackend, read: Callable[[DeviceArray], object]
) -> None:
    """NumPy asks for host memory first. The question does not share the memory, and no launch is prepared again."""
    source, x = doubling(), make.array(backend, WORDS)
    read(dispatch_device_arrays(backend, source, {"x": x})["out"])
    assert calls(fake, lambda: read(dispatch_device_arrays(backend, source, {"x": x})["out"]))["launchKernel"] == 1
    before = backend.backend_metric_snapshot()["prepares"]
    for _ in range(3):
        read(dispatch_device_arrays(backend, source, {"x": x})["out"])
    assert backend.backend_metric_snapshot()["prepares"] == before
    assert calls(fake, lambda: dispatch_device_arrays(backend, source, {"x": x})) == LAUNCH


def test_a_dispatch_of_bytes_copies_in_and_out(fake: FakeCupy, backend: EngineBackend) -> None:
    """The output is written everywhere, so it is not filled; each copy has an event, and the last is asked."""
    source = doubling()
    counted = calls(fake, lambda: backend.dispatch(source, [WORDS]))
    assert counted == {"memcpyAsync": 2, "launchKernel": 1, "eventRecord": 2, "eventQuery": 2}


def test_small_inputs_of_the_host_are_uploaded_once(fake: FakeCupy, backend: EngineBackend) -> None:
    source, x = adding(), make.array(backend, WORDS)

    def run(number: int) -> DeviceArray:
        return dispatch_device_arrays(backend, source, {"x": x, "by": np.uint32([number])})["out"]

    assert calls(fake, lambda: [run(n) for n in range(3)]) == Counter(launchKernel=3)
    outs = [run(n) for n in range(3)]
    assert [out.numpy().tolist() for out in outs] == [(WORDS + n).tolist() for n in range(3)]
    fake.log.clear()
    for number in range(1000, 1000 + arrays_memory.MAX_CONSTANTS + 10):
        assert run(number).numpy()[1] == number + 1
    assert run(0).numpy().tolist() == WORDS.tolist()
    assert fake.log.count("memcpyAsync") > arrays_memory.MAX_CONSTANTS
    assert len(arrays_memory._constants[backend]) == arrays_memory.MAX_CONSTANTS
    backend.try_recover()
    x = make.array(backend, WORDS)
    assert run(7).numpy().tolist() == (WORDS + 7).tolist()


def test_memory_that_was_freed_by_its_handle_is_not_used_again(backend: EngineBackend) -> None:
    source, x = doubling(), make.array(backend, WORDS)
    out = dispatch_device_arrays(backend, source, {"x": x})["out"]
    handle = out.resource
    assert handle is not None
    assert handle.is_live()
    handle.end()
    assert not handle.is_live()
    del out
    assert dispatch_device_arrays(backend, source, {"x": x})["out"].numpy().tolist() == (WORDS * 2).tolist()
    backend.shutdown()
    assert not x.resource.is_live()  # type: ignore[union-attr]


def test_a_program_that_can_trap_is_waited_for(fake: FakeCupy, backend: EngineBackend) -> None:
    source, x = trapping(), make.array(backend, WORDS)
    for _ in range(3):
        with pytest.raises(Trapped, match="seven"):
            dispatch_device_arrays(backend, source, {"x": x})


def test_a_timeout_is_waited_for(fake: FakeCupy, backend: EngineBackend) -> None:
    source, resources, soon = doubling(), resident(backend), DispatchConfig(timeout=60.0)
    counted = calls(fake, lambda: backend.dispatch_resident(source, resources, soon))
    assert counted["eventQuery"] >= 1
    assert fake.under_way == 0


def test_memory_that_others_use_is_waited_for(fake: FakeCupy, backend: EngineBackend) -> None:
    """They do not know our stream."""
    source, resources = doubling(), resident(backend)
    host = np.zeros_like(WORDS)
    interface = {**host.__array_interface__, "version": 3, "stream": None}
    wrapped = backend.wrap_device_buffer(SimpleNamespace(nbytes=host.nbytes, __cuda_array_interface__=interface))
    assert isinstance(wrapped, EngineBuffer)
    calls(fake, lambda: backend.dispatch_resident(source, [resources[0], wrapped.resource]))
    assert fake.under_way == 0
    assert host.tolist() == (WORDS * 2).tolist()

    assert calls(fake, lambda: backend.dispatch_resident(source, resources)) == LAUNCH
    exported = backend.export_resident(resources[1])
    exported.host[:] = 0
    backend.dispatch_resident(source, resources)
    assert fake.under_way == 0
    assert exported.host.view(np.uint32).tolist() == (WORDS * 2).tolist()
    backend.export_resident(resources[1])
    assert calls(fake, lambda: backend.dispatch_resident(source, resources))["launchKernel"] == 1


def test_what_nothing_has_waited_for_fails_in_the_next_wait(fake: FakeCupy, backend: EngineBackend) -> None:
    source, resources = doubling(), resident(backend)
    for _ in range(3):
        backend.dispatch_resident(source, resources)
    fake.sticky = 719
    with pytest.raises(DeviceLost, match="LaunchFailure"):
        backend.download_resident(resources[1])
    assert backend.device_lost()
    with pytest.raises(DeviceLost):
        backend.dispatch_resident(source, resources)
    fake.sticky = 0
    backend.try_recover()
    assert bytes(backend.dispatch(source, [WORDS])[0]) == (WORDS * 2).tobytes()


def test_work_in_flight_is_bounded_and_forgotten(
    fake: FakeCupy, backend: EngineBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch_module, "MOST_LAUNCHES", 8)
    monkeypatch.setattr(order_module, "TRIM", 4)
    source, x = doubling(), make.array(backend, WORDS)
    device = backend._session.require()
    for _ in range(100):
        dispatch_device_arrays(backend, source, {"x": x})
        assert fake.under_way <= 16
        assert len(device.port._order._uses) <= 24


def test_a_warm_dispatch_of_bytes_remembers_nothing(backend: EngineBackend) -> None:
    source = doubling()
    for _ in range(2 * order_module.TRIM):
        backend.dispatch(source, [WORDS])
    assert len(backend._session.require().port._order._uses) <= order_module.TRIM


def test_freed_arrays_live_until_the_work_has_ended(fake: FakeCupy, backend: EngineBackend) -> None:
    source = doubling()
    x = make.array(backend, WORDS)
    dispatch_device_arrays(backend, source, {"x": x})
    fake.patience = 10**9
    outs: list[DeviceArray] = [dispatch_device_arrays(backend, source, {"x": x})["out"] for _ in range(3)]
    x.close()
    outs[0].close()
    others = [make.array(backend, WORDS + n) for n in range(3)]
    fake.patience = 0
    assert outs[1].numpy().tolist() == (WORDS * 2).tolist()
    assert [other.numpy().tolist() for other in others] == [(WORDS + n).tolist() for n in range(3)]
