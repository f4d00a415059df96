"""A configuration refuses what has no meaning, when it is made."""

import math
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, strategies as st

from vyre_driver.backend.config import DispatchConfig, Preference
from vyre_driver.errors import InvalidLaunch

SECONDS = "a number of seconds above 0 and up to 1000000000, or None for no timeout"


@pytest.mark.parametrize(
    ("field", "value", "needed"),
    [
        ("ulp_budget", -1, "an integer of at least 0"),
        ("ulp_budget", True, "an integer of at least 0"),
        ("fixpoint_iterations", 0, "an integer of at least 1"),
        ("fixpoint_iterations", 1.5, "an integer of at least 1"),
        ("timeout", 0, SECONDS),
        ("timeout", -1.0, SECONDS),
        ("timeout", math.nan, SECONDS),
        ("timeout", math.inf, SECONDS),
        ("timeout", 1e10, SECONDS),
        ("timeout", 10**400, SECONDS),
        ("timeout", "3", SECONDS),
        ("timeout", True, SECONDS),
        ("profile", 3, "a string or None"),
        ("label", b"x", "a string or None"),
        ("speculation", "force", "a Preference"),
        ("persistent_thread", None, "a Preference"),
        ("cooperative", 1, "True or False"),
        ("cooperative", None, "True or False"),
        ("max_output_bytes", "1", "an integer of at least 0"),
        ("fixpoint_iterations", None, "an integer of at least 1"),
        ("grid_override", (1, 1, True), "three integers in 0 … 4294967295"),
        ("grid_override", (1, 1, 1.0), "three integers in 0 … 4294967295"),
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
    DispatchConfig(ulp_budget=2**70, fixpoint_iterations=2**70, timeout=10**9, max_output_bytes=2**70)


ODD = st.one_of(
    st.none(), st.booleans(), st.integers(), st.integers(-2, 3), st.floats(),
    st.text(max_size=3), st.binary(max_size=3),
    st.sampled_from(Preference), st.sampled_from([np.int64(1), np.float32(1), np.bool_(True), 10**400, object()]),
    st.tuples(st.integers(-1, 2), st.integers(-1, 2), st.one_of(st.integers(), st.floats(), st.booleans())),
    st.lists(st.integers(), max_size=4), st.dictionaries(st.text(max_size=1), st.none(), max_size=1),
)  # fmt: skip


@given(st.fixed_dictionaries({}, optional={field.name: ODD for field in fields(DispatchConfig)}))
def test_every_field_of_any_type_is_taken_or_refused(given: dict[str, object]) -> None:
    """What is taken is hashed, compared and shown like any other."""
    try:
        config = DispatchConfig(**given)  # type: ignore[arg-type]
    except InvalidLaunch as refusal:
        message = str(refusal)
        assert "Fix: " in message
        assert any(message.startswith(f"{field}: got ") for field in given)
    else:
        assert config == config.replace()
        assert hash(config) == hash(config.replace())
        assert hash(config.launch_shape) == hash(config.replace().launch_shape)


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
