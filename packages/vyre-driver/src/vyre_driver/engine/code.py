"""From a program to code that runs: from memory, else from the store, else from the compiler.

Code from the store needs neither lowering nor emission nor a compiler. Code that the compiler made goes to the store
after its first launch, when runtimes that compile late have compiled.

A `Guard` compiles in a child process, so that a compiler that crashes or hangs is an error. That costs the start of a
process: it is for code that has ended a compiler before, and for users who ask for it. The child gets the emitted unit,
compiles and runs it once, because some runtimes compile a part then, and gives the port's `binary` back. Nothing of the
program is optimized, lowered or printed twice.
"""

from __future__ import annotations

import pickle
import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vyre_driver import process
from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.pipeline import PipelineCacheSnapshot
from vyre_driver.device.profile import Extent
from vyre_driver.engine.pending import Deadline
from vyre_driver.engine.port import DevicePort, OpenPort, SourceUnit
from vyre_driver.errors import BackendError, InvalidOutput, KernelCompileFailed, UnsupportedFeature
from vyre_driver.observe.metrics import Counters
from vyre_driver.pipeline.artifact import Artifact
from vyre_driver.pipeline.cache import PipelineCache
from vyre_driver.pipeline.disk import DiskPipelineCache
from vyre_driver.pipeline.executable import ExecutableManifest
from vyre_driver.pipeline.key import PipelineCacheIdentity, PipelineCacheKey, called_dialects
from vyre_driver.pipeline.log import logger
from vyre_driver.pipeline.settings import TIMEOUT, GuardSettings
from vyre_foundation.ir.program import Program
from vyre_foundation.wire import encode

if TYPE_CHECKING:
    from vyre_driver.legalization.lowered import Lowered

ArtifactKey = tuple[str, Extent, int, str, tuple[str, ...]]
"""What code made ahead of time is for: the program's fingerprint, its workgroup size, the error budget, the queue, and
the dialects that it calls."""
MAX_UNIT_PROGRAMS = 10
"""Programs in one compilation unit: each stored binary has all of them."""


@dataclass(frozen=True, slots=True, eq=False)
class CompiledCode:
    """A compiled program: what a dispatch must know about it, and the port's module. It serves every equal program."""

    key: PipelineCacheKey
    executable: ExecutableManifest
    module: Any


@dataclass(frozen=True, slots=True)
class Emission:
    """Programs lowered and printed as one unit, and the nanoseconds that it took."""

    lowered: Sequence[Lowered]
    unit: SourceUnit
    ns: int


@dataclass(frozen=True, slots=True)
class Unsaved:
    """Compiled code that has not run yet, and so is not in the store."""

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

    def find(self, identity: PipelineCacheIdentity, queue: int = 0) -> CompiledCode | None:
        """Code of this identity from memory or the store."""
        key = identity.key()
        code = self._memory.get(key)
        if code is None:
            code = self._loaded(key, identity, queue)
            if code is not None:
                self._memory.put(key, code)
        return code

    def compile(
        self,
        identity: PipelineCacheIdentity,
        program: Program,
        emission: Emission,
        config: DispatchConfig,
        queue: int = 0,
        deadline: Deadline | None = None,
    ) -> CompiledCode:
        """Compile a program that `find` has not found. The deadline ends a compilation in a child process."""
        started, key, unit = time.perf_counter_ns() - emission.ns, identity.key(), emission.unit
        self._counters.compiles += 1
        (lowered,) = emission.lowered
        executable = ExecutableManifest.of(lowered, unit.kernels)
        code = self._guarded(identity, program, executable, unit, config, queue, deadline, started)
        if code is None:
            self._disk.begin(identity)
            try:
                code = CompiledCode(key, executable, self._compiled(unit, queue, identity))
            except BaseException:
                self._disk.end(identity)
                raise
            if self._disk.keeps:
                self._unsaved[key] = Unsaved(identity, unit.text, time.perf_counter_ns() - started)
        self._memory.put(key, code)
        return code

    def _compiled(self, unit: SourceUnit, queue: int, identity: PipelineCacheIdentity) -> Any:
        """What the port makes of a unit, which is a module."""
        module = self._port.compile(unit, queue)
        if module is None:
            fix = "report it to the backend's authors: 'compile' returns the module that 'launch' is given"
            raise InvalidOutput(identity.device.backend, "None from 'compile', expected a module", fix=fix)
        return module

    def _guarded(
        self,
        identity: PipelineCacheIdentity,
        program: Program,
        executable: ExecutableManifest,
        unit: SourceUnit,
        config: DispatchConfig,
        queue: int,
        deadline: Deadline | None,
        started: int,
    ) -> CompiledCode | None:
        """Code that a child process has compiled; None if none is to, or if it has no binary to give."""
        if self._open_port is None or not self._guard.takes(was_fatal=self._disk.was_fatal(identity)):
            return None
        guard = Guard(identity.device.backend, self._open_port, self._guard)
        binary = guard.compile(unit, executable, program, config, queue, deadline)
        self._disk.forget_fatal(identity)
        if binary is None:
            return None
        artifact = Artifact(executable, unit.text, binary)
        self._counters.saves += self._disk.put(identity, artifact, time.perf_counter_ns() - started)
        return CompiledCode(identity.key(), executable, self._port.load(binary, queue))

    def missing(self, identities: Iterable[PipelineCacheIdentity]) -> list[list[PipelineCacheIdentity]]:
        """The identities that `find` does not find, in groups to compile together: a compiler starts once for each.

        Code for a child process is left out, and so is the only one of a group.
        """
        missing = [
            identity
            for identity in identities
            if self.find(identity) is None and not self._guard.takes(was_fatal=self._disk.was_fatal(identity))
        ]
        groups = [missing[start : start + MAX_UNIT_PROGRAMS] for start in range(0, len(missing), MAX_UNIT_PROGRAMS)]
        return [group for group in groups if len(group) > 1]

    def compile_group(self, group: Sequence[PipelineCacheIdentity], emission: Emission) -> None:
        """Compile a group of programs as one unit, if they compile together.

        Others are left to `compile`, which names the program that the compiler refuses.
        """
        started, unit = time.perf_counter_ns() - emission.ns, emission.unit
        for identity in group:
            self._disk.begin(identity)
        try:
            self._counters.compiles += 1
            module = self._compiled(unit, 0, group[0])
        except BaseException as error:
            for identity in group:
                self._disk.end(identity)
            if not isinstance(error, KernelCompileFailed):
                raise
            logger().info("%d programs do not compile together: %s", len(group), error)
            return
        cost = (time.perf_counter_ns() - started) // len(group)
        names = iter(unit.kernels)
        for identity, part in zip(group, emission.lowered, strict=True):
            key, executable = identity.key(), ExecutableManifest.of(part, [next(names) for _ in part.kernels])
            self._memory.put(key, CompiledCode(key, executable, module))
            if self._disk.keeps:
                self._unsaved[key] = Unsaved(identity, unit.text, cost)

    def adopt(self, program: Program, ulp_budget: int, artifact: Artifact, queue: int, queue_name: str) -> None:
        """Load code that was compiled ahead of time, for every later `find` of this program, budget and queue.

        Raises `KernelCompileFailed` if the device refuses it.
        """
        artifact_key = (program.fingerprint(), program.workgroup_size, ulp_budget, queue_name, called_dialects(program))
        self._adopted[artifact_key] = artifact.executable, self._port.load(artifact.binary, queue)
        self._counters.loads += 1

    def is_saved(self, code: CompiledCode) -> bool:
        """Whether its kernels have run, and `save_if_new` has nothing to do."""
        return code.key not in self._unsaved

    def save_if_new(self, code: CompiledCode) -> None:
        """Save code whose kernels have run, if it is not saved yet. Never raises: the dispatch has succeeded."""
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
        """How often code was in memory or in the store, and how often it was compiled."""
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


_CHILD = """
import sys
folder, seconds, *path = sys.argv[1:]
sys.path[:] = [*path, *(entry for entry in sys.path if entry not in path)]
from vyre_driver.engine.artifact import main
main(folder, float(seconds))
"""
ORDER, ANSWER, LOG = "order", "answer", "log"
"""The files of one compilation: the order, its result, and the output of the child."""
TAIL = 2000
"""Characters of the output of a crashed compiler that its error shows."""


@dataclass(frozen=True, slots=True)
class CompileOrder:
    """The order for the child, sent as a pickle. Program and executable are in their own encodings."""

    open_port: OpenPort
    unit: SourceUnit
    queue: int
    config: DispatchConfig
    program: bytes
    executable: bytes


class Guard:
    """Compiles for one backend in child processes. `open_port` must be a function that another process can import."""

    def __init__(self, backend: str, open_port: OpenPort, settings: GuardSettings) -> None:
        self._backend, self._open_port, self._settings = backend, open_port, settings

    def compile(
        self,
        unit: SourceUnit,
        executable: ExecutableManifest,
        program: Program,
        config: DispatchConfig,
        queue: int,
        deadline: Deadline | None,
    ) -> bytes | None:
        """The binary of a unit; None if the port has no binaries, and the child has shown that the unit compiles.

        Raises `KernelCompileFailed` if the child crashes or takes too long, and what the child raises.
        """
        order = CompileOrder(self._open_port, unit, queue, config, encode(program), executable.to_bytes())
        with tempfile.TemporaryDirectory(prefix="vyre-compile-") as name:
            folder = Path(name)
            (folder / ORDER).write_bytes(self._pickled(order))
            status = self._run(folder, unit, deadline)
            if (folder / ANSWER).exists():
                given = pickle.loads((folder / ANSWER).read_bytes())  # noqa: S301 - of our own child
                if isinstance(given, BackendError):
                    raise given
                return None if given is None else bytes(given)
            printed, fatal, stack = (folder / LOG).read_text("utf-8", "replace").partition("Fatal Python error: ")
        last = printed[-TAIL:] + (fatal + stack)[:TAIL]  # the stack can be long
        raise self._failed(unit, f"it crashed ({process.ending(status)})\n{last}".rstrip())

    def _pickled(self, order: CompileOrder) -> bytes:
        try:
            return pickle.dumps(order)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            reason = f"compiling in a process of its own, which cannot open the device ({error})"
            fix = "give EngineBackend a function of a module, such as functools.partial(open_mine, id)"
            raise UnsupportedFeature(reason, backend=self._backend, fix=fix) from error

    def _run(self, folder: Path, unit: SourceUnit, deadline: Deadline | None) -> int:
        """Run a child, until the time limit at most: its exit status."""
        left = None if deadline is None else deadline.remaining()
        limit = self._settings.timeout if left is None else min(left, self._settings.timeout)
        command = process.python("-X", "faulthandler", "-c", _CHILD, str(folder), str(limit), *process.search_path())
        with (folder / LOG).open("wb") as log:
            child = process.start(command, stdout=log, stderr=log)
            try:
                child.wait(limit)
            except subprocess.TimeoutExpired:
                if deadline is not None and limit == left:
                    raise deadline.passed("compilation") from None
                raise self._failed(unit, f"it did not end within {limit:g} s ({TIMEOUT})") from None
            finally:
                process.end(child)
        return child.returncode

    def _failed(self, unit: SourceUnit, log: str) -> KernelCompileFailed:
        fix = f"report the program with the emitted `source`; {TIMEOUT} says how long a compiler may take"
        return KernelCompileFailed(self._backend, log, source=unit.text, fix=fix)
