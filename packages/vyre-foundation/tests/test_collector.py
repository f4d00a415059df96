"""The collector is told to be rare, and is as before afterwards, however blocks overlap."""

import gc
import threading
import weakref
from collections.abc import Iterator

import pytest

from vyre_foundation import decode, encode, program, u32
from vyre_foundation.collector import MOST_UNSEEN, THRESHOLDS, rare_collections


class Cyclic:
    def __init__(self) -> None:
        self.me = self


@pytest.fixture(autouse=True)
def _thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_a_block_raises_the_thresholds_and_ends_with_those_before() -> None:
    with rare_collections():
        assert gc.get_threshold() == THRESHOLDS
        with rare_collections():
            assert gc.get_threshold() == THRESHOLDS
        assert gc.get_threshold() == THRESHOLDS
    assert gc.get_threshold() == (700, 10, 10)


def test_an_error_ends_a_block() -> None:
    with pytest.raises(ValueError, match="inside"), rare_collections():
        raise ValueError("inside")
    assert gc.get_threshold() == (700, 10, 10)


def test_blocks_of_threads_overlap_in_any_order() -> None:
    entered, leave = threading.Event(), threading.Event()

    def work() -> None:
        with rare_collections():
            entered.set()
            leave.wait()

    thread = threading.Thread(target=work)
    with rare_collections():
        thread.start()
        entered.wait()
    assert gc.get_threshold() == THRESHOLDS
    leave.set()
    thread.join()
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("chosen", [(0, 10, 10), (10**6, 5, 5)])
def test_a_collector_that_is_off_or_rarer_stays_so(chosen: tuple[int, int, int]) -> None:
    gc.set_threshold(*chosen)
    with rare_collections():
        assert gc.get_threshold() == chosen
    assert gc.get_threshold() == chosen


def test_what_somebody_sets_inside_stays() -> None:
    with rare_collections():
        gc.set_threshold(500, 5, 5)
    assert gc.get_threshold() == (500, 5, 5)


def test_cycles_inside_are_still_freed() -> None:
    with rare_collections():
        first = weakref.ref(Cyclic())
        held: list[list[int]] = [[] for _ in range(THRESHOLDS[0] + 1000)]
        assert first() is None
    del held


def test_what_a_block_leaves_behind_is_old() -> None:
    with rare_collections():
        held: list[list[int]] = [[] for _ in range(10_000)]
    young = {id(thing) for generation in (0, 1) for thing in gc.get_objects(generation)}
    assert young.isdisjoint(map(id, held))
    assert any(thing is held[0] for thing in gc.get_objects(2))


def test_a_small_block_leaves_its_objects_to_the_collector() -> None:
    gc.collect()
    with rare_collections():
        held: list[int] = []
    assert any(thing is held for thing in gc.get_objects(0))


def test_cycles_of_many_blocks_are_freed() -> None:
    first = weakref.ref(Cyclic())
    held: list[list[list[int]]] = []
    for _ in range(MOST_UNSEEN // 200_000 + 1):
        with rare_collections():
            held.append([[] for _ in range(200_000)])
    assert first() is None


def test_what_somebody_froze_stays_frozen() -> None:
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with rare_collections():
            held: list[list[int]] = [[] for _ in range(10_000)]
        assert gc.get_freeze_count() > frozen // 2
        del held
    finally:
        gc.unfreeze()


def test_a_disabled_collector_does_not_run() -> None:
    gc.disable()
    try:
        first = weakref.ref(Cyclic())
        with rare_collections():
            held: list[list[int]] = [[] for _ in range(MOST_UNSEEN + 1)]
        assert first() is not None
        del held
    finally:
        gc.enable()


def test_building_and_decoding_leave_the_collector_as_it_was() -> None:
    with program("p") as p:
        assert gc.get_threshold() == THRESHOLDS
        out = p.write("out", u32, 4)
        out[p.global_id(0)] = 1
    assert gc.get_threshold() == (700, 10, 10)
    assert decode(encode(p.build())) == p.build()
    assert gc.get_threshold() == (700, 10, 10)
