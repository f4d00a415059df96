"""A device's own elementary functions: measured, kept with the device, left in programs where a budget allows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import vyre_foundation.testing.dialect  # noqa: F401 - registers the op that is called
from vyre_driver.backend.config import DispatchConfig
from vyre_driver.engine import lowering as engine_lowering
from vyre_driver.errors import UnsupportedFeature
from vyre_driver.legalization.lowered import Lowered
from vyre_driver.legalization.target import Arrangement, Target
from vyre_driver.pipeline.settings import CacheMode, CacheSettings
from vyre_driver.pipeline.signature import DeviceSignatureTable
from vyre_driver.pipeline.store import DiskStore
from vyre_driver.policy.native import ALL_ARGUMENTS, ANY_ERROR, Measured
from vyre_driver.tune.native import values
from vyre_driver.tune.natives import Natives
from vyre_foundation.dtype import f32, f64
from vyre_foundation.ir.program import Program
from vyre_foundation.validate.facts import Facts

RAMP = "testing.ramp"
STRIDE = 2**20 + 1
MEASURED = Measured(error=2, worst=7, arguments=ALL_ARGUMENTS, native_ps=300.0, exact_ps=2000.0)


def off_by_three_at_one_argument(arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
    if "first" in arrays:
        arrays["out"][:] = 1
        arrays["out"][5] = 3


@pytest.fixture
def targets(lowering: Callable[[Callable[..., Lowered]], None]) -> list[Target]:
    """What each program was lowered for."""
    seen: list[Target] = []
    lowered: Callable[..., Lowered] = vars(engine_lowering)["legalize"]  # as the fixture left it

    def watched(program: Program, facts: Facts, target: Target, arrangement: Arrangement) -> Lowered:
        seen.append(target)
        return lowered(program, facts, target, arrangement)

    lowering(watched)
    return seen


@pytest.fixture
def device(engine: Callable[..., SimpleNamespace]) -> SimpleNamespace:
    return engine(off_by_three_at_one_argument, own_functions={(RAMP, f32): "ramp({0})"})


def test_the_largest_distance_and_its_first_argument(device: SimpleNamespace) -> None:
    done: list[float] = []
    measured = device.backend.measure_native(RAMP, stride=STRIDE, progress=done.append)
    assert (measured.error, measured.worst) == (3, 5 * STRIDE)
    assert measured.arguments == 4096  # multiples of the stride below 2**32: 0 … 4095
    assert done[-1] == pytest.approx(1, abs=1e-3)
    assert device.backend.natives(4)[RAMP][0] == measured


def test_calls_stay_where_the_budget_allows(device: SimpleNamespace, targets: list[Target]) -> None:
    def is_taken(budget: int) -> bool:
        device.backend.dispatch(values(RAMP), [np.zeros(4, np.float32)], DispatchConfig(ulp_budget=budget))
        return (RAMP, f32) in targets[-1].calls

    assert [is_taken(budget) for budget in (0, 4, ANY_ERROR)] == [False, False, True]  # nothing is measured
    device.backend._session.device.natives.keep((RAMP, f32), MEASURED)
    assert [is_taken(budget) for budget in (1, 2, 3)] == [False, True, True]


def test_what_was_measured_in_part_is_taken_by_no_budget(device: SimpleNamespace) -> None:
    device.backend.measure_native(RAMP, stride=STRIDE)
    measured, verdict = device.backend.natives(ANY_ERROR - 1)[RAMP]
    assert measured is not None
    assert not verdict.is_native


def test_a_function_that_the_device_has_not(device: SimpleNamespace) -> None:
    with pytest.raises(UnsupportedFeature, match=r"testing\.gray(.|\n)*Fix: "):
        device.backend.measure_native("testing.gray")


def test_kept_for_later_processes_with_text_and_device(tmp_path: Path) -> None:
    store = DiskStore(CacheSettings(CacheMode.READ_WRITE, tmp_path))
    spelled = {(RAMP, f32): "ramp({0})"}
    known = DeviceSignatureTable(store)
    Natives(spelled, ("fake", "one"), known).keep((RAMP, f32), MEASURED)
    assert Natives(spelled, ("fake", "one"), known).taken(2) == {(RAMP, f32)}
    assert Natives(spelled, ("fake", "other"), known).taken(2) == frozenset()
    assert Natives({(RAMP, f32): "fast_ramp({0})"}, ("fake", "one"), known).taken(2) == frozenset()
    assert Natives({(RAMP, f64): "ramp({0})"}, ("fake", "one"), known).taken(2) == frozenset()
    store.close()


def test_what_cannot_be_read_is_not_known(tmp_path: Path) -> None:
    store = DiskStore(CacheSettings(CacheMode.READ_WRITE, tmp_path))
    known = DeviceSignatureTable(store)
    natives = Natives({(RAMP, f32): "ramp({0})"}, ("fake", "one"), known)
    store.put(natives._signature((RAMP, f32)).entry(), b'{"error": 2}', 0)
    assert natives.measured((RAMP, f32)) is None
    natives.keep((RAMP, f32), replace(MEASURED, error=1))
    assert Natives(natives.spelled, ("fake", "one"), known).measured((RAMP, f32)) == replace(MEASURED, error=1)
    store.close()
