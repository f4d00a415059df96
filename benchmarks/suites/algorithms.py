"""Algorithms over arrays: `vyre_algorithms` beside libraries of Python, and beside the standard library of C++.

Arrays of the host go in, and arrays of the host come out, which every peer but the one in C++ makes anew. Results of
floats are compared within a tolerance, because every peer has another order; all others must be equal.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from harness import Case, NotHere, Peer, Scale, Trial
from records import Record
from report import Table, per, pivot
from workloads import Array

TITLE = "Algorithms"
CALLS = 10
CALM = {"OMP_WAIT_POLICY": "passive"}
PEERS = {
    "vyre, CPU": Peer(modules=("vyre_algorithms", "vyre_driver_cpu")),
    "vyre": Peer(modules=("vyre_algorithms", "vyre_driver_opencl")),
    "NumPy": Peer(modules=("numpy",)),
    "SciPy": Peer(modules=("scipy",)),
    "Numba": Peer(modules=("numba",), environment=CALM),
    "JAX": Peer(modules=("jax",)),
    "Polars": Peer(modules=("polars",)),
    "g++ -O3": Peer(modules=("numpy",), environment=CALM),
}
SIZES = (2**10, 2**20, 2**24)
NAMES = (
    *("sum", "exact sum", "scan", "histogram", "bincount", "compact", "sort", "unique", "top k", "searchsorted"),
    *("spmv", "pairs", "matmul", "fft"),
)
BINS, TOP, ROW = 256, 100, 16
Way = Callable[[], Any]


def cases(scale: Scale) -> list[Case]:
    """At 16 Mi a product of matrices would take minutes."""
    sizes = SIZES if scale is Scale.FULL else (4096,)
    return [Case(name, size) for name in NAMES for size in sizes if name != "matmul" or size <= 2**20]


def takes_part(peer: str, case: Case) -> bool:
    return True


def inputs(name: str, size: int) -> list[Array]:
    random = np.random.default_rng(1)
    match name:
        case "sum" | "exact sum" | "histogram" | "top k":
            return [random.random(size, dtype=np.float32)]
        case "matmul":
            side = math.isqrt(size)
            return [random.random((side, side), dtype=np.float32) for _ in range(2)]
        case "fft":
            return [random.random(size, dtype=np.float32).astype(np.complex64)]
        case "pairs":
            return [_words(random, size), np.arange(size, dtype=np.uint32)]
        case "bincount" | "unique":
            return [random.integers(0, BINS, size, dtype=np.uint32)]
        case "searchsorted":
            return [np.sort(random.integers(0, 2**32, size, dtype=np.uint32)), _words(random, size)]
        case "spmv":
            starts = np.arange(0, size + 1, ROW, dtype=np.uint32)
            columns = random.integers(0, size // ROW, size, dtype=np.uint32)
            return [
                random.random(size, dtype=np.float32),
                columns,
                starts,
                random.random(size // ROW, dtype=np.float32),
            ]
        case _:
            return [_words(random, size)]


def _words(random: np.random.Generator, size: int) -> Array:
    return random.integers(0, 2**32, size, dtype=np.uint32)


def expected(name: str, given: Sequence[Array]) -> Array:
    x = given[0]
    match name:
        case "sum" | "exact sum":
            return np.asarray(x.sum(dtype=np.float64))
        case "matmul":
            return given[0] @ given[1]
        case "fft":
            return np.fft.fft(x)
        case "pairs":
            return np.argsort(x, stable=True)
        case "spmv":
            return np.add.reduceat(x * given[3][given[1]], given[2][:-1].astype(np.int64))
        case _:
            return np.asarray(_numpy(name, given)())


def prepare(peer: str, case: Case) -> dict[str, Trial]:
    given = inputs(case.name, case.size)
    wanted = expected(case.name, given)
    match peer:
        case "vyre, CPU":
            ways = {"": _vyre(case.name, given, "cpu")}
        case "vyre":
            ways = {"": _vyre(case.name, given, "opencl")}
        case "NumPy":
            ways = {"": _numpy(case.name, given)}
        case "SciPy":
            ways = {"": _scipy(case.name, given)}
        case "Numba":
            ways = {"": _numba(case.name, given)}
        case "Polars":
            ways = {"": _polars(case.name, given)}
        case "JAX":
            ways = {"": _jax(case.name, given)}
        case _:
            ways = _cpp(case.name, given, wanted)
    is_right = lambda way: lambda: _is_met(np.asarray(way()), wanted)
    return {
        key: Trial(run=partial(_run, way), is_right=is_right(way), amount=float(case.size)) for key, way in ways.items()
    }


def _run(way: Way) -> None:
    """A float that a run gives would be taken for its time."""
    way()


def _is_met(found: Array, wanted: Array) -> bool:
    if wanted.dtype.kind == "c":
        return np.allclose(found, wanted, rtol=0, atol=1e-3 * float(np.abs(wanted).max()))
    if wanted.dtype.kind == "f":
        return np.allclose(np.sort(found, None), np.sort(wanted, None), rtol=1e-3)
    return np.array_equal(found, wanted)


def _missing(name: str) -> Way:
    raise NotHere(f"has no {name}")


def _vyre(name: str, given: Sequence[Array], backend: str) -> Way:
    import vyre_algorithms as va

    x = given[0]
    on = {"backend": backend}
    ways: dict[str, Way] = {
        "sum": lambda: va.sum(x, **on),
        "exact sum": lambda: va.exact_sum(x, **on),
        "scan": lambda: va.cumsum(x, dtype=np.uint32, **on),
        "histogram": lambda: va.histogram(x, BINS, (0, 1), **on)[0],
        "bincount": lambda: va.bincount(x, minlength=BINS, **on),
        "compact": lambda: va.select(x, _is_odd, **on),
        "sort": lambda: va.sort(x, **on),
        "unique": lambda: va.unique(x, **on),
        "top k": lambda: va.top_k(x, TOP, **on)[0],
        "searchsorted": lambda: va.searchsorted(*given, **on),
        "spmv": lambda: va.spmv(*given, **on),
        "pairs": lambda: va.sort_pairs(*given, **on)[1],
        "matmul": lambda: va.matmul(*given, **on),
        "fft": lambda: va.fft(x, **on),
    }
    return ways[name]


def _is_odd(value: Any) -> Any:
    return (value & 1) != 0


def _numpy(name: str, given: Sequence[Any], library: Any = np) -> Way:
    """The way of NumPy, or of a library with its functions."""
    x = given[0]
    ways: dict[str, Way] = {
        "sum": lambda: x.sum(),
        "scan": lambda: x.cumsum(dtype=library.uint32),
        "histogram": lambda: library.histogram(x, BINS, (0, 1))[0],
        "bincount": lambda: library.bincount(x, minlength=BINS),
        "compact": lambda: x[(x & 1) != 0],
        "sort": lambda: library.sort(x),
        "unique": lambda: library.unique(x),
        "top k": lambda: library.sort(library.partition(x, x.size - TOP)[x.size - TOP :])[::-1],
        "searchsorted": lambda: library.searchsorted(*given),
        "pairs": lambda: given[1][library.argsort(x, kind="stable")],
        "matmul": lambda: x @ given[1],
        "fft": lambda: library.fft.fft(x),
    }
    if name == "exact sum":
        from math import fsum

        return lambda: fsum(x.tolist())
    return ways.get(name) or _missing(name)


def _scipy(name: str, given: Sequence[Array]) -> Way:
    from scipy.sparse import csr_matrix

    if name == "fft":
        from scipy.fft import fft

        return lambda: fft(given[0])
    if name != "spmv":
        return _missing(name)
    values, columns, starts, x = given
    matrix = csr_matrix((values, columns.astype(np.int32), starts.astype(np.int32)), shape=(starts.size - 1, x.size))
    return lambda: matrix @ x


def _numba(name: str, given: Sequence[Array]) -> Way:
    from numba import njit, prange

    @njit(parallel=True, fastmath=True)
    def total(x):  # type: ignore[no-untyped-def]
        found = np.float32(0)
        for i in prange(x.size):
            found += x[i]
        return found

    @njit
    def scan(x):  # type: ignore[no-untyped-def]
        out, running = np.empty_like(x), np.uint32(0)
        for i in range(x.size):
            running += x[i]
            out[i] = running
        return out

    @njit
    def bincount(x):  # type: ignore[no-untyped-def]
        out = np.zeros(BINS, np.int64)
        for i in range(x.size):
            out[x[i]] += 1
        return out

    @njit
    def histogram(x):  # type: ignore[no-untyped-def]
        out = np.zeros(BINS, np.int64)
        for i in range(x.size):
            out[min(BINS - 1, int(x[i] * BINS))] += 1
        return out

    @njit
    def compact(x):  # type: ignore[no-untyped-def]
        return x[(x & 1) != 0]

    @njit
    def ordered(x):  # type: ignore[no-untyped-def]
        return np.sort(x)

    @njit(parallel=True)
    def places(x, wanted):  # type: ignore[no-untyped-def]
        out = np.empty(wanted.size, np.int64)
        for i in prange(wanted.size):
            out[i] = np.searchsorted(x, wanted[i])
        return out

    @njit(parallel=True)
    def spmv(values, columns, starts, x):  # type: ignore[no-untyped-def]
        out = np.empty(starts.size - 1, np.float32)
        for row in prange(out.size):
            found = np.float32(0)
            for k in range(starts[row], starts[row + 1]):
                found += values[k] * x[columns[k]]
            out[row] = found
        return out

    ways = {
        "sum": total,
        "scan": scan,
        "bincount": bincount,
        "histogram": histogram,
        "compact": compact,
        "sort": ordered,
        "searchsorted": places,
        "spmv": spmv,
    }
    return partial(ways[name], *given) if name in ways else _missing(name)


def _jax(name: str, given: Sequence[Array]) -> Way:
    import jax
    import jax.numpy as jnp

    functions: dict[str, Callable[..., Any]] = {
        "sum": jnp.sum,
        "scan": jnp.cumsum,
        "histogram": lambda x: jnp.histogram(x, BINS, (0, 1))[0],
        "bincount": lambda x: jnp.bincount(x, length=BINS),
        "sort": jnp.sort,
        "top k": lambda x: jax.lax.top_k(x, TOP)[0],
        "searchsorted": jnp.searchsorted,
        "pairs": lambda x, values: jax.lax.sort_key_val(x, values)[1],
        "matmul": jnp.matmul,
        "fft": jnp.fft.fft,
    }
    if name not in functions:
        return _missing(name)
    function = jax.jit(functions[name])
    return lambda: np.asarray(function(*given))


def _polars(name: str, given: Sequence[Array]) -> Way:
    import polars as pl

    series = pl.Series(given[0].ravel())
    ways: dict[str, Way] = {
        "sum": lambda: series.sum(),
        "scan": lambda: series.cum_sum().to_numpy(),
        "compact": lambda: series.filter((series & 1) != 0).to_numpy(),
        "sort": lambda: series.sort().to_numpy(),
        "unique": lambda: series.unique().sort().to_numpy(),
        "top k": lambda: series.top_k(TOP).to_numpy(),
        "pairs": lambda: series.arg_sort().to_numpy(),
    }
    return ways.get(name) or _missing(name)


def _cpp(name: str, given: Sequence[Array], wanted: Array) -> dict[str, Way]:
    import native_c

    library = native_c.library("algorithms")
    entry = name.replace(" ", "_")
    if not hasattr(library, entry):
        _missing(name)
    x = given[0]
    out = np.zeros(x.size if name in ("compact", "unique") else wanted.shape, wanted.dtype)
    if name == "sum":
        out = np.zeros((), np.float32)
    size = ctypes.c_long(given[2].size - 1 if name == "spmv" else x.size)

    def run(function: Callable[..., object]) -> Array:
        function(*(native_c.pointer(array) for array in (*given, out)), size)
        return out[: wanted.size] if out.ndim else out

    variants = {"": entry, "parallel": f"{entry}_parallel", "policy": f"{entry}_policy"}
    return {key: partial(run, getattr(library, name)) for key, name in variants.items() if hasattr(library, name)}


def tables(records: Sequence[Record]) -> list[Table]:
    show = partial(per, scale=1e9)
    shown = pivot(records, rows=("case", "size"), columns=("peer", "variant"), show=show)
    return [shown.titled("nanoseconds for an element, median; less is better")]
