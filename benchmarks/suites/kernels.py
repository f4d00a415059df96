"""Throughput of kernels, with the data where the kernel wants it: programs of vyre beside the same work by hand.

`kernel` is the device's own time, summed over all that a program launches, over memory of the device, as programs by
hand have it; `call` is a whole dispatch, from bytes of the host to fresh ones. On a CPU a dispatch uses arrays of the
caller in place. Large ones of NumPy begin 16 bytes behind a line of the cache, so some vectors cross lines: `call` has
that time, too. The others work on arrays and write into one that exists, except JAX, which makes a new one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from harness import Case, NotHere, Peer, Scale, Trial
from records import Record
from report import Table, pivot, rate, with_best
from workloads import WORKLOADS, Array, Work, entry

TITLE = "Kernels"
CL = ("vyre_driver_opencl", "pyopencl")
CALLS = 20
REPEATED, SECONDS = 3, 0.01
"""How often one dispatch runs a program to find the time of its kernels, where that takes no longer than so many
seconds: then the memory is as warm as it is for the others, who run one after the other."""
CALM = {"OMP_WAIT_POLICY": "passive", "OPENBLAS_THREAD_TIMEOUT": "20"}
"""Threads that have no work sleep soon, instead of taking the cores from whose turn it is next."""
PEERS = {
    "vyre, CPU": Peer(modules=("vyre_driver_cpu", "llvmlite")),
    "vyre": Peer(modules=CL),
    "vyre, Intel": Peer(modules=CL),
    "OpenCL C": Peer(modules=CL),
    "OpenCL C, Intel": Peer(modules=CL),
    "gcc -O3, OpenMP": Peer(modules=("numpy",), environment=CALM),
    "Numba": Peer(modules=("numba",), environment=CALM),
    "JAX": Peer(modules=("jax",), environment=CALM),
    "NumPy": Peer(modules=("numpy",), environment=CALM),
}


def cases(scale: Scale) -> list[Case]:
    return [Case(name, load.size if scale is Scale.FULL else load.toy) for name, load in WORKLOADS.items()]


def takes_part(peer: str, case: Case) -> bool:
    return True


def prepare(peer: str, case: Case) -> dict[str, Trial]:
    work = WORKLOADS[case.name].make(case.size)
    backend = "opencl-intel" if peer.endswith("Intel") else "cpu" if peer.endswith("CPU") else "opencl"
    match peer.partition(",")[0]:
        case "vyre":
            trials = vyre_trials(work, backend)
            return {variant: trials[variant] for variant in ("kernel", "call")}
        case "OpenCL C":
            return _opencl(case.name, work, backend)
        case "gcc -O3":
            return _into(work, _c(case.name, work))
        case "Numba":
            return _into(work, _numba(case.name, work))
        case "JAX":
            return _jax(case.name, work)
        case _:
            return _into(work, _numpy(case.name, work))


# ── OpenCL ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def vyre_trials(work: Work, backend: str) -> dict[str, Trial]:
    """`kernel` runs the program up to `REPEATED` times in a dispatch: the seconds of one, by the clock of the device.

    `resident` is a dispatch over memory of the device, and a wait for its result, of which it reads an element.
    """
    from vyre_driver import DispatchConfig, acquire, compile

    config, device = DispatchConfig(grid_override=work.grid), acquire(backend)
    pipeline, inputs = compile(device, work.program, config), list(work.inputs.values())
    given = dict(zip([buffer.name for buffer in work.program.inputs], map(np.ascontiguousarray, inputs), strict=True))
    visible = [buffer.name for buffer in work.program.buffers if buffer.memory.is_host_visible]
    memory = {name: device.allocate_resident(given.get(name, work.wanted).nbytes) for name in visible}

    def upload() -> None:
        device.upload_resident_many([(memory[name], array) for name, array in given.items()])

    def kernel(times: int) -> float:
        repeated = replace(config, fixpoint_iterations=times)
        nanoseconds = pipeline.dispatch_resident_timed(tuple(memory.values()), repeated).device_ns
        if nanoseconds is None:
            raise NotHere("the device has no clock")
        return nanoseconds / 1e9 / times

    def resident() -> None:
        pipeline.dispatch_resident(tuple(memory.values()))
        device.download_resident_range(out, 0, work.wanted.itemsize)

    def is_right() -> bool:
        results = list(pipeline.dispatch(inputs))
        for run in (partial(kernel, 1), resident):
            upload()
            run()
            results.append(device.download_resident(out))
        return all(work.is_met_by(np.frombuffer(result, work.wanted.dtype)) for result in results)

    (out,) = [memory[buffer.name] for buffer in work.program.outputs]
    upload()
    times = max(1, min(REPEATED, int(SECONDS / kernel(1))))
    before = upload if work.in_place else lambda: None
    runs = {
        "kernel": (before, lambda: kernel(times)),
        "call": (lambda: None, lambda: pipeline.dispatch(inputs)),
        "resident": (before, resident),
    }
    shared = partial(Trial, is_right=is_right, amount=work.amount, facts=work.facts())
    return {name: shared(before=before, run=run) for name, (before, run) in runs.items()}


def _opencl(name: str, work: Work, backend: str) -> dict[str, Trial]:
    import opencl
    import pyopencl as cl

    device = opencl.Device(WORKLOADS[name].domain, backend, **work.defines)
    given = {name: device.upload(np.ascontiguousarray(array)) for name, array in (work.inputs | work.tables).items()}
    memory = given | {name: device.room(size) for name, size in work.scratch.items()}
    memory["out"] = device.room(work.wanted.nbytes)
    cl.enqueue_fill_buffer(device.queue, memory["out"], bytes(1), 0, work.wanted.nbytes)
    all_of_them = ("out",) if work.in_place else (*work.inputs, "out")
    kernels = []
    for launch in work.launches:
        arguments = [memory[a] if isinstance(a, str) else np.uint32(a) for a in launch.arguments or all_of_them]
        span = tuple(groups * n for groups, n in zip(launch.groups, launch.invocations, strict=True))
        kernels.append((device.kernel(launch.kernel, *arguments), span, launch.invocations))

    def before() -> None:
        if work.in_place:
            (original,) = given.values()
            cl.enqueue_copy(device.queue, memory["out"], original)
            device.queue.finish()

    def run() -> float:
        events = [cl.enqueue_nd_range_kernel(device.queue, *kernel) for kernel in kernels]
        device.queue.finish()
        return sum(event.profile.end - event.profile.start for event in events) / 1e9

    run.memory = memory  # type: ignore[attr-defined] # a kernel does not keep its buffers alive
    right = lambda: work.is_met_by(device.download(memory["out"], np.empty_like(work.wanted)))
    return {"kernel": Trial(before=before, run=run, is_right=right, amount=work.amount, facts=work.facts())}


# ── the host ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _into(work: Work, ways: dict[str, Callable[[Array], object]]) -> dict[str, Trial]:
    """Trials of functions that write into an array that exists."""
    out = np.zeros_like(work.wanted)
    right = lambda: work.is_met_by(out)
    before = (lambda: np.copyto(out, *work.inputs.values())) if work.in_place else (lambda: None)
    return {
        variant: Trial(before=before, run=partial(way, out), is_right=right, amount=work.amount, facts=work.facts())
        for variant, way in ways.items()
    }


def _inputs(work: Work) -> list[Array]:
    return [] if work.in_place else list(work.inputs.values())


def _c(name: str, work: Work) -> dict[str, Callable[[Array], object]]:
    import native_c

    library = native_c.library(WORKLOADS[name].domain)
    if not hasattr(library, entry(name)):
        raise NotHere("not written for this peer")
    given = [*_inputs(work), *work.tables.values()]
    inputs = [native_c.pointer(array) for array in given]
    sizes = [ctypes.c_long(size) for size in work.sizes]

    def run(function: Callable[..., object], out: Array, given: list[Array] = given) -> None:
        function(*inputs, native_c.pointer(out), *sizes)

    ways = {"": partial(run, getattr(library, entry(name)))}
    if name == "bfs step":
        ways["from above"] = partial(run, library.bfs_step_from_above)
    return ways


def _numba(name: str, work: Work) -> dict[str, Callable[[Array], object]]:
    from numba_kernels import KERNELS

    return _one_of(KERNELS, name, work)


def _numpy(name: str, work: Work) -> dict[str, Callable[[Array], object]]:
    from numpy_kernels import KERNELS

    return _one_of(KERNELS, name, work)


def _one_of(kernels: dict[str, Callable[..., object]], name: str, work: Work) -> dict[str, Callable[[Array], object]]:
    if name not in kernels:
        raise NotHere("not written for this peer")
    return {"": partial(kernels[name], *_inputs(work))}


def _jax(name: str, work: Work) -> dict[str, Trial]:
    import jax
    from jax_kernels import KERNELS

    if name not in KERNELS:
        raise NotHere("not written for this peer")
    inputs, kernel = [jax.device_put(array) for array in work.inputs.values()], jax.jit(KERNELS[name])
    right = lambda: work.is_met_by(np.asarray(kernel(*inputs)), tolerance=1e-6)
    return {
        "": Trial(
            run=lambda: kernel(*inputs).block_until_ready(), is_right=right, amount=work.amount, facts=work.facts()
        )
    }


def tables(records: Sequence[Record]) -> list[Table]:
    named = [{**row, "case": f"{row['case']}, {WORKLOADS[row['case']].unit}"} for row in records]
    shown = pivot(named, rows=("case",), columns=("peer", "variant"), show=with_best(partial(rate, scale=1e-9)))
    return [shown.titled("work a second, median (best); more is better")]
