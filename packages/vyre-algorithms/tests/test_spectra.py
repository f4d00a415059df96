"""Fourier transforms against NumPy, exact arithmetic, and the order of operations that is documented."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from algorithm_data import BACKENDS, SHORT, data, same

import vyre_algorithms as va
from vyre_algorithms import spectra
from vyre_algorithms.butterflies import passes_of
from vyre_algorithms.roots import chirp_table, root_table
from vyre_driver import backend_for
from vyre_driver.arrays.make import array as array_on
from vyre_driver.errors import InvalidInput
from vyre_foundation.dtype import f32, f64

TYPES = {"c8": ("f4", f32), "c16": ("f8", f64)}
RADICES = (4, 2, 3, 5, 7, 11, 13)
MIXED = [3, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 20, 21, 22, 24, 25, 26, 28, 60, 66, 91, 125, 135, 1155]
"""Lengths whose passes are of each radix, alone and with each other, first and behind others."""
CHIRPED = [17, 34, 37, 57]


def in_turns(lengths):
    """Each length in one of the types, and with `-m slow` in the other: programs of both differ in nothing else."""
    return [
        pytest.param(length, dtype, marks=() if number % len(TYPES) == turn else pytest.mark.slow)
        for number, length in enumerate(lengths)
        for turn, dtype in enumerate(TYPES)
    ]


def numbers(dtype, shape, seed=1):
    kind = TYPES[dtype][0]
    return (data(kind, shape, seed) + 1j * data(kind, shape, seed + 1)).astype(dtype)


# ── as documented ────────────────────────────────────────────────────────────────────────────────────────────────────


def table(make, length, dtype):
    """Roots of unity as a real and an imaginary array."""
    kind, of_parts = TYPES[dtype]
    return make(length, of_parts).view(kind).reshape(-1, 2).T.copy()


def product(a, b):
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def add(a, b):
    return a[0] + b[0], a[1] + b[1]


def subtract(a, b):
    return a[0] - b[0], a[1] - b[1]


def turned(a):
    """A number times j."""
    return -a[1], a[0]


def conjugate(a):
    return a[0], -a[1]


def results(x, roots, sign):
    """Those of a butterfly; `roots` are of the order of its radix."""
    if len(x) == 2:
        return [add(*x), subtract(*x)]
    if len(x) == 4:
        sums, others = (add(x[0], x[2]), add(x[1], x[3])), (subtract(x[0], x[2]), turned(subtract(x[1], x[3])))
        odd = [subtract(*others), add(*others)][::-sign]
        return [add(*sums), odd[0], subtract(*sums), odd[1]]
    radix, half = len(x), len(x) // 2
    total = x[0]
    for k in range(1, half + 1):
        total = add(total, add(x[k], x[radix - k]))
    found = {0: total}
    for m in range(1, half + 1):
        a, b = x[0], None
        for k in range(1, half + 1):
            c, s = roots[:, m * k % radix]
            t, u = add(x[k], x[radix - k]), subtract(x[k], x[radix - k])
            a = add(a, (t[0] * c, t[1] * c))
            term = (u[0] * s, u[1] * s)
            b = term if b is None else add(b, term)
        found[m], found[radix - m] = add(a, turned(b)), subtract(a, turned(b))
    return [found[m] for m in range(radix)]


def through_passes(x, dtype, sign=-1):
    """The transform of the parts of a row, without a division."""
    length, stride, left = x[0].size, 1, x[0].size
    roots = table(root_table, length, dtype)
    if sign > 0:
        roots[1] = -roots[1]
    for radix in RADICES:
        while left % radix == 0:
            step = length // radix
            i = np.arange(step)
            n = i // stride * stride
            given = [(x[0][i + k * step], x[1][i + k * step]) for k in range(radix)]
            y = np.empty_like(x[0]), np.empty_like(x[0])
            for m, value in enumerate(results(given, roots[:, ::step], sign)):
                if m and (radix != 2 or length & (length - 1)):
                    value = product(value, roots[:, n * m])
                place = i - n + radix * n + m * stride
                y[0][place], y[1][place] = value
            x, stride, left = y, stride * radix, left // radix
    assert left == 1
    return x


def wide(length):
    least = 2 * length - 1
    forms = [odd * 2**k for odd in ((1,) if least <= 1024 else (1, 3, 5, 9, 15)) for k in range(32)]
    return min(n for n in forms if n >= least)


def convolved(x, dtype):
    """The transform of the parts of a row by a chirp."""
    length, size = x[0].size, wide(x[0].size)
    kernel = np.zeros((2, size))
    exact = conjugate(table(chirp_table, length, "c16"))
    for part, chirp in zip(kernel, exact, strict=True):
        part[:length] = chirp
        part[size - length + 1 :] = chirp[:0:-1]
    factors = [(part / size).astype(TYPES[dtype][0]) for part in through_passes(kernel, "c16")]
    chirp = table(chirp_table, length, dtype)
    padded = [np.concatenate([part, np.zeros(size - length, part.dtype)]) for part in product(x, chirp)]
    first = conjugate(product(through_passes(padded, dtype), factors))
    second = conjugate(through_passes(first, dtype))
    return product((second[0][:length], second[1][:length]), chirp)


def defined(x, *, is_inverse=False):
    """The transform of a row as it is documented."""
    dtype, left = x.dtype.str[1:], x.size
    for radix in RADICES:
        while left % radix == 0:
            left //= radix
    parts = x.real.copy(), x.imag.copy()
    if left == 1:
        found = through_passes(parts, dtype, 1 if is_inverse else -1)
    elif is_inverse:
        found = conjugate(convolved(conjugate(parts), dtype))
    else:
        found = convolved(parts, dtype)
    return joined(*(part / part.dtype.type(x.size) for part in found) if is_inverse else found)


def joined(real, imaginary):
    found = np.empty(real.shape, {"f4": "c8", "f8": "c16"}[real.dtype.str[1:]])
    found.real, found.imag = real, imaginary
    return found


def defined_of_real(x):
    """The transform of a row of an even number of real numbers."""
    half, dtype = x.size // 2, "c8" if x.dtype == np.float32 else "c16"
    z = defined(joined(x[::2], x[1::2]))
    z = np.append(z, z[0])
    a, b = (z.real, z.imag), (z.real[::-1], -z.imag[::-1])
    t = product(subtract(a, b), table(root_table, x.size, dtype)[:, : half + 1])
    one_half = x.dtype.type(0.5)
    return joined(*(one_half * part for part in subtract(add(a, b), turned(t))))


def defined_inverse(x):
    """The real numbers of a row of an odd number of elements."""
    half, dtype = x.size - 1, x.dtype.str[1:]
    x = x.copy()
    x.imag[[0, -1]] = 0
    a, b = (x.real[:-1], x.imag[:-1]), (x.real[:0:-1], -x.imag[:0:-1])
    roots = table(root_table, 2 * half, dtype)[:, :half]
    t = product(subtract(a, b), conjugate(roots))
    one_half = x.real.dtype.type(0.5)
    return defined(joined(*(one_half * part for part in add(add(a, b), turned(t)))), is_inverse=True).view(x.real.dtype)


@pytest.mark.parametrize(("length", "dtype"), in_turns([2, 4, 8, 32, 128, *MIXED, *CHIRPED]))
def test_the_order_of_operations(length, dtype):
    x = numbers(dtype, (2, length))
    for transform, is_inverse in ((va.fft, False), (va.ifft, True)):
        found = transform(x, backend="reference")
        same(found, np.stack([defined(row, is_inverse=is_inverse) for row in x]))


@pytest.mark.parametrize(("length", "dtype"), in_turns([2, 4, 6, 10, 16, 34, 60]))
def test_the_order_of_operations_for_real_numbers(length, dtype):
    x, y = data(TYPES[dtype][0], (2, length)), numbers(dtype, (2, length // 2 + 1))
    same(va.rfft(x, backend="reference"), np.stack([defined_of_real(row) for row in x]))
    same(va.irfft(y, backend="reference"), np.stack([defined_inverse(row) for row in y]))


@pytest.mark.parametrize("length", [1, 3, 15, 17])
def test_an_odd_number_of_real_numbers_is_transformed_as_complex_ones(length):
    x, y = data("f8", (2, length)), numbers("c16", (2, length // 2 + 1))
    whole = va.fft(x, backend="reference")
    same(va.rfft(x, backend="reference"), np.ascontiguousarray(whole[:, : length // 2 + 1]))
    y.imag[:, 0] = 0
    both = np.concatenate([y, y[:, :0:-1].conj()], 1)
    same(va.irfft(y, length, backend="reference"), np.ascontiguousarray(va.ifft(both, backend="reference").real))


def test_a_pass_of_radix_2_alone_is_the_last_of_a_power_of_two():
    for length in range(1, 3000):
        passes = passes_of(length)
        if passes is not None:
            assert math.prod(radix for radices in passes for radix in radices) == length
            assert (2,) not in passes or (length & (length - 1) == 0 and passes[-1] == (2,))


# ── as accurate as ───────────────────────────────────────────────────────────────────────────────────────────────────


def check(found, wanted, dtype, units=4):
    """The error is a few roundings of the size of the results."""
    assert found.shape == wanted.shape
    error, size = (np.sqrt(np.mean(np.abs(each) ** 2)) for each in (found - wanted, wanted))
    assert error <= units * np.finfo(dtype).eps * size


def check_all(length, dtype, backend="cpu"):
    """The four transforms of a length against NumPy's of f64."""
    x = numbers(dtype, (3, length), seed=length)
    real, half = np.ascontiguousarray(x.real), np.ascontiguousarray(x[:, : length // 2 + 1])
    for name, given, more in (("fft", x, ()), ("ifft", x, ()), ("rfft", real, ()), ("irfft", half, (length,))):
        found = getattr(va, name)(given, *more, backend=backend)
        wide = given.astype("f8" if name == "rfft" else "c16")
        assert found.dtype == (real if name == "irfft" else x).dtype
        check(found, getattr(np.fft, name)(wide, *more), dtype)


@pytest.mark.parametrize(
    ("length", "dtype"), in_turns([1, 2, 4, 8, 2048, 4096, 3, 5, 12, 1000, 3 * 2**12, 44_100, 1009, 2 * 601])
)
def test_transforms(length, dtype):
    check_all(length, dtype)


@pytest.mark.slow
@pytest.mark.parametrize(("length", "dtype"), in_turns([64, 512, 100, 1500]))
def test_transforms_with_the_passes_of_others(length, dtype):
    check_all(length, dtype)


@pytest.mark.parametrize("step", [23, pytest.param(1, marks=pytest.mark.slow)])
def test_every_length(step):
    for length in range(1, 201, step):
        x = numbers("c16", (2, length), seed=length)
        check(va.fft(x, backend="cpu"), np.fft.fft(x), "c16")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    "lengths", [range(1, 201), [2**18, 3 * 2**16, 10**6, 100_003, 2**17 - 1]], ids=["short", "long"]
)
def test_every_transform_of_every_length(lengths, dtype):
    for length in lengths:
        check_all(length, dtype)


@pytest.mark.parametrize("length", [3, 5, 7, 8, 11, 13, 15, 17, 30])
def test_transforms_near_the_exact_ones(length):
    x = data("f8", length)
    with mpmath.workdps(40):
        roots = [mpmath.expjpi(-2 * mpmath.mpf(k) / length) for k in range(length)]
        exact = [sum(mpmath.mpf(float(v)) * roots[n * k % length] for n, v in enumerate(x)) for k in range(length)]
        wanted = np.array([complex(value) for value in exact])
    check(va.fft(x, backend="cpu"), wanted, "f8", 2)
    check(va.rfft(x, backend="cpu"), wanted[: length // 2 + 1], "f8", 2)


@pytest.mark.parametrize("length", [1, 2, 6, 8, 40, 1024, 7 * 5**4])
def test_roots_are_correctly_rounded(length):
    found = root_table(length, f64).reshape(-1, 2)
    with mpmath.workdps(50):
        for n in range(0, length, max(1, length // 40)):
            root = mpmath.expjpi(-2 * mpmath.mpf(n) / length)
            assert found[n].tolist() == [float(root.real), float(root.imag)]


# ── on every backend and along every axis ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "on", [pytest.param(on, marks=() if on in SHORT else pytest.mark.slow) for on in BACKENDS if on != "cpu"]
)
@pytest.mark.parametrize("length", [16, 32, 7, 17, 60, pytest.param(231, marks=pytest.mark.slow)])
def test_the_same_bits_everywhere(on, length):
    x = numbers("c8", (2, length))
    real = np.ascontiguousarray(x.real)
    for name, given in (("fft", x), ("ifft", x.astype("c16")), ("rfft", real), ("irfft", x)):
        same(getattr(va, name)(given, backend=on), getattr(va, name)(given, backend="cpu"))


@pytest.mark.parametrize(("length", "dtype"), in_turns([8, 1024]))
def test_a_launch_for_all_passes_gives_the_bits_of_passes(length, dtype, monkeypatch):
    check_passes(length, dtype, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize(("length", "dtype"), in_turns([2, 4, 16, 32, 64, 128, 256, 512, 2048]))
def test_a_launch_for_all_passes_of_each_length(length, dtype, monkeypatch):
    check_passes(length, dtype, monkeypatch)


def check_passes(length, dtype, monkeypatch):
    for rows in (1, 70):
        x = numbers(dtype, (rows, length))
        found = [transform(x, backend="cpu") for transform in (va.fft, va.ifft)]
        with monkeypatch.context() as patch:
            patch.setattr(spectra, "SHORT_BYTES", 0)
            for short, transform in zip(found, (va.fft, va.ifft), strict=True):
                same(short, transform(x, backend="cpu"))


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft"])
def test_axes(name, axis):
    x = np.ascontiguousarray(numbers("c16", (6, 10, 15)).real if name == "rfft" else numbers("c16", (6, 10, 15)))
    found = getattr(va, name)(x, axis=axis, backend="cpu")
    check(found, getattr(np.fft, name)(x, axis=axis), "f8")
    last = getattr(va, name)(np.ascontiguousarray(np.moveaxis(x, axis, -1)), backend="cpu")
    same(np.ascontiguousarray(np.moveaxis(found, axis, -1)), last)


@pytest.mark.parametrize("length", [12, 13])
def test_elements_that_an_inverse_does_not_use(length):
    x = numbers("c16", (2, 7))
    wanted = va.irfft(x, length, backend="cpu")
    x.imag[:, 0] = np.nan
    if length == 12:
        x.imag[:, 6] = np.nan
    same(va.irfft(x, length, backend="cpu"), wanted)
    same(va.irfft(np.concatenate([x, x], 1), length, backend="cpu"), wanted)
    fewer = np.fft.irfft(x[:, 1:4], length)
    check(va.irfft(x[:, 1:4], length, backend="cpu"), fewer, "f8")


@pytest.mark.parametrize("length", [1, 2, 9, 48])
def test_inverses(length):
    x = data("f4", (3, length))
    check(va.irfft(va.rfft(x, backend="cpu"), length, backend="cpu"), x, "f4")
    check(va.ifft(va.fft(x, backend="cpu"), backend="cpu"), x, "f4")


@pytest.mark.parametrize(("length", "dtype"), in_turns([1, 17, 30, 32]))
def test_arrays_of_a_device(length, dtype):
    kind, on = TYPES[dtype][0], backend_for("cpu")
    x, real = numbers(dtype, (4, length)), data(kind, (4, length))
    parts = x.view(kind).reshape(4, length, 2)
    for axis in (0, 1):
        for name in ("fft", "ifft"):
            host = np.ascontiguousarray(getattr(va, name)(x, axis, backend="cpu"))
            same(getattr(va, name)(array_on(on, parts), axis).numpy(), host.view(kind).reshape(parts.shape))
        half = np.ascontiguousarray(va.rfft(real, axis, backend="cpu"))
        same(va.rfft(array_on(on, real), axis).numpy(), half.view(kind).reshape(*half.shape, 2))
        inverse = va.irfft(array_on(on, parts), 11, axis)
        same(inverse.numpy(), np.ascontiguousarray(va.irfft(x, 11, axis, backend="cpu")))


def test_views_of_a_device_begin_anywhere():
    x = data("f4", 25)
    view = array_on(backend_for("cpu"), x)[1:]
    same(va.rfft(view).numpy().view("c8")[:, 0], va.rfft(x[1:], backend="cpu"))
    same(va.fft(view.reshape(12, 2)).numpy().view("c8")[:, 0], va.fft(x[1:].view("c8"), backend="cpu"))


@pytest.mark.parametrize("function", [va.fft, va.ifft, va.irfft])
@pytest.mark.parametrize("dtype", TYPES)
def test_subclasses_of_arrays_are_transformed(tmp_path, function, dtype):
    x = np.arange(8).astype(dtype).reshape(2, 4)
    mapped = np.memmap(tmp_path / "x", dtype, "w+", shape=x.shape)
    mapped[:] = x
    for given in (mapped, np.rec.array(x)):
        found = function(given)
        assert type(found) is np.ndarray
        same(found, function(x))
    with pytest.raises(InvalidInput, match="got a masked array, expected an array without a mask"):
        function(np.ma.array(x))


@pytest.mark.parametrize("n", [1, 3, 6, 8, 16])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_numbers_of_elements(backend, n, axis):
    x = data("f8", (6, 8))
    padded = np.zeros([max(n, size) if place == axis % 2 else size for place, size in enumerate(x.shape)])
    padded[:6, :8] = x
    padded = np.take(padded, range(n), axis)
    for function in (va.fft, va.ifft, va.rfft):
        same(function(x, axis, n=n, backend=backend), function(padded, axis, backend=backend))
    held = array_on(backend_for(backend), x)
    assert (
        va.rfft(held, axis, n=n).numpy().tobytes()
        == va.rfft(array_on(backend_for(backend), padded), axis).numpy().tobytes()
    )
    np.testing.assert_allclose(va.fft(x, axis, n=n, backend=backend), np.fft.fft(x, n, axis), atol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: va.fft(x.astype("i4")), "expected complex numbers"),
        (lambda x: va.fft(x[:, :0]), "expected 1 element or more"),
        (lambda x: va.rfft(x[:, :0]), "expected 1 element or more"),
        (lambda x: va.irfft(x[:, :0], 4), "expected 1 element or more"),
        (lambda x: va.rfft(x.astype("c8")), "got one of complex64, expected an array of float32 or float64"),
        (lambda x: va.rfft(array_on(backend_for("reference"), x.astype("i4"))), "got one of i32"),
        (lambda x: va.irfft(x[:, :1]), "'n': got 0, for 1 element, expected 1 or more"),
        (lambda x: va.irfft(x, 0), "'n': got 0, expected 1 or more"),
        (lambda x: va.fft(x, n=0), "'n': got 0, expected 1 or more"),
        (lambda x: va.rfft(x, n=1.0), "'n': got float, expected an integer"),
        (lambda x: va.irfft(x, 2.0), "'n': got float, expected an integer"),
        (lambda x: va.irfft(x, 2**30), "'n': got 1073741824 in each of 3 rows"),
        (lambda x: va.rfft(x, 16), "'axis': got 16, .* to transform another number of elements, pass n="),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InvalidInput, match=message):
        call(np.ones((3, 3), "f4"))
