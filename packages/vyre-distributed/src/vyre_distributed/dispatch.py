"""One launch on a cluster: the tasks, what each is given and gives back, and their results as the outputs."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import uuid4

import numpy as np
from distributed import Client, Future

from vyre_distributed import cluster
from vyre_distributed.combine import applied, tree
from vyre_distributed.shard_program import ShardProgram
from vyre_distributed.shards import Combination, Sharding, Span
from vyre_distributed.worker import (
    Bytes,
    Part,
    TaskRequest,
    TaskResult,
    Whole,
    combine,
    run_shard,
    run_whole,
    without_changes,
    without_parts,
)
from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.results import Outputs
from vyre_driver.errors import BackendUnavailable, DispatchTimeout, Trapped
from vyre_driver.plan.launch import LaunchPlan
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Trap

T = TypeVar("T")

LOOK = 2.0
"""Seconds between two looks at whether the cluster has workers, while a launch runs."""
INLINE = 2**16
"""Bytes up to which an input is a part of its task; larger ones go to the workers directly."""


def dispatch_whole(
    tasks: Tasks, plan: LaunchPlan, wire: Future[bytes], views: Sequence[memoryview], config: DispatchConfig
) -> Outputs:
    """Run a launch on one worker."""
    given = config.replace(timeout=tasks.left, profile=None, grid_override=plan.grid, workgroup_override=None)
    data = tasks.scatter([np.frombuffer(view, np.uint8) for view in views])
    task = tasks.submit(_key(plan), run_whole, wire, TaskRequest(config=given), *data)
    (result,) = tasks.gather([task])
    if result.trap is not None:
        raise _with_lines(result.trap, plan.program)
    return [memoryview(bytearray(part)) for part in result.parts]


def dispatch_shards(
    tasks: Tasks,
    sharding: Sharding,
    shard: ShardProgram,
    wire: Future[bytes],
    views: Sequence[memoryview],
    config: DispatchConfig,
) -> Outputs:
    """Run a launch as one task for each shard, and a tree of tasks for what is combined."""
    plan = sharding.plan
    data = {name: np.frombuffer(view, np.uint8) for name, view in zip(plan.inputs, views, strict=True)}
    launch, key, numbers = _Launch(sharding, shard, data), _key(plan), range(len(sharding.shards))
    given = [launch.given(number) for number in numbers]
    scattered = iter(tasks.scatter([array for arrays in given for array in arrays]))
    shards = []
    for n, own in enumerate(given):
        request = launch.request(n, config, tasks.left)
        shards.append(tasks.submit(f"{key}-{n}", run_shard, wire, request, *[next(scattered) for _ in own]))
    hows = [whole.how for whole in launch.wholes]
    wanted, tops = shards, []
    if hows:
        wanted, changes = [], shards
        if launch.has_parts:
            wanted = [tasks.submit(f"{key}-parts-{n}", without_changes, one) for n, one in enumerate(shards)]
            changes = [tasks.submit(f"{key}-changes-{n}", without_parts, one) for n, one in enumerate(shards)]
        count = itertools.count()
        tops = [tree(changes, lambda a, b: tasks.submit(f"{key}-combine-{next(count)}", combine, hows, a, b))]
    results = tasks.gather([*wanted, *tops])
    traps = [result.trap for result in results if result.trap is not None]
    if traps:
        raise _with_lines(min(traps, key=lambda trap: trap.invocation), plan.program)
    return launch.outputs(results[: len(wanted)], results[-1] if tops else None)


class Tasks:
    """The tasks of one dispatch, which are cancelled if it fails. Its deadline counts from `started`."""

    def __init__(self, client: Client, config: DispatchConfig, started: float) -> None:
        self._client, self._config, self._started = client, config, started
        self._futures: list[Future[Any]] = []

    @property
    def left(self) -> float | None:
        """Seconds until the deadline."""
        if self._config.timeout is None:
            return None
        return max(1e-3, self._config.timeout - (time.monotonic() - self._started))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._client.cancel(self._futures)

    def submit(self, key: str, task: Callable[..., T], *given: object) -> Future[T]:
        """Add a task. Futures among what it is given are its dependencies."""
        future = self._client.submit(task, *given, key=key)
        self._futures.append(future)
        return future

    def scatter(self, arrays: Sequence[Bytes]) -> list[Bytes | Future[Bytes]]:
        """Large arrays on the workers; small ones as they are.

        Each has a key of its own. Keys by content would be those of data that the cluster is about to release.
        """
        large = [n for n, array in enumerate(arrays) if array.nbytes > INLINE]
        found: list[Bytes | Future[Bytes]] = list(arrays)
        if large:
            # `scatter` on its own waits for a worker that has stopped however long that takes.
            send = partial(self._client.scatter, [arrays[n] for n in large], hash=False, asynchronous=True)
            with self._deadline("the upload"):
                self._require_worker()
                futures = self._client.sync(send, callback_timeout=self.left)
            for n, future in zip(large, futures, strict=True):
                found[n] = future
        return found

    def gather(self, futures: Sequence[Future[Any]]) -> list[Any]:
        """The results, in order. `DispatchTimeout` at the deadline, also at that of a worker."""
        with self._deadline("the shards"):
            self._wait(futures)
            return list(self._client.gather(futures))

    def _wait(self, futures: Sequence[Future[Any]]) -> None:
        """Until all have ended. Dask waits for ever where all workers have, as those do that cannot import a task.

        Its `wait` takes the current client, and to make one current changes the scheduler of the whole process.
        """
        ended = threading.Semaphore(0)
        for future in futures:
            future.add_done_callback(lambda _: ended.release())
        for _ in futures:
            left = self.left
            while not ended.acquire(timeout=LOOK if left is None else min(LOOK, left)):
                if left is not None and left <= LOOK:
                    raise TimeoutError
                self._require_worker()
                left = self.left

    def _require_worker(self) -> None:
        """Wait for a worker where there is none."""
        if self._client.nthreads():
            return
        most, left = cluster.CONNECT_TIMEOUT, self.left
        try:
            self._client.wait_for_workers(1, timeout=most if left is None else min(most, left))
        except TimeoutError:
            if left is not None and left <= most:
                raise
            fix = "look into the logs of the workers; each needs the distributions that the client has"
            raise BackendUnavailable("dask", f"the cluster has had no worker for {most} s", fix=fix) from None

    @contextmanager
    def _deadline(self, what: str) -> Iterator[None]:
        try:
            yield
        except (TimeoutError, DispatchTimeout):
            if self._config.timeout is None:
                raise
            raise DispatchTimeout(self._config.timeout, what, backend="dask") from None


class _Launch:
    """What each task of a launch is given and gives back."""

    def __init__(self, sharding: Sharding, shard: ShardProgram, data: dict[str, Bytes]) -> None:
        self._plan, self._sharding, self._shard, self._data = sharding.plan, sharding, shard, data
        program = self._plan.program
        self._sizes = {buffer.name: buffer.dtype.size for buffer in program.buffers}
        self._concatenated = [
            (n, b.name) for n, b in enumerate(program.outputs) if sharding.combined[b.name] is Combination.CONCATENATE
        ]
        self._whole = [(n, b) for n, b in enumerate(program.outputs) if (n, b.name) not in self._concatenated]
        self.wholes = tuple(
            Whole(n, _element(sharding.combined[b.name], b.dtype.numpy), sharding.combined[b.name])
            for n, b in self._whole
        )
        self.has_parts = bool(self._concatenated)

    def request(self, number: int, config: DispatchConfig, left: float | None) -> TaskRequest:
        shard, plan = self._sharding.shards[number], self._plan
        x, y, z = plan.grid
        extents = [x, y, z]
        extents[self._sharding.axis] = shard.groups
        given = DispatchConfig(
            ulp_budget=config.ulp_budget,
            timeout=left,
            label=config.label,
            grid_override=(extents[0], extents[1], extents[2]),
        )
        zeros = [
            (position, shard.needs[buffer.name].count * buffer.dtype.size)
            for position, buffer in enumerate(self._shard.program.inputs)
            if buffer.name not in self._data and buffer.name != self._shard.parameter
        ]
        parts = []
        for output, name in self._concatenated:
            size, base, written = self._sizes[name], shard.needs[name].start, shard.writes[name]
            start = written.start - base if written.count else 0
            parts.append(Part(output, start * size, (start + written.count) * size))
        return TaskRequest(
            config=given,
            zeros=tuple(zeros),
            parts=tuple(parts),
            wholes=self.wholes,
            axis=self._sharding.axis,
            first=shard.first,
            grid=plan.grid,
        )

    def given(self, number: int) -> list[Bytes]:
        """The bytes of a shard's inputs in binding order, but for those that are zero."""
        found = []
        for buffer in self._shard.program.inputs:
            if buffer.name == self._shard.parameter:
                found.append(self._shard.words[number].view(np.uint8))
            elif buffer.name in self._data:
                found.append(self._slice(buffer.name, self._sharding.shards[number].needs[buffer.name]))
        return found

    def outputs(self, results: Sequence[TaskResult], changes: TaskResult | None) -> Outputs:
        """The outputs of the launch, from the parts of the shards in order, and all changes."""
        memory: dict[str, Bytes] = {}
        for buffer in self._plan.program.outputs:
            given = self._data.get(buffer.name)
            size = self._plan.byte_length(buffer.name)
            memory[buffer.name] = np.zeros(size, np.uint8) if given is None else given.copy()
        for shard, result in zip(self._sharding.shards, results, strict=False):
            for (_, name), part in zip(self._concatenated, result.parts, strict=True):
                start = shard.writes[name].start * self._sizes[name]
                memory[name][start : start + part.size] = part
        found = () if changes is None else changes.changes
        for whole, (_, buffer), change in zip(self.wholes, self._whole, found, strict=True):
            before = memory[buffer.name].view(whole.dtype)
            memory[buffer.name] = applied(whole.how, before, change).view(np.uint8)
        return [memory[out.buffer].data[out.start : out.stop] for out in self._plan.outputs]

    def _slice(self, name: str, span: Span) -> Bytes:
        size = self._sizes[name]
        return self._data[name][span.start * size : span.stop * size]


def _element(how: Combination, dtype: np.dtype[Any]) -> str:
    return "uint8" if how in (Combination.MERGE, Combination.XOR) else dtype.str


def _key(plan: LaunchPlan) -> str:
    """The name of the tasks of a launch: dashboards group tasks by what stands before the number."""
    return f"{plan.program.name}-{uuid4().hex}"


def _with_lines(trap: Trapped, program: Program) -> Trapped:
    """A trap with the lines of Python that wrote it."""
    origins, lines = program.origins, []
    if origins is not None:
        numbered = enumerate(program.statements)
        lines = [origins.statement(n) for n, stmt in numbered if isinstance(stmt, Trap) and stmt.tag == trap.tag]
    where = f"program {program.name!r}"
    return Trapped(trap.tag, trap.trap_code, trap.invocation, origins=tuple(dict.fromkeys(lines)), where=where)
