"""Programs that look for their own races: they find what was planted, and are silent about the repaired twin.

Here the vectorised evaluator runs them. That real devices do, and say what the scalar detector says of random programs,
is tested beside the drivers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.errors import Trapped
from vyre_driver.observe import races
from vyre_driver.observe.accesses import AccessSite, Path, Touch, accesses
from vyre_driver.observe.races import Race, find_race
from vyre_foundation.build import ProgramBuilder, constant, program, select
from vyre_foundation.dtype import i32, i64, u32
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Scope
from vyre_reference import DataRace, ReferenceBackend, detect_races

BACKEND = ReferenceBackend()


def search(built: Program, grid: int = 4, **options: Any) -> Race | None:
    arrays = {b.name: np.zeros(b.count, b.dtype.numpy) for b in built.inputs}
    return find_race(BACKEND, built, arrays, DispatchConfig(grid_override=(grid, 1, 1), **options))


def planted(kind: str, *, repaired: bool) -> Program:
    """Four invocations a group, four groups; each kind races unless it is repaired."""
    with program(kind, 4, subgroup_size=4) as p:
        PLANTED[kind][0](p, p.read_write("out", u32, 16), p.workgroup("shared", u32, 8), repaired)
    return p.build()


def write_and_write(p: ProgramBuilder, out: Any, shared: Any, repaired: bool) -> None:
    out[p.global_id(0) if repaired else p.global_id(0) // 2] = 1


def read_after_write(p: ProgramBuilder, out: Any, shared: Any, repaired: bool) -> None:
    lane = p.local_id(0)
    shared[lane] = lane
    if repaired:
        p.barrier()
    out[p.global_id(0)] = shared[3 - lane]


def write_after_many_reads(p: ProgramBuilder, out: Any, shared: Any, repaired: bool) -> None:
    own = p.let(shared[0] + 1)
    if repaired:
        p.barrier()
    with p.if_(p.local_id(0) == 2):
        shared[0] = own


def write_and_read_between_barriers(p: ProgramBuilder, out: Any, shared: Any, repaired: bool) -> None:
    """The element is clean before and after; only the interval in the middle races."""
    lane = p.local_id(0)
    shared[lane] = lane
    p.barrier()
    shared[(lane + 1) % 4] = lane
    if repaired:
        p.barrier()
    out[p.global_id(0)] = shared[lane]
    p.barrier()
    shared[lane] = lane


def atomic_and_read(p: ProgramBuilder, out: Any, shared: Any, repaired: bool) -> None:
    shared.atomic_add(0, 1)
    if repaired:
        p.barrier()
    out[p.global_id(0)] = shared[0]


def atomic_and_write(p: ProgramBuilder, out: Any, shared: Any, repaired: bool) -> None:
    out.atomic_add(0, 1)
    if repaired:
        p.grid_barrier()
    with p.if_(p.global_id(0) == 3):
        out[0] = 5


def read_and_atomic_of_one(p: ProgramBuilder, out: Any, shared: Any, repaired: bool) -> None:
    """One invocation reads and updates: that is no race until another one reads."""
    lane = p.local_id(0)
    with p.if_(lane == 1):
        own = p.let(shared[5])
        shared.atomic_add(5, own)
    if repaired:
        p.barrier()
    with p.if_(lane == 2):
        out[p.global_id(0)] = shared[5]


def groups(p: ProgramBuilder, out: Any, shared: Any, repaired: bool) -> None:
    """A barrier of workgroups orders what one of them does, not two."""
    i = p.global_id(0)
    out[i] = 7
    if repaired:
        p.grid_barrier()
    else:
        p.barrier()
    with p.if_(i == 5):
        out[6] = 8
    with p.if_(i == 7):
        out[1] = 9


def loop(p: ProgramBuilder, out: Any, shared: Any, repaired: bool) -> None:
    with p.range(0, 3) as k:
        shared[(p.local_id(0) + k) % 4] = k
        if repaired:
            p.barrier()


def grid_loop(p: ProgramBuilder, out: Any, shared: Any, repaired: bool) -> None:
    with p.range(0, 3) as k:
        out[(p.global_id(0) + k) % 16] = k
        if repaired:
            p.grid_barrier()


def collective(p: ProgramBuilder, out: Any, shared: Any, repaired: bool) -> None:
    """A collective is no barrier."""
    own = p.let(shared[0])
    p.subgroup("any", own == p.global_id(0))
    if repaired:
        p.barrier()
    with p.if_(p.local_id(0) == 0):
        shared[0] = 1


def both_arms(p: ProgramBuilder, out: Any, shared: Any, repaired: bool) -> None:
    """A selection evaluates both of its operands, so it reads the element that it does not take."""
    lane = p.local_id(0)
    shared[lane] = lane
    if repaired:
        p.barrier()
    out[p.global_id(0)] = select(lane < 9, constant(u32, 0), shared[(lane + 1) % 4])


W, R, A = Touch.WRITE, Touch.READ, Touch.ATOMIC

PLANTED: dict[str, tuple[Callable[..., None], str, int, set[tuple[Touch, Path]]]] = {
    "write and write": (write_and_write, "out", 0, {(W, (0,))}),
    "read after write": (read_after_write, "shared", 0, {(W, (0,)), (R, (1,))}),
    "write after many reads": (write_after_many_reads, "shared", 0, {(R, (0,)), (W, (1, 0, 0))}),
    "write and read between barriers": (write_and_read_between_barriers, "shared", 0, {(W, (2,)), (R, (3,))}),
    "atomic and read": (atomic_and_read, "shared", 0, {(A, (0,)), (R, (1,))}),
    "atomic and write": (atomic_and_write, "out", 0, {(A, (0,)), (W, (1, 0, 0))}),
    "read and atomic of one": (read_and_atomic_of_one, "shared", 5, {(A, (0, 0, 0)), (R, (1, 0, 0))}),
    "groups": (groups, "out", 1, {(W, (0,)), (W, (3, 0, 0))}),
    "loop": (loop, "shared", 0, {(W, (0, 0, 0))}),
    "loop of the grid": (grid_loop, "out", 0, {(W, (0, 0, 0))}),
    "collective": (collective, "shared", 0, {(R, (0,)), (W, (1, 0, 0))}),
    "both arms": (both_arms, "shared", 0, {(W, (0,)), (R, (1,))}),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_a_planted_race_is_found_where_it_is(kind: str) -> None:
    _, buffer, index, statements = PLANTED[kind]
    found = search(planted(kind, repaired=False))
    assert found is not None
    assert (found.buffer, found.index) == (buffer, index)
    assert found.accesses is not None
    first, second = found.accesses
    assert first.invocation != second.invocation
    assert {(access.touch, access.path) for access in found.accesses} == statements


@pytest.mark.parametrize("kind", PLANTED)
def test_a_repaired_program_is_clean(kind: str) -> None:
    assert search(planted(kind, repaired=True)) is None


@pytest.mark.parametrize("iterations", [1, 3])
@pytest.mark.parametrize("kind", PLANTED)
def test_iterations_of_a_fixpoint_are_ordered(kind: str, iterations: int) -> None:
    assert search(planted(kind, repaired=True), fixpoint_iterations=iterations) is None
    assert search(planted(kind, repaired=False), fixpoint_iterations=iterations) is not None


@pytest.mark.parametrize("kind", PLANTED)
def test_the_scalar_detector_agrees(kind: str) -> None:
    config = DispatchConfig(grid_override=(4, 1, 1))
    arrays = {"out": np.zeros(16, np.uint32)}
    with pytest.raises(DataRace):
        detect_races(planted(kind, repaired=False), arrays, config)
    detect_races(planted(kind, repaired=True), arrays, config)


# ── planted faults in the detector ───────────────────────────────────────────────────────────────────────────────────


def without(*touches: Touch) -> Callable[..., list[AccessSite]]:
    """A detector that forgets accesses of some kinds."""
    return lambda stmt, path: [site for site in accesses(stmt, path) if site.touch not in touches]


def forgets_barriers(scope: Scope) -> Callable[..., Any]:
    whole = races._Detecting._new_epochs

    def new_epochs(self: Any, stmt: Any) -> Any:
        return () if getattr(stmt, "scope", None) is scope else whole(self, stmt)

    return new_epochs


FAULTS: dict[str, tuple[str, Any, str, bool]] = {
    "reads are forgotten": ("accesses", without(R), "read after write", False),
    "writes are forgotten": ("accesses", without(W), "write and write", False),
    "atomics are forgotten": ("accesses", without(A), "atomic and write", False),
    "barriers are forgotten": ("_Detecting._new_epochs", forgets_barriers(Scope.WORKGROUP), "read after write", True),
    "grid barriers are forgotten": ("_Detecting._new_epochs", forgets_barriers(Scope.GRID), "groups", True),
    "reads of several invocations are one": ("_SEVERAL", {R: 2, A: 3}, "collective", False),
    "atomics are reads": ("_ONE", {W: 1, R: 2, A: 2}, "read and atomic of one", False),
    "atomics of several are reads": ("_SEVERAL", {R: 4, A: 4}, "atomic and read", False),
    "shadows are not cleared": ("_Detecting._cleared", lambda self: (), "write and write", True),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_detector_shows(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program races and nothing is found, or it is clean and something is."""
    name, replacement, kind, repaired = FAULTS[fault]
    iterations = 2 if "cleared" in fault else 1
    built = shifted() if "cleared" in fault else planted(kind, repaired=repaired)
    assert (search(built, fixpoint_iterations=iterations) is None) is repaired
    monkeypatch.setattr(f"vyre_driver.observe.races.{name}", replacement)
    assert (search(built, fixpoint_iterations=iterations) is None) is not repaired


def shifted() -> Program:
    """In each iteration of a fixpoint another invocation writes an element."""
    with program("shifted", 4) as p:
        out, turn = p.read_write("out", u32, 16), p.read_write("turn", u32, 16)
        i = p.global_id(0)
        own = p.let(turn[i])
        turn[i] = own + 1
        out[(i + own) % 16] = i
    return p.build()


# ── corners ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_what_is_no_race() -> None:
    """Reading together, atomics together, private memory, out of bounds, one invocation alone."""
    with program("clean", 4) as p:
        a, counter, out = p.read_write("a", u32, 4), p.read_write("counter", u32, 1), p.write("out", u32, 8)
        own, i = p.private("own", u32, 1), p.global_id(0)
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
    assert search(p.build(), 2) is None


@pytest.mark.parametrize("dtype", [i32, i64])
def test_a_negative_index_is_out_of_bounds(dtype: Any) -> None:
    with program("negative", 4) as p:
        out = p.write("out", u32, 8)
        out[constant(dtype, -1)] = p.global_id(0)
    assert search(p.build()) is None


def test_workgroup_memory_of_two_groups_is_two_places() -> None:
    with program("two", 1) as p:
        shared, out = p.workgroup("shared", u32, 1), p.write("out", u32, 4)
        shared[0] = p.global_id(0)
        out[p.global_id(0)] = shared[0]
    assert search(p.build()) is None


@pytest.mark.parametrize("repaired", [False, True])
def test_the_shadow_of_much_workgroup_memory_is_elsewhere(repaired: bool) -> None:
    """30 KiB of 32 are the program's."""
    with program("large", 4) as p:
        shared, out = p.workgroup("shared", u32, 7_680), p.write("out", u32, 8)
        lane = p.local_id(0)
        shared[lane * 1_900] = lane
        if repaired:
            p.barrier()
        out[p.global_id(0)] = shared[(3 - lane) * 1_900]
    found = search(p.build(), 2)
    assert found is None if repaired else found is not None and (found.buffer, found.index) == ("shared", 0)


@pytest.mark.parametrize("size", [(3, 2, 2), (5, 1, 3)])
def test_invocations_are_named_by_their_linear_ids(size: tuple[int, int, int]) -> None:
    with program("cube", size) as p:
        out = p.write("out", u32, 4)
        x, y, z = (p.global_id(axis) for axis in range(3))
        with p.if_(((x == 4) & (y == 1) & (z == 1)) | ((x == 1) & (y == 0) & (z == 4))):
            out[2] = 1
    found = find_race(BACKEND, p.build(), {}, DispatchConfig(grid_override=(2, 2, 3)))
    width, height = 2 * size[0], 2 * size[1]
    invocations = {(1 * height + 1) * width + 4, (4 * height + 0) * width + 1}
    assert found is not None
    assert found.accesses is not None
    assert {access.invocation for access in found.accesses} == invocations


def test_a_race_wins_over_a_trap() -> None:
    def trapping(index: Any) -> Program:
        with program("trapping", 4) as p:
            out = p.write("out", u32, 16)
            out[index(p.global_id(0))] = 1
            p.trap(3, "always")
        return p.build()

    config = DispatchConfig(grid_override=(4, 1, 1))
    with pytest.raises(DataRace):
        detect_races(trapping(lambda i: i // 2), {}, config, BACKEND)
    with pytest.raises(Trapped):
        detect_races(trapping(lambda i: i), {}, config, BACKEND)


def test_an_override_of_the_workgroup_size_counts() -> None:
    """With one invocation in each workgroup, its memory cannot race."""
    built = planted("read after write", repaired=False)
    config = DispatchConfig(grid_override=(4, 1, 1), workgroup_override=(1, 1, 1))
    with program("alone", 4) as p:
        shared, out = p.workgroup("shared", u32, 4), p.write("out", u32, 16)
        shared[0] = p.local_id(0)
        out[p.global_id(0)] = shared[0]
    assert find_race(BACKEND, p.build(), {}, config) is None
    assert search(p.build()) is not None
    assert search(built) is not None


def test_a_race_that_changes_from_run_to_run_is_an_error_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(races, "_accesses", lambda *_: None)
    built, arrays = planted("loop", repaired=False), {"out": np.zeros(16, np.uint32)}
    with pytest.raises(DataRace, match=r"shared\[0\]: an invocation that changes from run to run uses it") as caught:
        detect_races(built, arrays, DispatchConfig(grid_override=(4, 1, 1)), BACKEND)
    assert caught.value.fields["first"] is None
