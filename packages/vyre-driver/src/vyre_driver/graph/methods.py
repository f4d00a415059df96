"""Methods of graphs whose functions lie above `nodes`."""

from __future__ import annotations

import copyreg
from typing import Any

from vyre_driver.graph.html import graph_html
from vyre_driver.graph.nodes import Graph
from vyre_driver.graph.text import print_graph
from vyre_driver.graph.validate import GraphFacts, validate
from vyre_driver.graph.wire import decode_graph, encode, fingerprint


def _facts(graph: Graph) -> GraphFacts:
    return graph.memoised(validate)


def _wire(graph: Graph) -> bytes:
    return graph.memoised(encode)


def _fingerprint(graph: Graph) -> str:
    return graph.memoised(fingerprint)


def _reduce(graph: Graph) -> tuple[Any, ...]:
    return decode_graph, (_wire(graph),)


def add_methods() -> None:
    """Add them to the class. The package does so when it is imported."""
    Graph.validate, Graph.text, Graph.encode, Graph.fingerprint = _facts, print_graph, _wire, _fingerprint
    Graph._repr_html_ = graph_html  # type: ignore[attr-defined]
    copyreg.pickle(Graph, _reduce)
