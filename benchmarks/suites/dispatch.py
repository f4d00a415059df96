"""A warm dispatch: what a call costs beside the work, for an xor of 1 Ki and of 1 Mi words.

Every call begins with a NumPy array and ends with a fresh one that holds the result, except where the name says
`resident`: there the data stays on the device and a call ends with the kernel. Where many go together, the time is that
of one. In "rounds by data" an invocation does the xor three times, because an array says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import programs
from harness import Case, Peer, Scale, Trial
from programs import KEY, U32
from records import Record
from report import Table, pivot, ratio, spread

TITLE = "Warm dispatch"
CL = ("vyre_driver_opencl", "pyopencl")
BASIC = {"POCL_DEVICES": "basic"}
"""PoCL's device that works in the calling thread: no thread is woken."""
CALLS = 200
TOGETHER, ROUNDS = 64, 3
PEERS = {
    "vyre": Peer(modules=("vyre", *CL)),
    "vyre, CPU": Peer(modules=("vyre", "vyre_driver_cpu")),
    "vyre, PoCL basic": Peer(modules=("vyre", *CL), environment=BASIC),
    "PyOpenCL": Peer(modules=CL),
    "PyOpenCL, PoCL basic": Peer(modules=CL, environment=BASIC),
    "NumPy": Peer(modules=("numpy",)),
    "Numba": Peer(modules=("numba",)),
    "JAX": Peer(modules=("jax",)),
    "Warp": Peer(modules=("warp",)),
    "Taichi": Peer(modules=("taichi",)),
}
BASE = ("vyre", "dispatch_arrays")

Call = Callable[[], object]


def cases(scale: Scale) -> list[Case]:
    return [Case("xor", size) for size in ((2**10, 2**20) if scale is Scale.FULL else (256,))]


def takes_part(peer: str, case: Case) -> bool:
    return True


def prepare(peer: str, case: Case) -> dict[str, Trial]:
    x = programs.words(case.size)
    match peer.partition(",")[0]:
        case "vyre":
            calls = _vyre("cpu" if peer.endswith("CPU") else "opencl", x)
        case "PyOpenCL":
            calls = _opencl(x)
        case "NumPy":
            calls = _numpy(x)
        case "Numba":
            calls = _numba(x)
        case "JAX":
            calls = _jax(x)
        case "Warp":
            calls = _warp(x)
        case _:
            calls = _taichi(x)
    return {
        name: call if isinstance(call, Trial) else Trial(run=call, is_right=partial(_is_right, call, x))
        for name, call in calls.items()
    }


def _one_of(many: int, call: Call, result: Call, x: U32) -> Trial:
    """The time of one of `many` that a call does together; `result` is what the last of them has made."""

    def run() -> float:
        started = time.perf_counter()
        call()
        return (time.perf_counter() - started) / many

    def is_right() -> bool:
        call()
        return _is_right(result, x)

    return Trial(run=run, is_right=is_right)


def _is_right(call: Call, x: U32) -> bool:
    result = call()
    if isinstance(result, list):  # bytes of every output
        result = np.frombuffer(result[0], np.uint32)
    return np.array_equal(np.asarray(result), x ^ np.uint32(KEY))


def _vyre(backend_id: str, x: U32) -> dict[str, Call | Trial]:
    import vyre
    from vyre_driver import ResidentDispatchStep, compile

    program, backend = programs.xor(), vyre.backend_for(backend_id)
    pipeline = compile(backend, program)
    resources = backend.allocate_resident(x.nbytes), backend.allocate_resident(x.nbytes)
    backend.upload_resident(resources[0], x)
    steps = [ResidentDispatchStep(program=program, resources=resources)] * TOGETHER
    out = [np.empty_like(x)]

    def made() -> U32:
        return np.frombuffer(backend.download_resident(resources[1]), np.uint32)

    def resident() -> U32:
        pipeline.dispatch_resident(resources)
        return made()

    def into() -> U32:
        pipeline.dispatch_into([x], None, out)
        return out[0]

    def arrays() -> U32:
        return backend.dispatch_arrays(program, {"x": x})["out"]

    @vyre.kernel(workgroup_size=programs.GROUP)
    def xor(x: vyre.Array[vyre.u32, "n"]) -> vyre.Array[vyre.u32, "n"]:  # noqa: F821, UP037
        return x[vyre.index()] ^ KEY

    called = xor.on(backend)
    rounds = np.array([ROUNDS], np.uint32)

    @vyre.kernel(workgroup_size=programs.GROUP)
    def often(x: vyre.Array[vyre.u32, "n"], rounds: vyre.Array[vyre.u32, 1]) -> vyre.Array[vyre.u32, "n"]:  # noqa: F821, UP037
        found = x[vyre.index()]
        for _ in range(rounds[0]):
            found = found ^ KEY
        return found

    def in_turn() -> U32:
        for _ in range(TOGETHER):
            result = backend.dispatch_arrays(program, {"x": x})["out"]
        return result

    return {
        "into memory of the caller": into,
        "resident": Trial(run=lambda: pipeline.dispatch_resident(resources), is_right=partial(_is_right, resident, x)),
        f"resident, {TOGETHER} in a sequence": _one_of(
            TOGETHER, lambda: backend.dispatch_resident_sequence_read_ranges_into(steps, [], []), made, x
        ),
        f"dispatch_arrays, {TOGETHER} in turn": _one_of(TOGETHER, in_turn, in_turn, x),
        "run": lambda: vyre.run(program, x=x, backend=backend_id)["out"],
        "dispatch_arrays": arrays,
        "kernel": lambda: called(x),
        "kernel's program, dispatch_arrays": lambda: backend.dispatch_arrays(xor.program, {"x": x})["out"],
        "dispatch_arrays, rounds by data": lambda: backend.dispatch_arrays(often.program, {"x": x, "rounds": rounds})[
            "out"
        ],
        "dispatch": lambda: backend.dispatch(program, [x]),
        "compiled pipeline": lambda: pipeline.dispatch([x]),
    }


def _opencl(x: U32) -> dict[str, Call | Trial]:
    """Careless: objects for each call. Pooled: everything kept, bytes copied. Zero copy: over the caller's memory."""
    import opencl
    import pyopencl as cl

    device = opencl.Device("elementwise")
    enqueue, queue = cl.enqueue_nd_range_kernel, device.queue
    spans = (x.size,), (min(programs.GROUP, x.size),)

    def careless() -> U32:
        given, room = device.upload(x), device.room(x.nbytes)
        device.program.xor(queue, *spans, given, room)
        return device.download(room, np.empty_like(x))

    staged_x, staged_out = opencl.on_a_page(x), opencl.on_a_page(x)
    pool = device.in_place(staged_x), device.in_place(staged_out)
    pooled_kernel = device.kernel("xor", *pool)

    def pooled() -> U32:
        staged_x[:] = x
        enqueue(queue, pooled_kernel, *spans)
        queue.finish()
        return staged_out.copy()

    free_kernel = cl.Kernel(device.program, "xor")

    def zero_copy() -> U32:
        out = np.empty_like(x)
        given, room = device.in_place(x), device.in_place(out)
        free_kernel.set_args(given, room)
        enqueue(queue, free_kernel, *spans)
        queue.finish()
        return out

    def resident() -> U32:
        enqueue(queue, pooled_kernel, *spans, wait_for=None)
        queue.finish()
        return staged_out

    def many() -> None:
        for _ in range(TOGETHER):
            enqueue(queue, pooled_kernel, *spans)
        queue.finish()

    pooled()
    calls: dict[str, Call | Trial] = {"careless": careless}
    if device.shares_memory:
        calls |= {"pooled": pooled, "zero copy": zero_copy, "resident": resident}
        calls[f"resident, {TOGETHER} at once"] = _one_of(TOGETHER, many, lambda: staged_out, x)
    resident.pool = pool  # type: ignore[attr-defined] # kernels do not keep their buffers alive
    return calls


def _numpy(x: U32) -> dict[str, Call]:
    key = np.uint32(KEY)
    return {"": lambda: x ^ key}


def _numba(x: U32) -> dict[str, Call]:
    from numba import njit, prange

    def xor(x, out, key):  # type: ignore[no-untyped-def]
        for i in prange(x.size):
            out[i] = x[i] ^ key

    one, all_ = njit(xor), njit(parallel=True)(xor)
    key = np.uint32(KEY)

    def call(compiled: Callable[..., object]) -> U32:
        out = np.empty_like(x)
        compiled(x, out, key)
        return out

    return {"one thread": lambda: call(one), "all threads": lambda: call(all_)}


def _jax(x: U32) -> dict[str, Call]:
    import jax

    xor = jax.jit(lambda x: x ^ np.uint32(KEY))
    return {"": lambda: np.asarray(xor(x))}


def _warp(x: U32) -> dict[str, Call]:
    global wp  # the kernel looks for it among its globals
    import warp as wp

    wp.config.quiet = True

    @wp.kernel
    def xor(x: wp.array(dtype=wp.uint32), out: wp.array(dtype=wp.uint32)):
        i = wp.tid()
        out[i] = x[i] ^ wp.uint32(5)

    def call() -> U32:
        given = wp.array(x, dtype=wp.uint32, device="cpu", copy=False)
        out = wp.empty(x.size, dtype=wp.uint32, device="cpu")
        wp.launch(xor, dim=x.size, inputs=[given], outputs=[out], device="cpu")
        return out.numpy()

    return {"": call}


def _taichi(x: U32) -> dict[str, Call]:
    import taichi as ti

    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    words = ti.types.ndarray(dtype=ti.u32, ndim=1)

    def xor(x: words, out: words):
        for i in x:
            out[i] = x[i] ^ ti.u32(5)

    xor.__annotations__ = {"x": words, "out": words}
    kernel = ti.kernel(xor)

    def call() -> U32:
        out = np.empty_like(x)
        kernel(x, out)
        ti.sync()
        return out

    return {"": call}


def tables(records: Sequence[Record]) -> list[Table]:
    table = pivot(records, rows=("peer", "variant"), columns=("size",), show=partial(spread, scale=1e6))
    bases = {row["size"]: row for row in records if (row["peer"], row["variant"]) == BASE}
    for row in records:
        cells = table.rows.get((row["peer"], row["variant"]))
        if cells is not None:
            cells[f"÷ {BASE[1]}, {row['size']}"] = ratio(row, bases.get(row["size"]))
    table.columns += [f"÷ {BASE[1]}, {size}" for size in bases]
    return [table.titled("µs a call, median (quartiles), and beside vyre's typed dispatch on the default device")]
