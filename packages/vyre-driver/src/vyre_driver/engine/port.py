"""The six primitives of a device, from which the engine makes the whole backend contract.

A driver implements `DevicePort` over its runtime and gets planning, legalization, caches, traps, grid barriers,
repeats, budgets, timing and counters from `EngineBackend`. The six: probe, compile (with emit before it), memory,
launch, wait, and the queue that they share.

**The queue.** Work is in order: each fill, copy and launch takes effect after all calls before it, and sees their
effects, across kernels too. A port may do it with a real in-order queue, with events, or at once; what does not touch
the same memory may run side by side. A port that has several ways to run a launch names them as `DeviceProfile.queues`;
a module is compiled for one of them, by position, and its launches go there. The order holds across them.

**Who waits.** `fill` and `launch` may return before anything has happened. `copy_in` returns when the host bytes may
be changed or freed (a port copies them or waits). `copy_out` returns when the bytes are in the host memory, hence after
all work enqueued before. `free` may be called while work that uses the memory is in flight, and the port must then keep
the memory alive until that work has ended. Nothing else waits.

**Lifetimes.** What work in flight uses (memory, host bytes in place, wrapped arrays, code, queues) lives until the work
has ended, also if the port itself is dropped, the interpreter ends, or the process is forked: a port keeps it in a
`Ledger` (see `pending`). A wait that ends early, by a timeout or an interrupt, leaves the work in flight.

**Waits.** Every call that may wait for the device asks `wait_limit` before each part of the wait, of at most
`LONGEST_WAIT` seconds, and lets interrupts of the host through. Only work that is known to be short may block the host
for longer.

**Sizes.** The engine never asks for nothing: every size is at least 1 byte. A buffer of zero elements is backed by an
allocation of one byte, bound like any other, and never copied.

**Threads.** Calls come from any thread, never two at a time. `probe` and `target` are called once, and again
after `show` or `show_everything` has returned False.

**Errors.** A port raises the classes of `vyre_driver.errors` (`DeviceOutOfMemory`, `KernelCompileFailed`,
`DispatchFailed`, `DeviceLost`, `UnsupportedFeature`) with the runtime's own words in them, and owns no cleanup of the
engine's: after an error the engine frees what it allocated, so `free` must work then, and must not raise.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar

from vyre_driver.device.profile import DeviceProfile, Extent
from vyre_driver.engine.pending import WaitLimit
from vyre_driver.errors import UnsupportedFeature
from vyre_driver.legalization.target import Target
from vyre_foundation.cached import cached_property
from vyre_foundation.dtype import DType

if TYPE_CHECKING:
    from vyre_driver.legalization.lowered import Lowered
    from vyre_driver.tune.candidate import TunedVariant

CLOSING = 1.0
"""Seconds that closing a port waits for work in flight."""

ModuleT = TypeVar("ModuleT")
MemoryT = TypeVar("MemoryT")
EventT = TypeVar("EventT")


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Allocation:
    """Device memory that the engine holds: `memory` is the port's handle. If it `is_borrowed`, its owner frees it.

    Memory whose allocation nothing refers to any more is freed by the next `Device.sweep`.
    """

    memory: Any
    size: int
    is_borrowed: bool = False
    number: int = field(default_factory=count().__next__)


@dataclass(frozen=True)
class SourceUnit:
    """Emitted source, ready for the target's compiler: one text with all kernels of a `Lowered`.

    `kernels` are the names of the entry points in the text, in the order of `Lowered.kernels`. `language` names the
    dialect for tools that show the text, in which a line that begins with `comment` is one. `options` are the
    compiler's flags. A port may subclass it to carry more to `compile`, such as the statement behind each line.
    """

    text: str
    kernels: tuple[str, ...]
    language: str
    options: tuple[str, ...] = ()
    comment: str = "//"


class DevicePort(ABC, Generic[ModuleT, MemoryT, EventT]):
    """One device. `ModuleT`, `MemoryT` and `EventT` are the port's own handles; the engine only passes them back."""

    emitter_version: ClassVar[str]
    """Change it whenever `emit` would print something else for an equal input."""

    shares_host_memory: bool = False
    """Whether `in_place` works: the device computes in host memory, wherever it lies."""

    works_after_fork: bool = False
    """Whether a forked process may open a device of its own, although its parent has one open. The engine calls nothing
    of the parent's port there."""

    is_traced: bool = False
    """Whether launches are watched: what they take is then nothing to learn from."""

    keeps_failures: bool = False
    """Whether every wait raises what any launch before has failed with, until the port is closed.

    Then a failure is not lost if nothing waits for its launch, and the engine waits for no launch over resident memory
    that it reads nothing after.
    """

    unlocked_queue: int | None = None
    """The position of a queue of one worker, the calling thread. Threads may call runners of its launches at the same
    time, and while others use the port, if the launches cannot fail and each has memory of its own."""

    leaves_long_launches: float = math.inf
    """Seconds: the same is true, of any queue, for runners of launches that are not known to end within this time."""

    moves_code: bool = False
    """Whether `for_queue` works: one compilation serves all queues."""

    records: bool = False
    """Whether `record` works: a row of launches and fills is enqueued at one call, for less than one by one."""

    @property
    def package(self) -> str:
        """The package that `emit` comes from: its sources are a part of what compiled code depends on."""
        return type(self).__module__.partition(".")[0]

    @cached_property
    def wait_limit(self) -> WaitLimit:
        """How long calls may wait now. The engine sets its `deadline`, and any thread its `stopped`."""
        return WaitLimit()

    # ── what the device is ───────────────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def probe(self) -> DeviceProfile:
        """The device's facts. Opens the device; raises `BackendUnavailable` with the reason when there is none."""

    @abstractmethod
    def target(self) -> Target:
        """What the emitter can spell for this device: legalization leaves nothing else."""

    def show(self, lowered: Lowered) -> bool:
        """Have the device prove that it computes what `lowered` uses, as far as it has not proven it yet.

        False: it does not compute all of it, and `probe`, `target`, `emitter` and `natives` answer differently now.
        Called before `emit`. A port that believes nothing unproven from the start has nothing to do here.
        """
        return True

    def show_everything(self) -> bool:
        """The same for everything that the port spells, before callers learn of capabilities."""
        return True

    # ── compile ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def emitter(self) -> str:
        """What `emit` and the compiler depend on besides the target: by default the version alone.

        A port whose intrinsics or flags differ from device to device names them too. Part of every pipeline key.
        """
        return self.emitter_version

    def spellings(self) -> tuple[TunedVariant, ...]:
        """What was tried for each op on this device, where the port chooses among spellings. For people."""
        return ()

    def measure_spellings(self) -> tuple[TunedVariant, ...]:
        """Judge all candidates of each op and time the exact ones. Devices that are opened later print the fastest.

        Takes seconds, so nothing but a user's request asks for it.
        """
        return ()

    def natives(self) -> Mapping[tuple[str, DType], str]:
        """The device's own elementary functions of one operand, by op of a dialect and operand type, with their texts.

        Their error is unknown: the engine takes one only where a budget allows what was measured on this
        device. `emit` prints the calls that are left in a program.
        """
        return {}

    @abstractmethod
    def emit(self, lowered: Lowered) -> SourceUnit:
        """Print the kernels of `lowered`. Pure: no device, and equal inputs give equal units."""

    @abstractmethod
    def compile(self, unit: SourceUnit, queue: int = 0) -> ModuleT:
        """Code for a queue of the device.

        Raises `KernelCompileFailed` with the compiler's log, the source and the line that the log names.
        """

    def for_queue(self, module: ModuleT, queue: int) -> ModuleT:
        """The code of a module for launches in a queue, which may be its own. Asked only where `moves_code` says so."""
        raise UnsupportedFeature("moving code to another queue", backend=type(self).__name__)

    def describe(self, unit: SourceUnit) -> tuple[str, ...]:
        """What the compiler makes of each kernel, such as the width of its vectors, a line for each. For people.

        It may compile the unit again. Empty where the runtime does not tell.
        """
        return ()

    def binary(self, module: ModuleT) -> bytes | None:
        """The bytes from which `load` makes this module in a later process; None if the runtime has no such bytes.

        Asked once, after the module's kernels have run: some runtimes compile a part of the code then.
        """
        return None

    def load(self, binary: bytes, queue: int = 0) -> ModuleT:
        """The module that `binary` was taken from, for the same queue of the same device with the same compiler.

        The engine has compared all of that, and every byte. `KernelCompileFailed` if the runtime refuses it all the
        same: then the program is compiled.
        """
        raise UnsupportedFeature("loading of compiled code", backend=type(self).__name__)

    # ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def allocate(self, size: int) -> MemoryT:
        """`size` >= 1 bytes with unspecified contents, aligned for every type.

        `DeviceOutOfMemory` if there are none; the engine translates a `MemoryError` of Python.
        """

    @abstractmethod
    def fill(self, memory: MemoryT, byte: int, size: int) -> None:
        """Enqueue: set the first `size` >= 1 bytes to `byte` (0 … 255). `memory` may be larger."""

    @abstractmethod
    def copy_in(self, memory: MemoryT, data: memoryview, offset: int = 0) -> None:
        """Copy `data` (contiguous, format "B", at least 1 byte) to byte `offset`. The host bytes are free at return."""

    @abstractmethod
    def copy_out(self, memory: MemoryT, into: memoryview, offset: int = 0) -> None:
        """Fill `into` (contiguous, writable, format "B", at least 1 byte) from byte `offset`; done at return."""

    def in_place(self, data: memoryview) -> Any | None:
        """Host bytes as an argument of launches, which read and write them where they are, without a copy.

        `data` is contiguous, of any format, with at least 1 byte, and may be read-only: then no launch writes to it.
        The argument and the launches that use it keep it alive; nothing is freed. None: it is not aligned as the
        device needs it; 64 bytes are always enough. Asked only where `shares_host_memory` says so.
        """
        raise UnsupportedFeature("computing in host memory", backend=type(self).__name__)

    def wrap(self, foreign: object) -> MemoryT | None:
        """The memory of another library's array on this device, without a copy; None where it cannot be.

        `foreign` states its size as `nbytes`. It can be wrapped if its bytes are contiguous, writable, and where the
        device's kernels reach them, as said by whatever protocol the port knows (DLPack, an array interface). The
        memory keeps `foreign` alive. It is used like allocated memory, but never freed.
        """
        return None

    def export(self, memory: MemoryT, size: int) -> object:
        """The first `size` bytes as a writable array of bytes, without a copy, after all work that uses them.

        It is an array of a library whose users know such memory: of NumPy, where it is the host's. It keeps the bytes
        alive, also after `free`.
        """
        raise UnsupportedFeature("exporting of memory", backend=type(self).__name__)

    @abstractmethod
    def free(self, memory: MemoryT) -> None:
        """Give the memory back, once, after the work that uses it. Never raises."""

    # ── launch ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def launch(
        self,
        module: ModuleT,
        kernel: str,
        grid: Extent,
        workgroup_size: Extent,
        args: Sequence[Any],
        *,
        timed: bool = False,
        longest: float = math.inf,
    ) -> EventT:
        """Enqueue one kernel over `grid` workgroups (every axis at least 1) of `workgroup_size` invocations.

        `kernel` is one of `SourceUnit.kernels`. Where workgroups are arranged as loops one work item runs one of
        them, which may be several of the program's in a row.
        `args` are the kernel's bound buffers in argument order (a `MemoryT`, or what `in_place` gave), then one u32 (an
        int) for each name of `Kernel.lengths`. A repeated dispatch passes the *same objects* again, but for what
        `in_place` gave, so a port may compare by identity and set only what changed. `timed` asks for an event that
        `elapsed` can answer; without it an event may be as little as a token for "everything enqueued until now". The
        launch is known to end within `longest` seconds, whatever the data: a port may block the host that long.
        """

    def submit(self, event: EventT) -> None:
        """The launch of `event`, the last so far, will be waited for, and others are enqueued before.

        A dispatch ends with it, or it is one of very many. A port may let the device begin, and note where the launch
        ends: then a wait for it is not one for all that comes behind. Here it means nothing.
        """

    def runner(
        self,
        module: ModuleT,
        kernel: str,
        grid: Extent,
        workgroup_size: Extent,
        args: Sequence[Any],
        places: Sequence[int],
        longest: float = math.inf,
        *,
        is_brief: bool = False,
    ) -> Callable[[Sequence[Any]], None]:
        """What launches a kernel and waits until it has ended, for however long; a port may know a shorter way.

        It is called with the arguments at `places`, which come with each call; the others are those in `args`. A launch
        that `is_brief` takes a few microseconds: a port may keep the interpreter's lock meanwhile.
        """

        def run(values: Sequence[Any]) -> None:
            given = args
            if places:
                given = list(args)
                for place, value in zip(places, values, strict=True):
                    given[place] = value
            event = self.launch(module, kernel, grid, workgroup_size, given, longest=longest)
            try:
                self.wait(event)
            except BaseException:
                self.cancel(event)
                raise

        return run

    def cancel(self, event: EventT) -> None:
        """The dispatch that ends with the launch of `event` has failed, and what it writes is not read.

        A port may end the launch early; whatever it uses lives until it has ended. It may have ended. Never raises.
        """

    def side_by_side(self, module: ModuleT, kernel: str, workgroup_size: Extent) -> int:
        """How many workgroups of a kernel run at the same time for certain, so that they can wait for each other.

        Larger grids are not launched of a kernel with grid barriers. Asked only where the target has some.
        """
        raise UnsupportedFeature("grid barriers inside of kernels", backend=type(self).__name__)

    def record(self, enqueue: Callable[[], None]) -> Any:
        """A recording of the launches and fills that `enqueue` makes; none of them runs now.

        `enqueue` calls `launch` (not `timed`) and `fill` alone; the events it gets are never asked. If it raises,
        nothing is recorded. Asked only where `records` says so.
        """
        raise UnsupportedFeature("recording of launches", backend=type(self).__name__)

    def replay(self, recording: Any) -> EventT:
        """Enqueue everything that was recorded, in order, as if it were called again: the event of the last launch.

        The modules, memory and arguments of a recording are alive until it is forgotten.
        """
        raise UnsupportedFeature("recording of launches", backend=type(self).__name__)

    def forget(self, recording: Any) -> None:
        """Give a recording back, once; a replay of it may be in flight. Never raises."""

    # ── wait ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def wait(self, event: EventT, timeout: float | None = None) -> bool:
        """Wait until the launch has ended, at most `timeout` seconds (None: however long). Whether it has.

        A launch that failed raises here (or in the next `copy_out`). An interrupt of the host must get through, and
        `wait_limit` is asked before each part of the wait.
        """

    @abstractmethod
    def finish(self, timeout: float | None = None) -> bool:
        """Wait in the same way until everything that was enqueued has ended. Whether it has; never what failed."""

    @abstractmethod
    def query(self, event: EventT) -> bool:
        """Whether the launch has ended, without waiting."""

    @abstractmethod
    def elapsed(self, event: EventT) -> int | None:
        """Nanoseconds that the kernel alone ran on the device, or None. The launch was `timed` and has ended."""

    def times(self, event: EventT) -> tuple[int, int] | None:
        """When that kernel began and ended, in nanoseconds of a clock of the device; None if no such clock is known."""
        return None

    # ── end ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def close(self) -> None:
        """Give everything back. Nothing else is called after it. May be called twice. Never raises.

        It waits for the work in flight, `CLOSING` seconds at most: what does not end by then keeps what it uses.
        """


OpenPort: TypeAlias = Callable[[], DevicePort[Any, Any, Any]]
"""Opens the device. A function that another process can import lets code be compiled there."""
