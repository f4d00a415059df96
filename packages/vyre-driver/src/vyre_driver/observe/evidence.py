"""Evidence: what ran, on which device, from which sources, and digests of what went in and came out.

A bundle is one JSON document. It holds no data, so it can be kept and compared for years; with the inputs at hand
anybody can run the program again and see whether the digests are the same.
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
    """Nanoseconds; None is unknown."""

    wall_ns: int | None = None
    device_ns: int | None = None
    enqueue_ns: int | None = None
    wait_ns: int | None = None

    @classmethod
    def of(cls, result: TimedDispatchResult) -> DispatchTimingEvidence:
        """The times of a timed dispatch."""
        return cls(
            wall_ns=result.wall_ns,
            device_ns=result.device_ns,
            enqueue_ns=result.enqueue_ns,
            wait_ns=result.wait_ns,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceArtifact:
    """Bytes that took part: `kind` is ``input``, ``output`` or what else there is, `digest` their BLAKE3."""

    kind: str
    name: str
    byte_len: int
    digest: str
    path: str = ""

    @classmethod
    def of(cls, kind: str, name: str, data: memoryview | bytes, path: str = "") -> EvidenceArtifact:
        """The record of some bytes."""
        view = memoryview(data)
        return cls(kind=kind, name=name, byte_len=view.nbytes, digest=blake3(view).hexdigest(), path=path)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayEvidence:
    """How to see it again: a command, and the digest of the capsule that it replays."""

    command: str
    capsule_digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceBundle:
    """Everything that is known about one dispatch. `device` are the known facts of the device's profile."""

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
        """The bundle of a dispatch that has ended. `counters` is what the backend counted for it, where known."""
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
        """The document; equal bundles give equal text."""
        return json.dumps(_plain(asdict(self)), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def config_facts(config: DispatchConfig) -> dict[str, Any]:
    """The fields of a configuration that are not as by default, as plain values."""
    values = ((field.name, getattr(config, field.name), field.default) for field in fields(DispatchConfig))
    return {name: _plain(value) for name, value, usual in values if value != usual}


def counted(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """What a backend counted between two snapshots."""
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
