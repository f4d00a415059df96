"""The definition of what a graph does: its nodes one after another, in recorded order, over arrays of the host.

Every executor gives these bytes. The function here takes nothing from the executors: it neither inlines nested graphs,
nor moves uploads and downloads, nor shares memory between temporaries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.errors import BackendError
from vyre_driver.graph.nodes import (
    BufferKind,
    BufferRange,
    CallNode,
    CopyNode,
    DispatchNode,
    DownloadNode,
    FillNode,
    Graph,
    Node,
    RepeatNode,
    UploadNode,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    Bytes = npt.NDArray[np.uint8]


def evaluate(graph: Graph, backend: VyreBackend, arrays: Mapping[str, Bytes]) -> dict[str, Bytes]:
    """Execute a valid graph by one `dispatch` after another.

    Args:
        graph: A valid graph.
        backend: What dispatches.
        arrays: The bytes of each input and each resident buffer by name. Those of resident buffers change in place.

    Returns:
        The bytes of each output by name.

    Raises:
        BackendError: Of the node that failed, whose name and line are its place.
    """
    memory: dict[str, Bytes] = {}
    for buffer in graph.buffers:
        given = arrays.get(buffer.name)
        match buffer.kind:
            case BufferKind.INPUT:
                assert given is not None
                memory[buffer.name] = given.copy()
            case BufferKind.RESIDENT:
                assert given is not None
                memory[buffer.name] = given
            case BufferKind.TEMPORARY:
                memory[buffer.name] = np.full(buffer.byte_len, 0xA5, np.uint8)
    outputs: dict[str, Bytes] = {}
    _run(graph, graph.nodes, backend, memory, outputs, "")
    return outputs


def _run(
    graph: Graph,
    nodes: tuple[Node, ...],
    backend: VyreBackend,
    memory: Mapping[str, Bytes],
    outputs: dict[str, Bytes],
    path: str,
) -> None:
    def part(of: BufferRange) -> Bytes:
        size = graph.buffer(of.buffer).dtype.size
        return memory[of.buffer][of.start * size : of.stop * size]

    for node in nodes:
        match node:
            case DispatchNode():
                _dispatch(node, backend, {name: part(of) for name, of in node.ranges}, f"{path}{node.name}")
            case UploadNode(data=data, target=target):
                part(target)[:] = np.frombuffer(data, np.uint8)
            case DownloadNode(output=output, source=source):
                outputs[output] = part(source).copy()
            case CopyNode(source=source, target=target):
                part(target)[:] = part(source)
            case FillNode(element=element, target=target):
                part(target)[:] = np.frombuffer(element * target.count, np.uint8)
            case RepeatNode(limit=limit, until_zero=flag, body=body):
                for _ in range(limit):
                    _run(graph, body, backend, memory, outputs, f"{path}{node.name}.")
                    if flag is not None and not part(flag).any():
                        break
            case CallNode(graph=called, inputs=inputs, outputs=results):
                given = {name: part(of) for name, of in inputs}
                for name, contents in _call(called, backend, given, f"{path}{node.name}.").items():
                    part(dict(results)[name])[:] = contents


def _call(called: Graph, backend: VyreBackend, given: Mapping[str, Bytes], path: str) -> dict[str, Bytes]:
    return evaluate(
        replace(called, nodes=tuple(replace(n, name=f"{path}{n.name}") for n in called.nodes)), backend, given
    )


def _dispatch(node: DispatchNode, backend: VyreBackend, bound: Mapping[str, Any], where: str) -> None:
    try:
        results = backend.dispatch(node.program, [bound[b.name] for b in node.program.inputs], node.config)
    except BackendError as error:
        raise failed_at(error, where, node) from None
    for buffer, contents in zip(node.program.outputs, results, strict=True):
        bound[buffer.name][:] = np.frombuffer(contents, np.uint8)


def failed_at(error: BackendError, where: str, node: Node) -> BackendError:
    """The error with the name of the node that failed, and the line that recorded it, as its place."""
    line = "" if node.origin is None else f" ({node.origin})"
    place = f"node {where!r}{line}"
    error.where = f"{place}, {error.where}" if error.where else place
    return error
