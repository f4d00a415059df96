"""Graphs over the port of GPUs: what their launches cost, counted exactly."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_emulation.fake_cupy import FakeCupy
from cuda_emulation.rehearsal import open_port, rehearsed

from vyre_driver.engine.backend import EngineBackend
from vyre_driver.schedule.compiled import compile_graph
from vyre_driver.schedule.waves import LEAST_BYTES
from vyre_driver.testing.graph_counts import counted_graphs, require_costs
from vyre_driver.testing.graph_waves import chunked_graph

COUNT = 8


@pytest.mark.parametrize("name", counted_graphs())
def test_launches_cost_what_is_counted(name: str) -> None:
    backend = rehearsed()
    require_costs(backend, name)
    backend.shutdown()


def test_copies_of_chunks_run_beside_kernels() -> None:
    """What the streams would take if a copy took as long as a kernel: a third of one after the other, and the ends."""
    fake = FakeCupy()
    backend = EngineBackend("cuda-rehearsal", lambda: open_port(fake))
    made = chunked_graph(COUNT, LEAST_BYTES // 4)
    with compile_graph(made.graph, backend, fusion=False) as run:
        assert run.executor == "waves"
        for _ in range(2):  # the first one prepares launches
            fake.trace.clear()
            outputs = run.run(made.inputs)
            np.testing.assert_array_equal(outputs["y"], made.outputs["y"])
        assert modelled(fake.trace) == COUNT + 2
        assert 1.5 * modelled(fake.trace) <= 3 * COUNT
        serial = compile_graph(made.graph, backend, fusion=False, overlap=False)
        fake.trace.clear()
        serial.run(made.inputs)
        assert modelled(fake.trace) == 3 * COUNT
    backend.shutdown()


def modelled(trace: list[tuple[int, str]]) -> int:
    """The time until the host has everything, where uploads, kernels and downloads take 1 each.

    An upload is free to go on behind the host, which waits for each download and for the kernel before it.
    """
    host, streams, uploaded, kernels = 0, dict[int, int](), 0, list[int]()
    downloads = 0
    for stream, name in trace:
        at = streams.get(stream, 0)
        if name == "in":
            uploaded = streams[stream] = max(host, at) + 1
        elif name == "wait":
            streams[stream] = max(at, uploaded)
        elif name == "out":
            host = streams[stream] = max(host, at, kernels[downloads]) + 1
            downloads += 1
        elif name != "record":
            streams[stream] = max(host, at) + 1
            kernels.append(streams[stream])
    return host
