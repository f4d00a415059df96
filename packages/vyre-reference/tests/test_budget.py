"""Fuel and time: both evaluators count the same steps and stop with typed errors."""

from __future__ import annotations

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.errors import DispatchTimeout
from vyre_driver.plan.launch import plan_launch
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_reference import Budget, OutOfFuel, run, scalar, vector
from vyre_reference.launch import host_memory


def built():
    """Per invocation n of 4: let, store, for, n rounds of for, if and (n // 2) stores."""
    with program("steps", 4) as p:
        out = p.write("out", u32, 4)
        i = p.global_id(0)
        v = p.let(i)
        out[i] = 1
        with p.range(0, i) as k, p.if_(k % 2 == 1):
            out[i] = k + v
    return p.build()


STEPS = sum(3 + 2 * n + n // 2 for n in range(4))


def evaluated(evaluate, steps):
    plan = plan_launch(built(), [])
    budget = Budget(steps)
    evaluate(plan, host_memory(plan, [], {}), budget=budget)
    return budget


def test_steps_are_counted_alike(evaluate):
    assert evaluated(evaluate, 1000).left == 1000 - STEPS
    assert evaluated(evaluate, STEPS).left == 0


def test_out_of_fuel(evaluate):
    with pytest.raises(OutOfFuel, match=rf"^the budget of {STEPS - 1} steps is spent\. Fix: raise the budget"):
        evaluated(evaluate, STEPS - 1)


@pytest.mark.parametrize("evaluator", [scalar.evaluate, vector.evaluate], ids=["scalar", "vector"])
def test_an_empty_loop_is_stopped(evaluator):
    with program("long", 1) as p, p.range(0, 2**32 - 1):
        pass
    plan = plan_launch(p.build(), [])
    with pytest.raises(OutOfFuel):
        evaluator(plan, {}, budget=Budget(500))


def test_a_timeout_of_the_configuration(evaluate):
    with program("slow", 1) as p:
        a = p.read("a", u32)
        with p.range(0, a[0]):
            pass
    with pytest.raises(DispatchTimeout, match=r"the timeout of 0.001 s passed during the evaluation on reference"):
        run(p.build(), {"a": np.array([2**32 - 1], np.uint32)}, DispatchConfig(timeout=0.001), evaluate)


def test_no_limits():
    budget = Budget()
    budget.spend(10**9)
    assert budget.left is None
