"""Algorithms and graphs on a GPU, beside CuPy and JAX in the same run.

    python packages/vyre-driver-cuda/tools/gpu_work.py FILE [--rehearse]

Arrays of algorithms are on the GPU, before and after. Each number is the median of several runs. Rows say whether the
result was right; those of the largest products and of repeated steps were not compared. FILE is written after every
row. `--rehearse` runs what needs neither CuPy nor JAX, on the emulation with toy
sizes; its times say nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

from measured import SAMPLES, Results, Row, median_of, seconds_of, us, us_per_call
from suites import algorithms
from suites.graphs import CASES, TOY, Stepwise
from workloads import whole

from vyre_driver import ResidentDispatchStep, acquire, compile_graph
from vyre_driver.arrays.make import array
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.graph.record import GraphRecorder
from vyre_foundation import Program, f32, program, u32

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

NAMES = [name for name in algorithms.NAMES if name != "fft"]
"""Arrays of a device have no complex numbers."""
SIZES = (2**16, 2**20, 2**24)
MOST_COMPARED = {"matmul": 2**22}
"""Elements of the largest input whose result is computed on the host too, where that takes long."""


def algorithm_rows(backend: EngineBackend, *, toy: bool) -> Iterator[Row]:
    """Each algorithm over arrays of the GPU. That it gives the bits of other backends is what its tests show."""
    for name in NAMES:
        for size in (4096,) if toy else SIZES:
            yield _algorithm(backend, name, size, toy=toy)


def _algorithm(backend: EngineBackend, name: str, size: int, *, toy: bool) -> Row:
    given = algorithms.inputs(name, size)
    held = [array(backend, one) for one in given]
    if name == "spmv":
        held[2] = given[2]  # the starts of rows, which are checked on the host
    call = algorithms._vyre(name, held, backend)
    found = call()
    row: Row = {"algorithm": name, "size": size}
    if size <= MOST_COMPARED.get(name, size):
        row["right"] = algorithms._is_met(np.asarray(found), algorithms.expected(name, given))
    if toy:
        return row

    def ours() -> None:
        call()
        _wait(backend)

    before = backend.backend_metric_snapshot()["launches"]
    ours()
    row["launches"] = backend.backend_metric_snapshot()["launches"] - before
    row["ours µs"] = _host(ours)
    theirs = _by_cupy(name, given)
    if theirs is not None:
        row["CuPy µs"] = _host(theirs)
        row["ratio"] = round(row["ours µs"] / row["CuPy µs"], 2)
    return row


def _host(run: Callable[[], object]) -> float:
    """Microseconds of a call that ends when the GPU has ended."""
    return us_per_call(lambda n: [run() for _ in range(n)], 5)


def _wait(backend: EngineBackend) -> None:
    with backend.session() as device:
        device.port.finish(60.0)


def _by_cupy(name: str, given: list[np.ndarray]) -> Callable[[], None] | None:
    import cupy
    from cupyx.scipy import sparse

    held = [cupy.asarray(one) for one in given]
    if name == "spmv":
        values, columns, starts, vector = held
        parts = values, columns.astype(cupy.int32), starts.astype(cupy.int32)
        matrix = sparse.csr_matrix(parts, shape=(starts.size - 1, vector.size))
        way: Callable[[], Any] = lambda: matrix @ vector
    elif name == "exact sum":
        return None
    else:
        way = algorithms._numpy(name, held, cupy)

    def run() -> None:
        way()
        cupy.cuda.get_current_stream().synchronize()

    return run


# ── graphs ──


def whole_graphs(backend: EngineBackend, *, toy: bool) -> Iterator[Row]:
    """Algorithms of many dispatches: as a graph, step by step, and by JAX. Arrays of the host go in and come out."""
    for name, size in (TOY if toy else CASES).items():
        inputs, expected, tolerance = whole.data(name, size)
        graph = whole.graph(name, size)
        run, steps = compile_graph(graph, backend), Stepwise(graph, backend)
        is_right = lambda out, w=expected, t=tolerance: bool(np.allclose(out, w, rtol=t, atol=t))
        row: Row = {"graph": name, "size": size, "right": is_right(run.run(inputs)["out"])}
        row["right step by step"] = is_right(steps.run(inputs)["out"])
        if not toy:
            row |= {"graph ms": _milli(lambda r=run, i=inputs: r.run(i))}
            row |= {"step by step ms": _milli(lambda s=steps, i=inputs: s.run(i))}
            function = _jax(name)
            row["right by JAX"] = is_right(function(inputs))
            row["JAX ms"] = _milli(lambda f=function, i=inputs: f(i))
            row["ratio to JAX"] = round(row["graph ms"] / row["JAX ms"], 3)
        yield row


def _jax(name: str) -> Callable[[dict[str, np.ndarray]], np.ndarray]:
    import jax
    from workloads import whole_jax

    function = jax.jit(whole_jax.WORK[name])
    return lambda inputs: np.asarray(function(*inputs.values()))


def _milli(run: Callable[[], object]) -> float:
    return round(us_per_call(lambda n: [run() for _ in range(n)], 3) / 1e3, 3)


def adding(name: str) -> Program:
    with program(name, workgroup_size=256) as p:
        x = p.read("x", f32)
        out = p.write("out", f32, like=x)
        i = p.global_id(0)
        out[i] = x[i] * 1.5 + 0.25
    return p.build()


def small_graphs(backend: EngineBackend, *, toy: bool) -> Iterator[Row]:
    """What graphs are for: fused chains, many small launches as one, chunks whose copies run beside kernels."""
    samples = 1 if toy else SAMPLES
    length = 2**10 if toy else 2**24
    add = adding("add")

    g = GraphRecorder("chain")
    value = g.input("x", f32, length)
    for _ in range(10):
        value = g.dispatch(add, x=value)["out"]
    g.output("out", value)
    x = np.random.default_rng(1).random(length, np.float32)
    yield _graph_row(backend, "ten elementwise dispatches", g, {"x": x}, samples)
    yield _resident_chain(backend, add, 2**10 if toy else 2**27, samples)

    g = GraphRecorder("independent")
    pieces = [g.input(f"x{n}", f32, 1024) for n in range(64)]
    for n, piece in enumerate(pieces):
        g.output(f"out{n}", g.dispatch(add, x=piece)["out"])
    given = {f"x{n}": np.full(1024, n, np.float32) for n in range(64)}
    yield _graph_row(backend, "64 independent dispatches of 1 Ki", g, given, samples)

    g = GraphRecorder("dependent")
    with program("step", workgroup_size=64) as p:
        cell = p.read_write("x", u32)
        i = p.global_id(0)
        cell[i] = cell[i] * 3 + 1
    step, cells = p.build(), g.resident("x", u32, 64)
    for _ in range(100):
        g.dispatch(step, x=cells)
    run, held = compile_graph(g.build(), backend), array(backend, np.arange(64, dtype=np.uint32))
    run.launch(x=held).result()
    taken = us_per_call(lambda n: [run.launch(x=held).result() for _ in range(n)], 1 if toy else 30)
    yield {"what": "100 dependent steps over memory of the GPU", "graph µs": taken, "µs a step": round(taken / 100, 3)}
    sequence = [ResidentDispatchStep(program=step, resources=(held.resource,))] * 100_000
    if not toy:
        run_sequence = lambda: backend.dispatch_resident_sequence_read_ranges_into(sequence, [], [])
        run_sequence()
        taken = 1e6 * median_of(lambda: seconds_of(run_sequence), 3)
        yield {"what": "100,000 steps in a sequence", "graph µs": round(taken, 1), "µs a step": round(taken / 1e5, 3)}

    with program("worked", workgroup_size=256) as p:
        cell, out = p.read("x", u32), p.write("out", u32, like=cell)
        value = p.var(cell[p.global_id(0)], u32)
        with p.range(0, 4 if toy else 4096) as n:
            value.set((value ^ n) * 2654435761 + (value >> 7))
        out[p.global_id(0)] = value
    work, chunk = p.build(), 2**10 if toy else 2**22
    g = GraphRecorder("chunks")
    for n in range(8):
        g.output(f"out{n}", g.dispatch(work, x=g.input(f"x{n}", u32, chunk))["out"])
    given = {f"x{n}": np.arange(chunk, dtype=np.uint32) + np.uint32(n) for n in range(8)}
    yield _graph_row(backend, "8 chunks: upload, kernel, download", g, given, samples)


def _resident_chain(backend: EngineBackend, add: Program, length: int, samples: int) -> Row:
    """Ten dispatches over memory of the GPU: their graph, which moves each element once, and one by one."""
    x, y = (array(backend, np.full(length, fill, np.float32)) for fill in (1, 0))
    g = GraphRecorder("resident chain")
    value, result = g.resident("x", f32, length), g.resident("y", f32, length)
    for _ in range(9):
        value = g.dispatch(add, x=value)["out"]
    g.dispatch(add, x=value, out=result)
    run, between = compile_graph(g.build(), backend), array(backend, np.zeros(length, np.float32))
    memory = [between.resource, y.resource]

    def fused() -> None:
        run.launch(x=x, y=y).result()
        _wait(backend)

    def one_by_one() -> None:
        for n in range(10):
            backend.dispatch_resident(add, [memory[1 - n % 2] if n else x.resource, memory[n % 2]])
        _wait(backend)

    expected = np.float32(1)
    for _ in range(10):
        expected = expected * np.float32(1.5) + np.float32(0.25)
    row: Row = {"what": "ten elementwise dispatches over memory of the GPU", "elements": length, "right": True}
    for way in (fused, one_by_one):
        y.assign(np.zeros(length, np.float32))
        way()
        row["right"] &= bool((y.numpy() == expected).all())
    ours, apart = (median_of(lambda w=way: seconds_of(w), samples) for way in (fused, one_by_one))
    row |= {
        "graph µs": us(ours),
        "one by one µs": us(apart),
        "ratio": round(apart / ours, 2),
        "goal": 5,
    }
    return row | {"kernel dispatches": len(run.dispatches)}


def _graph_row(
    backend: EngineBackend, name: str, recorder: GraphRecorder, given: dict[str, np.ndarray], samples: int
) -> Row:
    """A graph, and its dispatches one after the other, both from the host to the host."""
    graph = recorder.build()
    run, steps = compile_graph(graph, backend), Stepwise(graph, backend)
    outputs, expected = run.run(given), steps.run(given)
    right = all(np.asarray(outputs[key]).tobytes() == np.asarray(expected[key]).tobytes() for key in expected)
    fused = median_of(lambda: seconds_of(lambda: run.run(given)), samples)
    apart = median_of(lambda: seconds_of(lambda: steps.run(given)), samples)
    return {"what": name, "right": right, "graph µs": us(fused), "one by one µs": us(apart),
            "ratio": round(apart / fused, 2), "kernel dispatches": len(run.dispatches)}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--rehearse", action="store_true")
    options = parser.parse_args()
    results, toy = Results(options.file), options.rehearse
    if toy:
        from cuda_emulation.rehearsal import rehearsed

        backend = rehearsed()
    else:
        opened = acquire("cuda")
        assert isinstance(opened, EngineBackend)
        backend = opened
    tables: dict[str, Callable[[], Iterable[Row]]] = {
        "graphs": lambda: small_graphs(backend, toy=toy),
        "whole graphs": lambda: whole_graphs(backend, toy=toy),
        "algorithms": lambda: algorithm_rows(backend, toy=toy),
    }
    for name, make in tables.items():
        results.add(name, make)
    backend.shutdown()
    return results.status()


if __name__ == "__main__":
    sys.exit(main())
