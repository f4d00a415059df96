"""Methods of graphs whose functions lie above `nodes`."""

from __future__ import annotations

from vyre_driver.graph.nodes import Graph
from vyre_driver.graph.text import print_graph
from vyre_driver.graph.validate import GraphFacts, validate


def _facts(graph: Graph) -> GraphFacts:
    return graph.memoised(validate)


def add_methods() -> None:
    """Add them to the class. The package does so when it is imported."""
    Graph.validate, Graph.text = _facts, print_graph
