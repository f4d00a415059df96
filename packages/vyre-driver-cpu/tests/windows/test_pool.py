"""The pool of threads with the locks and condition variables of Windows."""

import ctypes
import itertools
import random

import numpy as np
import pytest
from cpu_windows.process import missing

if reason := missing():
    pytest.skip(reason, allow_module_level=True)

from cpu_windows.port import MINUTE, THREADS, WINDOWS, pool, process, runtime

from vyre_driver_cpu.compiler import compile_text
from vyre_driver_cpu.runtime import PoolJob

COUNT = """
define void @count(ptr %args, ptr %grid, i64 %begin, i64 %end) nounwind {
entry:
  %counts = load ptr, ptr %args
  %most.at = getelementptr i8, ptr %args, i64 8
  %most = load i64, ptr %most.at
  %turn.at = alloca i64
  br label %head
head:
  %group = phi i64 [ %begin, %entry ], [ %next, %done ]
  %is.one = icmp slt i64 %group, %end
  br i1 %is.one, label %add, label %end.of.groups
add:
  %count = getelementptr i32, ptr %counts, i64 %group
  %1 = atomicrmw add ptr %count, i32 1 monotonic
  br label %wait
wait:
  %turn = phi i64 [ 0, %add ], [ %more, %wait ]
  %more = add i64 %turn, 1
  store volatile i64 %more, ptr %turn.at
  %waits = icmp slt i64 %more, %most
  br i1 %waits, label %wait, label %done
done:
  %next = add i64 %group, 1
  br label %head
end.of.groups:
  ret void
}
"""
"""Adds 1 to the element of each workgroup, and then counts to a number."""
GROUPS, JOBS, SIZE = 1000, 8, ctypes.sizeof(PoolJob)
FOREVER = 1 << 31


class Counting:
    """Jobs of the kernel `COUNT`, and their memory."""

    def __init__(self) -> None:
        self._function = process().link(compile_text(COUNT, WINDOWS), ["count"])[1]["count"]
        self._counts, self._slots = process().allocate(4 * GROUPS), process().allocate(4096)
        self.jobs, self.shares = process().allocate(JOBS * SIZE), process().allocate(JOBS * THREADS * 16)

    def prepare(self, *launches: tuple[int, int, int], turns: int, is_brief: bool) -> None:
        """Launches as total, first workgroup and chunk, each workgroup of which counts to `turns`."""
        process().write(self._slots, np.array([self._counts, turns], np.uint64).tobytes())
        jobs = (
            PoolJob(
                self._function, self._slots, 0, total, chunk, count=THREADS, most=THREADS, brief=is_brief, first=first
            )
            for total, first, chunk in launches
        )
        process().write(self.jobs, b"".join(map(bytes, jobs)))

    @property
    def counts(self) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
        return np.frombuffer(process().read(self._counts, 4 * GROUPS), np.uint32)


def has_ended(job: int, milliseconds: int, takes_part: int = 0) -> bool:
    return bool(process().call(runtime()["await"], pool(), job, takes_part, FOREVER, 0, milliseconds) & 1)


def test_each_workgroup_runs_once() -> None:
    counting, choose, wanted = Counting(), random.Random(0), np.zeros(GROUPS, np.uint32)
    for _, takes_part in itertools.product(range(1000), (0, 1)):
        launches = []
        for _ in range(choose.randint(1, JOBS)):
            total = choose.randint(1, GROUPS)
            first = choose.randint(0, GROUPS - total)
            launches.append((total, first, choose.randint(1, total)))
            wanted[first : first + total] += 1
        counting.prepare(*launches, turns=choose.randint(1, 50), is_brief=True)
        process().call(runtime()["submit"], pool(), counting.jobs, len(launches), counting.shares, 0)
        assert has_ended(counting.jobs + SIZE * (len(launches) - 1), MINUTE, takes_part)
    assert np.array_equal(counting.counts, wanted)


def test_a_wait_ends_before_the_work_and_a_cancelled_job_leaves_workgroups_out() -> None:
    counting = Counting()
    counting.prepare((GROUPS, 0, 1), turns=10_000_000, is_brief=False)
    process().call(runtime()["submit"], pool(), counting.jobs, 1, counting.shares, 0)
    assert not has_ended(counting.jobs, 20)
    process().call(runtime()["cancel"], counting.jobs)
    assert has_ended(counting.jobs, MINUTE)
    assert 0 < counting.counts.sum() < GROUPS
