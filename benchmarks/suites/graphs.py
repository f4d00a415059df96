"""Work of many dispatches: as one graph, step by step over resident memory, and as one function of JAX.

Step by step means what a caller writes without a graph: a dispatch for each node, the flag of a loop read after each
iteration. All three begin with arrays of the host and end with one. Each proves its result by NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from harness import Case, Peer, Scale, Trial
from records import Record
from report import Table, per, pivot
from workloads import whole

from suites.kernels import CALM

if TYPE_CHECKING:
    from vyre_driver.graph.nodes import Graph

TITLE = "Work as a graph"
CALLS = 20
PEERS = {
    "vyre": Peer(modules=("vyre", "vyre_driver_cpu")),
    "JAX": Peer(modules=("jax",), environment=CALM),
}
CASES: Mapping[str, int] = {
    "breadth-first search": 2**15,
    "PageRank": 2**15,
    "conjugate gradient": 256,
    "k-means": 2**15,
    "image pipeline": 512,
}
TOY: Mapping[str, int] = {
    "breadth-first search": 256,
    "PageRank": 256,
    "conjugate gradient": 32,
    "k-means": 1024,
    "image pipeline": 32,
}


def cases(scale: Scale) -> list[Case]:
    return [Case(name, size) for name, size in (TOY if scale is Scale.TOY else CASES).items()]


def takes_part(peer: str, case: Case) -> bool:
    return True


def prepare(peer: str, case: Case) -> dict[str, Trial]:
    inputs, expected, tolerance = whole.data(case.name, case.size)
    if peer == "JAX":
        return {"jit": _jax(case, inputs, expected, tolerance)}
    import vyre
    from vyre_driver import compile_graph

    graph, backend = whole.graph(case.name, case.size), vyre.backend_for("cpu")
    run, steps = compile_graph(graph, backend), Stepwise(graph, backend)
    return {
        "graph": _trial(partial(run.run, inputs), expected, tolerance, {"dispatches": len(run.dispatches)}),
        "step by step": _trial(partial(steps.run, inputs), expected, tolerance, {}),
    }


def _trial(run: Callable[[], Any], expected: npt.NDArray[Any], tolerance: float, facts: Mapping[str, object]) -> Trial:
    found: list[Any] = []

    def timed() -> None:
        found[:] = [run()]

    def is_right() -> bool:
        (outputs,) = found
        return bool(np.allclose(outputs["out"], expected, rtol=tolerance, atol=tolerance))

    return Trial(run=timed, is_right=is_right, facts=facts)


def _jax(case: Case, inputs: Mapping[str, npt.NDArray[Any]], expected: npt.NDArray[Any], tolerance: float) -> Trial:
    import jax
    from workloads import whole_jax

    function = jax.jit(whole_jax.WORK[case.name])

    def run() -> dict[str, npt.NDArray[Any]]:
        return {"out": np.asarray(function(*inputs.values()))}

    return _trial(run, expected, tolerance, {})


@dataclass(eq=False)
class Stepwise:
    """The nodes of a graph, each as a call of the backend over memory that stays on the device."""

    graph: Graph
    backend: Any

    def __post_init__(self) -> None:
        allocate = self.backend.allocate_resident
        self._memory = {buffer.name: allocate(buffer.byte_len) for buffer in self.graph.buffers}

    def run(self, inputs: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
        for name, array in inputs.items():
            self.backend.upload_resident(self._memory[name], array)
        outputs: dict[str, npt.NDArray[Any]] = {}
        self._body(self.graph.nodes, outputs)
        return outputs

    def _body(self, nodes: Any, outputs: dict[str, npt.NDArray[Any]]) -> None:
        from vyre_driver.graph import nodes as kinds
        from vyre_driver.plan.moves import copy_all

        for node in nodes:
            match node:
                case kinds.DispatchNode(program=program, ranges=ranges, config=config):
                    bound = dict(ranges)
                    visible = [buffer for buffer in program.buffers if buffer.memory.is_host_visible]
                    memory = [self._memory[bound[buffer.name].buffer] for buffer in visible]
                    self.backend.dispatch_resident_timed(program, memory, config)
                case kinds.FillNode(element=element, target=target):
                    self.backend.upload_resident(self._memory[target.buffer], element * target.count)
                case kinds.UploadNode(data=data, target=target):
                    self.backend.upload_resident(self._memory[target.buffer], data)
                case kinds.CopyNode(source=source, target=target):
                    size = self.graph.buffer(source.buffer).dtype.size
                    pair = [self._memory[source.buffer], self._memory[target.buffer]]
                    self.backend.dispatch_resident_timed(copy_all(size), pair)
                case kinds.DownloadNode(output=output, source=source):
                    dtype = self.graph.buffer(source.buffer).dtype.numpy
                    contents = self.backend.download_resident(self._memory[source.buffer])
                    outputs[output] = np.frombuffer(contents, dtype)
                case kinds.RepeatNode(limit=limit, until_zero=flag, body=body):
                    for _ in range(limit):
                        self._body(body, outputs)
                        if flag is not None and not any(self.backend.download_resident(self._memory[flag.buffer])):
                            break


def tables(records: Sequence[Record]) -> list[Table]:
    show: Callable[[Record], str] = partial(per, scale=1e3)
    return [pivot(records, rows=("case",), columns=("peer", "variant"), show=show).titled("ms for all of the work")]
