"""Arrays in files: Zarr, NPY, Parquet and Arrow, in and out; and arrays that are larger than memory."""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster

import vyre_algorithms
import vyre_distributed as vd
from vyre_driver.errors import InvalidInput

HAS_PEAK = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is read from /proc")
X = np.random.default_rng(23).standard_normal(20_000, dtype=np.float32)


def test_a_file_of_numpy(tmp_path: Path, client: Client) -> None:
    np.save(tmp_path / "x.npy", X.reshape(100, 200))
    chunked = vd.from_npy(tmp_path / "x.npy", chunks=(30, 200))
    assert (chunked.shape, chunked.dtype, chunked.chunks[0]) == ((100, 200), np.float32, (30, 30, 30, 10))
    with client.as_current():
        assert vd.sum(chunked).compute() == vyre_algorithms.sum(X, backend="cpu")
        assert np.array_equal(chunked[5:7, 3:9].compute(), X.reshape(100, 200)[5:7, 3:9])
    np.save(tmp_path / "x.npy", X[::-1])
    again = vd.from_npy(tmp_path / "x.npy", chunks=7000)
    assert again.name != chunked.name
    assert np.array_equal(again.compute(scheduler="synchronous"), X[::-1])
    da.to_npy_stack(str(tmp_path / "stack"), vd.sort(again))
    assert np.array_equal(da.from_npy_stack(str(tmp_path / "stack")).compute(), np.sort(X))


def test_what_is_no_file_of_numpy(tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_bytes(b"other")
    np.save(tmp_path / "objects.npy", np.array([{}], object), allow_pickle=True)
    for name in ("x.npy", "objects.npy"):
        with pytest.raises(InvalidInput, match=r"expected an array in NumPy's format\. Fix: write the file with"):
            vd.from_npy(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        vd.from_npy(tmp_path / "missing.npy")


def test_zarr(tmp_path: Path) -> None:
    pytest.importorskip("zarr", reason="vyre-distributed[storage] has it")
    da.from_array(X, chunks=6000).to_zarr(str(tmp_path / "x.zarr"))
    vd.cumsum(da.from_zarr(str(tmp_path / "x.zarr"))).to_zarr(str(tmp_path / "sums.zarr"))
    found = da.from_zarr(str(tmp_path / "sums.zarr"))
    assert found.chunks == ((6000, 6000, 6000, 2000),)
    assert found.compute().tobytes() == vyre_algorithms.cumsum(X, backend="cpu").tobytes()


def test_parquet_and_arrow(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="vyre-distributed[storage] has it")
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"v": pa.chunked_array([X[:9000], X[9000:]]), "w": np.arange(X.size)})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=5000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Dask uses what pandas is about to drop
        import dask.dataframe as dd

        column = dd.read_parquet(tmp_path / "x.parquet", split_row_groups=True)["v"].to_dask_array(lengths=True)
        assert column.chunks == ((5000,) * 4,)
        dd.from_dask_array(vd.sort(column)).rename("v").to_frame().to_parquet(tmp_path / "sorted")
    assert np.array_equal(pq.read_table(tmp_path / "sorted")["v"].to_numpy(), np.sort(X))
    chunks = [da.from_array(chunk.to_numpy(), chunks=-1) for chunk in table["v"].chunks]
    assert vd.sum(da.concatenate(chunks)).compute() == vyre_algorithms.sum(X, backend="cpu")


GIB, CHUNK, LIMIT = 2**30, 32 * 2**20, 512 * 2**20


@pytest.fixture
def large(tmp_path: Path) -> Iterator[tuple[Path, Client]]:
    """1 GiB of u32 on disk, and workers of 512 MiB, of which Python, NumPy, Dask and LLVM take about 180."""
    with (tmp_path / "x.npy").open("wb") as file:
        header = {"descr": "<u4", "fortran_order": False, "shape": (GIB // 4,)}
        np.lib.format.write_array_header_1_0(file, header)
        for n in range(GIB // CHUNK):
            file.write(np.random.default_rng(n).integers(0, 2**32, CHUNK // 4, dtype=np.uint32).tobytes())
    options: dict[str, Any] = {"env": {"VYRE_CPU_THREADS": "1"}, "dashboard_address": ":0", "silence_logs": False}
    options |= {"memory_limit": LIMIT, "local_directory": str(tmp_path / "spill")}
    with LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster, Client(cluster) as client:
        yield tmp_path / "x.npy", client


@contextmanager
def bounded(client: Client, chunks: int) -> Iterator[None]:
    """Assert that no worker restarts, and that the peak memory of each grows by less than `chunks` chunks."""
    pids, before = client.run(os.getpid), client.run(peak)
    yield
    after = client.run(peak)
    assert client.run(os.getpid) == pids, "a worker was started again"
    grown = max((after[worker] - before[worker]) / CHUNK for worker in after)
    print(f"before {before}, after {after}: {grown:.2f} chunks of {CHUNK} bytes")  # noqa: T201
    assert grown < chunks
    assert max(after.values()) < LIMIT


@pytest.mark.slow
@HAS_PEAK
def test_arrays_larger_than_memory(large: tuple[Path, Client]) -> None:
    path, client = large
    x, total = vd.from_npy(path, chunks=CHUNK // 4), int(np.load(path, mmap_mode="r").sum(dtype=np.uint64))
    small = vd.from_npy(path, chunks=2**20)[: 2**21]
    dask.compute(vd.sum(small, dtype=np.uint64), vd.histogram(small, 8, (0, 2**32)), vd.top_k(small, 5))
    with bounded(client, 5):
        assert int(vd.sum(x, dtype=np.uint64).compute()) == total
        assert vd.histogram(x, 8, (0, 2**32)).compute().sum() == x.size
        assert int(vd.cumsum(x, dtype=np.uint64)[-1].compute()) == total


@pytest.mark.slow
@HAS_PEAK
def test_sorts_larger_than_memory(large: tuple[Path, Client], tmp_path: Path) -> None:
    path, client = large
    small = vd.from_npy(path, chunks=2**20)[: 2**21]
    vd.sort(small, folder=tmp_path / "small").compute()
    with bounded(client, 7):
        found = vd.sort(vd.from_npy(path, chunks=CHUNK // 4), folder=tmp_path / "runs")
        da.to_npy_stack(str(tmp_path / "sorted"), found)
        parts = [np.load(tmp_path / "sorted" / f"{n}.npy", mmap_mode="r") for n in range(GIB // CHUNK)]
        assert np.array_equal(np.concatenate(parts), np.sort(np.load(path)))


@pytest.mark.slow
@HAS_PEAK
def test_different_elements_of_what_is_larger_than_memory(large: tuple[Path, Client], tmp_path: Path) -> None:
    path, client = large
    small = vd.from_npy(path, chunks=2**20)[: 2**21]
    vd.unique(small, folder=tmp_path / "small").compute()
    with bounded(client, 8):
        found = vd.unique(vd.from_npy(path, chunks=CHUNK // 4), folder=tmp_path / "runs").to_delayed()
        dask.compute([dask.delayed(np.save)(tmp_path / f"{n}.npy", part) for n, part in enumerate(found)])
    parts = [np.load(tmp_path / f"{n}.npy", mmap_mode="r") for n in range(len(found))]
    expected = np.sort(np.load(path))
    assert np.array_equal(np.concatenate(parts), expected[np.append(True, expected[1:] != expected[:-1])])


def peak() -> int:
    """The most memory that this process had, in bytes."""
    lines = Path("/proc/self/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
