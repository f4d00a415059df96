"""Arrays need no zeros where all of them is written before any of them is read, and only there."""

from __future__ import annotations

import pytest

from vyre_driver.lower.overwritten import overwritten
from vyre_foundation.build import program
from vyre_foundation.dtype import u32


def unseen(write, *, size=8, group=8) -> set[str]:
    with program("arrays", group) as p:
        w, out = p.workgroup("w", u32, size), p.write("out", u32, 64)
        write(p, w)
        p.barrier()
        out[p.global_id(0)] = w[7 - p.local_id(0)]
    return {buffer.name for buffer in overwritten(p.build())}


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
    ],
)
def test_all_of_an_array_is_written_or_not(write, size, is_unseen):
    assert (unseen(write, size=size) == {"w"}) is is_unseen


def test_an_invocation_writes_only_its_own_private_memory():
    with program("private", 8) as p:
        own, out = p.private("own", u32, 8), p.write("out", u32, 64)
        own[p.local_id(0)] = 1
        out[p.global_id(0)] = own[7]
    assert overwritten(p.build()) == frozenset()
