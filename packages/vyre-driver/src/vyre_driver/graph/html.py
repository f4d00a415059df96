"""What a notebook shows of a graph: its buffers, its nodes, and what each waits for."""

from __future__ import annotations

from vyre_driver.errors import InvalidGraph
from vyre_driver.graph.nodes import Graph
from vyre_driver.graph.svg import graph_svg
from vyre_driver.graph.text import print_graph
from vyre_driver.graph.validate import validate
from vyre_foundation.markup import Html, folded, fragment, table
from vyre_foundation.text.highlight import highlighted

MAX_NODES = 200
"""A graph with more is shown as text: the picture would be larger than a screen."""


def graph_html(graph: Graph) -> str:
    """Show a graph in a notebook. An invalid one is shown with its findings.

    Args:
        graph: Any graph.
    """
    rows = [(b.name, b.kind.value, b.dtype, b.count, b.byte_len) for b in graph.buffers]
    buffers = table(("buffer", "kind", "type", "elements", "bytes"), rows, (3, 4))
    note, findings = _facts(graph)
    picture = "" if findings or len(graph.nodes) > MAX_NODES else Html(graph_svg(graph))
    text = folded("text", highlighted(print_graph(graph), hashes=False), is_open=not picture)
    return fragment(f"graph {graph.name}", note, findings, picture, buffers, text)


def _facts(graph: Graph) -> tuple[str, str]:
    try:
        facts = graph.memoised(validate)
    except InvalidGraph as error:
        return "invalid", folded("findings", table((), [(str(error),)]), is_open=True)
    return f"{facts.nodes} nodes, {facts.dispatches} dispatches, {facts.loops} loops", Html()
