"""Halos: against `dask.array.map_overlap` with NumPy, and against one chunk."""

from collections.abc import Iterator, Sequence
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client

import vyre_distributed as vd
from vyre_distributed import overlap
from vyre_driver.errors import InvalidInput, InvalidLaunch
from vyre_foundation.build import constant, program, select
from vyre_foundation.dtype import f32, i64, u32
from vyre_foundation.functions import max as maximum, min as minimum
from vyre_foundation.ir.program import Program

RANDOM = np.random.default_rng(23)
X = RANDOM.integers(-99, 99, (11, 9, 13))
PARTS = ((-2, 0, 1, 3), (0, -1, 2, 5), (1, 1, 1, 7), (-1, -1, -1, 11), (2, 1, -2, 13), (0, 0, 0, 17))
"""The places of three neighbours, two of them diagonal, and a factor for each."""


@pytest.fixture(autouse=True)
def _in_this_thread() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


def weighted(axes: int) -> Program:
    """A sum of neighbours with factors, along the last axes of `PARTS`."""
    names = ("a", "b", "c")[:axes]
    with program("weighted", (64, 1, 1)) as p:
        x = p.read("x", i64, shape=names)
        out = p.write("out", i64, shape=names)
        place = p.index() if axes > 1 else (p.index(),)
        total = p.var(x[place] * 0)
        for *steps, factor in PARTS:
            near = [n + step if step >= 0 else n - -step for n, step in zip(place, steps[-axes:], strict=True)]
            total.set(total + x[tuple(near)] * factor)
        out[place] = total
    return p.build()


def weighted_numpy(x: Any) -> Any:
    padded, total = np.pad(x, 2), np.zeros_like(x)
    for *steps, factor in PARTS:
        shifts = zip(steps[-x.ndim :], x.shape, strict=True)
        total += padded[tuple(slice(2 + step, 2 + step + size) for step, size in shifts)] * factor
    return total


WEIGHTED = {axes: weighted(axes) for axes in (1, 2, 3)}
CASES: list[tuple[Sequence[int], Any, Any, Any]] = [
    # shape, chunks, depth, boundary
    ((11,), 4, 2, 0),
    ((11,), 11, 2, "periodic"),
    ((11,), (5, 1, 5), 2, "reflect"),
    ((11, 9), (4, 9), 2, "none"),
    ((11, 9), (4, 4), 2, 7),
    ((11, 9), (4, 5), 2, "periodic"),
    ((11, 9), (6, 3), 2, {0: "reflect", 1: "nearest"}),
    ((11, 9), (6, 3), {0: 2, 1: 3}, {0: 5, 1: "reflect"}),
    ((11, 9), (6, 3), {0: 3, 1: 2}, {0: "periodic", 1: -5}),
    ((11, 9, 13), (4, 9, 13), 2, 0),
    ((11, 9, 13), (4, 4, 4), 2, 0),
    ((11, 9, 13), (4, 4, 4), 2, "nearest"),
    ((11, 9, 13), (11, 3, 6), 2, {0: "periodic", 1: "none", 2: "reflect"}),
]


@pytest.mark.parametrize(("shape", "chunks", "depth", "boundary"), CASES)
def test_halos_are_those_of_dask(shape: Sequence[int], chunks: Any, depth: Any, boundary: Any) -> None:
    x = X[tuple(slice(size) if n < len(shape) else 0 for n, size in enumerate((*shape, *(1, 1, 1)[len(shape) :])))]
    chunked = da.from_array(x, chunks=(chunks,) if shape == (11,) and chunks == (5, 1, 5) else chunks)
    found = vd.map_overlap(WEIGHTED[len(shape)], chunked, depth=depth, boundary=boundary)
    by_dask = lambda array: da.map_overlap(weighted_numpy, array, depth=depth, boundary=boundary, dtype=array.dtype)
    expected = by_dask(chunked)
    assert (found.dtype, found.chunks) == (expected.dtype, expected.chunks)
    assert np.array_equal(found.compute(), expected.compute())
    twice = vd.map_overlap(WEIGHTED[len(shape)], chunked, depth=depth, boundary=boundary, steps=2)
    assert np.array_equal(twice.compute(), by_dask(expected).compute())


def test_a_chunk_is_one_task_and_its_faces_another() -> None:
    x = da.from_array(X, chunks=(4, 3, 5))
    found = vd.map_overlap(WEIGHTED[3], x, depth=2)
    assert found.npartitions == 27
    assert len(dict(found.__dask_graph__())) - len(dict(x.__dask_graph__())) == 2 * 27
    (part,) = dask.optimize(found[:4, :3, :5])
    keys = {key[0] for key in dict(part.__dask_graph__()) if isinstance(key, tuple)}
    assert sum(key.startswith("weighted") for key in keys) == 1, "the other chunks are culled"


@pytest.mark.parametrize("lost", [(0, 1), (1, 0), (1, -1)], ids=["face", "other face", "corner"])
def test_a_lost_halo_is_seen(lost: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    x = X[:, :, 0].copy()
    found = lambda: vd.map_overlap(WEIGHTED[2], da.from_array(x, chunks=(4, 4)), depth=2, boundary="periodic").compute()
    expected, padded = found(), overlap.OverlapProgram._padded

    def damaged(self: Any, chunk: Any, ends: Any, pads: Any, near: Any) -> Any:
        steps = overlap.directions(self.halos, ends)
        kept = [
            {name: face * 0 for name, face in faces.items()} if step == lost else faces
            for step, faces in zip(steps, near, strict=True)
        ]
        return padded(self, chunk, ends, pads, kept)

    monkeypatch.setattr(overlap.OverlapProgram, "_padded", damaged)
    assert not np.array_equal(found(), expected)


def test_several_arrays_and_steps_of_the_first() -> None:
    with program("diffused", 64) as p:
        x, rate = p.read("x", f32, shape=("n",)), p.read("rate", f32, shape=("n",))
        out, factor = p.write("out", f32, shape=("n",)), p.scalar("factor", f32)
        i = p.index()
        out[i] = x[i] + (x[i - 1] + x[i + 1] - x[i] * 2.0) * rate[i] * factor
    x, rate = RANDOM.random((2, 100), dtype=np.float32)
    expected = x
    for _ in range(5):
        padded = np.pad(expected, 1, mode="edge")
        expected = expected + (padded[:-2] + padded[2:] - expected * 2) * rate * np.float32(0.25)
    chunked, rates = da.from_array(x, chunks=30), da.from_array(rate, chunks=50)
    once = chunked
    for _ in range(5):
        once = vd.map_overlap(p.build(), once, rates, 0.25, depth=1, boundary="nearest")
    assert once.compute().tobytes() == expected.tobytes()
    for size in (30, 7, 3, 100):
        found = vd.map_overlap(p.build(), chunked.rechunk(size), rates, 0.25, depth=1, boundary="nearest", steps=5)
        assert found.compute().tobytes() == expected.tobytes()


def test_halos_on_the_cluster(client: Client) -> None:
    x = X.reshape(-1)
    found = vd.map_overlap(WEIGHTED[1], da.from_array(x, chunks=400), depth=2, boundary="periodic", steps=2)
    with client.as_current():
        assert np.array_equal(found.compute(), found.compute(scheduler="synchronous"))


def test_an_axis_without_a_halo_may_be_empty_and_an_array_without_axes_has_none() -> None:
    empty = vd.map_overlap(WEIGHTED[2], da.from_array(X[:0, :, 0], chunks=4), depth={1: 2})
    assert empty.compute().shape == (0, 9)
    with program("twice", 64) as p:
        x = p.read("x", u32)
        p.write("out", u32, like=x)[p.global_id(0)] = x[p.global_id(0)] * 2
    assert vd.map_overlap(p.build(), da.from_array(np.array(4, np.uint32)), depth=1).compute() == 8


def test_halos_that_do_not_fit_are_refused_before_anything_runs() -> None:
    x = da.from_array(X[:, 0, 0].copy(), chunks=4)
    refused: list[tuple[dict[str, Any], str]] = [
        ({"depth": 12}, r"'depth': got 12, of 11 elements of axis 0, expected at most the length .*Fix: use a smaller"),
        ({"depth": -1}, r"'depth': got -1, expected a number of elements for each axis.*Fix: pass one number"),
        ({"depth": {1: 2}}, r"'depth': got \[1\], expected axes below 1.*Fix: name axes"),
        ({"depth": {0: (1, 2)}}, r"'depth': got \(1, 2\), expected a number of elements"),
        (
            {"depth": 2, "boundary": "mirror"},
            "'boundary': got 'mirror', expected a number of int64, or one of.*Fix: pass one of",
        ),
        ({"depth": 2, "boundary": 2**63}, "'boundary': got 9223372036854775808, expected a number of int64"),
        ({"depth": 2, "steps": 0}, "'steps': got 0, expected a number of at least 1.*Fix: pass how often"),
        ({"depth": 2, "boundary": "periodic", "steps": 6}, r"'steps': got 12 of 11 elements.*Fix: take fewer steps"),
    ]
    for options, message in refused:
        with pytest.raises(InvalidInput, match=message):
            vd.map_overlap(WEIGHTED[1], x, **options)
    with pytest.raises(InvalidInput, match=r"chunks of known sizes.*Fix: call x\.compute_chunk_sizes"):
        vd.map_overlap(WEIGHTED[1], x[x > 0], depth=1)
    with program("shorter", 64) as p:
        y = p.read("y", u32)
        p.write("out", f32, 3)[p.global_id(0)] = 1.0 + y[0].cast(f32)
    y = da.zeros(9, chunks=3, dtype=np.uint32)
    with pytest.raises(InvalidLaunch, match=r"got f32, expected the type of 'y' for several steps.*Fix: take one step"):
        vd.map_overlap(p.build(), y, depth=1, steps=2)
    with pytest.raises(InvalidLaunch, match=r"got \(3,\), expected the shape \(5,\)\. Fix: declare it like the input"):
        vd.map_overlap(p.build(), y, depth=1, boundary=0).compute()


def test_the_ends_of_the_array_are_those_of_a_call_over_all_of_it() -> None:
    with program("ends", 64) as p:
        x = p.read("x", f32)
        out = p.write("out", f32, like=x)
        i = p.let(p.global_id(0))
        before, after = x[maximum(i, constant(u32, 1)) - 1], x[minimum(i + 1, x.length - 1)]
        out[i] = select(i == 0, constant(f32, 7), before + after * 2)
    ends = p.build()
    x = np.arange(40, dtype=np.float32)
    over_all = lambda array: vd.map_blocks(ends, da.from_array(array, chunks=-1)).compute()
    once = over_all(x)
    for size in (10, 40):
        chunked = da.from_array(x, chunks=size)
        assert np.array_equal(vd.map_overlap(ends, chunked, depth=1).compute(), once)
        assert np.array_equal(vd.map_overlap(ends, chunked, depth=1, steps=2).compute(), over_all(once))


def read_at(*places: tuple[int, ...], axes: int = 1) -> Program:
    """A sum of the elements at some distances."""
    with program("read", 64) as p:
        names = ("a", "b", "c")[:axes]
        x = p.read("x", i64, shape=names)
        out = p.write("out", i64, shape=names)
        own = p.index() if axes > 1 else (p.index(),)
        total = p.var(x[own] * 0)
        for steps in places:
            near = [n + step if step >= 0 else n - -step for n, step in zip(own, steps, strict=True)]
            total.set(total + x[tuple(near)])
        out[own] = total
    return p.build()


@pytest.mark.parametrize(
    ("read", "chunks", "depth", "message"),
    [
        (read_at((-2,), (1,)), 4, 1, "'depth': got 1, expected at least 2 along axis 0, as .*reads 'x' .*pass depth=2"),
        (read_at((0, 1), (3, 0), axes=2), (4, 9), 1, "at least 3 along axis 0, .*Fix: pass depth={0: 3, 1: 1}"),
        (read_at((0, 1), (3, 0), axes=2), (11, 4), {0: 1}, "at least 1 along axis 1, .*Fix: pass depth={0: 3, 1: 1}"),
        (read_at((1, -2, 3), axes=3), (4, 9, 13), 0, "at least 1 along axis 0, .*Fix: pass depth={0: 1, 1: 2, 2: 3}"),
    ],
)
def test_a_depth_below_what_the_program_reads_is_refused(read: Program, chunks: Any, depth: Any, message: str) -> None:
    shape = X.shape[: len(read.shapes.launch)] if read.shapes else ()
    x = da.from_array(np.arange(np.prod(shape)).reshape(shape), chunks=chunks)
    with pytest.raises(InvalidInput, match=message) as error:
        vd.map_overlap(read, x, depth=depth)
    fixed = eval(str(error.value).rsplit("pass depth=")[1])
    whole = vd.map_blocks(read, x.rechunk(-1)).compute()
    assert np.array_equal(vd.map_overlap(read, x, depth=fixed).compute(), whole)
    with pytest.raises(InvalidInput, match=r"'x': got . chunks, expected one chunk along axis .*Fix: call map_overlap"):
        vd.map_blocks(read, x)


def test_axes_in_one_chunk_need_no_depth() -> None:
    read, x = read_at((0, 1), (0, -2), axes=2), X[:, :, 0]
    rows = da.from_array(x, chunks=(4, 9))
    assert np.array_equal(vd.map_blocks(read, rows).compute(), vd.map_overlap(read, rows, depth={0: 1}).compute())
    one = da.from_array(x, chunks=(11, 9))
    assert np.array_equal(vd.map_overlap(read, one, depth=0, boundary=5).compute(), vd.map_blocks(read, one).compute())
    with pytest.raises(InvalidInput, match="at least 2 along axis 1"):
        vd.map_overlap(read, one, depth=1, boundary="reflect")


def test_the_reach_of_a_loop_follows_from_what_is_passed_whole() -> None:
    with program("fir", 64) as p:
        x, taps = p.read("x", i64, shape=("n",)), p.read("taps", i64, shape=("k",))
        out, i = p.write("out", i64, shape=("n",)), p.index()
        total = p.var(constant(i64, 0))
        with p.range(taps.length) as k:
            total.set(total + taps[k] * x[i - k])
        out[i] = total
    fir, x, taps = p.build(), da.from_array(np.arange(40), chunks=10), np.arange(1, 6)
    with pytest.raises(InvalidInput, match=r"got 3, expected at least 4 along axis 0.*Fix: pass depth=4"):
        vd.map_overlap(fir, x, taps, depth=3)
    assert np.array_equal(vd.map_overlap(fir, x, taps, depth=4).compute(), np.convolve(np.arange(40), taps)[:40])


def blocks_of_pairs(p: Any, x: Any, i: Any) -> Any:
    return select(i % 2 == 0, x[i + 1], x[i - 1])


def blocks_of_workgroups(p: Any, x: Any, i: Any) -> Any:
    return x[p.workgroup_id(0) * 4 + 3]


def a_data_dependent_index(p: Any, x: Any, i: Any) -> Any:
    return x[i + (x[i] & 63).cast(u32)]


def a_branch_of_the_data(p: Any, x: Any, i: Any) -> Any:
    found = p.var(constant(i64, 0))
    with p.if_(x[i] > 1000):
        found.set(x[i + 9])
    return found


def a_loop_with_an_end_in_the_data(p: Any, x: Any, i: Any) -> Any:
    found = p.var(constant(i64, 0))
    with p.range(50) as k:
        with p.if_(x[i] <= 1000):
            p.break_()
        found.set(found + x[i + k])
    return found


@pytest.mark.parametrize(
    "read",
    [
        blocks_of_pairs,
        blocks_of_workgroups,
        a_data_dependent_index,
        a_branch_of_the_data,
        a_loop_with_an_end_in_the_data,
    ],
)
def test_programs_that_may_be_meant_for_their_chunks_are_not_refused(read: Any) -> None:
    with program("maybe", 4) as p:
        x = p.read("x", i64, shape=("n",))
        out, i = p.write("out", i64, shape=("n",)), p.index()
        out[i] = read(p, x, i)
    found = vd.map_blocks(p.build(), da.from_array(np.zeros(40, np.int64), chunks=8))
    assert np.array_equal(found.compute(), np.zeros(40))
