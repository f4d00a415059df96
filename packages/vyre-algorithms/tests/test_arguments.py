"""What algorithms take as arrays, beside arrays of NumPy."""

from inspect import Parameter, isfunction, signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vyre_algorithms as va
from vyre_algorithms.arguments import contiguous
from vyre_algorithms.launches import counted_up, zeros_beside
from vyre_driver.errors import DeviceOutOfMemory, InvalidInput
from vyre_foundation.dtype import f64


class Exported:
    """An object that exports its elements by a protocol of NumPy alone."""

    def __init__(self, values: Any) -> None:
        self.__array_interface__ = values.__array_interface__
        self.values = values


class Broken:
    """An object whose export fails."""

    def __dlpack__(self, **_: object) -> Any:
        raise RuntimeError("no memory of the host")

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def test_mapped_files_matrices_and_exporters_are_arrays(tmp_path: Path) -> None:
    x = np.arange(100, dtype=np.float32)
    mapped = np.memmap(tmp_path / "x", np.float32, "w+", shape=x.shape)
    mapped[:] = x
    for given in (mapped, Exported(x), memoryview(x)):
        assert va.sum(given, backend="reference") == 4950
        assert va.searchsorted(given, np.float32([3.5]), backend="reference").tolist() == [4]
        assert type(va.sort(given, backend="reference")) is np.ndarray


@pytest.mark.parametrize("name", ["float32", "complex64", "int64"])
@pytest.mark.parametrize("function", [va.sum, va.sort, va.fft, va.rfft, va.cumsum, va.bincount, va.histogram])
def test_another_byte_order_is_refused_with_what_converts_it(function: Any, name: str) -> None:
    x = np.ones(4, np.dtype(name).newbyteorder(">"))
    with pytest.raises(
        InvalidInput, match=f"got the type {name} in another byte order, .* Fix: convert it with"
    ) as error:
        function(x, backend="reference")
    assert error.value.fix == f"convert it with .astype({name!r})"
    assert x.astype(name).dtype.isnative


@pytest.mark.parametrize("given", [[1, 2], "12", None, object()])
def test_what_has_no_type_is_no_array(given: object) -> None:
    with pytest.raises(InvalidInput, match=r"argument 'x': got .*expected an array"):
        va.sum(given, backend="reference")


def test_an_export_that_fails_is_told() -> None:
    with pytest.raises(
        InvalidInput, match=r"argument 'x': got a Broken that NumPy cannot read \(no memory of the host\)"
    ):
        va.sum(Broken(), backend="reference")


ARRAYS = frozenset(
    "a b columns indices keys mask messages points rows sources starts targets text values weights x y".split()
)
"""The parameters that are data: passed by position, as in NumPy."""


@pytest.mark.parametrize("name", [name for name in va.__all__ if isfunction(getattr(va, name))])
def test_only_data_is_passed_by_position_alone(name: str) -> None:
    parameters = signature(getattr(va, name)).parameters.values()
    by_position = {parameter.name for parameter in parameters if parameter.kind is Parameter.POSITIONAL_ONLY}
    assert by_position <= ARRAYS


def test_options_are_passed_by_name() -> None:
    x = np.float32([3, 1, 2])
    assert va.top_k(x, k=2, backend="reference")[0].tolist() == [3, 2]
    drawn = va.sample(size=9, k=4, key=1, backend="reference")
    assert drawn.tolist() == va.sample(9, 4, 1, backend="reference").tolist()
    assert va.shuffle(x, key=1, backend="reference").tolist() == va.shuffle(x, 1, backend="reference").tolist()


ENDLESS = np.broadcast_to(np.float64(1), (1 << 30, 1 << 29))
"""The view of a number in a shape that no machine has the memory for."""


@pytest.mark.parametrize(
    "call",
    [
        lambda: contiguous(ENDLESS),
        lambda: zeros_beside(np.zeros(1), ENDLESS.shape, f64),
        lambda: zeros_beside(np.zeros(1), (1 << 40, 1 << 40), f64),
        lambda: counted_up(1 << 58),
    ],
)
def test_memory_that_no_host_has_is_an_error_of_a_backend(call: Any) -> None:
    with pytest.raises(DeviceOutOfMemory, match=r"out of memory: \d+ bytes are needed\. Fix: use smaller buffers"):
        call()


@pytest.mark.parametrize(
    ("a", "b", "fix"),
    [
        ((4, 8), (3, 8), r"pass a transpose, as in b\.T"),
        ((8, 4), (8, 3), r"pass a transpose, as in a\.T"),
        ((4, 8), (3, 4), "reshape or convert one of the arrays"),
        ((8,), (3, 8), r"pass a transpose, as in b\.T"),
    ],
)
def test_matrices_that_do_not_fit_may_have_to_be_turned(a: tuple[int, ...], b: tuple[int, ...], fix: str) -> None:
    with pytest.raises(InvalidInput, match=rf"got f32 .* and f32 .*\. Fix: {fix}$"):
        va.matmul(np.ones(a, np.float32), np.ones(b, np.float32))


def test_products_that_no_index_reaches_are_refused() -> None:
    column, row = np.broadcast_to(np.float32(1), (1 << 16, 1)), np.broadcast_to(np.float32(1), (1, 1 << 16))
    with pytest.raises(InvalidInput, match=r"argument 'b': got one of 4294967296, .* Fix: multiply parts of `a`"):
        va.matmul(column, row, backend="reference")
