"""Kernels whose results would be zeros without an error: no value is returned, or the launch has another shape."""

import numpy as np
import pytest

import vyre as vy

U = np.arange(1, 5, dtype=np.uint32)


def message_of(function) -> str:
    with pytest.raises(vy.KernelError) as error:
        _ = vy.kernel(function).program
    return str(error.value)


def forgotten(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    y = x[vy.index()] * 2


def bare(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    return


def empty(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    pass


@pytest.mark.parametrize("function", [forgotten, bare, empty])
def test_a_kernel_that_returns_nothing_is_refused(function) -> None:
    message = message_of(function)
    assert "the kernel returns an array, and no `return` gives its elements a value" in message
    assert message.endswith("Fix: return a value, as in return x[vy.index()]")


def one_branch(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    i = vy.index()
    if x[i] > 1:
        return x[i]


def a_loop(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    for k in range(4):
        if x[k] > 1:
            return x[k]


@pytest.mark.parametrize("function", [one_branch, a_loop])
def test_an_end_without_a_value_is_refused(function) -> None:
    message = message_of(function)
    assert "the kernel may end without returning a value" in message
    assert message.endswith("Fix: return a value there too, or write `return`, which leaves the element 0")


def test_a_return_without_a_value_leaves_the_element_zero() -> None:
    @vy.kernel
    def masked(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
        i = vy.index()
        if x[i] < 3:
            return
        return x[i]

    @vy.kernel
    def both(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
        i = vy.index()
        if x[i] < 3:
            return x[i] + 10
        else:
            return x[i]

    @vy.kernel
    def at_last(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
        i = vy.index()
        if x[i] < 3:
            return x[i] + 10
        return

    assert masked(U).tolist() == [0, 0, 3, 4]
    assert both(U).tolist() == [11, 12, 3, 4]
    assert at_last(U).tolist() == [11, 12, 0, 0]


def totalled(x: vy.Array[vy.u32, "n"], total: vy.InOut[vy.u32, 1]) -> vy.Array[vy.u32, "n"]:
    i = vy.index()
    total.atomic_add(0, x[i])
    return x[i] * 2


def test_a_returned_array_has_the_shape_of_the_launch() -> None:
    message = message_of(totalled)
    assert "a returned array is (n), and the launch has (1), that of its first result, 'total'" in message
    assert message.endswith("Fix: state the shape of the launch, as in @vy.kernel(shape='n')")
    total, doubled = vy.kernel(shape="n")(totalled)(U, np.zeros(1, np.uint32))
    assert total.tolist() == [10]
    assert doubled.tolist() == [2, 4, 6, 8]


def two(x: vy.Array[vy.u32, "n"], y: vy.Array[vy.u32, "m"]) -> tuple[vy.Array[vy.u32, "n"], vy.Array[vy.u32, "m"]]:
    i = vy.index()
    return x[i], y[i]


def rows(x: vy.Array[vy.u32, "n", "m"], y: vy.Out[vy.u32, "n"]) -> vy.Array[vy.u32, "n", "m"]:
    i = vy.index()
    return x[i, 0]


def test_returned_arrays_of_other_shapes_are_refused() -> None:
    message = message_of(two)
    assert "a returned array is (m), and the launch has (n), that of the first array that it returns" in message
    assert message.endswith("Fix: annotate a parameter with vy.Out, and store its elements")
    message = message_of(rows)
    assert "a returned array is (n, m), and the launch has (n), that of its first result, 'y'" in message
    assert message.endswith("as in @vy.kernel(shape=('n', 'm'))")
    with pytest.raises(vy.KernelError, match=r"is \(n\), and the launch has \(2\)\n"):
        _ = vy.kernel(shape=2)(forgotten).program


def histogram(x: vy.Array[vy.u8, "n"], counts: vy.InOut[vy.u32, 256]) -> None:
    counts.atomic_add(x[vy.index()], 1)


def scattered(x: vy.Array[vy.u32, "n"], to: vy.Array[vy.u32, "n"], out: vy.Out[vy.u32, "m"], m: vy.u32) -> None:
    i = vy.index()
    out[to[i]] = x[i]


def test_a_launch_over_a_result_that_is_not_indexed_by_its_place_is_refused() -> None:
    message = message_of(histogram)
    place = "vy.index() is the place in 'x', which has (n)"
    assert f"the shape of its first result, 'counts', which is (256), and {place}" in message
    assert message.endswith("Fix: state the shape of the launch, as in @vy.kernel(shape='n')")
    assert "the place in 'x', which has (n)" in message_of(scattered)
    counts = vy.kernel(shape="n")(histogram)(np.full(1000, 7, np.uint8), np.zeros(256, np.uint32))
    assert counts[7] == counts.sum() == 1000
    found = vy.kernel(shape="n")(scattered)(U, np.uint32([0, 2, 4, 6]), 8)
    assert found.tolist() == [1, 0, 2, 0, 3, 0, 4, 0]


def test_the_shape_of_the_first_result_is_that_of_the_launch_where_it_is_indexed_so() -> None:
    @vy.kernel
    def products(matrix: vy.Array[vy.u32, "m", "n"], v: vy.Array[vy.u32, "n"], out: vy.InOut[vy.u32, "m"]) -> None:
        i = vy.index()
        for k in range(len(v)):
            out[i] += matrix[i, k] * v[k]

    @vy.kernel
    def total(x: vy.Array[vy.u32, "n"], sums: vy.InOut[vy.u32, 1]) -> None:
        for k in range(len(x)):
            sums[0] += x[k]

    @vy.kernel
    def reversed_halves(x: vy.Array[vy.u32, "n"], out: vy.Out[vy.u32, "m"], m: vy.u32) -> None:
        i = vy.index()
        out[i] = x[i] + x[len(x) - 1 - i]

    assert products(np.uint32([[1, 2], [3, 4]]), np.uint32([1, 10]), np.zeros(2, np.uint32)).tolist() == [21, 43]
    assert total(U, np.zeros(1, np.uint32)).tolist() == [10]
    assert reversed_halves(U, 2).tolist() == [5, 5]
