"""A delegate forgets no method of the contract, and changes no answer."""

from __future__ import annotations

import numpy as np
import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.delegate import DelegatingBackend, DelegatingPipeline, contract_methods, innermost
from vyre_driver.backend.pipeline import CompiledPipeline
from vyre_driver.backend.results import Inputs, Outputs
from vyre_driver.pipeline.compile import compile
from vyre_driver.testing.full import FullBackend
from vyre_foundation import program, u32


class Recording(FullBackend, contract=1):
    """Answers every call with its name and arguments."""

    def __getattribute__(self, name: str):
        if name in contract_methods(VyreBackend):
            return lambda *args, **named: (name, args, named)
        return super().__getattribute__(name)


@pytest.mark.parametrize("name", contract_methods(VyreBackend))
def test_every_method_of_a_backend_is_handed_on(name: str) -> None:
    delegate = DelegatingBackend(Recording(lambda plan, memory: None))
    arguments = () if name == "id" else ("one", "two", "three")
    assert getattr(delegate, name)(*arguments) == (name, arguments, {})


@pytest.mark.parametrize("name", contract_methods(CompiledPipeline))
def test_every_method_of_a_pipeline_is_handed_on(name: str) -> None:
    class Inner:
        def __getattr__(self, called: str):
            return lambda *args: (called, args)

    arguments = () if name == "id" else ("one", "two")
    assert getattr(DelegatingPipeline(Inner()), name)(*arguments) == (name, arguments)


def test_arrays_go_through_the_dispatch_of_a_subclass() -> None:
    with program("copy", workgroup_size=4) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        out[p.global_id(0)] = a[p.global_id(0)]
    copy = p.build()

    class Counting(DelegatingBackend, contract=1):
        dispatches = 0

        def dispatch(self, program, inputs: Inputs, config: DispatchConfig = DispatchConfig()) -> Outputs:  # noqa: B008
            self.dispatches += 1
            return super().dispatch(program, inputs, config)

    def evaluate(plan, memory) -> None:
        memory["out"][:] = memory["a"]

    backend = Counting(FullBackend(evaluate))
    np.testing.assert_array_equal(backend.dispatch_arrays(copy, {"a": np.arange(5, dtype=np.uint32)})["out"], range(5))
    assert backend.dispatches == 1
    assert innermost(DelegatingBackend(backend)) is backend.inner
    assert compile(backend, copy).id() == "full:passthrough"
