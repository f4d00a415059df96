"""The pool of threads: jobs run in order, whole, each part once; waits end; cancelled parts are left out."""

import ctypes
import math
import os
import subprocess
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from vyre_driver.backend.contract import VyreBackend
from vyre_driver.cpus import usable_cpus
from vyre_driver.engine.pending import WaitLimit
from vyre_driver.errors import BackendError
from vyre_driver.testing.interrupts import interrupted_everywhere
from vyre_driver_cpu.compiler import LoadedCode, compile_text
from vyre_driver_cpu.cpu import host
from vyre_driver_cpu.memory import HostMemory
from vyre_driver_cpu.order import Order
from vyre_driver_cpu.runtime import (
    FEW_GROUPS,
    LONGEST_CHUNK,
    MOST_CHUNKS,
    VARIABLE,
    Pool,
    PoolJob,
    PoolJobs,
    thread_count,
)
from vyre_foundation.build import constant, program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program

KERNELS = """
; Adds 1 to each element that it is given.
define void @count(ptr %args, ptr %grid, i64 %begin, i64 %end) {
entry:
  %memory = load ptr, ptr %args
  br label %round
round:
  %i = phi i64 [ %begin, %entry ], [ %next, %round ]
  %place = getelementptr i32, ptr %memory, i64 %i
  %old = load i32, ptr %place
  %new = add i32 %old, 1
  store i32 %new, ptr %place
  %next = add i64 %i, 1
  %is.left = icmp slt i64 %next, %end
  br i1 %is.left, label %round, label %end.of.it
end.of.it:
  ret void
}
; Waits until the first element is not 0.
define void @hold(ptr %args, ptr %grid, i64 %begin, i64 %end) {
entry:
  %memory = load ptr, ptr %args
  br label %look
look:
  %value = load atomic i32, ptr %memory monotonic, align 4
  %is.closed = icmp eq i32 %value, 0
  br i1 %is.closed, label %look, label %open
open:
  ret void
}
; Adds 1 to each element that it is given, and takes its time.
define void @slow(ptr %args, ptr %grid, i64 %begin, i64 %end) {
entry:
  br label %round
round:
  %n = phi i32 [ 0, %entry ], [ %more, %round ]
  %memory = load volatile ptr, ptr %args
  %more = add i32 %n, 1
  %is.short = icmp slt i32 %more, 100000
  br i1 %is.short, label %round, label %end.of.it
end.of.it:
  call void @count(ptr %args, ptr %grid, i64 %begin, i64 %end)
  ret void
}
"""


@pytest.fixture(scope="module")
def kernels() -> LoadedCode:
    return LoadedCode(compile_text(KERNELS, host()), ("count", "hold", "slow"))


@pytest.fixture(scope="module")
def threads() -> Pool:
    return Pool(3)


class Given:
    """A job over an array, with everything that it uses."""

    def __init__(
        self,
        pool: Pool,
        kernels: LoadedCode,
        name: str,
        memory: np.ndarray,
        total: int,
        chunk: int = 1,
        longest: float = 0.0,
    ) -> None:
        self.memory, self.slots = memory, (ctypes.c_uint64 * 1)(memory.ctypes.data)
        places = ctypes.addressof(self.slots), 0
        self.jobs = PoolJobs.of(
            pool.job(kernels.addresses[name], places, total, chunk, math.inf if name == "hold" else longest)
        )


@pytest.mark.parametrize(("total", "chunk"), [(1, 1), (7, 3), (1000, 1), (1000, 64), (100_000, 999)])
@pytest.mark.parametrize("takes_part", [False, True])
def test_each_workgroup_runs_once(kernels: LoadedCode, threads: Pool, total: int, chunk: int, takes_part: bool) -> None:
    memory = np.zeros(total + 1, np.int32)
    given = Given(threads, kernels, "count", memory, total, chunk)
    threads.submit(given.jobs)
    assert threads.wait(given.jobs, 60.0, takes_part=takes_part)
    assert threads.has_ended(given.jobs)
    assert (memory[:total] == 1).all()
    assert memory[total] == 0
    began, ended = given.jobs.times
    assert 0 < began <= ended


@pytest.mark.parametrize(("total", "chunk"), [(1, 1), (7, 3), (1000, 1), (1000, 64), (100_000, 999)])
@pytest.mark.parametrize("longest", [0.0, math.inf])
@pytest.mark.parametrize("count", [1, 3])
def test_a_job_that_is_run_has_ended(kernels: LoadedCode, total: int, chunk: int, longest: float, count: int) -> None:
    """Of a brief one, the calling thread does its part; of another, all is for the threads of the pool."""
    threads = Pool(count)
    for _ in range(20):
        memory = np.zeros(total + 1, np.int32)
        given = Given(threads, kernels, "count", memory, total, chunk, longest)
        assert threads.run(given.jobs, 60.0, takes_part=True)
        assert threads.has_ended(given.jobs)
        assert (memory[:total] == 1).all()
        assert memory[total] == 0


def test_a_job_that_is_run_waits_for_those_before_it(kernels: LoadedCode, threads: Pool) -> None:
    gate, memory = np.zeros(1, np.int32), np.zeros(10, np.int32)
    first, second = Given(threads, kernels, "hold", gate, 1), Given(threads, kernels, "count", memory, 10)
    threads.submit(first.jobs)
    assert not threads.run(second.jobs, 0.05, takes_part=True)
    assert not memory.any()
    gate[0] = 1
    assert threads.wait(second.jobs, 60.0, takes_part=True)
    assert (memory == 1).all()


def test_an_interrupt_anywhere_of_a_job_that_is_run_leaves_nothing_to_wait_for(
    kernels: LoadedCode, threads: Pool
) -> None:
    order, memory, used = Order(WaitLimit()), np.zeros(100, np.int32), HostMemory(np.zeros(8, np.uint8))

    def run() -> None:
        given = Given(threads, kernels, "count", memory, memory.size)
        order.run(threads, given.jobs, (used,), given, lambda: None)

    for _ in interrupted_everywhere(run):
        assert order.finish(60.0)
        order.wait_for(used)
        assert not order.entries
        before = memory.copy()
        run()
        assert (memory == before + 1).all()


def test_jobs_run_one_after_the_other(kernels: LoadedCode, threads: Pool) -> None:
    gate, memory = np.zeros(1, np.int32), np.zeros(10, np.int32)
    first, second = Given(threads, kernels, "hold", gate, 1), Given(threads, kernels, "count", memory, 10)
    threads.submit(first.jobs)
    threads.submit(second.jobs)
    assert not threads.wait(second.jobs, 0.05, takes_part=False)
    assert not memory.any()
    gate[0] = 1
    assert threads.wait(second.jobs, 60.0, takes_part=False)
    assert (memory == 1).all()
    assert threads.has_ended(first.jobs)


def test_many_threads_wait_and_submit(kernels: LoadedCode, threads: Pool) -> None:
    memory = np.zeros((8, 4096), np.int32)

    def submit(row: int) -> None:
        for _ in range(50):
            given = Given(threads, kernels, "count", memory[row], 4096, 64)
            threads.submit(given.jobs)
            assert threads.wait(given.jobs, 60.0, takes_part=bool(row % 2))

    callers = [threading.Thread(target=submit, args=(row,)) for row in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert (memory == 50).all()


@pytest.mark.parametrize("takes_part", [False, True])
def test_jobs_that_are_submitted_together_run_one_after_the_other(
    kernels: LoadedCode, threads: Pool, takes_part: bool
) -> None:
    memory = np.zeros(1000, np.int32)
    given = Given(threads, kernels, "count", memory, memory.size, 10)
    for repeats in (1, 2, 50):
        jobs = PoolJobs((PoolJob * repeats)(*[given.jobs.array[0]] * repeats))
        threads.submit(jobs)
        assert threads.wait(jobs, 60.0, takes_part=takes_part)
        assert all(a.ended <= b.began for a, b in pairwise(jobs.array))
    assert (memory == 53).all()


def test_jobs_that_are_submitted_together_are_cancelled_together(kernels: LoadedCode, threads: Pool) -> None:
    gate, memory = np.zeros(1, np.int32), np.zeros(1000, np.int32)
    held, given = Given(threads, kernels, "hold", gate, 1), Given(threads, kernels, "count", memory, 1000)
    jobs = PoolJobs((PoolJob * 3)(*held.jobs.array, *given.jobs.array, *given.jobs.array))
    threads.submit(jobs)
    threads.cancel(jobs)
    gate[0] = 1
    assert threads.wait(jobs, 60.0, takes_part=False)
    assert not memory.any()


def test_a_wait_ends_in_time(kernels: LoadedCode, threads: Pool) -> None:
    gate = np.zeros(1, np.int32)
    held = Given(threads, kernels, "hold", gate, 1)
    threads.submit(held.jobs)
    started = time.monotonic()
    assert not threads.wait(held.jobs, 0.02, takes_part=False)
    assert time.monotonic() - started < 5
    gate[0] = 1
    assert threads.wait(held.jobs, 60.0, takes_part=False)


def test_a_thread_that_takes_part_leaves_in_time(kernels: LoadedCode) -> None:
    """The pool has no threads: only the thread that waits works."""
    memory = np.zeros(20_000, np.int32)
    alone = Pool(0)
    given = Given(alone, kernels, "slow", memory, memory.size)
    alone.submit(given.jobs)
    assert not alone.wait(given.jobs, 0.02, takes_part=True)
    assert 0 < memory.sum() < memory.size
    assert not alone.has_ended(given.jobs)
    assert alone.wait(given.jobs, 60.0, takes_part=True)
    assert (memory == 1).all()


def test_a_job_that_a_thread_has_left_can_be_cancelled(kernels: LoadedCode) -> None:
    memory = np.zeros(20_000, np.int32)
    alone = Pool(0)
    given = Given(alone, kernels, "slow", memory, memory.size)
    alone.submit(given.jobs)
    assert not alone.wait(given.jobs, 0.02, takes_part=True)
    done = memory.copy()
    alone.cancel(given.jobs)
    assert alone.wait(given.jobs, 60.0, takes_part=True)
    assert (memory == done).all()


def test_threads_share_with_one_that_takes_part_for_a_while(kernels: LoadedCode, threads: Pool) -> None:
    memory = np.zeros(5_000, np.int32)
    given = Given(threads, kernels, "slow", memory, memory.size)
    threads.submit(given.jobs)
    while not threads.wait(given.jobs, 0.002, takes_part=True):
        pass
    assert (memory == 1).all()


def test_threads_that_come_and_go_lose_nothing(kernels: LoadedCode, threads: Pool) -> None:
    """Several sequences, each with a thread that takes part for a moment at a time, and then waits alone."""
    memory = np.zeros((4, 600), np.int32)

    def submit(row: int) -> None:
        given = Given(threads, kernels, "slow", memory[row], 600, 7)
        for _ in range(5):
            jobs = PoolJobs((PoolJob * 3)(*[given.jobs.array[0]] * 3))
            threads.submit(jobs)
            for _ in range(3):
                threads.wait(jobs, 0.001, takes_part=True)
            assert threads.wait(jobs, 60.0, takes_part=False)

    callers = [threading.Thread(target=submit, args=(row,)) for row in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert (memory == 15).all()


def test_the_thread_that_waits_leaves_the_long_work_of_others_alone(kernels: LoadedCode) -> None:
    """The head of the queue is a launch of another device, which no thread of the pool has taken yet."""
    gate, memory, pool = np.zeros(1, np.int32), np.zeros(10, np.int32), Pool(0)
    long, short = Given(pool, kernels, "hold", gate, 2), Given(pool, kernels, "count", memory, memory.size)
    theirs, ours = Order(WaitLimit()), Order(WaitLimit())
    held = theirs.submit(pool, long.jobs, (), long)
    opener = threading.Timer(5.0, gate.fill, (1,))
    opener.start()
    work = ours.submit(pool, short.jobs, (), short)
    assert not ours.ended(work, 0.2)
    assert not gate[0]
    opener.cancel()
    held.give_up()
    assert ours.ended(work, 60.0)
    assert (memory == 1).all()


@pytest.mark.parametrize("longest", [1.0, 100.0])
def test_the_thread_that_waits_takes_part_where_chunks_end_soon(kernels: LoadedCode, longest: float) -> None:
    memory = np.zeros(100, np.int32)
    pool, order = Pool(0), Order(WaitLimit())
    given = Given(pool, kernels, "count", memory, memory.size, longest=longest)
    work = order.submit(pool, given.jobs, (), given)
    assert order.ended(work, 0.1) is (longest == 1.0)
    assert memory.sum() == (memory.size if longest == 1.0 else 0)
    work.give_up()
    assert pool.wait(given.jobs, 60.0, takes_part=True)


def test_an_error_ends_the_job_that_is_run(kernels: LoadedCode) -> None:
    """Another thread closes the device meanwhile."""
    gate, cancelled, limit, pool = np.zeros(1, np.int32), threading.Event(), WaitLimit(), Pool(1)
    order, used = Order(limit), HostMemory(np.zeros(8, np.uint8))
    given = Given(pool, kernels, "hold", gate, 2)

    def close() -> None:
        limit.stopped = BackendError("closed", fix="open it")

    threading.Timer(0.1, close).start()
    with pytest.raises(BackendError, match="closed"):
        order.run(pool, given.jobs, (used,), given, cancelled.set)
    assert cancelled.is_set()
    assert used.last is not None  # another use of the memory waits for it
    assert not used.last.has_ended()
    limit.stopped = None
    gate[0] = 1
    assert order.finish(60.0)


@pytest.mark.parametrize(
    ("total", "longest", "chunk"),
    [
        (2400, 0.0, 100),
        (2400, 23 * LONGEST_CHUNK, 100),
        (2400, 25 * LONGEST_CHUNK, 96),
        (2400, 47 * LONGEST_CHUNK, 51),
        (2400, 49 * LONGEST_CHUNK, 100),  # 48 workgroups are many, and less than half
        (2400, 150 * LONGEST_CHUNK, FEW_GROUPS),
        (2400, MOST_CHUNKS * LONGEST_CHUNK, 2400 // MOST_CHUNKS),
        (2400, (MOST_CHUNKS + 1) * LONGEST_CHUNK, 100),
        (2400, math.inf, 100),
        (100, 99 * LONGEST_CHUNK, 1),
        (100, 101 * LONGEST_CHUNK, 5),  # a workgroup by itself is too long
        (1, 0.0, 1),
    ],
)
def test_a_launch_is_cut_finely_where_the_thread_that_waits_needs_it(
    threads: Pool, total: int, longest: float, chunk: int
) -> None:
    assert threads.chunk(total, longest) == chunk


def test_a_cancelled_job_ends_without_what_nobody_took(kernels: LoadedCode, threads: Pool) -> None:
    gate, memory = np.zeros(1, np.int32), np.zeros(1000, np.int32)
    held, cancelled = Given(threads, kernels, "hold", gate, 1), Given(threads, kernels, "count", memory, 1000)
    threads.submit(held.jobs)
    threads.submit(cancelled.jobs)
    threads.cancel(cancelled.jobs)
    gate[0] = 1
    assert threads.wait(cancelled.jobs, 60.0, takes_part=False)
    assert not memory.any()


class FewThreads(threading.Thread):
    """Threads of a process that may have no more than `left`."""

    left = 0

    def start(self) -> None:
        if not FewThreads.left:
            raise RuntimeError("can't start new thread")
        FewThreads.left -= 1
        super().start()


@pytest.mark.parametrize("threads", [0, 1])
def test_threads_that_cannot_be_started(threads: int, kernels: LoadedCode, monkeypatch: pytest.MonkeyPatch) -> None:
    """They take the shares of the others; where none has started, the thread that submits does all."""
    monkeypatch.setattr(threading, "Thread", FewThreads)
    monkeypatch.setattr(FewThreads, "left", threads)
    pool, memory = Pool(3), np.zeros(1000, np.int32)
    counted = Given(pool, kernels, "count", memory, 1000, longest=math.inf)
    pool.submit(counted.jobs)
    assert pool.wait(counted.jobs, 60.0 if threads else 0.0, takes_part=False)
    assert (memory == 1).all()


def test_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert thread_count() == usable_cpus() >= 1
    monkeypatch.setenv(VARIABLE, "5")
    assert thread_count() == 5


@pytest.mark.skipif(sys.version_info < (3, 13), reason="the variable is new in Python 3.13")
def test_the_number_of_cpus_that_python_is_told() -> None:
    environment = {**os.environ, "PYTHON_CPU_COUNT": "3"}
    code = "from vyre_driver.cpus import usable_cpus; print(usable_cpus())"
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout == "3\n"


SCRIPT = """
import os, sys
import numpy as np
from vyre_driver_cpu.backend import CpuBackend
from vyre_foundation.build import constant, program
from vyre_foundation.dtype import u32
with program("double", workgroup_size=64) as p:
    x = p.read("x", u32)
    out = p.write("out", u32, like=x)
    out[p.global_id(0)] = x[p.global_id(0)] * 2
double = p.build()
x = np.arange(1 << 22, dtype=np.uint32)
def run(backend):
    return (np.frombuffer(backend.dispatch(double, [x])[0], np.uint32) == x * 2).all()
"""


def run(script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT + script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_process_ends_with_its_threads() -> None:
    done = run("assert run(CpuBackend())\nprint('done')")
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_child_starts_threads_of_its_own() -> None:
    script = """
from vyre_driver_cpu.runtime import pool
assert run(CpuBackend())
before = pool()
child = os.fork()
if child == 0:
    print(pool() is not before)
    print(run(CpuBackend()))
    sys.stdout.flush()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert run(CpuBackend())
"""
    done = run(script)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", "True"]


def test_spawned_processes_have_pools_of_their_own(tmp_path: Path) -> None:
    """The parent's backend is open and has threads; a spawned child imports everything anew."""
    script = """
if __name__ == "__main__":
    import multiprocessing
    import doubling
    from vyre_driver_cpu.backend import CpuBackend
    backend = CpuBackend()
    assert doubling.run(backend)
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=doubling.spawned) for _ in range(2)]
    for child in children:
        child.start()
    assert doubling.run(backend)
    for child in children:
        child.join()
    print([child.exitcode for child in children])
"""
    (tmp_path / "doubling.py").write_text(SCRIPT + "def spawned():\n    assert run(CpuBackend())\n", "utf-8")
    (tmp_path / "spawning.py").write_text(script, "utf-8")
    command = [sys.executable, str(tmp_path / "spawning.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[0, 0]\n", "")


def test_eight_threads_dispatch_at_once(backend: VyreBackend) -> None:
    """Launches of the pool and of the callers, of different programs, share one backend."""

    def shifted(by: int) -> Program:
        with program(f"shifted{by}", workgroup_size=64) as p:
            x = p.read("x", u32)
            out = p.write("out", u32, like=x)
            total = p.var(constant(u32, 0))
            with p.range(0, 50) as k:
                total.set(total * 3 + (x[p.global_id(0)] ^ (k + by)))
            out[p.global_id(0)] = total
        return p.build()

    failed: list[int] = []

    def dispatch(number: int) -> None:
        for size in (1 << 18, 64, 1 << 16):
            x, expected = np.arange(size, dtype=np.uint32), np.zeros(size, np.uint32)
            for k in range(50):
                expected = expected * np.uint32(3) + (x ^ np.uint32(k + number))
            for _ in range(4):
                out = np.frombuffer(backend.dispatch(shifted(number), [x])[0], np.uint32)
                if not np.array_equal(out, expected):
                    failed.append(number)

    callers = [threading.Thread(target=dispatch, args=(number,)) for number in range(8)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert not failed


def test_a_dispatch_while_another_is_pending(backend: VyreBackend) -> None:
    """A pending dispatch of a thread does not keep its next one from running."""
    with program("double", workgroup_size=64) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        out[p.global_id(0)] = x[p.global_id(0)] * 2
    built, given = p.build(), np.arange(1 << 20, dtype=np.uint32)
    pending = backend.dispatch_async(built, [given])
    inner = np.frombuffer(backend.dispatch(built, [given])[0], np.uint32)
    outer = np.frombuffer(pending.await_result()[0], np.uint32)
    assert np.array_equal(inner, given * 2)
    assert np.array_equal(outer, given * 2)


def test_one_thread_is_enough() -> None:
    done = run("assert run(CpuBackend())\nprint('done')", VYRE_CPU_THREADS="1")
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
