"""Batches that are in flight together, and outputs in memory of the caller."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.engine import dispatcher, launch
from vyre_driver.errors import (
    DeviceOutOfMemory,
    DispatchFailed,
    InvalidInput,
    OutputLimitExceeded,
    StaleHandle,
    Trapped,
)
from vyre_driver.testing.fake_port import InjectedError

from .programs import DOUBLED, A, Engine, UseLowering, double, doubling, trap_if_odd, with_traps, words

PARTLY = DispatchConfig(grid_override=(1, 1, 1))
"""A workgroup for 4 of 5 elements: the output is filled first."""


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
    monkeypatch.setattr(dispatcher, "MAX_IN_FLIGHT", 4)
    assert firsts(lazy.pipeline.dispatch_batched(inputs(*range(10)))) == list(range(0, 20, 2))
    counts = lazy.backend.backend_metric_snapshot()
    assert (counts["waits"], counts["prepares"]) == (3, 4)


def test_a_large_batch_waits_before_it_fills_the_device(lazy: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher, "MAX_BYTES_IN_FLIGHT", 3 * 40 - 1)
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
    lazy.ports[0].faults = [InjectedError(call, error, nth)]
    config = PARTLY if call == "fill" else None
    with pytest.raises(type(error)):
        lazy.pipeline.dispatch_batched(inputs(1, 2, 3, 4), config)
    lazy.ports[0].faults = []
    assert lazy.backend.backend_metric_snapshot()["failures"] == 1
    assert firsts(lazy.pipeline.dispatch_batched(inputs(1, 2, 3, 4))) == [2, 4, 6, 8]


def test_a_full_device_in_a_batch(lazy: SimpleNamespace) -> None:
    lazy.backend.dispatch(doubling(), [A])  # what is kept of this goes
    allocated = lazy.ports[0].count("allocate")
    lazy.ports[0].faults = [InjectedError("allocate", DeviceOutOfMemory(20, 0), allocated + 5)]
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


@pytest.fixture
def large(lazy: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Has dispatched into a slot twice, so the next is a hit; no output is too small for a slot."""
    monkeypatch.setattr(launch, "SMALL", 0)
    for _ in range(2):
        lazy.pipeline.dispatch_into([A], None, [np.empty(5, np.uint32)])
    return lazy


def test_slots_of_the_right_size_are_written_to(large: SimpleNamespace) -> None:
    before = large.backend.backend_metric_snapshot()
    for slot in (np.zeros(5, np.uint32), np.zeros((5, 1), np.int32), np.zeros(20, np.uint8), np.zeros(5, np.float32)):
        slots: list[Any] = [slot]
        large.pipeline.dispatch_into([A.data], None, slots)
        assert slots[0] is slot
        assert slot.tobytes() == DOUBLED
    after = large.backend.backend_metric_snapshot()
    names = ("dispatches", "launches", "waits", "copies_in", "copies_out", "allocations", "prepares")
    assert [after[name] - before[name] for name in names] == [4, 4, 4, 4, 4, 0, 0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: [bytearray(20)],
        lambda: [np.zeros(4, np.uint32)],
        lambda: [np.frombuffer(bytearray(21), np.uint8)[1:].view(np.uint32)],
        lambda: [np.zeros(10, np.float16)],
        lambda: [np.zeros(5, [("a", np.uint32)])],
        list,
        lambda: [np.zeros(5, np.uint32), np.zeros(5, np.uint32)],
    ],
    ids=["bytes", "size", "unaligned", "half", "fields", "none", "more"],
)
def test_slots_of_any_kind_get_the_outputs(large: SimpleNamespace, make: Any) -> None:
    slots = make()
    large.pipeline.dispatch_into([A], None, slots)
    assert [bytes(slot) for slot in slots] == [DOUBLED]


def test_a_strided_slot_is_refused(large: SimpleNamespace) -> None:
    with pytest.raises(InvalidInput, match="output buffer 0"):
        large.pipeline.dispatch_into([A], None, [np.zeros(10, np.uint32)[::2]])


def test_a_slot_over_an_input_gets_a_copy(large: SimpleNamespace) -> None:
    both = A.copy()
    for turn in (1, 2):
        slots: list[Any] = [both]
        large.pipeline.dispatch_into([both], None, slots)
        assert (slots[0] is both, both.tolist()) == (True, (A * 2**turn).tolist())
    shared = np.zeros(9, np.uint32)
    shared[:5] = A
    slots = [shared[4:]]
    large.pipeline.dispatch_into([shared[:5].data], None, slots)
    assert shared.tolist() == [0, 1, 2, 3, 0, 2, 4, 6, 8]


def test_what_was_freed_or_closed_is_prepared_or_refused(large: SimpleNamespace) -> None:
    slot = np.zeros(5, np.uint32)
    large.ports[0].faults = [
        InjectedError("launch", DispatchFailed("once", backend="fake"), large.ports[0].count("launch") + 1)
    ]
    with pytest.raises(DispatchFailed, match="once"):
        large.pipeline.dispatch_into([A], None, [slot])
    before = large.backend.backend_metric_snapshot()["prepares"]
    large.pipeline.dispatch_into([A], None, [slot])
    assert slot.tobytes() == DOUBLED
    assert large.backend.backend_metric_snapshot()["prepares"] == before + 1
    large.pipeline.close()
    with pytest.raises(StaleHandle):
        large.pipeline.dispatch_into([A], None, [slot])


def test_a_program_that_traps_leaves_its_slot(
    engine: Engine, lowering: UseLowering, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "SMALL", 0)
    lowering(with_traps)
    e = engine(trap_if_odd)
    even, odd = np.zeros(5, np.uint32), np.ones(5, np.uint32)
    slot = np.full(5, 7, np.uint32)
    for _ in range(3):
        e.backend.dispatch_borrowed_into(doubling(), [even], DispatchConfig(), [slot])
    slot[:] = 7
    with pytest.raises(Trapped):
        e.backend.dispatch_borrowed_into(doubling(), [odd], DispatchConfig(), [slot])
    assert slot.tolist() == [7] * 5


def test_a_slot_that_cannot_be_written_to(lazy: SimpleNamespace) -> None:
    slots: list[Any] = [bytearray(20), bytes(20)]
    with pytest.raises(InvalidInput, match="output buffer 1"):
        lazy.pipeline.dispatch_into([A], None, slots)
    assert slots[0] == bytes(20)
    assert lazy.ports[0].count("launch") == 0
