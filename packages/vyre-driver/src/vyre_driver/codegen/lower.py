"""Legalization: a valid program becomes kernels that a target can spell, statement by statement and op by op.

Every pass is IR to IR, so the reference can execute what it gives, and tests compare it with the source bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable

from vyre_driver.legalization.atomics import compose_atomics
from vyre_driver.legalization.bounds import guard_accesses
from vyre_driver.legalization.expand import expanded_with_texts
from vyre_driver.legalization.forms.forms import Forms
from vyre_driver.legalization.geometry import drop_indirect_dispatch
from vyre_driver.legalization.grid.split import split_at_grid_barriers
from vyre_driver.legalization.hidden_negations import hide_negations
from vyre_driver.legalization.hidden_signs import hide_signs
from vyre_driver.legalization.kernel_memory import lengths_read
from vyre_driver.legalization.loops import count_steps
from vyre_driver.legalization.lowered import Function, Kernel, Lowered
from vyre_driver.legalization.ranges import Ranges
from vyre_driver.legalization.rare import branch_at_rare_calls, expand_rare_calls, function_of
from vyre_driver.legalization.registers import to_registers
from vyre_driver.legalization.spill import spill_private
from vyre_driver.legalization.subgroup.lowering import lower_subgroups
from vyre_driver.legalization.target import Arrangement, Groups, Target
from vyre_driver.legalization.text_forms import CallForm
from vyre_driver.legalization.traps import lower_traps, trap_tags
from vyre_driver.legalization.zero_fill import fill_with_zeros
from vyre_driver.vectorization.index_set_splitting import cut_loops
from vyre_driver.vectorization.versioning.regions import decide_before
from vyre_driver.vectorization.wide_indices import widen_indices
from vyre_driver.vectorization.workgroups.as_loops import arranged
from vyre_driver.vectorization.workgroups.coarsening import runs_buffer
from vyre_foundation.dialects import is_rare_call
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Local
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.walk import program_expressions
from vyre_foundation.validate.facts import Facts


def legalize(
    program: Program,
    facts: Facts,
    target: Target,
    arrangement: Arrangement | None = None,
    *,
    check: Callable[[], None] = lambda: None,
) -> Lowered:
    """`program`, whose `facts` validation gave, for `target`. `arrangement` is how its workgroups are to run (None: as
    loops where the target wants nothing else). `check` is called between passes, and may raise: that is how a deadline
    ends a legalization.

    Raises `UnsupportedFeature` if the target lacks something that nothing else can express, such as f64.
    """
    wanted = arrangement or Arrangement(target.groups is Groups.LOOPS)
    forms = Forms(target)
    launched = drop_indirect_dispatch(program)
    expanded, texts = expanded_with_texts(launched, target)
    collected = lower_subgroups(expanded, target)
    recorded = lower_traps(collected, target)
    spilled = spill_private(recorded, Ranges(facts), target)
    split = split_at_grid_barriers(spilled, target)
    check()
    kernels = tuple(_kernel(piece, program, Ranges(facts), forms, wanted, check) for piece in split.kernels)
    return Lowered(
        source=program,
        kernels=kernels,
        schedule=split.schedule,
        buffers={b.name: b for b in (*split.buffers, *_runs(kernels, split.buffers))},
        traps=trap_tags(expanded),
        texts=texts,
        functions={form: _function(form, Ranges(facts), forms) for form in _rare_forms(kernels)},
    )


def _rare_forms(kernels: tuple[Kernel, ...]) -> dict[CallForm, None]:
    """The rare calls that are left, in program order."""
    nodes = (node for kernel in kernels for node in program_expressions(kernel.program))
    return {CallForm.of(node): None for node in nodes if is_rare_call(node)}


def _function(form: CallForm, ranges: Ranges, forms: Forms) -> Function:
    function = function_of(form)
    parameters = tuple(Local(p.name, forms.carrier(p.dtype)) for p in function.parameters)
    return Function(parameters, to_registers(function.program, ranges, forms))


def _runs(kernels: tuple[Kernel, ...], buffers: tuple[Buffer, ...]) -> tuple[Buffer, ...]:
    """What the host tells kernels that run workgroups in a row."""
    return (runs_buffer(len(buffers)),) if any(kernel.arrangement.most > 1 for kernel in kernels) else ()


def _kernel(
    program: Program, source: Program, ranges: Ranges, forms: Forms, wanted: Arrangement, check: Callable[[], None]
) -> Kernel:
    """One kernel in the words of the target."""
    counted = count_steps(program, ranges, forms)
    guarded = guard_accesses(counted, ranges, forms.target)
    branched = branch_at_rare_calls(guarded)
    check()
    grouped, arrangement = arranged(branched, ranges, forms.target, wanted)
    composed = grouped if forms.target.functions else expand_rare_calls(grouped)
    filled = fill_with_zeros(composed, source)
    check()
    cut = cut_loops(filled, ranges, forms.target)
    check()
    decided = decide_before(cut, ranges, forms.target)
    check()
    composed = compose_atomics(decided, forms.target)
    addressed = widen_indices(composed, ranges, forms.target)
    spelled = hide_signs(to_registers(addressed, ranges, forms), forms.target)
    hidden = hide_negations(spelled, forms.target)
    return Kernel(hidden.name, hidden, lengths_read(hidden), arrangement)
