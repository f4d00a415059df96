"""Reductions against NumPy, and against the fixed tree in ten lines of it."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from algorithm_data import BACKENDS, UFUNCS, data, same
from hypothesis import given, settings, strategies as st

import vyre_algorithms as va
from vyre_algorithms import launches, scans, tree as tree_module
from vyre_algorithms.monoids import REDUCED, SCANNED, reduction_of
from vyre_algorithms.tree import column_program
from vyre_driver import backend_for
from vyre_driver.arrays.make import array as array_on
from vyre_driver.errors import InvalidInput
from vyre_foundation.dtype import f32
from vyre_foundation.ir.stmt import For
from vyre_foundation.optimize import optimize
from vyre_foundation.validate import validate

HARD = [0.0, -0.0, 1.0, -1.0, 1e-45, -1e-45, 3.4e38, -3.4e38, np.inf, -np.inf, np.nan, 1e-3, 7.0]
LENGTHS = [1, 2, 63, 64, 65, 4095, 4096, 4097, 70_000]


def tree(x, combine=np.add, identity=-0.0):
    """The definition: blocks of 4096, 64 lanes in steps, lanes by halves; and blocks of blocks."""
    while True:
        blocks = -(-x.size // 4096)
        padded = np.full(blocks * 4096, identity, x.dtype)
        padded[: x.size] = x
        steps = padded.reshape(blocks, 64, 64).swapaxes(0, 1)
        lanes = np.full((blocks, 64), identity, x.dtype)
        for step in steps:
            lanes = combine(lanes, step)
        while lanes.shape[1] > 1:
            lanes = combine(lanes[:, : lanes.shape[1] // 2], lanes[:, lanes.shape[1] // 2 :])
        x = lanes[:, 0]
        if blocks == 1:
            return x[0]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sums_and_products_are_those_of_the_tree(backend, dtype, length):
    x = data(dtype, length)
    same(va.sum(x, backend=backend), tree(x))
    near_one = (1 + x / 1000).astype(dtype)
    same(va.prod(near_one, backend=backend), tree(near_one, np.multiply, 1))
    same(va.dot(x, near_one, backend=backend), tree(x * near_one))


def test_means_are_sums_divided_by_the_number_of_elements(backend, each_type):
    x = data(each_type, (4, 67))
    is_small_float = x.dtype.name in ("float16", "bfloat16")
    result = x.dtype if x.dtype.kind == "f" or is_small_float else np.dtype("f8")
    exact = x.astype("f4" if is_small_float else result)
    with np.errstate(all="ignore"):
        rows = np.array([tree(row) for row in exact]) / exact.dtype.type(67)
        same(va.mean(x, 1, backend=backend), rows.astype(result))
        whole = (tree(exact.reshape(-1)) / exact.dtype.type(x.size)).astype(result)
        same(va.mean(x, keepdims=True, backend=backend), whole.reshape(1, 1))
        out = np.empty((), result)
        assert va.mean(x, out=out, backend=backend) is out
        same(out, whole)
        assert np.isnan(va.mean(x[:0], backend=backend))
        assert va.mean(x[:, :0], 1, backend=backend).shape == (4,)


def variance(x, ddof=0):
    """The definition, for a sequence of the type in which it is computed."""
    number = x.dtype.type(x.size)
    distances = x - tree(x) / number
    return tree(distances * distances) / x.dtype.type(max(x.size - ddof, 0))


def test_variances_are_means_of_squares(backend, each_type):
    x = data(each_type, (4, 67))
    is_small_float = x.dtype.name in ("float16", "bfloat16")
    result = x.dtype if x.dtype.kind == "f" or is_small_float else np.dtype("f8")
    exact = x.astype("f4" if is_small_float else result)
    with np.errstate(all="ignore"):
        rows = np.array([variance(row, 1) for row in exact])
        same(va.var(x, 1, ddof=1, backend=backend), rows.astype(result))
        same(va.std(x, 1, ddof=1, backend=backend), np.sqrt(rows).astype(result))
        whole = variance(exact.reshape(-1))
        same(va.var(x, keepdims=True, backend=backend), whole.astype(result).reshape(1, 1))
        out = np.empty((), result)
        assert va.std(x, out=out, backend=backend) is out
        same(out, np.sqrt(whole).astype(result))
        assert np.isnan(va.var(x[:0], backend=backend))
        assert np.isnan(va.std(x[0, :1], ddof=1, backend=backend))
        assert va.std(x[:, :0], 1, backend=backend).shape == (4,)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_variances_of_long_sequences(backend, dtype, length):
    x = data(dtype, length) + np.dtype(dtype).type(3)
    same(va.var(x, backend=backend), variance(x))
    same(va.std(x, ddof=1, backend=backend), np.sqrt(variance(x, 1)) if length > 1 else x.dtype.type(np.nan))


@settings(deadline=None)
@given(st.lists(st.sampled_from(HARD), min_size=1, max_size=200), st.integers(0, 3))
def test_variances_of_hard_numbers(values, ddof):
    x = np.array(values, "f4")
    with np.errstate(all="ignore"):
        found, wanted = va.var(x, ddof=ddof, backend="reference"), variance(x, ddof)
        np.testing.assert_array_equal(found, wanted, strict=True)
        if np.isfinite(wanted) and ddof < x.size:
            np.testing.assert_allclose(found, x.astype("f8").var(ddof=ddof), rtol=1e-4, atol=1e-44)
        np.testing.assert_array_equal(va.std(x, ddof=ddof, backend="reference"), np.sqrt(wanted))


@settings(deadline=None)
@given(st.lists(st.integers(-(2**20), 2**20), min_size=1, max_size=70))
def test_variances_are_near_the_exact_ones(values):
    mean = Fraction(sum(values), len(values))
    exact = sum((value - mean) ** 2 for value in values) / len(values)
    found = Fraction(float(va.var(np.array(values, "i4"), backend="reference")))
    assert abs(found - exact) <= Fraction(len(values), 2**50) * max(exact, 1)


def test_every_type(backend, each_type):
    x = data(each_type, (5, 67))
    is_small_float = x.dtype.name in ("float16", "bfloat16")
    exact = x.astype("f4") if is_small_float else x
    with np.errstate(all="ignore"):
        if x.dtype.kind == "f" or is_small_float:
            wide = np.array([tree(row) for row in exact])
            same(va.sum(x, 1, backend=backend), wide.astype(x.dtype))
            same(va.prod(x[:, :5], 1, backend=backend).shape, (5,))
        else:
            same(va.sum(x, 1, backend=backend), x.sum(1))
            same(va.prod(x, 1, backend=backend), x.prod(1))
        same(va.min(x, 1, backend=backend), exact.min(1).astype(x.dtype))
        same(va.max(x, 1, backend=backend), exact.max(1).astype(x.dtype))
        same(va.argmin(x, 1, backend=backend), exact.argmin(1))
        same(va.argmax(x, 1, backend=backend), exact.argmax(1))
        same(va.any(x, 1, backend=backend), (x != 0).any(1))
        same(va.all(x, 1, backend=backend), (x != 0).all(1))


def test_every_operation_has_its_twin_in_numpy():
    assert UFUNCS.keys() == set(SCANNED)
    assert set(REDUCED) - set(SCANNED) == {"argmin", "argmax"}


OF_TYPES = ["bool", "i1", "u4", "i8"]


@pytest.mark.parametrize(
    ("on", "operation", "dtype"),
    [
        pytest.param(
            on,
            operation,
            dtype,
            marks=() if on == "reference" or (on == "cpu" and place == number % 4) else pytest.mark.slow,
        )
        for on in BACKENDS
        for number, operation in enumerate(UFUNCS)
        for place, dtype in enumerate(OF_TYPES)
    ],
)
def test_operations_by_name(on, operation, dtype):
    """On the reference each of each type, and on what compiles each of one."""
    x, combine = data(dtype, (5, 9, 70)), UFUNCS[operation].reduce
    wide = {"dtype": va.sum(x[:0]).dtype} if operation in ("sum", "prod") else {}
    for axis in (None, 0, 2, (0, 1)):
        for keepdims in (False, True):
            wanted = combine(x, axis=axis, keepdims=keepdims, **wide)
            same(va.reduce(x, operation, axis=axis, keepdims=keepdims, backend=on), wanted)
    rows, starts = x.reshape(45, 70), np.array([0, 1, 9, 40, 70])
    wanted = UFUNCS[operation].reduceat(rows, starts[:-1], axis=1, **wide)
    same(va.segmented_reduce(rows, starts, operation, backend=on), wanted)


@pytest.mark.parametrize("operation", [name for name in REDUCED if hasattr(va, name)])
def test_a_name_gives_what_its_function_gives(operation):
    x = data("f4", (5, 70))
    for options in ({}, {"axis": 1}, {"axis": 0, "keepdims": True}, {"axis": 1, "out": np.empty(5, "i8")}):
        call = getattr(va, operation)
        if "out" in options:
            options["out"] = np.empty_like(call(x, 1))
        same(va.reduce(x, operation, **options), np.array(call(x, **options))[()])


def test_bits_of_long_sequences(backend):
    x = data("u4", 70_000) | np.uint32(1 << 7)
    same(va.reduce(x, "xor", backend=backend), np.bitwise_xor.reduce(x))
    same(va.reduce(x, "and", backend=backend), np.uint32(1 << 7))
    columns = data("u2", (9000, 20))
    same(va.reduce(columns, "xor", axis=0, backend=backend), np.bitwise_xor.reduce(columns, axis=0))


@pytest.mark.parametrize("dtype", ["bool", "i1", "i8", "u1", "u8"])
@pytest.mark.parametrize("operation", ["and", "or", "xor"])
def test_bits_of_no_elements(operation, dtype):
    empty = np.zeros((0, 3), dtype)
    combine = UFUNCS[operation].reduce
    same(va.reduce(empty, operation), combine(empty.reshape(-1)))
    same(va.reduce(empty, operation, axis=0), combine(empty, axis=0))
    same(va.reduce(empty, operation, axis=1), combine(empty, axis=1))
    segments = va.segmented_reduce(np.ones(2, dtype), np.array([0, 0, 2, 2]), operation)
    same(segments[:1], combine(empty[:, :1], axis=0))
    same(segments[2:], combine(empty[:, :1], axis=0))


SIDE_BY_SIDE = [((3, 65, 17), (1,)), ((7, 9, 30), (0, 1)), ((1, 100), (0,)), ((2, 4097, 16), (1,))]
SIDE_BY_SIDE += [((64, 10), (0,)), ((4097, 2), (0,)), ((6000, 3), (0,))]  # few, which are moved if they are long
LONG = {(2, 4097, 16), (4097, 2), (6000, 3)}
OF_EACH_KIND = {"sum", "argmax", "var"}
"""Reductions with one value as a state, with two, and in two passes."""


@pytest.mark.parametrize(
    ("shape", "axes", "operation"),
    [
        pytest.param(
            *sequences,
            operation,
            marks=pytest.mark.slow if sequences[0] in LONG and operation not in OF_EACH_KIND else (),
        )
        for sequences in SIDE_BY_SIDE
        for operation in ("sum", "prod", "min", "max", "any", "all", "argmin", "argmax", "mean", "var")
    ],
)
def test_columns_have_the_bits_of_rows(backend, operation, shape, axes):
    """Sequences that lie side by side are reduced where they are.

    The states of bytes have other types than the bytes in some operations; of those that compile, two of these do, and
    on the reference, which takes seconds for a long column, one of them.
    """
    if operation.startswith("arg") and len(axes) > 1:
        axes = axes[:1]
    reduce = getattr(va, operation)
    axis = axes[0] if len(axes) == 1 else axes
    left = [n for n in range(len(shape)) if n not in axes]
    with_bytes = ("sum", "argmin") if backend != "reference" else ("sum",) if shape in LONG else (operation,)
    for dtype in ("f4", "i1") if operation in with_bytes else ("f4",):
        x = data(dtype, shape) * (data("u1", shape) & 1).astype(dtype)
        rows = np.ascontiguousarray(x.transpose(*left, *axes)).reshape(*(shape[n] for n in left), -1)
        same(reduce(x, axis, backend=backend), reduce(rows, -1, backend="reference"))


@pytest.mark.parametrize("length", [1, 2, 3, 7, 16, 31, 32, 33])
def test_short_sequences_have_the_bits_of_the_tree(backend, length):
    rows, columns = data("f4", (70, length)), data("f4", (3, length, 17))
    same(va.sum(rows, 1, backend=backend), np.array([tree(row) for row in rows]))
    same(va.sum(columns, 1, backend=backend), np.array([[tree(c) for c in part.T] for part in columns]))
    same(va.argmax(columns, 1, backend=backend), columns.argmax(1))
    same(va.mean(rows, 1, backend=backend), np.array([tree(row) / np.float32(length) for row in rows]))
    same(va.var(rows, 1, backend=backend), np.array([variance(row) for row in rows]))
    same(va.var(columns, 1, backend=backend), np.array([[variance(c) for c in part.T] for part in columns]))


@pytest.mark.parametrize("shape", [(9, 1000, 2), (9, 3, 1000)])
@pytest.mark.parametrize("function", [va.sum, va.cumsum, va.argmax])
def test_an_invocation_has_a_short_sequence(monkeypatch, function, shape):
    """Not a part of one: then nearly all of a workgroup would have nothing to do."""
    groups = []

    def count(program, arrays, workgroups, backend):
        groups.append(workgroups)
        return launches.launch(program, arrays, workgroups, backend)

    for module in (tree_module, scans):
        monkeypatch.setattr(module, "launch", count)
    axis = int(np.argmin(shape[1:])) + 1
    function(np.ones(shape, "f4"), axis, backend="cpu")
    assert groups == [-(-9 * 1000 // 64) if axis == 2 else 9 * -(-1000 // 64)]


def test_columns_of_every_type(backend, each_type):
    x = data(each_type, (70, 16))
    same(va.sum(x, 0, backend=backend), va.sum(np.ascontiguousarray(x.T), 1, backend="reference"))
    same(va.max(x, 0, backend=backend), va.max(np.ascontiguousarray(x.T), 1, backend="reference"))


@pytest.mark.parametrize("operation", ["sum", "max", "argmin"])
def test_loops_over_lanes_of_columns_stay_loops(operation):
    """The lanes are in memory anyway, and written out they are most of what compilers have to do."""
    facts = optimize(validate(column_program(reduction_of(operation, f32, f32))))
    assert len(facts.program.of(For)) == 7
    assert len(facts.program.statements) < 100


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 2), (1, 2), (0, 1, 2), ()])
@pytest.mark.parametrize("keepdims", [False, True])
def test_axes(axis, keepdims):
    x = data("i4", (3, 40, 5))
    same(va.sum(x, axis, keepdims=keepdims, backend="reference"), x.sum(axis, keepdims=keepdims))
    if axis is None or isinstance(axis, int):
        same(va.argmax(x, axis, keepdims=keepdims, backend="reference"), x.argmax(axis, keepdims=keepdims))


def test_rows_longer_than_a_block(backend):
    x = data("f4", (3, 9000))
    same(va.sum(x, 1, backend=backend), np.array([tree(row) for row in x]))
    same(va.argmin(x, 1, backend=backend), x.argmin(1))
    columns = np.asfortranarray(x)
    same(va.sum(columns, 0, backend=backend), np.array([tree(column) for column in x.T]))


@settings(max_examples=60)
@given(st.lists(st.sampled_from(HARD), min_size=1, max_size=200))
def test_hard_floats(values):
    x = np.array(values, "f4")
    with np.errstate(all="ignore"):
        found = va.sum(x, backend="cpu"), va.prod(x, backend="cpu")
        for result, wanted in zip(found, (tree(x), tree(x, np.multiply, 1)), strict=True):
            same(np.isnan(result), np.isnan(wanted))
            assert np.isnan(wanted) or result.tobytes() == wanted.tobytes()
    assert va.argmin(x, backend="cpu") == x.argmin()
    assert va.argmax(x, backend="cpu") == x.argmax()
    least, greatest = va.min(x, backend="cpu"), va.max(x, backend="cpu")
    # By value: of zeros of both signs NumPy returns either.
    assert np.array_equal([least, greatest], [x.min(), x.max()], equal_nan=True)
    if least == 0:
        assert np.signbit(least) == any(np.signbit(v) for v in x[x == 0])
    if greatest == 0:
        assert np.signbit(greatest) == all(np.signbit(v) for v in x[x == 0])


@pytest.mark.parametrize("x", [np.full(5000, 3.0), np.arange(5000.0), np.full(5000, np.nan), np.zeros(1)])
def test_equal_and_sorted_elements(backend, x):
    assert va.argmin(x, backend=backend) == 0
    assert va.argmax(x[::-1].copy(), backend=backend) == 0


@pytest.mark.parametrize("dtype", ["u1", "i8", "f4"])
def test_the_first_of_equal_elements_of_whole_blocks(backend, dtype):
    size = 2 * 4096 + 100
    few = (data("u4", size) % 3).astype(dtype)
    last = np.full(size, -np.inf if dtype == "f4" else np.iinfo(dtype).min, dtype)
    for x in (few, last, -last if dtype == "f4" else ~last):
        same(va.argmin(x, backend=backend), np.argmin(x))
        same(va.argmax(x, backend=backend), np.argmax(x))
    if dtype == "f4":
        few[[70, 134, 4200, 8200]] = np.nan
        same(va.argmin(few, backend=backend), np.int64(70))
        same(va.argmax(few[71:], backend=backend), np.int64(63))


def test_nothing():
    empty = np.zeros((0, 3), "f4")
    same(va.sum(empty), np.float32(0))
    same(va.prod(empty), np.float32(1))
    same(va.sum(empty, 0), np.zeros(3, "f4"))
    same(va.sum(empty, 1), np.zeros(0, "f4"))
    same(va.max(empty, 1), np.zeros(0, "f4"))
    same(va.any(empty), np.bool_(False))
    same(va.all(empty), np.bool_(True))
    same(va.dot(empty.ravel(), empty.ravel()), np.float32(0))
    with pytest.raises(InvalidInput, match=r"expected at least one element for argmax\. Fix: leave empty"):
        va.argmax(empty)
    with pytest.raises(InvalidInput, match="at least one element for min"):
        va.min(empty, 0)


def test_segments(backend):
    x = data("f4", 20_000)
    starts = np.array([0, 0, 3, 3, 70, 9000, 9001, 20_000])
    parts = np.split(x, starts[1:-1])
    wanted = np.array([tree(part) if part.size else np.float32(0) for part in parts])
    same(va.segmented_reduce(x, starts, backend=backend), wanted)
    full = np.unique(starts)
    parts = np.split(x, full[1:-1])
    same(va.segmented_reduce(x, full, "max", backend=backend), np.array([part.max() for part in parts]))
    same(va.segmented_reduce(x, full, "argmin", backend=backend), np.array([part.argmin() for part in parts]))
    same(va.segmented_reduce(x > 0, full, "sum", backend=backend), np.array([(part > 0).sum() for part in parts]))
    same(va.segmented_reduce(x[:0], np.array([0]), backend=backend), np.zeros(0, "f4"))
    zeros = va.segmented_reduce(np.float32([-0.0, -0.0]), np.array([0, 0, 2, 2]), backend=backend)
    assert np.signbit(zeros).tolist() == [False, True, False]


def reduced(operation, x):
    """The same in NumPy."""
    if operation == "sum" and x.dtype.kind == "f":
        return tree(x) if x.size else x.dtype.type(0)
    return getattr(x, operation)()


@pytest.mark.parametrize("longest", [1, 9, 200, 5000])
def test_many_short_segments_and_one_that_may_be_longer(backend, each_type, longest):
    """There are eight elements for each segment at most, so that an invocation combines one."""
    lengths = np.append(np.arange(longest // 2 + 99) % 11, longest)
    starts = np.append(0, lengths.cumsum())
    x = data(each_type, starts[-1])
    is_small_float = x.dtype.name in ("float16", "bfloat16")
    for operation in ("sum", "max", "argmin"):
        if operation != "sum":
            starts = np.unique(starts)
        assert x.size <= tree_module.IN_VARIABLES * (starts.size - 1)
        parts = np.split(x.astype("f4") if is_small_float else x, starts[1:-1])
        wanted = np.array([reduced(operation, part) for part in parts])
        if is_small_float and operation != "argmin":
            wanted = wanted.astype(x.dtype)
        same(va.segmented_reduce(x, starts, operation, backend=backend), wanted)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (float, "f8"),
        (int, "i8"),
        ("f8", "f8"),
        ("float32", "f4"),
        (np.dtype("f8"), "f8"),
        (np.dtype("i8"), "i8"),
        (np.float64, "f8"),
        (np.dtype("i2"), "i2"),
        (f32, "f4"),
        ("bfloat16", ml_dtypes.bfloat16),
    ],
)
def test_types_by_their_names_in_numpy(given, wanted):
    x = np.arange(5, dtype="f4")
    assert va.sum(x, dtype=given).dtype == wanted
    assert va.cumsum(x, dtype=given).dtype == wanted
    assert va.matmul(x, x, dtype=given).dtype == wanted


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("i8", r"got 'i8', .* Fix: use vyre\.i8 for 8 bits, or numpy\.int64 for 8 bytes"),
        ("u8", r"got 'u8', .* Fix: use vyre\.u8 for 8 bits, or numpy\.uint64 for 8 bytes"),
        ("f32", "got 'f32', expected a type of the language"),
        ("f16", "got .*, expected a type of the language"),
        ("complex128", "got 'complex128', expected a type of the language"),
        ("number", "got 'number', expected a type of the language"),
        (";i", "got ';i', expected a type of the language"),
        ("'", 'got "\'", expected a type of the language'),
        (complex, "got the type complex, expected a type of the language"),
        ([], "got list, expected a type of the language"),
        (3, "got 3, expected a type of the language"),
        (">f4", "got '>f4', expected a type of the language"),
    ],
)
def test_other_names_are_refused(given, message):
    with pytest.raises(InvalidInput, match=f"argument 'dtype': {message}"):
        va.sum(np.ones(3), dtype=given)


@pytest.mark.parametrize("wrong", [np.zeros(3, complex), np.zeros(3, ">f4")])
@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x, wrong: va.sum(x, axis=0, out=wrong), "out"),
        (lambda x, wrong: va.dot(x[0], wrong), "y"),
        (lambda x, wrong: va.exact_dot(x[0], wrong), "y"),
        (lambda x, wrong: va.matmul(x, wrong), "b"),
        (lambda x, wrong: va.searchsorted(x[0], wrong), "values"),
        (lambda x, wrong: va.scatter(x[0], np.arange(3), wrong), "values"),
        (lambda x, wrong: va.convolve(x[0], wrong), "weights"),
        (lambda x, wrong: va.spmv(wrong, np.arange(3), np.array([0, 3]), x[0]), "values"),
        (lambda x, wrong: va.csr(np.arange(3), np.arange(3), wrong, 3), "values"),
        (lambda x, wrong: va.csr(np.arange(3), wrong, x[0], 3), "columns"),
        (lambda x, wrong: va.coo(wrong, np.arange(3), np.array([0, 3])), "values"),
        (lambda x, wrong: va.compact(x[0], wrong), "mask"),
        (lambda x, wrong: va.sort_pairs(wrong, x[0]), "keys"),
        (lambda x, wrong: va.sort_pairs(x[0], wrong), "values"),
        (lambda x, wrong: va.kmeans(wrong.reshape(3, 1), 1), "points"),
        (lambda x, wrong: va.find_all(wrong, [b"a"]), "text"),
        (lambda x, wrong: va.gather(x[0], wrong), "indices"),
        (lambda x, wrong: va.shuffle(wrong, 1), "x"),
        (lambda x, wrong: va.segmented_reduce(x[0], wrong), "starts"),
    ],
)
def test_the_argument_of_a_wrong_type_is_named(call, name, wrong):
    with pytest.raises(InvalidInput, match=rf"argument '{name}': got the type .*Fix: "):
        call(np.ones((2, 3), "f4"), wrong)


def test_out_and_dtype():
    x = data("f4", (4, 100))
    out = np.empty(4, "f4")
    assert va.sum(x, 1, out=out) is out
    same(out, np.array([tree(row) for row in x]))
    same(va.sum(x[0], dtype=np.float64), tree(x[0].astype("f8")))
    same(va.sum(np.full(300, 255, "u1"), dtype=np.uint8), np.uint8(300 * 255 % 256))


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("shape", [(), (1,), (5,), (0,), (2, 3)])
def test_no_axes_leave_every_element(backend, shape, keepdims):
    x = np.arange(np.prod(shape, dtype=int), dtype="f4").reshape(shape)
    for name in ("sum", "prod", "mean", "var", "std", "min", "max", "any", "all"):
        found = getattr(va, name)(x, axis=(), keepdims=keepdims, backend=backend)
        same(found, getattr(np, name)(x, axis=(), keepdims=keepdims))
    for name in ("argmin", "argmax"):
        same(getattr(va, name)(x, axis=(), keepdims=keepdims, backend=backend), np.zeros(shape, np.int64))
    on_device = array_on(backend_for(backend), x)
    same(va.sum(on_device, axis=(), keepdims=keepdims).numpy(), x)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: va.sum([1, 2]), r"got list, expected an array\. Fix: pass a NumPy array"),
        (
            lambda x: va.sum(np.ma.array(x)),
            r"got a masked array, expected an array without a mask\. Fix: pass \.filled",
        ),
        (
            lambda x: va.sum(x.astype(complex)),
            r"got the type complex128, expected a type of the language\. Fix: pass its parts",
        ),
        (lambda x: va.sum(x.astype(">f4")), r"got the type float32 in another byte order, .* Fix: .*\.astype"),
        (lambda x: va.sum(x, 2), "got 2, expected an axis from -2 to 1"),
        (lambda x: va.sum(x, (0, 0)), "each axis once"),
        (lambda x: va.sum(x, "x"), "got str, expected an integer"),
        (lambda x: va.sum(x, dtype=bool), r"Python's type bool|expected a type"),
        (lambda x: va.sum(x, dtype=np.bool_), r"got bool, expected a type of numbers\. Fix: use any or all"),
        (lambda x: va.sum(x, out=np.zeros(3)), r"got f64 \(3,\), expected an array of f32 \(\)"),
        (lambda x: va.dot(x[0], x[0, 1:]), "got 2 of f32, expected 3 elements of f32"),
        (lambda x: va.var(x, 2), "got 2, expected an axis from -2 to 1"),
        (lambda x: va.std(x, ddof=-1), "argument 'ddof': got -1, expected 0"),
        (lambda x: va.var(x, ddof=0.5), "argument 'ddof': got float, expected an integer"),
        (lambda x: va.std(x, out=np.zeros((), "f8")), r"got f64 \(\), expected an array of f32 \(\)"),
        (lambda x: va.sum(x, 0, out=np.broadcast_to(x[0], 3)), "'out': got a read-only one, expected"),
        (lambda x: va.dot(x, x), r"got the shape \(2, 3\), expected an array with one axis"),
        (lambda x: va.dot(x[0] > 0, x[0] > 0), "expected an array of integers or floats"),
        (
            lambda x: va.segmented_reduce(x[0], np.array([0, 2])),
            "got those from 0 to 2, expected ascending integers from 0",
        ),
        (lambda x: va.segmented_reduce(x[0], np.array([0, 2, 1, 3])), "got 2, and 1 after it, expected ascending"),
        (lambda x: va.segmented_reduce(x[0], np.array([0, 3]), "mean"), "expected one of sum, prod"),
        (
            lambda x: va.reduce(x, "mean"),
            "argument 'operation': got 'mean', expected one of sum, prod, min, .*, argmax",
        ),
        (lambda x: va.reduce(x, "xor"), "argument 'x': got one of f32, expected an array of bools or integers"),
        (lambda x: va.segmented_reduce(x, np.array([0, 3]), "or"), "expected an array of bools or integers"),
        (lambda x: va.reduce(x > 0, "and", out=np.zeros(3)), r"got f64 \(3,\), expected an array of bool \(\)"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(InvalidInput, match=message) as caught:
        call(np.ones((2, 3), "f4"))
    assert "Fix: " in str(caught.value)
