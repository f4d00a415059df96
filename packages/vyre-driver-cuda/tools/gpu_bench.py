"""Launches, sequences, kernels and copies on a GPU, beside CuPy and CUDA C++ by hand in the same run.

    python packages/vyre-driver-cuda/tools/gpu_bench.py FILE [--rehearse]

The kernels by hand are those of `benchmarks/native/*.cl`, with the words of CUDA C++ for those of OpenCL C, compiled
with the same exact flags. Each number is the median of several runs; every result is checked. FILE is written after
every table, and every kernel; what it has already is not done again, but for what failed. `--rehearse` runs the half
that needs no CuPy, on the emulation with toy sizes; its times say nothing.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "benchmarks"))

from measured import SAMPLES, Results, Row, median_of, seconds_of, us, us_per_call  # noqa: E402
from workloads import WORKLOADS, Work  # noqa: E402

from vyre_driver import DispatchConfig, acquire, compile  # noqa: E402
from vyre_driver.backend.resources import ResidentDispatchStep, ResidentReadRange, Resource  # noqa: E402
from vyre_driver.engine.backend import EngineBackend  # noqa: E402
from vyre_driver_cuda.dialect import without_grid_barriers  # noqa: E402
from vyre_driver_cuda.opened import open_device  # noqa: E402
from vyre_driver_cuda.port import CudaPort  # noqa: E402
from vyre_foundation import Program, program, u32  # noqa: E402

NAMES = (
    *("copy", "xor", "saxpy", "polynomial", "stencil", "stencil 2d", "hash chain", "sha256"),
    *("reduction", "prefix sum", "histogram", "transpose", "matmul", "blocked matmul"),
)
GOALS = {
    **dict.fromkeys(("copy", "xor", "saxpy", "polynomial", "stencil", "stencil 2d", "hash chain"), 1.05),
    **dict.fromkeys(("reduction", "prefix sum", "matmul", "histogram"), 1.10),
}
"""The most that a kernel of ours may take for each second of the one by hand."""
SIZES = {
    "hash chain": 2**24,
    "polynomial": 2**24,
    "matmul": 2048,
    "blocked matmul": 2048,
    "transpose": 8192,
    "stencil 2d": 8192,
    "sha256": 2**20,
}
LARGE = 2**27
"""Elements of workloads in one dimension: more than the caches hold."""
STEPS = 100
COPY = "copy on the GPU"


class ByHand:
    """The kernels of a domain by hand, compiled by CuPy."""

    WORDS = (
        (r"__kernel __attribute__\(\(reqd_work_group_size\((.*?), (.*?), (.*?)\)\)\)\s+void", r"KERNEL_OF(\1, \2, \3)"),
        (r"__kernel void", "KERNEL"),
        (r"__local (\w+) \*", r"\1 *"),
        (r"__global const (\w+) \*", r"const \1 *__restrict__ "),
        (r"__global ", ""),
        (r"^(?=(?:u?int|void|float) \w+\()", "__device__ "),
        (r"__builtin_fmaf|\bfma\b", "fmaf"),
        (r"\bxor\(", "xor_("),
    )
    HEAD = """
    #define KERNEL extern "C" __global__ void
    #define KERNEL_OF(x, y, z) extern "C" __global__ void __launch_bounds__((x) * (y) * (z))
    #define __local __shared__
    #define __constant __constant__
    #define barrier(flags) __syncthreads()
    #define atomic_inc(place) atomicAdd(place, 1u)
    #define atomic_add atomicAdd
    typedef unsigned int uint; typedef unsigned char uchar; typedef unsigned long long ulong;
    __device__ inline unsigned get_local_id(int n) { return n == 0 ? threadIdx.x : n == 1 ? threadIdx.y : threadIdx.z; }
    __device__ inline unsigned get_group_id(int n) { return n == 0 ? blockIdx.x : n == 1 ? blockIdx.y : blockIdx.z; }
    __device__ inline unsigned get_local_size(int n) { return n == 0 ? blockDim.x : n == 1 ? blockDim.y : blockDim.z; }
    __device__ inline unsigned get_global_id(int n) { return get_group_id(n) * get_local_size(n) + get_local_id(n); }
    """

    def __init__(self, name: str, work: Work) -> None:
        import cupy

        self.cupy, self.work = cupy, work
        text = self.text(name)
        options = ("--std=c++17", "--fmad=false", *(f"-D{key}={value}" for key, value in work.defines.items()))
        self.module = cupy.RawModule(code=text, options=options)
        given = {key: cupy.asarray(array) for key, array in (work.inputs | work.tables).items()}
        self.memory = given | {key: cupy.empty(size, cupy.uint8) for key, size in work.scratch.items()}
        self.memory["out"] = cupy.empty(work.wanted.nbytes, cupy.uint8)
        every = ("out",) if work.in_place else (*work.inputs, "out")
        self.launches = [
            (
                self.module.get_function("xor_" if launch.kernel == "xor" else launch.kernel),
                launch.groups,
                launch.invocations,
                tuple(self.memory[a] if isinstance(a, str) else np.uint32(a) for a in launch.arguments or every),
            )
            for launch in work.launches
        ]

    @classmethod
    def text(cls, name: str) -> str:
        """The file of the workload's domain in the words of CUDA C++."""
        text = (ROOT / f"benchmarks/native/{WORKLOADS[name].domain}.cl").read_text("utf-8")
        for word, other in cls.WORDS:
            text = re.sub(word, other, text, flags=re.MULTILINE)
        return cls.HEAD + text

    def seconds(self) -> float:
        """The GPU's time for all launches, one after the other."""
        start, end = self.cupy.cuda.Event(), self.cupy.cuda.Event()
        start.record()
        for kernel, groups, invocations, arguments in self.launches:
            kernel(groups, invocations, arguments)
        end.record()
        end.synchronize()
        return float(self.cupy.cuda.get_elapsed_time(start, end)) / 1e3

    def is_right(self) -> bool:
        return self.work.is_met_by(self.cupy.asnumpy(self.memory["out"]).view(self.work.wanted.dtype))


def kernels(backend: EngineBackend, names: Iterable[str], *, toy: bool, copied: float) -> Iterator[Row]:
    """Each workload as a program of ours and by hand. `copied`: bytes a second that a copy moves, 0 if nobody knows."""
    for name in names:
        load = WORKLOADS[name]
        size = load.toy if toy else SIZES.get(name, LARGE if load.size == 2**24 else load.size)
        work = load.make(size)
        config = DispatchConfig(grid_override=work.grid)
        pipeline, inputs = compile(backend, work.program, config), list(work.inputs.values())
        (result,) = pipeline.dispatch(inputs)
        row: Row = {"kernel": name, "size": size, "right": work.is_met_by(np.frombuffer(result, work.wanted.dtype))}
        held = _on_the_gpu(backend, work)
        timed = lambda p=pipeline, h=held: (p.dispatch_resident_timed(h).device_ns or 0) / 1e9
        timed()
        ours = median_of(timed, 1 if toy else SAMPLES)
        row |= {"ours µs": us(ours), "GB/s": round(work.bytes / ours / 1e9, 1)}
        if not toy:
            hand = ByHand(name, work)
            hand.seconds()
            theirs = median_of(hand.seconds, SAMPLES)
            row |= {
                "by hand µs": us(theirs),
                "right by hand": hand.is_right(),
                "ratio": round(ours / theirs, 3),
            }
            row |= {
                "goal": GOALS.get(name, ""),
                "of the copy's bandwidth": round(work.bytes / ours / copied, 3) if copied else "",
            }
        pipeline.close()
        yield row


def _on_the_gpu(backend: EngineBackend, work: Work) -> list[Resource]:
    """Memory for the buffers of a workload, which is filled once: the kernel by hand has its data there too."""
    given = dict(zip((b.name for b in work.program.inputs), work.inputs.values(), strict=True))
    held: list[Resource] = []
    for buffer in work.program.buffers:
        if buffer.memory.is_host_visible:
            contents = given.get(buffer.name)
            held.append(backend.allocate_resident(work.wanted.nbytes if contents is None else contents.nbytes))
            if contents is not None:
                backend.upload_resident(held[-1], contents)
    return held


def stepping(name: str) -> Program:
    with program(name, workgroup_size=64) as p:
        x = p.read_write("x", u32)
        i = p.global_id(0)
        x[i] = x[i] * 3 + 1
    return p.build()


def launches(backend: EngineBackend) -> list[Row]:
    """What a warm launch of a kernel that does next to nothing costs the host, beside `RawKernel`'s."""
    import cupy

    with backend.session() as device:
        port, source = device.port, stepping("launched")
        from vyre_driver.engine.lowering import lowered_for

        unit = port.emit(lowered_for(port.target(), source.validate()))
        module, memory = port.compile(unit), port.allocate(4 * 64)
        args = (memory, 64)

        def ours(count: int) -> None:
            for _ in range(count):
                port.launch(module, unit.kernels[0], (1, 1, 1), (64, 1, 1), args)
            port.wait(port.launch(module, unit.kernels[0], (1, 1, 1), (64, 1, 1), args))

        raw = cupy.RawKernel(unit.text, unit.kernels[0], options=("--std=c++17", "--fmad=false"))
        array, length = cupy.zeros(64, cupy.uint32), np.uint32(64)

        def theirs(count: int) -> None:
            for _ in range(count + 1):
                raw((1,), (64,), (array, length))
            cupy.cuda.get_current_stream().synchronize()

        rows = [
            {"what": "port.launch", "µs": us_per_call(ours)},
            {"what": "CuPy RawKernel", "µs": us_per_call(theirs)},
        ]
        rows.append({"what": "ratio", "µs": round(rows[0]["µs"] / rows[1]["µs"], 3), "goal": 1.2})
        port.free(memory)
    pipeline, given = compile(backend, stepping("dispatched")), [np.zeros(64, np.uint32)]
    rows.append(
        {
            "what": "dispatch, bytes to bytes",
            "µs": us_per_call(lambda n: [pipeline.dispatch(given) for _ in range(n)]),
        }
    )

    def by_cupy(count: int) -> None:
        for _ in range(count):
            array.set(given[0])
            raw((1,), (64,), (array, length))
            array.get()

    rows.append({"what": "the same by CuPy", "µs": us_per_call(by_cupy)})
    batch = [given] * 64
    taken = us_per_call(lambda n: [pipeline.dispatch_batched(batch) for _ in range(n)], 30) / len(batch)
    rows.append({"what": "one of 64 in a batch, bytes to bytes", "µs": round(taken, 3)})
    return rows


def sequences(backend: EngineBackend, *, toy: bool) -> list[Row]:
    """A row of resident dispatches, recorded and one by one."""
    x, resource = np.arange(64, dtype=np.uint32), backend.allocate_resident(256)
    backend.upload_resident(resource, x)
    steps = [ResidentDispatchStep(program=stepping("stepped"), resources=(resource,))] * STEPS
    ranges, got = [ResidentReadRange(resource=resource, byte_offset=0, byte_len=256)], np.zeros_like(x)

    def run(count: int) -> None:
        for _ in range(count):
            backend.dispatch_resident_sequence_read_ranges_into(steps, ranges, [got])

    def one_by_one(count: int) -> None:
        for _ in range(count):
            for step in steps:
                backend.dispatch_resident_timed(step.program, step.resources)

    def unawaited(count: int) -> None:
        for _ in range(count):
            for step in steps:
                backend.dispatch_resident(step.program, step.resources)
        backend.flush()

    run(4)
    count = 1 if toy else 50
    rows = [{"what": f"{STEPS} steps, recorded", "µs a step": round(us_per_call(run, count) / STEPS, 3)}]
    rows.append(
        {
            "what": "dispatched one by one",
            "µs a step": round(us_per_call(one_by_one, max(1, count // 10)) / STEPS, 3),
        }
    )
    rows.append(
        {
            "what": "the same, waited for once",
            "µs a step": round(us_per_call(unawaited, max(1, count // 10)) / STEPS, 3),
        }
    )
    if not toy:
        rows += _sequences_of_launches(backend)
    backend.free_resident(resource)
    return rows


def _sequences_of_launches(backend: EngineBackend) -> list[Row]:
    """The same by the port's primitives: a replay, and separate launches with one wait."""
    from vyre_driver.engine.lowering import lowered_for

    with backend.session() as device:
        port, source = device.port, stepping("recorded")
        unit = port.emit(lowered_for(port.target(), source.validate()))
        module, memory = port.compile(unit), port.allocate(4 * 64)
        args = (memory, 64)

        def separate() -> None:
            for _ in range(STEPS):
                port.launch(module, unit.kernels[0], (1, 1, 1), (64, 1, 1), args)

        recording = port.record(separate)

        def replayed(count: int) -> None:
            for _ in range(count):
                port.wait(port.replay(recording))

        def launched(count: int) -> None:
            for _ in range(count):
                separate()
                port.wait(port.launch(module, unit.kernels[0], (1, 1, 1), (64, 1, 1), args))

        fast, slow = us_per_call(replayed, 50) / STEPS, us_per_call(launched, 50) / STEPS
        port.forget(recording)
        port.free(memory)
    return [
        {"what": "port.replay", "µs a step": round(fast, 3)},
        {"what": "port.launch, one by one", "µs a step": round(slow, 3)},
        {"what": "times faster", "µs a step": round(slow / fast, 2), "goal": 3},
    ]


def meeting(rounds: int) -> Program:
    with program("meeting", workgroup_size=256) as p:
        x = p.read_write("x", u32)
        y = p.scratch("y", u32, like=x)
        i = p.global_id(0)
        with p.range(0, rounds) as n:
            y[i] = x[i] + n
            p.grid_barrier()
            x[i] = y[(i + 257) % x.length]
            p.grid_barrier()
    return p.build()


def barriers(backend: EngineBackend, split: EngineBackend, *, toy: bool) -> list[Row]:
    """Barriers of the grid inside of one launch, and between launches, over grids that fit."""
    rounds, rows = 2 if toy else 200, []
    most = backend.device_profile().max_resident_invocations or 256
    for workgroups in sorted({1, max(1, most // 1024), max(1, most // 512)}):
        given, times, results = [np.arange(256 * workgroups, dtype=np.uint32)], [], []
        for one in (backend, split):
            pipeline = compile(one, meeting(rounds))
            results.append(bytes(pipeline.dispatch(given)[0]))
            times.append(median_of(lambda p=pipeline, g=given: (p.dispatch_timed(g).device_ns or 0) / 1e9, SAMPLES))
            pipeline.close()
        inside, between = (round(1e6 * seconds / (2 * rounds), 3) for seconds in times)
        row: Row = {"workgroups": workgroups, "right": results[0] == results[1], "inside, µs a barrier": inside}
        rows.append(row | {"between launches": between, "times faster": round(between / inside, 2) if inside else ""})
    return rows


def overlap(backend: EngineBackend, *, toy: bool) -> list[Row]:
    """Dispatches whose copies take about as long as their kernels: one by one, and several in flight.

    At best the shorter of the two, copies and kernels, takes no time of its own.
    """
    with program("worked", workgroup_size=256) as p:
        x = p.read_write("x", u32)
        value = p.var(x[p.global_id(0)], u32)
        with p.range(0, 4 if toy else 4096) as n:
            value.set((value ^ n) * 2654435761 + (value >> 7))
        x[p.global_id(0)] = value
    pipeline, count = compile(backend, p.build()), 4 if toy else 16
    given = [np.arange(2**10 if toy else 2**22, dtype=np.uint32) + np.uint32(n) for n in range(count)]

    def one_by_one() -> list[bytes]:
        return [bytes(pipeline.dispatch([x])[0]) for x in given]

    def in_flight() -> list[bytes]:
        pending = []
        done = []
        for x in given:
            pending.append(pipeline.dispatch_async([x]))
            if len(pending) == 3:
                done.append(bytes(pending.pop(0).await_result()[0]))
        return done + [bytes(one.await_result()[0]) for one in pending]

    right = one_by_one() == in_flight()
    times = [us_per_call(lambda n, w=way: [w() for _ in range(n)], 1) / count for way in (one_by_one, in_flight)]
    kernel = median_of(lambda: (pipeline.dispatch_timed([given[0]]).device_ns or 0) / 1e3, 1 if toy else SAMPLES)
    pipeline.close()
    alone, together = times
    best = max(kernel, alone - kernel)
    hidden = round((alone - together) / (alone - best), 2) if alone > best else ""
    return [
        {"what": "the kernel alone", "µs a dispatch": round(kernel, 1)},
        {"what": "one by one", "µs a dispatch": round(alone, 1), "right": right},
        {"what": "three in flight", "µs a dispatch": round(together, 1)},
        {"what": "at best", "µs a dispatch": round(best, 1)},
        {"what": "times faster", "µs a dispatch": round(alone / together, 2)},
        {"what": "share of what can be hidden", "µs a dispatch": hidden},
    ]


def compiles(backend: EngineBackend, *, toy: bool) -> list[Row]:
    """From text to loaded code by the compiler, and the same code loaded again."""
    from vyre_driver.engine.lowering import lowered_for

    rows = []
    with backend.session() as device:
        for name in NAMES[:2] if toy else NAMES:
            source = WORKLOADS[name].make(WORKLOADS[name].toy).program
            unit = device.port.emit(lowered_for(device.target, source.validate()))
            binary = device.port.binary(device.port.compile(unit))
            assert binary is not None
            cold, warm = (
                median_of(lambda make=make: seconds_of(make), 1 if toy else SAMPLES)
                for make in (lambda u=unit: device.port.compile(u), lambda b=binary: device.port.load(b))
            )
            rows.append({"kernel": name, "compile ms": round(1e3 * cold, 2), "load ms": round(1e3 * warm, 3)})
    return rows


def copies(backend: EngineBackend) -> list[Row]:
    """Bytes a second: read and written, of a copy on the GPU, which comes first; of the way in and out."""
    import cupy

    source = cupy.arange(2**27, dtype=cupy.uint32)
    target, host = cupy.empty_like(source), np.zeros(2**26, np.uint8)

    def on_the_gpu() -> float:
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        target.data.copy_from_device_async(source.data, source.nbytes, cupy.cuda.get_current_stream())
        end.record()
        end.synchronize()
        return float(cupy.cuda.get_elapsed_time(start, end)) / 1e3

    on_the_gpu()
    rate = 2 * source.nbytes / median_of(on_the_gpu, SAMPLES)
    rows: list[Row] = [{"what": COPY, "GB/s": round(rate / 1e9, 1)}]
    with backend.session() as device:
        memory = device.port.allocate(host.nbytes)
        done = np.zeros(1, np.uint8)

        def into() -> float:
            started = time.perf_counter()
            device.port.copy_in(memory, host.data)
            device.port.copy_out(memory, done.data)
            return time.perf_counter() - started

        def out() -> float:
            started = time.perf_counter()
            device.port.copy_out(memory, host.data)
            return time.perf_counter() - started

        rows += [{"what": name, "GB/s": round(host.nbytes / median_of(way, SAMPLES) / 1e9, 2)}
                 for name, way in (("64 MiB in", into), ("64 MiB out", out))]  # fmt: skip
        device.port.free(memory)
    array = cupy.empty(host.nbytes, cupy.uint8)
    for name, call in (
        ("64 MiB in by CuPy", lambda: array.set(host)),
        ("64 MiB out by CuPy", lambda: array.get(out=host)),
    ):
        rows.append({"what": name, "GB/s": round(host.nbytes / (us_per_call(lambda n, c=call: c(), 1) / 1e6) / 1e9, 2)})
    return rows


def starts(*, toy: bool = False) -> list[Row]:
    """A process that runs one program, with an empty store and with a full one."""
    opening = "from cuda_emulation.rehearsal import rehearsed; b = rehearsed()" if toy else "b = v.acquire('cuda')"
    script = (
        "import time; began = time.perf_counter()\n"
        "import numpy as np, vyre_driver as v\n"
        "from vyre_foundation import program, u32\n"
        "with program('started', 64) as p:\n"
        "    x = p.read_write('x', u32); x[p.global_id(0)] = x[p.global_id(0)] + 1\n"
        f"{opening}; b.prepare(); opened = time.perf_counter()\n"
        "b.dispatch(p.build(), [np.zeros(64, np.uint32)]); ended = time.perf_counter()\n"
        "print(1e3 * (opened - began), 1e3 * (ended - opened))\n"
    )
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for state in ("empty", "full", "full"):
            environment = os.environ | {"VYRE_CACHE": "rw", "VYRE_CACHE_DIR": folder}
            words = [sys.executable, "-P", "-c", script]
            said = subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout
            opened, dispatched = map(float, said.split())
            rows.append(
                {"store": state, "import and open ms": round(opened, 1), "first dispatch ms": round(dispatched, 2)}
            )
    return rows


def between_launches(port: CudaPort) -> CudaPort:
    """The same port, whose launches end at barriers of the grid."""
    port._dialect = without_grid_barriers(port._dialect)
    return port


def backends(*, toy: bool) -> tuple[EngineBackend, EngineBackend]:
    """As it is, and with launches that end at barriers of the grid."""
    if toy:
        from cuda_emulation.rehearsal import NAME, open_port, rehearsed

        return rehearsed(), EngineBackend(NAME, lambda: between_launches(open_port()))
    backend = acquire("cuda")
    assert isinstance(backend, EngineBackend)
    return backend, EngineBackend("cuda", lambda: between_launches(CudaPort(open_device())))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--rehearse", action="store_true")
    options = parser.parse_args()
    results, toy = Results(options.file), options.rehearse
    backend, split = backends(toy=toy)
    if not toy:
        results.add("launches", lambda: launches(backend))
        results.add("copies", lambda: copies(backend))
    results.add("sequences", lambda: sequences(backend, toy=toy))
    copied = next((1e9 * row["GB/s"] for row in results.tables.get("copies", []) if row.get("what") == COPY), 0.0)
    done = {row["kernel"] for row in results.tables.get("kernels", [])}
    left = [name for name in NAMES if name not in done]
    results.go_on("kernels", lambda: kernels(backend, left, toy=toy, copied=copied))
    results.add("copies and kernels", lambda: overlap(backend, toy=toy))
    results.add("barriers of the grid", lambda: barriers(backend, split, toy=toy))
    results.add("starts", lambda: starts(toy=toy))
    results.add("compilation", lambda: compiles(backend, toy=toy))
    split.shutdown()
    backend.shutdown()
    return results.status()


if __name__ == "__main__":
    sys.exit(main())
