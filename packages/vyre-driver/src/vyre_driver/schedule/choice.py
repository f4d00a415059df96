"""Which form of a graph a backend runs: by rule until it was measured, and as it was measured from then on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import product

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.checked import Fields, read_json
from vyre_driver.graph.nodes import Graph
from vyre_driver.pipeline.signature import DeviceSignature, DeviceSignatureTable
from vyre_driver.pipeline.store import shared_store

METHOD = 1
"""Part of every question to the store: changes with what a form is."""


@dataclass(frozen=True, slots=True)
class GraphForm:
    """What an executor may do with a graph beside its recorded order; none of it changes a byte."""

    fusion: bool = True
    """A dispatch may become a part of the one that reads its elements, each at its own index."""
    batching: bool = True
    """Independent small dispatches of equal programs may be one launch."""
    overlap: bool = True
    """Transfers may run beside launches, in waves."""

    def __str__(self) -> str:
        fused = "fused" if self.fusion else "as recorded"
        batches = ", small ones together" if self.batching else ""
        return f"{fused}{batches}, {'in waves' if self.overlap else 'all at once'}"


FORMS = tuple(GraphForm(*allowed) for allowed in product((True, False), repeat=3))


@dataclass(frozen=True, slots=True)
class FormVerdict:
    """The form of a graph, why, and what was measured: nanoseconds of a launch by form, as text."""

    form: GraphForm
    reason: str
    times: Mapping[str, float] = field(default_factory=dict)


class FormChoices:
    """Measured forms by device and graph: those of earlier processes, and of this one."""

    def __init__(self, known: DeviceSignatureTable) -> None:
        self._known = known
        self._found: dict[DeviceSignature, FormVerdict | None] = {}

    def get(self, graph: Graph, backend: VyreBackend) -> FormVerdict | None:
        """What was measured; None where nothing was."""
        asked = _signature(graph, backend)
        if asked not in self._found:
            self._found[asked] = self._known.get(asked, _read)
        return self._found[asked]

    def put(self, graph: Graph, backend: VyreBackend, verdict: FormVerdict, cost_ns: int = 0) -> None:
        """Take a form from now on, and in later processes."""
        asked, form = _signature(graph, backend), verdict.form
        self._found[asked] = verdict
        allowed = [form.fusion, form.batching, form.overlap]
        written = {"allowed": allowed, "reason": verdict.reason, "times": dict(verdict.times)}
        self._known.put(asked, json.dumps(written).encode(), cost_ns)


@cache
def shared_forms() -> FormChoices:
    """The choices of the process, which the store keeps."""
    return FormChoices(DeviceSignatureTable(shared_store()))


def choose_form(graph: Graph, backend: VyreBackend) -> FormVerdict:
    """The measured form of a graph, or the one that a rule gives."""
    measured = shared_forms().get(graph, backend)
    return rule(backend) if measured is None else measured


def rule(backend: VyreBackend) -> FormVerdict:
    """The form of a graph that was not measured."""
    if not backend.supports_async_compute():
        return FormVerdict(GraphForm(overlap=False), "the backend copies beside no launch")
    if backend.device_profile().shares_host_memory:
        return FormVerdict(
            GraphForm(overlap=False), "copies take the processor from launches, and nothing was measured"
        )
    return FormVerdict(GraphForm(), "the device copies beside launches, and nothing was measured")


def _signature(graph: Graph, backend: VyreBackend) -> DeviceSignature:
    return DeviceSignature(
        backend.device_profile().identity, f"the form of graph {graph.fingerprint()} by method {METHOD}"
    )


def _read(cached: bytes) -> FormVerdict:
    fields = Fields(read_json(cached))
    allowed = fields.items("allowed")
    if len(allowed) != 3 or not all(type(one) is bool for one in allowed):
        raise ValueError(f"{allowed} is no form of a graph")
    times = fields.fields("times")
    by_form = {name: float(times.number(name)) for name in times.names()}
    return FormVerdict(GraphForm(*allowed), fields.text("reason"), by_form)
