"""Waves: nodes with the inputs that they are the first to use, and the outputs that are complete after them.

While the nodes of a wave run, the inputs of the next one are uploaded and the outputs of the one before are read. Nodes
are put in the order in which outputs become complete, which the edges allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from vyre_driver.graph.edges import edges
from vyre_driver.graph.flatten import FlatGraph
from vyre_driver.graph.nodes import BufferKind, DispatchNode, Node, RepeatNode
from vyre_driver.graph.ranges import accesses
from vyre_driver.graph.split import parts_of
from vyre_driver.schedule.steps import has_options

LEAST_BYTES = 2**19
"""Bytes of the transfers of a wave: each wave costs a wait, in which so much is copied."""


@dataclass(eq=False)
class Wave:
    """Nodes in the order in which they run; the names of inputs, and of the parts of outputs by buffer."""

    inputs: list[str] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)


def in_waves(flat: FlatGraph) -> tuple[FlatGraph, tuple[Wave, ...], str]:
    """Divide a flat graph, whose dispatches bind whole buffers, into waves.

    Args:
        flat: The graph.

    Returns:
        The graph with its nodes in the order of the waves; the waves, none where nothing would overlap; and the reason.
    """
    graph = flat.graph
    if any(isinstance(node, RepeatNode) for node in graph.nodes):
        return flat, (), "it has loops"
    if any(isinstance(node, DispatchNode) and has_options(node) for node in graph.nodes):
        return flat, (), "it has dispatches with options"
    inputs = {b.name: b.byte_len for b in graph.of(BufferKind.INPUT)}
    outputs: dict[str, int] = {}
    for _, part in flat.downloads:
        for own, _ in parts_of(flat, part):
            outputs[own.buffer] = graph.byte_len(own)
    needed = edges(graph, graph.nodes)
    order = _order(flat, needed, outputs)
    used = [_buffers(flat, node) for node in graph.nodes]
    written = [{part.buffer for part in accesses(graph, node).writes} for node in graph.nodes]
    last = {name: position for position, number in enumerate(order) for name in written[number]}
    waves, seen, uploaded, complete = [Wave()], set[str](), 0, 0
    for position, number in enumerate(order):
        fresh = [name for name in used[number] if name in inputs and name not in seen]
        size = sum(inputs[name] for name in fresh)
        if waves[-1].nodes and (complete >= LEAST_BYTES or (size >= LEAST_BYTES and uploaded >= LEAST_BYTES)):
            waves.append(Wave())
            uploaded = complete = 0
        wave = waves[-1]
        seen.update(fresh)
        wave.inputs += fresh
        uploaded += size
        wave.nodes.append(graph.nodes[number])
        ended = [name for name in written[number] if name in outputs and last[name] == position]
        wave.outputs += ended
        complete += sum(outputs[name] for name in ended)
    waves[0].inputs += [name for name in inputs if name not in seen]
    waves[-1].outputs += [name for name in outputs if name not in last]
    if len(waves) == 1:
        return flat, (), f"nothing to upload or to read in between takes {LEAST_BYTES} bytes"
    nodes = tuple([node for wave in waves for node in wave.nodes])
    moved = sum(inputs.values()) + sum(outputs.values())
    reason = f"{len(waves)} waves, whose transfers of {moved} bytes overlap with launches"
    return replace(flat, graph=replace(graph, nodes=nodes)), tuple(waves), reason


def _order(flat: FlatGraph, needed: Sequence[Sequence[int]], outputs: Mapping[str, int]) -> list[int]:
    """The positions of all nodes: what an output needs before what only later ones need."""
    writers: dict[str, list[int]] = {}
    for number, node in enumerate(flat.graph.nodes):
        for part in accesses(flat.graph, node).writes:
            writers.setdefault(part.buffer, []).append(number)
    order: list[int] = []
    done: set[int] = set()
    for name in (*outputs, None):
        wanted = range(len(flat.graph.nodes)) if name is None else writers.get(name, [])
        found = sorted(_before(wanted, needed, done))
        order += found
        done.update(found)
    return order


def _before(wanted: Sequence[int], needed: Sequence[Sequence[int]], done: set[int]) -> Iterator[int]:
    """The nodes that are wanted and all that they depend on, without those that are done."""
    found: set[int] = set()
    open_ones = [number for number in wanted if number not in done]
    while open_ones:
        number = open_ones.pop()
        if number not in found:
            found.add(number)
            yield number
            open_ones += [other for other in needed[number] if other not in done and other not in found]


def _buffers(flat: FlatGraph, node: Node) -> list[str]:
    own = accesses(flat.graph, node)
    return list(dict.fromkeys(part.buffer for part in (*own.reads, *own.writes)))
