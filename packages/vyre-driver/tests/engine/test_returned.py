"""What a port gives back is checked where the engine receives it, and errors name the backend and the method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from vyre_driver.device.profile import DeviceProfile
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.errors import InvalidOutput
from vyre_driver.testing.fake_port import FakePort
from vyre_driver.testing.mock import MockBackend
from vyre_driver.testing.target import generous_profile
from vyre_driver.testing.witnesses import doubling


def nothing(*_: object, **named: object) -> None:
    """What a method forgets to return."""


def over(**methods: Callable[..., Any]) -> EngineBackend:
    port = type("Port", (FakePort,), methods)
    return EngineBackend("mine", lambda: port(lambda plan, memory: None, generous_profile("mine")))


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        ("probe", "None from 'probe', expected a DeviceProfile"),
        ("target", "None from 'target', expected a Target"),
        ("emit", "None from 'emit', expected a SourceUnit"),
        ("compile", "None from 'compile', expected a module"),
        ("allocate", "None from 'allocate', expected memory"),
    ],
)
def test_a_port_that_returns_none(method: str, reason: str) -> None:
    backend = over(**{method: nothing})
    with pytest.raises(InvalidOutput) as caught:
        backend.dispatch(doubling().program, doubling().given)
    assert str(caught.value).startswith(f"backend 'mine' returned {reason}. Fix: report it to the backend's authors: ")


def test_programs_that_are_compiled_together_are_checked_too() -> None:
    backend = over(compile=nothing)
    programs = [doubling().program, replace(doubling().program, name="another", workgroup_size=(2, 1, 1))]
    with pytest.raises(InvalidOutput, match="None from 'compile', expected a module"):
        backend.precompile(programs)


def test_each_kernel_has_a_name() -> None:
    backend = over(emit=lambda port, lowered: replace(FakePort.emit(port, lowered), kernels=("one", "two")))
    with pytest.raises(InvalidOutput, match="2 names of kernels from 'emit', expected 1"):
        backend.dispatch(doubling().program, doubling().given)


def test_a_device_is_opened_as_a_port() -> None:
    backend = EngineBackend("mine", lambda: None)  # type: ignore[arg-type, return-value]
    with pytest.raises(InvalidOutput, match="backend 'mine' returned None from 'open_port', expected a DevicePort"):
        backend.device_profile()


def test_a_device_has_the_id_of_its_backend_whatever_its_profile_says() -> None:
    backend = EngineBackend("mine", lambda: FakePort(lambda plan, memory: None, generous_profile("copied")))
    assert backend.device_profile().backend == "mine"
    buffer = backend.allocate_device_buffer(16)
    assert buffer.backend_id() == "mine"
    backend.free_device_buffer(buffer)


WRONG = {
    "str": [None, 1],
    "bool": [None, 1, np.True_],
    "int": [None, True, 1.0, "1"],
    "int | None": [True, 1.0, "1"],
    "float | None": [True, "1"],
    "Extent": [None, 1024, (1, 1), [1, 1, 1], (1, 1, None), (1, 1, 1.0)],
    "Extent | None": [1024, (1, 1), (1, 1, True)],
    "DeviceTimingQuality": [None, "host_only"],
    "tuple[Queue, ...]": [None, [], ("queue",)],
}


@pytest.mark.parametrize("field", fields(DeviceProfile), ids=lambda field: field.name)
def test_fields_of_a_profile_have_their_types(field: Any) -> None:
    for value in WRONG[field.type]:
        with pytest.raises(InvalidOutput) as caught:
            DeviceProfile(**{"backend": "mine", field.name: value})
        assert f"returned a DeviceProfile whose {field.name} is {value!r}, expected " in str(caught.value)


def test_a_wrong_field_names_the_backend_and_what_is_wanted() -> None:
    with pytest.raises(InvalidOutput) as caught:
        DeviceProfile(backend="mine", max_workgroup_size=1024)  # type: ignore[arg-type]
    assert str(caught.value) == (
        "backend 'mine' returned a DeviceProfile whose max_workgroup_size is 1024, expected three integers. "
        "Fix: report it to the backend's authors: they give max_workgroup_size three integers"
    )


def test_the_profile_of_the_queries_is_checked_too() -> None:
    class Bold(MockBackend, contract=1):
        def max_workgroup_size(self):
            return 1024

    with pytest.raises(InvalidOutput, match="1024 from 'max_workgroup_size', expected three integers"):
        Bold(lambda plan, memory: None).device_profile()
