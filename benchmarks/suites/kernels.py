"""Throughput of kernels, with the data where the kernel wants it: programs of vyre beside the same work by hand.

Times of OpenCL kernels are the device's own; `call` is a whole dispatch, from bytes of the host to fresh ones. The
others work on arrays and write into one that exists.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import programs
from harness import Case, NotHere, Peer, Record, Scale, Trial
from programs import GROUP, PATTERN, ROUNDS, TILE
from report import Table, pivot, rate, with_best

TITLE = "Kernels"
CL = ("vyre_driver_opencl", "pyopencl")
CALLS = 20
PEERS = {
    "vyre": Peer(modules=CL),
    "OpenCL C by hand": Peer(modules=CL),
    "gcc -O3, OpenMP": Peer(modules=("numpy",)),
    "Numba": Peer(modules=("numba",)),
    "NumPy": Peer(modules=("numpy",)),
}
UNITS = {
    "xor": "GB/s", "saxpy": "GB/s", "hash chain": "Ground/s", "reduction": "GB/s", "histogram": "Gelement/s",
    "matmul": "GFLOP/s", "byte scan": "GB/s",
}  # fmt: skip
EACH = 64
"""Elements that one invocation of the histogram counts."""

Array: TypeAlias = npt.NDArray[Any]


@dataclass(frozen=True)
class Work:
    """Inputs by name, the result that is wanted, and how much work it is in the unit of the case, in 1e9."""

    inputs: dict[str, Array]
    wanted: Array
    amount: float
    is_exact: bool = True

    def is_met_by(self, result: Array) -> bool:
        if self.is_exact:
            return np.array_equal(result.reshape(-1), self.wanted.reshape(-1))
        return np.allclose(result.reshape(-1), self.wanted.reshape(-1), rtol=1e-4)


def cases(scale: Scale) -> list[Case]:
    length, side = (2**24, 512) if scale is Scale.FULL else (GROUP * EACH, TILE)
    return [Case(name, side if name == "matmul" else length) for name in UNITS]


def takes_part(peer: str, case: Case) -> bool:
    return True


def prepare(peer: str, case: Case) -> dict[str, Trial]:
    work = work_of(case)
    match peer:
        case "vyre":
            return _vyre(case, work)
        case "OpenCL C by hand":
            return _opencl(case, work)
        case "gcc -O3, OpenMP":
            run = _c(case, work)
        case "Numba":
            run = _numba(case, work)
        case _:
            run = _numpy(case, work)
    out = np.empty_like(work.wanted)
    return {"": Trial(run=lambda: run(out), is_right=lambda: work.is_met_by(out), amount=work.amount)}


def work_of(case: Case) -> Work:
    n, random = case.size, np.random.default_rng(1)
    match case.name:
        case "saxpy":
            x, y = random.random(n, np.float32), random.random(n, np.float32)
            return Work({"x": x, "y": y}, np.float32(2.5) * x + y, 12 * n)
        case "matmul":
            a, b = random.random((n, n), np.float32), random.random((n, n), np.float32)
            return Work({"a": a, "b": b}, a @ b, 2 * n**3, is_exact=False)
        case "byte scan":
            text = np.frombuffer(b"abcd", np.uint8)[random.integers(0, 4, n)]
            return Work({"text": text}, programs.found(text), n)
    x = programs.words(n)
    match case.name:
        case "xor":
            return Work({"x": x}, x ^ np.uint32(programs.KEY), 8 * n)
        case "hash chain":
            return Work({"x": x}, programs.hashed(x), n * ROUNDS)
        case "reduction":
            return Work({"x": x}, programs.group_sums(x), 4 * n)
        case _:
            return Work({"x": x}, programs.counts(x), n)


# ── OpenCL ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _grid(case: Case) -> tuple[int, int, int]:
    """Workgroups, the same for both ways to write a kernel."""
    match case.name:
        case "matmul":
            return case.size // TILE, case.size // TILE, 1
        case "histogram":
            return case.size // (GROUP * EACH), 1, 1
        case _:
            return case.size // GROUP, 1, 1


def _program(case: Case) -> Any:
    match case.name:
        case "reduction":
            return programs.reduction(case.size // GROUP)
        case "histogram":
            return programs.shared_histogram(EACH)
        case "matmul":
            return programs.matmul(case.size)
        case name:
            made = {"xor": programs.xor, "saxpy": programs.saxpy, "hash chain": programs.hash_chain}
            return made.get(name, programs.byte_scan)()


def _vyre(case: Case, work: Work) -> dict[str, Trial]:
    from vyre_driver import DispatchConfig, acquire, compile

    pipeline = compile(acquire("opencl"), _program(case), DispatchConfig(grid_override=_grid(case)))
    inputs = list(work.inputs.values())

    def kernel() -> float:
        nanoseconds = pipeline.dispatch_timed(inputs).device_ns
        if nanoseconds is None:
            raise NotHere("the device has no clock")
        return nanoseconds / 1e9

    def is_right() -> bool:
        (result,) = pipeline.dispatch(inputs)
        return work.is_met_by(np.frombuffer(result, work.wanted.dtype))

    return {
        "kernel": Trial(run=kernel, is_right=is_right, amount=work.amount),
        "call": Trial(run=lambda: pipeline.dispatch(inputs), is_right=is_right, amount=work.amount),
    }


def _opencl(case: Case, work: Work) -> dict[str, Trial]:
    import opencl
    import pyopencl as cl

    device = opencl.Device(ROUNDS=ROUNDS, TILE=TILE, EACH=EACH, N=case.size)
    local = (TILE, TILE) if case.name == "matmul" else (GROUP,)
    size = tuple(groups * n for groups, n in zip(_grid(case), local, strict=False))
    inputs = [device.upload(np.ascontiguousarray(array)) for array in work.inputs.values()]
    out = device.room(work.wanted.nbytes)
    last = [np.uint32(case.size - len(PATTERN) + 1)] if case.name == "byte scan" else []
    entry = {"xor": "xor_words"}.get(case.name, case.name.replace(" ", "_"))
    kernel = device.kernel(entry, *inputs, out, *last)

    def run() -> float:
        if case.name == "histogram":
            cl.enqueue_fill_buffer(device.queue, out, b"\0", 0, work.wanted.nbytes)
        event = cl.enqueue_nd_range_kernel(device.queue, kernel, size, local)
        event.wait()
        return (event.profile.end - event.profile.start) / 1e9

    run.inputs = inputs  # type: ignore[attr-defined] # a kernel does not keep its buffers alive
    right = lambda: work.is_met_by(device.download(out, np.empty_like(work.wanted)))
    return {"kernel": Trial(run=run, is_right=right, amount=work.amount)}


# ── the host ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _c(case: Case, work: Work) -> Callable[[Array], object]:
    import native_c

    library = native_c.library()
    entry = getattr(library, {"xor": "xor_words"}.get(case.name, case.name.replace(" ", "_")))
    given = list(work.inputs.values())
    inputs = [native_c.pointer(array) for array in given]
    size = ctypes.c_long(case.size // GROUP if case.name == "reduction" else case.size)
    last = [ctypes.c_uint32(ROUNDS)] if case.name == "hash chain" else []

    def run(out: Array, given: list[Array] = given) -> None:
        entry(*inputs, native_c.pointer(out), size, *last)

    return run


def _numpy(case: Case, work: Work) -> Callable[[Array], object]:
    x = next(iter(work.inputs.values()))
    match case.name:
        case "xor":
            return lambda out: np.bitwise_xor(x, np.uint32(programs.KEY), out=out)
        case "saxpy":
            y = work.inputs["y"]
            return lambda out: np.add(np.multiply(x, np.float32(2.5), out=out), y, out=out)
        case "hash chain":
            return lambda out: np.copyto(out, programs.hashed(x))
        case "reduction":
            return lambda out: np.sum(x.reshape(-1, GROUP), axis=1, dtype=np.uint32, out=out)
        case "histogram":
            return lambda out: np.copyto(out, programs.counts(x))
        case "matmul":
            return lambda out: np.matmul(x, work.inputs["b"], out=out)
        case _:
            return lambda out: np.copyto(out, programs.found(x))


def _numba(case: Case, work: Work) -> Callable[[Array], object]:
    from numba_kernels import KERNELS

    kernel, inputs = KERNELS[case.name], list(work.inputs.values())
    return lambda out: kernel(*inputs, out)


def tables(records: Sequence[Record]) -> list[Table]:
    named = [{**row, "case": f"{row['case']}, {UNITS[row['case']]}"} for row in records]
    shown = pivot(named, rows=("case",), columns=("peer", "variant"), show=with_best(partial(rate, scale=1e-9)))
    return [shown.titled("work a second, median (best); more is better")]
