"""Sequences of dispatches over resident memory: in order, with one wait, recorded where the port records."""

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vyre_driver.backend.resources import ResidentDispatchStep, ResidentReadRange, Resource
from vyre_driver.engine import launch, sequence
from vyre_driver.errors import DeviceLost, DispatchFailed, InvalidInput, InvalidLaunch, StaleHandle, Trapped
from vyre_driver.testing.fake_port import InjectedError
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program

from .programs import A, Engine, UseLowering, double, doubling, trap_if_odd, with_traps, words

RECORDS = pytest.mark.parametrize("records", [False, True], ids=["one by one", "recorded"])


class Ring:
    """Two resources, and the steps that double from one to the other."""

    def __init__(self, e: SimpleNamespace) -> None:
        self.backend = e.backend
        self.a, self.b = (e.backend.allocate_resident(20) for _ in "ab")
        e.backend.upload_resident(self.a, A)
        self.port = e.ports[0]
        source = doubling()
        self.there = ResidentDispatchStep(program=source, resources=(self.a, self.b))
        self.back = ResidentDispatchStep(program=source, resources=(self.b, self.a))
        self.target = np.zeros(5, np.uint32)

    def whole(self, resource: Resource) -> list[ResidentReadRange]:
        return [ResidentReadRange(resource=resource, byte_offset=0, byte_len=20)]

    def run(self, *steps: ResidentDispatchStep) -> None:
        self.backend.dispatch_resident_sequence_read_ranges_into(steps, [], [])

    def repeat(self, prefix: Any, repeated: Any, times: Any) -> None:
        self.backend.dispatch_resident_repeated_sequence_read_ranges_into(
            prefix, repeated, times, self.whole(self.a), [self.target]
        )

    @property
    def counts(self) -> dict[str, int]:
        found: dict[str, int] = self.backend.backend_metric_snapshot()
        return found


@RECORDS
def test_a_hundred_steps_wait_once(engine: Engine, records: bool) -> None:
    ring = Ring(engine(double, is_lazy=True, records=records))
    for n in (1, 2, 3):
        before = ring.counts
        ring.backend.dispatch_resident_sequence_read_ranges_into(
            [ring.there, ring.back] * 2 + [ring.there] * 96, ring.whole(ring.b), [ring.target]
        )
        after = ring.counts
        assert after["waits"] - before["waits"] == 1
        assert (after["launches"] - before["launches"], after["dispatches"] - before["dispatches"]) == (100, 100)
        assert ring.port.count("wait") == n
        assert ring.target.tolist() == (A * 32 * 16 ** (n - 1)).tolist()
    assert ring.counts["replays"] == (2 if records else 0)


@RECORDS
def test_a_repeated_sequence(engine: Engine, records: bool) -> None:
    ring = Ring(engine(double, is_lazy=True, records=records))
    ring.repeat([ring.there, ring.back], [ring.there, ring.back], 3)
    assert ring.target.tolist() == (A * 2**8).tolist()
    assert ring.counts["waits"] == 1
    assert (ring.port.count("record"), ring.port.count("replay")) == ((1, 1) if records else (0, 0))
    ring.repeat([], [ring.there, ring.back], 4)
    assert ring.target.tolist() == (A * 2**16).tolist()
    assert ring.counts["launches"] == 16
    ring.backend.upload_resident(ring.a, A * 2**8)
    ring.repeat([], [ring.there, ring.back], 0)
    ring.repeat([ring.there], [], 5)
    assert ring.target.tolist() == (A * 2**8).tolist()
    for times in (-1, 1.0, True):
        with pytest.raises(InvalidLaunch, match="repetitions"):
            ring.repeat([ring.there], [ring.back], times)


@RECORDS
def test_a_long_one_is_waited_for_in_between(engine: Engine, records: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is older than the last few launches has ended when more are enqueued, however the steps come."""
    monkeypatch.setattr(launch, "MOST_LAUNCHES", 8)
    monkeypatch.setattr(sequence, "MOST_RECORDED", 4)
    monkeypatch.setattr(sequence, "WORTHWHILE", 4)
    for repetitions, steps in ((10, 2), (1, 20), (3, 7)):
        ring = Ring(engine(double, is_lazy=True, records=records))
        repeated = [ring.there, ring.back] * (steps // 2) + [ring.there, ring.back][: steps % 2]
        before = ring.port.most_in_flight
        ring.repeat([], repeated, repetitions)
        ring.repeat([], repeated, repetitions)
        assert before + 4 < ring.port.most_in_flight <= before + 8 + (2 * 4 if records else 0)
        assert ring.counts["launches"] == 2 * steps * repetitions
        if steps % 2 == 0:
            assert ring.target.tolist() == (A.astype(object) * 2 ** (2 * steps * repetitions) % 2**32).tolist()


def test_times(engine: Engine) -> None:
    ring = Ring(engine(double))
    timing = ring.backend.dispatch_resident_sequence_read_ranges_timed_into(
        [ring.there, ring.back, ring.there], ring.whole(ring.b), [ring.target]
    )
    assert timing.device_ns == 3000
    assert timing.enqueue_ns + timing.wait_ns == timing.wall_ns
    assert ring.target.tolist() == (A * 8).tolist()
    ring.port.elapsed_ns = None
    assert ring.backend.dispatch_resident_sequence_read_ranges_timed_into([ring.back], [], []).device_ns is None


def test_an_empty_sequence_reads(engine: Engine) -> None:
    ring = Ring(engine(double))
    ring.backend.dispatch_resident_sequence_read_ranges_into([], ring.whole(ring.a), [ring.target])
    assert ring.target.tolist() == A.tolist()
    assert ring.counts["waits"] == 0


def test_a_recording_ends_with_what_it_uses(engine: Engine) -> None:
    ring = Ring(engine(double, records=True))
    steps = [ring.there, ring.back]
    ring.run(*steps)
    ring.run(*steps)
    assert len(ring.port.recordings) == 1
    ring.backend.free_resident(ring.b)
    assert ring.port.recordings == set()
    with pytest.raises(StaleHandle, match="it was freed"):
        ring.run(*steps)
    ring.repeat(
        [], [ResidentDispatchStep(program=doubling(), resources=(ring.a, ring.backend.allocate_resident(20)))], 2
    )
    assert len(ring.port.recordings) == 1
    ring.backend.shutdown()
    assert ring.port.recordings == set()


def test_few_sequences_are_kept(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequence, "MAX_STEPS", 2 * sequence.LEAST_STEPS)
    ring = Ring(engine(double, records=True))
    for n in (1, 2, 3, 2, 4):
        ring.repeat([], [ring.there] * n, 2)
    assert len(ring.port.recordings) == 2
    before = ring.port.count("record")
    ring.repeat([], [ring.there] * 2, 2)
    assert ring.port.count("record") == before  # it was used after that of three
    ring.repeat([], [ring.there] * 1000, 2)
    ring.repeat([], [ring.there] * 1000, 2)
    assert ring.port.count("record") == before + 1  # the last one stays, however long it is
    assert len(ring.port.recordings) == 1


def many(e: SimpleNamespace, steps: int) -> list[ResidentDispatchStep]:
    """Steps of one program of which no two have the same resources."""
    resources = [e.backend.allocate_resident(20) for _ in range(40)]
    pairs = [(a, b) for a in resources for b in resources if a is not b]
    source = doubling()
    return [ResidentDispatchStep(program=source, resources=pair) for pair in pairs[:steps]]


@RECORDS
@pytest.mark.parametrize("steps", [600, 1000])
def test_sequences_by_turns_decide_nothing_again(engine: Engine, steps: int, records: bool) -> None:
    """Each owns what it needs. Launches of one program over other resources share one plan and one compilation."""
    e = engine(records=records)
    sequences = [many(e, steps) for _ in range(2)]
    for turn in range(2):
        before = e.backend.backend_metric_snapshot()
        for one in sequences:
            e.backend.dispatch_resident_sequence_read_ranges_into(one, [], [])
        after = e.backend.backend_metric_snapshot()
        made = {name: after[name] - before[name] for name in ("plans", "prepares", "launches", "waits")}
        first = turn == 0
        assert made == {"plans": 2 * first, "prepares": 2 * steps * first, "launches": 2 * steps, "waits": 2}
    assert e.ports[0].count("record") == (2 if records else 0)


def test_launches_over_other_resources_share_scratch_memory(engine: Engine) -> None:
    with program("scratching", 4) as p:
        a = p.read("a", u32)
        p.scratch("room", u32, 4)
        p.write("out", u32, like=a)
    source = p.build()
    e = engine(double)
    resources = [e.backend.allocate_resident(20) for _ in range(10)]
    e.backend.upload_resident(resources[0], A)
    steps = [ResidentDispatchStep(program=source, resources=(a, b)) for a, b in pairwise(resources)]
    e.backend.dispatch_resident_sequence_read_ranges_into(steps, [], [])
    assert words(e.backend.download_resident(resources[-1])) == (A * 2**9).tolist()
    assert e.ports[0].count("allocate") == 10 + 1
    e.backend.dispatch_resident_sequence_read_ranges_into(steps[:2], [], [])
    assert e.ports[0].count("allocate") == 10 + 1  # with another sequence, too
    for resource in resources:
        e.backend.free_resident(resource)
    assert e.ports[0].live == set()


def test_each_of_many_launches_has_its_record_of_traps(engine: Engine, lowering: UseLowering) -> None:
    lowering(with_traps)
    e = engine(trap_if_odd)
    steps = many(e, 600)
    a, b = steps[3].resources
    e.backend.upload_resident(a, np.full(5, 2, np.uint32))
    odd = [next(step for step in steps if step.resources[0] is not a and step.resources[1] is b)]
    e.backend.upload_resident(odd[0].resources[0], np.full(5, 7, np.uint32))
    with pytest.raises(Trapped) as caught:
        e.backend.dispatch_resident_sequence_read_ranges_into(steps[3:4] + odd, [], [])
    assert caught.value.trap_code == 7
    e.backend.upload_resident(odd[0].resources[0], np.full(5, 8, np.uint32))
    e.backend.dispatch_resident_sequence_read_ranges_into(steps[3:4] + odd, [], [])
    e.backend.dispatch_resident_sequence_read_ranges_into(steps[:0] + odd, [], [])


def test_equal_steps_are_prepared_once(engine: Engine) -> None:
    ring = Ring(engine(double))
    again = ResidentDispatchStep(program=ring.there.program, resources=(ring.a, ring.b))
    ring.run(ring.there, again, ring.there)
    ring.run(again, ring.there)
    assert ring.counts["prepares"] == 1


@RECORDS
def test_a_trap_comes_at_the_end_with_the_first_that_trapped(
    engine: Engine, lowering: UseLowering, records: bool
) -> None:
    lowering(with_traps)
    ring = Ring(engine(trap_if_odd, is_lazy=True, records=records))
    ring.repeat([], [ring.there, ring.back], 2)
    for odd in (3, 5):
        ring.backend.upload_resident(ring.b, np.full(5, odd, np.uint32))
        with pytest.raises(Trapped) as caught:
            ring.run(ring.back, ring.there, ring.back)
        assert caught.value.trap_code == odd
        assert words(ring.backend.download_resident(ring.a)) == [8 * odd] * 5  # all steps have run
    assert ring.counts["failures"] == 2
    ring.backend.upload_resident(ring.b, np.full(5, 4, np.uint32))
    ring.run(ring.back, ring.there)


def test_the_grid_may_come_from_the_step_before(engine: Engine) -> None:
    with program("counted", 4) as p:
        grid = p.read("grid", u32, 3)
        p.indirect_dispatch(grid)
        a = p.read("a", u32)
        p.write("out", u32, like=a)
    counted = p.build()
    seen: list[int] = []

    def compute(x: Any) -> None:
        if "grid" in x:
            seen.append(int(x["grid"][0]))
        else:
            double(x)

    e = engine(compute, is_lazy=True, records=True)
    grids = [e.backend.allocate_resident(12) for _ in "ab"]
    out = e.backend.allocate_resident(12)
    e.backend.upload_resident(grids[0], np.array([2, 1, 1], np.uint32))
    source = doubling()
    grow = [ResidentDispatchStep(program=source, resources=(grids[n], grids[1 - n])) for n in (0, 1)]
    ask = [ResidentDispatchStep(program=counted, resources=(grid, grids[0], out)) for grid in grids[1:]]
    e.backend.dispatch_resident_sequence_read_ranges_into([grow[0], *ask], [], [])
    e.backend.upload_resident(grids[0], np.array([3, 1, 1], np.uint32))
    e.backend.dispatch_resident_sequence_read_ranges_into([grow[0], *ask], [], [])
    assert seen == [4, 6]


def test_everything_is_checked_before_anything_runs(engine: Engine) -> None:
    ring = Ring(engine(double))
    small = ring.backend.allocate_resident(4)
    wrong = ResidentDispatchStep(program=doubling(), resources=(ring.a, small))
    before = ring.port.count("launch")
    for steps, ranges, targets in (
        ([ring.there, wrong], [], []),
        ([ring.there], ring.whole(small), [bytearray(20)]),
        ([ring.there], ring.whole(ring.a), [bytearray(19)]),
        ([ring.there], ring.whole(ring.a), []),
        ([ring.there], ring.whole(ring.a), [bytes(20)]),
    ):
        with pytest.raises(InvalidInput):
            ring.backend.dispatch_resident_sequence_read_ranges_into(steps, ranges, targets)
    assert ring.port.count("launch") == before


@pytest.mark.parametrize("call", ["launch", "wait", "copy_out", "record", "replay"])
@pytest.mark.parametrize(
    "error", [DispatchFailed("no", backend="fake"), KeyboardInterrupt()], ids=["fails", "interrupted"]
)
def test_a_sequence_that_fails_leaves_resources_and_goes_again(engine: Engine, call: str, error: BaseException) -> None:
    ring = Ring(engine(double, is_lazy=True, records=call in ("record", "replay")))
    ring.repeat([ring.there, ring.back], [], 1)
    ring.port.faults = [InjectedError(call, error, ring.port.count(call) + 1)]
    with pytest.raises(type(error)):
        ring.repeat([ring.there, ring.back], [ring.there, ring.back], 3)
    ring.port.faults = []
    ring.backend.upload_resident(ring.a, A)
    ring.repeat([ring.there, ring.back], [], 1)
    assert ring.target.tolist() == (A * 4).tolist()


def test_a_device_that_is_lost_during_a_sequence(engine: Engine) -> None:
    ring = Ring(engine(double, is_lazy=True))
    ring.port.faults = [InjectedError("launch", DeviceLost("fake", "gone"), nth=2)]
    with pytest.raises(DeviceLost):
        ring.run(ring.there, ring.back)
    assert ring.backend.device_lost()
    ring.backend.try_recover()
    with pytest.raises(StaleHandle, match="was opened again"):
        ring.run(ring.there, ring.back)


def test_a_full_device_does_not_give_up_what_is_about_to_run(engine: Engine) -> None:
    """The second step needs scratch memory for which the first one's must not go."""
    from vyre_driver.errors import DeviceOutOfMemory

    def scratching(name: str) -> Program:
        with program(name, 4) as p:
            a = p.read("a", u32)
            p.scratch("room", u32, 4)
            p.write("out", u32, like=a)
        return p.build()

    e = engine(double)
    a, b = (e.backend.allocate_resident(20) for _ in "ab")
    e.backend.upload_resident(a, A)
    steps = [
        ResidentDispatchStep(program=scratching("first"), resources=(a, b)),
        ResidentDispatchStep(program=scratching("second"), resources=(b, a)),
    ]
    port = e.ports[0]
    port.faults = [InjectedError("allocate", DeviceOutOfMemory(16, 0), port.count("allocate") + 2)]
    e.backend.dispatch_resident_sequence_read_ranges_into(steps, [], [])
    assert words(e.backend.download_resident(a)) == (A * 4).tolist()
