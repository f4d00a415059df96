"""A program against a backend's own answers: ops wherever they stand, geometry, everything at once."""

from dataclasses import replace

import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.device.profile import DeviceProfile
from vyre_driver.errors import InvalidProgram, UnsupportedFeature
from vyre_driver.pipeline.compile import compile
from vyre_driver.plan.admission import used_ops, validate_program_for_backend
from vyre_driver.testing.mock import MockBackend
from vyre_driver.testing.target import generous_profile
from vyre_foundation import dialects
from vyre_foundation.build import Value, apply, program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.program import Program

HIDDEN = dialects.Composition("hiding.popcount", {(u32,): u32}, lambda x: apply("popcount", Value(x)).expr)


class Poor(MockBackend, contract=1):
    """Adds and compares, in small workgroups."""

    def __init__(self) -> None:
        super().__init__(lambda plan, memory: None)

    def supported_ops(self) -> frozenset[str]:
        return frozenset(("add", "lt"))

    def device_profile(self) -> DeviceProfile:
        return replace(generous_profile("poor"), max_workgroup_size=(64, 64, 4))


@pytest.fixture(autouse=True)
def hiding():
    dialects.register([HIDDEN])
    yield
    dialects.unregister([HIDDEN.id])


def adding(times: int = 0, hides: bool = False) -> Program:
    with program("adding", 64) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        i = p.global_id(0)
        value = a[i] * times if times else a[i] + 1
        if hides:
            value = Value(dialects.call(HIDDEN.id, value.expr))
        with p.if_(i < 1000):
            out[i] = value
    return p.build()


def test_facts_of_a_program_that_runs() -> None:
    facts = validate_program_for_backend(Poor(), adding(), DispatchConfig(workgroup_override=(32, 1, 1)))
    assert facts.program.workgroup_size == (32, 1, 1)


def test_everything_that_is_missing_is_said_at_once() -> None:
    config = DispatchConfig(workgroup_override=(1, 1, 5))
    with pytest.raises(UnsupportedFeature) as caught:
        validate_program_for_backend(Poor(), adding(3, hides=True), config)
    assert caught.value.fields["name"] == ("the op mul; the op popcount; a workgroup size of 5 on z (at most 4)")


def test_ops_are_found_in_every_expression_and_inside_of_calls() -> None:
    assert used_ops(adding()) == {"add", "lt"}
    assert used_ops(adding(3, hides=True)) == {"mul", "lt", "popcount"}


def test_an_invalid_program_is_told_from_a_missing_ability() -> None:
    with pytest.raises(InvalidProgram):
        validate_program_for_backend(Poor(), adding(), DispatchConfig(workgroup_override=(2**20, 2**20, 1)))


def test_a_pipeline_over_dispatch_refuses_ops_that_are_not_executed() -> None:
    compile(Poor(), adding())
    with pytest.raises(UnsupportedFeature, match="does not support the ops mul, popcount"):
        compile(Poor(), adding(3, hides=True))
