"""The two evaluators of the reference, in million invocations a second, without planning and without copies.

Four programs of one small body each, in workgroups of 256: elementwise, a reduction through workgroup memory with
barriers, a histogram of atomics, and the same with the old value stored. The scalar evaluator gets fewer invocations.

    python benchmarks/evaluators.py [--rounds 15] [--json evaluators.json]
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.plan.launch import LaunchPlan, plan_launch
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program
from vyre_reference import scalar, vector
from vyre_reference.launch import host_memory

GROUP, BINS = 256, 256
SIZES = {"vector": 1 << 16, "scalar": 1 << 12}
EVALUATORS = {"vector": vector.evaluate, "scalar": scalar.evaluate}


def xor(size: int) -> Program:
    with program("xor", GROUP) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        out[p.global_id(0)] = x[p.global_id(0)] ^ 5
    return p.build()


def reduction(size: int) -> Program:
    with program("reduction", GROUP) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, size // GROUP)
        shared = p.workgroup("shared", u32, GROUP)
        local = p.local_id(0)
        shared[local] = x[p.global_id(0)]
        p.barrier()
        distance = p.var(GROUP // 2, u32)
        with p.range(0, 8):
            with p.if_(local < distance):
                shared[local] = shared[local] + shared[local + distance]
            p.barrier()
            distance.set(distance >> 1)
        with p.if_(local == 0):
            out[p.workgroup_id(0)] = shared[0]
    return p.build()


def histogram(size: int) -> Program:
    with program("histogram", GROUP) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, BINS)
        out.atomic_add(x[p.global_id(0)] & (BINS - 1), 1)
    return p.build()


def ranks(size: int) -> Program:
    with program("ranks", GROUP) as p:
        x = p.read("x", u32)
        counts = p.scratch("counts", u32, BINS)
        out = p.write("out", u32, like=x)
        out[p.global_id(0)] = counts.atomic_add(x[p.global_id(0)] & (BINS - 1), 1)
    return p.build()


def expected(case: str, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The result, by NumPy."""
    match case:
        case "xor":
            return x ^ np.uint32(5)
        case "reduction":
            return x.reshape(-1, GROUP).sum(axis=1, dtype=np.uint32)
        case "histogram":
            return np.bincount(x & (BINS - 1), minlength=BINS).astype(np.uint32)
        case _:
            one_hot = (x & (BINS - 1))[:, np.newaxis] == np.arange(BINS)
            return (np.cumsum(one_hot, axis=0, dtype=np.uint32) * one_hot).sum(axis=1, dtype=np.uint32) - np.uint32(1)


CASES = {"xor": xor, "reduction": reduction, "histogram": histogram, "ranks": ranks}


def measure(name: str, case: str, rounds: int) -> dict[str, Any]:
    """Rates of one evaluator in one case; the result of every round is checked."""
    size = SIZES[name]
    x = np.random.default_rng(0).integers(0, 1 << 32, size, dtype=np.uint32)
    plan: LaunchPlan = plan_launch(CASES[case](size), [x.nbytes], DispatchConfig(grid_override=(size // GROUP, 1, 1)))
    want, seconds = expected(case, x), []
    for _ in range(rounds):
        memory = host_memory(plan, [memoryview(x).cast("B")], {})
        started = time.perf_counter()
        EVALUATORS[name](plan, memory)
        seconds.append(time.perf_counter() - started)
        if not np.array_equal(np.frombuffer(memory["out"], np.uint32), want):
            raise SystemExit(f"{name} computes another {case}")
    rates = sorted(size / s / 1e6 for s in seconds)
    return {
        "evaluator": name,
        "case": case,
        "invocations": size,
        "median": round(statistics.median(rates), 3),
        "best": round(rates[-1], 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="million invocations a second of the two evaluators")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", type=Path, default=None, help="write the figures there")
    options = parser.parse_args()
    rows = [measure(name, case, options.rounds) for name in EVALUATORS for case in CASES]
    print(f"{'evaluator':10} {'case':10} {'invocations':>11} {'median M/s':>11} {'best M/s':>9}")
    for name, case, size, median, best in (row.values() for row in rows):
        print(f"{name:10} {case:10} {size:11} {median:11.3f} {best:9.3f}")
    if options.json is not None:
        environment = {"python": platform.python_version(), "numpy": np.__version__, "machine": platform.machine()}
        options.json.write_text(json.dumps({"environment": environment, "rows": rows}, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
