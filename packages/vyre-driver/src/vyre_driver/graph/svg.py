"""A graph as a picture: nodes in layers from top to bottom, each below those that it waits for, loops as frames."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from vyre_driver.graph.edges import edges, waves
from vyre_driver.graph.nodes import Graph, Node, RepeatNode
from vyre_driver.graph.text import node_text

_CHARACTER, _LINE, _PAD, _GAP_X, _GAP_Y = 7.3, 16.0, 8.0, 16.0, 34.0
"""Pixels: the advance and the height of a line of the font, and distances."""
_LONGEST = 48
"""Characters of a line; the rest is in the tooltip."""

_CLASS = "vyre-graph"
_RULES = {
    "text": "font:12px ui-monospace,Menlo,Consolas,monospace;fill:currentColor",
    "text.name": "font-weight:bold",
    "rect": "fill:rgba(128,128,128,.08);stroke:#7d828c;rx:4px",
    "rect.DispatchNode": "fill:rgba(76,141,214,.2)",
    "rect.RepeatNode": "fill:rgba(128,128,128,.06);stroke-dasharray:4 3",
    "rect.UploadNode": "fill:rgba(217,160,43,.2)",
    "rect.DownloadNode": "fill:rgba(217,160,43,.2)",
    "rect.CopyNode": "fill:rgba(70,161,92,.2)",
    "rect.FillNode": "fill:rgba(70,161,92,.2)",
    "path": "fill:none;stroke:#7d828c",
}
_STYLE = "".join(f".{_CLASS} {selector}{{{rule}}}" for selector, rule in _RULES.items())
"""It holds inside of the picture alone, also within a page, and is legible on light and dark grounds."""


def graph_svg(graph: Graph) -> str:
    """Draw a graph as SVG.

    Args:
        graph: A graph, valid or not. Called graphs are one node each.

    Returns:
        A whole SVG document without a declaration, which HTML takes as it is: one box for each node, with its ranges,
        one frame for each loop, and one line for each edge.
    """
    body = _layout(graph, graph.nodes)
    title = _printable(f"graph {graph.name}")
    width, height = max(body.width, len(title) * _CHARACTER) + 2 * _PAD, body.height + _LINE + 3 * _PAD
    size = {"width": _number(width), "height": _number(height), "viewBox": f"0 0 {_number(width)} {_number(height)}"}
    root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "class": _CLASS, **size})
    ET.SubElement(root, "style").text = _STYLE
    _text(root, title, _PAD, _PAD + _LINE, is_name=True)
    _draw(root, body, _PAD, 2 * _PAD + _LINE)
    return ET.tostring(root, encoding="unicode")


@dataclass(slots=True)
class _Box:
    """A node with its place in its body. `inner` is the body of a loop."""

    node: Node
    lines: tuple[str, ...]
    width: float
    height: float
    inner: _Body | None
    x: float = 0.0
    y: float = 0.0


@dataclass(frozen=True, slots=True)
class _Body:
    boxes: list[_Box]
    edges: list[tuple[int, ...]]
    width: float
    height: float


def _layout(graph: Graph, nodes: tuple[Node, ...]) -> _Body:
    """Place the nodes of one body: a layer for each wave, in which nodes are ordered by the places of their sources."""
    needed = edges(graph, nodes)
    boxes = [_box(graph, node) for node in nodes]
    layers: defaultdict[int, list[int]] = defaultdict(list)
    for number, wave in enumerate(waves(needed)):
        layers[wave].append(number)
    y = width = 0.0
    for wave in range(len(layers)):
        x = 0.0
        for number in sorted(layers[wave], key=lambda n: (_middle(boxes, needed[n]), n)):
            boxes[number].x, boxes[number].y = x, y
            x += boxes[number].width + _GAP_X
        width = max(width, x - _GAP_X)
        y += max(boxes[number].height for number in layers[wave]) + _GAP_Y
    return _Body(boxes, needed, width, max(0.0, y - _GAP_Y))


def _box(graph: Graph, node: Node) -> _Box:
    lines = (_printable(node.name), _printable(node_text(graph, node)))
    width = max(len(_shortened(line)) for line in lines) * _CHARACTER
    height = len(lines) * _LINE
    inner = None
    if isinstance(node, RepeatNode):
        inner = _layout(graph, node.body)
        width, height = max(width, inner.width), height + _PAD + inner.height
    return _Box(node, lines, width + 2 * _PAD, height + 2 * _PAD, inner)


def _middle(boxes: list[_Box], sources: tuple[int, ...]) -> float:
    """The mean place of the sources of a node; 0 without any."""
    return sum(boxes[n].x + boxes[n].width / 2 for n in sources) / max(1, len(sources))


def _draw(parent: ET.Element, body: _Body, left: float, top: float) -> None:
    for box, sources in zip(body.boxes, body.edges, strict=True):
        for source in (body.boxes[n] for n in sources):
            x, y = left + source.x + source.width / 2, top + source.y + source.height
            to_x, to_y = left + box.x + box.width / 2, top + box.y
            bend = (to_y - y) / 2
            line = (x, y, x, y + bend, to_x, to_y - bend, to_x, to_y)
            ET.SubElement(parent, "path", d="M{} {}C{} {} {} {} {} {}".format(*map(_number, line)))
    for box in body.boxes:
        group = ET.SubElement(parent, "g")
        ET.SubElement(group, "title").text = "\n".join(filter(None, (*box.lines, _line_of(box.node))))
        place = {"x": left + box.x, "y": top + box.y, "width": box.width, "height": box.height}
        numbers = {name: _number(value) for name, value in place.items()}
        ET.SubElement(group, "rect", {"class": type(box.node).__name__, **numbers})
        for number, line_text in enumerate(box.lines):
            y = place["y"] + _PAD / 2 + _LINE * (number + 1)
            _text(group, _shortened(line_text), place["x"] + _PAD, y, is_name=number == 0)
        if box.inner is not None:
            _draw(group, box.inner, place["x"] + _PAD, place["y"] + len(box.lines) * _LINE + 2 * _PAD)


def _text(parent: ET.Element, text: str, x: float, y: float, *, is_name: bool) -> None:
    element = ET.SubElement(parent, "text", x=_number(x), y=_number(y))
    if is_name:
        element.set("class", "name")
    element.text = text


def _line_of(node: Node) -> str:
    return "" if node.origin is None else str(node.origin)


def _printable(text: str) -> str:
    """The text without what XML has no characters for."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
