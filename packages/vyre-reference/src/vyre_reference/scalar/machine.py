"""The grid and its workgroups: who runs when, and who has to meet whom.

Two levels of one idea. An invocation is a coroutine that yields at workgroup barriers and collectives; a workgroup is a
coroutine that yields at grid barriers. In one interval every coroutine of a level runs to where it waits next, and then
all of them must wait at the same place in the same iteration, or all have ended. Coroutines are known by the linear id
of their (first) invocation, which ascends with the linear id of the workgroup and in it with the local one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Mapping
from typing import Any

from vyre_driver.plan.launch import LaunchPlan
from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_foundation.ir.stmt import Barrier, Scope, Subgroup, SubgroupOp
from vyre_foundation.ir.walk import statements
from vyre_foundation.ops.scalar import Scalar
from vyre_reference.bind import HostMemory, bind
from vyre_reference.budget import Budget
from vyre_reference.errors import DivergentBarrier
from vyre_reference.place import located
from vyre_reference.scalar.coverage import Coverage
from vyre_reference.scalar.invocation import GiveWay, Invocation, Wait
from vyre_reference.scalar.memory import ScalarCells, zeroed
from vyre_reference.scalar.races import RaceDetector, Races
from vyre_reference.scalar.run import Execution
from vyre_reference.scalar.schedule import InOrder, Schedule
from vyre_reference.scalar.subgroup import collective

Coroutine = Generator[Any, Any, Any]


def evaluate(
    plan: LaunchPlan,
    memory: HostMemory,
    *,
    schedule: Schedule | None = None,
    budget: Budget | None = None,
    races: Races = Races.IGNORE,
    coverage: Coverage | None = None,
) -> None:
    """Run the launch over `memory`, the bytes of every bound buffer by name, which it changes.

    Workgroup, private and constant memory are the evaluator's own. The default schedule runs invocations in linear
    order, each to where it has to wait, so an atomic meets them in that order.

    Raises `InvalidInput`, `Trapped` after the run, `UndefinedBehaviour`, `DivergentBarrier`, `DataRace`, `OutOfFuel`
    and `DispatchTimeout`; then the memory holds what the run had written.
    """
    run = Execution(
        plan=plan,
        memory={buffer: ScalarCells(buffer, view) for buffer, view in bind(plan, memory).items()},
        schedule=schedule or InOrder(),
        budget=budget or Budget(),
        races=RaceDetector(plan.program) if races is Races.DETECT else None,
        coverage=coverage,
    )
    for _ in range(plan.repeats):
        grid(run)
        run.grid_barrier()
    run.traps.raise_first(plan.program)


def grid(run: Execution) -> None:
    """Run all workgroups: one after the other, or all at once where the program makes them wait for each other."""
    numbers = range(run.plan.num_workgroups)
    if Barrier(Scope.GRID) not in statements(run.plan.program.body):
        for number in run.schedule.order(numbers):
            meet(run, dict([workgroup(run, number)]), {})
    else:
        groups = dict(workgroup(run, number) for number in numbers)
        while meet(run, groups, {}):
            run.grid_barrier()


def workgroup(run: Execution, number: int) -> tuple[int, Coroutine]:
    """A workgroup, ready to run: the id of its first invocation, and its coroutine."""
    shared = run.memory | zeroed(buffers_in(run.plan, Memory.WORKGROUP), run.plan.lengths)
    private = buffers_in(run.plan, Memory.PRIVATE)
    lanes = [
        Invocation(run, number, lane, shared | zeroed(private, run.plan.lengths))
        for lane in range(run.plan.program.workgroup_volume)
    ]
    return lanes[0].number, iterations_of(run, lanes)


def iterations_of(run: Execution, lanes: list[Invocation]) -> Coroutine:
    """Run a workgroup to its end, interval by interval; yield where it has to wait for the grid."""
    running: dict[int, Coroutine] = {lane.number: lane.body(run.plan.program.body, ()) for lane in lanes}
    answers: dict[int, Scalar] = {}
    while waits := meet(run, running, answers):
        answers = {}
        match waits[0].stmt:
            case Barrier(Scope.GRID):
                yield waits[0]
            case Barrier(Scope.WORKGROUP):
                run.workgroup_barrier(lanes[0].position.group)
            case Subgroup() as stmt:
                answers = exchange(run, stmt, waits)


def meet(run: Execution, running: dict[int, Coroutine], answers: Mapping[int, Scalar]) -> list[Wait]:
    """Run one interval: what all wait for, in ascending order, or nothing when all have ended."""
    waits: dict[int, Wait] = {}
    ready = deque(run.schedule.order(running))
    while ready:
        who = ready.popleft()
        try:
            event = running[who].send(answers.get(who))
        except StopIteration:
            continue
        if isinstance(event, GiveWay):
            ready.append(who)
        else:
            waits[who] = event
    if waits:
        require_one_place(run, list(running), waits)
    return [waits[who] for who in sorted(waits)]


def require_one_place(run: Execution, all_of_them: list[int], waits: Mapping[int, Wait]) -> None:
    """Raise `DivergentBarrier` unless all invocations wait at one barrier, in one iteration of the loops around it."""
    first = waits[min(waits)]
    for who in all_of_them:
        wait = waits.get(who)
        if wait is None:
            raise DivergentBarrier(first.invocation, stands(run, first), who, "has ended")
        if (wait.path, wait.iterations) != (first.path, first.iterations):
            raise DivergentBarrier(first.invocation, stands(run, first), who, f"waits at {stands(run, wait)}")


def stands(run: Execution, wait: Wait) -> str:
    """Where an invocation waits, for people."""
    place = located(run.plan.program, wait.path)
    return f"{place} in iteration {'.'.join(map(str, wait.iterations))}" if wait.iterations else place


def exchange(run: Execution, stmt: Subgroup, waits: list[Wait]) -> dict[int, Scalar]:
    """The collective of every subgroup of a workgroup: what each invocation is sent."""
    width = run.plan.program.subgroup_size or 1
    if stmt.op is SubgroupOp.BROADCAST:
        require_one_lane(run, waits)
    answers: dict[int, Scalar] = {}
    for start in range(0, len(waits), width):
        lanes = waits[start : start + width]
        results = collective(stmt.op, stmt.value.dtype, [w.value for w in lanes], [w.selected for w in lanes])
        answers.update(zip((lane.invocation for lane in lanes), results, strict=True))
    return answers


def require_one_lane(run: Execution, waits: list[Wait]) -> None:
    """A broadcast takes one lane for the whole workgroup."""
    first = waits[0]
    for wait in waits:
        if wait.selected != first.selected:
            instead = f"broadcasts lane {wait.selected}, not {first.selected}"
            raise DivergentBarrier(first.invocation, stands(run, first), wait.invocation, instead)


def buffers_in(plan: LaunchPlan, memory: Memory) -> list[Buffer]:
    """Give the buffers of the program in one kind of memory, in their order."""
    return [buffer for buffer in plan.program.buffers if buffer.memory is memory]
