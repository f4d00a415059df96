"""Compilation with a record: the program, the backend, and whether the code was cached."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from typing import Protocol, runtime_checkable

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.delegate import DelegatingPipeline, innermost
from vyre_driver.backend.pipeline import CompiledPipeline, PipelineCacheSnapshot
from vyre_driver.observe.live import compile
from vyre_driver.pipeline.fingerprint import PipelineFeatureFlags, hex_short
from vyre_driver.plan.specialize import NO_VALUES, SpecMap, specialize
from vyre_foundation.ir.program import Program


@runtime_checkable
class Exclusive(Protocol):
    """A backend that one caller can lock, so that its counters change only by the calls of that caller."""

    def session(self) -> AbstractContextManager[object]:
        """Return a context in which the device is locked. Calls of other threads wait until it ends."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildManifest:
    """The facts that identify a build. `program` is a fingerprint, `specialization` has the values of constants."""

    schema: int = 1
    backend: str
    backend_version: str
    pipeline: str
    program: str
    specialization: dict[str, str]
    dispatch_policy: str
    features: str
    cache_hit: bool | None

    def to_json(self) -> str:
        """Return the manifest as indented JSON, with a field for each attribute."""
        return json.dumps(asdict(self), indent=2)

    def short(self) -> str:
        """Return one line for a report."""
        found = {True: "cached code", False: "compiled", None: "compiled or cached"}[self.cache_hit]
        return f"{self.backend} {hex_short(bytes.fromhex(self.program))} ({self.dispatch_policy}): {found}"


@dataclass(frozen=True, slots=True)
class CompiledPipelineBuild:
    """A pipeline with the record of its compilation.

    `cache_hit`: whether the code was cached, in memory or in the store; None if the backend does not report it.
    """

    pipeline: CompiledPipeline
    cache_hit: bool | None
    manifest: BuildManifest


class OwningPipeline(DelegatingPipeline):
    """A pipeline that owns its backend."""

    def __init__(self, inner: CompiledPipeline, backend: VyreBackend) -> None:
        super().__init__(inner)
        self._backend = backend

    def close(self) -> None:
        """Close the pipeline, and shut down its backend."""
        self.inner.close()
        self._backend.shutdown()


def compile_owned(
    backend: VyreBackend, program: Program, config: DispatchConfig = DEFAULT_CONFIG, specialization: SpecMap = NO_VALUES
) -> CompiledPipeline:
    """Compile a program as `compile`. The pipeline owns the backend, which is also shut down if this call fails."""
    return compile_owned_with_telemetry(backend, program, config, specialization).pipeline


def compile_with_telemetry(
    backend: VyreBackend, program: Program, config: DispatchConfig = DEFAULT_CONFIG, specialization: SpecMap = NO_VALUES
) -> CompiledPipelineBuild:
    """Compile a program as `compile`, and return a record. Other threads that compile on the backend wait."""
    inner = innermost(backend)
    with inner.session() if isinstance(inner, Exclusive) else nullcontext():
        before = backend.pipeline_cache_snapshot()
        pipeline = compile(backend, program, config, specialization)
        cache_hit = _hit(before, backend.pipeline_cache_snapshot())
    workgroup = config.workgroup_override or program.workgroup_size
    manifest = BuildManifest(
        backend=backend.id(),
        backend_version=backend.version(),
        pipeline=pipeline.id(),
        program=specialize(program, specialization).fingerprint(),
        specialization={name: str(value) for name, value in specialization.items()},
        dispatch_policy=f"ulp={config.ulp_budget} workgroup={'x'.join(map(str, workgroup))}",
        features=str(PipelineFeatureFlags.of(backend.device_profile())),
        cache_hit=cache_hit,
    )
    return CompiledPipelineBuild(pipeline, cache_hit, manifest)


def compile_owned_with_telemetry(
    backend: VyreBackend, program: Program, config: DispatchConfig = DEFAULT_CONFIG, specialization: SpecMap = NO_VALUES
) -> CompiledPipelineBuild:
    """Compile a program as `compile_owned`, and return a record."""
    try:
        build = compile_with_telemetry(backend, program, config, specialization)
    except BaseException:
        backend.shutdown()
        raise
    return CompiledPipelineBuild(OwningPipeline(build.pipeline, backend), build.cache_hit, build.manifest)


def _hit(before: PipelineCacheSnapshot | None, after: PipelineCacheSnapshot | None) -> bool | None:
    if before is None or after is None:
        return None
    hits, misses = after.hits > before.hits, after.misses > before.misses
    return None if hits == misses else hits
