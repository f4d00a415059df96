"""Meeting: at barriers of the workgroup and of the grid, and what is said where invocations do not meet."""

from __future__ import annotations

import re
from linecache import getline

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.wire import decode, encode
from vyre_reference import DivergentBarrier, scalar, vector


def test_reversal_through_workgroup_memory(run):
    with program("reverse", 8) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        shared = p.workgroup("shared", u32, 8)
        i, l = p.global_id(0), p.local_id(0)
        shared[l] = a[i]
        p.barrier()
        out[i] = shared[7 - l]
    a = np.arange(24, dtype=np.uint32)
    assert np.array_equal(run(p.build(), {"a": a})["out"], a.reshape(3, 8)[:, ::-1].reshape(-1))


def test_reduction_in_rounds(run):
    with program("reduce", 16) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, 3)
        shared = p.workgroup("shared", u32, 16)
        l = p.local_id(0)
        shared[l] = a[p.global_id(0)]
        p.barrier()
        distance = p.var(8, u32)
        with p.range(0, 4):
            with p.if_(l < distance):
                shared[l] = shared[l] + shared[l + distance]
            p.barrier()
            distance.set(distance >> 1)
        with p.if_(l == 0):
            out[p.workgroup_id(0)] = shared[0]
    a = np.arange(48, dtype=np.uint32) ** 2
    got = run(p.build(), {"a": a}, DispatchConfig(grid_override=(3, 1, 1)))["out"]
    assert np.array_equal(got, a.reshape(3, 16).sum(axis=1))


def test_a_grid_barrier_lets_every_group_see_every_group(run):
    """Group after group, the first would read what the others have not written yet."""
    with program("all", 4) as p:
        out = p.write("out", u32, 16)
        scratch = p.scratch("scratch", u32, 16)
        shared, own = p.workgroup("shared", u32, 4), p.private("own", u32, 1)
        i, l = p.global_id(0), p.local_id(0)
        mine = p.var(0, u32)
        mine.set(i * 3)
        shared[3 - l] = i
        own[0] = i + 50
        scratch[i] = i + 1
        p.grid_barrier()
        out[i] = scratch[15 - i] + 100 * shared[l] + 10_000 * (own[0] - 50) + 1_000_000 * (mine.get() // 3)
    expected = [16 - i + 100 * (i // 4 * 4 + 3 - i % 4) + 10_000 * i + 1_000_000 * i for i in range(16)]
    assert run(p.build(), {})["out"].tolist() == expected


def test_grid_barriers_in_a_loop(run):
    """Neighbours in a ring exchange for some rounds; one more group is alone in its chunk of the ring."""
    with program("ring", 4) as p:
        rounds = p.read("rounds", u32)
        out = p.read_write("out", u32, 20)
        other = p.scratch("other", u32, 20)
        i = p.global_id(0)
        with p.range(0, rounds.length):
            other[(i + 1) % 20] = out[i]
            p.grid_barrier()
            out[i] = other[i]
            p.grid_barrier()
    a = np.arange(20, dtype=np.uint32)
    got = run(p.build(), {"rounds": np.zeros(7, np.uint32), "out": a})["out"]
    assert np.array_equal(got, np.roll(a, 7))


def diverging(kind):
    """Programs in which invocations of a group of four do not meet."""
    with program(kind, 4) as p:
        i = p.global_id(0)
        match kind:
            case "if":
                with p.if_(i < 2):
                    p.barrier()
            case "arms":
                with p.if_(i < 2):
                    p.barrier()
                with p.else_():
                    p.barrier()
            case "region":
                with p.region("r"), p.if_(i != 3):
                    p.barrier()
            case "return":
                with p.if_(i == 1):
                    p.return_()
                p.barrier()
            case "loop":
                with p.range(0, i):
                    p.barrier()
            case "break":
                with p.range(0, 3) as k:
                    with p.if_(k == i):
                        p.break_()
                    p.barrier()
            case "continue":
                with p.range(0, 3) as k:
                    with p.if_(k == i):
                        p.continue_()
                    p.barrier()
            case "collective":
                with p.if_(i < 2):
                    p.subgroup("any", i == 0)
    return p.build_unchecked()


LINE = re.compile(rf" \({re.escape(__file__)}:(\d+)\)")

# fmt: off
# what the scalar evaluator says, and who is missing where for the other, which does not know where they are
DIVERGENT = [
    ("if",         "0 waits at body[0].then[0], but invocation 2 has ended",                              (0, 2)),
    ("arms",       "0 waits at body[0].then[0], but invocation 2 waits at body[0].orelse[0]",             (0, 2)),
    ("region",     "0 waits at body[0].body[0].then[0], but invocation 3 has ended",                      (0, 3)),
    ("return",     "0 waits at body[1], but invocation 1 has ended",                                      (0, 1)),
    ("loop",       "1 waits at body[0].body[0] in iteration 0, but invocation 0 has ended",                   (1, 0)),
    ("break",      "1 waits at body[0].body[1] in iteration 0, but invocation 0 has ended",                   (1, 0)),
    ("continue",
     "0 waits at body[0].body[1] in iteration 1, but invocation 1 waits at body[0].body[1] in iteration 0",
     (1, 0)),
    ("collective", "0 waits at body[0].then[0], but invocation 2 has ended",                              (0, 2)),
]
# fmt: on


@pytest.mark.parametrize(("kind", "told", "who"), DIVERGENT, ids=[row[0] for row in DIVERGENT])
def test_divergence_names_places_and_invocations(plan_of, kind, told, who):
    plan = plan_of(diverging(kind), {})
    with pytest.raises(DivergentBarrier) as stepped:
        scalar.evaluate(plan, {})
    assert f"invocation {told}. Fix: move the barrier" in LINE.sub("", str(stepped.value))
    with pytest.raises(DivergentBarrier, match="does not arrive there in this iteration") as caught:
        vector.evaluate(plan, {})
    assert (caught.value.fields["waiting"], caught.value.fields["other"]) == who
    assert LINE.sub("", caught.value.fields["at"]) in told


@pytest.mark.parametrize("kind", ["if", "arms", "loop", "collective"])
def test_divergence_names_the_lines_of_python(plan_of, kind):
    """Where a program was built here; one that was read has none."""
    built = diverging(kind)
    for evaluate in (scalar.evaluate, vector.evaluate):
        with pytest.raises(DivergentBarrier) as caught:
            evaluate(plan_of(built, {}), {})
        (number, *_) = LINE.findall(str(caught.value))
        word = "p.subgroup(" if kind == "collective" else "p.barrier()"
        assert word in getline(__file__, int(number))
        with pytest.raises(DivergentBarrier) as caught:
            evaluate(plan_of(decode(encode(built)), {}), {})
        assert not LINE.search(str(caught.value))


def test_groups_may_differ(run):
    """Divergence is a matter of one workgroup: groups may pass different barriers, or end early."""
    with program("groups", 4) as p:
        out = p.write("out", u32, 16)
        shared = p.workgroup("shared", u32, 4)
        i, l, group = p.global_id(0), p.local_id(0), p.workgroup_id(0)
        shared[l] = i
        with p.if_(group == 1):
            p.return_()
        with p.range(0, group):
            p.barrier()
        with p.if_(group == 3):
            p.barrier()
            out[i] = shared[3 - l]
        with p.else_():
            out[i] = 7
    assert run(p.build(), {})["out"].tolist() == [7] * 4 + [0] * 4 + [7] * 4 + [15, 14, 13, 12]


@pytest.mark.parametrize("kind", ["group", "lane"])
def test_a_grid_barrier_needs_everybody(force, kind):
    with program("missing", 2) as p:
        who = p.workgroup_id(0) if kind == "group" else p.global_id(0)
        with p.if_(who == 1):
            p.return_()
        p.grid_barrier()
    with pytest.raises(DivergentBarrier, match=r"0 waits at body\[1\] \(.*:\d+\), but invocation (1|2) ") as caught:
        force(p.build_unchecked(), grid=3)
    assert caught.value.fields["other"] == (2 if kind == "group" else 1)
