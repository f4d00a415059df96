"""Which workgroup sizes are worth a trial, where workgroups are loops and where they are not."""

from dataclasses import replace

import pytest

from vyre_driver.device.profile import DeviceProfile, Extent
from vyre_driver.device.queue import Queue
from vyre_driver.plan.launch import plan_launch
from vyre_driver.policy.sizes import SizeVerdict, promising_sizes
from vyre_driver.testing.target import generous_profile
from vyre_foundation import program, u32

WIDTHS = tuple((2**n, 1, 1) for n in range(3, 11))
SQUARES = ((8, 8, 1), (16, 8, 1), (16, 16, 1), (32, 32, 1))
LOOPS = replace(generous_profile(), workgroups_are_loops=True, queues=(Queue(name="pool", workers=4),))
ITEMS = replace(generous_profile(), subgroup_size=32)


def verdict(
    own: Extent, count: int, profile: DeviceProfile, sizes: tuple[Extent, ...] = WIDTHS, *, breaks: bool = False
) -> SizeVerdict:
    with program("doubling", own) as p:
        a = p.read("a", u32)
        if breaks:
            with p.range(9) as k, p.if_(a[p.global_id(0)] < k):
                p.break_()
        p.write("out", u32, like=a)[p.global_id(0)] = a[p.global_id(0)] * 2
    return promising_sizes(plan_launch(p.build(), [4 * count]), profile, [size for size in sizes if size != own])


# fmt: off
TRIED: list[tuple[Extent, int, tuple[Extent, ...]]] = [
    ((128, 1, 1),  2**16, ()),
    ((512, 1, 1),  2**16, ()),
    ((64, 1, 1),   2**16, ((128, 1, 1),)),
    ((1, 1, 1),    2**16, ((128, 1, 1),)),
    ((1024, 1, 1), 2**16, ((128, 1, 1),)),
    ((512, 1, 1),  1024,  ((128, 1, 1),)),  # 2 workgroups for 4 workers
    ((256, 1, 1),  1024,  ()),
    ((256, 1, 1),  256,   ((128, 1, 1),)),
]
# fmt: on


@pytest.mark.parametrize(("own", "count", "tried"), TRIED)
def test_loops_are_long_enough_and_divide_evenly(own: Extent, count: int, tried: tuple[Extent, ...]) -> None:
    assert verdict(own, count, LOOPS).sizes == tried


def test_vectors_are_made_of_invocations_on_x() -> None:
    assert verdict((2, 64, 1), 2**16, LOOPS, SQUARES).sizes == ((16, 8, 1),)
    assert verdict((16, 16, 1), 2**16, LOOPS, SQUARES).sizes == ()


@pytest.mark.parametrize(
    ("own", "tried"),
    [(256, (16,)), (128, (16,)), (64, (16, 128)), (16, (128,)), (8, (128,)), (1024, (16, 128))],
)
def test_fewer_invocations_may_wait_for_each_other_in_a_loop_with_a_break(own: int, tried: tuple[int, ...]) -> None:
    found = verdict((own, 1, 1), 2**16, LOOPS, breaks=True)
    assert found.sizes == tuple((width, 1, 1) for width in tried)
    assert ("wait for each other" in found.reason) == (16 in tried)


def test_elsewhere_all_that_fill_a_subgroup_are_tried() -> None:
    assert verdict((256, 1, 1), 2**16, ITEMS).sizes == tuple(s for s in WIDTHS if s[0] >= 32 and s[0] != 256)


def test_a_reason_is_given() -> None:
    assert verdict((256, 1, 1), 2**16, LOOPS).reason == (
        "workgroups are loops, and 256 × 1 × 1 are long enough and divide evenly"
    )
    assert verdict((256, 1, 1), 2**16, LOOPS, ()).reason == "no other workgroup size is proven to mean the same"
