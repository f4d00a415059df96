"""Traps: the dispatch fails with the lowest invocation's, and without one it is as if none were written."""

from __future__ import annotations

from collections.abc import Iterator

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, ExpectedTrap, Launch, Spec, fixed
from vyre_conform.cases.ids import linear_id
from vyre_conform.cases.values import pack
from vyre_foundation.build import program
from vyre_foundation.dtype import u32

COUNT = 100


def specs() -> Iterator[Spec]:
    yield fixed(address("traps", "none"), _some, [])
    yield fixed(address("traps", "one"), _some, [37])
    yield fixed(address("traps", "many"), _some, [99, 41, 70, 42])
    yield fixed(address("traps", "first_invocation"), _some, [0, 1])
    yield fixed(address("traps", "last_invocation"), _some, [99])
    yield fixed(address("traps", "beyond_the_output"), _some, [111])
    yield fixed(address("traps", "statement_order"), _statements)
    yield fixed(address("traps", "lowest_invocation_before_statement"), _lower_invocation)
    yield fixed(address("traps", "least_code"), _codes)
    yield fixed(address("traps", "statement_before_code"), _statement_before_code)
    yield fixed(address("traps", "in_3d"), _in_3d)
    yield fixed(address("traps", "goes_on"), _goes_on)
    yield fixed(address("traps", "second_iteration"), _iteration, 1)
    yield fixed(address("traps", "first_of_three"), _iteration, 0)
    for tag in ("one", "another"):
        yield fixed(address("traps", "alike", tag=tag), _alike, tag)
    yield fixed(address("traps", "after_grid_barrier"), _after_grid_barrier)


def _some(trapping: list[int]) -> tuple[Launch, Expected]:
    """The invocations in `trapping` trap with their number times ten."""
    with program("some", 16) as p:
        x, out = p.read("x", u32), p.write("out", u32, COUNT)
        i = p.let(p.global_id(0))
        with p.if_(x[i] != 0):
            p.trap(i * 10, "marked")
        out[i] = i
    marks = [int(n in trapping) for n in range(112)]
    launch = Launch(program=p.build(), inputs={"x": pack(u32, marks)})
    if not trapping:
        return launch, Exactly((pack(u32, range(COUNT)),))
    return launch, ExpectedTrap("marked", min(trapping) * 10, min(trapping))


def _statements() -> tuple[Launch, Expected]:
    """Of the traps of one invocation the first statement counts, whichever ran first."""
    with program("statements", 8) as p:
        p.write("out", u32, 16)
        with p.range(0, 2) as round:
            with p.if_(round == 1):
                p.trap(11, "written first")
            with p.if_(round == 0):
                p.trap(22, "run first")
    return Launch(program=p.build(), inputs={}), ExpectedTrap("written first", 11, 0)


def _lower_invocation() -> tuple[Launch, Expected]:
    with program("lower_invocation", 8) as p:
        p.write("out", u32, 32)
        i = p.let(p.global_id(0))
        with p.if_(i >= 20):
            p.trap(1, "first statement")
        with p.if_(i >= 9):
            p.trap(2, "second statement")
    return Launch(program=p.build(), inputs={}), ExpectedTrap("second statement", 2, 9)


def _codes() -> tuple[Launch, Expected]:
    """Of the codes of one statement and invocation the least counts."""
    with program("codes", 8) as p:
        p.write("out", u32, 32)
        with p.range(0, 5) as round, p.if_(p.global_id(0) >= 6):
            p.trap(50 - round * 7 % 5, "codes")
    return Launch(program=p.build(), inputs={}), ExpectedTrap("codes", 46, 6)


def _statement_before_code() -> tuple[Launch, Expected]:
    """Two statements trap: the first counts though its codes are greater.

    Its least code counts though it is recorded neither first nor last.
    """
    with program("statement_before_code", 8) as p:
        p.write("out", u32, 32)
        i = p.let(p.global_id(0))
        with p.range(0, 4) as round, p.if_(i >= 10):
            p.trap((round * 5 + 2) % 7 + 2**31 + i, "first")
            p.trap(round, "second")
        with p.if_(i >= 10):
            p.trap(0, "third")
    return Launch(program=p.build(), inputs={}), ExpectedTrap("first", 2**31 + 10, 10)


def _in_3d() -> tuple[Launch, Expected]:
    """Invocations are numbered by rows of the whole grid, not by workgroups."""
    size = (2, 3, 2)
    with program("trap_in_3d", size) as p:
        p.write("out", u32, 4)
        i = linear_id(p, size)
        with p.if_((p.global_id(0) == 3) & (p.global_id(1) == 4) & (p.global_id(2) == 1)):
            p.trap(i, "here")
        with p.if_(p.global_id(2) >= 2):
            p.trap(i, "above")
    number = (1 * 6 + 4) * 4 + 3
    return Launch(program=p.build(), inputs={}, grid=(2, 2, 2)), ExpectedTrap("here", number, number)


def _goes_on() -> tuple[Launch, Expected]:
    """Who has trapped goes on, and can still meet the others at a barrier."""
    with program("goes_on", 8) as p:
        p.write("out", u32, 16)
        shared = p.workgroup("shared", u32, 8)
        local = p.let(p.local_id(0))
        with p.if_(p.global_id(0) == 12):
            p.trap(5, "late")
        shared[local] = local
        p.barrier()
        with p.if_((p.global_id(0) == 3) & (shared[4] == 4)):
            p.trap(6, "later")
    return Launch(program=p.build(), inputs={}), ExpectedTrap("later", 6, 3)


def _iteration(trapping: int) -> tuple[Launch, Expected]:
    """A trap of any iteration fails the dispatch, also where others follow."""
    with program("iteration", 8) as p:
        count = p.read_write("count", u32)
        i = p.let(p.global_id(0))
        with p.if_((count[i] == trapping) & (i == 5)):
            p.trap(count[i] + 7, "now")
        count[i] = count[i] + 1
    launch = Launch(program=p.build(), inputs={"count": bytes(32)}, iterations=3 - trapping)
    return launch, ExpectedTrap("now", trapping + 7, 5)


def _alike(tag: str) -> tuple[Launch, Expected]:
    """Programs that differ in the tag alone: code that is kept for one of them does not trap for the other."""
    with program("alike", 8) as p:
        p.write("out", u32, 8)
        p.trap(3, tag)
    return Launch(program=p.build(), inputs={}), ExpectedTrap(tag, 3, 0)


def _after_grid_barrier() -> tuple[Launch, Expected]:
    with program("after_grid_barrier", 8) as p:
        p.write("out", u32, 24)
        cells = p.scratch("cells", u32, 24)
        i = p.let(p.global_id(0))
        with p.if_(i == 20):
            p.trap(1, "before")
        cells[i] = i
        p.grid_barrier()
        with p.if_(cells[23 - i] == 13):
            p.trap(2, "after")
    return Launch(program=p.build(), inputs={}), ExpectedTrap("after", 2, 10)
