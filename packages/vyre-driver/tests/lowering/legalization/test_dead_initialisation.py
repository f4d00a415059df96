"""Arrays need no zeros where all of them is written before any of them is read, and only there."""

from __future__ import annotations

import pytest

from vyre_driver.legalization.dead_initialisation import dead_initialisations
from vyre_driver.legalization.images import spread
from vyre_foundation.build import program
from vyre_foundation.dtype import u32


def unseen(write, *, size=8, group=8) -> set[str]:
    with program("arrays", group) as p:
        w, out = p.workgroup("w", u32, size), p.write("out", u32, 64)
        write(p, w)
        p.barrier()
        out[p.global_id(0)] = w[7 - p.local_id(0)]
    return {buffer.name for buffer in dead_initialisations(p.build())}


def rows(p, w):
    with p.range(0, 4) as k:
        w[p.local_id(0) * 4 + k] = k


def columns(p, w):
    with p.range(0, 4) as k:
        w[k * 8 + p.local_id(0)] = k


def with_hole(p, w):
    with p.range(0, 4) as k:
        w[p.local_id(0) * 5 + k] = k


def leaving(p, w):
    with p.range(0, 4) as k:
        w[p.local_id(0) * 4 + k] = k
        with p.if_(k == p.workgroup_id(0)):
            p.break_()


def in_each_round(p, w):
    """The element of the last round is read in all of them."""
    with p.range(0, 4) as k:
        w[p.local_id(0) * 4 + k] = k
        with p.if_(k == 0):
            p.write("seen", u32, 64)[p.global_id(0)] = w[p.local_id(0) * 4 + 3]


def at_what_changed(p, w):
    at = p.var(0, u32)
    w[at.get()] = 1
    at.set(at + 1)
    p.write("seen", u32, 64)[p.global_id(0)] = w[at.get()]


def in_steps(p, w):
    with p.range(0, 32, 4) as k:
        for n in range(4):
            w[k + n] = k


def its_own_in_each_round(p, w):
    with p.range(0, 4) as k:
        w[p.local_id(0) * 4 + k] = k
        p.write("seen", u32, 64)[p.global_id(0)] = w[p.local_id(0) * 4 + k]


def in_a_loop_of_few(p, w):
    """Whose invocations read what nobody writes."""
    with p.range(0, p.local_id(0)):
        w[p.local_id(0)] = 1
        p.write("seen", u32, 64)[p.global_id(0)] = w[7 - p.local_id(0)]


def own(p, w):
    w[p.local_id(0)] = 1


def conditional(p, w):
    with p.if_(p.workgroup_id(0) == 0):
        w[p.local_id(0)] = 1


def read_before(p, w):
    w[p.local_id(0)] = w[p.local_id(0)] + 1


def after_a_return(p, w):
    with p.if_(p.workgroup_id(0) == 3):
        p.return_()
    w[p.local_id(0)] = 1


@pytest.mark.parametrize(
    ("write", "size", "is_unseen"),
    [
        (own, 8, True),
        (own, 9, False),
        (rows, 32, True),
        (columns, 32, True),
        (with_hole, 32, False),
        (leaving, 32, False),
        (conditional, 8, False),
        (read_before, 8, False),
        (after_a_return, 8, False),
        (in_steps, 32, True),
        (in_each_round, 32, False),
        (at_what_changed, 8, False),
        (its_own_in_each_round, 32, True),
        (in_a_loop_of_few, 8, False),
    ],
)
def test_all_of_an_array_is_written_or_not(write, size, is_unseen):
    assert (unseen(write, size=size) == {"w"}) is is_unseen


def test_an_invocation_writes_only_its_own_private_memory():
    with program("private", 8) as p:
        own, out = p.private("own", u32, 8), p.write("out", u32, 64)
        own[p.local_id(0)] = 1
        out[p.global_id(0)] = own[7]
    assert dead_initialisations(p.build()) == frozenset()


@pytest.mark.parametrize("is_read", [False, True])
def test_what_nobody_reads_needs_no_zeros(is_read):
    """Rows of 5, of which the last element is there for the sake of the distance."""
    with program("padded", (4, 2)) as p:
        w, out = p.workgroup("w", u32, 20), p.write("out", u32, 64)
        x, y = p.local_id(0), p.local_id(1)
        for strip in (0, 2):
            w[(y + strip) * 5 + x] = strip
        p.barrier()
        out[p.global_id(0)] = w[x * 5 + y + (3 if is_read else 2)]
    assert ({buffer.name for buffer in dead_initialisations(p.build())} == {"w"}) is not is_read


def test_rounds_that_all_come_to_share_what_they_write():
    """A tile that is filled in each round, between barriers; how many rounds there are is not known."""
    with program("tiles", 8) as p:
        w, a, out = p.workgroup("w", u32, 8), p.read("a", u32), p.write("out", u32, 64)
        with p.range(0, a.length) as k:
            w[p.local_id(0)] = a[k]
            p.barrier()
            out[p.global_id(0)] = w[7 - p.local_id(0)]
            p.barrier()
    assert {buffer.name for buffer in dead_initialisations(p.build())} == {"w"}


@pytest.mark.parametrize(
    ("numbers", "weight", "values", "room", "expected"),
    [
        (0b1, 1, range(5), 64, {0, 1, 2, 3, 4}),
        (0b11, 4, range(3), 64, {0, 1, 4, 5, 8, 9}),
        (0b1, 2, range(3, 10, 3), 64, {6, 12, 18}),
        (0b1, 3, range(100), 10, {0, 3, 6, 9}),
        (0b1, 3, range(7, 9), 10, set()),
        (0b1, 2**40, range(2**30), 10, {0}),
    ],
)
def test_sums_of_numbers_and_multiples(numbers, weight, values, room, expected):
    found = spread(numbers, weight, values, room)
    assert {n for n in range(found.bit_length()) if found >> n & 1} == expected
