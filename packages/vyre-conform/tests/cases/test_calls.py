"""Cases of dialects: there is one for each signature, and elementary functions are judged by MPFR."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vyre_conform.address import address
from vyre_conform.case import AsEvaluated, Exactly, Spec, seeded
from vyre_conform.cases import calls
from vyre_conform.compare import difference
from vyre_conform.outcome import Returned
from vyre_foundation.dialects import Composition, Dialect, Migration, register, unregister
from vyre_foundation.dialects.mutation import MutationClass
from vyre_foundation.dtype import f32, u32
from vyre_foundation.ir.expr import Apply
from vyre_foundation.ops import OPS

SQUARE = Composition("acme.square", {(u32,): u32, (f32,): f32}, lambda x: Apply(OPS["mul"], x, x))
EXP = Composition("math.exp", {(f32,): f32, (u32,): u32}, lambda x: x)


def test_every_signature_is_a_case() -> None:
    register([SQUARE])
    try:
        found = {str(spec.address): spec.case().expected for spec in calls.specs()}
    finally:
        unregister([SQUARE.id])
    assert found["calls:acme.square:dtype=u32"] == found["calls:acme.square:dtype=f32"] == AsEvaluated()
    assert found["calls:testing.clamp:dtype=u32"] == AsEvaluated()  # whatever is installed


def test_every_choice_is_a_case_and_a_reference_says_what_it_gives() -> None:
    found = {str(spec.address): spec.case() for spec in calls.specs() if spec.address.name == "testing.mixed"}
    where = "calls:testing.mixed:dtype=u32,order={},factor=2654435761"
    assert found.keys() == {where.format("forward"), where.format("backward")}
    for order, case in zip(("forward", "backward"), found.values(), strict=True):
        x, y = (np.frombuffer(case.launch.inputs[name], np.uint32) for name in ("x0", "x1"))
        first, second = (x, y) if order == "forward" else (y, x)
        assert case.expected == Exactly(((first * np.uint32(2654435761) + second).tobytes(),), ("x0", "x1"))


def test_a_step_that_keeps_results_is_a_case(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [
        Migration(op="acme.square", to="acme.power", since="1"),
        Migration(op="acme.power", to="acme.square", since="1", mutation=MutationClass.SEMANTIC),
        Migration(op="acme.gone", to="acme.square", since="1"),
    ]
    power = replace(SQUARE, id="acme.power")
    found = Dialect(id="acme", version="1", ops=(SQUARE, power), migrations=tuple(steps))
    monkeypatch.setattr(calls, "installed_dialects", lambda: (found,))
    register(found.ops)
    try:
        cases = {str(spec.address): spec.case() for spec in calls.specs() if "becomes" in str(spec.address)}
    finally:
        unregister(row.id for row in found.ops)
    where = "calls:acme.square:dtype={},becomes=acme.power"
    assert cases.keys() == {where.format("u32"), where.format("f32")}
    for case in cases.values():
        assert case.expected == Exactly((bytes(len(case.launch.inputs["x0"])),), ("x0",))


def test_a_wrong_elementary_function_is_found_by_its_expected_bytes() -> None:
    """The identity is no exponential: MPFR says so, whatever the evaluators agree on."""
    (spec,) = (spec for spec in _specs_of(EXP) if "dtype=f32" in str(spec.address))
    case = spec.case()
    assert isinstance(case.expected, Exactly)
    assert case.expected.outputs[0] != case.launch.inputs["x0"]


def test_a_budget_is_part_of_the_launch_and_bounds_the_distance() -> None:
    """Results that are four values away are near enough for a budget of 4, and five are not."""
    found = {str(spec.address): spec for spec in calls.specs()}
    case = found["calls:math.exp:dtype=f32,budget=4"].case()
    assert isinstance(case.expected, Exactly)
    assert case.launch.config.ulp_budget == 4
    exact = np.frombuffer(case.expected.outputs[0], np.int32)
    is_finite = (exact > 8) & (exact < 0x7F80_0000 - 8)
    for apart, is_near in ((-4, True), (4, True), (5, False)):
        outcome = Returned((np.where(is_finite, exact + apart, exact).astype(np.int32).tobytes(),))
        assert (difference(case.launch, case.expected, outcome) is None) == is_near
        exactly = found["calls:math.exp:dtype=f32"].case().launch
        assert difference(exactly, case.expected, outcome) is not None


def _specs_of(row: Composition) -> list[Spec]:
    forms = calls._forms(row)
    return [seeded(address("calls", row.id, dtype=form.operands[0]), calls._call, form, 0) for form in forms]
