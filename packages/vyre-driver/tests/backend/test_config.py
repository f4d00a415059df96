"""A configuration refuses what has no meaning, when it is made."""

import math

import pytest

from vyre_driver.backend.config import DispatchConfig, Preference
from vyre_driver.errors import InvalidLaunch


@pytest.mark.parametrize(
    ("field", "value", "needed"),
    [
        ("ulp_budget", -1, "an integer of at least 0"),
        ("ulp_budget", True, "an integer of at least 0"),
        ("fixpoint_iterations", 0, "an integer of at least 1"),
        ("fixpoint_iterations", 1.5, "an integer of at least 1"),
        ("timeout", 0, "more than 0 seconds"),
        ("timeout", math.nan, "more than 0 seconds"),
        ("max_output_bytes", -1, "an integer of at least 0"),
        ("workgroup_override", (0, 1, 1), "three integers in 1 … 4294967295"),
        ("workgroup_override", (1, 1), "three integers in 1 … 4294967295"),
        ("workgroup_override", [1, 1, 1], "three integers in 1 … 4294967295"),
        ("grid_override", (1, 1, -1), "three integers in 0 … 4294967295"),
        ("grid_override", (1, 1, 2**32), "three integers in 0 … 4294967295"),
    ],
)
def test_refused(field: str, value: object, needed: str) -> None:
    with pytest.raises(InvalidLaunch) as caught:
        DispatchConfig(**{field: value})  # type: ignore[arg-type]
    assert str(caught.value) == (
        f"{field}: got {value!r}, expected {needed}. Fix: change that field of the configuration"
    )


def test_accepted_boundaries() -> None:
    DispatchConfig(
        ulp_budget=0, fixpoint_iterations=1, timeout=1e-9, max_output_bytes=0, grid_override=(0, 0, 2**32 - 1)
    )


def test_labels_and_timeouts_do_not_change_the_shape() -> None:
    config = DispatchConfig(ulp_budget=1, grid_override=(1, 2, 3))
    assert config.replace(label="x", profile="y", timeout=1.0).launch_shape == config.launch_shape


@pytest.mark.parametrize(
    "change",
    [
        {"ulp_budget": 1},
        {"max_output_bytes": 1},
        {"workgroup_override": (1, 1, 1)},
        {"grid_override": (1, 1, 1)},
        {"fixpoint_iterations": 2},
        {"speculation": Preference.DISABLE},
        {"persistent_thread": Preference.FORCE},
        {"cooperative": True},
    ],
)
def test_everything_else_does(change: dict[str, object]) -> None:
    assert DispatchConfig().replace(**change).launch_shape != DispatchConfig().launch_shape
