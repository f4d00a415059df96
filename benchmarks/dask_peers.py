"""Work of clusters in vyre on Dask, in NumPy on Dask, on Ray and with joblib: two processes of one thread each.

`python benchmarks/dask_peers.py` runs three kinds of work in interleaved rounds, and proves first that all give the
same results:

    digests    SHA-256 of documents of 4 KiB, and how often each of eight words is in them
    floats     a histogram, and a sum whose bytes do not depend on the chunks, of floats that each task makes
    heat       steps of the 3-D heat equation over chunks with halos

Peers use what a user of NumPy has: `hashlib`, `bytes.count`, `numpy.histogram`, `math.fsum`. The figures are medians of
the wall time and of the processor time of all processes, in seconds.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import statistics
import time
from collections.abc import Callable, Sequence
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
SIDE, STEPS = 128, 4


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
    """A step over a chunk of `SIDE + 2` planes; the fourth axis of its neighbours is in rows of `SIDE + 2`."""
    with program("heat", 64) as p:
        x = p.read("x", f32)
        i, row = p.let(p.global_id(0)), SIDE + 2
        sides = x[i - 1] + x[i + 1] + x[i - row] + x[i + row] + x[i - row * row] + x[i + row * row]
        p.write("out", f32, like=x)[i] = x[i] + (sides - x[i] * 6.0) * 0.1
    return p.build()


def heat_numpy(x: Any) -> Any:
    out = x.copy()
    inner = x[1:-1, 1:-1, 1:-1]
    sides = x[1:-1, 1:-1, :-2] + x[1:-1, 1:-1, 2:]
    for one in (x[1:-1, :-2, 1:-1], x[1:-1, 2:, 1:-1], x[:-2, 1:-1, 1:-1], x[2:, 1:-1, 1:-1]):
        sides = sides + one
    out[1:-1, 1:-1, 1:-1] = inner + (sides - inner * np.float32(6)) * np.float32(0.1)
    return out


def heat_steps(run: Callable[[Sequence[Any]], list[Any]], chunks: int) -> Any:
    """Planes with halos, passed to tasks and put together again."""
    x = np.random.default_rng(1).random((SIDE * chunks, SIDE, SIDE), dtype=np.float32)
    for _ in range(STEPS):
        padded = np.pad(x, 1)
        parts = run([padded[n * SIDE : (n + 1) * SIDE + 2] for n in range(chunks)])
        x = np.concatenate([part[1:-1, 1:-1, 1:-1] for part in parts])
    return x


def heat_dask(step: Callable[[da.Array], da.Array], chunks: int) -> Any:
    x = da.from_array(np.random.default_rng(1).random((SIDE * chunks, SIDE, SIDE), dtype=np.float32), chunks=SIDE)
    for _ in range(STEPS):
        x = step(x)
    return x.compute()


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
    parser.add_argument("--without", action="append", default=[], help="a system to leave out, such as Ray")
    given = parser.parse_args()
    size, tasks = given.megabytes << 20, range(given.tasks)
    if "Ray" not in given.without:
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    options = {"dashboard_address": ":0", "env": {"VYRE_CPU_THREADS": "1"}, "silence_logs": 50}
    limits = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "1GiB"}
    with LocalCluster(**limits, **options) as cluster, Client(cluster) as client:
        run_dask = lambda task: client.gather(client.map(task, tasks, pure=False))
        ray_call = ray.remote(lambda task, n: task(n))
        run_ray = lambda task: ray.get([ray_call.remote(task, n) for n in tasks])
        run_joblib = lambda task: joblib.Parallel(n_jobs=2)(joblib.delayed(task)(n) for n in tasks)
        ray_step, heat = ray.remote(heat_numpy), heat_program()
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
        chunks = 4
        trials["heat"] = {
            "vyre": lambda: heat_dask(lambda x: vd.map_overlap(heat, x, depth=1), chunks),
            "NumPy on Dask": lambda: heat_dask(
                lambda x: da.map_overlap(heat_numpy, x, depth=1, boundary=0, dtype=x.dtype), chunks
            ),
            "Ray": lambda: heat_steps(lambda parts: ray.get([ray_step.remote(part) for part in parts]), chunks),
            "joblib": lambda: heat_steps(
                lambda parts: joblib.Parallel(n_jobs=2)(joblib.delayed(heat_numpy)(part) for part in parts), chunks
            ),
        }
        versions = f"Dask {dask.__version__}, Ray {ray.__version__}, joblib {joblib.__version__}"
        shape = f"{given.tasks} tasks of {given.megabytes} MiB; heat: {chunks} chunks of {SIDE}³, {STEPS} steps"
        print(f"{shape}; {given.rounds} rounds, {versions}")
        for name, all_systems in trials.items():
            systems = {system: run for system, run in all_systems.items() if system not in given.without}
            measured: dict[str, list[tuple[float, float]]] = {system: [] for system in systems}
            expected = None
            for number in range(given.rounds + 1):
                for system, run in systems.items():
                    began, spent = time.perf_counter(), processor_seconds()
                    found = run()
                    taken = time.perf_counter() - began, processor_seconds() - spent
                    expected = found if expected is None else expected
                    assert np.array_equal(found, expected) if name == "heat" else found == expected, (name, system)
                    if number:
                        measured[system].append(taken)
            for system, times in measured.items():
                wall, processor = (statistics.median(column) for column in zip(*times, strict=True))
                print(f"  {name:8} {system:14} wall {wall:7.2f} s   processor {processor:7.2f} s", flush=True)


if __name__ == "__main__":
    main()
