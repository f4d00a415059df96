"""A validated program is optimized, arranged and lowered."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from vyre_driver.codegen.lower import legalize, passes_of
from vyre_driver.engine.pending import Deadline
from vyre_driver.engine.port import DevicePort, SourceUnit
from vyre_driver.errors import UnsupportedFeature
from vyre_driver.legalization.context import Context
from vyre_driver.legalization.expand import expand_calls
from vyre_driver.legalization.forms.forms import Forms
from vyre_driver.legalization.lowered import Lowered, joined as joined
from vyre_driver.legalization.ranges import Ranges
from vyre_driver.legalization.target import Target
from vyre_driver.pipeline.settings import flag
from vyre_driver.plan.binding import BindingPlan, binding_plans_share_layout
from vyre_driver.policy.groups import arrange
from vyre_foundation.ir.interrupt import interruptible
from vyre_foundation.ir.program import Program
from vyre_foundation.optimize import PASSES, facts_after, optimize
from vyre_foundation.passes import Pass, Watch, ignore, replaced
from vyre_foundation.validate import InvalidProgram, validate
from vyre_foundation.validate.facts import Facts

VERIFY = "VYRE_VERIFY"
"""Environment variable: "1" validates the program after each pass, for those who write passes."""


def lowered_for(
    target: Target,
    facts: Facts,
    deadline: Deadline | None = None,
    *,
    watch: Watch[Any] = ignore,
    stage: Callable[[str], AbstractContextManager[object]] = nullcontext,
) -> Lowered:
    """A validated program as kernels that use only what `target` spells.

    `watch` is called after each pass, `stage` gives a context for each part of the work. Raises `DispatchTimeout` if
    `deadline` passes meanwhile.
    """
    verifies = flag(VERIFY)

    def check() -> None:
        if deadline is not None:
            deadline.check("legalization")

    def after(stage: Pass[Any], program: Program) -> None:
        watch(stage, program)
        check()
        if verifies:
            verify(stage, program)

    _require_known(target)
    with interruptible(check):
        # Before the optimizer, so that it sees what calls are made of; those that the target has itself stay.
        with stage("optimize"):
            expanded = facts_after(facts, expand_calls(facts.program, target))
            optimized = optimize(expanded, after, replaced(PASSES, target.replacements))
        assert binding_plans_share_layout(BindingPlan.of(facts.program), BindingPlan.of(optimized.program))
        with stage("legalize"):
            arrangement = arrange(optimized, target.groups)
            lowered = legalize(optimized.program, optimized, target, arrangement, watch=after)
        check()
        return lowered


def _require_known(target: Target) -> None:
    if target.replacements:
        known = named_passes(replace(target, replacements=()))
        for name in sorted({stage.name for stage in target.replacements} - known.keys()):
            fix = f"name one of {', '.join(known)}"
            raise UnsupportedFeature(f"a replacement of the pass {name!r}", backend=target.name, fix=fix)


def verify(stage: Pass[Any], program: Program) -> None:
    """Validate the result of a pass. `InvalidProgram` has a note with the pass and the program."""
    try:
        validate(program, legalized=True)
    except InvalidProgram as error:
        error.add_note(f"after the pass {stage.name}:\n{program}")
        raise


def named_passes(target: Target | None = None) -> dict[str, Pass[Any]]:
    """The passes of the optimizer, and those that lower for `target`, by name."""
    passes = PASSES if target is None else (*replaced(PASSES, target.replacements), *passes_of(target))
    return {stage.name: stage for stage in passes}


def run_pass(stage: Pass[Any], program: Program, target: Target | None = None) -> Program:
    """`program` after one pass alone. It may be the result of other passes."""
    facts = validate(program, legalized=True)
    if target is None or stage.name in {of_optimizer.name for of_optimizer in PASSES}:
        return stage.apply(program, facts)
    arrangement = arrange(facts, target.groups)
    return stage.apply(program, Context(program, target, Forms(target), Ranges(facts), arrangement))


def emitted(port: DevicePort[Any, Any, Any], lowered: Lowered, deadline: Deadline | None = None) -> SourceUnit:
    """The source of lowered kernels. Raises `DispatchTimeout` if `deadline` passes meanwhile."""

    def check() -> None:
        if deadline is not None:
            deadline.check("emission")

    with interruptible(check):
        unit = port.emit(lowered)
        check()
        return unit
