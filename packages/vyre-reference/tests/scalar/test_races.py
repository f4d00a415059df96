"""The race detector: finds what was planted, says who and where, and is silent about the repaired twin."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.testing import DEFAULT, accumulation, addressing, generate, recurrence, row_walk
from vyre_reference import DataRace, run, scalar
from vyre_reference.scalar.races import Races
from vyre_reference.scalar.schedule import Shuffled


def detect(built, grid=1, arrays=None, schedule=None):
    def evaluate(plan, memory, *, budget):
        scalar.evaluate(plan, memory, races=Races.DETECT, schedule=schedule, budget=budget)

    return run(built, arrays or {}, DispatchConfig(grid_override=(grid, 1, 1)), evaluate)


def planted(kind, *, repaired):
    """Four invocations a group; each kind races unless it is repaired."""
    with program(kind, 4, subgroup_size=4) as p:
        out = p.read_write("out", u32, 16)
        shared = p.workgroup("shared", u32, 8)
        i, l, group = p.global_id(0), p.local_id(0), p.workgroup_id(0)
        match kind:
            case "write and write":
                out[i if repaired else i // 2] = 1
            case "read after write":
                shared[l] = i
                if repaired:
                    p.barrier()
                out[i] = shared[3 - l]
            case "write after read":
                shared[l + 4] = shared[3 - l]
                if repaired:
                    p.barrier()
                shared[3 - l if repaired else (l + 1) % 4] = i
            case "atomic and read":
                shared.atomic_add(0, 1)
                if repaired:
                    p.barrier()
                out[i] = shared[0]
            case "atomic and write":
                out.atomic_add(0, 1)
                if repaired:
                    p.grid_barrier()
                with p.if_(i == 3):
                    out[0] = 5
            case "groups":
                out[i] = 7
                if repaired:
                    p.grid_barrier()
                else:
                    p.barrier()
                with p.if_(i == 5):
                    out[6] = 8  # of its own group: the barrier is enough
                with p.if_(i == 7):
                    out[1] = 9
            case "loop":
                with p.range(0, 3) as k:
                    shared[(l + k) % 4] = k
                    if repaired:
                        p.barrier()
            case "collective":
                own = p.let(shared[0])
                p.subgroup("any", own == i)
                if repaired:
                    p.barrier()
                with p.if_(l == 0):
                    shared[0] = 1
            case "last group":
                with p.if_((group == 0) & (l == 0)):
                    out[15] = 1
                if repaired:
                    p.grid_barrier()
                with p.if_(i == 14):
                    out[15] = 2
    return p.build_unchecked()


# fmt: off
PLANTED = {
    "write and write":  ("out[0]",    (0, "writes", "body[0]"), (1, "writes", "body[0]")),
    "read after write": ("shared[2]", (1, "reads", "body[1]"), (2, "writes", "body[0]")),
    "write after read": ("shared[1]", (0, "writes", "body[1]"), (2, "reads", "body[0]")),
    "atomic and read":  ("shared[0]", (0, "reads", "body[1]"),  (1, "updates atomically", "body[0]")),
    "atomic and write": ("out[0]",    (0, "updates atomically", "body[0]"), (3, "writes", "body[1].then[0]")),
    "groups":           ("out[1]",    (1, "writes", "body[0]"), (7, "writes", "body[3].then[0]")),
    "loop":             ("shared[1]", (0, "writes", "body[0].body[0]"), (1, "writes", "body[0].body[0]")),
    "collective":       ("shared[0]", (1, "reads", "body[0]"),  (0, "writes", "body[1].then[0]")),
    "last group":       ("out[15]",   (0, "writes", "body[0].then[0]"), (14, "writes", "body[1].then[0]")),
}
# fmt: on


@pytest.mark.parametrize("kind", PLANTED)
def test_planted_races_are_found(plan_of, kind):
    where, first, second = PLANTED[kind]
    plan = plan_of(planted(kind, repaired=False), {"out": bytes(64)}, grid=4)
    with pytest.raises(DataRace) as caught:
        scalar.evaluate(plan, {"out": bytearray(64)}, races=Races.DETECT)
    error = caught.value
    assert error.where == where
    assert {error.fields["first"], error.fields["second"]} == {first, second}
    assert str(error).startswith(f"{where}: invocation {error.fields['first'][0]} {error.fields['first'][1]} at ")
    assert "with no barrier between them. Fix: put a barrier" in str(error)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("kind", PLANTED)
def test_planted_races_are_found_under_every_schedule(plan_of, kind, seed):
    plan = plan_of(planted(kind, repaired=False), {"out": bytes(64)}, grid=4)
    with pytest.raises(DataRace):
        scalar.evaluate(plan, {"out": bytearray(64)}, races=Races.DETECT, schedule=Shuffled(seed))


@pytest.mark.parametrize("schedule", [None, Shuffled(1), Shuffled(2)], ids=["in order", "one", "two"])
@pytest.mark.parametrize("kind", PLANTED)
def test_repaired_programs_are_clean(plan_of, kind, schedule):
    plan = plan_of(planted(kind, repaired=True), {"out": bytes(64)}, grid=4)
    scalar.evaluate(plan, {"out": bytearray(64)}, races=Races.DETECT, schedule=schedule)


@pytest.mark.parametrize("kind", PLANTED)
def test_nobody_looks_unless_asked(plan_of, kind):
    scalar.evaluate(plan_of(planted(kind, repaired=False), {"out": bytes(64)}, grid=4), {"out": bytearray(64)})


def test_what_is_no_race():
    """Reading together, atomics together, private memory, out of bounds, one invocation alone, iterations."""
    with program("clean", 4) as p:
        a = p.read_write("a", u32, 4)
        counter = p.read_write("counter", u32, 1)
        own = p.private("own", u32, 1)
        out = p.write("out", u32, 8)
        i = p.global_id(0)
        own[0] = i
        own[0] = own[0] + a[0] + a[3]
        counter.atomic_add(0, 1)
        counter.atomic_max(0, i)
        counter.atomic_exchange(7, i)
        out[99] = i
        out[i] = 1
        out[i] = own[0]
        with p.if_(i == 7):
            counter[5] = 1
    arrays = {"a": np.ones(4, np.uint32), "counter": np.zeros(1, np.uint32)}
    assert detect(p.build(), 2, arrays)["out"].tolist() == [2, 3, 4, 5, 6, 7, 8, 9]


def test_workgroup_memory_of_two_groups_is_two_places():
    with program("two", 1) as p:
        shared = p.workgroup("shared", u32, 1)
        out = p.write("out", u32, 4)
        shared[0] = p.global_id(0)
        out[p.global_id(0)] = shared[0]
    assert detect(p.build(), 4)["out"].tolist() == [0, 1, 2, 3]


MAKERS = {
    "everything": (partial(generate, profile=DEFAULT), 16),
    "recurrences": (recurrence, 4),  # long loops
    "accumulations": (accumulation, 16),
    "addressing": (addressing, 10),
    "rows": (row_walk, 4),  # long loops
}
"""And how many of each are tested by default."""
GENERATED = [
    pytest.param(make, seed, marks=() if seed < few else pytest.mark.slow, id=f"{name}-{seed}")
    for name, (make, few) in MAKERS.items()
    for seed in range(40)
]


@pytest.mark.parametrize(("make", "seed"), GENERATED)
def test_generated_programs_are_clean(make, seed):
    """The generator's programs are free of races by construction: an opinion that is not the detector's."""
    made = make(10_000 + seed)
    arrays = {b.name: np.frombuffer(made.inputs[b.name], b.dtype.numpy) for b in made.program.inputs}
    config = DispatchConfig(grid_override=made.grid, fixpoint_iterations=made.iterations)
    run(made.program, arrays, config, lambda plan, memory, budget: scalar.evaluate(plan, memory, races=Races.DETECT))
