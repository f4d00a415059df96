"""The primitives of a device, on which the engine implements the whole backend contract.

A driver implements `DevicePort` over its runtime. `EngineBackend` adds planning, legalization, caches, traps, grid
barriers, repetitions, budgets, timing and counters. The primitives are: probe, compile (after emit), memory, launch,
wait, and the queue that they share.

**Order.** Each fill, copy and launch takes effect after all earlier calls, and sees their effects, across kernels too.
A port may use an in-order queue, use events, or execute each call at once. Work that does not use the same memory may
run concurrently. A port with several ways to run a launch lists them as `DeviceProfile.queues`. A module is compiled
for one queue, by position, in which its launches run. The order holds across queues.

**Blocking.** `fill` and `launch` may return before they take effect. `copy_in` returns when the host bytes may be
changed or freed. `copy_out` returns when the bytes are in host memory, and so after all earlier work. `free` may be
called while work that uses the memory is in flight; the port must keep the memory alive until that work has ended.

**Lifetimes.** Everything that work in flight uses (memory, host bytes in place, wrapped arrays, code, queues) lives
until the work has ended, even if the port is dropped, the interpreter ends, or the process is forked: a port keeps it
in a `Ledger` (see `pending`). If a wait ends early, by a timeout or an interrupt, the work stays in flight.

**Waits.** Each call that may wait for the device checks `wait_limit` before each part of the wait, which takes at most
`LONGEST_WAIT` seconds, and does not block interrupts of the host. Only work that is known to be short may block the
host for longer.

**Sizes.** Every size is at least 1 byte. A buffer of zero elements is backed by an allocation of one byte, which is
bound like any other, and never copied.

**Threads.** Calls come from any thread, but never two at a time. `probe` and `target` are called once, and again after
`show` or `show_everything` has returned False.

**Errors.** A port raises the classes of `vyre_driver.errors` (`DeviceOutOfMemory`, `KernelCompileFailed`,
`DispatchFailed`, `DeviceLost`, `UnsupportedFeature`), with the message of the runtime. After an error, the engine frees
what it has allocated. So `free` must work after errors, and must not raise.
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
"""The seconds for which closing a port waits for work in flight."""

ModuleT = TypeVar("ModuleT")
MemoryT = TypeVar("MemoryT")
EventT = TypeVar("EventT")


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Allocation:
    """Device memory that the engine holds. `memory` is the handle of the port.

    If it `is_borrowed`, its owner frees it. Otherwise the next `Device.sweep` frees it after the last reference to the
    allocation is gone.
    """

    memory: Any
    size: int
    is_borrowed: bool = False
    number: int = field(default_factory=count().__next__)


@dataclass(frozen=True)
class SourceUnit:
    """Source for the target's compiler, with all kernels of a `Lowered`.

    Attributes:
        text: The source.
        kernels: The names of the entry points, in the order of `Lowered.kernels`.
        language: The name of the language, for tools that show the source.
        options: The flags for the compiler.
        comment: The beginning of a comment line in the language.

    A port may subclass it to pass more to `compile`, such as the statement of each line.
    """

    text: str
    kernels: tuple[str, ...]
    language: str
    options: tuple[str, ...] = ()
    comment: str = "//"


class DevicePort(ABC, Generic[ModuleT, MemoryT, EventT]):
    """A device. `ModuleT`, `MemoryT` and `EventT` are handles of the port, which the engine does not interpret."""

    emitter_version: ClassVar[str]
    """The version of the emitter. It must change whenever `emit` prints something else for an equal input."""

    shares_host_memory: bool = False
    """Whether the device can use any host memory, so that `in_place` works."""

    allocates_zeros: bool = False
    """Whether all bytes of memory that `allocate` returns are zero."""

    works_after_fork: bool = False
    """Whether a forked process may open its own device while its parent has one open. The engine does not call the port
    of the parent there."""

    is_traced: bool = False
    """Whether a trace is recorded, so that the times of launches are not representative."""

    keeps_failures: bool = False
    """Whether every wait raises the failure of an earlier launch, until the port is closed.

    If so, a failure is not lost if nothing waits for the launch, and the engine does not wait for launches over
    resident memory if it reads nothing afterwards.
    """

    unlocked_queue: int | None = None
    """The position of a queue whose only worker is the calling thread. Threads may call runners of its launches
    concurrently, also while other threads use the port, if the launches cannot fail and do not share memory."""

    leaves_long_launches: float = math.inf
    """A time in seconds. Runners of launches that are not known to end within it may be called concurrently in the same
    way, in every queue."""

    moves_code: bool = False
    """Whether one compilation serves all queues, so that `for_queue` works."""

    records: bool = False
    """Whether one call can enqueue a recorded sequence of launches and fills, so that `record` works."""

    @property
    def package(self) -> str:
        """The package of `emit`. Compiled code depends on its sources."""
        return type(self).__module__.partition(".")[0]

    @cached_property
    def wait_limit(self) -> WaitLimit:
        """The limit of waits, whose `deadline` the engine sets; any thread may set `stopped`."""
        return WaitLimit()

    # ── facts ────────────────────────────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def probe(self) -> DeviceProfile:
        """Open the device, and return its facts.

        Raises:
            BackendUnavailable: There is no device; the error states the reason.
        """

    @abstractmethod
    def target(self) -> Target:
        """Return what the emitter can spell for this device; legalized programs contain nothing else."""

    def show(self, lowered: Lowered) -> bool:
        """Test on the device whether it computes the operations of `lowered` exactly, unless this is known.

        It is called before `emit`. A port whose target contains only proven operations need not override it.

        Returns:
            False if an operation is not exact. Then `probe`, `target`, `emitter` and `natives` return other values.
        """
        return True

    def show_everything(self) -> bool:
        """Test all operations that the port can spell, as `show`. It is called before capabilities are reported."""
        return True

    # ── compile ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def emitter(self) -> str:
        """Return what `emit` and the compiler depend on beside the target, as a part of every pipeline key.

        By default it is the version of the emitter. A port whose intrinsics or flags differ between devices adds them.
        """
        return self.emitter_version

    def spellings(self) -> tuple[TunedVariant, ...]:
        """Return the spellings that were tested for each op on this device, for reports."""
        return ()

    def measure_spellings(self) -> tuple[TunedVariant, ...]:
        """Test all spellings of each op and time the exact ones. Devices that are opened later use the fastest.

        It takes seconds, so it is called only at a user's request.
        """
        return ()

    def natives(self) -> Mapping[tuple[str, DType], str]:
        """Return the source of native elementary functions of one operand, by op of a dialect and operand type.

        Their error is unknown. The engine uses one only if an error budget allows the error that was measured on this
        device. `emit` prints the calls that remain in a program.
        """
        return {}

    @abstractmethod
    def emit(self, lowered: Lowered) -> SourceUnit:
        """Print the kernels of `lowered`. The result depends only on the input, and no device is used."""

    @abstractmethod
    def compile(self, unit: SourceUnit, queue: int = 0) -> ModuleT:
        """Compile source for a queue of the device.

        Raises:
            KernelCompileFailed: The compiler refused it. The error has the log, the source, and the line in the log.
        """

    def for_queue(self, module: ModuleT, queue: int) -> ModuleT:
        """Return the code of a module for another queue, or for its own. It is called only if `moves_code` is true."""
        raise UnsupportedFeature("moving code to another queue", backend=type(self).__name__)

    def describe(self, unit: SourceUnit) -> tuple[str, ...]:
        """Return a line for each kernel that describes its code, such as the width of its vectors, for reports.

        It may compile the unit again. It is empty if the runtime gives no such information.
        """
        return ()

    def binary(self, module: ModuleT) -> bytes | None:
        """Return the bytes from which `load` makes this module in a later process; None if the runtime has none.

        It is called once, after the kernels of the module have run, because some runtimes compile code at that time.
        """
        return None

    def load(self, binary: bytes, queue: int = 0) -> ModuleT:
        """Return the module from which `binary` was taken, for the same queue, device and compiler.

        The engine has compared these, and the digest of the bytes.

        Raises:
            KernelCompileFailed: The runtime refuses the bytes. Then the program is compiled.
        """
        raise UnsupportedFeature("loading of compiled code", backend=type(self).__name__)

    # ── memory ───────────────────────────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def allocate(self, size: int) -> MemoryT:
        """Allocate `size` >= 1 bytes, aligned for every type; their contents are unspecified unless `allocates_zeros`.

        Raises:
            DeviceOutOfMemory: There is not enough memory. The engine translates Python's `MemoryError` to it.
        """

    @abstractmethod
    def fill(self, memory: MemoryT, byte: int, size: int) -> None:
        """Enqueue a fill of the first `size` >= 1 bytes with `byte` (0 … 255). `memory` may be larger."""

    @abstractmethod
    def copy_in(self, memory: MemoryT, data: memoryview, offset: int = 0) -> None:
        """Copy `data` (contiguous, format "B", at least 1 byte) to `memory`, from byte `offset` on.

        After the call, the host bytes may be changed or freed.
        """

    @abstractmethod
    def copy_out(self, memory: MemoryT, into: memoryview, offset: int = 0) -> None:
        """Copy bytes of `memory` from byte `offset` on to `into` (contiguous, writable, format "B", at least 1 byte).

        The copy has ended when the call returns.
        """

    def in_place(self, data: memoryview) -> Any | None:
        """Return an argument of launches that refers to host bytes, which launches use without a copy.

        It is called only if `shares_host_memory` is true.

        Args:
            data: Contiguous memory of any format, at least 1 byte. If it is read-only, no launch writes to it. The
                argument and the launches that use it keep it alive.

        Returns:
            The argument; None if the memory is not aligned as the device needs it. An alignment of 64 bytes suffices.
        """
        raise UnsupportedFeature("computing in host memory", backend=type(self).__name__)

    def wrap(self, foreign: object) -> MemoryT | None:
        """Return the memory of another library's array, without a copy.

        Args:
            foreign: An array with the attribute `nbytes`. It can be wrapped if it is contiguous, writable, and
                accessible to kernels of the device, according to a protocol that the port knows (DLPack, an array
                interface).

        Returns:
            The memory, which keeps `foreign` alive, and is used like allocated memory but never freed; None if the
            array cannot be wrapped.
        """
        return None

    def export(self, memory: MemoryT, size: int) -> object:
        """Return the first `size` bytes as a writable array, without a copy, after all work that uses them has ended.

        It is a NumPy array for host memory, and an array of a library for the device otherwise. It keeps the bytes
        alive, even after `free`.
        """
        raise UnsupportedFeature("exporting of memory", backend=type(self).__name__)

    @abstractmethod
    def free(self, memory: MemoryT) -> None:
        """Free memory when all work that uses it has ended. It is called once, and never raises."""

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
        """Enqueue a kernel.

        Args:
            module: The code.
            kernel: One of `SourceUnit.kernels`.
            grid: The number of workgroups on each axis, at least 1. If workgroups are loops, a work item runs one
                workgroup, which may be a batch of workgroups of the program.
            workgroup_size: The number of invocations on each axis.
            args: The bound buffers of the kernel in argument order (a `MemoryT`, or a result of `in_place`), and then a
                u32 (an int) for each name of `Kernel.lengths`. A repeated dispatch passes the same objects again,
                except for results of `in_place`. So a port may compare by identity and set only what has changed.
            timed: Whether `elapsed` will be called with the event. Otherwise an event may represent all work that was
                enqueued so far.
            longest: The launch is known to end within this time in seconds, for all data. A port may block the host for
                this long.

        Returns:
            An event, for `wait` and `query`.
        """

    def submit(self, event: EventT) -> None:
        """Announce a wait for the last launch so far, before which others may be enqueued.

        It is called at the end of a dispatch, and from time to time in a long sequence. A port may start the device and
        mark the position in its queue, so that a wait for the launch does not include later work. By default it does
        nothing.
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
        """Return a function that launches a kernel and waits without a limit. A port may override it with a faster way.

        Args:
            module: As for `launch`.
            kernel: As for `launch`.
            grid: As for `launch`.
            workgroup_size: As for `launch`.
            args: As for `launch`.
            places: The positions in `args` of the arguments that change. The function takes them as a sequence.
            longest: As for `launch`.
            is_brief: Whether the launch takes a few microseconds, so that a port may hold the interpreter's lock.
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
        """Report that the dispatch which ends with the launch of `event` has failed, so that nothing reads its results.

        A port may end the launch early. Everything that it uses lives until it has ended. It may have ended already.
        Never raises.
        """

    def side_by_side(self, module: ModuleT, kernel: str, workgroup_size: Extent) -> int:
        """Return the number of workgroups of a kernel that are resident at once, so that they can wait for each other.

        A kernel with grid barriers is not launched over larger grids. It is called only if the target has grid
        barriers.
        """
        raise UnsupportedFeature("grid barriers inside of kernels", backend=type(self).__name__)

    def record(self, enqueue: Callable[[], None]) -> Any:
        """Record the launches and fills that `enqueue` makes, without running them.

        `enqueue` calls only `launch` (not `timed`) and `fill`, and its events are not used. If it raises, nothing is
        recorded. It is called only if `records` is true.
        """
        raise UnsupportedFeature("recording of launches", backend=type(self).__name__)

    def replay(self, recording: Any) -> EventT:
        """Enqueue all recorded work in order, and return the event of the last launch.

        The caller keeps the modules, memory and arguments of a recording alive until it is forgotten.
        """
        raise UnsupportedFeature("recording of launches", backend=type(self).__name__)

    def forget(self, recording: Any) -> None:
        """Release a recording. It is called once; a replay may still be in flight. Never raises."""

    # ── wait ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def wait(self, event: EventT, timeout: float | None = None) -> bool:
        """Wait until a launch has ended, for at most `timeout` seconds (None: without a limit).

        The failure of a launch is raised here, or by the next `copy_out`. Interrupts of the host are not blocked, and
        `wait_limit` is checked before each part of the wait.

        Returns:
            Whether the launch has ended.
        """

    @abstractmethod
    def finish(self, timeout: float | None = None) -> bool:
        """Wait in the same way for all work, and return whether it has ended. Failures of launches are not raised."""

    @abstractmethod
    def query(self, event: EventT) -> bool:
        """Return whether a launch has ended, without waiting."""

    @abstractmethod
    def elapsed(self, event: EventT) -> int | None:
        """Return the nanoseconds of the kernel on the device; None if unknown. The launch was `timed` and has ended."""

    def times(self, event: EventT) -> tuple[int, int] | None:
        """Return the start and end of that kernel in nanoseconds of a device clock; None if there is no such clock."""
        return None

    # ── end ──────────────────────────────────────────────────────────────────────────────────────────────────────────

    @abstractmethod
    def close(self) -> None:
        """Close the device, after which no other method is called. It may be called twice, and never raises.

        It waits for work in flight, for at most `CLOSING` seconds. Work that does not end by then keeps what it uses.
        """


OpenPort: TypeAlias = Callable[[], DevicePort[Any, Any, Any]]
"""Opens the device. If another process can import the function, code can be compiled there."""
