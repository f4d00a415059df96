"""The least backend there can be: two methods, every default."""

from __future__ import annotations

from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.results import Inputs, Outputs, borrowed_input_slices
from vyre_driver.testing.evaluate import Evaluate, dispatch_on_host, refuse_demands
from vyre_foundation.ir.program import Program


class MockBackend(VyreBackend, contract=1):
    """Computes on the host with `evaluate`, and shows what every other method of the contract does by default."""

    def __init__(self, evaluate: Evaluate, id: str = "mock") -> None:
        self._evaluate, self._id = evaluate, id

    def id(self) -> str:
        """The id that the backend was made with."""
        return self._id

    def dispatch(self, program: Program, inputs: Inputs, config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        """Evaluate the program over host memory; demands of the configuration are refused."""
        refuse_demands(config, self)
        return dispatch_on_host(program, borrowed_input_slices(inputs), config, self._evaluate)
