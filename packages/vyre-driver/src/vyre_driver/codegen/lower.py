"""Lowering: the passes that transform a valid program to kernels that a target can spell.

Every pass is IR to IR. So the reference can execute its result, and tests compare the results bit for bit.
`PROGRAM_PASSES` run before a program is split at its grid barriers, `KERNEL_PASSES` after that, for each kernel.
"""

from __future__ import annotations

from vyre_driver.legalization.atomics import compose_atomics
from vyre_driver.legalization.bounds import guard_accesses
from vyre_driver.legalization.context import Context
from vyre_driver.legalization.expand import expand_calls, texts_of
from vyre_driver.legalization.forms.forms import Forms
from vyre_driver.legalization.geometry import drop_indirect_dispatch
from vyre_driver.legalization.grid.split import split_at_grid_barriers
from vyre_driver.legalization.kernel_memory import lengths_read
from vyre_driver.legalization.loops import count_steps
from vyre_driver.legalization.lowered import Kernel, Lowered, LoweredFunction
from vyre_driver.legalization.ranges import Ranges
from vyre_driver.legalization.rare import branch_at_rare_calls, expand_rare_calls, function_of
from vyre_driver.legalization.registers import to_registers
from vyre_driver.legalization.spill import spill_private
from vyre_driver.legalization.subgroup.lowering import lower_subgroups
from vyre_driver.legalization.target import Arrangement, Groups, Target
from vyre_driver.legalization.text_forms import CallForm
from vyre_driver.legalization.traps import lower_traps, trap_tags
from vyre_driver.legalization.zero_fill import fill_with_zeros
from vyre_driver.vectorization.dead_stores import drop_dead_stores
from vyre_driver.vectorization.index_set_splitting import split_index_sets
from vyre_driver.vectorization.versioning.regions import version_regions
from vyre_driver.vectorization.wide_indices import widen_indices
from vyre_driver.vectorization.workgroups.as_loops import arranged
from vyre_driver.vectorization.workgroups.coarsening import runs_buffer
from vyre_foundation.dialects import is_rare_call
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Call, Local
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.walk import program_expressions
from vyre_foundation.passes import Pass, Watch, ignore, replaced
from vyre_foundation.validate.facts import Facts


def _arrange(program: Program, context: Context) -> Program:
    made, context.arrangement = arranged(program, context.ranges, context.target, context.wanted)
    return made


def _branch_at_rare(program: Program, context: Context) -> Program:
    return branch_at_rare_calls(program) if _may_call_rarely(context.source) else program


def _expand_rare(program: Program, context: Context) -> Program:
    return expand_rare_calls(program) if _may_call_rarely(context.source) and not context.target.functions else program


def _may_call_rarely(source: Program) -> bool:
    """Whether there can be rare calls: they come from compositions of calls. Most programs need no walk for them."""
    return bool(source.code.of(Call))


PROGRAM_PASSES: tuple[Pass[Context], ...] = (
    Pass("drop-indirect-dispatch", "Remove the statement that the host reads the grid for",
         lambda p, c: drop_indirect_dispatch(p)),
    Pass("expand-calls", "Replace calls of dialect ops by their compositions",
         lambda p, c: expand_calls(p, c.target)),
    Pass("lower-subgroups", "Compose subgroup operations that the target lacks",
         lambda p, c: lower_subgroups(p, c.target)),
    Pass("lower-traps", "Replace traps by atomics on a buffer that the host reads",
         lambda p, c: lower_traps(p, c.target)),
    Pass("spill-private", "Move private arrays that exceed the stack to scratch memory",
         lambda p, c: spill_private(p, c.ranges, c.target)),
)  # fmt: skip

KERNEL_PASSES: tuple[Pass[Context], ...] = (
    Pass("count-iterations", "Replace loops whose last step may leave the counter's type by loops over iterations",
         lambda p, c: count_steps(p, c.ranges, c.forms)),
    Pass("guard-accesses", "Prove the bounds of accesses, or guard them",
         lambda p, c: guard_accesses(p, c.ranges, c.target)),
    Pass("branch-at-rare-calls", "Replace selections of rarely needed values by branches",
         _branch_at_rare),
    Pass("workgroups-as-loops", "Let one work item run a workgroup, its invocations in loops between barriers",
         _arrange),
    Pass("expand-rare-calls", "Replace rare calls by their compositions, where the target has no functions",
         _expand_rare),
    Pass("zero-fill", "Clear workgroup memory that may be read before it is written",
         lambda p, c: fill_with_zeros(p, c.source)),
    Pass("split-index-sets", "Cut loops at the iterations where a condition changes",
         lambda p, c: split_index_sets(p, c.ranges, c.target)),
    Pass("drop-dead-stores", "Remove what loops store to elements of private arrays that are not loaded",
         lambda p, c: drop_dead_stores(p, c.target)),
    Pass("version-regions", "Write regions twice, without the checks that one comparison before them decides",
         lambda p, c: version_regions(p, c.ranges, c.target)),
    Pass("compose-atomics", "Compose atomics that the target lacks of its compare-exchange",
         lambda p, c: compose_atomics(p, c.target)),
    Pass("widen-indices", "Compute indices in the width of an address, where they do not wrap",
         lambda p, c: widen_indices(p, c.ranges, c.target)),
    Pass("to-registers", "Replace operations and types that the target lacks by those that it has",
         lambda p, c: to_registers(p, c.ranges, c.forms)),
)  # fmt: skip
"""Followed by the target's own."""


def legalize(
    program: Program,
    facts: Facts,
    target: Target,
    arrangement: Arrangement | None = None,
    *,
    watch: Watch[Context] = ignore,
) -> Lowered:
    """Lower a program to kernels for a target.

    Args:
        program: A valid program.
        facts: Its facts, from validation.
        target: The target.
        arrangement: How workgroups run. By default they are loops, unless the target requests otherwise.
        watch: A function that is called after each pass.

    Returns:
        The kernels.

    Raises:
        UnsupportedFeature: The program needs something, such as f64, that the target lacks and that cannot be composed.
    """
    wanted = arrangement or Arrangement(target.groups is Groups.LOOPS)

    def context() -> Context:
        return Context(program, target, Forms(target), Ranges(facts), wanted)

    prepared = run_passes(replaced(PROGRAM_PASSES, target.replacements), program, context(), watch)
    split = split_at_grid_barriers(prepared, target)
    kernels = tuple([_kernel(piece, context(), watch) for piece in split.kernels])
    return Lowered(
        source=program,
        kernels=kernels,
        schedule=split.schedule,
        buffers={b.name: b for b in (*split.buffers, *_runs(kernels, split.buffers))},
        traps=trap_tags(program),
        texts=texts_of(prepared, target),
        functions={form: _function(form, Ranges(facts), Forms(target)) for form in _rare_forms(program, kernels)},
    )


def run_passes(passes: tuple[Pass[Context], ...], program: Program, context: Context, watch: Watch[Context]) -> Program:
    """Return `program` after all passes in order."""
    for stage in passes:
        program = stage.apply(program, context)
        watch(stage, program)
    return program


def passes_of(target: Target) -> tuple[Pass[Context], ...]:
    """Return all passes that lower for a target, in order."""
    return (*replaced(PROGRAM_PASSES, target.replacements), *kernel_passes(target))


def kernel_passes(target: Target) -> tuple[Pass[Context], ...]:
    """Return the passes that lower each kernel for a target; passes of the target are last."""
    return (*replaced(KERNEL_PASSES, target.replacements), *target.passes)


def _kernel(program: Program, context: Context, watch: Watch[Context]) -> Kernel:
    made = run_passes(kernel_passes(context.target), program, context, watch)
    return Kernel(made.name, made, lengths_read(made), context.arrangement)


def _rare_forms(source: Program, kernels: tuple[Kernel, ...]) -> dict[CallForm, None]:
    """The rare calls that are left, in program order."""
    if not _may_call_rarely(source):
        return {}
    nodes = (node for kernel in kernels for node in program_expressions(kernel.program))
    return {CallForm.of(node): None for node in nodes if is_rare_call(node)}


def _function(form: CallForm, ranges: Ranges, forms: Forms) -> LoweredFunction:
    function = function_of(form)
    parameters = tuple(Local(p.name, forms.carrier(p.dtype)) for p in function.parameters)
    return LoweredFunction(parameters, to_registers(function.program, ranges, forms))


def _runs(kernels: tuple[Kernel, ...], buffers: tuple[Buffer, ...]) -> tuple[Buffer, ...]:
    """What the host tells kernels that run several workgroups in a work item."""
    return (runs_buffer(len(buffers)),) if any(kernel.arrangement.most > 1 for kernel in kernels) else ()
