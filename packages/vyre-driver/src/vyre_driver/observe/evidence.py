"""Evidence of a dispatch: the program, the device, the sources, and digests of inputs and outputs.

A bundle is one JSON document. It contains no data, so it can be stored for years. With the inputs, the program can be
run again to compare the digests.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from blake3 import blake3

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.results import Inputs, TimedDispatchResult, borrowed_input_slices
from vyre_driver.observe.provenance import SourceProvenance
from vyre_driver.registry.versions import distribution_version
from vyre_foundation.ir.program import Program

SCHEMA = 1
DISTRIBUTIONS = ("vyre-foundation", "vyre-driver", "numpy")


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchTimingEvidence:
    """The times of a dispatch in nanoseconds; None is unknown."""

    wall_ns: int | None = None
    device_ns: int | None = None
    enqueue_ns: int | None = None
    wait_ns: int | None = None

    @classmethod
    def of(cls, result: TimedDispatchResult) -> DispatchTimingEvidence:
        """Return the times of a timed dispatch."""
        return cls(
            wall_ns=result.wall_ns,
            device_ns=result.device_ns,
            enqueue_ns=result.enqueue_ns,
            wait_ns=result.wait_ns,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceArtifact:
    """The digest of bytes. `kind` is their role, such as ``input`` or ``output``; `digest` is their BLAKE3 digest."""

    kind: str
    name: str
    byte_len: int
    digest: str
    path: str = ""

    @classmethod
    def of(cls, kind: str, name: str, data: memoryview | bytes, path: str = "") -> EvidenceArtifact:
        """Return the record of bytes."""
        view = memoryview(data)
        return cls(kind=kind, name=name, byte_len=view.nbytes, digest=blake3(view).hexdigest(), path=path)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayEvidence:
    """How to repeat a dispatch: a command, and the digest of the capsule that it replays."""

    command: str
    capsule_digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceBundle:
    """The evidence of one dispatch. `device` has the known facts of the device's profile."""

    backend_id: str
    backend_version: str
    program: str
    program_digest: str
    dispatch_policy: Mapping[str, Any]
    source: SourceProvenance
    versions: Mapping[str, str]
    device: Mapping[str, Any]
    timing: DispatchTimingEvidence = DispatchTimingEvidence()
    counters: Mapping[str, int] = field(default_factory=dict)
    artifacts: tuple[EvidenceArtifact, ...] = ()
    replay: ReplayEvidence | None = None
    schema: int = SCHEMA

    @classmethod
    def of_dispatch(
        cls,
        backend: VyreBackend,
        program: Program,
        inputs: Inputs,
        config: DispatchConfig,
        result: TimedDispatchResult,
        *,
        counters: Mapping[str, int] | None = None,
        replay: ReplayEvidence | None = None,
    ) -> EvidenceBundle:
        """Return the bundle of a dispatch that has ended. `counters` has the counts of the backend for it, if known."""
        given = zip(program.inputs, borrowed_input_slices(inputs), strict=True)
        came = zip(program.outputs, result.outputs, strict=True)
        return cls(
            backend_id=backend.id(),
            backend_version=backend.version(),
            program=program.name,
            program_digest=program.fingerprint(),
            dispatch_policy=config_facts(config),
            source=SourceProvenance.capture(),
            versions={name: distribution_version(name) for name in DISTRIBUTIONS},
            device=_known(asdict(backend.device_profile())),
            timing=DispatchTimingEvidence.of(result),
            counters=dict(counters or {}),
            artifacts=(
                *(EvidenceArtifact.of("input", buffer.name, view) for buffer, view in given),
                *(EvidenceArtifact.of("output", buffer.name, view) for buffer, view in came),
            ),
            replay=replay,
        )

    def to_json(self) -> str:
        """Return the document. Equal bundles have equal documents."""
        return json.dumps(_plain(asdict(self)), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def config_facts(config: DispatchConfig) -> dict[str, Any]:
    """Return the options of a configuration that differ from the defaults, as plain values."""
    values = ((field.name, getattr(config, field.name), field.default) for field in fields(DispatchConfig))
    return {name: _plain(value) for name, value, usual in values if value != usual}


def counted(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """Return the differences of a backend's counters between two snapshots."""
    return {name: count - before.get(name, 0) for name, count in after.items() if count != before.get(name, 0)}


def _known(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in facts.items() if value not in (None, "", False)}


def _plain(value: Any) -> Any:
    """A value as JSON has it: members of enumerations by their value, tuples as lists, nothing that is None."""
    match value:
        case Mapping():
            return {str(key): _plain(inner) for key, inner in value.items() if inner is not None}
        case str() | int() | float() | bool() | None:
            return value
        case Sequence():
            return [_plain(inner) for inner in value]
        case _:
            return getattr(value, "value", repr(value))
