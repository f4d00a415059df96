"""Ways in and claims: a right backend passes them all, and each kind of lie is found."""

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from vyre_conform.address import Query
from vyre_conform.case import Spec
from vyre_conform.cases import specs
from vyre_conform.cell import State
from vyre_conform.testing import require
from vyre_driver.backend.config import DEFAULT_CONFIG, DispatchConfig
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.backend.resources import Resource
from vyre_driver.backend.results import OutputBuffers, Outputs, TimedDispatchResult
from vyre_driver.device.profile import DeviceProfile
from vyre_driver.registry.backends import acquire
from vyre_foundation.ir.program import Program

SPECS = specs([Query.parse("entries"), Query.parse("claims")])


def named(text: str) -> Spec:
    (spec,) = [spec for spec in SPECS if str(spec.address) == text]
    return spec


def test_every_entry_and_every_claim_has_its_cases() -> None:
    ways = {spec.address.name for spec in SPECS if spec.address.group == "entries"}
    assert ways == {
        *("borrowed", "timed", "into", "canaries", "asynchronous", "awaited", "compiled", "batched", "threads"),
        *("resident", "sequence", "device_buffers"),
    }
    claims = {spec.address.name for spec in SPECS if spec.address.group == "claims"}
    assert claims == {
        *("workgroup_limits", "grid_limits", "profile_agrees", "counts", "times", "stale_handles", "foreign_buffers"),
        *("bad_inputs", "unsupported_methods", "mechanisms"),
    }


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_the_reference_is_right_on_every_way_in(spec: Spec) -> None:
    shows_nothing = spec.address.name == "mechanisms"
    assert require(acquire("reference"), spec) is (State.SKIPPED if shows_nothing else State.PASS)


class Delegate(VyreBackend, contract=1):
    """A backend that can only dispatch: what it does not have it refuses."""

    def __init__(self) -> None:
        self.inner = acquire("reference")

    def id(self) -> str:
        return "delegate"

    def dispatch(self, program: Program, inputs: Sequence[Any], config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        return self.inner.dispatch(program, inputs, config)

    def device_profile(self) -> DeviceProfile:
        return replace(self.inner.device_profile(), backend="delegate")


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_what_is_not_there_is_unsupported_and_nothing_else(spec: Spec) -> None:
    states = dict.fromkeys(("resident", "sequence", "device_buffers"), State.UNSUPPORTED)
    states["mechanisms"] = State.SKIPPED
    assert require(Delegate(), spec) is states.get(spec.address.name, State.PASS)


class WritesBeyond(Delegate, contract=1):
    """Clears whole rows of memory after its outputs."""

    def dispatch_borrowed_into(
        self, program: Program, inputs: Sequence[Any], config: DispatchConfig, outputs: OutputBuffers
    ) -> None:
        super().dispatch_borrowed_into(program, inputs, config, outputs)
        for slot in outputs:
            if isinstance(slot, memoryview):
                whole = slot.obj
                assert isinstance(whole, bytearray)
                whole[256 + len(slot)] = 0


class KeepsInputs(Delegate, contract=1):
    """Reads borrowed inputs when the handle is awaited."""

    def dispatch_borrowed(
        self, program: Program, inputs: Sequence[Any], config: DispatchConfig = DEFAULT_CONFIG
    ) -> Outputs:
        outputs = self.dispatch(program, inputs, config)
        return [memoryview(inputs[0]) if len(inputs[0]) == len(out) else out for out in outputs]


class TakesTurns(Delegate, contract=1):
    """Gives something else every other time."""

    turn = 0

    def dispatch(self, program: Program, inputs: Sequence[Any], config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        self.turn += 1
        outputs = super().dispatch(program, inputs, config)
        return outputs if self.turn % 5 else [memoryview(bytes(len(out))) for out in outputs]


class Boasts(Delegate, contract=1):
    """Claims larger workgroups than it refuses, and subgroups of three."""

    def device_profile(self) -> DeviceProfile:
        return replace(super().device_profile(), max_workgroup_size=(64, 1, 1), subgroup_size=3)


class Timeless(Delegate, contract=1):
    """A clock that stands still."""

    def dispatch_borrowed_timed(
        self, program: Program, inputs: Sequence[Any], config: DispatchConfig = DEFAULT_CONFIG
    ) -> TimedDispatchResult:
        return replace(super().dispatch_borrowed_timed(program, inputs, config), device_ns=0)


class Forgives(Delegate, contract=1):
    """Runs with what it is given, and reads any handle."""

    def dispatch(self, program: Program, inputs: Sequence[Any], config: DispatchConfig = DEFAULT_CONFIG) -> Outputs:
        fitting = [bytes(data[:16]).ljust(16, b"\0") for data in inputs[: len(program.inputs)]]
        return self.inner.dispatch(program, fitting or [bytes(16)] * len(program.inputs), config)

    def allocate_resident(self, byte_len: int) -> Resource:
        return Resource(backend="delegate", id=1, generation=0, byte_len=byte_len)

    def free_resident(self, resource: Resource) -> None:
        """Frees nothing."""

    def download_resident(self, resource: Resource) -> memoryview:
        return memoryview(bytes(resource.byte_len))


class Miscounts(Delegate, contract=1):
    """Counts launches that it does not make."""

    launches = 0

    def backend_metric_snapshot(self) -> dict[str, int]:
        self.launches += 2
        return {"launches": self.launches}


LIES = [
    (WritesBeyond, "entries:canaries:program=floats", "CanaryDied: bytes after 'out' were written to"),
    (KeepsInputs, "entries:borrowed:program=floats", "out"),
    (TakesTurns, "entries:asynchronous:program=floats", "NotTheSame|differs"),
    (Boasts, "claims:workgroup_limits", r"BrokenClaim: a workgroup of \(65, 1, 1\) was not refused"),
    (Boasts, "claims:profile_agrees", "BrokenClaim: subgroups of 3 lanes are claimed"),
    (Timeless, "claims:times", "BrokenClaim: 0 ns of"),
    (Forgives, "claims:bad_inputs", "BrokenClaim: dispatch with .* was not refused"),
    (Forgives, "claims:stale_handles", "BrokenClaim: a freed resource: reading was not refused"),
    (Miscounts, "claims:counts", "BrokenClaim: three dispatches of one launch each were"),
]


@pytest.mark.parametrize(("backend", "case", "words"), LIES)
def test_a_lie_is_found(backend: type[Delegate], case: str, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        require(backend(), named(case), repeats=3)


class Budgeted(Delegate, contract=1):
    """Emits other code within a budget, as one that has measured its own functions does."""

    def emitted_source(self, program: Program, config: DispatchConfig = DEFAULT_CONFIG) -> Any:
        return SimpleNamespace(text=f"{program} within {config.ulp_budget}")


def test_a_budget_that_changes_nothing_is_no_pass() -> None:
    (spec,) = specs([Query.parse("calls:math.exp:dtype=f32,budget=4")])
    assert require(Delegate(), spec) is State.SKIPPED
    assert require(Budgeted(), spec) is State.PASS
