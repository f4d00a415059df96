"""Host buffers: what is accepted as bytes, and how results get into slots of the caller."""

import array
import ctypes

import ml_dtypes
import numpy as np
import pytest

from vyre_driver.backend.results import borrowed_input_slices, host_bytes, replace_output_buffers_preserving_slots
from vyre_driver.errors import InvalidInput


@pytest.mark.parametrize(
    "buffer",
    [
        b"\1\0\2\0",
        bytearray(b"\1\0\2\0"),
        memoryview(b"\1\0\2\0"),
        array.array("H", [1, 2]),
        np.array([1, 2], np.uint16),
        np.array([[1], [2]], np.uint16),
        np.array([1, 2], np.uint16).view(ml_dtypes.bfloat16),
    ],
    ids=lambda buffer: type(buffer).__name__,
)
def test_bytes_of_anything_contiguous(buffer: object) -> None:
    view = host_bytes("a", buffer)  # type: ignore[arg-type]
    assert (view.format, view.ndim, bytes(view)) == ("B", 1, b"\1\0\2\0")


@pytest.mark.parametrize("empty", [b"", np.empty(0, np.float32), np.empty((3, 0), np.int8)], ids=repr)
def test_nothing_has_no_bytes(empty: object) -> None:
    assert host_bytes("a", empty).nbytes == 0  # type: ignore[arg-type]
    assert host_bytes("a", bytearray(), writable=True).nbytes == 0


PROTOCOL = "an object with the buffer protocol (bytes, an array, …)"

# fmt: off
REFUSED = [
    (3,                    "int",            PROTOCOL),
    ([1, 2],               "list",           PROTOCOL),
    (np.arange(6)[::2],    "a strided view", "contiguous memory"),
    (np.ones((2, 3)).T,    "a strided view", "contiguous memory"),
    (np.zeros(6, ml_dtypes.bfloat16)[::2], "a strided bfloat16 array", PROTOCOL),
    (np.array([None, 1]),  "references to Python objects", "memory of plain data"),
    (np.zeros(2, [("B", "u4"), ("C", "O")]), "references to Python objects", "memory of plain data"),
    ((ctypes.py_object * 2)(), "references to Python objects", "memory of plain data"),
]
# fmt: on


@pytest.mark.parametrize(("buffer", "got", "expected"), REFUSED)
def test_refused(buffer: object, got: str, expected: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        host_bytes("a", buffer)  # type: ignore[arg-type]
    assert (caught.value.buffer, caught.value.got, caught.value.needed) == ("a", got, expected)


def test_a_field_may_be_named_like_the_format_of_objects() -> None:
    assert host_bytes("a", np.array([(7,)], [("Other", "<u4")])) == b"\7\0\0\0"


def test_a_target_of_any_type_can_be_written() -> None:
    target = np.zeros(1, ml_dtypes.bfloat16)
    host_bytes("out", target, writable=True)[:] = b"\x80\x3f"
    assert target.tolist() == [1.0]


def test_a_target_must_be_writable() -> None:
    with pytest.raises(InvalidInput, match="got read-only memory, expected writable memory"):
        host_bytes("out", b"1234", writable=True)


def test_inputs_are_named_by_position() -> None:
    assert [bytes(view) for view in borrowed_input_slices([b"a", bytearray(b"b")])] == [b"a", b"b"]
    with pytest.raises(InvalidInput, match="argument 'input 1'"):
        borrowed_input_slices([b"a", 2])  # type: ignore[list-item]


RESULTS = [memoryview(bytearray(b"1234")), memoryview(bytearray(b"56"))]


@pytest.mark.parametrize("slots", [0, 1, 2, 3])
def test_there_are_as_many_slots_as_results(slots: int) -> None:
    outputs: list[object] = [bytearray(4) for _ in range(slots)]
    replace_output_buffers_preserving_slots(outputs, RESULTS)  # type: ignore[arg-type]
    assert outputs == [b"1234", b"56"]


def test_a_slot_of_the_right_size_keeps_its_memory() -> None:
    mine, other = np.zeros(2, np.uint16), bytearray(3)
    outputs: list[object] = [mine, other]
    replace_output_buffers_preserving_slots(outputs, RESULTS)  # type: ignore[arg-type]
    assert outputs[0] is mine
    assert mine.tobytes() == b"1234"
    assert outputs[1] is RESULTS[1]


def test_a_read_only_slot_is_refused_before_anything_is_written() -> None:
    first = bytearray(4)
    with pytest.raises(InvalidInput, match="output buffer 1"):
        replace_output_buffers_preserving_slots([first, b"56"], RESULTS)
    assert first == bytes(4)


@pytest.mark.parametrize(("first", "second"), [((0, 8), (0, 8)), ((0, 8), (4, 12)), ((7, 15), (0, 8))])
def test_output_buffers_that_overlap_are_refused(first: tuple[int, int], second: tuple[int, int]) -> None:
    memory = np.zeros(16, np.uint8)
    outputs = [memory[slice(*first)], np.zeros(8, np.uint8), memory[slice(*second)]]
    with pytest.raises(InvalidInput, match="'output buffer 2': got memory of output buffer 0, expected memory of its"):
        replace_output_buffers_preserving_slots(outputs, [memoryview(bytes([n] * 8)) for n in (1, 2, 3)])
    assert not memory.any()


def test_output_buffers_beside_each_other_are_not() -> None:
    memory = np.zeros(16, np.uint8)
    outputs = [memory[8:], memory[:8], bytearray(), bytearray()]
    replace_output_buffers_preserving_slots(outputs, [memoryview(bytes([n] * 8)) for n in (1, 2, 3, 4)])
    assert memory.tolist() == [2] * 8 + [1] * 8
