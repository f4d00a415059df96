"""Races over scripted times: who wins, when it ends, and what noise cannot do."""

from __future__ import annotations

import random
from collections.abc import Iterable

from vyre_driver.tune.race import FAIR, MARGIN, MAX_SAMPLES, Clock, is_apart, is_slower, race


def scripted(times: Iterable[float]) -> Clock:
    given = iter(times)
    return lambda: next(given)


def noisy(ns: float, seed: int) -> Clock:
    """Times up to twice as long, as another process on the machine makes them."""
    generator = random.Random(seed)
    return lambda: ns * (1 + generator.random() ** 4)


def test_the_faster_one_wins_as_soon_as_that_is_clear() -> None:
    result = race([scripted([100.0] * 99), scripted([80.0] * 99), scripted([90.0] * 99)])
    assert (result.winner, result.is_clear) == (1, True)
    assert [len(times) for times in result.times] == [4, 4, 4]
    assert result.median_ns(1) == 80.0


def test_what_is_far_slower_runs_twice() -> None:
    result = race([scripted([100.0] * 99), scripted([1000.0, 900.0]), scripted([101.0] * 99)])
    assert result.winner == 0
    assert result.times[1] == (900.0,)


def test_one_interrupted_sample_does_not_decide() -> None:
    result = race([scripted([100.0] * 99), scripted([10_000.0, *[20.0] * 99])])
    assert (result.winner, result.is_clear) == (1, True)


def test_the_incumbent_stays_within_the_margin() -> None:
    just_below = 100.0 / (MARGIN - 0.01)
    result = race([scripted([100.0] * 99), scripted([just_below] * 99)])
    assert (result.winner, result.is_clear) == (0, False)
    assert race([scripted([100.0] * 99), scripted([100.0 / (MARGIN + 0.01)] * 99)]).winner == 1


def test_equal_candidates_do_not_change_places() -> None:
    """Of 200 races between equals under heavy noise, hardly any replaces the incumbent."""
    replaced = sum(race([noisy(100, seed), noisy(100, 1000 + seed)]).winner for seed in range(200))
    assert replaced <= 4


def test_a_clear_winner_is_found_under_noise() -> None:
    found = sum(race([noisy(100, seed), noisy(60, 1000 + seed)]).winner for seed in range(100))
    assert found >= 95


def test_a_race_that_nobody_wins_has_an_end() -> None:
    """Each is faster in every other round."""
    result = race([scripted([100.0, 90.0] * 50), scripted([90.0, 100.0] * 50)])
    assert result.winner == 0
    assert len(result.times[0]) <= MAX_SAMPLES


def test_one_candidate_wins_alone() -> None:
    result = race([scripted([5.0])])
    assert (result.winner, result.is_clear, result.times) == (0, False, ((5.0,),))


def test_a_candidate_that_is_not_ahead_leaves_after_a_few_rounds() -> None:
    """Whether it is slower or as fast: the incumbent stays in both cases."""
    for times in ([101.0, 99.0], [100.0], [104.0, 103.0], [98.0]):
        result = race([scripted([100.0] * 99), scripted(times * 99)])
        assert (result.winner, [len(found) for found in result.times]) == (0, [FAIR, FAIR])


def test_the_incumbent_is_not_replaced_before_a_few_rounds() -> None:
    result = race([scripted([1000.0] * 99), scripted([10.0] * 99)])
    assert (result.winner, [len(found) for found in result.times]) == (1, [FAIR, FAIR])


def test_fewer_samples_must_differ_by_more() -> None:
    least = [1.5, 1.25, 1.125, 1.0625, 1.03125]
    for samples, factor in enumerate(least, 1):
        assert not is_apart([100.0 * factor] * samples, [100.0] * samples)
        assert is_apart([101.0 * factor] * samples, [100.0] * samples)
        assert not is_apart([101.0 * factor] * samples, [*[100.0] * (samples - 1), 102.0])


def test_the_sign_test_needs_eight_of_eight() -> None:
    assert not is_slower([2.0] * 7, [1.0] * 7)
    assert is_slower([2.0] * 8, [1.0] * 8)
    assert not is_slower([2.0] * 8 + [0.5], [1.0] * 9)
    assert not is_slower([1.0] * 50, [1.0] * 50)
