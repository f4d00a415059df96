"""Dispatches on the cluster of the tests: what is spread, what runs whole, and how it fails."""

from concurrent.futures import ThreadPoolExecutor

import dask
import numpy as np
import pytest
from distributed import Client

from vyre_distributed import DaskBackend
from vyre_driver.backend.config import DispatchConfig
from vyre_driver.errors import DispatchTimeout, Trapped, UnsupportedFeature
from vyre_driver.pipeline.compile import compile
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program
from vyre_foundation.testing import EVERYTHING, generate

X = np.arange(100_000, dtype=np.uint32)


def reversed_sums() -> Program:
    with program("reversed_sums", 64) as p:
        x = p.read("x", u32)
        between, out = p.scratch("between", u32, 100_000), p.write("out", u32, like=x)
        i = p.let(p.global_id(0))
        between[i] = x[i] * 3
        p.grid_barrier()
        out[i] = between[99_999 - i]
    return p.build()


def test_a_histogram_is_combined_on_the_workers(backend: DaskBackend) -> None:
    with program("histogram", 64) as p:
        x, counts = p.read("x", u32), p.read_write("counts", u32, 7)
        parity = p.write("parity", u32, like=x)
        i = p.let(p.global_id(0))
        with p.if_(i < x.length):
            counts.atomic_add(x[i] % 7, 1)
            parity[i] = x[i] & 1
    before = backend.backend_metric_snapshot()["shards"]
    start = np.arange(7, dtype=np.uint32)
    found = backend.dispatch_arrays(p.build(), {"x": X, "counts": start})
    assert np.array_equal(found["counts"], np.bincount(X % 7, minlength=7) + start)
    assert np.array_equal(found["parity"], X & 1)
    assert backend.backend_metric_snapshot()["shards"] == before + 2


def test_a_launch_that_cannot_be_split_runs_whole(backend: DaskBackend, client: Client) -> None:
    before = backend.backend_metric_snapshot()["whole"]
    found = backend.dispatch_arrays(reversed_sums(), {"x": X})["out"]
    assert np.array_equal(found, X[::-1] * 3)
    assert backend.backend_metric_snapshot()["whole"] == before + 1
    strict = DaskBackend(client, only_sharded=True)
    message = (
        r"body\[2\].*: dask does not support this launch in shards: a grid barrier .*\. Fix: end the program there"
    )
    with pytest.raises(UnsupportedFeature, match=message):
        strict.dispatch_arrays(reversed_sums(), {"x": X})


def test_dispatches_leave_the_scheduler_of_the_process_alone(backend: DaskBackend) -> None:
    """Other threads may compute arrays of Dask meanwhile."""
    seen = set()
    with ThreadPoolExecutor(4) as threads:
        calls = [threads.submit(backend.dispatch_arrays, reversed_sums(), {"x": X}) for _ in range(8)]
        while not all(call.done() for call in calls):
            seen.add(dask.config.get("scheduler", None))
    assert all(np.array_equal(call.result()["out"], X[::-1] * 3) for call in calls)
    assert seen | {dask.config.get("scheduler", None)} == {None}


def test_random_programs_have_the_bytes_of_the_reference(agree, client: Client) -> None:
    client.run(generate, 0, EVERYTHING)  # imports the dialect of random programs
    for seed in range(4):
        drawn = generate(seed, EVERYTHING)
        config = DispatchConfig(grid_override=drawn.grid, fixpoint_iterations=drawn.iterations)
        agree(drawn.program, [drawn.inputs[buffer.name] for buffer in drawn.program.inputs], config)


def test_persistent_memory_of_a_pipeline_is_spread_too(backend: DaskBackend) -> None:
    with program("running", 64) as p:
        x, total = p.read("x", u32), p.persistent("total", u32, 100_000)
        i = p.let(p.global_id(0))
        total[i] = total[i] + x[i]
        p.write("out", u32, like=x)[i] = total[i]
    before = backend.backend_metric_snapshot()["shards"]
    with compile(backend, p.build()) as pipeline:
        for times in (1, 2, 3):
            assert np.array_equal(pipeline.dispatch_arrays({"x": X})["out"], X * times)
    assert backend.backend_metric_snapshot()["shards"] == before + 6


def test_a_trap_on_a_worker(backend: DaskBackend) -> None:
    with program("checked", 64) as p:
        x = p.read("x", u32)
        i = p.let(p.global_id(0))
        p.write("out", u32, like=x)[i] = x[i]
        with p.if_((x[i] == 70_000) | (x[i] == 90_000)):
            p.trap(x[i], "seventy")
    line = r"test_dispatch\.py:\d+"
    with pytest.raises(Trapped, match=rf"invocation 70000 trapped with 'seventy', code 70000, at .*{line}"):
        backend.dispatch_arrays(p.build(), {"x": X})


def test_a_deadline_reaches_the_workers(backend: DaskBackend) -> None:
    with program("long", 64) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        i = p.let(p.global_id(0))
        total = p.var(x[i])
        with p.range(0, 2**31) as n:
            total.set(total * 3 + n)
        out[i] = total
    with pytest.raises(DispatchTimeout, match=r"the timeout of 0\.5 s passed during the shards on dask"):
        backend.dispatch_arrays(p.build(), {"x": X}, DispatchConfig(timeout=0.5))
    # The workers are free again.
    assert np.array_equal(backend.dispatch_arrays(reversed_sums(), {"x": X})["out"], X[::-1] * 3)
