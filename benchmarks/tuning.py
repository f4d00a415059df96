"""How near the tuner comes to an exhaustive search, in which part of its time; and whether routes are the best.

`python benchmarks/tuning.py` prints both. The exhaustive search compiles every workgroup size of the forms 2**n and
3 * 2**n that is proven not to matter, on every queue, and runs all in `SAMPLES` interleaved rounds. With
``VYRE_CACHE=off`` both compile. Both begin with a program that runs: its present launch is compiled, and has run.

`--sizes` adds rows in which the programs are written for other workgroups, where that is proven not to matter.
"""

from __future__ import annotations

import argparse
import statistics
import time
import timeit
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from workloads import WORKLOADS

from vyre_driver import DispatchConfig, EngineBackend, VyreBackend, backend_for, tune_program
from vyre_driver.backend.delegate import innermost
from vyre_driver.backend.typed import ordered_inputs
from vyre_driver.plan.cost import estimate
from vyre_driver.plan.launch import plan_launch
from vyre_driver.plan.resize import resized
from vyre_driver.policy.queue import usable_queues
from vyre_driver.tune.choice import LaunchChoice, size_bucket
from vyre_driver.tune.routing import backend_for_launch
from vyre_driver.tune.tuner import Tunable, clock_of, tune_launches
from vyre_foundation import Program, f32, program

SAMPLES = 40
WIDTHS = sorted({size for n in range(11) for size in (2**n, 3 * 2**n) if size <= 1024})


def exhaustive(engine: Tunable, work: Program, inputs: list[Any], config: DispatchConfig) -> dict[LaunchChoice, float]:
    """The median nanoseconds of every launch that is possible."""
    lengths = [given.nbytes for given in inputs]
    plan = plan_launch(work, lengths, config)
    queues = engine.device_profile().queues
    names = [queues[n].name for n in usable_queues(queues, estimate(plan))] if queues else [None]
    _, y, z = work.workgroup_size
    sizes = [(width, y, z) for width in WIDTHS if resized(plan, config, (width, y, z)) is not None] or [None]
    choices = [LaunchChoice(size, queue) for size in sizes for queue in names]
    with ExitStack() as stack:
        pipelines = [engine.pipeline_for_trial(work, config, choice) for choice in choices]
        for pipeline in pipelines:
            stack.callback(pipeline.close)
        clocks = [clock_of(partial(pipeline.dispatch, inputs)) for pipeline in pipelines]
        times: list[list[float]] = [[] for _ in choices]
        for _ in range(SAMPLES):
            for clock, found in zip(clocks, times, strict=True):
                found.append(clock())
    return {choice: statistics.median(found) for choice, found in zip(choices, times, strict=True)}


def search(names: list[str], backend: str, sizes: list[int]) -> None:
    """Print a row for each workload, and for each other size that it may be written for."""
    engine = innermost(backend_for(backend))
    assert isinstance(engine, EngineBackend)
    print(f"{'workload':24} {'launches':>8} {'best µs':>9} {'taken µs':>9} {'ratio':>6} {'tuner ms':>9} {'part':>6}")
    for name in names:
        work = WORKLOADS[name].make(WORKLOADS[name].size // 32)
        config, given = DispatchConfig(grid_override=work.grid), list(work.inputs.values())
        arrays = dict(zip((b.name for b in work.program.inputs), given, strict=True))
        _compare(engine, name, work.program, arrays, config)
        plan = plan_launch(work.program, [array.nbytes for array in arrays.values()], config)
        for width in sizes:
            size = (width, *work.program.workgroup_size[1:])
            other = None if size == work.program.workgroup_size else resized(plan, config, size)
            if other is not None:
                written = replace(work.program, workgroup_size=size)
                _compare(engine, f"{name}, {width} wide", written, arrays, other.replace(workgroup_override=None))


def _compare(
    engine: EngineBackend, name: str, work: Program, arrays: dict[str, np.ndarray], config: DispatchConfig
) -> None:
    """Print a row: what the tuner takes beside the best launch, in which part of the time of the exhaustive search."""
    inputs = list(ordered_inputs(work, arrays))
    bucket = size_bucket([given.nbytes for given in inputs], config)
    engine.take_choice(work, bucket, LaunchChoice())
    fresh = engine.opened_again()
    for opened in (engine, fresh):
        opened.dispatch(work, inputs, config)
    started = time.perf_counter()
    report = tune_launches(engine, work, arrays, config)
    between = time.perf_counter()
    found = exhaustive(fresh, work, inputs, config)
    ends = time.perf_counter()
    fresh.shutdown()
    # Both once more, in turns: what the tuner took, and the best of all.
    best = min(found, key=found.__getitem__)
    with ExitStack() as stack:
        clocks = []
        for choice in (report.choice, best):
            pipeline = engine.pipeline_for_trial(work, config, choice)
            stack.callback(pipeline.close)
            clocks.append(clock_of(partial(pipeline.dispatch, inputs)))
        turns = [[clock() for clock in clocks] for _ in range(SAMPLES)]
        taken, least = (statistics.median(times) for times in zip(*turns, strict=True))
    took, part = 1e3 * (between - started), (between - started) / (ends - between)
    print(
        f"{name:24} {len(found):8} {least / 1e3:9.1f} {taken / 1e3:9.1f} {taken / least:6.2f} {took:9.1f} {part:6.3f}",
        flush=True,
    )


def routes(backends: list[str]) -> None:
    """Print, for each size, what a launch takes on each backend, on that of the route, and what the route adds.

    The backend of the route is one of those that are timed, so noise does not tell a backend from itself. What a launch
    adds that asks for its route is measured by itself, as the least of many.
    """
    with program("saxpy", 64) as p:
        x, y = p.read("x", f32), p.read("y", f32)
        i = p.global_id(0)
        p.write("out", f32, like=x)[i] = x[i] * 2.5 + y[i]
    saxpy = p.build()
    print(f"{'words':>9} {'route':14} {'asking µs':>9} {'ratio':>6}  {'; '.join(backends)} in µs")
    for bits in range(10, 25, 2):
        data = [np.arange(2**bits, dtype=np.float32)] * 2
        arrays = {"x": data[0], "y": data[1]}
        tune_program(saxpy, arrays, backend=backends)
        chosen = backend_for_launch(None, saxpy, arrays)
        clocks = {b: clock_of(partial(b.dispatch, saxpy, data)) for b in map(backend_for, backends)}
        times: dict[VyreBackend, list[float]] = {b: [] for b in clocks}
        for number in range(SAMPLES):
            for backend in [*clocks][:: 1 if number % 2 else -1]:
                times[backend].append(clocks[backend]())
        found = {backend: statistics.median(ns) for backend, ns in times.items()}
        asked, named = (
            min(timeit.repeat(partial(backend_for_launch, given, saxpy, arrays), number=100, repeat=50)) * 1e7
            for given in (None, chosen.id())
        )
        ratio = (found[chosen] + asked - named) / min(found.values())
        each = "; ".join(f"{ns / 1e3:.1f}" for ns in found.values())
        print(f"{2**bits:9} {chosen.id():14} {(asked - named) / 1e3:9.2f} {ratio:6.2f}  {each}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--backends", nargs="*", default=["cpu", "opencl"], help="those of the routes; none: no routes")
    parser.add_argument("--sizes", nargs="*", type=int, default=[])
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS))
    given = parser.parse_args()
    search(given.workloads, given.backend, given.sizes)
    if given.backends:
        routes(given.backends)
