"""Outputs against outputs: bytes, budgets, ranges, and every type of float against arithmetic that is exact."""

from __future__ import annotations

import math

import numpy as np
import pytest

from vyre_driver.observe.compare import Mismatch, first_mismatch
from vyre_foundation import bf16, f16, f32, f64, program, u8, u32


def with_output(dtype, **fields):
    with program("p") as p:
        p.write("first", u8, 2)
        p.write("out", dtype, 4, **fields)
    return p.build()


def compare(dtype, got, expected, budget=0):
    first = memoryview(bytes(2))
    ours, theirs = (memoryview(np.asarray(a, dtype.numpy).view(np.uint8)) for a in (got, expected))
    return first_mismatch(with_output(dtype), [first, ours], [first, theirs], budget)


def test_equal_bytes_agree() -> None:
    assert compare(u32, [1, 2, 3, 4], [1, 2, 3, 4]) is None


def test_the_first_element_that_differs_is_told_with_its_bits() -> None:
    found = compare(u32, [1, 5, 3, 9], [1, 2, 3, 4])
    assert found == Mismatch(
        output="out", index=1, byte_offset=4, got="5 (0x00000005)", expected="2 (0x00000002)", count=2
    )
    assert str(found) == "out[1]: got 5 (0x00000005), expected 2 (0x00000002); 2 elements differ"


def test_a_budget_is_for_floats_alone() -> None:
    assert compare(u32, [1, 2, 3, 5], [1, 2, 3, 4], budget=10) is not None


@pytest.mark.parametrize("dtype", [f16, bf16, f32, f64])
def test_a_budget_counts_representable_values(dtype) -> None:
    low = np.asarray([1.0], dtype.numpy)
    bits = low.view(f"u{dtype.size}")
    near = np.concatenate([bits + 3, bits - 3, bits, bits]).view(dtype.numpy)
    exact = np.repeat(low, 4)
    assert compare(dtype, near, exact, budget=3) is None
    found = compare(dtype, near, exact, budget=2)
    assert isinstance(found, Mismatch)
    assert (found.index, found.count) == (0, 2)


@pytest.mark.parametrize("dtype", [f16, bf16, f32, f64])
def test_a_budget_reaches_over_zero_and_to_infinity_and_not_to_nan(dtype) -> None:
    tiny = np.asarray([1], f"u{dtype.size}").view(dtype.numpy)[0]
    zero, inf, nan = 0.0, math.inf, math.nan
    assert compare(dtype, [-0.0, zero, tiny, nan], [zero, zero, -tiny, nan], budget=2) is None
    assert compare(dtype, [zero, zero, tiny, zero], [zero, zero, -tiny, zero], budget=1) is not None
    assert compare(dtype, [inf, zero, zero, zero], [nan, zero, zero, zero], budget=2**20) is not None
    assert compare(dtype, [inf, zero, zero, zero], [-inf, zero, zero, zero], budget=100) is not None


def test_with_no_budget_zeros_differ_by_their_sign() -> None:
    assert compare(f32, [0.0] * 4, [-0.0] * 4) is not None


def test_indices_in_a_range_are_those_of_the_whole_buffer() -> None:
    p = with_output(u32, output_range=(4, 12))
    first = memoryview(bytes(2))
    found = first_mismatch(p, [first, memoryview(bytes(8))], [first, memoryview(bytes(7) + b"\1")])
    assert isinstance(found, Mismatch)
    assert (found.index, found.byte_offset) == (2, 8)


def test_a_range_that_cuts_elements_is_compared_by_bytes() -> None:
    p = with_output(f32, output_range=(3, 9))
    first = memoryview(bytes(2))
    found = first_mismatch(p, [first, memoryview(bytes(6))], [first, memoryview(bytes(5) + b"\7")], 100)
    assert isinstance(found, Mismatch)
    assert (found.byte_offset, found.index, found.expected) == (8, 2, "the byte 0x07")


def test_results_of_another_shape_are_told_in_words() -> None:
    p = with_output(u32)
    two, sixteen = memoryview(bytes(2)), memoryview(bytes(16))
    assert first_mismatch(p, [two], [two, sixteen]) == "got 1 outputs, the reference gave 2, expected 2"
    assert first_mismatch(p, [two, two], [two, sixteen]) == "out: got 2 bytes, expected 16"
