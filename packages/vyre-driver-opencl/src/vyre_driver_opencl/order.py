"""The order of work: what is in flight, what it uses, and how the host waits for it.

Each queue is in order. Across queues the order is that of the memory: the host waits before it enqueues work in one
queue that uses what work of another still uses.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyopencl as cl

from vyre_driver.engine.pending import LONGEST_WAIT, AsyncCall, Ledger, WaitLimit, register
from vyre_driver.policy.queue import LONGEST_BLOCKING
from vyre_driver_opencl import aside

if TYPE_CHECKING:
    from vyre_driver_opencl.memory import BufferMemory
    from vyre_driver_opencl.queues import WorkQueue

COMPLETE = cl.command_execution_status.COMPLETE
STATUS = cl.event_info.COMMAND_EXECUTION_STATUS
FEW = 64
"""Pieces of work whose bounds are added up before a wait."""


class Work:
    """What one call has enqueued, and what that `uses`. It ends within `longest` seconds after all before it.

    Without an `event` the call failed, or was interrupted: what was enqueued is unknown. It ends with everything that
    is in its queue now. `freed` is memory to give back then. `call` is what enqueues it on another thread, `waiting` a
    wait for it there.
    """

    __slots__ = ("call", "event", "freed", "longest", "queue", "uses", "waiting")

    def __init__(self, queue: WorkQueue, uses: object = (), longest: float = math.inf) -> None:
        self.queue, self.uses, self.longest = queue, uses, longest
        self.event: cl.Event | None = None
        self.freed: list[BufferMemory] = []
        self.call: AsyncCall | None = None
        self.waiting: AsyncCall | None = None

    def has_ended(self) -> bool:
        """Well or not."""
        if self.is_being_enqueued:
            return False
        try:
            return self.known_event().command_execution_status <= COMPLETE
        except cl.Error:  # the runtime does not know: what the work uses is kept
            return False

    @property
    def is_being_enqueued(self) -> bool:
        """Whether another thread is enqueuing it."""
        return self.call is not None and self.call.is_running

    def known_event(self) -> cl.Event:
        """The event of its end. It is not being enqueued."""
        if self.event is None and self.call is not None and isinstance(self.call.gave, cl.Event):
            self.event = self.call.gave
        if self.event is None:
            self.event = cl.enqueue_marker(self.queue.commands)
            self.queue.commands.flush()
        return self.event


class Order(Ledger):
    """The work of one port that has not ended, the oldest first. `keeps` is what all of it uses.

    Work of a queue that works at once is not entered: it has ended when the call returns that enqueues it.
    """

    def __init__(self, wait_limit: WaitLimit, keeps: object) -> None:
        self._wait_limit, self._keeps = wait_limit, keeps
        self._sweeping = threading.RLock()
        self.entries: deque[Work] = deque()

    def enqueue(
        self,
        queue: WorkQueue,
        memories: Iterable[BufferMemory],
        uses: object,
        longest: float,
        command: Callable[[], cl.Event],
    ) -> Work:
        """Enqueue a command that uses `memories`, after all work that uses them."""
        self._wait_for_others(queue, memories)
        work = Work(queue, uses, longest)
        if not queue.works_at_once:
            self._enter(work, memories)  # before it is enqueued: an interrupt may come in between
            work.event = command()
            return work
        work.event = command()
        if not work.has_ended():
            self._enter(work, memories)
        return work

    def enqueue_aside(
        self,
        queue: WorkQueue,
        memories: Iterable[BufferMemory],
        uses: object,
        longest: float,
        command: Callable[[], AsyncCall],
    ) -> Work:
        """The same with a command that another thread enqueues."""
        self._wait_for_others(queue, memories)
        work = Work(queue, uses, longest)
        self._enter(work, memories)
        work.call = command()
        work.call.result(self._wait_limit, "the first launch")
        return work

    def _wait_for_others(self, queue: WorkQueue, memories: Iterable[BufferMemory]) -> None:
        for memory in memories:
            if memory.last is not None and memory.last.queue is not queue:
                self.wait_for(memory)

    def _enter(self, work: Work, memories: Iterable[BufferMemory]) -> None:
        self.entries.append(work)
        register(self)
        for memory in memories:
            memory.last = work

    def entered(self, queue: WorkQueue, event: cl.Event, memories: Sequence[BufferMemory], uses: object) -> Work:
        """Enter work that was enqueued, and expected to have ended."""
        work = Work(queue, uses)
        work.event = event
        self._enter(work, memories)
        return work

    # ── its end ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def sweep(self) -> bool:
        """Drop what ended work used; whether any work has not ended."""
        with self._sweeping:
            while self.entries and self.entries[0].has_ended():
                work = self.entries.popleft()
                work.uses = ()
                while work.freed:
                    work.freed.pop().release()
            return bool(self.entries)

    def ended(self, work: Work, timeout: float | None = None) -> bool:
        """Wait until work has ended, well or not, `timeout` seconds at most. Whether it has."""
        if not work.has_ended() and not (self._ends_soon(work, timeout) and self._blocked(work)):
            end = math.inf if timeout is None else time.monotonic() + timeout
            while not work.has_ended():
                left = end - time.monotonic()
                if left <= 0:
                    return False
                part = self._wait_limit.seconds(min(LONGEST_WAIT, left))
                self._awaited(work).ended.acquire(timeout=part)
        self.sweep()
        return True

    def finish(self, timeout: float | None) -> bool:
        """The same for all work."""
        end = math.inf if timeout is None else time.monotonic() + timeout
        return all(
            self.ended(work, None if timeout is None else end - time.monotonic()) for work in tuple(self.entries)
        )

    def wait_for(self, memory: BufferMemory) -> Work | None:
        """Wait for the last work that uses this memory: that work, if there was any that had not ended."""
        work = memory.last
        if work is not None:
            self.ended(work)
            memory.last = None
        return work

    def free(self, memory: BufferMemory) -> None:
        """Release memory when nothing uses it any more."""
        work = memory.last
        if work is None or work.has_ended():
            memory.release()
        else:
            work.freed.append(memory)
            if work.has_ended():  # another thread may have swept in between
                memory.release()

    def _ends_soon(self, work: Work, timeout: float | None) -> bool:
        """Whether it is known to end before a wait for it has to be left."""
        if len(self.entries) > FEW or work.is_being_enqueued:
            return False
        most = LONGEST_BLOCKING if timeout is None else min(LONGEST_BLOCKING, timeout)
        return sum(one.longest for one in tuple(self.entries)) <= self._wait_limit.seconds(most)

    @staticmethod
    def _awaited(work: Work) -> AsyncCall:
        """The call of another thread that ends when the work does, or when it has been enqueued."""
        if work.call is not None and work.call.is_running:
            return work.call
        if work.waiting is None:
            work.waiting = AsyncCall(partial(aside.wait, work.known_event()))
        return work.waiting

    @staticmethod
    def _blocked(work: Work) -> bool:
        """Wait in the runtime, which is fastest. Whether it has ended."""
        try:
            work.known_event().wait()
        except cl.Error:
            return work.has_ended()
        return True
