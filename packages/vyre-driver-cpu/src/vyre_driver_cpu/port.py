"""The six primitives of a device, over LLVM and threads."""

from __future__ import annotations

import ctypes
import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from vyre_driver.device.profile import DeviceProfile, Extent
from vyre_driver.engine.pending import AsyncCall
from vyre_driver.engine.port import CLOSING, DevicePort, SourceUnit
from vyre_driver.errors import BackendError, KernelCompileFailed
from vyre_driver.legalization.target import Target
from vyre_driver.policy.queue import LONGEST_BLOCKING
from vyre_driver_cpu import codegen
from vyre_driver_cpu.binary import from_bytes, to_bytes
from vyre_driver_cpu.caller import CallerLaunch
from vyre_driver_cpu.compiler import CompileFailed, assembly, compile_text
from vyre_driver_cpu.cpu import Cpu, host
from vyre_driver_cpu.dialect import target_of
from vyre_driver_cpu.launch import Argument, Arguments, Module
from vyre_driver_cpu.memory import HostMemory, allocate, in_place, wrap
from vyre_driver_cpu.order import Order, Work
from vyre_driver_cpu.probe import CALLER, THREADS, profile
from vyre_driver_cpu.recording import FILLED_AT_ONCE, Recording
from vyre_driver_cpu.runtime import PoolJob, PoolJobs, native, pool, thread_count
from vyre_driver_cpu.spelling import spellings_of
from vyre_foundation.cached import cached_property

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from vyre_driver.legalization.lowered import Lowered


class CpuPort(DevicePort[Module, HostMemory, Work]):
    """The CPU of this process. Its memory is the host's.

    A launch runs in the calling thread, or on the pool of threads, as the engine's choice of a queue says.
    """

    emitter_version = "cpu-60"
    shares_host_memory = allocates_zeros = works_after_fork = True
    records, moves_code = True, True
    unlocked_queue, leaves_long_launches = CALLER, LONGEST_BLOCKING

    def __init__(self) -> None:
        self._cpu = host()
        self._spellings = spellings_of(self._cpu)
        self._order = Order(self.wait_limit)
        self._recording: Recording | None = None  # what takes launches and fills now, in place of the queue

    @cached_property
    def _replay(self) -> Callable[[int, int], None]:
        """What walks through a recording."""
        return native().function("replay", ctypes.c_void_p, ctypes.c_int64)

    # ── what the device is ───────────────────────────────────────────────────────────────────────────────────────────

    def probe(self) -> DeviceProfile:
        return profile(self._cpu, self._spellings)

    def target(self) -> Target:
        return target_of("cpu", self._spellings)

    # ── compile ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def emit(self, lowered: Lowered) -> SourceUnit:
        return codegen.emit(lowered, self._spellings)

    def compile(self, unit: SourceUnit, queue: int = 0) -> Module:
        code = self._compiled(unit)
        try:
            return Module(code, unit.kernels, queue)
        except CompileFailed as failure:
            raise KernelCompileFailed("cpu", str(failure), source=unit.text) from failure

    def _compiled(self, unit: SourceUnit) -> bytes:
        """Object code, made on another thread: the wait for it can be left."""
        made = AsyncCall(partial(_code_or_failure, unit.text, self._cpu)).result(self.wait_limit, "compilation")
        if isinstance(made, CompileFailed):
            raise KernelCompileFailed("cpu", str(made), source=unit.text) from made
        return bytes(made)

    def for_queue(self, module: Module, queue: int) -> Module:
        return module.for_queue(queue)

    def describe(self, unit: SourceUnit) -> tuple[str, ...]:
        return tuple(map(str, codegen.vector_reports(assembly(unit.text, self._cpu))))

    def binary(self, module: Module) -> bytes | None:
        return to_bytes(module.code, module.names, self._cpu)

    def load(self, binary: bytes, queue: int = 0) -> Module:
        try:
            return from_bytes(binary, queue)
        except CompileFailed as failure:
            raise KernelCompileFailed("cpu", str(failure)) from failure

    # ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def allocate(self, size: int) -> HostMemory:
        return allocate(size)

    def fill(self, memory: HostMemory, byte: int, size: int) -> None:
        if self._recording is not None:
            self._recording.fill(native().addresses["fill_whole"], memory, byte, size)
            return
        last = memory.last
        if last is None or last.has_ended():
            memory.last = None
            memory.bytes[:size] = byte
            return
        arguments = Arguments((memory, byte), (1, 1, 1))
        addresses = arguments.slots_address, arguments.grid_address
        threads = pool()
        job = threads.job(native().addresses["fill"], addresses, size, FILLED_AT_ONCE, math.inf)
        self._order.submit(threads, PoolJobs.of(job), (memory,), arguments)

    def copy_in(self, memory: HostMemory, data: memoryview, offset: int = 0) -> None:
        self._order.wait_for(memory)
        memory.view[offset : offset + data.nbytes] = data

    def copy_out(self, memory: HostMemory, into: memoryview, offset: int = 0) -> None:
        self._order.wait_for(memory)
        into[:] = memory.view[offset : offset + into.nbytes]

    in_place = staticmethod(in_place)

    def wrap(self, foreign: object) -> HostMemory | None:
        return wrap(foreign)

    def export(self, memory: HostMemory, size: int) -> npt.NDArray[np.uint8]:
        self._order.wait_for(memory)
        return memory.bytes[:size]

    def free(self, memory: HostMemory) -> None:
        """Nothing: work in flight keeps what it uses, and the last reference frees it."""

    # ── launch ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def launch(
        self,
        module: Module,
        kernel: str,
        grid: Extent,
        workgroup_size: Extent,
        args: Sequence[Argument],
        *,
        timed: bool = False,
        longest: float = math.inf,
    ) -> Work:
        if self._recording is not None:
            self._recording.launch(module, kernel, grid, args, longest)
            return Work()
        arguments = Arguments(args, grid)
        memories = [arg for arg in args if isinstance(arg, HostMemory)]
        if module.queue == CALLER:
            for memory in memories:
                self._order.wait_for(memory)
            work = Work()
            started = time.perf_counter_ns()
            module.kernels[kernel](arguments.address)
            work.times = started, time.perf_counter_ns()
            return work
        job = self._job(module, kernel, arguments, longest)
        return self._order.submit(pool(), PoolJobs.of(job), memories, (module, arguments), arguments.cancel)

    def runner(
        self,
        module: Module,
        kernel: str,
        grid: Extent,
        workgroup_size: Extent,
        args: Sequence[Argument],
        places: Sequence[int],
        longest: float = math.inf,
        *,
        is_brief: bool = False,
    ) -> Callable[[Sequence[Any]], None]:
        """All launches use the same slots: each ends before the next begins, and after an error there is no next one.

        Where the calling thread does the work, a call allocates nothing.

        A launch that is not known to end soon begins there too, also if it is for the threads, which do what is left
        of it after a while.
        """
        arguments = Arguments([0 if n in places else arg for n, arg in enumerate(args)], grid)
        function: Callable[[int], None] = module.function(kernel, is_brief=is_brief and longest <= LONGEST_BLOCKING)
        order, slots = self._order, arguments.slots
        memories = [arg for arg in args if isinstance(arg, HostMemory)]
        address = arguments.address

        def run(
            values: Sequence[Any], call: Callable[[int], object] = function, _alive: object = (module, arguments)
        ) -> None:
            if order.entries:
                for memory in memories:
                    order.wait_for(memory)
                order.sweep()
            for place, value in zip(places, values):  # noqa: B905 - one for each, and strict takes longer
                slots[place] = value.address
            call(address)

        def on_threads(values: Sequence[Any], first: int = 0) -> None:
            for place, value in zip(places, values):  # noqa: B905 - as above
                slots[place] = value.address
            job = self._job(module, kernel, arguments, longest, first)
            used = [*memories, *(value for value in values if isinstance(value, HostMemory))]
            order.run(pool(), PoolJobs.of(job), used, (module, arguments, values), arguments.cancel)

        if longest <= LONGEST_BLOCKING:
            return run if module.queue == CALLER else on_threads
        asked = partial(self.wait_limit.seconds, 0.0)
        ends_here = module.queue == CALLER or thread_count() == 1  # to hand over to one thread saves nothing
        launch = CallerLaunch(module.addresses[kernel], arguments, asked, ends_here=ends_here)

        def begin(values: Sequence[Any]) -> None:
            run(values, launch.begin)
            if launch.done < arguments.total:
                on_threads(values, launch.done)

        return begin

    def _job(self, module: Module, kernel: str, arguments: Arguments, longest: float, first: int = 0) -> PoolJob:
        """The workgroups of a launch from `first` on, for the threads."""
        threads, total = pool(), arguments.total - first
        addresses = arguments.slots_address, arguments.grid_address
        return threads.job(module.addresses[kernel], addresses, total, threads.chunk(total, longest), longest, first)

    def record(self, enqueue: Callable[[], None]) -> Recording:
        self._recording = recording = Recording()
        try:
            enqueue()
        finally:
            self._recording = None
        recording.finish()
        return recording

    def replay(self, recording: Recording) -> Work:
        if recording.queue == THREADS:
            threads = pool()
            return self._order.submit(threads, recording.jobs(threads), recording.memories, recording.uses)
        if self._order.entries:
            for memory in recording.memories:
                self._order.wait_for(memory)
        for address, count in recording.spans():
            self.wait_limit.seconds(LONGEST_BLOCKING)
            self._replay(address, count)
        return Work()

    def forget(self, recording: Recording) -> None:
        recording.clear()

    def cancel(self, event: Work) -> None:
        event.give_up()

    # ── wait ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def wait(self, event: Work, timeout: float | None = None) -> bool:
        return self._order.ended(event, timeout)

    def query(self, event: Work) -> bool:
        return event.has_ended()

    def finish(self, timeout: float | None = None) -> bool:
        return self._order.finish(timeout)

    def elapsed(self, event: Work) -> int | None:
        began, ended = event.times
        return ended - began

    def times(self, event: Work) -> tuple[int, int] | None:
        return event.times

    # ── end ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    def close(self) -> None:
        with suppress(BackendError):
            self._order.finish(CLOSING)


def _code_or_failure(text: str, cpu: Cpu) -> bytes | CompileFailed:
    try:
        return compile_text(text, cpu)
    except CompileFailed as failure:
        return failure
