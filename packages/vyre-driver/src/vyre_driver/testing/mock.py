"""The least backend there can be: two methods, every default."""

from __future__ import annotations

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.results import Inputs, Outputs, borrowed_input_slices
from vyre_driver.plan.indirect import read_indirect_grid
from vyre_driver.plan.launch import plan_launch
from vyre_driver.testing.evaluate import Evaluate, run_on_host
from vyre_foundation.ir.program import Program


class MockBackend(VyreBackend, contract=1):
    """Computes on the host with `evaluate`, and shows what every other method of the contract does by default."""

    def __init__(self, evaluate: Evaluate, id: str = "mock") -> None:
        self._evaluate, self._id = evaluate, id

    def id(self) -> str:
        return self._id

    def dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        views = borrowed_input_slices(inputs)
        grid = read_indirect_grid(program, views)
        plan = plan_launch(program, [view.nbytes for view in views], config, indirect_grid=grid)
        return run_on_host(plan, views, self._evaluate)
