"""Work of clusters in vyre on Dask, in NumPy on Dask, on Ray and with joblib: two processes of one thread each.

`python benchmarks/dask_peers.py` runs three kinds of work in interleaved rounds, and proves first that all give the
same results:

    digests    SHA-256 of documents of 4 KiB, and how often each of eight words is in them
    floats     a histogram, and a sum whose bytes do not depend on the chunks, of floats that each task makes
    heat       steps of the 3-D heat equation over chunks with halos

Peers use what a user of NumPy has: `hashlib`, `bytes.count`, `numpy.histogram`, `math.fsum`. Tasks make their data in
place of reading it, and give digests of what they computed. The chunks of the heat equation are data of the cluster, or
of Ray's store, whose tasks read their neighbours in shared memory; joblib has none, so that they pass through this
process. The figures are medians of the wall time and of the processor time of all processes, in seconds.

Workers have 1 GiB of memory: Dask ends those that take more; the others cannot allocate it.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import resource
import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import dask
import dask.array as da
import joblib
import numpy as np
import psutil
import ray
from distributed import Client, LocalCluster

import vyre_algorithms
import vyre_distributed as vd
from vyre_distributed.worker import local_backend
from vyre_foundation import Program, program
from vyre_foundation.dtype import f32

WORDS = (b"alpha", b"beta", b"gamma", b"delta", b"epsilon", b"zeta", b"theta", b"omega")
DOCUMENT = 4096
EDGES = np.linspace(0, 1, 65)
LIMIT = 2**30
AT_ONCE = 4
"""Steps of the heat equation in one task of vyre, where it does several."""


def corpus(seed: int, size: int) -> bytes:
    """Words in a random order, which a task makes in place of reading them."""
    lengths = max(map(len, WORDS)) + 1
    table = np.frombuffer(b"".join(word.ljust(lengths) for word in WORDS), np.uint8).reshape(len(WORDS), lengths)
    return bytes(table[np.random.default_rng(seed).integers(0, len(WORDS), size // lengths + 1)].reshape(-1)[:size])


def digests_peer(seed: int, size: int) -> tuple[str, list[int]]:
    text = corpus(seed, size)
    found = b"".join(hashlib.sha256(text[n : n + DOCUMENT]).digest() for n in range(0, size, DOCUMENT))
    return hashlib.sha256(found).hexdigest(), [text.count(word) for word in WORDS]


def digests_vyre(seed: int, size: int) -> tuple[str, list[int]]:
    text, backend = corpus(seed, size), local_backend()
    found = vyre_algorithms.sha256([text[n : n + DOCUMENT] for n in range(0, size, DOCUMENT)], backend=backend)
    _, numbers = vyre_algorithms.find_all(text, WORDS, backend=backend)
    return hashlib.sha256(found.tobytes()).hexdigest(), np.bincount(numbers, minlength=len(WORDS)).tolist()


def floats(seed: int, size: int) -> Any:
    return np.random.default_rng(seed).random(size, dtype=np.float32)


def floats_peer(seed: int, size: int) -> tuple[list[int], float]:
    x = floats(seed, size)
    return np.histogram(x, EDGES)[0].tolist(), math.fsum(x)


def floats_vyre(seed: int, size: int) -> tuple[list[int], float]:
    x, backend = floats(seed, size), local_backend()
    counts = vyre_algorithms.histogram(x, EDGES, backend=backend)[0]
    return counts.tolist(), float(vyre_algorithms.exact_sum(x.astype(np.float64), backend=backend))


def heat_program() -> Program:
    with program("heat", 64) as p:
        x = p.read("x", f32, shape=("a", "b", "c"))
        out = p.write("out", f32, shape=("a", "b", "c"))
        i, j, k = p.index()
        sides = x[i, j, k - 1] + x[i, j, k + 1] + x[i, j - 1, k] + x[i, j + 1, k] + x[i - 1, j, k] + x[i + 1, j, k]
        out[i, j, k] = x[i, j, k] + (sides - x[i, j, k] * 6.0) * 0.1
    return p.build()


def heat_numpy(x: Any) -> Any:
    out = x.copy()
    inner = x[1:-1, 1:-1, 1:-1]
    sides = x[1:-1, 1:-1, :-2] + x[1:-1, 1:-1, 2:]
    for one in (x[1:-1, :-2, 1:-1], x[1:-1, 2:, 1:-1], x[:-2, 1:-1, 1:-1], x[2:, 1:-1, 1:-1]):
        sides = sides + one
    out[1:-1, 1:-1, 1:-1] = inner + (sides - inner * np.float32(6)) * np.float32(0.1)
    return out


def planes(number: int, side: int) -> Any:
    return np.random.default_rng(number).random((side, side, side), dtype=np.float32)


def digest(x: Any) -> str:
    return hashlib.blake2b(np.ascontiguousarray(x)).hexdigest()


def heat_part(below: Any, x: Any, above: Any) -> Any:
    """A step of planes that lie between others, or None."""
    padded = np.pad(x, 1)
    if below is not None:
        padded[0, 1:-1, 1:-1] = below[-1]
    if above is not None:
        padded[-1, 1:-1, 1:-1] = above[0]
    return heat_numpy(padded)[1:-1, 1:-1, 1:-1]


def heat_dask(step: Callable[[da.Array], da.Array], side: int, chunks: int, steps: int) -> list[str]:
    parts = [dask.delayed(planes)(n, side) for n in range(chunks)]
    x = da.concatenate([da.from_delayed(part, (side,) * 3, dtype=np.float32) for part in parts])
    for _ in range(steps):
        x = step(x)
    return list(dask.compute(*[dask.delayed(digest)(part) for part in x.to_delayed().ravel()]))


def heat_ray(side: int, chunks: int, steps: int) -> list[str]:
    """With the chunks in Ray's store, where a task reads those of its neighbours without a copy."""
    call = ray.remote(limited)
    parts = [call.remote(planes, n, side) for n in range(chunks)]
    for _ in range(steps):
        around = [None, *parts, None]
        parts = [call.remote(heat_part, *around[n : n + 3]) for n in range(chunks)]
    return ray.get([call.remote(digest, part) for part in parts])


def heat_joblib(side: int, chunks: int, steps: int) -> list[str]:
    run = lambda task, given: joblib.Parallel(n_jobs=2)(joblib.delayed(limited)(task, *each) for each in given)
    parts = run(planes, [(n, side) for n in range(chunks)])
    for _ in range(steps):
        around = [None, *parts, None]
        ends = lambda part, plane: None if part is None else part[plane : plane + 1 or None]
        parts = run(heat_part, [(ends(around[n], -1), part, ends(around[n + 2], 0)) for n, part in enumerate(parts)])
    return [digest(part) for part in parts]


def limited(task: Callable[..., Any], *given: Any) -> Any:
    """A task in a process that cannot allocate more than `LIMIT`."""
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))
    return task(*given)


def processor_seconds() -> float:
    """Of this process and all that it started."""
    me = psutil.Process()
    total = 0.0
    for process in [me, *me.children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tasks", type=int, default=16)
    parser.add_argument("--megabytes", type=int, default=8, help="of a task")
    parser.add_argument("--warm-ups", type=int, default=1, help="rounds that are not counted")
    parser.add_argument("--heat", type=int, nargs=3, default=(128, 4, 4), metavar=("SIDE", "CHUNKS", "STEPS"))
    parser.add_argument(
        "--work", nargs="+", choices=("digests", "floats", "heat"), default=("digests", "floats", "heat")
    )
    parser.add_argument("--without", action="append", default=[], help="a system to leave out, such as Ray")
    given = parser.parse_args()
    if given.heat[2] % AT_ONCE:
        parser.error(f"the heat equation takes a multiple of {AT_ONCE} steps")
    size, tasks = given.megabytes << 20, range(given.tasks)
    if "Ray" not in given.without:
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    options = {"dashboard_address": ":0", "env": {"VYRE_CPU_THREADS": "1"}, "silence_logs": 50}
    limits = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": LIMIT}
    with LocalCluster(**limits, **options) as cluster, Client(cluster) as client:
        run_dask = lambda task: client.gather(client.map(task, tasks, pure=False))
        ray_call = ray.remote(limited)
        run_ray = lambda task: ray.get([ray_call.remote(task, n) for n in tasks])
        run_joblib = lambda task: joblib.Parallel(n_jobs=2)(joblib.delayed(limited)(task, n) for n in tasks)
        trials: dict[str, dict[str, Callable[[], Any]]] = {
            name: {
                "vyre": partial(run_dask, partial(vyre, size=amount)),
                "NumPy on Dask": partial(run_dask, partial(peer, size=amount)),
                "Ray": partial(run_ray, partial(peer, size=amount)),
                "joblib": partial(run_joblib, partial(peer, size=amount)),
            }
            for name, vyre, peer, amount in (
                ("digests", digests_vyre, digests_peer, size),
                ("floats", floats_vyre, floats_peer, size // 4),
            )
        }
        heat = heat_program()
        side, chunks, steps = given.heat
        one = lambda x: vd.map_overlap(heat, x, depth=1)
        several = lambda x: vd.map_overlap(heat, x, depth=1, steps=AT_ONCE)
        peer_step = lambda x: da.map_overlap(heat_numpy, x, depth=1, boundary=0, dtype=x.dtype)
        trials["heat"] = {
            "vyre": lambda: heat_dask(one, side, chunks, steps),
            f"vyre, {AT_ONCE} at once": lambda: heat_dask(several, side, chunks, steps // AT_ONCE),
            "NumPy on Dask": lambda: heat_dask(peer_step, side, chunks, steps),
            "Ray": lambda: heat_ray(side, chunks, steps),
            "joblib": lambda: heat_joblib(side, chunks, steps),
        }
        versions = f"Dask {dask.__version__}, Ray {ray.__version__}, joblib {joblib.__version__}"
        shape = f"{given.tasks} tasks of {given.megabytes} MiB; heat: {chunks} chunks of {side}³, {steps} steps"
        print(f"{shape}; {given.rounds} rounds, {given.warm_ups} before them, {versions}")
        for name in given.work:
            systems = {system: run for system, run in trials[name].items() if system not in given.without}
            measured: dict[str, list[tuple[float, float]]] = {system: [] for system in systems}
            expected = None
            for number in range(given.warm_ups + given.rounds):
                for system, run in systems.items():
                    began, spent = time.perf_counter(), processor_seconds()
                    found = run()
                    taken = time.perf_counter() - began, processor_seconds() - spent
                    expected = found if expected is None else expected
                    assert found == expected, (name, system)
                    if number >= given.warm_ups:
                        measured[system].append(taken)
            for system, times in measured.items():
                wall, processor = (statistics.median(column) for column in zip(*times, strict=True))
                print(f"  {name:8} {system:14} wall {wall:7.2f} s   processor {processor:7.2f} s", flush=True)


if __name__ == "__main__":
    main()
