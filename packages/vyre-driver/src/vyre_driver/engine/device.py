"""An open device and what lives as long as it: its facts, its compiled code, and a ledger of its memory."""

from __future__ import annotations

import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from vyre_driver import engine, tune
from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.received import require_kind
from vyre_driver.device.profile import DeviceProfile
from vyre_driver.engine.code import CodeCache, CompiledCode, Emission
from vyre_driver.engine.pending import Deadline, sweep
from vyre_driver.engine.port import Allocation, DevicePort, OpenPort, SourceUnit
from vyre_driver.engine.resident import Residents, next_generation
from vyre_driver.errors import DeviceOutOfMemory, InvalidOutput
from vyre_driver.legalization.target import Groups, Target
from vyre_driver.observe.metrics import Counters
from vyre_driver.observe.progress import progress
from vyre_driver.pipeline.disk import DiskPipelineCache
from vyre_driver.pipeline.key import PipelineCacheIdentity
from vyre_driver.pipeline.signature import DeviceSignatureTable
from vyre_driver.pipeline.stamp import source_stamp
from vyre_driver.pipeline.store import DiskStore
from vyre_driver.plan.cost import Cost, estimate
from vyre_driver.plan.launch import LaunchPlan
from vyre_driver.policy.queue import queue_of_sequence, usable_queues
from vyre_driver.tune.choice import LaunchChoices
from vyre_driver.tune.natives import Natives
from vyre_driver.tune.queue import QueueChoice, Rate
from vyre_foundation.dtype import f64, i64, u64
from vyre_foundation.ir.stmt import AtomicOp
from vyre_foundation.validate.facts import Facts

if TYPE_CHECKING:
    import numpy.typing as npt

    from vyre_driver.legalization.lowered import Lowered


class Entry(weakref.ref[Allocation]):
    """What the ledger knows of an allocation, also when that is gone."""

    number: int = -1  # until it is entered: an interrupt may come first
    memory: Any
    size: int
    is_borrowed: bool


class Device:
    """One port that is open. The backend's lock is held for every call.

    `abandoned` memory, whose allocations nothing refers to any more, and `dropped` resources wait for a `sweep`.
    `others` has an entry for each thread that waits for the lock or runs a launch without it.

    No reference cycle leads through it: a backend that is dropped gives everything back at once. `reclaim` gives back
    cached memory; it is called when the device is full. `store` holds code for later processes,
    `open_port` opens the device in another one, for a compiler that is not trusted in this. What the port returns is
    checked where nothing is warm, and errors name the `backend`.
    """

    def __init__(
        self,
        port: DevicePort[Any, Any, Any],
        counters: Counters,
        reclaim: Callable[[], None],
        store: DiskStore | None = None,
        open_port: OpenPort | None = None,
        others: list[None] | None = None,
        backend: str = "",
    ) -> None:
        self.port, self.counters = port, counters
        self._id, self._backend = backend, backend or type(port).__name__
        self.others: list[None] = [] if others is None else others
        self.generation = next_generation()
        self.end = "its device was closed"
        """Why a handle of this device cannot be used once another device is open."""
        self._known = known = DeviceSignatureTable(store)
        self._probe()
        self.rate = Rate.of(known, self.profile.identity, keeps=not port.is_traced)
        self.choices = LaunchChoices(known, self.profile.identity)
        self.final: set[str] = set()
        """The fingerprints of variants that were measured: they are lowered as they stand."""
        self.code = CodeCache(port, counters, DiskPipelineCache(store), open_port)
        self._reclaim = reclaim
        self.residents = Residents(self.profile.backend, weakref.proxy(self))
        self._live: dict[int, Entry] = {}
        """The ledger. It keeps no allocations: an interrupt may come before the caller that asks for one has it."""
        self._shared: set[int] = set()
        self.abandoned: deque[Entry] = deque()
        self.dropped = self.residents.dropped

    def _probe(self) -> None:
        """Ask the port for the facts of the device. `stated` are those that it gave, `profile` those to rely on."""
        self.stated = require_kind(self._backend, self.port.probe(), DeviceProfile, "probe")
        self.target = require_kind(self._backend, self.port.target(), Target, "target")
        self.profile = replace(
            _with_spelled_features(self.stated, self.target),
            backend=self._id or self.stated.backend,
            shares_host_memory=self.port.shares_host_memory,
            workgroups_are_loops=self.target.groups is Groups.LOOPS,
            folds_grids=True,
        )
        self.natives = Natives(self.port.natives(), self.profile.identity, self._known)
        self._emitter = _emitter(self.port)

    def show_everything(self) -> None:
        """Have the device prove all capabilities. Afterwards `profile` and `target` have proven ones only."""
        if not self.port.show_everything():
            self._probe()

    @property
    def known(self) -> DeviceSignatureTable:
        """What the device has shown in this process and in earlier ones."""
        return self._known

    def cost(self, plan: LaunchPlan) -> Cost | None:
        """The work of a launch; None if the device has no queues to choose from."""
        return estimate(plan) if self.profile.queues else None

    def choose_queue(self, cost: Cost | None) -> QueueChoice | None:
        """The choice among several queues for launches of this cost; None if there is one queue at most."""
        if cost is None or len(self.profile.queues) == 1:
            return None
        return QueueChoice(self.profile.queues, cost, self.rate, moves_code=self.port.moves_code)

    def queue_named(self, name: str | None, cost: Cost | None) -> int | None:
        """The queue with a name; None if there is none, or if a launch of this cost must not take it."""
        names = [queue.name for queue in self.profile.queues]
        if cost is None or name not in names:
            return None
        found = names.index(name)
        return found if found in usable_queues(self.profile.queues, cost) else None

    def is_synchronous(self, queue: int) -> bool:
        """Whether launches of a queue run on the calling thread, so that they are never pending."""
        queues = self.profile.queues
        return bool(queues) and not queues[queue].is_interruptible

    def queue_for(self, costs: Sequence[tuple[Cost, int]], *, beside: bool = False) -> int:
        """The queue that is expected to complete a sequence first: its launches' costs, and how often each comes.

        With `beside`, one that does not keep the calling thread, if there is any.
        """
        return queue_of_sequence(self.profile.queues, costs, self.rate.ns_per_unit, beside=beside)

    def compile(
        self, facts: Facts, config: DispatchConfig, queue: int = 0, deadline: Deadline | None = None
    ) -> CompiledCode:
        """Code for a validated program with the launched workgroup size, from the cache, the store or the compiler."""
        with self.counters.timing("compile_ns"):
            identity = self._identity(facts, config, queue)
            code = self.code.find(identity, queue)
            if code is None:
                with progress(f"compile {facts.program.name}", 1) as done:
                    started = time.perf_counter_ns()
                    lowered, unit = self.emit(facts, config, deadline)
                    emission = Emission([lowered], unit, time.perf_counter_ns() - started)
                    code = self.code.compile(identity, facts.program, emission, config, queue, deadline)
                    done(1)
            return self._for_queue(code, queue)

    def _for_queue(self, code: CompiledCode, queue: int) -> CompiledCode:
        """The code for launches in a queue; itself, if it was compiled for that."""
        module = self.port.for_queue(code.module, queue) if self.port.moves_code else code.module
        return code if module is code.module else replace(code, module=module)

    def compile_many(self, programs: Sequence[Facts], config: DispatchConfig, deadline: Deadline | None = None) -> None:
        """Compile several programs for later calls of `compile` in the first queue: a compiler starts once for ten.

        Programs that may keep subgroups are left to `compile`: their intrinsics are chosen for a whole unit.
        """
        alone = self.target.subgroup_sizes
        wanted = {self._identity(f, config, 0): f for f in programs if f.program.subgroup_size not in alone}
        with self.counters.timing("compile_ns"):
            groups = self.code.missing(wanted)
            if not groups:
                return
            with progress("compile", sum(map(len, groups))) as done:
                for group in groups:
                    started = time.perf_counter_ns()
                    lowered, unit = self._emit_many([wanted[identity] for identity in group], config, deadline)
                    self.code.compile_group(group, Emission(lowered, unit, time.perf_counter_ns() - started))
                    done(len(group))

    def _identity(self, facts: Facts, config: DispatchConfig, queue: int) -> PipelineCacheIdentity:
        target, queue = self._target_of(facts, config), 0 if self.port.moves_code else queue
        return PipelineCacheIdentity.of(facts.program, config, target, self.profile, self._emitter, queue)

    def emit(
        self, facts: Facts, config: DispatchConfig, deadline: Deadline | None = None
    ) -> tuple[Lowered, SourceUnit]:
        """A validated program, optimized, lowered and printed for this device."""
        with self.counters.timing("lower_ns"):
            lowered = self._lowered(facts, config, deadline)
            while not self.port.show(lowered):
                self._probe()
                lowered = self._lowered(facts, config, deadline)
            return lowered, self._emitted(lowered, deadline)

    def _lowered(self, facts: Facts, config: DispatchConfig, deadline: Deadline | None) -> Lowered:
        target = self._target_of(facts, config)
        return engine.lowering.lowered_for(target, facts, deadline, stage=self.counters.stage)

    def _emit_many(
        self, programs: Sequence[Facts], config: DispatchConfig, deadline: Deadline | None
    ) -> tuple[Sequence[Lowered], SourceUnit]:
        """Several programs, lowered and printed as one unit."""
        with self.counters.timing("lower_ns"):
            parts = [self._lowered(facts, config, deadline) for facts in programs]
            while not self.port.show(unit := engine.lowering.joined(parts)):
                self._probe()
                parts = [self._lowered(facts, config, deadline) for facts in programs]
            return parts, self._emitted(unit, deadline)

    def _emitted(self, lowered: Lowered, deadline: Deadline | None) -> SourceUnit:
        unit = require_kind(self._backend, engine.lowering.emitted(self.port, lowered, deadline), SourceUnit, "emit")
        if len(unit.kernels) != len(lowered.kernels):
            got = f"{len(unit.kernels)} names of kernels from 'emit', expected {len(lowered.kernels)}"
            raise InvalidOutput(self._backend, got, fix="report it to the backend's authors: each kernel has a name")
        return unit

    def side_by_side(self, code: CompiledCode) -> int:
        """The workgroups of each kernel that are certain to run at the same time."""
        entries = code.executable.entries
        return min(self.port.side_by_side(code.module, entry.name, entry.workgroup_size) for entry in entries)

    def _target_of(self, facts: Facts, config: DispatchConfig) -> Target:
        """The target for one program."""
        target = self.target_for(config)
        if not self.final or facts.program.fingerprint() not in self.final:
            return target
        return replace(target, replacements=(*tune.variants.AS_IT_STANDS, *target.replacements))

    def target_for(self, config: DispatchConfig) -> Target:
        """The target with those of its own functions that the error budget allows.

        Grid barriers stay in kernels only if the launch is cooperative.
        """
        target = self.target
        if target.grid_barrier and not config.cooperative:
            target = replace(target, grid_barrier=False)
        taken = self.natives.taken(config.ulp_budget)
        return replace(target, calls=target.calls | taken) if taken else target

    # ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def allocate(self, size: int) -> Allocation:
        """`size` bytes of memory, at least one; when the device is full, caches are freed first."""
        size = max(1, size)
        try:
            memory = self._memory(size)
        except DeviceOutOfMemory:
            self._reclaim()
            memory = self._memory(size)
        return self._entered(Allocation(memory, size))

    def allocate_zeros(self, size: int) -> Allocation:
        """The same, all bytes zero."""
        allocation = self.allocate(size)
        if not self.port.allocates_zeros:
            try:
                self.fill(allocation, 0, allocation.size)
            except BaseException:
                self.free((allocation,))
                raise
        return allocation

    def _memory(self, size: int) -> Any:
        try:
            memory = self.port.allocate(size)
        except MemoryError as error:
            raise DeviceOutOfMemory(size) from error
        if memory is None:
            fix = "report it to the backend's authors: 'allocate' returns memory, or raises DeviceOutOfMemory"
            raise InvalidOutput(self._backend, "None from 'allocate', expected memory", fix=fix)
        return memory

    def _entered(self, allocation: Allocation) -> Allocation:
        entry = Entry(allocation, self.abandoned.append)  # not a function of Python, which an interrupt could end
        entry.memory, entry.size, entry.is_borrowed = allocation.memory, allocation.size, allocation.is_borrowed
        entry.number = allocation.number
        self._live[entry.number] = entry
        self.counters.allocations += 1
        self.counters.bytes_allocated += allocation.size
        return allocation

    def host_memory(self, size: int) -> npt.NDArray[np.uint8]:
        """Host memory with unspecified contents, for `adopt`; when there is none, caches are freed first."""
        try:
            return np.empty(size, np.uint8)
        except MemoryError:
            self._reclaim()
        try:
            return np.empty(size, np.uint8)
        except MemoryError as error:
            raise DeviceOutOfMemory(size) from error

    def adopt(self, contents: npt.NDArray[np.uint8]) -> Allocation:
        """Aligned host memory, at least one byte, as memory of the device. Its owner keeps it until it is freed."""
        return self._entered(Allocation(self.port.in_place(contents.data), contents.nbytes, is_borrowed=True))

    def wrap(self, foreign: object, size: int) -> Allocation | None:
        """Another library's array of `size` bytes as memory of the device; None where it cannot be."""
        memory = self.port.wrap(foreign)
        return None if memory is None else self._entered(Allocation(memory, max(1, size), is_borrowed=True))

    def share(self, allocation: Allocation) -> bool:
        """Note that others use memory whenever they like. Whether that is new."""
        is_new = not self.is_shared(allocation)
        self._shared.add(allocation.number)
        return is_new

    def is_shared(self, allocation: Allocation) -> bool:
        """Whether others may use it at any time: another library's array, or memory that was exported."""
        return allocation.is_borrowed or allocation.number in self._shared

    def export(self, allocation: Allocation, size: int) -> object:
        """The first `size` bytes as an array of bytes, after all work that uses them."""
        return self.port.export(allocation.memory, size)

    def free(self, allocations: Iterable[Allocation]) -> None:
        """Give memory back. Memory that was freed before is left out."""
        for allocation in allocations:
            self._free(allocation.number)

    def _free(self, number: int) -> None:
        entry = self._live.pop(number, None)
        if entry is not None:
            self._shared.discard(number)
            self.counters.frees += 1
            self.counters.bytes_freed += entry.size
            if not entry.is_borrowed:
                self.port.free(entry.memory)

    def sweep(self) -> None:
        """Free abandoned memory, and release what only completed work used."""
        while self.abandoned:
            self._free(self.abandoned.popleft().number)
        sweep()

    def close(self) -> None:
        """Give back all memory and the device."""
        self.code.clear()
        try:
            for number in tuple(self._live):
                self._free(number)
        finally:
            self.port.close()

    # ── transfers ────────────────────────────────────────────────────────────────────────────────────────────────────

    def copy_in(self, allocation: Allocation, data: memoryview, offset: int = 0) -> None:
        """Upload; no bytes are no transfer."""
        if data.nbytes:
            self.port.copy_in(allocation.memory, data, offset)
            self.counters.copies_in += 1
            self.counters.bytes_in += data.nbytes

    def copy_out(self, allocation: Allocation, into: memoryview, offset: int = 0) -> None:
        """Download; no bytes are no transfer."""
        if into.nbytes:
            self.port.copy_out(allocation.memory, into, offset)
            self.counters.copies_out += 1
            self.counters.bytes_out += into.nbytes

    def put(self, buffer: npt.NDArray[np.uint8], data: Any) -> None:
        """Copy a contiguous host buffer of the same size into memory that device and host share."""
        if buffer.nbytes:
            buffer[:] = np.frombuffer(data, np.uint8)
            self.counters.copies_in += 1
            self.counters.bytes_in += buffer.nbytes

    def clear(self, buffer: npt.NDArray[np.uint8]) -> None:
        """Fill memory that device and host share with zeros."""
        if buffer.nbytes:
            buffer.fill(0)
            self.counters.fills += 1

    def fill(self, allocation: Allocation, byte: int, size: int) -> None:
        """Set the first `size` bytes; none are no fill."""
        if size:
            self.port.fill(allocation.memory, byte, size)
            self.counters.fills += 1


def _emitter(port: DevicePort[Any, Any, Any]) -> str:
    """What compiled code depends on besides the program, the target and the device."""
    stamp = source_stamp("vyre_foundation", "vyre_driver", port.package)
    return f"{port.emitter()} {stamp}".rstrip()


def _with_spelled_features(profile: DeviceProfile, target: Target) -> DeviceProfile:
    """The profile without capabilities that the emitter cannot spell."""
    return replace(
        profile,
        supports_f64=profile.supports_f64 and f64 in target.arithmetic,
        supports_int64=profile.supports_int64 and {u64, i64} <= target.arithmetic,
        supports_atomic64=profile.supports_atomic64 and target.has_atomic(AtomicOp.ADD, u64),
        supports_grid_sync=profile.supports_grid_sync and target.grid_barrier,
    )
