"""Programs and algorithms over chunked arrays: against NumPy, exact sums of Python, and the same without chunks."""

import math
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dask
import dask.array as da
import dask.dataframe
import numpy as np
import pytest
from distributed import Client

import vyre_algorithms
import vyre_distributed as vd
from vyre_algorithms.monoids import SCANNED
from vyre_algorithms.tree import BLOCK
from vyre_distributed import chunked, mapped
from vyre_distributed.worker import local_backend
from vyre_driver.arrays.make import array
from vyre_driver.errors import InvalidInput, InvalidLaunch
from vyre_foundation.build import program
from vyre_foundation.dtype import f32, u32
from vyre_foundation.ir.program import Program

RANDOM = np.random.default_rng(23)


@pytest.fixture(autouse=True)
def _in_this_thread() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


def scaled() -> Program:
    with program("scaled", 64) as p:
        x, factor = p.read("x", u32), p.uniform("factor", u32, 1)
        p.write("out", u32, like=x)[p.global_id(0)] = x[p.global_id(0)] * factor[0]
    return p.build()


def smoothed() -> Program:
    """Half of the sum of an element of a row of six and its neighbours above and below."""
    with program("smoothed", 64) as p:
        x = p.read("x", f32)
        i = p.let(p.global_id(0))
        p.write("out", f32, like=x)[i] = (x[i - 6] + x[i] + x[i + 6]) * 0.5
    return p.build()


def test_a_program_over_chunks_is_lazy_and_has_their_shape() -> None:
    x = np.arange(60, dtype=np.uint32).reshape(5, 12)
    found = vd.map_blocks(scaled(), da.from_array(x, chunks=(2, 5)), 3)
    assert (found.shape, found.dtype, found.chunks) == ((5, 12), np.uint32, ((2, 2, 1), (5, 5, 2)))
    assert np.array_equal(found.compute(), x * 3)
    assert vd.map_blocks(scaled(), da.from_array(np.array(4, np.uint32)), 3).compute() == 12


def test_tasks_of_a_program_with_shapes_share_it() -> None:
    """So that the second task of a worker finds the launch prepared, though each is unpickled on its own."""
    with program("doubled", 64) as p:
        x = p.read("x", u32, shape=("n",))
        out = p.write("out", u32, shape=("n",))
        out[p.index()] = x[p.index()] * 2
    task, _ = mapped.over_chunks(p.build(), [da.zeros(4, chunks=2, dtype=np.uint32)], {})
    again = pickle.loads(pickle.dumps(task))  # noqa: S301
    one, other = (mapped._with_shapes(each.wire, *each.shapes) for each in (again, task))
    assert one[0] is other[0]
    assert one[1] == p.build().shapes


def test_a_halo_comes_from_the_neighbours() -> None:
    x = RANDOM.standard_normal((40, 6), dtype=np.float32)
    padded = np.pad(x, ((1, 1), (0, 0)))
    expected = (padded[:-2] + x + padded[2:]) * np.float32(0.5)
    for rows in (1, 7, 16, 40):
        found = vd.map_overlap(smoothed(), da.from_array(x, chunks=(rows, 6)), depth={0: 1, 1: 0})
        assert found.compute().tobytes() == expected.tobytes()


def test_chunks_of_several_axes_have_the_declared_shapes() -> None:
    with program("turned", (8, 8)) as p:
        x, scale = p.read("x", f32, shape=("h", "w")), p.scalar("scale", f32)
        out = p.write("out", f32, shape=("w", "h"))
        i, j = p.index()
        out[i, j] = x[j, i] * scale + x[j, i - 1]
    x = RANDOM.standard_normal((40, 30), dtype=np.float32)
    found = vd.map_blocks(p.build(), da.from_array(x, chunks=(40, 30)), 2.0, chunks=(30, 40)).compute()
    left = np.pad(x, ((0, 0), (1, 0)))[:, :-1]
    assert np.array_equal(found, (x * 2 + left).T)
    with program("blurred", (8, 8)) as p:
        x_ = p.read("x", f32, shape=("h", "w"))
        out = p.write("out", f32, shape=("h", "w"))
        i, j = p.index()
        out[i, j] = x_[i - 1, j] + x_[i, j] + x_[i, j + 1]
    above, right = np.pad(x, ((1, 0), (0, 0)))[:-1], np.pad(x, ((0, 0), (0, 1)))[:, 1:]
    for chunks in ((40, 30), (7, 30), (16, 9)):
        found = vd.map_overlap(p.build(), da.from_array(x, chunks=chunks), depth=1)
        assert np.array_equal(found.compute(), above + x + right)


def test_without_its_halo_a_chunk_is_wrong() -> None:
    x = RANDOM.standard_normal((40, 6), dtype=np.float32)
    whole, chunked = (vd.map_blocks(smoothed(), da.from_array(x, chunks=(rows, 6))).compute() for rows in (40, 16))
    assert whole.tobytes() != chunked.tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "uint8"])
def test_sums_do_not_depend_on_chunks(dtype: str) -> None:
    x = (RANDOM.standard_normal((30, 700)) * 100).astype(dtype)
    expected = vyre_algorithms.sum(x, backend="cpu")
    for chunks in ((30, 700), (7, 700), (30, 11), (13, 130), (1, 700)):
        found = vd.sum(da.from_array(x, chunks=chunks)).compute()
        assert (found.dtype, found.tobytes()) == (expected.dtype, expected.tobytes())


def test_sums_of_chunks_in_another_order_are_others() -> None:
    """So that the test above means something: the sums of chunks, added up, have other bytes."""
    x = (RANDOM.standard_normal(30_000) * 100).astype(np.float32)
    parts = [vyre_algorithms.sum(x[n : n + 1000].copy(), backend="cpu") for n in range(0, 30_000, 1000)]
    assert np.array(parts).sum(dtype=np.float32) != vyre_algorithms.sum(x, backend="cpu")


def in_order_of_arrival(parts: da.Array) -> da.Array:
    """A random one: to turn the fixed tree around, or by some places, would change no byte."""
    return parts[np.random.default_rng(1).permutation(parts.size)]


def with_one_twice(parts: da.Array) -> da.Array:
    return da.concatenate([parts, parts[:1]])


@pytest.mark.parametrize("damage", [in_order_of_arrival, with_one_twice])
def test_combination_in_another_order_and_a_block_twice_are_seen(
    monkeypatch: pytest.MonkeyPatch, damage: Callable[[da.Array], da.Array]
) -> None:
    x = np.random.default_rng(1).standard_normal(300_000, dtype=np.float32)
    expected, inner = vyre_algorithms.sum(x, backend="cpu"), chunked.in_one_task
    assert vd.sum(da.from_array(x, chunks=50_000)).compute() == expected
    damaged = lambda parts, *given, **more: inner(damage(parts), *given, **more)
    monkeypatch.setattr(chunked, "in_one_task", damaged)
    assert vd.sum(da.from_array(x, chunks=50_000)).compute() != expected


def test_sums_of_many_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vyre_distributed.chunked.LAST", BLOCK)
    x = np.tile(RANDOM.standard_normal(99_991, dtype=np.float32), 170)
    assert x.size > BLOCK**2
    assert vd.sum(da.from_array(x, chunks=3_000_000)).compute() == vyre_algorithms.sum(x, backend="cpu")


def test_other_reductions() -> None:
    x = RANDOM.integers(-50, 50, (40, 300)).astype(np.int32)
    chunked = da.from_array(x, chunks=(11, 70))
    for name in SCANNED:
        expected = vyre_algorithms.reduce(x, name, backend="cpu")
        assert vd.reduce(chunked, name).compute() == expected
        rows = vd.reduce(chunked, name, axis=1).compute()
        assert np.array_equal(rows, vyre_algorithms.reduce(x, name, axis=1, backend="cpu"))
        if name not in ("and", "or", "xor"):
            assert getattr(vd, name)(chunked).compute() == expected
    assert np.array_equal(vd.sum(chunked, axis=0).compute(), x.sum(axis=0))


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", [None, (), 0, -1, (0,), (0, 2), (2, 1), [-1, 0], (0, 1, 2)])
def test_reductions_along_several_axes(axis: Any, keepdims: bool) -> None:
    x = RANDOM.standard_normal((7, 50, 9), dtype=np.float32)
    chunked = da.from_array(x, chunks=(3, 20, 4))
    for name in ("sum", "prod", "min", "max", "any", "all", "exact_sum"):
        whole = getattr(vyre_algorithms, name)(x, axis, keepdims=keepdims, backend="cpu")
        lazy = getattr(vd, name)(chunked, axis, keepdims=keepdims)
        found = lazy.compute()
        assert (lazy.shape, lazy.dtype) == (found.shape, found.dtype) == (np.shape(whole), whole.dtype)
        assert found.tobytes() == whole.tobytes()
    reduced = vd.reduce(chunked, "sum", axis=axis, dtype=np.float64, keepdims=keepdims).compute()
    same = vyre_algorithms.reduce(x, "sum", axis=axis, dtype=np.float64, keepdims=keepdims, backend="cpu")
    assert reduced.tobytes() == same.tobytes()


def test_reductions_along_axes_without_elements() -> None:
    for shape, axis in (((0, 3), 0), ((0, 3), 1), ((2, 0, 3), (1, 2))):
        for keepdims in (False, True):
            found = vd.sum(da.zeros(shape, np.float32, chunks=2), axis=axis, keepdims=keepdims).compute()
            assert np.array_equal(found, np.zeros(shape, np.float32).sum(axis=axis, keepdims=keepdims))
            assert found.shape == np.zeros(shape).sum(axis=axis, keepdims=keepdims).shape


def test_axes_that_a_program_drops_are_named() -> None:
    with program("column", (64, 1, 1)) as p:
        x = p.read("x", f32, shape=("n", 4))
        out = p.write("out", f32, shape=("n",))
        out[p.index()] = x[p.index(), 2]
    column = p.build()
    x = np.arange(40, dtype=np.float32).reshape(10, 4)
    chunked = da.from_array(x, chunks=(3, 4))
    for axis in (1, -1, [1], np.int64(1)):
        assert np.array_equal(vd.map_blocks(column, chunked, drop_axis=axis).compute(), x[:, 2])
    with pytest.raises(
        InvalidLaunch, match=r"'?out'?: got 1, expected 2 axes.* Fix: say which axes differ, as in drop_ax"
    ):
        vd.map_blocks(column, chunked)


@pytest.mark.parametrize("shape", [(0,), (0, 7, 3), (7, 0, 3), (2, 0)])
def test_arrays_without_elements_of_any_shape_have_sums_and_counts(shape: tuple[int, ...]) -> None:
    nothing = da.zeros(shape, np.float32, chunks=2)
    assert vd.exact_sum(nothing).compute() == 0
    assert vd.histogram(nothing, 2, (0, 1)).compute().tolist() == [0, 0]
    assert vd.bincount(nothing.astype(np.int32), length=2).compute().tolist() == [0, 0]


def test_reductions_of_nothing_have_the_type_that_is_asked_for() -> None:
    for name, wanted in (("sum", np.float64(0)), ("prod", np.float64(1))):
        found = vd.reduce(da.zeros(0, np.float32, chunks=1), name, dtype=np.float64).compute()
        assert (found.dtype, found) == (wanted.dtype, wanted)


def test_exact_sums_are_those_of_fsum() -> None:
    x = RANDOM.standard_normal(20_000) * 10.0 ** RANDOM.integers(-200, 200, 20_000)
    for size in (20_000, 4096, 777):
        assert vd.exact_sum(da.from_array(x, chunks=size)).compute() == math.fsum(x)


def test_counts() -> None:
    x = RANDOM.standard_normal(20_000, dtype=np.float32)
    chunked = da.from_array(x, chunks=3000)
    found = vd.histogram(chunked, 17, (-2.0, 2.0)).compute()
    assert np.array_equal(found, np.histogram(x.astype(np.float64), 17, (-2.0, 2.0))[0])
    numbers = RANDOM.integers(0, 90, 20_000).astype(np.uint8)
    assert np.array_equal(
        vd.bincount(da.from_array(numbers, chunks=3000), length=90).compute(), np.bincount(numbers, minlength=90)
    )
    with pytest.raises(InvalidInput, match="expected numbers below 50"):
        vd.bincount(da.from_array(numbers, chunks=3000), length=50).compute()


def test_a_file_is_read_chunk_by_chunk(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(50_000, dtype=np.uint32))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    chunked = da.from_array(mapped, chunks=8192)
    assert vd.sum(vd.map_blocks(scaled(), chunked, 2)).compute() == 50_000 * 49_999


def test_what_does_not_fit_is_refused_before_anything_runs() -> None:
    x = da.zeros(10, chunks=5, dtype=np.float32)
    with pytest.raises(InvalidInput, match=r"'x': got one of float32, expected an array of u32\. Fix: convert it with"):
        vd.map_blocks(scaled(), x, 3)
    with pytest.raises(InvalidInput, match="got 1, expected 2 arrays in binding order"):
        vd.map_blocks(scaled(), x.astype(np.uint32))
    with pytest.raises(InvalidInput, match=r"argument 'factor': got 4294967296, expected a value of u32"):
        vd.map_blocks(scaled(), x.astype(np.uint32), np.int64(2**32))
    with pytest.raises(InvalidInput, match=r"got none among the arrays, expected a dask\.array"):
        vd.map_blocks(scaled(), np.zeros(10, np.uint32), 3)
    with pytest.raises(InvalidInput, match=r"got ndarray, expected a dask\.array"):
        vd.sum(np.zeros(10))
    with pytest.raises(InvalidInput, match=r"chunks of known sizes.*compute_chunk_sizes"):
        vd.sum(x[x > 0])
    with pytest.raises(InvalidInput, match=r"got Series, expected a dask\.array\. Fix: call \.to_dask_array\("):
        vd.sum(dask.dataframe.from_array(x))  # type: ignore[arg-type]
    pairs = da.zeros(4, dtype=[("a", np.float32), ("b", np.float32)])
    with pytest.raises(InvalidInput, match=r"'x': got one of .*, expected an array of u32\. Fix: pass a field of it"):
        vd.map_blocks(scaled(), pairs, 3)
    rows = x.reshape(5, 2)
    with pytest.raises(InvalidInput, match=r"'axis': got 2, expected an axis from -2 to 1\. Fix: count the axes"):
        vd.max(rows, axis=2)
    unknown = rows[rows[:, 0] > 0]
    for refused in (lambda: vd.any(unknown, axis=0), lambda: vd.scan(unknown, axis=-2)):
        with pytest.raises(
            InvalidInput, match=r"chunks of known sizes along axis 0\. Fix: call x\.compute_chunk_sizes"
        ):
            refused()
    for refused in (lambda: vd.cumsum(unknown), lambda: vd.bincount(unknown.astype(int), length=2)):
        with pytest.raises(InvalidInput, match=r"chunks of known sizes\. Fix: call x\.compute_chunk_sizes"):
            refused()
    for bins in (10, np.int64(10)):
        with pytest.raises(InvalidInput, match="expected the first and the last edge"):
            vd.histogram(x, bins)
    with pytest.raises(InvalidInput, match=r"'length': got -3, expected 0 … 268435456\. Fix: pass a number in"):
        vd.bincount(x.astype(int), length=-3)
    with pytest.raises(InvalidInput, match=r"'length': got str, expected an integer\. Fix: pass an integer"):
        vd.bincount(x.astype(int), length="3")  # type: ignore[arg-type]
    with program("two", 64) as p:
        p.write("a", u32, 1)[0] = 1
        p.write("b", u32, 1)[0] = 1
    with pytest.raises(InvalidLaunch, match=r"got 2 \(a, b\), expected a program with one output"):
        vd.map_blocks(p.build(), x)
    with pytest.raises(InvalidLaunch, match=r"got ufunc, expected a Program\. Fix: pass what build\(\) returned"):
        vd.map_blocks(np.sqrt, x)  # type: ignore[arg-type]
    u = x.astype(np.uint32)
    with pytest.raises(InvalidInput, match=r"'factor': got \(\), expected the shape \(10,\)\. Fix: .*compute\(\)"):
        vd.map_blocks(scaled(), u, u.max())
    with pytest.raises(InvalidInput, match=r"'factor': got list, expected a number, or an array of u32\. Fix: make"):
        vd.map_blocks(scaled(), u, [3])


def test_arrays_that_go_whole_to_every_launch_may_be_those_of_a_device() -> None:
    x = np.arange(9, dtype=np.uint32)
    found = vd.map_blocks(scaled(), da.from_array(x, chunks=4), array(local_backend(), np.array([3], np.uint32)))
    assert np.array_equal(found.compute(), x * 3)


def test_numbers_that_are_not_passed_have_the_defaults_of_a_kernel() -> None:
    x, kernel = np.arange(9, dtype=np.uint32), SimpleNamespace(program=scaled(), defaults={"factor": 5})
    for found in (vd.map_blocks(kernel, da.from_array(x, chunks=4)), vd.map_overlap(kernel, da.from_array(x), depth=0)):
        assert np.array_equal(found.compute(), x * 5)
    assert np.array_equal(vd.map_blocks(kernel, da.from_array(x, chunks=4), 2).compute(), x * 2)


def test_masked_chunks_are_refused() -> None:
    """Dask's metadata may not tell, so that tasks look at their chunks; the mask was dropped."""
    x = RANDOM.standard_normal(3 * BLOCK, dtype=np.float32)
    masked = da.map_blocks(lambda chunk: np.ma.masked_array(chunk, chunk > 0), da.from_array(x, chunks=BLOCK))
    refused: list[Callable[[], da.Array]] = [
        *(lambda f=f: f(masked) for f in (vd.sum, vd.max, vd.exact_sum, vd.cumsum, vd.scan, vd.sort, vd.unique)),
        lambda: vd.sum(masked.reshape(-1, 3), axis=0),
        lambda: vd.top_k(masked, 2)[0],
        lambda: vd.histogram(masked, 4, (-1, 1)),
        lambda: vd.map_blocks(smoothed(), masked.rechunk(-1)),
        lambda: vd.map_overlap(smoothed(), masked, depth=6),
        lambda: vd.map_blocks(scaled(), da.zeros(4, dtype=np.uint32), np.ma.masked_array(np.uint32([3]), [True])),
    ]
    for call in refused:
        with pytest.raises(
            InvalidInput, match=r"got a masked array, expected an array without a mask\. Fix: pass \.fi"
        ):
            call().compute()


def test_tasks_run_on_the_cluster(client: Client) -> None:
    x = RANDOM.standard_normal(300_000, dtype=np.float32)
    with client.as_current():
        found = vd.sum(da.from_array(x, chunks=50_000)).compute()
    assert found == vyre_algorithms.sum(x, backend="cpu")


def test_chunks_that_dask_shuffles_between_workers(client: Client) -> None:
    """On a cluster Dask exchanges chunks directly between workers where tasks would be too many."""
    x = RANDOM.standard_normal((30, 700))
    with client.as_current():
        total = vd.sum(da.from_array(x, chunks=(30, 11)))
        assert any("p2p" in layer for layer in total.dask.layers)
        assert total.compute() == vyre_algorithms.sum(x, backend="cpu")


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("mean", r"call dask\.array\.mean, whose bytes may depend on the chunks$"),
        ("map_block", r"use vyre_distributed\.map_blocks if that is what it does, or"),
        ("zzzzz", r"choose one of the names in dir\(vyre_distributed\)$"),
    ],
)
def test_a_missing_name_has_a_remedy(name: str, fix: str) -> None:
    with pytest.raises(AttributeError, match=rf"^module 'vyre_distributed' has no attribute '{name}'\. Fix: {fix}"):
        getattr(vd, name)
    assert not hasattr(vd, "__wrapped__")
