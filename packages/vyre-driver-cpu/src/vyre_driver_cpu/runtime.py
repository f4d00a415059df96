"""The pool of threads, and the queue of jobs that it works on: `runtime.ll`, compiled when the first launch needs it.

Threads are Python's, so that every system has them, and never come back from native code: they hold no lock of the
interpreter. There is one pool in a process. `VYRE_CPU_THREADS` sets how many threads it has; otherwise there is one for
each CPU that the process may use. A forked child has none of its parent's threads, and starts a pool of its own.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
from functools import cache
from importlib.resources import files

from vyre_driver.cpus import usable_cpus
from vyre_driver.engine.pending import LONGEST_WAIT, keep
from vyre_driver.errors import BackendUnavailable
from vyre_driver.policy.queue import LONGEST_BLOCKING
from vyre_driver_cpu.compiler import LoadedCode, compile_text
from vyre_driver_cpu.cpu import host

VARIABLE = "VYRE_CPU_THREADS"
STACK = 16 * 2**20
"""Bytes for each thread: arrays of workgroups live on the stack, up to 1 MiB of them."""
MOST_THREADS = 4096
"""Threads that `VYRE_CPU_THREADS` may ask for."""
_LINE = 64
_MUTEX, _WORK, _DONE, _SIZE = 0, 128, 256, 512
"""Where a pool has its mutex and its conditions, and its size in bytes."""
_CLOCK_MONOTONIC = {"darwin": 6}
_OTHER_CLOCK_MONOTONIC = 1
_WITHOUT_END = 2.0**31
"""Seconds of a wait that does not end before the work."""
PAST_CACHES = 8 * 2**20
"""Bytes that a thread stores of a result that bypasses the caches. On an Emerald Rapids, whose cores have caches of 2
MiB, a copy of 4 MiB takes as long either way."""
CHUNKS = 8
"""Chunks of a launch for each thread: threads that are late, or have more to do, leave more chunks to others."""
LONGEST_CHUNK = LONGEST_BLOCKING - LONGEST_WAIT
"""Most seconds of a chunk in which the thread that waits takes part. It may begin one after `LONGEST_WAIT`."""
FEW_GROUPS, MOST_CHUNKS = 16, 256
"""Smaller chunks are made for that thread only if they have so few workgroups, or at least half as many as others have,
and are so few: what neighbouring workgroups share is read once in one chunk, and again in the next."""


class PoolJob(ctypes.Structure):
    """A launch, as `runtime.ll` knows it. It must live until it has ended.

    Of `count` threads each has a share; `most` take part at once. If it is `brief`, none of its chunks takes more than
    `LONGEST_CHUNK` seconds.
    """

    _fields_ = (
        ("function", ctypes.c_void_p),
        ("arguments", ctypes.c_void_p),
        ("grid", ctypes.c_void_p),
        ("total", ctypes.c_int64),
        ("chunk", ctypes.c_int64),
        ("shares", ctypes.c_void_p),
        ("count", ctypes.c_int64),
        ("users", ctypes.c_int32),
        ("state", ctypes.c_int32),
        ("began", ctypes.c_int64),
        ("ended", ctypes.c_int64),
        ("following", ctypes.c_void_p),
        ("most", ctypes.c_int32),
        ("brief", ctypes.c_int32),
        ("awaited", ctypes.c_int32),
        ("first", ctypes.c_int64),
    )


class PoolJobs:
    """Launches that run one after the other, and the memory of their shares."""

    __slots__ = ("array", "shares")

    def __init__(self, array: ctypes.Array[PoolJob]) -> None:
        self.array = array
        self.shares = (ctypes.c_int64 * (2 * len(array) * array[0].count))()

    @classmethod
    def of(cls, job: PoolJob) -> PoolJobs:
        """One launch alone."""
        return cls(_One(job))

    @property
    def are_submitted(self) -> bool:
        """Whether `Pool.submit` has taken them."""
        return bool(self.array[0].shares)

    @property
    def times(self) -> tuple[int, int]:
        """When the first began and the last ended, which they have."""
        return self.array[0].began, self.array[-1].ended

    @property
    def last_address(self) -> int:
        """Where the last one is: it ends after all others."""
        return ctypes.addressof(self.array[-1])


_One = PoolJob * 1


def thread_count() -> int:
    """How many threads a pool has; `BackendUnavailable` for a setting that is no number from 1 to `MOST_THREADS`."""
    wanted = os.environ.get(VARIABLE, "").strip()
    if not wanted:
        return usable_cpus()
    if not wanted.isdecimal() or not 1 <= int(wanted) <= MOST_THREADS:
        reason = f"{VARIABLE}={wanted!r} is not a number of threads, from 1 to {MOST_THREADS}"
        raise BackendUnavailable("cpu", reason, fix="set it to one of these, or unset it")
    return int(wanted)


class Pool:
    """Threads, and the jobs that they work on in the order of `submit`.

    Where not one of them starts, as at the end of the interpreter, the thread that submits jobs works on them.
    """

    def __init__(self, threads: int) -> None:
        self._threads, self._has_no_threads = threads, False
        self._memory = (ctypes.c_char * (_SIZE + _LINE))()
        start = ctypes.addressof(self._memory)
        self._address = start + -start % _LINE
        self._code = native()
        pointer, word, wide = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64
        self._submit = self._code.function("submit", pointer, pointer, wide, pointer, word)
        self._run = self._code.function("run", pointer, pointer, pointer, word, wide, wide, word, result=word)
        self._await = self._code.function("await", pointer, pointer, word, wide, wide, word, result=word)
        self._has_ended = self._code.function("has_ended", pointer, pointer, result=word)
        self._cancel = self._code.function("cancel", pointer)
        self._initialize()
        self._start()

    def job(
        self, function: int, arguments: tuple[int, int], total: int, chunk: int, longest: float, first: int = 0
    ) -> PoolJob:
        """A launch of a function, whose arguments and grid are at two addresses, over `total` workgroups from `first`.

        Threads take `chunk` at once. All of them take `longest` seconds at most, in one thread.
        """
        brief = self._has_no_threads or longest * min(1.0, chunk / total) <= LONGEST_CHUNK
        most, count = max(1, min(-(-total // chunk), self._threads)), max(1, self._threads)
        return PoolJob(function, *arguments, total, chunk, count=count, most=most, brief=brief, first=first)

    def submit(self, jobs: PoolJobs) -> None:
        """Run jobs one after the other, behind all others."""
        array, shares = jobs.array, jobs.shares
        self._submit(self._address, ctypes.addressof(array), len(array), ctypes.addressof(shares), 0)
        if self._has_no_threads:
            self.wait(jobs, _WITHOUT_END, takes_part=True)

    def run(self, jobs: PoolJobs, seconds: float, *, takes_part: bool) -> bool:
        """Run one job, behind all others, and wait for it as `wait` does. Whether it has ended."""
        if self._has_no_threads:
            self.submit(jobs)
            return True
        job, shares = jobs.last_address, ctypes.addressof(jobs.shares)
        return bool(self._run(self._address, job, shares, int(takes_part), *_times(seconds)))

    def has_ended(self, jobs: PoolJobs) -> bool:
        """Whether the last of some jobs has ended; then everything that they wrote is seen."""
        return bool(self._has_ended(self._address, jobs.last_address))

    def wait(self, jobs: PoolJobs, seconds: float, *, takes_part: bool) -> bool:
        """Wait until the last of some jobs has ended, for so long at most. Whether it has.

        A thread that `takes_part` works on it meanwhile, or on a job before it that no thread works on, if these are
        brief, and leaves them at the end of a chunk alone.
        """
        return bool(self._await(self._address, jobs.last_address, int(takes_part), *_times(seconds)))

    def cancel(self, jobs: PoolJobs) -> None:
        """Leave out what no thread has taken yet of some jobs."""
        for job in jobs.array:
            self._cancel(ctypes.addressof(job))

    def chunk(self, total: int, longest: float) -> int:
        """How many workgroups of a launch that takes `longest` seconds at most are taken at once."""
        chunk = -(-total // (self._threads * CHUNKS))
        if longest * chunk <= LONGEST_CHUNK * total or longest > MOST_CHUNKS * LONGEST_CHUNK:
            return chunk
        brief = int(LONGEST_CHUNK * total / longest)
        return brief if 0 < brief <= FEW_GROUPS or 2 * brief >= chunk else chunk

    def _initialize(self) -> None:
        """Mutex and conditions. On Windows zeros are initialized ones."""
        if sys.platform == "win32":
            return
        library = ctypes.CDLL(None)
        library.pthread_mutex_init(ctypes.c_void_p(self._address + _MUTEX), None)
        for condition in (_WORK, _DONE):
            library.pthread_cond_init(ctypes.c_void_p(self._address + condition), None)

    def _start(self) -> None:
        """Start the threads, or as many as the system allows: they take the shares of the others."""
        work = self._code.function("work", ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32)
        before = threading.stack_size(STACK)
        try:
            for number in range(self._threads):
                given = self._address, number, self._threads
                threading.Thread(target=work, args=given, name=f"vyre-cpu-{number}", daemon=True).start()
                if not number:
                    keep(self)  # its threads never end
        except RuntimeError:
            self._has_no_threads = not number
        finally:
            threading.stack_size(before)


def _times(seconds: float) -> tuple[int, int, int]:
    """The end of a wait as seconds and nanoseconds of the system's clock, and as milliseconds from now."""
    return *divmod(time.time_ns() + int(seconds * 1e9), 10**9), min(int(seconds * 1000) + 1, 2**31 - 2)


@cache
def pool() -> Pool:
    """The pool of this process."""
    return Pool(thread_count())


@cache
def past_caches() -> int:
    """Bytes of a result from which on it does not fit in the caches of the cores that the pool has threads for."""
    return PAST_CACHES * thread_count()


@cache
def native() -> LoadedCode:
    """The functions of `runtime.ll`, as all pools of the process use them."""
    names = ("work", "submit", "run", "await", "has_ended", "cancel", "begin", "ask", "fill", "fill_whole", "replay")
    return LoadedCode(compile_text(runtime_text(sys.platform), host(), level=0), names)


def runtime_text(platform: str) -> str:
    """The functions of `runtime.ll` for a system, named as `sys.platform` does."""
    folder = files(__package__)
    system = (folder / ("windows.ll" if platform == "win32" else "posix.ll")).read_text()
    clock = _CLOCK_MONOTONIC.get(platform, _OTHER_CLOCK_MONOTONIC)
    return system.replace("i32 CLOCK_MONOTONIC", f"i32 {clock}") + (folder / "runtime.ll").read_text()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=pool.cache_clear)
