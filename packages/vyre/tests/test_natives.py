"""The device's own functions, measured on a device, taken for a budget and never without one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner, Result

from vyre.cli import main
from vyre_driver import DispatchConfig, acquire
from vyre_driver.backend.delegate import innermost
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.policy.native import ALL_ARGUMENTS, Measured
from vyre_driver.tune.native import measure_native, values
from vyre_foundation.dtype import f32

pytestmark = pytest.mark.backend("opencl")
STRIDE = 65537


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["natives", "--backend", "opencl", *arguments])


@pytest.fixture
def device() -> Iterator[EngineBackend]:
    backend = innermost(acquire("opencl"))
    assert isinstance(backend, EngineBackend)
    with backend.session() as opened:
        natives = opened.natives
    known = natives.measured(("math.exp", f32))
    yield backend
    if known is None:
        natives.forget(("math.exp", f32))
    else:
        natives.keep(("math.exp", f32), known)


def test_a_sample_is_reported_and_taken_by_no_budget(device: EngineBackend) -> None:
    result = invoke("--measure", "--stride", str(STRIDE), "--json", "math.exp")
    assert result.exit_code == 0
    (row,) = json.loads(result.stdout)["functions"].items()
    assert row[0] == "math.exp"
    assert row[1]["measured"]["arguments"] == len(range(0, ALL_ARGUMENTS, STRIDE))
    assert row[1]["is_native"] is False
    assert "not measured over all" in invoke("math.exp").stdout


def test_unknown_functions_are_refused() -> None:
    result = invoke("math.pow")
    assert result.exit_code == 2
    assert "math.exp" in result.stderr
    assert "Fix:" in result.stderr


def test_a_budget_takes_what_fits_and_holds(device: EngineBackend) -> None:
    x = np.linspace(-80, 80, 2**16, dtype=np.float32)
    measured = device.measure_native("math.exp", stride=STRIDE)
    with device.session() as opened:
        opened.natives.keep(("math.exp", f32), _as_if_complete(measured))

    def result(budget: int) -> np.ndarray:
        return np.frombuffer(device.dispatch(values("math.exp"), [x], DispatchConfig(ulp_budget=budget))[0], np.int32)

    def text(budget: int) -> str:
        return device.emitted_source(values("math.exp"), DispatchConfig(ulp_budget=budget)).text

    assert "exp(" in text(measured.error)
    assert "exp(" not in text(0)
    assert "exp(" not in text(measured.error - 1)
    assert np.abs(result(measured.error) - result(0)).max() <= measured.error
    reference = acquire("reference").dispatch(values("math.exp"), [x], DispatchConfig(ulp_budget=0))
    assert result(0).tobytes() == bytes(reference[0])


def test_distances_count_representable_values() -> None:
    """The reference has no function of its own, so both are the exact one, and nothing is apart."""
    measured = measure_native(acquire("reference"), "math.rsqrt", stride=2**20 + 1)
    assert (measured.error, measured.arguments) == (0, 4096)


def _as_if_complete(measured: Measured) -> Measured:
    return replace(measured, arguments=ALL_ARGUMENTS, native_ps=0.0)


def test_a_device_without_functions_of_its_own_says_so() -> None:
    result = CliRunner().invoke(main, ["natives", "--backend", "cpu"])
    assert "no functions of its own" in result.stdout
    assert result.exit_code == 0
