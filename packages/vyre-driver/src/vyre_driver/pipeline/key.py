"""The identity of compiled code: everything that it depends on goes into one digest, and nothing else does."""

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
    """A BLAKE3 digest in hexadecimal. Two keys are equal when the compiled code is interchangeable."""

    digest: str

    def __str__(self) -> str:
        return self.digest


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineCacheIdentity:
    """What compiled code depends on, one field for each component.

    `program` is the fingerprint of the canonical wire form, `workgroup_size` the launched one. `target` is everything
    that legalization knows, `device` the one with its driver and compiler, `features` what it does natively. `emitter`,
    `driver` and `foundation` are the versions of the printing, of the lowering and of the optimizer, `dialects` those
    of dialects that the program calls, because a composition is not in it. `queue` is the device's queue that runs it,
    the first of all that one compilation serves.
    Labels, timeouts, lengths and the grid are not among them.
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
        """The identity of `program`, whose workgroup size is the launched one, for one device."""
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
        """The digest over all components, each with its name and length, so that no two can run together."""
        hasher = blake3(b"vyre pipeline key")
        for name in self.__slots__:
            for part in (name, repr(getattr(self, name))):
                data = part.encode()
                hasher.update(len(data).to_bytes(8, "little"))
                hasher.update(data)
        return PipelineCacheKey(hex_encode(hasher.digest()))

    def entry(self) -> EntryIdentity:
        """What the store finds the code by."""
        return EntryIdentity(
            kind=PayloadKind.CODE,
            key=self.key().digest,
            subject=self.program,
            policy=repr((self.workgroup_size, self.ulp_budget)),
            device=repr(self.device),
            text="\n".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__),
        )

    def in_progress(self) -> EntryIdentity:
        """What the store finds the process by that is compiling the code."""
        code = self.entry()
        return replace(code, kind=PayloadKind.IN_PROGRESS, key=f"{code.key} {PayloadKind.IN_PROGRESS.value}")


def called_dialects(program: Program) -> tuple[str, ...]:
    """Each dialect whose ops a valid program calls, also inside of compositions: version, manifest, edited sources."""
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
    """All of a target as one text that is the same in every process: sets are sorted by what they print as."""
    parts = []
    for name in target.__slots__:
        value = getattr(target, name)
        shown = sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)
        parts.append(f"{name}={shown}")
    return "; ".join(parts)
