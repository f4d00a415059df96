"""The collector is told to be rare, and is as before afterwards, however blocks overlap."""

import gc
import threading
import weakref
from collections.abc import Iterator

import pytest

from vyre_foundation import decode, encode, program, u32
from vyre_foundation.collector import THRESHOLDS, rare_collections


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
    class Cyclic:
        def __init__(self) -> None:
            self.me = self

    gc.enable()
    with rare_collections():
        first = weakref.ref(Cyclic())
        held: list[list[int]] = [[] for _ in range(THRESHOLDS[0] + 1000)]
        assert first() is None
    del held


def test_building_and_decoding_leave_the_collector_as_it_was() -> None:
    with program("p") as p:
        assert gc.get_threshold() == THRESHOLDS
        out = p.write("out", u32, 4)
        out[p.global_id(0)] = 1
    assert gc.get_threshold() == (700, 10, 10)
    assert decode(encode(p.build())) == p.build()
    assert gc.get_threshold() == (700, 10, 10)
