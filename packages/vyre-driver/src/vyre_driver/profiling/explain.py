"""Explanation of a dispatch: the verdicts of the planner, the engine and the lowering.

Nothing is decided here. The launch comes from the cache of the backend. The passes of the lowering run again and are
observed, because compiled code does not contain their verdicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.delegate import innermost
from vyre_driver.backend.results import borrowed_input_slices
from vyre_driver.backend.typed import ordered_inputs
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.engine.cached_launch import CachedLaunch
from vyre_driver.engine.device import Device
from vyre_driver.engine.launch import PreparedLaunch
from vyre_driver.engine.lowering import emitted, lowered_for
from vyre_driver.engine.transfer import InPlace
from vyre_driver.graph.nodes import Graph
from vyre_driver.legalization.lowered import Lowered
from vyre_driver.plan.coverage import written_everywhere
from vyre_driver.plan.indirect import read_indirect_grid
from vyre_driver.plan.launch import LaunchPlan, plan_launch
from vyre_driver.profiling.verdicts import DispatchExplanation, DispatchVerdict, determinism
from vyre_driver.schedule.compiled import CompiledGraph
from vyre_foundation.ir.expr import Load
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, If, Store
from vyre_foundation.ir.walk import statements
from vyre_foundation.passes import Pass
from vyre_foundation.text import print_program
from vyre_foundation.validate.facts import Facts


def explain(
    program: Program,
    arrays: Mapping[str, object],
    backend: VyreBackend,
    config: DispatchConfig = DEFAULT_CONFIG,
    *,
    chosen: str = "",
) -> DispatchExplanation:
    """Collect every verdict about a dispatch. The program is compiled if necessary, but does not run.

    Args:
        program: The program.
        arrays: The inputs by buffer name. Their lengths matter, and the bytes of an indirect grid.
        backend: Where the dispatch would run.
        config: Its options.
        chosen: The reason for the choice of the backend, if it was chosen.

    Returns:
        The verdicts: of the backend, the plan, and on a backend of the engine also of queue, code, memory and lowering.

    Raises:
        InvalidInput: An input, which the error names, is missing, unknown, or of another type.
        UnsupportedFeature: The backend cannot run the program.
    """
    inner, inputs = innermost(backend), ordered_inputs(program, arrays)
    profile = backend.device_profile()
    verdicts = [DispatchVerdict("backend", backend.id(), chosen, {"version": backend.version()})]
    verdicts.append(DispatchVerdict("device", profile.device or "not named", "", {"identity": list(profile.identity)}))
    if isinstance(inner, EngineBackend):
        verdicts += _of_engine(inner, program, inputs, config)
    else:
        grid = None if config.grid_override is not None else read_indirect_grid(program, borrowed_input_slices(inputs))
        plan = plan_launch(program, [data.nbytes for data in inputs], config, indirect_grid=grid)
        verdicts += _of_plan(plan, config)
        verdicts.append(DispatchVerdict("code", "none", "the backend is not of the engine: it evaluates the program"))
    verdicts.append(determinism(program))
    return DispatchExplanation(program.name, program.fingerprint(), tuple(verdicts), print_program(program))


def explain_graph(run: CompiledGraph) -> DispatchExplanation:
    """Collect the verdicts about a compiled graph.

    Args:
        run: The graph, compiled for a backend.

    Returns:
        The verdicts: the executor, what is fused, memory, and each loop with a flag.
    """
    graph, backend = run.graph, run.backend
    recorded = _dispatches(graph)
    verdicts = [DispatchVerdict("backend", backend.id(), "", {"version": backend.version()})]
    measured = {} if run.verdict is None else {"ns": dict(run.verdict.times), "form": str(run.verdict.form)}
    verdicts.append(DispatchVerdict("executor", run.executor, run.reason, measured))
    fused = [name for name in run.dispatches if "+" in name]
    counts = f"{recorded} dispatches as {len(run.dispatches)}"
    what = "their temporaries vanish: each element is read at its own index" if fused else "no pair is proven aligned"
    if len(run.dispatches) < recorded or fused:
        verdicts.append(
            DispatchVerdict("fusion", f"{counts}: {', '.join(fused)}", what, {"dispatches": list(run.dispatches)})
        )
    else:
        verdicts.append(DispatchVerdict("fusion", "none", what, {"dispatches": list(run.dispatches)}))
    batches = [name for name in run.dispatches if " … " in name]
    if batches:
        reason = "equal programs over parts of one buffer, none of which depends on another"
        verdicts.append(DispatchVerdict("launched together", ", ".join(batches), reason))
    for name, loop in run.loops.items():
        verdicts.append(DispatchVerdict(f"loop {name}", "batches" if loop.is_batched else "one by one", loop.reason))
    return DispatchExplanation(graph.name, graph.fingerprint(), tuple(verdicts), str(graph))


def _dispatches(graph: Graph) -> int:
    return graph.validate().dispatches


# ── the engine ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _of_engine(
    backend: EngineBackend, program: Program, inputs: Sequence[Any], config: DispatchConfig
) -> Iterator[DispatchVerdict]:
    with backend.session():
        before = backend.backend_metric_snapshot()
        device, cached = backend.find_launch(program, inputs, config)
        after = backend.backend_metric_snapshot()
        tuned = device.choices.get(program, cached.request.byte_lengths, config)
        if tuned is not None:
            reason = (
                f"measured by tuning: {tuned.ns / 1e3:.1f} µs beside {tuned.own_ns / 1e3:.1f} µs of the engine's own"
            )
            yield DispatchVerdict("tuning", str(tuned), reason, {"ns": tuned.ns, "own_ns": tuned.own_ns})
        yield from _of_plan(cached.plan, cached.request.config, is_tuned=tuned is not None)
        yield _of_queue(device, cached, is_tuned=tuned is not None)
        launch = cached.launch
        if not isinstance(launch, PreparedLaunch):
            yield DispatchVerdict("code", "none", "the grid has no workgroups, so nothing is compiled or launched")
            return
        yield _of_code(launch, before, after)
        yield from _of_launch(launch)
        yield from _of_lowering(device, cached, launch)


def _of_plan(plan: LaunchPlan, config: DispatchConfig, *, is_tuned: bool = False) -> Iterator[DispatchVerdict]:
    size = plan.program.workgroup_size
    asks = "tuning" if is_tuned else "the configuration"
    chosen = f"{asks} asks for it" if config.workgroup_override is not None else "the program declares it"
    yield DispatchVerdict("workgroup", _extent(size), chosen, {"size": list(size)})
    tail = plan.tail
    if config.grid_override is not None:
        why = f"{asks} or the caller asks for it"
    else:
        why = f"{tail.rounded_count} invocations for {tail.original_count} elements"
    facts = {"grid": list(plan.grid), "invocations": tail.rounded_count, "repeats": plan.repeats}
    yield DispatchVerdict("grid", _extent(plan.grid), why, facts)


def _of_queue(device: Device, cached: CachedLaunch, *, is_tuned: bool) -> DispatchVerdict:
    queues = device.profile.queues
    if not queues:
        return DispatchVerdict("queue", "the device's", "the backend names no others")
    choice = cached.choice
    unchosen = "tuning chose it" if is_tuned and len(queues) > 1 else "the only queue"
    reason = unchosen if choice is None else choice.verdict.reason
    if choice is not None and choice.is_watching:
        reason += "; the next runs are measured"
    queue = queues[cached.queue]
    return DispatchVerdict("queue", queue.name, reason, {"workers": queue.workers, "launch_ns": queue.launch_ns})


def _of_code(launch: PreparedLaunch, before: Mapping[str, int], after: Mapping[str, int]) -> DispatchVerdict:
    grown = {name: after[name] - before[name] for name in after}
    facts = {"key": launch.code.key.digest, "kernels": len(launch.kernels)}
    if grown["compiles"]:
        missed = [name.removeprefix("missed_") for name in grown if name.startswith("missed_") and grown[name]]
        why = f"the store has none: {', '.join(missed).replace('_', ' ')}" if missed else "no store was asked"
        return DispatchVerdict("code", "compiled now", why, facts)
    if grown["loads"]:
        return DispatchVerdict("code", "loaded from the store", "an earlier process has compiled it", facts)
    return DispatchVerdict("code", "in memory", "an equal program was compiled for this device before", facts)


def _of_launch(launch: PreparedLaunch) -> Iterator[DispatchVerdict]:
    plan = launch.plan
    where = "in place" if isinstance(launch.transfer, InPlace) else "copied"
    why = "the device works in host memory" if where == "in place" else "the device has memory of its own"
    yield DispatchVerdict("memory", where, why, {"bytes": {name: plan.byte_length(name) for name in plan.lengths}})
    covered = sorted(written_everywhere(plan))
    if covered:
        yield DispatchVerdict("zeroing", f"not of {', '.join(covered)}", "every dispatch writes all elements of it")
    if launch.runner is not None:
        how, why = "one launch, waited for at once", "there is one kernel, and no host loop"
    elif launch.order is None:
        how, why = f"{len(launch.kernels)} kernels in loops of the host", "grid barriers stand in loops"
    else:
        count = len(launch.order) * plan.repeats
        how, why = f"{count} launches in order", "grid barriers or repeats split the dispatch" if count > 1 else ""
    kernels = [{"name": name, "grid": list(grid), "workgroup_size": list(size)} for name, grid, size in launch.kernels]
    yield DispatchVerdict("launches", how, why, {"kernels": kernels})
    if launch.traps is not None:
        yield DispatchVerdict("traps", "recorded and read back", "the program may trap")


# ── the lowering ─────────────────────────────────────────────────────────────────────────────────────────────────────


class LoweringWatch:
    """An observer of one lowering: the passes that changed the program, and the results for accesses."""

    def __init__(self, program: Program) -> None:
        self.changed: dict[str, int] = {}
        """The passes that changed something, with how often they did."""
        self.accesses = self.proven = self.guards = 0
        self._before = program

    def __call__(self, stage: Pass[Any], program: Program) -> None:
        """Look at the program that a pass gives."""
        before, self._before = self._before, program
        if program is before:
            return
        if before.name == program.name and program.fingerprint() != before.fingerprint():
            self.changed[stage.name] = self.changed.get(stage.name, 0) + 1
        if stage.name == "guard-accesses":
            self.accesses += len(_accesses(program))
            self.guards += max(0, _ifs(program) - _ifs(before))
            self.proven += sum(not access.checked for access in _accesses(program))


def _of_lowering(device: Device, cached: CachedLaunch, launch: PreparedLaunch) -> Iterator[DispatchVerdict]:
    config = cached.request.config
    facts: Facts = cached.plan.facts
    watch = LoweringWatch(facts.program)
    lowered = lowered_for(device.target_for(config), facts, watch=watch)
    nodes = len(facts.program.code.nodes), sum(len(kernel.program.code.nodes) for kernel in lowered.kernels)
    if watch.accesses:
        guarded = min(watch.guards, watch.proven)
        left = watch.accesses - watch.proven
        numbers = {"accesses": watch.accesses, "proven": watch.proven - guarded, "guarded": guarded, "checked": left}
        choice = f"{numbers['proven']} of {watch.accesses} accesses are proven, {guarded} guarded, {left} checked"
        yield DispatchVerdict("bounds", choice, "ranges of indices, conditions and the lengths of buffers", numbers)
    yield from _of_arrangement(lowered, launch)
    for line in device.port.describe(emitted(device.port, lowered)):
        kernel, _, made = line.partition(": ")
        yield DispatchVerdict("machine code", made, f"as the compiler made {kernel}")
    taken = sorted(f"{op} of {dtype}" for op, dtype in device.natives.taken(config.ulp_budget))
    if config.ulp_budget:
        why = f"the budget is {config.ulp_budget} ulp"
        yield DispatchVerdict("functions", f"the device's own: {', '.join(taken) or 'none'}", why)
    passes = ", ".join(f"{name} ×{times}" if times > 1 else name for name, times in watch.changed.items())
    size = f"{nodes[0]} expressions became {nodes[1]}"
    yield DispatchVerdict("passes", passes or "none changed anything", size, {"passes": dict(watch.changed)})


def _of_arrangement(lowered: Lowered, launch: PreparedLaunch) -> Iterator[DispatchVerdict]:
    for number, kernel in enumerate(lowered.kernels):
        subject = "invocations" if len(lowered.kernels) == 1 else f"invocations of kernel {number}"
        how, _, why = str(kernel.arrangement).partition(": ")
        numbers: dict[str, Any] = {"as_loops": kernel.arrangement.as_loops, "most": kernel.arrangement.most}
        if kernel.arrangement.most > 1 and launch.kernels:
            row = -(-launch.plan.grid[0] // launch.kernels[number][1][0])
            numbers["in_a_row"] = row
            how += f", {row} of this grid"
        yield DispatchVerdict(subject, how, why, numbers)


def _accesses(program: Program) -> list[Load | Store | Atomic]:
    writes = [stmt for stmt in statements(program.body) if isinstance(stmt, (Store, Atomic))]
    return [*program.code.of(Load), *writes]


def _ifs(program: Program) -> int:
    return sum(isinstance(stmt, If) for stmt in statements(program.body))


def _extent(sizes: Sequence[int]) -> str:
    return " × ".join(map(str, sizes))
