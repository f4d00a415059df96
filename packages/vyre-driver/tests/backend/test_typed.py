"""Arrays by name: every import path, every refusal."""

import math
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from vyre_driver.backend.dlpack import export_dlpack, from_dlpack
from vyre_driver.backend.typed import array_bytes, number_bytes
from vyre_driver.errors import InvalidInput, InvalidLaunch
from vyre_driver.plan.launch import LaunchPlan
from vyre_driver.testing.mock import MockBackend
from vyre_foundation.build import program
from vyre_foundation.dtype import DTYPES, DType, bf16, f32, f64, u32
from vyre_foundation.ir.buffer import LengthOf
from vyre_foundation.ir.expr import literal
from vyre_foundation.ir.program import Program


def copying(dtype: DType) -> Program:
    with program("copying") as p:
        a = p.read("a", dtype)
        out = p.write("out", dtype, like=a)
        i = p.global_id(0)
        out[i] = a[i]
    return p.build()


def copy(plan: LaunchPlan, memory: Mapping[str, memoryview]) -> None:
    memory["out"][:] = memory["a"]


BACKEND = MockBackend(copy)


def run(dtype: DType, value: object) -> np.ndarray[Any, Any]:
    return BACKEND.dispatch_arrays(copying(dtype), {"a": value})["out"]


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda t: t.name)
@pytest.mark.parametrize("shape", [(0,), (3,), (2, 3), ()], ids=str)
def test_every_type_comes_back_as_declared(dtype: DType, shape: tuple[int, ...]) -> None:
    given = np.ones(shape, dtype.numpy)
    out = run(dtype, given)
    assert out.dtype == np.dtype(dtype.numpy)
    assert out.tolist() == given.tolist()
    assert out.flags.writeable


class Exporter:
    """Something that is not an array but hands one out through one protocol."""

    def __init__(self, protocol: str, contents: np.ndarray[Any, Any]) -> None:
        self._protocol, self._contents = protocol, contents

    def __getattr__(self, name: str) -> Any:
        if name == self._protocol:
            return getattr(self._contents, name)
        raise AttributeError(name)


class Tensor:
    """An exporter by DLPack alone, whose type it may have renamed, as a tensor of bf16 does."""

    def __init__(self, contents: Any, *, is_versioned: bool) -> None:
        self._contents, self._is_versioned = contents, is_versioned

    def __dlpack__(self, **options: Any) -> Any:
        if options and not self._is_versioned:
            raise TypeError("options are not known")
        return export_dlpack(self._contents, **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


FLOATS = np.array([1.5, -2.0], np.float32)


@pytest.mark.parametrize(
    "value",
    [
        memoryview(FLOATS),
        Tensor(FLOATS, is_versioned=True),
        Exporter("__array_interface__", FLOATS),
        Exporter("__array__", FLOATS),
        np.array([1.5, 0.0, -2.0], np.float32)[::2],
    ],
    ids=["buffer", "dlpack", "array_interface", "array", "strided"],
)
def test_whoever_exports_memory_is_understood(value: object) -> None:
    assert run(f32, value).tolist() == [1.5, -2.0]


@pytest.mark.parametrize("is_versioned", [False, True])
@pytest.mark.parametrize("part", [slice(None), slice(None, None, -2)])
def test_tensors_of_bf16_come_by_their_bits(part: slice, is_versioned: bool) -> None:
    values = np.array([1.5, -2.0, np.inf], ml_dtypes.bfloat16)[part]
    tensor = Tensor(values, is_versioned=is_versioned)
    with pytest.raises((BufferError, RuntimeError)):
        np.from_dlpack(tensor)
    found = from_dlpack(tensor)
    assert found.dtype == ml_dtypes.bfloat16
    assert np.shares_memory(found, values)
    assert run(bf16, tensor).tolist() == values.tolist()
    with pytest.raises(InvalidInput, match="got one of bfloat16, expected an array of float32"):
        run(f32, tensor)


def test_other_types_keep_their_names_in_dlpack() -> None:
    assert from_dlpack(Tensor(FLOATS, is_versioned=True)).tolist() == FLOATS.tolist()
    assert np.from_dlpack(Tensor(FLOATS, is_versioned=True)).dtype == np.float32


class WithGradient:
    requires_grad = True


class OnADevice:
    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("the memory is on a device")

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)


# fmt: off
REFUSED = [
    (np.zeros(1, np.float64),            "an array of float32", "one of float64"),
    (np.zeros(1, ">f4"),                 "an array of float32", "one of float32 in another byte order"),
    (np.ma.masked_array([1.0, 2.0], [0, 1]), "an array without a mask", "a masked array"),
    (np.array(["a"]),                    "an array of float32", "one of str32"),
    (None,                               "an array of f32",     "NoneType"),
    (np.zeros(1, ml_dtypes.bfloat16),    "an array of float32", "one of bfloat16"),
    (b"1234",                            "an array of float32", "one of uint8"),
    ([1.0],                              "an array of f32",     "list"),
    (1.0,                                "an array of f32",     "float"),
    (WithGradient(),                     "plain memory",        "a WithGradient that requires a gradient"),
    (OnADevice(),                        "memory of the host",  "a OnADevice that NumPy cannot read"),
]
# fmt: on


@pytest.mark.parametrize(("value", "needed", "got"), REFUSED)
def test_what_is_refused(value: object, needed: str, got: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        run(f32, value)
    assert (caught.value.buffer, caught.value.needed) == ("a", needed)
    assert caught.value.got.startswith(got)


class Doubles:
    """An exporter of f64 that converts by a method of its own name, as a tensor does."""

    memory = np.zeros(1)
    __array_interface__ = memory.__array_interface__


@pytest.mark.parametrize(
    ("value", "fix"),
    [
        (np.zeros(1), "convert it with .astype('float32'), or declare the buffer with its type"),
        (Doubles(), "convert it to float32, or declare the buffer with its type"),
        (OnADevice(), "copy it to the host first, as float32"),
    ],
)
def test_the_remedy_is_one_that_the_array_has(value: object, fix: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        run(f32, value)
    assert caught.value.fix == fix


def test_names_are_the_program_s() -> None:
    with pytest.raises(InvalidInput) as caught:
        BACKEND.dispatch_arrays(copying(u32), {"a": np.zeros(1, np.uint32), "b": np.zeros(1, np.uint32)})
    assert str(caught.value).startswith("argument 'b': got a name that the program has no input of, expected one of a.")
    with pytest.raises(InvalidInput) as caught:
        BACKEND.dispatch_arrays(copying(u32), {})
    assert str(caught.value) == (
        "argument 'a': got nothing, expected an array of u32. Fix: pass an array for every input of the program"
    )


@pytest.mark.parametrize("output_range", [(2, 6), (4, 6)])
def test_parts_of_elements_are_no_array(output_range: tuple[int, int]) -> None:
    p = program("parts")
    p.write("out", u32, 4, output_range=output_range)
    with pytest.raises(InvalidInput, match=r"argument 'out': got the bytes . … 6, expected an output range of whole"):
        BACKEND.dispatch_arrays(p.build(), {})


def test_a_range_of_elements_is_an_array() -> None:
    p = program("range")
    p.write("out", u32, 4, output_range=(4, 12))
    assert MockBackend(lambda plan, memory: None).dispatch_arrays(p.build(), {})["out"].tolist() == [0, 0]


def scaling(dtype: DType, count: int | None) -> Program:
    with program("scaling") as p:
        by = p.uniform("by", dtype, count)
        p.write("out", dtype, 1)[0] = by[0]
    return p.build()


def give(plan: LaunchPlan, memory: Mapping[str, memoryview]) -> None:
    memory["out"][:] = memory["by"][: len(memory["out"])]


@pytest.mark.parametrize(
    ("dtype", "number"),
    [
        (f32, 2.5), (f32, 7), (u32, 7), (u32, 7.0), (u32, True), (f32, np.float64(0.1)), (u32, np.int64(7)),
        (u32, np.float32(7)), (f64, np.float32(0.1)), (f32, ml_dtypes.bfloat16(2.5)), (u32, np.True_),
        (f32, np.array(3.0)), (u32, np.array(7)), (f32, np.array(2.5, ">f4")), (f32, np.array(2.5, ml_dtypes.bfloat16)),
    ],
)  # fmt: skip
def test_a_number_is_a_uniform_of_one_element(dtype: DType, number: float) -> None:
    out = MockBackend(give).dispatch_arrays(scaling(dtype, 1), {"by": number})["out"]
    assert out.tolist() == [np.dtype(dtype.numpy).type(number)]


@pytest.mark.parametrize(
    ("count", "number"),
    [
        (1, 0.5), (1, -1), (1, 2**32), (None, 7), (2, 7), (1, "7"), (1, None), (1, [7]), (1, np.int64(-1)),
        (1, np.array(-1)), (1, np.array(2.5)), (2, np.array(7)), (1, np.array([7])), (1, np.array("7")),
    ],
)  # fmt: skip
def test_other_numbers_are_refused(count: int | None, number: object) -> None:
    with pytest.raises(InvalidInput, match=r"argument 'by': got .*, expected .* u(int)?32\. Fix: "):
        MockBackend(give).dispatch_arrays(scaling(u32, count), {"by": number})


def test_an_array_without_axes_keeps_its_bits_in_a_uniform() -> None:
    found = array_bytes(scaling(f32, 1).inputs[0], np.array(0x7FC0_1234, np.uint32).view(np.float32))
    assert found.view(np.uint32).tolist() == [0x7FC0_1234]


def test_arrays_come_by_name() -> None:
    with pytest.raises(InvalidLaunch, match=r"arrays: got list, expected a mapping from the names .* Fix: pass a dict"):
        BACKEND.dispatch_arrays(copying(u32), [np.zeros(1, np.uint32)])  # type: ignore[arg-type]


def test_bytes_of_another_type_say_how_to_name_it() -> None:
    with pytest.raises(InvalidInput, match=r"Fix: say what the bytes are, with numpy\.frombuffer\(data, 'float32'\)"):
        run(f32, b"12345678")


def test_outputs_have_the_shape_of_the_array_that_they_are_declared_like() -> None:
    with program("shapes") as p:
        image, other = p.read("image", u32), p.read("other", u32)
        state = p.read_write("state", f32)
        same = p.write("same", f32, like=image)
        p.write("again", u32, like=same)
        p.write("scaled", u32, LengthOf("image", times=2))
        p.write("other_count", u32, 6)
        p.write("like_other", u32, like=other)
        p.write("part", u32, like=image, output_range=(4, 12))
        state[0] = 1.0
    given = {
        "image": np.zeros((2, 3), np.uint32),
        "other": memoryview(np.zeros((3, 2), np.uint32)),
        "state": np.zeros((1, 4, 1), np.float32),
    }
    outputs = MockBackend(lambda plan, memory: None).dispatch_arrays(p.build(), given)
    assert {name: array.shape for name, array in outputs.items()} == {
        "state": (1, 4, 1), "same": (2, 3), "again": (2, 3), "scaled": (12,), "other_count": (6,), "like_other": (3, 2),
        "part": (2,),
    }  # fmt: skip


@pytest.mark.parametrize("dtype", [f32, f64], ids=str)
@pytest.mark.parametrize("value", [0.1, -0.0, 1e-310, -3.4028235677973366e38, 3.4e39, math.inf, math.nan, 3, True])
def test_numbers_are_rounded_as_literals_are(dtype: DType, value: float) -> None:
    with program("scaled") as p:
        p.uniform("x", dtype, 1)
    buffer = p.build().buffer("x")
    assert number_bytes(buffer, value).tobytes() == literal(dtype, value).bits.to_bytes(dtype.size, "little")
