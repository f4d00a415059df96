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
