from vyre_driver.device.queue import Queue
from vyre_driver.plan.cost import Cost
from vyre_driver.policy.queue import (
    LONGEST_BLOCKING,
    choose_queue,
    queue_of_sequence,
    review_queue,
)

CALLER = Queue(name="caller", workers=1, launch_ns=1_000, is_interruptible=False)
POOL = Queue(name="pool", workers=2, launch_ns=40_000)
BOTH = (CALLER, POOL)
MOST_UNITS = LONGEST_BLOCKING * 1e9
"""Of work that may block the host, where a unit takes a nanosecond at worst."""


def cost(units: float, groups: int = 1000, is_certain: bool = True) -> Cost:
    return Cost(units, groups, is_certain, units)


def test_one_queue_is_no_choice() -> None:
    assert choose_queue([POOL], cost(1), 1.0).reason == "the only queue"


def test_small_work_goes_where_a_launch_is_cheap() -> None:
    verdict = choose_queue(BOTH, cost(10_000), 0.1)
    assert verdict.queue == 0
    assert verdict.reason == "estimated 1 µs of work for one worker, 1000 workgroups: 'caller' 2 µs, 'pool' 40.5 µs"


def test_large_work_goes_where_the_workers_are() -> None:
    assert choose_queue(BOTH, cost(1_000_000), 0.1).queue == 1


def test_the_break_is_where_both_take_the_same() -> None:
    """1000 + w = 40000 + w / 2, hence w = 78000."""
    assert [choose_queue(BOTH, cost(w), 1.0).queue for w in (77_000, 79_000)] == [0, 1]


def test_one_workgroup_has_one_worker() -> None:
    assert choose_queue(BOTH, cost(1_000_000, groups=1), 0.1).queue == 0


def test_what_may_take_long_must_be_interruptible() -> None:
    assert choose_queue(BOTH, cost(MOST_UNITS, groups=1), 1e-8).queue == 0
    verdict = choose_queue(BOTH, cost(MOST_UNITS + 1, groups=1, is_certain=False), 1e-8)
    assert verdict.queue == 1
    assert verdict.reason.startswith("at most, by an estimate, 1 ns of work for one worker, 1 workgroups: ")
    assert verdict.reason.endswith("so much must be interruptible")


def test_where_no_queue_is_interruptible_one_is_taken_all_the_same() -> None:
    assert choose_queue([CALLER, CALLER], cost(1e12), 1.0).queue == 0


def test_a_measurement_stays_unless_another_queue_seems_much_better() -> None:
    assert review_queue(BOTH, cost(1), {0: 90_000.0}).queue == 0  # (89 / 2 + 40) · 1.1 = 93
    verdict = review_queue(BOTH, cost(1), {0: 200_000.0})
    assert (verdict.queue, verdict.reason) == (1, "measured: 'caller' 200 µs, so 'pool' could be faster")


def test_a_queue_with_fewer_workers_may_not_have_needed_more() -> None:
    """What two workers did in 160 µs beside the launch, one might do in the same time: memory has one speed."""
    assert review_queue(BOTH, cost(1), {1: 500_000.0}).queue == 1
    assert review_queue(BOTH, cost(1), {1: 300_000.0}).queue == 0


def test_of_two_measurements_the_shorter_wins() -> None:
    verdict = review_queue(BOTH, cost(1), {0: 200_000.0, 1: 210_000.0})
    assert (verdict.queue, verdict.reason) == (0, "measured: 'caller' 200 µs, 'pool' 210 µs")


def test_a_measurement_does_not_make_long_work_uninterruptible() -> None:
    assert review_queue(BOTH, cost(2 * MOST_UNITS), {1: 50_000.0}).queue == 1


def test_every_launch_of_a_sequence_costs_what_a_launch_costs() -> None:
    """A small launch takes 2 µs in one queue and 40.5 µs in the other, however many follow each other."""
    assert [queue_of_sequence(BOTH, [(cost(10_000), n)], 0.1) for n in (1, 100_000)] == [0, 0]
    assert queue_of_sequence(BOTH, [(cost(10_000), 10), (cost(10_000_000), 1)], 0.1) == 1
    assert queue_of_sequence(BOTH, [(cost(10_000), 1000), (cost(1_000_000), 1)], 0.1) == 0


def test_one_launch_of_a_sequence_that_may_take_long_must_be_interruptible() -> None:
    costs = [(cost(MOST_UNITS / 2, groups=1), 4)]
    assert queue_of_sequence(BOTH, costs, 1e-6) == 0
    assert queue_of_sequence(BOTH, [*costs, (cost(MOST_UNITS + 1, groups=1), 1)], 1e-6) == 1
