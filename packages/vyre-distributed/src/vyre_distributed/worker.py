"""What runs on a worker: one program on the worker's best local backend.

Tasks are pure: they read their arguments and give values, so that a scheduler may run one again, or twice.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from distributed import Worker, get_worker

from vyre_distributed._version import __version__
from vyre_distributed.combine import Change, changed, combined
from vyre_distributed.shards import Combination
from vyre_driver import Trace, backend_for, traced
from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.delegate import innermost
from vyre_driver.device.profile import DeviceProfile, Extent
from vyre_driver.errors import ContractMismatch, InvalidSetting, Trapped
from vyre_driver.observe.trace import TraceSpan
from vyre_driver.pipeline.settings import setting
from vyre_driver.registry.backends import device_names, split_device
from vyre_foundation.ir.program import Program
from vyre_foundation.wire import decode

BACKEND = "VYRE_DASK_BACKEND"
"""The environment variable of a worker that names its backend."""

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Part:
    """A range of bytes of an output, by the position of the output."""

    output: int
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Whole:
    """An output of which the changes are combined: its position, its element type and how."""

    output: int
    dtype: str
    how: Combination


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRequest:
    """A dispatch on a worker. The inputs are arguments of the task beside it.

    Attributes:
        version: That of the client's vyre-distributed.
        config: The options, with the grid of the shard.
        zeros: Bytes of the inputs that are zero, by position: the task is not given those.
        parts: What the task gives back of outputs that are concatenated.
        wholes: The outputs whose changes it gives back.
        axis: The axis of the grid that is split.
        first: The shard's first workgroup on it.
        grid: The grid of the whole launch.
    """

    version: str = __version__
    config: DispatchConfig
    zeros: tuple[tuple[int, int], ...] = ()
    parts: tuple[Part, ...] = ()
    wholes: tuple[Whole, ...] = ()
    axis: int = 0
    first: int = 0
    grid: Extent = (1, 1, 1)


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What a task gives: bytes of outputs in the order of `TaskRequest.parts`, changes in that of `TaskRequest.wholes`.

    After a trap there are none of them, but the trap itself, as that of an invocation of the whole launch.
    """

    parts: tuple[Bytes, ...] = ()
    changes: tuple[Change, ...] = ()
    trap: Trapped | None = None


def carried(wire: bytes) -> bytes:
    """The wire form of a program, as data of the cluster that a task makes."""
    return wire


def run_shard(wire: bytes, request: TaskRequest, *given: Bytes) -> TaskResult:
    """Dispatch the program of a shard."""
    program = _program(wire, request.version)
    inputs = _with_zeros(request.zeros, given)
    try:
        outputs = local_backend().dispatch(program, inputs, request.config)
    except Trapped as trap:
        return TaskResult(trap=_in_launch(trap, program, request))
    arrays = [np.frombuffer(output, np.uint8) for output in outputs]
    before = {b.name: data for b, data in zip(program.inputs, inputs, strict=True)}
    changes = []
    for whole in request.wholes:
        old, new = (a.view(whole.dtype) for a in (before[program.outputs[whole.output].name], arrays[whole.output]))
        changes.append(changed(whole.how, old, new))
    return TaskResult(tuple(arrays[part.output][part.start : part.stop] for part in request.parts), tuple(changes))


def run_whole(wire: bytes, request: TaskRequest, *given: Bytes) -> TaskResult:
    """Dispatch a whole launch."""
    program = _program(wire, request.version)
    try:
        outputs = local_backend().dispatch(program, given, request.config)
    except Trapped as trap:
        return TaskResult(trap=trap)
    return TaskResult(tuple(np.frombuffer(output, np.uint8) for output in outputs))


def combine(hows: Sequence[Combination], one: TaskResult, other: TaskResult) -> TaskResult:
    """The changes of two results, and the trap of the lowest invocation."""
    traps = [result.trap for result in (one, other) if result.trap is not None]
    if traps:
        return TaskResult(trap=min(traps, key=lambda trap: trap.invocation))
    changes = (combined(how, a, b) for how, a, b in zip(hows, one.changes, other.changes, strict=True))
    return TaskResult(changes=tuple(changes))


def without_parts(result: TaskResult) -> TaskResult:
    """The changes alone: what a tree of combinations moves between workers."""
    return replace(result, parts=())


def without_changes(result: TaskResult) -> TaskResult:
    """The parts alone."""
    return replace(result, changes=())


def profile() -> DeviceProfile:
    """The device of this worker."""
    return local_backend().device_profile()


def local_backend() -> VyreBackend:
    """The backend of this process: the one that `VYRE_DASK_BACKEND` names, or the most preferred one.

    Where that has several devices, the worker with the name n has device n, as the workers of a `LocalCluster` are
    named 0, 1, …
    """
    if _TRACED and (address := _worker_address()) in _TRACED:
        return _TRACED[address][1]
    name = setting(BACKEND) or "auto"
    if split_device(name)[0] == "dask":
        fix = "name a backend of the worker's machine"
        raise InvalidSetting(BACKEND, needed="a local backend", got=name, fix=fix)
    return backend_for(_device(name, _worker_name()))


@dataclass(frozen=True, slots=True)
class WorkerSpans:
    """What a worker did: its name, its spans, and what to add to their times for those of the machine's clock."""

    name: str
    spans: tuple[TraceSpan, ...]
    to_wall_ns: int


_TRACED: dict[str | None, tuple[Trace, VyreBackend]] = {}
"""The traces of the workers of this process, by address, and the backends whose work goes there."""


def begin_trace(dask_worker: Worker) -> None:
    """Trace the backend of this worker from now on."""
    trace = Trace()
    backend = traced(backend_for(_device(setting(BACKEND) or "auto", dask_worker.name)), trace)
    _TRACED[dask_worker.address] = trace, backend


def end_trace(dask_worker: Worker) -> WorkerSpans:
    """The spans since `begin_trace`; without them, none."""
    trace, backend = _TRACED.pop(dask_worker.address, (Trace(), None))
    if backend is not None:
        backend.shutdown()
    spans = tuple(replace(span, facts={name: str(fact) for name, fact in span.facts.items()}) for span in trace.spans())
    return WorkerSpans(str(dask_worker.name), spans, time.time_ns() - time.perf_counter_ns())


@lru_cache
def _device(name: str, worker: Any) -> str:
    if split_device(name)[1] is not None or not isinstance(worker, int):
        return name
    id = innermost(backend_for(name)).id() if name == "auto" else name
    devices = len(device_names(id))
    return f"{id}:{worker % devices}" if devices > 1 else name


def _worker_name() -> Any:
    try:
        return get_worker().name
    except ValueError:  # in a test that calls a task
        return None


def _worker_address() -> str | None:
    try:
        return str(get_worker().address)
    except ValueError:
        return None


def _program(wire: bytes, version: str) -> Program:
    if version != __version__:
        reason = f"the client has {version}, this worker has {__version__}"
        raise ContractMismatch("vyre-distributed", reason, fix="install one version on all machines of the cluster")
    return decoded(wire)


@lru_cache(256)
def decoded(wire: bytes) -> Program:
    """Decoding verifies the version of the wire form and the digest of the program."""
    return decode(wire)


def _with_zeros(zeros: Sequence[tuple[int, int]], given: Sequence[Bytes]) -> list[Bytes]:
    inputs = list(given)
    for position, size in zeros:
        inputs.insert(position, np.zeros(size, np.uint8))
    return inputs


def _in_launch(trap: Trapped, program: Program, request: TaskRequest) -> Trapped:
    """A trap with the number that its invocation has in the launch."""
    rest, index = trap.invocation, 0
    shard = request.config.grid_override or (1, 1, 1)
    coordinates = []
    for groups, size in zip(shard, program.workgroup_size, strict=True):
        rest, coordinate = divmod(rest, groups * size)
        coordinates.append(coordinate)
    coordinates[request.axis] += request.first * program.workgroup_size[request.axis]
    for axis in (2, 1, 0):
        index = index * request.grid[axis] * program.workgroup_size[axis] + coordinates[axis]
    return Trapped(trap.tag, trap.trap_code, index)
