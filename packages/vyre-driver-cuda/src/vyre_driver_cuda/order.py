"""What is enqueued on a GPU, in which order, and how much of it has ended.

Launches, fills and most copies go through one stream, in order, and each piece of work has a number.
`DeviceMemory.used` is the number of the last work that may use that memory. So a copy knows whether it has to go
through that stream. While kernels are under way, an upload to memory that none of them uses goes through a stream of
its own, and so does a download of memory whose work has ended: they run beside the kernels. The stream waits for such
uploads before its next work, by an event, and a download is over when it returns. Where nothing is under way there is
nothing to run beside, and all copies stay in that stream: a dispatch alone pays for no second one.

What work uses is kept until it has ended: memory, streams, pinned memory and the pool that memory comes from.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from vyre_driver.engine.pending import Ledger, WaitLimit, register
from vyre_driver_cuda.api import BACKEND
from vyre_driver_cuda.errors import from_status
from vyre_driver_cuda.memory import CopyThreads, DeviceMemory, StreamCopies, Wait

NOT_READY = 600
IMPATIENT = 2e-4
"""Seconds in which a wait looks again at once, for less time than other threads wait for the interpreter anyway.
Longer waits sleep in between."""
LONGEST_PAUSE = 0.005
SELDOM = 64
"""One sweep in this many asks the GPU; the others use what waits have found out. An event costs as much as a launch."""
TRIM = 256
"""Pieces of work after which what ended ones used is dropped, if no other call does it."""


@dataclass(slots=True, eq=False)
class Mark:
    """The end of work by its number.

    A timed launch has events around it; for another the event at its end is made on demand, and then stands behind
    everything that was enqueued until then, as its number does.
    """

    number: int
    start: Any = None
    end: Any = None


class Aside:
    """Copies on a stream of their own, and an event for their end."""

    __slots__ = ("copies", "end", "stream")

    def __init__(self, cupy: Any, wait: Wait, threads: CopyThreads) -> None:
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.end = cupy.cuda.Event(disable_timing=True)
        self.copies = StreamCopies(cupy, self.stream.ptr, wait, threads)


class Order(Ledger):
    """See the module. The thread's device is the right one for every call, but for `sweep`, which needs none.

    `keeps` is what all work uses beside its memory. `is_entered` says whether a call of the port is under way.
    """

    def __init__(self, cupy: Any, is_entered: Callable[[], bool], wait_limit: WaitLimit, keeps: object) -> None:
        self._cupy, self._runtime = cupy, cupy.cuda.runtime
        self._is_entered, self._wait_limit, self._keeps = is_entered, wait_limit, keeps
        self._sweeping = threading.RLock()
        self._uses: deque[tuple[int, Iterable[DeviceMemory]]] = deque()  # by the number of the work
        self._swept = cupy.cuda.Event(disable_timing=True)
        self._until: int | None = None  # the number of the work that this event is behind
        self._sweeps = 0  # that have found work
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self._threads = CopyThreads(partial(self._runtime.setDevice, self._runtime.getDevice()))
        self._copies = StreamCopies(cupy, self.stream.ptr, self._wait_for, self._threads)
        self._in: Aside | None = None
        self._out: Aside | None = None
        self._number = 0  # of the last work,
        self._launched = 0  # the last kernel,
        self._ended = 0  # the last work that is known to have ended,
        self._freed = 0  # and the last that may use memory which was given back
        self._is_uploading = False
        self._captured: set[DeviceMemory] | None = None

    # ── the row ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def next(self, memories: Iterable[DeviceMemory]) -> int:
        """The number of the work that is enqueued now, which uses `memories` and comes after all uploads."""
        if self._is_uploading:
            self.join()
        self._number = number = self._number + 1
        for memory in memories:
            memory.used = number
        self._uses.append((number, memories))
        if not number % TRIM:
            self._trim(self._ended)
        if len(self._uses) == 1:  # else it is registered for what came before, which no sweep has found ended
            register(self)
        if self._captured is not None:
            self._captured.update(memories)
        return number

    def next_launch(self, memories: Iterable[DeviceMemory]) -> int:
        """The same for kernels, which copies may run beside."""
        self._launched = number = self.next(memories)
        return number

    def join(self) -> None:
        """Let the stream wait for the uploads beside it."""
        if self._in is not None:
            self._runtime.eventRecord(self._in.end.ptr, self._in.stream.ptr)
            self._runtime.streamWaitEvent(self.stream.ptr, self._in.end.ptr)
        self._is_uploading = False  # last, because an interrupt may come in between

    def capture(self) -> set[DeviceMemory]:
        """From now on work is captured, not done: the set that the memory it uses is added to."""
        if self._is_uploading:
            self.join()
        self.stream.begin_capture()
        captured: set[DeviceMemory] = set()
        self._captured = captured
        return captured

    def captured(self) -> Any:
        """The graph of what was captured; from now on work is done again."""
        self._captured = None
        return self.stream.end_capture()

    def made(self, address: int, holder: object) -> DeviceMemory:
        """Memory that may have been freed a moment ago: what used it then may be under way."""
        return DeviceMemory(address, holder, self._freed)

    def freed(self, memory: DeviceMemory) -> None:
        """Note that memory was given back, which work up to `memory.used` may still use."""
        self._freed = max(self._freed, memory.used)

    # ── copies ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def write(self, memory: DeviceMemory, offset: int, data: memoryview) -> None:
        """Upload; `data` is free at return."""
        copies = self._copies
        if self._is_beside(memory):
            self._in = self._in or Aside(self._cupy, self._wait_for, self._threads)
            copies, self._is_uploading, memory.used = self._in.copies, True, self._number + 1
        else:
            self.next((memory,))
        copies.write(memory.address + offset, data)

    def read(self, memory: DeviceMemory, offset: int, into: memoryview) -> None:
        """Download, after all work that uses the memory."""
        if self._is_beside(memory):
            self._out = self._out or Aside(self._cupy, self._wait_for, self._threads)
            self._out.copies.read(memory.address + offset, into)
        else:
            number = self.next((memory,))
            self._copies.read(memory.address + offset, into)
            self._ended = number

    def _is_beside(self, memory: DeviceMemory) -> bool:
        """Whether kernels may be under way, none of which uses this memory."""
        return self._launched > self._ended >= memory.used

    # ── waits ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def wait(self, mark: Mark, timeout: float | None) -> bool:
        """Wait for what stands before a mark; whether it has ended in time."""
        if mark.number > self._ended:
            if not self._look(self.end_of(mark), timeout):
                return False
            self._ended = max(self._ended, mark.number)
        return True

    def query(self, mark: Mark) -> bool:
        """Whether it has ended by now."""
        if mark.number > self._ended:
            if not self._has_ended(self.end_of(mark)):
                return False
            self._ended = max(self._ended, mark.number)
        return True

    def end_of(self, mark: Mark) -> Any:
        """The event of a mark, which is made now if it has none."""
        if mark.end is None:
            end = self._cupy.cuda.Event(disable_timing=True)
            self._runtime.eventRecord(end.ptr, self.stream.ptr)
            mark.number, mark.end = self._number, end
        return mark.end

    def begin(self, mark: Mark) -> None:
        """Note the time before a launch, behind everything until now. Both events are there before it is noted."""
        mark.start, mark.end = self._cupy.cuda.Event(), self._cupy.cuda.Event()
        self._runtime.eventRecord(mark.start.ptr, self.stream.ptr)

    def end(self, mark: Mark) -> None:
        """Note the time after it."""
        self._runtime.eventRecord(mark.end.ptr, self.stream.ptr)

    def elapsed(self, mark: Mark) -> int | None:
        """Nanoseconds between the events of a timed launch."""
        if mark.start is None:
            return None
        milliseconds: float = self._runtime.eventElapsedTime(mark.start.ptr, mark.end.ptr)
        return round(1e6 * milliseconds)

    def finish(self, timeout: float | None) -> bool:
        """Wait for everything, at most that many seconds. Whether it has ended."""
        if self._is_uploading:
            self.join()
        mark = Mark(self._number)
        if not self._look(self.end_of(mark), timeout):
            return False
        self._ended = max(self._ended, mark.number)
        return True

    def sweep(self) -> bool:
        """Drop what ended work used; whether any work has not ended."""
        with self._sweeping, suppress(Exception):  # of a lost device nothing is known: what it used is kept
            ended = self._ended
            if self._uses and self._uses[-1][0] > ended:
                self._sweeps += 1
                if self._until is not None or self._sweeps % SELDOM == 0:
                    ended = max(ended, self._looked_behind())
            self._trim(ended)
        return bool(self._uses)

    def _trim(self, ended: int) -> None:
        """Drop what work up to a number used."""
        with self._sweeping:
            while self._uses and self._uses[0][0] <= ended:
                self._uses.popleft()

    def _looked_behind(self) -> int:
        """The number of the last work that an event has seen the end of; while another thread may be enqueueing."""
        number = self._number  # all until this is enqueued, if no call is under way now
        if self._until is None and self._captured is None and not self._is_entered():
            self._runtime.eventRecord(self._swept.ptr, self.stream.ptr)
            self._until = number
        if self._until is None or not self._has_ended(self._swept):
            return 0
        until, self._until = self._until, None
        return until

    def close(self, timeout: float) -> bool:
        """Wait for everything and release pinned memory, unless there is work that does not end in time.

        Returns:
            Whether everything has ended.
        """
        if not self.finish(timeout):
            return False
        self._uses.clear()
        for copies in (self._copies, *(aside.copies for aside in (self._in, self._out) if aside is not None)):
            copies.release()
        self._threads.end()
        return True

    def _wait_for(self, event: Any) -> None:
        self._look(event, None)

    def _look(self, event: Any, timeout: float | None) -> bool:
        """Look again and again, later and later, so that other threads run and interrupts get through in between.

        Raises when the deadline of the dispatch has passed, or another thread closes the device.
        """
        if self._has_ended(event):
            return True
        started = time.perf_counter()
        while not self._has_ended(event):
            waited = time.perf_counter() - started
            if timeout is not None and waited >= timeout:
                return False
            pause = 0.0 if waited < IMPATIENT else min(waited / 16, LONGEST_PAUSE)
            left = math.inf if timeout is None else timeout - waited
            pause = self._wait_limit.seconds(min(pause, left))
            if pause:  # a sleep of no time takes 50 µs and more on Linux
                time.sleep(pause)
        return True

    def _has_ended(self, event: Any) -> bool:
        status = self._runtime.eventQuery(event.ptr)
        if status not in (0, NOT_READY):
            raise from_status(BACKEND, status, str(self._runtime.CUDARuntimeError(status)))
        return bool(status == 0)
