"""Sharded launches without a cluster: tasks run where they are submitted, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vyre_distributed import Sharding, find_sharding
from vyre_distributed.dispatch import dispatch_shards
from vyre_distributed.shard_program import shard_program
from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.plan.indirect import read_indirect_grid
from vyre_driver.plan.launch import LaunchPlan, plan_launch
from vyre_driver.testing.agreement import Outcome, outcome
from vyre_foundation.ir.program import Program


class InlineTasks:
    """Has the methods of `Tasks`; a future is its value. Counts what is submitted, and may damage it."""

    left = None

    def __init__(self, change: Callable[[str, Any], Any] = lambda key, value: value) -> None:
        self.submitted: list[str] = []
        self._change = change

    def submit(self, key: str, task: Callable[..., Any], *given: Any) -> Any:
        self.submitted.append(key)
        return self._change(key, task(*given))

    def scatter(self, arrays: Sequence[Any]) -> Sequence[Any]:
        return arrays

    def gather(self, futures: Sequence[Any]) -> list[Any]:
        return list(futures)


def plan_of(program: Program, inputs: Sequence[Any], config: DispatchConfig = DEFAULT_CONFIG) -> LaunchPlan:
    views = [memoryview(data).cast("B") for data in inputs]
    grid = None if config.grid_override is not None else read_indirect_grid(program, views)
    return plan_launch(program, [view.nbytes for view in views], config, indirect_grid=grid)


def sharding_of(program: Program, inputs: Sequence[Any], config: DispatchConfig = DEFAULT_CONFIG, most: int = 3) -> Any:
    return find_sharding(plan_of(program, inputs, config), [memoryview(data).cast("B") for data in inputs], most)


class Sharded:
    """A backend that runs the shards of each launch one after another; None where a launch is refused."""

    def __init__(self, most: int, tasks: InlineTasks | None = None) -> None:
        self.most, self.tasks = most, tasks or InlineTasks()
        self.sharding: Sharding | None = None

    def dispatch(self, program: Program, inputs: Sequence[Any], config: DispatchConfig = DEFAULT_CONFIG) -> Any:
        found = sharding_of(program, inputs, config, self.most)
        self.sharding = found if isinstance(found, Sharding) else None
        if self.sharding is None:
            return []
        shard = shard_program(self.sharding)
        views = [memoryview(data).cast("B") for data in inputs]
        return dispatch_shards(self.tasks, self.sharding, shard, shard.program.encode(), views, config)  # type: ignore[arg-type]


def sharded(
    program: Program, inputs: Sequence[Any], config: DispatchConfig = DEFAULT_CONFIG, most: int = 3
) -> Outcome | None:
    """The outcome of a launch in shards; None for one that cannot be split."""
    backend = Sharded(most)
    found = outcome(backend, program, inputs, config)  # type: ignore[arg-type]
    return None if backend.sharding is None else found
