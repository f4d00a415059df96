"""Faults that one launch does not show: what the engine takes over from the launches before, and from their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from vyre_conform.controls.engine import SharingPort, on_engine, over
from vyre_conform.controls.fault import Fault, Layer
from vyre_driver.engine.buffer_pool import BufferPool, PooledBuffer
from vyre_driver.engine.port import Allocation
from vyre_driver.engine.resident import Residents
from vyre_driver.plan.launch import LaunchPlan
from vyre_driver.testing.fake_port import FakeMemory, FakePort
from vyre_foundation.ir.buffer import Access, Memory
from vyre_foundation.ir.expr import Apply, Cast, Expr, Id, IdKind, Local
from vyre_foundation.ir.stmt import If, Let, Store
from vyre_foundation.ir.walk import postorder, statements

Right = Callable[..., Any]


def _one_buffer(right: Right) -> Right:
    """There is one buffer for each output, also while a result in it is held."""
    taken: dict[int, list[PooledBuffer]] = {}

    def take(pool: BufferPool) -> Any:
        buffers = taken.setdefault(id(pool), [])
        for buffer in buffers:
            buffer.result = None
        found = right(pool)
        buffers.append(found[0])
        return found

    return take


class UploadsOncePort(FakePort):
    """Does not copy again what still lies there from the same host memory: which may have changed since."""

    def __init__(self, *operands: Any, **options: Any) -> None:
        super().__init__(*operands, **options)
        self.copied: dict[tuple[FakeMemory, int], tuple[object, bytes]] = {}

    def copy_in(self, memory: FakeMemory, data: memoryview, offset: int = 0) -> None:
        there = bytes(memory.contents[offset : offset + data.nbytes])
        if self.copied.get((memory, offset)) != (id(data.obj), there):
            self.copied[memory, offset] = (id(data.obj), bytes(data))
            FakePort.copy_in(self, memory, data, offset)


def _first_resolved(right: Right) -> Right:
    """A step whose grid stands in a buffer has the grid that it had first."""
    known: dict[int, Any] = {}

    def resolve(run: Any, step: Any) -> Any:
        if id(step) in known and known[id(step)][1] in run.launch_cache.entries.values():
            run.enter(known[id(step)][1])
        else:
            known[id(step)] = step, right(run, step)
        return known[id(step)][1]

    return resolve


def _anew_for_each_shape(right: Right) -> Right:
    """Persistent memory is zero in the first launch of each shape."""

    def bind(
        device: Any, plan: LaunchPlan, code: Any, persistent: dict[str, Allocation] | None, *rest: Any, **named: Any
    ) -> Any:
        for allocation in (persistent or {}).values():
            device.fill(allocation, 0, allocation.size)
        return right(device, plan, code, persistent, *rest, **named)

    return bind


def _one_for_each_name(right: Right) -> Right:
    """Persistent memory of a name is the same in all pipelines."""
    known: dict[str, Allocation] = {}

    def bind(
        device: Any, plan: LaunchPlan, code: Any, persistent: dict[str, Allocation] | None, *rest: Any, **named: Any
    ) -> Any:
        for buffer in plan.program.buffers:
            found = known.get(buffer.name) if buffer.memory is Memory.PERSISTENT else None
            if persistent is not None and found is not None and found.memory.is_live:
                persistent.setdefault(buffer.name, found)
        prepared = right(device, plan, code, persistent, *rest, **named)
        known.update(persistent or {})
        return prepared

    return bind


def _one_in_flight(right: Right) -> Right:
    """Launches that are in flight together have one memory."""
    return lambda launches, device, persistent: persistent.launch


def _covered_too(more: Callable[[LaunchPlan], Iterable[Store]]) -> Callable[[Right], Right]:
    """Outputs that some stores write to are thought to be written everywhere."""

    def wrap(right: Right) -> Right:
        def written(plan: LaunchPlan) -> frozenset[str]:
            found: frozenset[str] = right(plan)
            return found | {s.buffer.name for s in more(plan) if s.buffer.access is Access.WRITE}

        return written

    return wrap


def _unknown_hold(right: Right) -> Right:
    """Conditions that depend on data are thought to hold."""
    return lambda walk, condition, holds: right(walk, condition, holds) or ()


def _nothing_leaves(right: Right) -> Right:
    """Nothing is thought to leave a loop or to end an invocation."""
    return lambda stmt, *kinds: False


def _through_casts(plan: LaunchPlan) -> Iterator[Store]:
    """``out[i8(i)] = …``: a narrowed id is taken for the id."""
    for stmt in plan.program.body:
        if isinstance(stmt, Store) and isinstance(stmt.index, Cast) and _is_own(plan, stmt.index.args[0]):
            yield stmt


def _up_to_a_limit(plan: LaunchPlan) -> Iterator[Store]:
    """``if i <= n: out[i] = …``: the guard is taken for one that lets all through."""
    for stmt in plan.program.body:
        match stmt:
            case If(Apply(op), then) if op.id == "le":
                yield from (s for s in then if isinstance(s, Store) and _is_own(plan, s.index))


def _over_axes(plan: LaunchPlan) -> Iterator[Store]:
    """Stores at ``i * w + j`` are taken to reach the end."""
    ids = {Id(IdKind.GLOBAL_ID, axis) for axis in (0, 1)}
    for stmt in statements(plan.program.body):
        if isinstance(stmt, Store) and ids <= set(postorder((stmt.index,))):
            yield stmt


def _is_own(plan: LaunchPlan, index: Expr) -> bool:
    """Whether an index is the global id, by way of locals."""
    lets = {s.name: s.value for s in statements(plan.program.body) if isinstance(s, Let)}
    while isinstance(index, Local) and index.name in lets:
        index = lets[index.name]
    return index is Id(IdKind.GLOBAL_ID, 0)


def _by_number(right: Right) -> Right:
    """A handle is good if its number is that of one that was given."""

    def find(residents: Residents, resource: Any) -> Any:
        try:
            known = residents.handle(resource)
        except KeyError:
            known = None
        return right(residents, known or resource)

    return find


def _nothing(right: Right) -> Right:
    return lambda *operands: None


def _range_from_start(right: Right) -> Right:
    """What was there before is given from its start, also where the host wants another part."""

    def run(launch: Any, inputs: Sequence[Any], *rest: Any) -> list[Any]:
        given: Mapping[str, Any] = dict(zip(launch.plan.inputs, inputs, strict=True))
        outputs: list[Any] = right(launch, inputs, *rest)
        for layout, output in zip(launch.plan.outputs, outputs, strict=True):
            if layout.buffer in given and layout.size:
                memoryview(output).cast("B")[:] = memoryview(given[layout.buffer]).cast("B")[: layout.size]
        return outputs

    return run


_in = partial(Fault, Layer.ENGINE)

# fmt: off
FAULTS = (
    _in("results-shared", "memory of a result that is held serves the next launch",
        on_engine("vyre_driver.engine.buffer_pool:BufferPool.take", _one_buffer, port=SharingPort),
        "sessions:recycled:*"),
    _in("flights-shared", "launches in flight together share their memory",
        on_engine("vyre_driver.engine.launch_cache:LaunchCache.take_idle", _one_in_flight),
        "sessions:*:entry=calls_in_flight"),
    _in("cast-covers", "an output that is stored at a narrowed id is not cleared before",
        on_engine("vyre_driver.engine.bind:written_everywhere", _covered_too(_through_casts),
                  port=SharingPort), "sessions:recycled:*"),
    _in("guard-covers", "an output that is stored under i <= n is not cleared before",
        on_engine("vyre_driver.engine.bind:written_everywhere", _covered_too(_up_to_a_limit),
                  port=SharingPort), "sessions:recycled:*"),
    _in("condition-covers", "an output that is stored where data say so is not cleared before",
        on_engine("vyre_driver.plan.coverage:StoreWalk.limits", _unknown_hold, port=SharingPort),
        "sessions:recycled:*"),
    _in("broken-covers", "an output that is stored in a loop until data end it is not cleared before",
        on_engine("vyre_driver.plan.coverage:contains", _nothing_leaves, port=SharingPort), "sessions:recycled:*"),
    _in("axes-cover", "an output that is stored over axes is not cleared before, however long they are",
        on_engine("vyre_driver.engine.bind:written_everywhere", _covered_too(_over_axes), port=SharingPort),
        "sessions:axes:*"),
    _in("persistent-anew", "persistent memory is zero again in the first launch of each shape",
        on_engine("vyre_driver.engine.launch_cache:bind", _anew_for_each_shape), "sessions:persistent:*"),
    _in("persistent-by-name", "two pipelines have one persistent memory of a name",
        on_engine("vyre_driver.engine.launch_cache:bind", _one_for_each_name), "sessions:persistent:*"),
    _in("empty-range", "where nothing runs the range of an output is that of its start",
        on_engine("vyre_driver.engine.launch:EmptyLaunch.run", _range_from_start), "launches:empty_grid_with_ranges"),
    _in("handles-by-number", "a handle to memory is known by its number alone",
        on_engine("vyre_driver.engine.resident:Residents.find", _by_number), "claims:forged_handles"),
    Fault(Layer.CACHE, "freed-launches", "launches over memory that was freed are still known",
          on_engine("vyre_driver.engine.launch_cache:LaunchCache.forget", _nothing), "claims:forged_handles"),
    Fault(Layer.CACHE, "made-grid", "a step of a sequence keeps the grid that an earlier run has made",
          on_engine("vyre_driver.engine.sequence:SequenceRun.resolve", _first_resolved), "sessions:made_grids:*"),
    Fault(Layer.DEVICE, "uploaded-from-there", "what lies there from some host memory is not copied from there again",
          over(UploadsOncePort), "sessions:recycled:*"),
)
# fmt: on
