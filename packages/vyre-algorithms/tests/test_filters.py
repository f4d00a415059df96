"""Filters against NumPy, SciPy and exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from algorithm_data import data, same

import vyre_algorithms as va
from vyre_driver import backend_for
from vyre_driver.arrays.make import array as array_on
from vyre_driver.errors import InvalidInput

MODES = ("valid", "same", "full")


def by_definition(x, w, mode):
    """The sums over the places in row-major order, in integers of 64 bits, with zeros around the array."""
    before = {"valid": [0] * x.ndim, "same": [n - 1 - (n - 1) // 2 for n in w.shape], "full": [n - 1 for n in w.shape]}
    lengths = {
        "valid": [a - n + 1 for a, n in zip(x.shape, w.shape, strict=True)],
        "same": list(x.shape),
        "full": [a + n - 1 for a, n in zip(x.shape, w.shape, strict=True)],
    }
    out = np.zeros(lengths[mode], np.int64)
    around = zip(before[mode], out.shape, w.shape, x.shape, strict=True)
    padded = np.pad(x.astype(np.int64), [(b, o + n - 1 - b - a) for b, o, n, a in around])
    for k in np.ndindex(*w.shape):
        out += padded[tuple(slice(i, i + o) for i, o in zip(k, out.shape, strict=True))] * int(w[k])
    assert np.array_equal(out, out.astype(x.dtype))
    return out.astype(x.dtype)


def before_it(at):
    return at(-1)


def test_boundaries_that_compare_equal_are_different_programs(backend):
    x = np.arange(3, dtype="f4")
    for boundary in (0.0, -0.0, 0, -0.0, False, -0.0):
        found = va.stencil(x, before_it, boundary=boundary, backend=backend)
        same(found, np.array([boundary, 0, 1], "f4"))
    assert np.isnan(va.stencil(x, before_it, boundary=np.nan, backend=backend)[0])
    same(va.stencil(x > 0, before_it, boundary=True, backend=backend), np.array([True, False, True]))
    same(va.stencil(x.astype("i4"), before_it, boundary=np.int32(7), backend=backend), np.array([7, 0, 1], "i4"))


@pytest.mark.parametrize("length", [1, 2, 3, 7])
def test_mirrors(backend, length):
    x = data("i4", length)
    for distance in range(-3 * length, 3 * length + 1):
        around = [np.pad(x, 4 * length, mode)[4 * length + distance :][:length] for mode in ("reflect", "symmetric")]
        for boundary, wanted in zip(("reflect", "symmetric"), around, strict=True):
            same(va.stencil(x, lambda at: at(distance), boundary=boundary, backend=backend), wanted)  # noqa: B023


@pytest.mark.parametrize("distance", [2**31 - 1, 2**31 - 6, 2**30, 6, 7, -6, -7, -(2**30), -(2**31 - 1)])
def test_distances_beyond_the_array(backend, distance):
    x = np.arange(6, dtype="i4")
    update = lambda at: at(distance)
    found = {boundary: va.stencil(x, update, boundary=boundary, backend=backend) for boundary in ("wrap", "edge", -1)}
    same(found["wrap"], np.array([(i + distance) % 6 for i in range(6)], "i4"))
    same(found["edge"], np.full(6, 5 if distance > 0 else 0, "i4"))
    same(found[-1], np.full(6, -1, "i4"))
    triangle = [*range(6), *reversed(range(1, 5))]
    for boundary, image in (("reflect", triangle), ("symmetric", [*range(6), *reversed(range(6))])):
        wanted = [image[(i + distance) % len(image)] for i in range(6)]
        same(va.stencil(x, update, boundary=boundary, backend=backend), np.array(wanted, "i4"))


@pytest.mark.parametrize(
    ("update", "boundary", "message"),
    [
        (
            lambda at: at(0),
            np.array([1, 2]),
            "'boundary': got ndarray, expected 'edge', 'wrap', 'reflect', 'symmetric' or",
        ),
        (lambda at: at(0), None, "'boundary': got None, expected 'edge', 'wrap', 'reflect', 'symmetric' or"),
        (lambda at: at(0), "no", "'boundary': got 'no', expected 'edge', 'wrap', 'reflect', 'symmetric' or"),
        (lambda at: at(2**31), "edge", r"'at': got \(2147483648,\), expected 1 integer"),
        (lambda at: at(0, 1), "edge", r"'at': got \(0, 1\), expected 1 integer"),
        (lambda a, b: a(0), "edge", r"'update': got one of other arguments: \(a, b\), expected a function of 1 value"),
        (lambda at: 1.0, "edge", "'update': got one that gives float, expected a function that gives a value"),
    ],
)
def test_refused_stencils(update, boundary, message):
    for size in (0, 6):
        with pytest.raises(InvalidInput, match=message.replace("f4", "f32")) as caught:
            va.stencil(np.zeros(size, "f4"), update, boundary=boundary)
        assert "Fix: " in str(caught.value)
    with pytest.raises(InvalidInput, match=r"'boundary': got 0\.5, expected a number of i32"):
        va.stencil(np.zeros(6, "i4"), before_it, boundary=0.5)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shapes", [((40,), (3,)), ((7, 9), (2, 3)), ((3, 4, 5), (2, 1, 2)), ((5,), (4,))])
def test_correlations_of_integers(backend, mode, shapes):
    x, w = data("i4", shapes[0]) >> 16, data("i4", shapes[1], seed=2) >> 16
    same(va.correlate(x, w, mode, backend=backend), by_definition(x, w, mode))
    flipped = np.ascontiguousarray(np.flip(w))
    same(va.convolve(x, flipped, mode, backend=backend), by_definition(x, w, mode))


BORDERS = [
    ((200,), (3,)),
    ((70,), (70,)),
    ((5,), (90,)),
    ((90, 3), (5, 2)),
    ((2, 70, 3), (2, 67, 2)),
    ((3, 70), (2, 66)),
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shapes", BORDERS)
def test_workgroups_at_borders(backend, mode, shapes):
    """Weights are inside of the array for all invocations of a workgroup, or for some, or none is for all."""
    x, w = data("i4", shapes[0]) >> 20, data("i4", shapes[1], seed=2) >> 20
    if mode != "valid" or all(a >= b for a, b in zip(*shapes, strict=True)):
        same(va.correlate(x, w, mode, backend=backend), by_definition(x, w, mode))


@pytest.mark.parametrize("shape", [(100,), (70, 2)])
def test_what_is_outside_has_no_part(backend, shape):
    """No product with 0 takes its place: that of a NaN would be one."""
    x, w = np.ones(shape, "f4"), np.ones((3,) * len(shape), "f4")
    w[0] = np.nan
    found = va.correlate(x, w, "same", backend=backend)
    assert not np.isnan(found[0]).any()
    assert np.isnan(found[1:]).all()


def test_the_order_of_products(backend):
    x, w = data("f4", 50), data("f4", 7, seed=2)
    wanted = np.zeros(44, "f4")
    for n in range(44):
        total = np.float32(0)
        for k in range(7):
            exact = Fraction(float(x[n + k])) * Fraction(float(w[k])) + Fraction(float(total))
            unit = Fraction(2) ** (int(np.frexp(float(exact))[1]) - 24)
            total = np.float32(float(round(exact / unit) * unit))
        wanted[n] = total
    same(va.correlate(x, w, backend=backend), wanted)


def blur(at):
    return (at(-1, 0) + at(1, 0)) + (at(0, -1) + at(0, 1))


@pytest.mark.parametrize(
    ("boundary", "padding"), [*[(mode, mode) for mode in ("edge", "wrap", "reflect", "symmetric")], (2, "constant")]
)
def test_stencils(backend, boundary, padding):
    x = data("f4", (6, 5))
    around = np.pad(x, 1, padding, **({"constant_values": 2} if boundary == 2 else {}))
    wanted = (around[:-2, 1:-1] + around[2:, 1:-1]) + (around[1:-1, :-2] + around[1:-1, 2:])
    same(va.stencil(x, blur, boundary=boundary, backend=backend), wanted)


def test_arrays_of_a_device():
    image, kernel = data("f4", (9, 9)), data("f4", (3, 2))
    resident = array_on(backend_for("cpu"), image)
    same(va.convolve(resident, kernel).numpy(), va.convolve(image, kernel, backend="cpu"))
    same(va.stencil(resident, blur).numpy(), va.stencil(image, blur, backend="cpu"))


@pytest.mark.parametrize("of_starts", ["u1", "i2", "u4", "i8", "u8"])
def test_starts_of_rows_have_any_integer_type(of_starts):
    values, columns, starts = np.int32([1, 2, 3, 4]), np.array([0, 2, 1, 0]), np.array([0, 1, 1, 4], of_starts)
    assert va.coo(values, columns, starts)[0].tolist() == [0, 2, 2, 2]
    assert va.spmv(values, columns, starts, np.int32([1, 1, 1])).tolist() == [1, 0, 9]
    assert va.segmented_reduce(values, starts).tolist() == [1, 0, 9]
    assert va.segmented_scan(values, starts).tolist() == [1, 2, 5, 9]


def test_coordinates():
    dense = data("i4", (20, 9)) * (data("u1", (20, 9)) < 60)
    rows, columns = np.nonzero(dense)
    matrix = va.csr(rows, columns, dense[rows, columns], 20)
    for found, wanted in zip(va.coo(*matrix), (rows, columns, dense[rows, columns]), strict=True):
        same(found, wanted)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: va.correlate(x, x[0]), "expected an array of f32 with 2 axes"),
        (lambda x: va.convolve(x, x[:, :0]), r"got none, in the shape \(\d+, 0\), expected at least one weight"),
        (lambda x: va.convolve(np.float32(1), x), "'x': got a scalar, expected an array with an axis"),
        (lambda x: va.correlate(x[:2], x), "expected at most"),
        (lambda x: va.correlate(x, x, "some"), "expected 'valid', 'same' or 'full'"),
        (lambda x: va.stencil(np.float32(1), blur), "'x': got a scalar, expected an array with an axis"),
        (
            lambda x: va.stencil(x, blur, boundary="mirror"),
            "expected 'edge', 'wrap', 'reflect', 'symmetric' or",
        ),
        (lambda x: va.stencil(x, lambda at: at(1)), "expected 2 integers"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InvalidInput, match=message):
        call(np.ones((3, 3), "f4"))
