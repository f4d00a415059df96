"""`vy.run`: one call, arrays by name, the backend by id or the best one."""

from __future__ import annotations

import numpy as np
import pytest

import vyre as vy
from vyre_driver import ShadowDiverged


def xor_program() -> vy.Program:
    with vy.program("xor", workgroup_size=64) as p:
        a, b = p.read("a", vy.u32), p.read("b", vy.u32)
        out = p.write("out", vy.u32, like=a)
        i = p.global_id(0)
        out[i] = a[i] ^ b[i]
    return p.build()


class Wrong(vy.VyreBackend, contract=1):
    """Right but for the first bit."""

    def __init__(self, right: vy.VyreBackend) -> None:
        self.right = right

    def id(self) -> str:
        return "wrong"

    def dispatch(self, program, inputs, config=vy.DispatchConfig()):  # noqa: B008
        outputs = self.right.dispatch(program, inputs, config)
        outputs[0][0] ^= 1
        return outputs


@pytest.fixture
def operands() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    a, b = random.integers(0, 2**32, (2, 1000), dtype=np.uint32)
    return a, b


@pytest.mark.parametrize("backend", [None, "auto", "reference", "opencl"])
def test_the_example_of_the_readme(backend: str | None, operands: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = operands
    np.testing.assert_array_equal(vy.run(xor_program(), a=a, b=b, backend=backend)["out"], a ^ b)


def test_inputs_may_come_as_a_mapping(operands: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = operands
    np.testing.assert_array_equal(vy.run(xor_program(), {"a": a, "b": b}, backend="reference")["out"], a ^ b)


def test_without_a_name_the_reference_is_not_chosen() -> None:
    assert vy.backend_for(None).id() != "reference"


def test_a_backend_is_opened_once() -> None:
    assert vy.backend_for("reference") is vy.backend_for("reference")


def test_a_backend_object_is_used_as_it_is(operands: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = operands
    backend = vy.backend_for("reference")
    np.testing.assert_array_equal(vy.run(xor_program(), a=a, b=b, backend=backend)["out"], a ^ b)


def test_a_profile_compares_with_the_reference(operands: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = operands
    backend = Wrong(vy.backend_for("reference"))
    with pytest.raises(ShadowDiverged, match=r"out\[0\]: got "):
        vy.run(xor_program(), a=a, b=b, backend=backend, config=vy.DispatchConfig(profile="shadow:2"))
    vy.run(xor_program(), a=a, b=b, backend=backend, config=vy.DispatchConfig(profile="shadow:2"))
    vy.run(xor_program(), a=a, b=b, backend=backend)


def test_an_unknown_backend_says_what_there_is() -> None:
    with pytest.raises(
        LookupError, match=r"no backend 'gpu' is registered \(registered: .*reference.*\)\. Fix: choose"
    ):
        vy.run(xor_program(), backend="gpu")


def test_a_missing_input_is_named(operands: tuple[np.ndarray, np.ndarray]) -> None:
    with pytest.raises(ValueError, match=r"buffer 'b': got nothing, expected an array of u32\. Fix: "):
        vy.run(xor_program(), a=operands[0], backend="reference")


def test_an_input_of_another_type_is_named(operands: tuple[np.ndarray, np.ndarray]) -> None:
    a, b = operands
    with pytest.raises(ValueError, match=r"buffer 'b': got one of int64, expected an array of uint32\. Fix: convert"):
        vy.run(xor_program(), a=a, b=b.astype(np.int64), backend="reference")


def test_every_public_name_exists() -> None:
    for name in vy.__all__:
        assert getattr(vy, name) is not None
