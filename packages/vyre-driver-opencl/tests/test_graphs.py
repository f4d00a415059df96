"""Graphs: what their launches cost, counted exactly."""

from __future__ import annotations

import numpy as np
import pytest

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.schedule.compiled import compile_graph
from vyre_driver.schedule.waves import LEAST_BYTES
from vyre_driver.testing.graph_counts import counted_graphs, require_costs
from vyre_driver.testing.graph_waves import chunked_graph

COUNT = 4


@pytest.mark.parametrize("name", counted_graphs())
def test_launches_cost_what_is_counted(name: str, backend: VyreBackend) -> None:
    require_costs(backend, name)


def test_copies_of_chunks_run_beside_launches(backend: VyreBackend) -> None:
    made = chunked_graph(COUNT, LEAST_BYTES // 4)
    with compile_graph(made.graph, backend, fusion=False, overlap=True) as run:
        assert run.executor == "waves"
        for _ in range(2):
            before = backend.backend_metric_snapshot()["copies_beside"]
            np.testing.assert_array_equal(run.run(made.inputs)["y"], made.outputs["y"])
            assert backend.backend_metric_snapshot()["copies_beside"] - before == 2 * (COUNT - 1)
