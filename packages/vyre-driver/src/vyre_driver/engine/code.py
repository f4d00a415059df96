"""From a program to code that runs: out of memory, else out of the store, else through the compiler.

Whatever the store gives needs neither lowering nor emission nor a compiler. What the compiler made goes to the store
after its first launch, when runtimes that compile late have compiled.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.pipeline import PipelineCacheSnapshot
from vyre_driver.device.profile import Extent
from vyre_driver.engine.guard import Guard
from vyre_driver.engine.pending import Deadline
from vyre_driver.engine.port import DevicePort, OpenPort, SourceUnit
from vyre_driver.errors import BackendError, KernelCompileFailed
from vyre_driver.legalization.lowered import Lowered
from vyre_driver.observe.metrics import Counters
from vyre_driver.pipeline.artifact import Artifact
from vyre_driver.pipeline.cache import PipelineCache
from vyre_driver.pipeline.disk import DiskPipelineCache
from vyre_driver.pipeline.executable import ExecutableManifest
from vyre_driver.pipeline.key import PipelineCacheIdentity, PipelineCacheKey, called_dialects
from vyre_driver.pipeline.log import logger
from vyre_driver.pipeline.settings import GuardSettings
from vyre_foundation.ir.program import Program
from vyre_foundation.validate.facts import Facts

ArtifactKey = tuple[str, Extent, int, str, tuple[str, ...]]
"""What code made ahead of time is for: the program's fingerprint, its workgroup size, the error budget, the queue, and
the dialects that it calls."""
Emit = Callable[[Facts, DispatchConfig, Deadline | None], tuple[Lowered, SourceUnit]]
EmitMany = Callable[[Sequence[Facts], DispatchConfig], tuple[Sequence[Lowered], SourceUnit]]
MAX_UNIT_PROGRAMS = 10
"""Programs in one compilation unit: each stored binary has all of them."""


@dataclass(frozen=True, slots=True, eq=False)
class CompiledCode:
    """A compiled program: what a dispatch must know about it, and the port's module. It serves every equal program."""

    key: PipelineCacheKey
    executable: ExecutableManifest
    module: Any


@dataclass(frozen=True, slots=True)
class Unsaved:
    """What belongs to code that the compiler has made and that has not run yet."""

    identity: PipelineCacheIdentity
    source: str
    cost_ns: int


class CodeCache:
    """All code of one open device. The backend's lock is held for every call."""

    def __init__(
        self,
        port: DevicePort[Any, Any, Any],
        counters: Counters,
        disk: DiskPipelineCache,
        open_port: OpenPort | None = None,
    ) -> None:
        self._port, self._counters, self._disk = port, counters, disk
        self._open_port, self._guard = open_port, GuardSettings.of()
        self._memory: PipelineCache[CompiledCode] = PipelineCache()
        self._unsaved: dict[PipelineCacheKey, Unsaved] = {}
        self._adopted: dict[ArtifactKey, tuple[ExecutableManifest, Any]] = {}
        self._loads = 0

    def get(
        self,
        identity: PipelineCacheIdentity,
        facts: Facts,
        config: DispatchConfig,
        emit: Emit,
        queue: int = 0,
        deadline: Deadline | None = None,
    ) -> CompiledCode:
        """Code of this identity, which is that of the program of `facts`. The deadline ends lowering and a guarded
        compilation."""
        key = identity.key()
        code = self._memory.get(key)
        if code is None:
            code = self._loaded(key, identity, queue)
            code = code or self._compiled(key, identity, facts, config, emit, queue, deadline)
            self._memory.put(key, code)
        return code

    def prepare(
        self,
        wanted: Iterable[tuple[PipelineCacheIdentity, Facts]],
        config: DispatchConfig,
        emit: EmitMany,
        queue: int = 0,
    ) -> None:
        """Make what is nowhere of several programs in as few compilations as may be; `get` finds it then.

        What cannot be made together is left to `get`, which also names the program that the compiler refuses.
        """
        missing = []
        for identity, facts in dict(wanted).items():
            key = identity.key()
            code = self._memory.get(key) or self._loaded(key, identity, queue)
            if code is not None:
                self._memory.put(key, code)
            elif not self._guard.takes(was_fatal=self._disk.was_fatal(identity)):
                missing.append((key, identity, facts))
        for start in range(0, len(missing), MAX_UNIT_PROGRAMS):
            if len(chunk := missing[start : start + MAX_UNIT_PROGRAMS]) > 1:
                self._prepare(chunk, config, emit, queue)

    def _prepare(
        self,
        chunk: Sequence[tuple[PipelineCacheKey, PipelineCacheIdentity, Facts]],
        config: DispatchConfig,
        emit: EmitMany,
        queue: int,
    ) -> None:
        started = time.perf_counter_ns()
        lowered, unit = emit([facts for _, _, facts in chunk], config)
        for _, identity, _ in chunk:
            self._disk.begin(identity)
        try:
            self._counters.compiles += 1
            module = self._port.compile(unit, queue)
        except BaseException as error:
            for _, identity, _ in chunk:
                self._disk.end(identity)
            if not isinstance(error, KernelCompileFailed):
                raise
            logger().info("%d programs do not compile together: %s", len(chunk), error)
            return
        cost = (time.perf_counter_ns() - started) // len(chunk)
        names = iter(unit.kernels)
        for (key, identity, _), part in zip(chunk, lowered, strict=True):
            executable = ExecutableManifest.of(part, [next(names) for _ in part.kernels])
            self._memory.put(key, CompiledCode(key, executable, module))
            if self._disk.keeps:
                self._unsaved[key] = Unsaved(identity, unit.text, cost)

    def adopt(self, program: Program, ulp_budget: int, artifact: Artifact, queue: int, queue_name: str) -> None:
        """Load what was compiled ahead of time, for every later `get` of this program, budget and queue.

        `KernelCompileFailed` if the device refuses it.
        """
        artifact_key = (program.fingerprint(), program.workgroup_size, ulp_budget, queue_name, called_dialects(program))
        self._adopted[artifact_key] = artifact.executable, self._port.load(artifact.binary, queue)
        self._counters.loads += 1

    def ran(self, code: CompiledCode) -> None:
        """Save code whose kernels have run, if it is not saved yet. Never raises: the dispatch has done well."""
        unsaved = self._unsaved.pop(code.key, None)
        if unsaved is None:
            return
        self._save(code, unsaved)
        self._disk.end(unsaved.identity)

    def _save(self, code: CompiledCode, unsaved: Unsaved) -> None:
        started = time.perf_counter_ns()
        try:
            binary = self._port.binary(code.module)
        except BackendError as error:
            logger().warning("code is not stored: %s", error)
            return
        if binary is not None:
            cost = unsaved.cost_ns + time.perf_counter_ns() - started
            artifact = Artifact(code.executable, unsaved.source, binary)
            self._counters.saves += self._disk.put(unsaved.identity, artifact, cost)

    def snapshot(self) -> PipelineCacheSnapshot:
        """How often code was found, in memory or in the store, and how often it had to be made."""
        memory = self._memory.snapshot()
        return PipelineCacheSnapshot(memory.hits + self._loads, memory.misses - self._loads)

    def clear(self) -> None:
        """Forget everything; what the store holds stays there."""
        self._memory.clear()
        for unsaved in self._unsaved.values():
            self._disk.end(unsaved.identity)
        self._unsaved.clear()
        self._adopted.clear()

    def _loaded(self, key: PipelineCacheKey, identity: PipelineCacheIdentity, queue: int) -> CompiledCode | None:
        artifact_key = (
            identity.program,
            identity.workgroup_size,
            identity.ulp_budget,
            identity.queue,
            identity.dialects,
        )
        if artifact_key in self._adopted:
            self._loads += 1
            return CompiledCode(key, *self._adopted[artifact_key])
        artifact = self._disk.get(identity)
        if artifact is None:
            evidence = self._disk.missed(identity)
            if evidence is not None:
                name = f"missed_{evidence.reason.value}"
                setattr(self._counters, name, getattr(self._counters, name) + 1)
            return None
        try:
            module = self._port.load(artifact.binary, queue)
        except KernelCompileFailed as error:
            self._counters.refused_loads += 1
            self._disk.discard(identity, f"the device refuses it: {error.log}")
            return None
        self._counters.loads += 1
        self._loads += 1
        return CompiledCode(key, artifact.executable, module)

    def _compiled(
        self,
        key: PipelineCacheKey,
        identity: PipelineCacheIdentity,
        facts: Facts,
        config: DispatchConfig,
        emit: Emit,
        queue: int,
        deadline: Deadline | None,
    ) -> CompiledCode:
        started = time.perf_counter_ns()
        lowered, unit = emit(facts, config, deadline)
        self._counters.compiles += 1
        executable = ExecutableManifest.of(lowered, unit.kernels)
        if self._open_port is not None and self._guard.takes(was_fatal=self._disk.was_fatal(identity)):
            guard = Guard(identity.device.backend, self._open_port, self._guard)
            binary = guard.compile(unit, executable, facts.program, config, queue, deadline)
            self._disk.forget_fatal(identity)
            if binary is not None:
                artifact = Artifact(executable, unit.text, binary)
                self._counters.saves += self._disk.put(identity, artifact, time.perf_counter_ns() - started)
                return CompiledCode(key, executable, self._port.load(binary, queue))
        self._disk.begin(identity)
        try:
            code = CompiledCode(key, executable, self._port.compile(unit, queue))
        except BaseException:
            self._disk.end(identity)
            raise
        if self._disk.keeps:
            self._unsaved[key] = Unsaved(identity, unit.text, time.perf_counter_ns() - started)
        return code
