"""Scans, sorts, different and greatest elements, products: the bytes of one device, whatever the chunks."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest

import vyre_algorithms
import vyre_distributed as vd
from vyre_distributed import runs, scans, sorts
from vyre_driver.errors import DispatchFailed, InvalidInput

RANDOM = np.random.default_rng(23)
SIZE = 10_000
CHUNKS = (4096, 3001)


@pytest.fixture(autouse=True)
def _in_this_thread() -> Iterator[None]:
    with dask.config.set(scheduler="synchronous"):
        yield


def floats() -> Any:
    """Duplicates, both zeros, infinities and NaNs of both signs."""
    x = np.round(RANDOM.standard_normal(SIZE, dtype=np.float32) * 50) / 8
    x[::97] = np.tile(np.array([-0.0, 0.0, np.inf, -np.inf, np.nan, -np.nan], np.float32), SIZE)[: x[::97].size]
    return x


def bools() -> Any:
    return RANDOM.integers(0, 2, SIZE).astype(np.bool_)


def wide() -> Any:
    return RANDOM.integers(-(2**62), 2**62, SIZE)


@pytest.mark.parametrize(("made", "descending"), [(floats, False), (floats, True), (wide, False), (bools, True)])
def test_sorts(made: Callable[[], Any], descending: bool) -> None:
    x = made()
    expected = vyre_algorithms.sort(x, descending=descending, backend="cpu")
    for size in CHUNKS:
        found = vd.sort(da.from_array(x, chunks=size), descending=descending)
        assert found.chunks == da.from_array(x, chunks=size).chunks
        assert found.compute().tobytes() == expected.tobytes()


def test_sorts_of_unlike_chunks_and_of_rows() -> None:
    x = wide().astype(np.int32)
    chunked = da.from_array(x, chunks=((0, 1, 2500, 7499),))
    assert np.array_equal(vd.sort(chunked).compute(), np.sort(x))
    assert np.array_equal(vd.sort(da.from_array(np.ones(99), chunks=40)).compute(), np.ones(99))
    rows = x.reshape(100, 100)
    for axis in (0, 1):
        assert np.array_equal(vd.sort(da.from_array(rows, chunks=(60, 60)), axis).compute(), np.sort(rows, axis))


@pytest.mark.parametrize(("made", "descending"), [(floats, True), (wide, False)])
def test_sorts_through_files(made: Callable[[], Any], descending: bool, tmp_path: Path) -> None:
    x, folder = made(), tmp_path / "made by tasks"
    found = vd.sort(da.from_array(x, chunks=3001), descending=descending, folder=folder)
    assert not folder.exists()
    expected = vyre_algorithms.sort(x, descending=descending, backend="cpu").tobytes()
    assert found.compute().tobytes() == expected
    files = sorted(folder.iterdir())
    assert [file.suffix for file in files] == [".npy"] * 4
    assert found.compute().tobytes() == expected
    assert sorted(folder.iterdir()) == files
    unique = vd.unique(da.from_array(x, chunks=3001), folder=folder)
    assert unique.compute().tobytes() == vyre_algorithms.unique(x, backend="cpu").tobytes()


def test_files_that_cannot_be_written_or_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"")
    found = vd.sort(da.from_array(wide(), chunks=3001), folder=tmp_path / "file")
    with pytest.raises(DispatchFailed, match=r"a sorted chunk of .* bytes was not written to .*Fix: pass a folder"):
        found.compute()

    def full(file: Any, *given: Any, **options: Any) -> None:
        file.write(b"part of it")
        raise OSError(28, "No space left on device")

    found = vd.sort(da.from_array(wide(), chunks=3001), folder=tmp_path / "full")
    with monkeypatch.context() as patched:
        patched.setattr(np, "save", full)
        with pytest.raises(DispatchFailed, match="No space left on device"):
            found.compute()
    assert not list((tmp_path / "full").iterdir())
    runs.stored(wide(), str(tmp_path), "lost")
    (tmp_path / "lost.npy").write_bytes(b"cut off")
    for name in ("lost.npy", "other.npy"):
        with pytest.raises(
            InvalidInput, match=r"expected the sorted chunks that tasks wrote\. Fix: name a folder that"
        ):
            runs.opened(str(tmp_path / name))


def test_keys_lead_back_to_elements() -> None:
    x = vyre_algorithms.sort(floats(), backend="cpu")
    bits = x.view(np.uint32).astype(np.uint64)
    keys = np.where(bits >> np.uint64(31), ~bits & np.uint64(2**32 - 1), bits | np.uint64(2**31))
    assert np.all(keys[1:] >= keys[:-1])
    assert sorts._elements(keys, vyre_algorithms.arguments.type_of(x)).tobytes() == x.tobytes()


@pytest.mark.parametrize("made", [floats, bools])
def test_different_elements(made: Callable[[], Any]) -> None:
    x = made()
    expected = vyre_algorithms.unique(x, backend="cpu")
    for size in CHUNKS:
        assert vd.unique(da.from_array(x, chunks=size)).compute().tobytes() == expected.tobytes()
    assert vd.unique(da.from_array(x[:0], chunks=5)).compute().size == 0


@pytest.mark.parametrize("largest", [False, True])
def test_greatest_elements(largest: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorts, "MERGED", 3)
    x = floats()
    for k, size in ((1, SIZE), (70, 300), (SIZE, 3001)):
        values, indices = dask.compute(*vd.top_k(da.from_array(x, chunks=size), k, largest=largest))
        expected = vyre_algorithms.top_k(x, k, largest=largest, backend="cpu")
        assert (values.tobytes(), indices.tobytes()) == (expected[0].tobytes(), expected[1].tobytes())


@pytest.mark.parametrize(
    ("made", "operation", "exclusive"),
    [(floats, "sum", False), (wide, "prod", True), (bools, "any", False), (wide, "xor", True)],
)
def test_scans(made: Callable[[], Any], operation: str, exclusive: bool) -> None:
    x = made()
    if operation == "sum":
        x = np.nan_to_num(x, posinf=0.1, neginf=0.3)
    expected = vyre_algorithms.scan(x, operation, exclusive=exclusive, backend="cpu")
    for size in (SIZE, *CHUNKS):
        found = vd.scan(da.from_array(x, chunks=size), operation, exclusive=exclusive)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert found.compute().tobytes() == expected.tobytes()


def test_scans_of_chunks_in_another_order_are_others() -> None:
    """So that the test above means something: the running sums of NumPy have other bytes."""
    x = RANDOM.standard_normal(SIZE, dtype=np.float32)
    assert np.cumsum(x).tobytes() != vd.cumsum(da.from_array(x, chunks=3001)).compute().tobytes()


def test_scans_of_many_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scans, "LAST", 4096)
    x = np.tile(RANDOM.standard_normal(99_991, dtype=np.float32), 170)
    assert x.size > scans.BLOCK**2
    expected = vyre_algorithms.scan(x, backend="cpu")
    assert vd.scan(da.from_array(x, chunks=6_000_000)).compute().tobytes() == expected.tobytes()


def test_scans_along_axes() -> None:
    x = RANDOM.standard_normal((60, 90)).astype(np.float16)
    chunked = da.from_array(x, chunks=(17, 40))
    for axis in (0, 1, None):
        expected = vyre_algorithms.cumsum(x, axis, backend="cpu")
        assert vd.cumsum(chunked, axis).compute().tobytes() == expected.tobytes()
    found = vd.cumprod(chunked, 1, dtype=np.float64).compute()
    assert found.tobytes() == vyre_algorithms.cumprod(x, 1, dtype=np.float64, backend="cpu").tobytes()


@pytest.mark.parametrize("dtype", ["float32", "int32", "float16"])
def test_products(dtype: str) -> None:
    a, b = ((RANDOM.standard_normal(shape) * 9).astype(dtype) for shape in ((50, 70), (70, 30)))
    expected = vyre_algorithms.matmul(a, b, backend="cpu")
    for rows, inner, columns in ((17, 13, 8),):
        found = vd.matmul(da.from_array(a, chunks=(rows, inner)), da.from_array(b, chunks=(inner, columns)))
        assert (found.dtype, found.chunksize) == (expected.dtype, (rows, columns))
        assert found.compute().tobytes() == expected.tobytes()


def test_what_does_not_fit_is_refused_before_anything_runs() -> None:
    x = da.zeros((4, 6), chunks=3)
    with pytest.raises(InvalidInput, match=r"\(4, 6\) and float64 \(4, 6\), expected \(m, k\) and \(k, n\)"):
        vd.matmul(x, x)
    with pytest.raises(InvalidInput, match=r"expected an array with one axis\. Fix: pass \.reshape\(-1\)"):
        vd.top_k(x, 2)
    with pytest.raises(InvalidInput, match="k"):
        vd.top_k(x.reshape(-1), 25)
    with pytest.raises(InvalidInput, match="one of sum, prod, min, max, any, all"):
        vd.scan(x, "mean")
    unknown = x.reshape(-1)[x.reshape(-1) > 0]
    for refused in (vd.sort, vd.unique, lambda u: vd.top_k(u, 1)):
        with pytest.raises(InvalidInput, match="chunks of known sizes"):
            refused(unknown)
    with pytest.raises(InvalidInput, match=r"expected a dask\.array"):
        vd.sort(np.zeros(3))
