"""The order of work: what is in flight in the queue of threads, what it uses, and how the host waits for it.

What the calling thread does itself has ended when the call returns. It begins when nothing in flight uses the same
memory any more.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable

from vyre_driver.engine.pending import LONGEST_WAIT, Ledger, WaitLimit, register
from vyre_driver_cpu.memory import HostMemory
from vyre_driver_cpu.runtime import LONGEST_CHUNK, Pool, PoolJobs


class Work:
    """Launches: `jobs` of the threads, or None for what the calling thread has done.

    `uses` lives until it ends. `cancel` asks its kernel to end.
    """

    __slots__ = ("_cancel", "_has_ended", "_times", "jobs", "pool", "uses")

    def __init__(
        self,
        pool: Pool | None = None,
        jobs: PoolJobs | None = None,
        uses: object = (),
        cancel: Callable[[], None] | None = None,
    ) -> None:
        self.pool, self.jobs, self.uses = pool, jobs, uses
        self._has_ended = jobs is None
        self._cancel = cancel
        self._times = 0, 0

    def has_ended(self) -> bool:
        """Whether it has."""
        if not self._has_ended:
            assert self.pool is not None
            assert self.jobs is not None
            self._has_ended = self.pool.has_ended(self.jobs)
        return self._has_ended

    def end_if_never_submitted(self) -> None:
        """Mark the work as ended if `Order.submit` was interrupted before the threads got it: it would never end."""
        assert self.jobs is not None
        self._has_ended = not self.jobs.are_submitted

    def give_up(self) -> None:
        """End as soon as possible; what the work would have written is not read."""
        if self.pool is not None and self.jobs is not None and not self.has_ended():
            cancel = self._cancel  # another thread may release it
            if cancel is not None:
                cancel()
            self.pool.cancel(self.jobs)

    def release(self) -> None:
        """Drop what it used, when it has ended: memory that it used refers to it for longer."""
        self.uses, self._cancel = (), None

    @property
    def times(self) -> tuple[int, int]:
        """When it began and ended, which it has, in nanoseconds of a clock."""
        return self._times if self.jobs is None else self.jobs.times

    @times.setter
    def times(self, nanoseconds: tuple[int, int]) -> None:
        self._times = nanoseconds


class Order(Ledger):
    """The work of one port that is in flight, the oldest first."""

    def __init__(self, wait_limit: WaitLimit) -> None:
        self._wait_limit = wait_limit
        self._sweeping = threading.RLock()
        self.entries: deque[Work] = deque()

    def submit(
        self,
        pool: Pool,
        jobs: PoolJobs,
        memories: Iterable[HostMemory],
        uses: object,
        cancel: Callable[[], None] | None = None,
    ) -> Work:
        """Give jobs to the threads. `cancel` asks them to end."""
        work = Work(pool, jobs, uses, cancel)
        try:
            self._add(work, memories)
            pool.submit(jobs)
        except BaseException:
            work.end_if_never_submitted()
            raise
        return work

    def run(
        self, pool: Pool, jobs: PoolJobs, memories: Iterable[HostMemory], uses: object, cancel: Callable[[], None]
    ) -> None:
        """Give one job to the threads, and wait until it has ended. An error ends it, as `cancel` asks."""
        work = Work(pool, jobs, uses, cancel)
        try:
            limit = self._wait_limit.seconds(math.inf)
            self._add(work, memories)
            if not pool.run(jobs, min(LONGEST_WAIT, limit), takes_part=limit >= LONGEST_CHUNK):
                self.ended(work)
        except BaseException:
            work.end_if_never_submitted()
            work.give_up()
            raise
        self.sweep()

    def _add(self, work: Work, memories: Iterable[HostMemory]) -> None:
        """Note work before it is submitted: an interrupt may come in between."""
        self.entries.append(work)
        register(self)
        for memory in memories:
            memory.last = work

    def sweep(self) -> bool:
        """Drop what ended work used; whether any has not ended."""
        with self._sweeping:
            while self.entries and self.entries[0].has_ended():
                self.entries.popleft().release()
            return bool(self.entries)

    def ended(self, work: Work, timeout: float | None = None) -> bool:
        """Wait until work has ended, `timeout` seconds at most. Whether it has."""
        if work.has_ended():
            self.sweep()
            return True
        assert work.pool is not None
        assert work.jobs is not None
        takes_part = self._wait_limit.seconds(math.inf if timeout is None else timeout) >= LONGEST_CHUNK
        end = math.inf if timeout is None else time.monotonic() + timeout
        while not work.has_ended():
            left = end - time.monotonic()
            if left <= 0:
                return False
            part = self._wait_limit.seconds(min(LONGEST_WAIT, left))
            work.pool.wait(work.jobs, part, takes_part=takes_part)
        self.sweep()
        return True

    def finish(self, timeout: float | None) -> bool:
        """The same for all work."""
        end = math.inf if timeout is None else time.monotonic() + timeout
        return all(
            self.ended(work, None if timeout is None else end - time.monotonic()) for work in tuple(self.entries)
        )

    def wait_for(self, memory: HostMemory) -> None:
        """Wait for the last work that uses this memory."""
        if memory.last is not None:
            self.ended(memory.last)
            memory.last = None
