"""Batches that are in flight together, and outputs in memory of the caller."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.engine import batch
from vyre_driver.errors import DeviceOutOfMemory, DispatchFailed, InvalidInput, OutputLimitExceeded, Trapped
from vyre_driver.testing.fake_port import Fault

from .programs import DOUBLED, A, Engine, UseLowering, double, doubling, trap_if_odd, with_traps, words


def inputs(*numbers: int) -> list[Any]:
    return [[np.full(5, n, np.uint32)] for n in numbers]


def firsts(outputs: Any) -> list[int]:
    return [words(one[0])[0] for one in outputs]


@pytest.fixture
def lazy(engine: Engine) -> SimpleNamespace:
    e = engine(double, is_lazy=True)
    e.pipeline = e.backend.compile_native(doubling())
    return e


def test_a_batch_waits_once(lazy: SimpleNamespace) -> None:
    for turn in (1, 2):
        assert firsts(lazy.pipeline.dispatch_batched(inputs(*range(64)))) == list(range(0, 128, 2))
        counts = lazy.backend.backend_metric_snapshot()
        assert (counts["waits"], lazy.ports[0].count("wait")) == (turn, turn)
        assert (counts["dispatches"], counts["prepares"]) == (64 * turn, 64)
    assert lazy.pipeline.dispatch_batched([]) == []


def test_a_long_batch_waits_seldom(lazy: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "MAX_IN_FLIGHT", 4)
    assert firsts(lazy.pipeline.dispatch_batched(inputs(*range(10)))) == list(range(0, 20, 2))
    counts = lazy.backend.backend_metric_snapshot()
    assert (counts["waits"], counts["prepares"]) == (3, 4)


def test_a_large_batch_waits_before_it_fills_the_device(lazy: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "MAX_BYTES_IN_FLIGHT", 3 * 40 - 1)
    assert firsts(lazy.pipeline.dispatch_batched(inputs(*range(7)))) == list(range(0, 14, 2))
    assert lazy.backend.backend_metric_snapshot()["waits"] == 3


def test_lengths_may_differ(lazy: SimpleNamespace) -> None:
    outputs = lazy.pipeline.dispatch_batched([[A[:n]] for n in (5, 0, 2, 5)])
    assert [bytes(one) for (one,) in outputs] == [DOUBLED, b"", DOUBLED[:8], DOUBLED]
    assert lazy.backend.backend_metric_snapshot()["waits"] <= 2


def test_a_timeout_counts_for_each(lazy: SimpleNamespace) -> None:
    config = DispatchConfig(timeout=5.0)
    assert firsts(lazy.pipeline.dispatch_batched(inputs(1, 2, 3), config)) == [2, 4, 6]
    assert lazy.backend.backend_metric_snapshot()["waits"] == 3


@pytest.mark.parametrize("call", ["allocate", "copy_in", "fill", "launch", "wait", "copy_out"])
@pytest.mark.parametrize(
    "error", [DispatchFailed("no", backend="fake"), KeyboardInterrupt()], ids=["fails", "interrupted"]
)
def test_a_batch_that_fails_leaves_nothing_behind(lazy: SimpleNamespace, call: str, error: BaseException) -> None:
    nth = 1 if call == "wait" else 3
    lazy.ports[0].faults = [Fault(call, error, nth)]
    with pytest.raises(type(error)):
        lazy.pipeline.dispatch_batched(inputs(1, 2, 3, 4))
    lazy.ports[0].faults = []
    assert lazy.backend.backend_metric_snapshot()["failures"] == 1
    assert firsts(lazy.pipeline.dispatch_batched(inputs(1, 2, 3, 4))) == [2, 4, 6, 8]


def test_a_full_device_in_a_batch(lazy: SimpleNamespace) -> None:
    lazy.backend.dispatch(doubling(), [A])  # what is kept of this goes
    allocated = lazy.ports[0].count("allocate")
    lazy.ports[0].faults = [Fault("allocate", DeviceOutOfMemory(20, 0), allocated + 5)]
    assert firsts(lazy.pipeline.dispatch_batched(inputs(1, 2, 3, 4))) == [2, 4, 6, 8]


def test_what_is_refused_in_a_batch(lazy: SimpleNamespace) -> None:
    with pytest.raises(InvalidInput):
        lazy.pipeline.dispatch_batched([[A], [A, A]])
    with pytest.raises(OutputLimitExceeded):
        lazy.pipeline.dispatch_batched([[A[:2]], [A]], DispatchConfig(max_output_bytes=8))
    assert firsts(lazy.pipeline.dispatch_batched(inputs(1))) == [2]


def test_a_trap_in_a_batch(engine: Engine, lowering: UseLowering) -> None:
    lowering(with_traps)
    e = engine(trap_if_odd, is_lazy=True)
    pipeline = e.backend.compile_native(doubling())
    slots: list[Any] = [[bytearray(20)] for _ in range(4)]
    with pytest.raises(Trapped) as caught:
        pipeline.dispatch_batched_into(inputs(2, 3, 5, 4), None, slots)
    assert caught.value.trap_code == 3
    assert slots == [[bytes(20)]] * 4
    assert firsts(pipeline.dispatch_batched(inputs(2, 4))) == [4, 8]


# ── into memory of the caller ──


def test_slots_that_fit_are_written_to(lazy: SimpleNamespace) -> None:
    kept, small = bytearray(20), bytearray(3)
    slots: list[Any] = [kept]
    lazy.pipeline.dispatch_into([A], None, slots)
    assert slots[0] is kept
    assert kept == DOUBLED
    slots = [small, bytearray(1)]
    lazy.pipeline.dispatch_into([A], None, slots)
    assert (slots, small) == ([DOUBLED], bytearray(3))
    slots = []
    lazy.backend.dispatch_borrowed_into(doubling(), [A], DispatchConfig(), slots)
    assert slots == [DOUBLED]


def test_a_slot_over_an_input(lazy: SimpleNamespace) -> None:
    both = A.copy()
    slots: list[Any] = [both]
    lazy.pipeline.dispatch_into([both], None, slots)
    assert slots[0] is both
    assert both.tolist() == [0, 2, 4, 6, 8]


def test_slots_of_a_batch(lazy: SimpleNamespace) -> None:
    shared = np.zeros(10, np.uint32)
    outputs: list[Any] = [[shared[:5]], [shared[5:]], [bytearray(2)], [bytearray(1)]]
    lazy.pipeline.dispatch_batched_into(inputs(1, 2, 3), None, outputs)
    assert shared.tolist() == [2] * 5 + [4] * 5
    assert len(outputs) == 3
    assert words(outputs[2][0])[0] == 6
    assert lazy.backend.backend_metric_snapshot()["waits"] == 1


def test_a_slot_that_can_not_be_written_to(lazy: SimpleNamespace) -> None:
    slots: list[Any] = [bytearray(20), bytes(20)]
    with pytest.raises(InvalidInput, match="output slot 1"):
        lazy.pipeline.dispatch_into([A], None, slots)
    assert slots[0] == bytes(20)
    assert lazy.ports[0].count("launch") == 0
