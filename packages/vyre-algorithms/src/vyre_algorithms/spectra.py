"""Fourier transforms with a fixed order of operations.

A length that is a power of two is transformed by Stockham's algorithm: passes of radix 4 from the whole length down,
and one of radix 2 at the end if a factor 2 is left. Roots of unity are rounded from twice the precision of f64. With
``a``, ``b``, ``c``, ``d`` a quarter of a length apart, a pass of radix 4 computes ``(a + c) + (b + d)``,
``((a − c) − j(b − d)) w``, ``((a + c) − (b + d)) w²`` and ``((a − c) + j(b − d)) w³``. The product of ``u + jv`` and
``w + jz`` is ``(uw − vz) + j(uz + vw)``; each product and each sum is rounded. Other lengths are convolved with a chirp
(Bluestein), by transforms of the least power of two that is greater than twice the length.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from vyre_algorithms.arguments import MOST, Array, Backend, array_of, axis_back, axis_last, axis_of, type_of
from vyre_algorithms.launches import Range, Recorder, constants, run_graph, with_grid, words
from vyre_driver.errors import InvalidInput
from vyre_foundation import Array as Buffer, DType, LengthOf, Program, ProgramBuilder, Value, program, select, u32
from vyre_foundation.dtype import bool_, f32, f64, u64

GROUP, LANES = 64, 16
SHORT_BYTES = 1 << 14
"""Rows of at most this size are transformed by one launch: two arrays of it are all the memory of a workgroup that a
program may have (V012)."""
Doubles = npt.NDArray[np.float64]
Number = tuple[Value, Value]
"""The real and the imaginary part."""


def fft(x: object, /, axis: int = -1, *, backend: Backend = None) -> Array:
    """Transform an array along an axis: ``y[k]`` is the sum of ``x[n] · exp(−2πj kn / N)``.

    Args:
        x: An array of complex64, complex128, float32 or float64. An array of a device has f32 or f64 and a last axis of
            length 2, the real and the imaginary part, which `axis` does not count.
        axis: The axis.
        backend: As for `vyre.run`.

    Returns:
        An array of complex numbers of the same precision in the shape of `x`. The order of the operations is that of
        the module's description (docs/algorithms.md): it depends on the length alone.

    Raises:
        InvalidInput: The axis has no elements, or an argument is of another kind.
    """
    return _along(x, axis, False, backend)


def ifft(x: object, /, axis: int = -1, *, backend: Backend = None) -> Array:
    """Invert `fft`: conjugate roots in the same order, and a division of each part by the length at the end.

    Args:
        x: As for `fft`.
        axis: The axis.
        backend: As for `vyre.run`.

    Returns:
        As `fft`.

    Raises:
        InvalidInput: The axis has no elements, or an argument is of another kind.
    """
    return _along(x, axis, True, backend)


def rfft(x: object, /, axis: int = -1, *, backend: Backend = None) -> Array:
    """Transform real numbers: the first ``N // 2 + 1`` elements of `fft`; the others are their conjugates.

    Args:
        x: An array of float32 or float64, of the host.
        axis: The axis.
        backend: As for `vyre.run`.

    Returns:
        An array of complex numbers of the same precision.

    Raises:
        InvalidInput: The axis has no elements, or an argument is of another kind.
    """
    array = array_of(x)
    if not isinstance(array, np.ndarray) or array.dtype not in (np.float32, np.float64):
        fix = "pass real numbers of the host, or use fft"
        got = f"one of {array.dtype}" if isinstance(array, np.ndarray) else f"{array!r}"
        raise InvalidInput("x", needed="an array of the host, of float32 or float64", got=got, fix=fix)
    which = axis_of(axis, array.ndim)
    found = _along(array, which, False, backend)
    first_half = (slice(None),) * which + (slice(0, array.shape[which] // 2 + 1),)
    return np.ascontiguousarray(found[first_half])


def _along(x: object, axis: int, is_inverse: bool, backend: Backend) -> Array:
    array = array_of(x)  # NumPy's complex numbers are no type of the language, so the parts are an axis
    is_host = isinstance(array, np.ndarray)
    if is_host:
        if array.dtype not in (np.complex64, np.complex128, np.float32, np.float64):
            fix = "convert it with .astype(…)"
            raise InvalidInput("x", needed="complex numbers, or floats of 32 or 64 bits", got=f"{array.dtype}", fix=fix)
        which = axis_of(axis, array.ndim)
        is_single = array.dtype in (np.complex64, np.float32)
        rows = axis_last(array.astype(np.complex64 if is_single else np.complex128, copy=False), which)
        parts = rows.view(np.float32 if is_single else np.float64).reshape(*rows.shape, 2)
    else:
        if array.ndim < 2 or array.shape[-1] != 2 or array.dtype not in (f32, f64):
            fix = "put the real and the imaginary part on the last axis"
            got = f"{array.dtype} {array.shape}"
            raise InvalidInput("x", needed="f32 or f64 with a last axis of length 2", got=got, fix=fix)
        which = axis_of(axis, array.ndim - 1)
        order = [n for n in range(array.ndim - 1) if n != which]
        parts = array.transpose(*order, which, array.ndim - 1)
        parts = parts if parts.is_contiguous else parts.copy()
    length = parts.shape[-2]
    if not length or parts.size >= MOST // 4:
        needed, got = f"1 element or more on the axis, and fewer than {MOST // 8} of all", f"the shape {array.shape}"
        raise InvalidInput("x", needed=needed, got=got, fix="pass another axis, or part of the array")
    if not parts.size or length == 1:
        found = parts.copy()
    else:
        shape = (type_of(parts), length, parts.size // 2 // length, is_inverse)
        numbers = parts.reshape(-1).view(_memory(type_of(parts)).numpy)
        found = run_graph(_record_transform, shape, {"x": numbers}, backend, is_short=True)["y"]
        found = found.view(type_of(parts).numpy).reshape(parts.shape)
    if is_host:
        return axis_back(np.ascontiguousarray(found).view(rows.dtype).reshape(rows.shape), which)
    last = found.ndim - 2
    return found if which == last else found.transpose(*range(which), last, *range(which, last), last + 1).copy()


def _record_transform(graph: Recorder, dtype: DType, length: int, rows: int, is_inverse: bool) -> None:
    x = graph.input("x", _memory(dtype), _elements(dtype) * length * rows)
    if length & (length - 1) == 0:
        graph.output("y", _record_passes(graph, x, dtype, length, rows, is_inverse, is_divided=is_inverse))
        return
    wide = 1 << (2 * length - 1).bit_length()
    chirp = constants(graph, chirp_table, length, dtype)
    shape = words(length, wide)
    given = {"chirp": chirp, "shape": shape}
    slots = constants(graph, _slots, wide, rows)
    spread = _record(graph, _spread(dtype, is_inverse), {"x": x, "slots": slots, **given}, wide * rows)["y"]
    kernel_slots = constants(graph, _slots, wide, 1)
    kernel = _record(graph, _kernel(dtype, is_inverse), {"slots": kernel_slots, **given}, wide)["y"]
    a = _record_passes(graph, spread, dtype, wide, rows, False)
    b = _record_passes(graph, kernel, dtype, wide, 1, False)
    product = _record(graph, _products(dtype), {"a": a, "b": b, "shape": shape}, wide * rows)["y"]
    found = _record_passes(graph, product, dtype, wide, rows, True)
    finish = _finish(dtype, is_inverse)
    out_slots = constants(graph, _slots, length, rows)
    graph.output("y", _record(graph, finish, {"x": found, "slots": out_slots, **given}, length * rows)["y"])


def _slots(length: int, rows: int) -> npt.NDArray[np.bool_]:
    return np.zeros(length * rows, np.bool_)


def _record(graph: Recorder, made: Program, given: dict[str, object], invocations: int) -> dict[str, Range]:
    return graph.dispatch(made, given, config=with_grid(-(-invocations // GROUP)))


def _record_passes(
    graph: Recorder, x: Range, dtype: DType, length: int, rows: int, is_inverse: bool, *, is_divided: bool = False
) -> Range:
    """The transform of rows whose length is a power of two; with `is_divided`, divided by the length."""
    roots = constants(graph, root_table, length, dtype)
    bits = length.bit_length() - 1
    if 2 * length * dtype.size <= SHORT_BYTES:
        group = max(1, GROUP // _lanes(bits)) if rows > 1 else 1
        made = _short(dtype, bits, group, is_inverse, is_divided)
        config = with_grid(-(-rows // group))
        return graph.dispatch(made, {"x": x, "roots": roots}, config=config)["y"]
    log_stride = 0
    for log_radix in _radices(bits):
        given = {"x": x, "roots": roots, "shape": words(bits, log_stride)}
        match log_radix:
            case 4:
                made = _pass16(dtype, is_inverse, not log_stride)
            case 2:
                made = _pass4(dtype, is_inverse)
            case _:
                made = _pass2(dtype)
        x = _record(graph, made, given, length * rows >> log_radix)["y"]
        log_stride += log_radix
    if is_divided:
        x = _record(graph, _scaled(dtype), {"x": x, "shape": words(length, 0)}, length * rows)["y"]
    return x


def _lanes(bits: int) -> int:
    """How many invocations transform a short row: one for every 16 numbers, and at least one."""
    return 1 << max(bits - 4, 0)


# ── the programs ─────────────────────────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=64)
def _short(dtype: DType, bits: int, rows: int, is_inverse: bool, is_divided: bool) -> Program:
    """All passes over `rows` rows by a workgroup, from one array of its memory to another."""
    length, lanes, radices = 1 << bits, _lanes(bits), _radices(bits)
    with program("fft_short", (lanes, rows)) as p:
        x, roots = p.read("x", _memory(dtype)), p.read("roots", _memory(dtype))
        y = p.write("y", _memory(dtype), like=x)
        lane, here = p.local_id(0), p.let(p.local_id(1) << bits)
        row = p.let((p.workgroup_id(0) * rows << bits) + here)
        size = rows * length * _elements(dtype)
        between = [p.workgroup(f"between{n}", _memory(dtype), size) for n in range(min(2, len(radices) - 1))]
        source, start, log_stride = x, row, 0
        for number, log_radix in enumerate(radices):
            is_last = number == len(radices) - 1
            target, place = (y, row) if is_last else (between[number % 2], here)
            for share in range(length // lanes >> log_radix):
                at = p.let(lane + share * lanes)
                n = p.let((at >> log_stride) << log_stride)
                step = length >> log_radix
                first = p.let(place + (at - n) + (n << log_radix))
                load = _loader(p, source, start + at, step)
                for m, (real, imaginary) in _RADIX[log_radix](p, load, roots, n, step, is_inverse):
                    value = (real / length, imaginary / length) if is_last and is_divided else (real, imaginary)
                    _store(target, first + (m << log_stride), value)
            if not is_last:
                p.barrier()
            source, start, log_stride = target, place, log_stride + log_radix
    return p.build()


def _radices(bits: int) -> list[int]:
    """The logarithms of the radices of passes: as many of 16 as there can be, one of 4, and one of 2."""
    return [4] * (bits // 4) + [n for n in (2, 1) if bits & n]


@lru_cache(maxsize=4)
def _pass4(dtype: DType, is_inverse: bool) -> Program:
    with program("fft_pass4", GROUP) as p:
        x, roots, shape = p.read("x", _memory(dtype)), p.read("roots", _memory(dtype)), p.uniform("shape", u32, 2)
        y = p.write("y", _memory(dtype), like=x)
        bits, log_stride = p.let(shape[0]), p.let(shape[1])
        i = p.global_id(0)
        quarter = p.let(bits - 2)
        row, at = p.let((i >> quarter) << bits), p.let(i & ((1 << quarter) - 1))
        n = p.let((at >> log_stride) << log_stride)
        one = p.let(1, u32)
        step = p.let(one << quarter)
        numbers = _radix4(p, _loader(p, x, row + at, step), roots, n, step, is_inverse)
        target = p.let(row + (at - n) + (n << 2))
        for m, number in numbers:
            _store(y, target + (one << log_stride) * m, number)
    return p.build()


@lru_cache(maxsize=8)
def _pass16(dtype: DType, is_inverse: bool, is_first: bool) -> Program:
    """Two passes of radix 4. Behind the first two passes, 16 neighbours in x have the same roots."""
    with program("fft_pass16", (LANES, GROUP // LANES)) as p:
        x, roots, shape = p.read("x", _memory(dtype)), p.read("roots", _memory(dtype)), p.uniform("shape", u32, 2)
        y = p.write("y", _memory(dtype), like=x)
        bits, log_stride = p.let(shape[0]), p.let(shape[1])
        one, lane = p.let(1, u32), p.local_id(0)
        sixteenth = p.let(bits - 4)
        start = p.let((p.workgroup_id(0) * (GROUP // LANES) + p.local_id(1)) * LANES)
        step, stride = p.let(one << sixteenth), p.let(one << log_stride)
        if is_first:
            row, at = p.let(((start + lane) >> sixteenth) << bits), p.let((start + lane) & (step - 1))
            n = at
        else:
            row, at = p.let((start >> sixteenth) << bits), p.let(start & (step - 1))
            n = p.let((at >> log_stride) << log_stride)
            at = p.let(at + lane)
        numbers = _radix16(p, _loader(p, x, row + at, step), roots, n, step, is_inverse)
        target = p.let(row + (at - n) + (n << 4))
        for m, number in numbers:
            _store(y, target + stride * m, number)
    return p.build()


Loader = Callable[[int], Number]
"""Loads one of the numbers of a butterfly."""
Numbered = list[tuple[int, Number]]
"""What becomes of them, each with its number among neighbours that are a stride apart."""


def _loader(p: ProgramBuilder, parts: Buffer, first: Value, step: Value | int) -> Loader:
    """The numbers of a butterfly are `step` apart."""
    return lambda m: _load(p, parts, first + m * step)


def _radix16(p: ProgramBuilder, load: Loader, roots: Buffer, n: Value, step: Value | int, is_inverse: bool) -> Numbered:
    """Two passes of radix 4 with what is between them in registers."""
    between: list[list[Number]] = []
    for k in range(4):
        given = [load(k + 4 * m) for m in range(4)]
        factors = [_root(p, roots, (n + k * step) * m, is_inverse) for m in range(1, 4)]
        between.append(_butterfly(p, given, factors, is_inverse))
    factors = [_root(p, roots, 4 * n * m, is_inverse) for m in range(1, 4)]
    return [
        (m + 4 * k, number)
        for m, column in enumerate(zip(*between, strict=True))
        for k, number in enumerate(_butterfly(p, column, factors, is_inverse))
    ]


def _radix4(p: ProgramBuilder, load: Loader, roots: Buffer, n: Value, step: Value | int, is_inverse: bool) -> Numbered:
    given = [load(m) for m in range(4)]
    factors = [_root(p, roots, n * m, is_inverse) for m in range(1, 4)]
    return list(enumerate(_butterfly(p, given, factors, is_inverse)))


def _radix2(p: ProgramBuilder, load: Loader, roots: Buffer, n: Value, step: Value | int, is_inverse: bool) -> Numbered:
    """The last pass, whose roots are 1."""
    a, b = load(0), load(1)
    return [(0, _sum(p, a, b)), (1, _difference(p, a, b))]


_RADIX = {4: _radix16, 2: _radix4, 1: _radix2}
"""By the logarithm."""


def _butterfly(p: ProgramBuilder, given: Sequence[Number], factors: Sequence[Number], is_inverse: bool) -> list[Number]:
    """The transform of four numbers, of which all but the first are multiplied by a factor."""
    a, b, c, d = given
    first, second = _sum(p, a, c), _difference(p, a, c)
    third, fourth = _sum(p, b, d), _difference(p, b, d)
    turned = (-fourth[1], fourth[0])  # j(b − d)
    lower, upper = _difference(p, second, turned), _sum(p, second, turned)
    if is_inverse:
        lower, upper = upper, lower
    others = (lower, _difference(p, first, third), upper)
    return [_sum(p, first, third), *(_product(p, value, w) for value, w in zip(others, factors, strict=True))]


def _root(p: ProgramBuilder, roots: Buffer, number: Value, is_inverse: bool) -> Number:
    w = _load(p, roots, number)
    return (w[0], p.let(-w[1])) if is_inverse else w


@lru_cache(maxsize=2)
def _pass2(dtype: DType) -> Program:
    """The last pass, whose roots are 1."""
    with program("fft_pass2", GROUP) as p:
        x, shape = p.read("x", _memory(dtype)), p.uniform("shape", u32, 2)
        p.read("roots", _memory(dtype))
        y = p.write("y", _memory(dtype), like=x)
        bits = p.let(shape[0])
        i, half = p.global_id(0), p.let(bits - 1)
        one = p.let(1, u32)
        first = p.let(((i >> half) << bits) + (i & ((1 << half) - 1)))
        a, b = _load(p, x, first), _load(p, x, first + (one << half))
        _store(y, first, _sum(p, a, b))
        _store(y, first + (one << half), _difference(p, a, b))
    return p.build()


@lru_cache(maxsize=2)
def _scaled(dtype: DType) -> Program:
    with program("fft_scaled", GROUP) as p:
        x, shape = p.read("x", _memory(dtype)), p.uniform("shape", u32, 2)
        y = p.write("y", _memory(dtype), like=x)
        value, length = _load(p, x, p.global_id(0)), p.let(shape[0].cast(dtype))
        _store(y, p.global_id(0), (value[0] / length, value[1] / length))
    return p.build()


@lru_cache(maxsize=4)
def _spread(dtype: DType, is_inverse: bool) -> Program:
    """The elements times the chirp, and zeros behind them."""
    with program("fft_spread", GROUP) as p:
        x, slots = p.read("x", _memory(dtype)), p.read("slots", bool_)
        chirp, shape = p.read("chirp", _memory(dtype)), p.uniform("shape", u32, 2)
        y = p.write("y", _memory(dtype), LengthOf("slots", times=_elements(dtype)))
        i, length, wide = p.global_id(0), p.let(shape[0]), p.let(shape[1])
        row, k = p.let(i // wide), p.let(i % wide)
        with p.if_((k < length) & (i < slots.length)):
            value = _product(p, _load(p, x, row * length + k), _chirp(p, chirp, k, is_inverse))
            _store(y, i, value)
    return p.build()


@lru_cache(maxsize=4)
def _kernel(dtype: DType, is_inverse: bool) -> Program:
    """The conjugate chirp from the middle to both sides."""
    with program("fft_kernel", GROUP) as p:
        p.read("slots", bool_)
        chirp, shape = p.read("chirp", _memory(dtype)), p.uniform("shape", u32, 2)
        y = p.write("y", _memory(dtype), LengthOf("slots", times=_elements(dtype)))
        i, length, wide = p.global_id(0), p.let(shape[0]), p.let(shape[1])
        distance = p.let(select(i < length, i, wide - i))
        with p.if_((distance < length) & (i < wide)):
            _store(y, i, _chirp(p, chirp, distance, not is_inverse))
    return p.build()


@lru_cache(maxsize=2)
def _products(dtype: DType) -> Program:
    with program("fft_products", GROUP) as p:
        a, b, shape = p.read("a", _memory(dtype)), p.read("b", _memory(dtype)), p.uniform("shape", u32, 2)
        y = p.write("y", _memory(dtype), like=a)
        i = p.global_id(0)
        _store(y, i, _product(p, _load(p, a, i), _load(p, b, i % shape[1])))
    return p.build()


@lru_cache(maxsize=4)
def _finish(dtype: DType, is_inverse: bool) -> Program:
    """The chirp times the convolution, which is divided by its length, and with `is_inverse` by that of a row."""
    with program("fft_finish", GROUP) as p:
        x, slots = p.read("x", _memory(dtype)), p.read("slots", bool_)
        chirp, shape = p.read("chirp", _memory(dtype)), p.uniform("shape", u32, 2)
        y = p.write("y", _memory(dtype), LengthOf("slots", times=_elements(dtype)))
        i, length, wide = p.global_id(0), p.let(shape[0]), p.let(shape[1])
        row, k = p.let(i // length), p.let(i % length)
        with p.if_(i < slots.length):
            value = _load(p, x, row * wide + k)
            size = p.let(wide.cast(dtype))
            value = _product(p, (p.let(value[0] / size), p.let(value[1] / size)), _chirp(p, chirp, k, is_inverse))
            if is_inverse:
                size = p.let(length.cast(dtype))
                value = (value[0] / size, value[1] / size)
            _store(y, i, value)
    return p.build()


# A number of two f32 is an element of u64, whose low word is the real part: neighbours access neighbours.


def _memory(dtype: DType) -> DType:
    """The type of the elements of buffers for numbers whose parts are of a type."""
    return u64 if dtype is f32 else dtype


def _elements(dtype: DType) -> int:
    """The elements of a number."""
    return 1 if dtype is f32 else 2


def _load(p: ProgramBuilder, parts: Buffer, index: Value) -> Number:
    if parts.dtype is not u64:
        return p.let(parts[2 * index]), p.let(parts[2 * index + 1])
    both = p.let(parts[index])
    return p.let(both.cast(u32).bitcast(f32)), p.let((both >> 32).cast(u32).bitcast(f32))


def _store(parts: Buffer, index: Value, value: Number) -> None:
    if parts.dtype is not u64:
        parts[2 * index], parts[2 * index + 1] = value
        return
    low, high = (part.bitcast(u32).cast(u64) for part in value)
    parts[index] = low | (high << 32)


def _sum(p: ProgramBuilder, a: Number, b: Number) -> Number:
    return p.let(a[0] + b[0]), p.let(a[1] + b[1])


def _difference(p: ProgramBuilder, a: Number, b: Number) -> Number:
    return p.let(a[0] - b[0]), p.let(a[1] - b[1])


def _product(p: ProgramBuilder, a: Number, b: Number) -> Number:
    return p.let(a[0] * b[0] - a[1] * b[1]), p.let(a[0] * b[1] + a[1] * b[0])


def _chirp(p: ProgramBuilder, table: Buffer, index: Value, is_conjugate: bool) -> Number:
    value = _load(p, table, index)
    return (value[0], -value[1]) if is_conjugate else value


# ── roots of unity ───────────────────────────────────────────────────────────────────────────────────────────────────
# Pairs of f64 hold twice its precision: every operation is one of IEEE 754, so the tables are the same everywhere.

Pair = tuple[Doubles, Doubles]
TERMS = 14
"""Terms of each series: the first that is left out is below 2**-110 up to an angle of π/4."""
SPLIT = 2.0**27 + 1


@lru_cache(maxsize=8)
def root_table(length: int, dtype: DType) -> Doubles:
    """The parts of ``exp(−2πj n / length)`` for each n."""
    return _roots(np.arange(length), length, dtype)


@lru_cache(maxsize=8)
def chirp_table(length: int, dtype: DType) -> Doubles:
    """The parts of ``exp(−πj n² / length)`` for each n."""
    n = np.arange(length)
    return _roots(n * n % (2 * length), 2 * length, dtype)


def _roots(numbers: npt.NDArray[np.int64], length: int, dtype: DType) -> Doubles:
    octant, rest = np.divmod(8 * numbers, length)
    rest = np.where(octant & 1, length - rest, rest)
    wanted, where = np.unique(rest, return_inverse=True)
    cosine, sine = (part[where] for part in _circle(wanted.astype(np.float64), float(length)))
    is_swapped = ((octant + 1) // 2) & 1 == 1
    x, y = np.where(is_swapped, sine, cosine), np.where(is_swapped, cosine, sine)
    x = np.where((octant >= 2) & (octant < 6), -x, x)
    y = np.where(octant < 4, -y, y)
    return np.stack([x, y], 1).reshape(-1).astype(dtype.numpy).view(_memory(dtype).numpy)


def _circle(numerator: Doubles, denominator: float) -> tuple[Doubles, Doubles]:
    """The cosine and the sine of ``π/4 · numerator / denominator``, for ratios from 0 to 1."""
    high = numerator / denominator
    product, error = _product_of(high, np.full_like(high, denominator))
    ratio = high, ((numerator - product) - error) / denominator
    pi = 3.141592653589793, 1.2246467991473532e-16
    angle = _times(ratio, (np.full_like(high, pi[0] / 4), np.full_like(high, pi[1] / 4)))
    square = _times(angle, angle)
    cosine, sine = (_series(square, first) for first in (0, 1))
    return cosine[0], _times(angle, sine)[0]


def _series(square: Pair, first: int) -> Pair:
    """The sum of ``(−square)**n / (2n + first)!``."""
    total = np.zeros_like(square[0]), np.zeros_like(square[0])
    for n in reversed(range(TERMS)):
        factor = Fraction((-1) ** n, math.factorial(2 * n + first))
        high = float(factor)
        constant = np.full_like(square[0], high), np.full_like(square[0], float(factor - Fraction(high)))
        total = _plus(constant, _times(total, square))
    return total


def _product_of(a: Doubles, b: Doubles) -> Pair:
    """The product and its rounding error (Dekker)."""
    high = a * b
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    return high, ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2


def _halves(a: Doubles) -> Pair:
    scaled = SPLIT * a
    high = scaled - (scaled - a)
    return high, a - high


def _times(a: Pair, b: Pair) -> Pair:
    high, low = _product_of(a[0], b[0])
    low = low + (a[0] * b[1] + a[1] * b[0])
    total = high + low
    return total, low - (total - high)


def _plus(a: Pair, b: Pair) -> Pair:
    high = a[0] + b[0]
    back = high - a[0]
    low = ((a[0] - (high - back)) + (b[0] - back)) + (a[1] + b[1])
    total = high + low
    return total, low - (total - high)
