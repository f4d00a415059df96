"""The identity of compiled code: one digest over exactly the facts on which the code depends."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from blake3 import blake3

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.device.profile import DeviceProfile, Extent
from vyre_driver.legalization.target import Target
from vyre_driver.pipeline.entry import EntryIdentity, PayloadKind
from vyre_driver.pipeline.fingerprint import PipelineDeviceFingerprint, PipelineFeatureFlags, hex_encode
from vyre_driver.pipeline.stamp import source_stamp
from vyre_driver.registry.versions import package_version
from vyre_foundation.dialects import installed_dialects, registration
from vyre_foundation.ir.expr import Call
from vyre_foundation.ir.program import Program
from vyre_foundation.validate.calls import reached

if TYPE_CHECKING:
    from vyre_foundation.dialects import Dialect

CURRENT_PIPELINE_CACHE_KEY_VERSION = 2
"""Part of every key: changes with the meaning of the components."""


@dataclass(frozen=True, slots=True)
class PipelineCacheKey:
    """A BLAKE3 digest in hexadecimal. Compiled code with equal keys is interchangeable."""

    digest: str

    def __str__(self) -> str:
        return self.digest


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineCacheIdentity:
    """The facts on which compiled code depends.

    Attributes:
        program: The fingerprint of the canonical wire form.
        workgroup_size: The size that is launched.
        target: Everything that legalization knows of the target.
        device: The device with its driver and compiler.
        features: The native capabilities.
        emitter: The version of the emitter.
        driver: The version of the lowering.
        foundation: The version of the optimizer.
        dialects: The versions of the dialects that the program calls, whose compositions it does not contain.
        queue: The queue that runs the code, or the first queue if one compilation serves several.

    Labels, timeouts, lengths and the grid are not included.
    """

    program: str
    workgroup_size: Extent
    ulp_budget: int
    target: str
    device: PipelineDeviceFingerprint
    features: PipelineFeatureFlags
    emitter: str
    driver: str
    foundation: str
    dialects: tuple[str, ...] = ()
    queue: str = ""
    version: int = CURRENT_PIPELINE_CACHE_KEY_VERSION

    @classmethod
    def of(
        cls,
        program: Program,
        config: DispatchConfig,
        target: Target,
        profile: DeviceProfile,
        emitter: str,
        queue: int = 0,
    ) -> PipelineCacheIdentity:
        """Return the identity of `program`, which has the launched workgroup size, for one device."""
        return cls(
            program=program.fingerprint(),
            workgroup_size=program.workgroup_size,
            ulp_budget=config.ulp_budget,
            target=describe_target(target),
            device=PipelineDeviceFingerprint.of(profile),
            features=PipelineFeatureFlags.of(profile),
            emitter=emitter,
            driver=package_version("vyre_driver"),
            foundation=package_version("vyre_foundation"),
            dialects=called_dialects(program),
            queue=profile.queues[queue].name if profile.queues else "",
        )

    @lru_cache(maxsize=256)  # noqa: B019 - few strings, and each launch of another length asks for the same
    def key(self) -> PipelineCacheKey:
        """Return the digest over all components, each with its name and length."""
        hasher = blake3(b"vyre pipeline key")
        for name in self.__slots__:
            for part in (name, repr(getattr(self, name))):
                data = part.encode()
                hasher.update(len(data).to_bytes(8, "little"))
                hasher.update(data)
        return PipelineCacheKey(hex_encode(hasher.digest()))

    def entry(self) -> EntryIdentity:
        """The key of the code in the store."""
        return EntryIdentity(
            kind=PayloadKind.CODE,
            key=self.key().digest,
            subject=self.program,
            policy=repr((self.workgroup_size, self.ulp_budget)),
            device=repr(self.device),
            text="\n".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__),
        )

    def in_progress(self) -> EntryIdentity:
        """The key in the store of the process that compiles the code."""
        code = self.entry()
        return replace(code, kind=PayloadKind.IN_PROGRESS, key=f"{code.key} {PayloadKind.IN_PROGRESS.value}")


def called_dialects(program: Program) -> tuple[str, ...]:
    """Return the version, manifest and edited sources of each dialect that a valid program calls, also indirectly."""
    calls = program.code.of(Call)
    if not calls:
        return ()
    called = {op.partition(".")[0] for node in calls for op in reached(node)}
    known = {found.id: found for found in installed_dialects()}
    return tuple(_described(id, known.get(id)) for id in sorted(called))


def _described(id: str, found: Dialect | None) -> str:
    if found is None:  # registered by hand: the process that registered it is not over, and may do so again
        return f"{id} of process {os.getpid()}, registration {registration(id)}"
    makers = [maker for row in found.ops for maker in (row.expand, *row.lowerings.texts.values())]
    packages = {getattr(maker, "__module__", "").partition(".")[0] for maker in makers} - {""}
    return " ".join(filter(None, (id, found.version, found.digest, source_stamp(*sorted(packages)))))


@lru_cache(maxsize=16)
def describe_target(target: Target) -> str:
    """Return a target as text that is the same in every process. Sets are sorted by the text of their elements."""
    parts = []
    for name in target.__slots__:
        value = getattr(target, name)
        shown = sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)
        parts.append(f"{name}={shown}")
    return "; ".join(parts)
