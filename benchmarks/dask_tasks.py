"""What a task costs, how well two workers are used, and where a scheduler would become the limit.

`python benchmarks/dask_tasks.py` starts a `LocalCluster` of two workers of one thread and prints

1. the time of a task: an empty one of Dask, one that doubles a chunk in NumPy, one that launches a program over it;
2. the efficiency of two workers, for tasks of about 100 ms, beside that of two processes without Dask, which is what
   the machine permits;
3. weak scaling by a model with three measured costs: a scheduler that takes `s` seconds for each task, one after
   another, workers that take `t`, and transfers of `MOVED` bytes from another worker for each task, which take `m`. `W`
   workers with `k` tasks each end after ``max(W * k * s, k * (t + m)) + s``. Without transfers it is shown beside what
   one and two workers take.

All are medians of interleaved rounds.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context

import dask
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

import vyre_distributed as vd
from vyre_driver import backend_for
from vyre_foundation import Program, program, u32
from vyre_foundation.wire import decode

SALT = itertools.count(1)
"""Numbers that make each graph another one: Dask does not repeat tasks of one name."""
TASKS = 400
CHUNK = 1024
MOVED = 1 << 20
LASTS = 0.1


def doubled() -> Program:
    with program("doubled", 64) as p:
        x, salt = p.read("x", u32), p.uniform("salt", u32, 1)
        p.write("out", u32, like=x)[p.global_id(0)] = x[p.global_id(0)] * salt[0]
    return p.build()


def long(iterations: int) -> Program:
    with program("long", 64) as p:
        x, salt = p.read("x", u32), p.uniform("salt", u32, 1)
        out = p.write("out", u32, like=x)
        i = p.let(p.global_id(0))
        total = p.var(x[i] + salt[0])
        with p.range(0, iterations) as n:
            total.set((total ^ n) * 1664525 + 1013904223)
        out[i] = total
    return p.build()


DOUBLED = doubled()


def medians(trials: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Seconds of each trial, interleaved, after one round that is not counted."""
    taken: dict[str, list[float]] = {name: [] for name in trials}
    for number in range(rounds + 1):
        for name, trial in trials.items():
            started = time.perf_counter()
            trial()
            if number:
                taken[name].append(time.perf_counter() - started)
    return {name: statistics.median(times) for name, times in taken.items()}


def nothing(chunk: object, salt: int) -> None:
    """An empty task."""


def computed(chunks: da.Array) -> object:
    """Run every task on its own, and bring nothing back."""
    with dask.config.set({"optimization.fuse.active": False}):
        return dask.compute(*chunks.to_delayed().ravel().tolist(), optimize_graph=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    options = {"dashboard_address": ":0", "env": {"VYRE_CPU_THREADS": "1"}, "silence_logs": 50}
    with LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster, Client(cluster) as client:
        ones = da.ones(TASKS * CHUNK, chunks=CHUNK, dtype=np.uint32).persist()
        calls = {
            "empty": lambda: computed(ones.map_blocks(nothing, next(SALT), dtype=np.uint32)),
            "numpy": lambda: computed(ones.map_blocks(np.multiply, np.uint32(next(SALT)), dtype=np.uint32)),
            "vyre": lambda: computed(vd.map_blocks(DOUBLED, ones, next(SALT))),
        }
        found = {name: seconds / TASKS for name, seconds in medians(calls, rounds).items()}
        print(f"a task, of {TASKS}, with {CHUNK} elements")
        for name, seconds in found.items():
            print(f"  {name:6} {seconds * 1e6:8.0f} µs   {seconds / found['empty']:5.2f} × empty")

        two = list(client.nthreads())
        work = long(lasting(client, two[:1]))
        trials = {"one": lambda: on(client, two[:1], work), "two": lambda: on(client, two, work)}
        taken = medians(trials, max(3, rounds // 2))
        task, scheduler = taken["one"] / 16, found["empty"]
        print(f"16 tasks of {task * 1e3:.0f} ms: one worker {taken['one']:.2f} s, two {taken['two']:.2f} s, "
              f"efficiency {taken['one'] / 2 / taken['two']:.2f}")  # fmt: skip
        with ProcessPoolExecutor(2, get_context("spawn")) as pool:
            alone = {"one": lambda: without_dask(pool, work, 1), "two": lambda: without_dask(pool, work, 2)}
            bare = medians(alone, max(3, rounds // 2))
        print(f"the same without Dask: one process {bare['one']:.2f} s, two {bare['two']:.2f} s, "
              f"efficiency {bare['one'] / 2 / bare['two']:.2f}")  # fmt: skip
        move = moved(client, two, rounds)
        print(f"weak scaling, 8 tasks of {task * 1e3:.0f} ms a worker, {scheduler * 1e6:.0f} µs of scheduler a task, "
              f"{move * 1e3:.2f} ms for {MOVED} bytes from another worker")  # fmt: skip
        for workers in (1, 2, 10, 100, 1000, 10_000):
            moves = move if workers > 2 else 0.0
            model = max(workers * 8 * scheduler, 8 * (task + moves)) + scheduler
            measured = {1: taken["one"] / 2, 2: taken["two"]}.get(workers)
            beside = "" if measured is None else f"   measured {measured:.2f} s, error {model / measured - 1:+.0%}"
            print(f"  {workers:6} workers: {model:6.2f} s, efficiency {8 * task / model:.2f}{beside}")
        print(f"the scheduler is the limit from {(task + move) / scheduler:.0f} workers on")


def moved(client: Client, workers: list[str], rounds: int) -> float:
    """Seconds by which a task takes longer where its input is on the other worker."""
    data = client.submit(np.ones, MOVED, np.uint8, workers=workers[:1], key=f"moved-{next(SALT)}")
    fresh = lambda: client.submit(np.copy, data, workers=workers[:1], pure=False)
    trials = {
        name: lambda where=where: [client.submit(len, fresh(), workers=where, pure=False).result() for _ in range(20)]
        for name, where in (("there", workers[:1]), ("moved", workers[1:]))
    }
    taken = medians(trials, rounds)
    return max(0.0, taken["moved"] - taken["there"]) / 20


def lasting(client: Client, workers: list[str]) -> int:
    """The iterations with which a task takes `LASTS` seconds."""
    few = 600_000
    took = medians({"": lambda: on(client, workers, long(few))}, 3)[""] / 16
    return int(few * LASTS / took)


def without_dask(pool: Executor, work: Program, processes: int) -> list[None]:
    """The 16 tasks in one process, or half of them in each of two."""
    wire = work.encode()
    return list(pool.map(launches, [wire] * processes, [16 // processes] * processes))


def launches(wire: bytes, number: int) -> None:
    os.environ["VYRE_CPU_THREADS"] = "1"
    backend, program = backend_for("cpu"), decode(wire)
    for n in range(number):
        chunk = np.arange(n * CHUNK, (n + 1) * CHUNK, dtype=np.uint32)
        backend.dispatch_arrays(program, {"x": chunk, "salt": np.array([next(SALT)], np.uint32)})


def on(client: Client, workers: list[str], work: Program) -> object:
    """Compute on some workers alone, over chunks that no worker has: tasks go where their chunks are."""
    chunks = da.arange(16 * CHUNK, chunks=CHUNK, dtype=np.uint32)
    return client.gather(
        client.compute(vd.map_blocks(work, chunks, next(SALT)).to_delayed().ravel().tolist(), workers=workers)
    )


if __name__ == "__main__":
    main()
