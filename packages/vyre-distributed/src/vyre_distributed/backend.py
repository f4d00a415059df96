"""The backend `dask`: one dispatch over the workers of a Dask cluster."""

from __future__ import annotations

import atexit
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from distributed import CancelledError, Client, Future, KilledWorker

from vyre_distributed._version import __version__
from vyre_distributed.cluster import Connection, connect
from vyre_distributed.dispatch import Tasks, dispatch_shards, dispatch_whole
from vyre_distributed.pipeline import PersistentPipeline
from vyre_distributed.shard_program import ShardProgram, shard_program
from vyre_distributed.shards import Sharding, SplitRefusal, find_sharding
from vyre_distributed.worker import carried, profile
from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.pipeline import CompiledPipeline
from vyre_driver.backend.results import Inputs, Outputs
from vyre_driver.device.profile import DeviceProfile, DeviceTimingQuality, Extent
from vyre_driver.engine.resident import HostMemoryBackend
from vyre_driver.errors import BackendUnavailable, DispatchFailed, UnsupportedFeature
from vyre_driver.plan.admission import admit, admit_program
from vyre_driver.plan.indirect import read_indirect_grid
from vyre_driver.plan.launch import LaunchPlan, plan_launch, validated, with_workgroup_size
from vyre_driver.plan.lengths import bind_inputs
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ir.program import Program

ATTEMPTS = 3
"""How often a dispatch is submitted whose inputs were lost with a worker."""

LOST = (CancelledError, KilledWorker, OSError, TimeoutError)
"""What Dask raises when workers or their data are lost, or there are none at the moment."""

CACHED = 128
"""Shardings that are kept, by launch."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """How a launch runs: as shards of one program, or whole for these reasons."""

    sharding: Sharding | None
    program: ShardProgram | None
    refusals: tuple[SplitRefusal, ...]


class DaskBackend(HostMemoryBackend, contract=1):
    """Spreads each dispatch over the workers of a Dask cluster; each worker runs its part on its best local backend.

    A launch is split if facts prove that its workgroups are independent (`find_sharding`). Another one runs whole on
    one worker, with the same bytes; with `only_sharded` it is refused, with the statement at fault. Resident memory is
    that of the client.

    Args:
        cluster: A client, or the address of a scheduler. None: see `connect`.
        only_sharded: Refuse a launch of several workgroups that cannot be split.
    """

    def __init__(self, cluster: Client | str | None = None, *, only_sharded: bool = False) -> None:
        super().__init__()
        self._given, self._only_sharded = cluster, only_sharded
        self._connection: Connection | None = None
        self._profile: DeviceProfile | None = None
        self._plans: OrderedDict[tuple[object, ...], _Plan] = OrderedDict()
        self._wires: dict[str, Future[bytes]] = {}
        self._counts: Counter[str] = Counter(dispatches=0, shards=0, whole=0, resubmitted=0)
        self._state = threading.RLock()

    def id(self) -> str:
        return "dask"

    def version(self) -> str:
        return __version__

    # ── the cluster ──

    @property
    def client(self) -> Client:
        """The client of the cluster; connected at the first use."""
        return self._connected().client

    def _connected(self) -> Connection:
        with self._state:
            if self._connection is not None and self._connection.is_closed:
                self._wires.clear()
                self._connection.close()
                self._connection = None
            if self._connection is None:
                atexit.register(self._wires.clear)  # before Dask closes clients, so that it misses nothing
                given = self._given
                self._connection = Connection(given, is_own=False) if isinstance(given, Client) else connect(given)
            return self._connection

    def prepare(self) -> None:
        self.device_profile()

    def shutdown(self) -> None:
        with self._state:
            self.forget_resources()
            self._wires.clear()
            atexit.unregister(self._wires.clear)
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    # ── dispatch ──

    def dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        started = time.monotonic()
        facts = validated(with_workgroup_size(program, config.workgroup_override))
        admit_program(facts, config, self.device_profile())
        views = bind_inputs(program, inputs)
        grid = None if config.grid_override is not None else read_indirect_grid(program, views)
        plan = plan_launch(program, [view.nbytes for view in views], config, indirect_grid=grid)
        admit(plan, config, self.device_profile())
        how = self._plan(plan, views, config)
        self._count(dispatches=1)
        for _ in range(ATTEMPTS):
            try:
                return self._run(plan, how, views, config, started)
            except LOST as error:
                lost = error
                self._count(resubmitted=1)
                with self._state:
                    self._wires.clear()
            except VyreError:
                raise
            except Exception as error:
                fix = "look into the log of the worker; the workers need what the client has installed"
                reason = f"a task raised {type(error).__name__}: {error}"
                raise DispatchFailed(reason, backend=self.id(), fix=fix) from error
        fix = "look into the logs of scheduler and workers: they end, or run out of memory"
        reason = f"workers were lost in {ATTEMPTS} attempts: {type(lost).__name__}: {lost}"
        raise DispatchFailed(reason, backend=self.id(), fix=fix) from lost

    def compile_native(self, program: Program, config: DispatchConfig = DEFAULT_CONFIG) -> CompiledPipeline | None:
        """A pipeline for a program with persistent buffers; None for others, which workers compile."""
        facts = validated(with_workgroup_size(program, config.workgroup_override))
        admit_program(facts, config, self.device_profile())
        if any(buffer.memory is Memory.PERSISTENT for buffer in program.buffers):
            return PersistentPipeline(self, program, config)
        return None

    def sharding(
        self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG
    ) -> Sharding | tuple[SplitRefusal, ...]:
        """How `dispatch` splits a launch, or why it runs whole. Nothing runs."""
        views = bind_inputs(program, inputs)
        grid = None if config.grid_override is not None else read_indirect_grid(program, views)
        plan = plan_launch(program, [view.nbytes for view in views], config, indirect_grid=grid)
        how = self._plan(plan, views, config, refuse=False)
        return how.sharding or how.refusals

    def _plan(
        self, plan: LaunchPlan, views: Sequence[memoryview], config: DispatchConfig, *, refuse: bool = True
    ) -> _Plan:
        most = self._connected().workers()
        small = tuple(bytes(view) if view.nbytes <= 256 else view.nbytes for view in views)
        key = (plan.program, plan.grid, plan.repeats, tuple(plan.lengths.items()), small, most, config.cooperative)
        with self._state:
            how = self._plans.get(key)
        if how is None:
            how = _planned(plan, views, most, config)
            with self._state:
                self._plans[key] = how
                while len(self._plans) > CACHED:
                    self._plans.popitem(last=False)
        if refuse and self._only_sharded and how.sharding is None and plan.num_workgroups > 1:
            first = how.refusals[0]
            where = first.where if first.origin is None else f"{first.where} ({first.origin})"
            what = f"this launch in shards: {first.message}"
            raise UnsupportedFeature(what, backend=self.id(), where=where, fix=first.fix)
        return how

    def _run(
        self, plan: LaunchPlan, how: _Plan, views: Sequence[memoryview], config: DispatchConfig, started: float
    ) -> Outputs:
        with Tasks(self.client, config, started) as tasks:
            if how.sharding is None or how.program is None:
                self._count(whole=1)
                return dispatch_whole(tasks, plan, self._wire(plan.program), views, config)
            self._count(shards=len(how.sharding.shards))
            wire = self._wire(how.program.program)
            return dispatch_shards(tasks, how.sharding, how.program, wire, views, config)

    def _count(self, **counts: int) -> None:
        with self._state:
            self._counts.update(counts)

    def _wire(self, program: Program) -> Future[bytes]:
        """The wire form of a program on a worker, from which others get it once.

        It is the result of a task, which the cluster repeats where that worker ends.
        """
        name = program.fingerprint()
        with self._state:
            if name not in self._wires:
                key = f"wire-of-{program.name}-{name}"
                self._wires[name] = self.client.submit(carried, program.encode(), key=key)
                while len(self._wires) > CACHED:
                    del self._wires[next(iter(self._wires))]
            return self._wires[name]

    # ── capabilities: those that all workers have ──

    def device_profile(self) -> DeviceProfile:
        with self._state:
            if self._profile is None:
                self._profile = _common(list(self.client.run(profile).values()))
            return self._profile

    def is_distributed(self) -> bool:
        """True: a program is spread over the workers."""
        return True

    def supports_distributed_collectives(self) -> bool:
        """True: atomics of several workers are combined."""
        return True

    # fmt: off
    def supports_subgroup_ops(self) -> bool: return self.device_profile().supports_subgroup_ops
    def supports_f16(self) -> bool: return self.device_profile().supports_f16
    def supports_bf16(self) -> bool: return self.device_profile().supports_bf16
    def supports_tensor_cores(self) -> bool: return self.device_profile().supports_tensor_cores
    def supports_grid_sync(self) -> bool: return self.device_profile().supports_grid_sync
    def max_workgroup_size(self) -> Extent: return self.device_profile().max_workgroup_size
    def max_compute_invocations_per_workgroup(self) -> int: return self.device_profile().max_invocations_per_workgroup
    def subgroup_size(self) -> int | None: return self.device_profile().subgroup_size
    # fmt: on

    def max_compute_workgroups_per_dimension(self) -> int:
        return min(self.device_profile().max_workgroups or (1, 1, 1))

    def max_storage_buffer_bytes(self) -> int:
        return self.device_profile().max_storage_buffer_binding_size or 0

    def backend_metric_snapshot(self) -> dict[str, int]:
        """Dispatches, shards of them, dispatches that ran whole, and those submitted again after a worker was lost."""
        with self._state:
            return dict(self._counts)


def _planned(plan: LaunchPlan, views: Sequence[memoryview], most: int, config: DispatchConfig) -> _Plan:
    if config.cooperative:
        refusal = SplitRefusal("cooperative", "all workgroups are to run at the same time", "leave the option out")
        return _Plan(None, None, (refusal,))
    found = find_sharding(plan, views, most)
    return _Plan(found, shard_program(found), ()) if isinstance(found, Sharding) else _Plan(None, None, found)


def _common(profiles: Sequence[DeviceProfile]) -> DeviceProfile:
    """What all workers have: abilities that each has, the least limits, and facts in which they are alike."""
    if not profiles:
        raise BackendUnavailable("dask", "the cluster has no worker", fix="start workers, or wait for them")
    facts: dict[str, Any] = {}
    for field in fields(DeviceProfile):
        values = [getattr(one, field.name) for one in profiles]
        if all(value == values[0] for value in values):
            facts[field.name] = values[0]
        elif isinstance(values[0], bool):
            facts[field.name] = all(values)
        elif all(isinstance(value, int) for value in values):
            facts[field.name] = min(values)
        elif all(isinstance(value, tuple) and len(value) == 3 for value in values):
            facts[field.name] = tuple(min(sizes) for sizes in zip(*values, strict=True))
    names = ", ".join(sorted({one.device or one.backend for one in profiles}))
    return replace(
        DeviceProfile(**facts | {"backend": "dask"}),
        device=f"{len(profiles)} workers of a Dask cluster ({names})",
        supports_distributed_collectives=True,
        supports_indirect_dispatch=False,
        supports_async_compute=False,
        supports_device_timestamps=False,
        supports_hardware_counters=False,
        timing_quality=DeviceTimingQuality.HOST_ONLY,
        queues=(),
    )
