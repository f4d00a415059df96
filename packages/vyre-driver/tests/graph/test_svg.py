"""Pictures of graphs: every node has a box, every edge a line, and nothing covers anything else."""

from __future__ import annotations

from itertools import combinations
from xml.etree import ElementTree as ET

import pytest

from vyre_driver.graph.edges import edges
from vyre_driver.graph.nodes import Graph, Node, RepeatNode
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.graph.svg import graph_svg
from vyre_driver.testing.graphs import programs, random_graph
from vyre_foundation.dtype import u32

SVG = "{http://www.w3.org/2000/svg}"
AFFINE, ADD = (programs()[name] for name in ("affine", "add"))


def picture(graph: Graph) -> ET.Element:
    return ET.fromstring(graph_svg(graph))


def places(parent: ET.Element) -> list[tuple[float, float, float, float]]:
    """Left, top, right and bottom of the boxes of one body, in recorded order."""
    found = []
    for group in parent.findall(f"{SVG}g"):
        rect = group.find(f"{SVG}rect")
        assert rect is not None
        x, y, width, height = (float(rect.get(name, "")) for name in ("x", "y", "width", "height"))
        found.append((x, y, x + width, y + height))
    return found


def check_body(graph: Graph, nodes: tuple[Node, ...], parent: ET.Element) -> None:
    groups, boxes, needed = parent.findall(f"{SVG}g"), places(parent), edges(graph, nodes)
    assert len(boxes) == len(nodes)
    assert len(parent.findall(f"{SVG}path")) == sum(map(len, needed))
    for a, b in combinations(boxes, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], "boxes cover each other"
    for node, group, box, sources in zip(nodes, groups, boxes, needed, strict=True):
        texts = group.findall(f"{SVG}text")
        assert texts[0].text is not None
        assert node.name.startswith(texts[0].text.removesuffix("…"))
        assert all(boxes[source][3] < box[1] for source in sources), "a node is above one that it waits for"
        if isinstance(node, RepeatNode):
            check_body(graph, node.body, group)
            for x, y, to_x, to_y in places(group):
                assert max(box[0] - x, box[1] - y, to_x - box[2], to_y - box[3]) <= 0, "a loop is not around its body"


@pytest.mark.parametrize("seed", range(20))
def test_pictures_of_random_graphs_have_every_node_and_edge(seed: int) -> None:
    graph = random_graph(seed).graph
    check_body(graph, graph.nodes, picture(graph))


def test_a_diamond_has_three_layers() -> None:
    g = GraphRecorder("diamond")
    x = g.dispatch(AFFINE, x=g.input("x", u32, 4))["out"]
    a, b = (g.dispatch(AFFINE, x=x)["out"] for _ in range(2))
    g.output("sum", g.dispatch(ADD, x=a, y=b)["out"])
    tops = [top for _, top, _, _ in places(picture(g.build()))]
    assert tops[1] == tops[2]
    assert len(set(tops)) == 4


def test_names_are_escaped_and_lines_are_tooltips() -> None:
    g = GraphRecorder("<script>&\0")
    x = g.input("x", u32, 4)
    g.copy(x, g.temporary(u32, 4), name="a<b")
    root = picture(g.build())
    title = root.find(f"{SVG}text")
    assert title is not None
    assert title.text == "graph <script>&\N{REPLACEMENT CHARACTER}"
    tooltip = root.find(f"{SVG}g/{SVG}title")
    assert tooltip is not None
    assert "test_svg.py" in (tooltip.text or "")


def test_an_empty_graph_has_a_picture() -> None:
    assert places(picture(GraphRecorder("empty").build())) == []
