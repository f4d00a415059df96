"""How launches are split: which elements each shard needs and writes, how outputs are combined, what is refused."""

from collections.abc import Callable

import numpy as np
import pytest
from sharded_inline import InlineTasks, Sharded, sharded, sharding_of

import vyre_distributed.shards as shards
from vyre_distributed import Sharding, Span
from vyre_driver.backend.config import DispatchConfig
from vyre_driver.errors import Trapped
from vyre_foundation.build import program
from vyre_foundation.dtype import i32, u8, u32
from vyre_foundation.ir.program import Program

X = np.arange(1000, dtype=np.uint32)


@pytest.fixture(autouse=True)
def _on_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VYRE_DASK_BACKEND", "reference")


def doubled() -> Program:
    with program("doubled", 10) as p:
        x = p.read("x", u32)
        p.write("out", u32, like=x)[p.global_id(0)] = x[p.global_id(0)] * 2
    return p.build()


def neighbours() -> Program:
    """The sum of an element and its neighbours; those beyond the ends are 0."""
    with program("neighbours", 10) as p:
        x = p.read("x", u32)
        i = p.let(p.global_id(0))
        p.write("out", u32, like=x)[i] = x[i - 1] + x[i] + x[i + 1]
    return p.build()


def histogram() -> Program:
    with program("histogram", 10) as p:
        x, counts = p.read("x", u32), p.read_write("counts", u32, 7)
        i = p.let(p.global_id(0))
        with p.if_(i < x.length):
            counts.atomic_add(x[i] % 7, 1)
    return p.build()


def test_a_map_gets_slices() -> None:
    found = sharding_of(doubled(), [X])
    assert [(s.first, s.groups) for s in found.shards] == [(0, 33), (33, 33), (66, 34)]
    spans = [Span(0, 330), Span(330, 660), Span(660, 1000)]
    assert [shard.needs["x"] for shard in found.shards] == spans
    assert [shard.writes["out"] for shard in found.shards] == spans
    assert found.combined == {"out": shards.Combination.CONCATENATE}
    assert sharded(doubled(), [X]) == [(X * 2).tobytes()]


def test_a_stencil_gets_a_halo() -> None:
    found = sharding_of(neighbours(), [X])
    assert [shard.needs["x"] for shard in found.shards] == [Span(0, 331), Span(329, 661), Span(659, 1000)]
    padded = np.pad(X, 1)
    assert sharded(neighbours(), [X]) == [(padded[:-2] + X + padded[2:]).tobytes()]


def test_rows_of_an_image_of_a_width_in_a_uniform() -> None:
    with program("rows", (8, 4)) as p:
        x, width, out = p.read("x", u32), p.uniform("width", u32, 1), p.write("out", u32, 40 * 30)
        column, row = p.global_id(0), p.global_id(1)
        with p.if_(column < width[0]):
            out[row * width[0] + column] = x[row * width[0] + column] + row
    image = np.arange(40 * 30, dtype=np.uint32).reshape(30, 40)
    config = DispatchConfig(grid_override=(5, 8, 1))
    given = [image, np.array([40], np.uint32)]
    found = sharding_of(p.build(), given, config)
    assert [(s.first, s.groups) for s in found.shards] == [(0, 2), (2, 3), (5, 3)]
    assert [s.needs["x"] for s in found.shards] == [Span(0, 320), Span(320, 800), Span(800, 1200)]
    assert sharded(p.build(), given, config) == [(image + np.arange(30, dtype=np.uint32)[:, None]).tobytes()]


def test_what_is_read_at_computed_places_is_sent_whole() -> None:
    with program("gather", 10) as p:
        table, at = p.read("table", u32), p.read("at", u32)
        i = p.let(p.global_id(0))
        p.write("out", u32, like=at)[i] = table[at[i]]
    places = (X * 7919) % 1013
    found = sharding_of(p.build(), [X + 5, places])
    assert {shard.needs["table"] for shard in found.shards} == {Span(0, 1000)}
    expected = np.where(places < 1000, (X + 5)[places % 1000], 0).astype(np.uint32)
    assert sharded(p.build(), [X + 5, places]) == [expected.tobytes()]


def test_scattered_stores_are_merged() -> None:
    """Columns are written by rows of workgroups: the ranges of shards overlap, their elements do not."""
    with program("transposed", (4, 4)) as p:
        x, out = p.read("x", u8), p.write("out", u8, 12 * 20)
        column, row = p.let(p.global_id(0)), p.let(p.global_id(1))
        with p.if_((column < 20) & (row < 12)):
            out[column * 12 + row] = x[row * 20 + column]
    image = np.arange(240, dtype=np.uint8).reshape(12, 20)
    config = DispatchConfig(grid_override=(5, 3, 1))
    assert sharding_of(p.build(), [image], config).combined == {"out": shards.Combination.MERGE}
    assert sharded(p.build(), [image], config) == [image.T.tobytes()]


def test_a_buffer_that_changes_in_place_keeps_what_no_shard_writes() -> None:
    with program("evens", 10) as p:
        x = p.read_write("x", i32)
        i = p.let(p.global_id(0) * 2)
        x[i] = x[i] * -3
    given = np.arange(1, 1001, dtype=np.int32)
    expected = given.copy()
    expected[::2] *= -3
    assert sharded(p.build(), [given], DispatchConfig(grid_override=(60, 1, 1))) == [expected.tobytes()]


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("add", [2**32 - 5 + 499500 - 2**32, 7]),
        ("min", [0, 7]),
        ("max", [2**32 - 5, 999]),
        ("xor", [(2**32 - 5) ^ 0, 7]),
        ("or", [2**32 - 5 | 1023, 1023]),
        ("and", [0, 0]),
    ],
)
def test_atomics_of_all_shards_on_one_element(op: str, expected: list[int]) -> None:
    with program(op, 10) as p:
        x, out = p.read("x", u32), p.read_write("out", u32, 2)
        i = p.let(p.global_id(0))
        with p.if_(i < x.length):
            getattr(out, f"atomic_{op}")(0, x[i])
            if op in ("max", "or", "and"):
                getattr(out, f"atomic_{op}")(1, x[i])
    found = sharded(p.build(), [X, np.array([2**32 - 5, 7], np.uint32)], DispatchConfig(grid_override=(100, 1, 1)))
    assert isinstance(found, list)
    assert np.frombuffer(found[0], np.uint32).tolist() == [value % 2**32 for value in expected]


def test_the_number_of_shards_changes_nothing() -> None:
    given = [X, np.full(7, 3, np.uint32)]
    config = DispatchConfig(grid_override=(100, 1, 1))
    expected = (np.bincount(X % 7, minlength=7) + 3).astype(np.uint32).tobytes()
    for most in (2, 3, 7, 100, 1000):
        assert sharded(histogram(), given, config, most) == [expected]


def test_ids_lengths_and_the_grid_are_those_of_the_launch() -> None:
    with program("ids", (2, 3)) as p:
        x, out = p.read("x", u32), p.write("out", u32, 4 * 5 * 6)
        n = p.let(p.workgroup_id(1) * p.num_workgroups(0) + p.workgroup_id(0))
        at = p.let(n * 6 + p.local_id(1) * 2 + p.local_id(0))
        out[at] = p.global_id(0) * 1000 + p.global_id(1) * 10 + x.length + p.num_workgroups(1)
    config = DispatchConfig(grid_override=(4, 5, 1))
    expected = [
        (2 * gx + lx) * 1000 + (3 * gy + ly) * 10 + 17 + 5
        for gy in range(5) for gx in range(4) for ly in range(3) for lx in range(2)
    ]  # fmt: skip
    found = sharded(p.build(), [np.zeros(17, np.uint32)], config)
    assert isinstance(found, list)
    assert np.frombuffer(found[0], np.uint32).tolist() == expected


def test_the_trap_of_the_lowest_invocation_of_the_launch() -> None:
    with program("trapping", (4, 2)) as p:
        out = p.write("out", u32, 8 * 12)
        row = p.let(p.global_id(1))
        out[row * 8 + p.global_id(0)] = 1
        with p.if_((p.global_id(0) == 5) & (row >= 7)):
            p.trap(row, "row")
    config = DispatchConfig(grid_override=(2, 6, 1))
    assert sharded(p.build(), [], config) == ("row", 7, 7 * 8 + 5)


def test_an_indirect_grid_is_split() -> None:
    with program("indirect", 4) as p:
        words, out = p.read("words", u32), p.write("out", u32, 40)
        p.indirect_dispatch(words, 1)
        out[p.global_id(0)] = p.num_workgroups(0)
    expected = np.where(np.arange(40) < 28, 7, 0).astype(np.uint32)
    assert sharded(p.build(), [np.array([9, 7, 1, 1], np.uint32)]) == [expected.tobytes()]


def barrier() -> Program:
    with program("barrier", 10) as p:
        x = p.read("x", u32)
        between = p.scratch("between", u32, 1000)
        i = p.let(p.global_id(0))
        between[i] = x[i]
        p.grid_barrier()
        p.write("out", u32, like=x)[i] = between[999 - i]
    return p.build()


def race() -> Program:
    with program("race", 10) as p:
        x = p.read("x", u32)
        p.write("out", u32, like=x)[p.global_id(0) % 9] = x[p.global_id(0)]
    return p.build()


def two_ops() -> Program:
    with program("two_ops", 10) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        out.atomic_add(0, x[p.global_id(0)])
        out.atomic_max(1, x[p.global_id(0)])
    return p.build()


@pytest.mark.parametrize(
    ("make", "where", "message"),
    [
        (barrier, "body[2]", "a grid barrier makes all workgroups wait for each other"),
        (race, "body[0]", "D001: the store to 'out' may meet itself"),
        (two_ops, "body[1]", "atomics of 'out' are combined by add and max"),
    ],
)
def test_a_refusal_names_the_statement(make: Callable[[], Program], where: str, message: str) -> None:
    refusals = sharding_of(make(), [X])
    assert not isinstance(refusals, Sharding)
    (refusal,) = [one for one in refusals if message in one.message]
    assert refusal.where == where
    assert f"{__file__.rpartition('/')[2]}" in str(refusal.origin or __file__)
    assert ". Fix: " in str(refusal)


def test_one_workgroup_is_not_split() -> None:
    (refusal,) = sharding_of(doubled(), [X[:10]])
    assert str(refusal) == "grid: 1 workgroups cannot be divided. Fix: use more and smaller workgroups"


# ── planted faults: each gives other bytes, so the tests above see it ──


def test_a_lost_halo_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards.Span, "hull", lambda self, other: self if self.count else other)
    assert sharded(neighbours(), [X]) != [(np.pad(X, 1)[:-2] + X + np.pad(X, 1)[2:]).tobytes()]


def test_a_shard_that_counts_twice_is_seen() -> None:
    given = [X, np.zeros(7, np.uint32)]
    config = DispatchConfig(grid_override=(100, 1, 1))
    expected = np.bincount(X % 7, minlength=7).astype(np.uint32).tobytes()
    kept: dict[str, object] = {}

    def twice(key: str, value: object) -> object:
        return kept.setdefault("first", value) if key[-2:] in ("-0", "-1") and "combine" not in key else value

    for tasks, is_right in ((InlineTasks(), True), (InlineTasks(twice), False)):
        (found,) = Sharded(3, tasks).dispatch(histogram(), given, config)
        assert (bytes(found) == expected) is is_right


def test_the_tree_of_combinations_is_fixed() -> None:
    tasks = InlineTasks()
    Sharded(5, tasks).dispatch(histogram(), [X, np.zeros(7, np.uint32)], DispatchConfig(grid_override=(100, 1, 1)))
    assert [key.partition("-")[0] for key in tasks.submitted] == ["histogram"] * 9
    assert [key.split("-", 2)[2] for key in tasks.submitted] == [
        "0", "1", "2", "3", "4", "combine-0", "combine-1", "combine-2", "combine-3",
    ]  # fmt: skip


def test_a_trap_is_an_error_of_the_launch() -> None:
    with program("trap", 1) as p:
        p.write("out", u32, 4)[p.global_id(0)] = 1
        p.trap(3, "always")
    with pytest.raises(Trapped, match=r"invocation 0 trapped with 'always', code 3, at .*test_shards\.py:\d+"):
        Sharded(2).dispatch(p.build(), [])
