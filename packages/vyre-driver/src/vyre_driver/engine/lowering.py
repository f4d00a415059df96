"""What has to be compiled is optimized, arranged and lowered here, and only then is this module imported: a process
that finds its code in the store never does."""

from __future__ import annotations

from vyre_driver.codegen.lower import legalize
from vyre_driver.engine.deadline import Deadline
from vyre_driver.legalization.expand import expand_calls
from vyre_driver.legalization.lowered import Lowered
from vyre_driver.legalization.target import Target
from vyre_driver.plan.binding import BindingPlan, binding_plans_share_layout
from vyre_driver.policy.groups import arrange
from vyre_foundation.optimize import facts_after, optimize
from vyre_foundation.validate.facts import Facts


def lowered_for(target: Target, facts: Facts, deadline: Deadline | None = None) -> Lowered:
    """A validated program as kernels in the words of `target`; `DispatchTimeout` when `deadline` passes meanwhile."""

    def check() -> None:
        if deadline is not None:
            deadline.check("legalization")

    # Before the optimizer, so that it sees what calls are made of; those that the target has itself stay.
    optimized = optimize(facts_after(facts, expand_calls(facts.program, target)), check)
    assert binding_plans_share_layout(BindingPlan.of(facts.program), BindingPlan.of(optimized.program))
    arrangement = arrange(optimized, target.groups)
    lowered = legalize(optimized.program, optimized, target, arrangement, check=check)
    check()
    return lowered
