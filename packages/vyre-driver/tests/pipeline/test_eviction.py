"""The coldest go: rarely used, long ago, cheap to make again, large."""

import dataclasses

import pytest

from vyre_driver.pipeline.eviction import HALF_LIFE_S, Temperature, coldest

WARM = Temperature("warm", size=100, cost_ns=10**9, uses=10, age_s=60.0)


@pytest.mark.parametrize(
    "change",
    [{"size": 200}, {"cost_ns": 10**8}, {"uses": 2}, {"age_s": 2 * HALF_LIFE_S}],
    ids=lambda change: next(iter(change)),
)
def test_each_of_the_four_makes_an_entry_colder(change: dict[str, float]) -> None:
    cold = dataclasses.replace(WARM, key="cold", **change)
    assert cold.heat < WARM.heat
    assert coldest([WARM, cold], 200 if "size" in change else 150) == ["cold"]


def test_a_week_halves_a_use() -> None:
    old = dataclasses.replace(WARM, age_s=WARM.age_s + HALF_LIFE_S)
    assert old.heat * 2 == pytest.approx(WARM.heat)


def test_nothing_goes_while_there_is_room() -> None:
    assert coldest([WARM, dataclasses.replace(WARM, key="other")], 200) == []
    assert coldest([], 0) == []


def test_an_eviction_leaves_a_tenth_of_the_bound_free() -> None:
    entries = [dataclasses.replace(WARM, key=f"{n:02}", uses=n + 1) for n in range(11)]
    assert coldest(entries, 1000) == ["00", "01"]


def test_ties_go_by_key() -> None:
    entries = [dataclasses.replace(WARM, key=key) for key in "cab"]
    assert coldest(entries, 0) == ["a", "b", "c"]


def test_numbers_that_no_clock_gives_do_no_harm() -> None:
    odd = Temperature("odd", size=0, cost_ns=0, uses=0, age_s=-5.0)
    assert odd.heat == 1.0
