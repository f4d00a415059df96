"""How many launches are in flight, however many a dispatch has."""

from typing import Any

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.engine import launch
from vyre_driver.errors import DispatchTimeout
from vyre_driver.testing.fake_port import ELAPSED_NS, InjectedError

from .programs import DOUBLED, A, Engine, double, doubling

MOST = 64
WITHOUT_END = DispatchConfig(fixpoint_iterations=2**40)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "MOST_LAUNCHES", MOST)


@pytest.mark.parametrize("call", ["dispatch", "dispatch_borrowed_timed", "dispatch_async"])
def test_iterations_without_end_are_few_in_flight_and_can_be_interrupted(engine: Engine, call: str) -> None:
    e = engine(double, is_lazy=True, faults=[InjectedError("wait", KeyboardInterrupt(), nth=20)])
    with pytest.raises(KeyboardInterrupt):
        getattr(e.backend, call)(doubling(), [A], WITHOUT_END)
    (port,) = e.ports
    assert MOST // 2 < port.most_in_flight <= MOST + 2  # an upload, and a fill
    assert port.count("launch") == 21 * MOST // 2
    assert e.backend.dispatch(doubling(), [A]) == [DOUBLED]


def test_iterations_without_end_over_resident_memory(engine: Engine) -> None:
    e = engine(double, is_lazy=True, faults=[InjectedError("wait", KeyboardInterrupt(), nth=20)])
    resources = [e.backend.allocate_resident(20) for _ in "ab"]
    with pytest.raises(KeyboardInterrupt):
        e.backend.dispatch_resident_timed(doubling(), resources, WITHOUT_END)
    assert e.ports[0].most_in_flight <= MOST + 2


def test_the_deadline_ends_a_wait_for_older_launches(engine: Engine) -> None:
    e = engine(double, is_lazy=True, hangs=True)
    with pytest.raises(DispatchTimeout, match="during the kernels"):
        e.backend.dispatch(doubling(), [A], DispatchConfig(fixpoint_iterations=2**40, timeout=5.0))
    assert e.ports[0].count("launch") == MOST
    e.ports[0].hangs = False


def test_the_times_of_many_launches_add_up(engine: Engine) -> None:
    e = engine(double, is_lazy=True)
    timed = e.backend.dispatch_borrowed_timed(doubling(), [A], DispatchConfig(fixpoint_iterations=10 * MOST + 1))
    assert timed.device_ns == (10 * MOST + 1) * ELAPSED_NS
    e.ports[0].elapsed_ns = None
    assert e.backend.dispatch_borrowed_timed(doubling(), [A], DispatchConfig(fixpoint_iterations=200)).device_ns is None


def test_few_launches_wait_once(engine: Engine) -> None:
    e = engine(double, is_lazy=True)
    outputs: Any = e.backend.dispatch(doubling(), [A], DispatchConfig(fixpoint_iterations=MOST - 1))
    assert np.frombuffer(outputs[0], np.uint32).tolist() == (2 * A).tolist()
    assert e.ports[0].count("wait") == 0  # but for the output
