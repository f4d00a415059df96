"""A graph whose transfers can overlap with its launches: chunks of one buffer."""

from __future__ import annotations

import numpy as np

from vyre_driver.graph.record import GraphRecorder
from vyre_driver.testing.graphs import RandomGraph, programs
from vyre_foundation.dtype import u32


def chunked_graph(count: int, size: int) -> RandomGraph:
    """Dispatches over `count` chunks of `size` words, each of which is uploaded and read."""
    g = GraphRecorder("chunked")
    x, y = g.input("x", u32, count * size), g.temporary(u32, count * size)
    for start in range(0, count * size, size):
        g.dispatch(programs()["affine"], x=x[start : start + size], out=y[start : start + size])
    g.output("y", y)
    words = np.arange(count * size, dtype=np.uint32)
    return RandomGraph(g.build(), {"x": words}, {"y": words * np.uint32(3) + np.uint32(1)})
