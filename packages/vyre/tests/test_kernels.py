"""Kernels: what they compute, beside literals and NumPy, and beside programs that are recorded by hand."""

import array
import copy
import inspect
import pickle
import pydoc
import re
import sys
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
import pytest

import vyre as vy
import vyre_driver
from vyre_driver import DeviceOutOfMemory, DispatchConfig, UnsupportedFeature, availability
from vyre_driver.observe.bounds import out_of_bounds

BACKENDS = [id for id in ("cpu", "opencl", "opencl-intel") if availability(id).is_available]
FAST = "reference"


@vy.kernel
def saxpy(a: vy.f32, x: vy.Array[vy.f32, "n"], y: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    i = vy.index()
    return a * x[i] + y[i]


@vy.kernel(workgroup_size=(16, 16))
def life(cells: vy.Array[vy.u8, "h", "w"], out: vy.Out[vy.u8, "h", "w"]):
    y, x = vy.index()
    n = sum(cells[y + dy, x + dx] for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx)
    out[y, x] = 1 if n == 3 or (n == 2 and cells[y, x]) else 0


@vy.kernel(shape="n")
def histogram(x: vy.Array[vy.u8, "n"], counts: vy.InOut[vy.u32, 256]):
    counts.atomic_add(x[vy.index()], 1)


def run(kernel: vy.KernelFunction, *args: object, **named: object) -> object:
    return kernel.on(FAST)(*args, **named)


def test_a_kernel_is_the_program_that_is_recorded_by_hand() -> None:
    with vy.program("saxpy", workgroup_size=64) as p:
        a, x = p.uniform("a", vy.f32, 1), p.read("x", vy.f32)
        y, out = p.read("y", vy.f32, like=x), p.write("out", vy.f32, like=x)
        i = p.global_id(0)
        out[i] = a[0] * x[i] + y[i]
    assert saxpy.program == p.build()
    assert saxpy.program.fingerprint() == p.build().fingerprint()


@pytest.mark.parametrize("backend", [*BACKENDS, "reference", "reference-scalar"])
def test_every_backend_gives_the_same_bytes(backend: str) -> None:
    x, y = np.linspace(-1, 1, 200, dtype=np.float32), np.full(200, 0.1, np.float32)
    assert saxpy.on(backend)(2.5, x, y).tobytes() == (np.float32(2.5) * x + y).tobytes()
    cells = (np.arange(77 * 19).reshape(77, 19) * 7 % 11 < 5).astype(np.uint8)
    assert np.array_equal(life.on(backend)(cells), stepped(cells))
    data = (np.arange(1000) * 37 % 251).astype(np.uint8)
    counts = histogram.on(backend)(data, np.zeros(256, np.uint32))
    assert np.array_equal(counts, np.bincount(data, minlength=256))


def stepped(cells: np.ndarray) -> np.ndarray:
    h, w = cells.shape
    padded = np.pad(cells, 1)
    near = sum(padded[1 + dy : 1 + dy + h, 1 + dx : 1 + dx + w] for dy in (-1, 0, 1) for dx in (-1, 0, 1) if dy or dx)
    return ((near == 3) | ((near == 2) & (cells == 1))).astype(np.uint8)


def test_elements_out_of_bounds_on_any_axis_are_zero() -> None:
    @vy.kernel
    def right(x: vy.Array[vy.u8, "h", "w"], out: vy.Out[vy.u8, "h", "w"]):
        i, j = vy.index()
        out[i, j] = x[i - 1, j + 1]

    x = np.arange(1, 7, dtype=np.uint8).reshape(2, 3)
    assert run(right, x).tolist() == [[0, 0, 0], [2, 3, 0]]


def test_signed_and_wide_indices_are_checked_on_each_axis() -> None:
    @vy.kernel
    def pick(i: vy.Array[vy.i64, "n"], x: vy.Array[vy.u8, 2, 3]) -> vy.Array[vy.u8, "n"]:
        return x[i[vy.index()], 1] + x[0, i[vy.index()].cast(vy.i8)]

    x = np.arange(1, 7, dtype=np.uint8).reshape(2, 3)
    assert run(pick, np.int64([0, 1, -1, 2, 2**32]), x).tolist() == [3, 7, 0, 3, 1]


def test_control_flow() -> None:
    @vy.kernel
    def collatz(start: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
        n = start[vy.index()]
        steps: vy.u32 = 0
        while vy.bounded(n > 1, 1000):
            if n & 1 == 0:
                n = n >> 1
            else:
                n = n * 3 + 1
            steps += 1
        return steps

    @vy.kernel
    def grade(x: vy.Array[vy.i32, "n"]) -> vy.Array[vy.u8, "n"]:
        v = x[vy.index()]
        if v < 0:
            return 9
        if v < 10:
            size = vy.u8(1)
        elif 10 <= v < 100:
            size = vy.u8(2)
        else:
            size = vy.u8(3)
        for k in range(3):
            if k == 1 and not v == 5:
                continue
            if v in (7, 77):
                break
            size += 10
        return size

    assert run(collatz, np.uint32([1, 6, 7, 27])).tolist() == [0, 8, 16, 111]
    assert run(grade, np.int32([-1, 3, 5, 7, 50, 77, 100])).tolist() == [9, 21, 31, 1, 22, 2, 23]


def test_a_while_loop_that_reaches_its_limit_traps() -> None:
    @vy.kernel
    def halve(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
        n = x[vy.index()]
        while vy.bounded(n > 1, 3):
            n = n >> 1
        return n

    assert run(halve, np.uint32([0, 8, 15])).tolist() == [0, 1, 1]
    with pytest.raises(vy.VyreError, match=r"a loop of halve reached its limit', code 3"):
        run(halve, np.uint32([0, 16]))


def test_swaps_and_variables() -> None:
    @vy.kernel
    def gcd(x: vy.Array[vy.u32, "n"], y: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
        i = vy.index()
        a, b = x[i], y[i]
        while vy.bounded(b != 0, 64):
            a, b = b, a % b
        return a

    x, y = np.uint32([12, 7, 0, 2**31]), np.uint32([18, 13, 5, 6])
    assert np.array_equal(run(gcd, x, y), np.gcd(x, y))


def test_targets_are_assigned_from_left_to_right() -> None:
    """As Python says; CPython 3.11.2 does it the other way round where a name comes twice."""

    @vy.kernel
    def kept(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
        a = x[vy.index()]
        a, a = a + 1, a
        return a

    assert run(kept, np.uint32([5, 9])).tolist() == [5, 9]


def test_device_functions_are_inlined() -> None:
    @vy.func
    def clamp(x, low, high):
        if x < low:
            return low
        if x > high:
            return high
        return x

    @vy.func
    def lerp(a: vy.f32, b: vy.f32, t: vy.f32) -> vy.f32:
        return a + (b - a) * clamp(t, 0.0, 1.0)

    @vy.kernel
    def fade(t: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        return lerp(10, 20, t[vy.index()])

    assert run(fade, np.float32([-1, 0, 0.5, 1, 7])).tolist() == [10, 10, 15, 20, 20]


def test_closures_tables_and_comprehensions() -> None:
    weights = (0.25, 0.5, 0.25)
    palette = np.array([[10, 20], [30, 40]], np.uint8)

    @vy.kernel
    def blur(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        i = vy.index()
        return sum((w * x[i + k - 1] for k, w in enumerate(weights)), start=x[0] * 0.0)

    @vy.kernel
    def paint(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u8, "n"]:
        v = x[vy.index()]
        return palette[v, 1] + palette[0, v]

    assert run(blur, np.float32([4, 8, 0])).tolist() == [4, 5, 2]
    assert run(paint, np.uint32([0, 1, 2])).tolist() == [30, 60, 0]


def test_generic_kernels() -> None:
    t = TypeVar("t", vy.f32, vy.f64, vy.i32)

    @vy.kernel
    def scaled(a: t, x: vy.Array[t, "n"]) -> vy.Array[t, "n"]:
        return a * x[vy.index()]

    assert scaled[vy.i32].on(FAST)(3, np.int32([1, -2])).tolist() == [3, -6]
    for dtype in (np.float32, np.float64, np.int32):
        result = scaled(3, np.array([1, 2], dtype))
        assert result.dtype == dtype
        assert result.tolist() == [3, 6]
    numbers = [2.0, np.float64(2), np.array(2.0), np.array(2, np.int64)]
    assert [scaled(number, np.float32([1.5])).dtype for number in numbers] == [np.float32] * 4
    with pytest.raises(vy.BuildError) as error:
        scaled[vy.u8]
    assert str(error.value) == "the kernel 'scaled' has no t = u8. Fix: use one of f32, f64, i32"
    with pytest.raises(vy.BuildError) as error:
        scaled.program
    assert str(error.value) == "the kernel 'scaled' is generic in t. Fix: choose types, as in scaled[vy.f32]"
    s, b = TypeVar("s", vy.u8, vy.i64), TypeVar("b", vy.bool_, vy.u8)

    @vy.kernel
    def filled(x: vy.Array[s, "n"], fill: b, y: vy.Array[b, "n"]) -> vy.Array[s, "n"]:
        return x[vy.index()]

    with pytest.raises(vy.BuildError, match=r"as in filled\[vy\.u8, vy\.bool_\]"):
        filled.on("reference")


def test_workgroups_barriers_and_collectives() -> None:
    @vy.kernel(workgroup_size=64)
    def reverse(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
        tile = vy.workgroup(vy.u32, 64)
        lane = vy.local_id()
        tile[lane] = x[vy.index()]
        vy.barrier()
        return tile[63 - lane]

    @vy.kernel(workgroup_size=32, subgroup_size=32)
    def total(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
        return vy.subgroup("reduce_add", x[vy.index()])

    x = np.arange(128, dtype=np.uint32)
    assert np.array_equal(run(reverse, x), x.reshape(2, 64)[:, ::-1].ravel())
    assert np.array_equal(run(total, x), np.repeat(x.reshape(4, 32).sum(1), 32))


def test_arrays_that_are_declared_in_one_assignment_have_the_names_of_its_targets() -> None:
    @vy.kernel(workgroup_size=4)
    def swapped(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        (left, (right, n)), i = (vy.workgroup(vy.f32, 4), (vy.workgroup(vy.f32, 4), 2)), vy.local_id(0)
        left[i], right[i] = x[vy.index()], x[vy.index()] * n
        vy.barrier()
        return left[i ^ 1] + right[i]

    assert [buffer.name for buffer in swapped.program.buffers] == ["x", "out", "left", "right"]
    assert run(swapped, np.float32([1, 2, 3, 4])).tolist() == [4, 5, 10, 11]


def test_private_arrays_of_several_axes() -> None:
    @vy.kernel
    def transposed(x: vy.Array[vy.f32, "n", 4]) -> vy.Array[vy.f32, "n", 4]:
        y, k = vy.index()
        local = vy.private(vy.f32, 2, 2)
        for r in (0, 1):
            for c in (0, 1):
                local[c, r] = x[y, 2 * r + c]
        return local[k >> 1, k & 1]

    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert run(transposed, x).tolist() == [[0, 2, 1, 3], [4, 6, 5, 7], [8, 10, 9, 11]]


def test_assertions_and_traps() -> None:
    @vy.kernel
    def digits(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
        v = x[vy.index()]
        assert v < 10, "no digit"
        if v == 7:
            vy.trap(v, "seven")
        return v + 48

    assert run(digits, np.uint32([1, 9])).tolist() == [49, 57]
    with pytest.raises(vy.VyreError, match="'no digit', code 0"):
        run(digits, np.uint32([1, 10]))
    with pytest.raises(vy.VyreError, match=r"'seven', code 7, at .*test_kernels\.py:\d+"):
        run(digits, np.uint32([7, 1]))


def test_only_invocations_of_the_shape_act() -> None:
    """70 invocations are two workgroups of 64: the 58 beyond the shape would count zeros."""
    assert histogram.on(FAST)(np.full(70, 3, np.uint8), np.zeros(256, np.uint32)).sum() == 70

    @vy.kernel
    def mirrored(x: vy.Array[vy.u32, "n"], out: vy.Out[vy.u32, "n"]):
        i = vy.index()
        out[i % 4] = 5

    assert run(mirrored, np.zeros(3, np.uint32)).tolist() == [5, 5, 5]


@pytest.mark.parametrize("backend", [*BACKENDS, "reference", "reference-scalar"])
def test_launches_of_more_than_three_axes(backend: str) -> None:
    """Sizes that are no multiples of workgroups, on all axes."""

    @vy.kernel
    def shifted(
        x: vy.Array[vy.u32, "n", "c", "h", "w"], by: vy.Array[vy.u32, "c"]
    ) -> vy.Array[vy.u32, "n", "c", "h", "w"]:
        n, c, i, j = vy.index()
        if i + 1 == x.shape[2]:
            return n * 1000 + c
        return x[n, c, i + 1, j] + by[c]

    @vy.kernel(shape=("a", 2, "c", "h", 3))
    def sums(x: vy.Array[vy.u32, "a", 2, "c", "h", 3], out: vy.InOut[vy.u32, "a", "c"]) -> None:
        a, b, c, h, k = vy.index()
        out.atomic_add((a, c), x[a, b, c, h, k] + 1)

    x = np.random.default_rng(1).integers(0, 100, (3, 5, 9, 11)).astype(np.uint32)
    by = np.arange(5, dtype=np.uint32)
    wanted = np.roll(x, -1, 2) + by[:, None, None]
    wanted[:, :, -1] = np.arange(3)[:, None, None] * 1000 + np.arange(5)[:, None]
    assert np.array_equal(shifted.on(backend)(x, by), wanted)
    assert shifted.on(backend)(x[:0], by).shape == (0, 5, 9, 11)
    y = x[:, :2, :, :3].reshape(3, 2, 3, 3, 3)
    assert np.array_equal(sums.on(backend)(y, np.zeros((3, 3), np.uint32)), (y + 1).sum((1, 3, 4)))


def test_results_have_the_annotated_shapes() -> None:
    @vy.kernel
    def outer(x: vy.Array[vy.f32, "n"], y: vy.Array[vy.f32, "m"]) -> vy.Array[vy.f32, "n", "m"]:
        i, j = vy.index()
        return x[i] * y[j]

    @vy.kernel
    def both(
        x: vy.Array[vy.i32, "h", "w"], double: vy.Out[vy.i32, "w", "h"]
    ) -> tuple[vy.Array[vy.i32, "w", "h"], vy.Array[vy.bool_, "w", "h"]]:
        i, j = vy.index()
        double[i, j] = x[j, i] * 2
        return x[j, i], x[j, i] > 2

    x, y = np.float32([1, 2, 3]), np.float32([1, 10])
    assert np.array_equal(run(outer, x, y), np.outer(x, y))
    matrix = np.arange(6, dtype=np.int32).reshape(2, 3)
    double, turned, is_large = run(both, matrix)
    assert np.array_equal(double, 2 * matrix.T)
    assert np.array_equal(turned, matrix.T)
    assert np.array_equal(is_large, matrix.T > 2)


def test_numbers_are_lengths_of_axes_of_their_names() -> None:
    @vy.kernel
    def table(h: vy.u32, w: vy.i64) -> vy.Array[vy.u32, "h", "w"]:
        y, x = vy.index()
        return y * 100 + x + 1000 * h

    @vy.kernel
    def first(n: vy.u8, x: vy.Array[vy.u32, "n"], k: vy.u32) -> vy.Array[vy.u32, "k"]:
        return x[vy.index()] + vy.u32(n)

    y, x = np.mgrid[:3, :70]
    assert np.array_equal(run(table, 3, 70), y * 100 + x + 3000)
    assert table.on("cpu")(w=np.int64(2), h=2).tolist() == [[2000, 2001], [2100, 2101]]
    assert run(table, 0, 5).shape == (0, 5)
    assert vy.run(table.program, h=1, w=np.array([2]))["out"].tolist() == [[1000, 1001]]
    assert run(pickle.loads(pickle.dumps(table)), 1, 1).tolist() == [[1000]]  # noqa: S301
    assert run(first, 2, np.uint32([5, 6]), 3).tolist() == [7, 8, 2]
    with pytest.raises(vy.VyreError, match=r"'x': got 2 in the shape \(2,\), expected n = 3 elements, as the number"):
        run(first, 3, np.uint32([5, 6]), 3)
    for wrong in (-1, 2**32, 1.5, None, np.zeros(2, np.uint32)):
        with pytest.raises(vy.VyreError, match=r"argument 'h': got .*, expected .* length of an axis.* Fix: pass"):
            run(table, wrong, 1)


def test_functions_of_the_front_door_take_kernels() -> None:
    x = np.float32([1, 2, 3])
    given = {"a": 2, "x": x, "y": x}
    assert vy.run(saxpy, given, backend=FAST)["out"].tolist() == [3, 6, 9]
    assert vy.check(saxpy, given)["out"].tolist() == [3, 6, 9]
    assert vy.tune(saxpy, given, backend="cpu").reports
    assert vy.explain(saxpy, given, backend="cpu").fingerprint == saxpy.program.fingerprint()
    assert vy.profile(saxpy, given, backend="cpu", seconds=0.01).runs
    assert vy.grid_for(saxpy, 100) == (2, 1, 1)
    with pytest.raises(vy.VyreError, match=r"program: got function, expected a Program\. Fix: pass what build\(\)"):
        vy.run(stepped, given)


TEXT = b"parse"


@pytest.mark.parametrize(
    "text", [TEXT, bytearray(TEXT), memoryview(TEXT), array.array("B", TEXT)], ids=lambda text: type(text).__name__
)
def test_arrays_are_what_exports_a_buffer(text: object) -> None:
    @vy.kernel
    def vowels(text: vy.Array[vy.u8, "n"]) -> vy.Array[vy.bool_, "n"]:
        c = text[vy.index()]
        return (c == 97) | (c == 101)

    assert run(vowels, text).tolist() == run(vowels, text=text).tolist() == [False, True, False, False, True]


def test_a_conversion_of_numbers_that_a_condition_chooses() -> None:
    @vy.kernel
    def rounded(x: vy.Array[vy.f32, "n"], out: vy.Out[vy.u8, "n"], rest: vy.Out[vy.f32, "n"]) -> None:
        i = vy.index()
        level = 1.0 if x[i] > 0.5 else 0.0
        out[i], rest[i] = vy.u8(level), x[i] - level

    out, rest = rounded(np.float32([0.25, 0.75]))
    assert out.tolist() == [0, 1]
    assert rest.tolist() == [0.25, -0.25]

    @vy.kernel
    def halved(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.u8, "n"]:
        return vy.u8(1.5 if x[vy.index()] > 0.5 else 0.0)

    with pytest.raises(vy.KernelError, match=r"(?s)1\.5 .*Fix: "):
        halved(np.float32([0.25, 0.75]))


def test_a_computed_length_of_an_axis_is_refused() -> None:
    with pytest.raises(vy.KernelError, match=r"(?s)got 'n \+ 1' as an axis, .*Fix: give this length a name of its own"):

        @vy.kernel
        def wrong(x: vy.Array[vy.f32, "n"], edges: vy.Array[vy.f32, "n + 1"]) -> vy.Array[vy.f32, "n"]:
            return x[vy.index()]

    @vy.kernel
    def widths(x: vy.Array[vy.f32, "n"], edges: vy.Array[vy.f32, "m"]) -> vy.Array[vy.f32, "n"]:
        assert len(edges) == len(x) + 1, "one more edge"
        i = vy.index()
        return edges[i + 1] - edges[i]

    x = np.zeros(2, np.float32)
    assert widths(x, np.float32([1, 2, 4])).tolist() == [1, 2]
    with pytest.raises(vy.Trapped, match="one more edge"):
        widths(x, x)


def test_numbers_may_have_defaults() -> None:
    @vy.kernel
    def scaled(x: vy.Array[vy.f32, "n"], by: vy.f32 = 2.0, n: vy.u32 = 3) -> vy.Array[vy.f32, "n"]:
        return x[vy.index()] * by

    x = np.float32([1, 2, 3])
    assert run(scaled, x).tolist() == [2, 4, 6]
    assert run(scaled, x, 3).tolist() == run(scaled, x, by=3.0).tolist() == run(scaled, by=3, x=x).tolist() == [3, 6, 9]
    with pytest.raises(vy.VyreError, match=r"got none, expected a value for each input\. Fix: pass 'x'"):
        run(scaled)
    with pytest.raises(vy.VyreError, match="expected n = 3 elements, as the number says"):
        run(scaled, x[:2])


def test_arrays_of_a_device_with_numbers_as_lengths() -> None:
    @vy.kernel
    def cut(x: vy.Array[vy.u32, "n"], k: vy.u32) -> vy.Array[vy.u32, "k"]:
        return x[vy.index()]

    found = cut.on("cpu")(vy.array(np.uint32([3, 4, 5]), backend="cpu"), 2)
    assert isinstance(found, vy.DeviceArray)
    assert found.numpy().tolist() == [3, 4]


def test_ranges_below_zero_and_downwards_are_unrolled() -> None:
    @vy.kernel
    def around(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
        i, total = vy.index(), vy.u32(0)
        for k in range(-1, 2):
            total += x[i + k]
        for k in range(3, -1, -1):
            total = total * 2 + k
        return total

    @vy.func
    def last_positive(x: vy.Array[vy.i32, "n"]) -> vy.i32:
        for k in range(2, -1, -1):
            if x[k] > 0:
                return x[k]
        return -1

    @vy.kernel(shape=1)
    def chosen(x: vy.Array[vy.i32, "n"]) -> vy.Array[vy.i32, 1]:
        return last_positive(x)

    assert run(around, np.uint32([1, 2, 4])).tolist() == [16 * t + 34 for t in (3, 7, 6)]
    assert run(chosen, np.int32([7, 9, 0])).tolist() == [9]
    assert run(chosen, np.int32([0, 0, 0])).tolist() == [-1]


def test_generic_device_functions_take_the_types_of_their_arguments() -> None:
    t = TypeVar("t", vy.f32, vy.i32)

    @vy.func
    def twice(x: t, y: t) -> t:
        return x + y * 2

    @vy.kernel
    def both(x: vy.Array[vy.f32, "n"], y: vy.Array[vy.i32, "n"]) -> vy.Array[vy.f32, "n"]:
        i = vy.index()
        return twice(x[i], 1) + vy.f32(twice(y[i], 1))

    @vy.kernel
    def wrong(x: vy.Array[vy.u8, "n"]) -> vy.Array[vy.u8, "n"]:
        return twice(x[0], 1)

    assert run(both, np.float32([0.5]), np.int32([7])).tolist() == [11.5]
    with pytest.raises(vy.KernelError, match=r"got a value of u8 for 'x', expected one of f32, i32\n"):
        wrong.program


def test_matrix_product() -> None:
    @vy.kernel
    def matmul(a: vy.Array[vy.f32, "m", "k"], b: vy.Array[vy.f32, "k", "n"]) -> vy.Array[vy.f32, "m", "n"]:
        i, j = vy.index()
        total: vy.f32 = 0
        for p in range(a.shape[1]):
            total += a[i, p] * b[p, j]
        return total

    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(12, dtype=np.float32).reshape(3, 4)
    assert np.array_equal(run(matmul, a, b), a @ b)


def test_results_go_to_the_memory_of_the_caller() -> None:
    cells, target = np.ones((3, 3), np.uint8), np.full((3, 3), 9, np.uint8)
    assert run(life, cells, out=target) is target
    assert target.tolist() == [[1, 0, 1], [0, 0, 0], [1, 0, 1]]
    with pytest.raises(vy.VyreError) as error:
        run(life, cells, np.ones((3, 2), np.uint8))
    assert str(error.value) == (
        "argument 'out': got one of uint8, (3, 2), expected an array of uint8 of the shape (3, 3). "
        "Fix: pass such an array, or leave it out"
    )


def test_an_array_without_axes_is_a_number() -> None:
    offset = np.array(2.0)

    @vy.kernel
    def shifted(a: vy.f32, x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        return a * x[vy.index()] + offset

    x = np.float32([1, -2])
    for number in (np.array(3.0), np.array(3), np.array(3.0, ">f4"), np.float64(3)):
        assert run(shifted, number, x).tolist() == [5, -4]
        assert shifted.on("reference")(number, vy.array(x, backend="reference")).numpy().tolist() == [5, -4]
    with pytest.raises(vy.VyreError, match=r"argument 'a': got nan, expected a value|argument 'a': got one of str"):
        run(shifted, np.array("3"), x)


def test_a_result_that_no_host_has_memory_for_is_an_error_of_a_backend() -> None:
    @vy.kernel
    def products(x: vy.Array[vy.f64, "n"], y: vy.Array[vy.f64, "m"]) -> vy.Array[vy.f64, "n", "m"]:
        i, j = vy.index()
        return x[i] * y[j]

    x = np.broadcast_to(np.float64(1), (1 << 29,))
    for call in (lambda: run(products, x, x), lambda: vy.run(products, x=x, y=x, backend=FAST)):
        with pytest.raises(DeviceOutOfMemory, match="out of memory: 2305843009213693952 bytes"):
            call()


def test_results_go_to_no_memory_of_another_byte_order() -> None:
    counts = np.zeros(256, ">u4")
    with pytest.raises(
        vy.VyreError, match=r"'counts': got one of uint32 in another byte order, .* Fix: convert it with"
    ):
        run(histogram, np.zeros(3, np.uint8), counts)

    @vy.kernel
    def doubled(x: vy.Array[vy.f32, "n"], out: vy.Out[vy.f32, "n"]):
        out[vy.index()] = x[vy.index()] * 2.0

    with pytest.raises(vy.VyreError, match=r"'out': got one of float32 in another byte order, .2,., expected"):
        run(doubled, np.float32([1, 2]), np.zeros(2, ">f4"))


def test_a_kernel_is_pickled_by_its_program() -> None:
    restored = pickle.loads(pickle.dumps(saxpy))  # noqa: S301
    assert restored.program == saxpy.program
    x = np.float32([1, 2])
    assert restored.on(FAST)(2, x, x).tolist() == [3, 6]


def test_a_restored_kernel_is_described_as_before() -> None:
    @vy.kernel(shape="n")
    def halved(x: vy.Array[vy.f32, "n"], balls: vy.Array[Ball, "n"], o: vy.Out[vy.f32, "n", 3], by: vy.f32 = 2.0):
        """Divide by a number."""
        o[vy.index(), 0] = x[vy.index()] / by + balls[vy.index()].place

    restored = pickle.loads(pickle.dumps(halved))  # noqa: S301
    for name in ("__doc__", "__module__", "__name__", "__qualname__"):
        assert getattr(restored, name) == getattr(halved, name)
    was = inspect.signature(halved)
    parameters = [was.parameters["x"], was.parameters["balls"].replace(annotation=inspect.Parameter.empty)]
    parameters += [was.parameters["o"], was.parameters["by"]]
    assert inspect.signature(restored) == inspect.Signature(parameters)
    assert str(inspect.signature(halved.on())) == "(*arrays: 'Any', **named: 'Any') -> 'Any'"
    again = pickle.loads(pickle.dumps(restored))  # noqa: S301
    assert again.__doc__ == "Divide by a number."


@vy.func
def scaled_by_two(x):
    return x * 2


@vy.struct
class Ball(vy.Struct):
    place: vy.f32

    def moved(self, by):
        return self.place + by


T = TypeVar("T", vy.f32, vy.u32)


@vy.kernel
def generic(x: vy.Array[T, "n"]) -> vy.Array[T, "n"]:
    return x[vy.index()]


@pytest.mark.parametrize("given", [scaled_by_two, Ball, generic], ids=["func", "struct", "generic kernel"])
def test_what_a_module_names_is_pickled_by_its_name(given: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As functions and classes are."""
    monkeypatch.setitem(sys.modules, __name__, SimpleNamespace(**globals()))
    assert pickle.loads(pickle.dumps(given)) is given  # noqa: S301


def test_a_structure_of_a_function_is_pickled_by_its_fields() -> None:
    @vy.struct
    class Point(vy.Struct):
        x: vy.f32
        y: vy.f32

    assert pickle.loads(pickle.dumps(Point)).dtype == Point.dtype  # noqa: S301


def test_a_generic_kernel_of_a_function_says_how_it_is_pickled() -> None:
    @vy.kernel
    def local(x: vy.Array[T, "n"]) -> vy.Array[T, "n"]:
        return x[vy.index()]

    with pytest.raises(vy.BuildError, match=r"'local' is generic in T\. Fix: choose types, as in local\[vy\.f32\]"):
        pickle.dumps(local)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_what_does_not_change_is_its_own_copy(copied: Callable[[Any], Any]) -> None:
    """As functions and classes are."""
    for given in (saxpy, generic, saxpy.on(FAST), saxpy.on(vy.backend_for(FAST)), scaled_by_two, Ball):
        assert copied(given) is given


def test_kernels_are_routines_to_tools_that_document_them() -> None:
    @vy.kernel
    def documented(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        """Double it."""
        return x[vy.index()] * 2

    class Holder:
        kernel = documented
        function = scaled_by_two

    assert pydoc.plain(pydoc.render_doc(documented)).splitlines()[2:] == [
        "documented(x: vyre_foundation.build.memory.Array[f32, 'n']) -> vyre_foundation.build.memory.Array[f32, 'n']",
        "    Double it.",
    ]
    assert inspect.isroutine(scaled_by_two)
    assert Holder().kernel is Holder.kernel is documented
    assert Holder().function is Holder.function is scaled_by_two


def test_a_kernel_is_compiled_once_for_many_threads() -> None:
    reads = []

    class Counted:
        def __index__(self) -> int:
            return 1

        @property
        def one(self) -> int:
            reads.append(1)
            return 1

    counted = Counted()

    @vy.kernel
    def increased(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
        return x[vy.index()] + counted.one

    results = []
    threads = [
        threading.Thread(target=lambda: results.append(run(increased, np.uint32([1, 2])).tolist())) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[2, 3]] * 8
    assert len(reads) == 1


def test_a_kernel_explains_itself() -> None:
    found = saxpy.explain(2.0, np.zeros(100, np.float32), np.zeros(100, np.float32))
    assert found.fingerprint == saxpy.program.fingerprint()
    assert [str(found[subject]) for subject in ("kernel", "shape", "result", "grid")] == [
        "saxpy",
        "n",
        "out: of the shape (100,)",
        "2 × 1 × 1: 128 invocations for 100 elements",
    ]
    assert [verdict.subject for verdict in saxpy.explain().verdicts] == ["kernel", "shape", "workgroup", "determinism"]
    assert str(vy.print_program(saxpy.program)) in str(saxpy.explain())
    with pytest.raises(vy.VyreError) as error:
        saxpy.source("reference")
    assert str(error.value) == (
        "reference does not support printing source: it emits none. Fix: name a backend that compiles"
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_kernel_shows_what_a_backend_compiles(backend: str) -> None:
    assert re.search(r"\bf?mul\b|\*", saxpy.source(backend))


@vy.kernel(backend="reference")
def added_on_the_reference(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    return x[vy.index()] + 1.0


@pytest.mark.parametrize("is_pickled", [False, True])
def test_a_kernel_keeps_the_backend_of_its_decorator(is_pickled: bool) -> None:
    kernel = added_on_the_reference
    if is_pickled:
        kernel = pickle.loads(pickle.dumps(kernel))  # noqa: S301
    here, there = kernel.on(config=DispatchConfig(label="x")), kernel.on("cpu")
    assert (repr(here), repr(there)) == (
        "<kernel 'added_on_the_reference' on 'reference'>",
        "<kernel 'added_on_the_reference' on 'cpu'>",
    )
    for source in (here.source, kernel.source):
        with pytest.raises(UnsupportedFeature):
            source()
    assert there.source() == kernel.source("cpu")
    assert there.program.fingerprint() == kernel.program.fingerprint()


def test_empty_arrays() -> None:
    assert run(saxpy, 1, np.zeros(0, np.float32), np.zeros(0, np.float32)).shape == (0,)
    assert run(life, np.zeros((0, 4), np.uint8)).shape == (0, 4)


@vy.kernel
def in_nested_loops(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    total = x[vy.index()]
    for _ in range(3):
        for _ in range(total & 3):
            total += 1
        for _ in (1, 2):
            total = total * 2
    return total


def test_a_counter_without_a_name_counts_nested_loops() -> None:
    def right(total: int) -> int:
        for _ in range(3):
            total = (total + (total & 3)) * 4
        return total

    x = np.arange(10, dtype=np.uint32)
    assert in_nested_loops(x).tolist() == [right(total) for total in range(10)]


def test_a_counter_without_a_name_is_not_read() -> None:
    @vy.kernel
    def reads(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
        total = x[vy.index()]
        for _ in range(3):
            total += vy.u32(_)
        return total

    with pytest.raises(vy.KernelError, match=r"'_' counts a loop.*\n.*\n.*\n?Fix: give the counter another name"):
        reads(np.zeros(3, np.uint32))


def test_unrolled_loops_are_left() -> None:
    @vy.kernel
    def sums(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
        i, total = vy.index(), vy.u32(0)
        for k in (1, 2, 3, 4, 5):
            if k == 2:
                continue
            if k == 5:
                break
            total += x[i] * k
        return total

    assert run(sums, np.uint32([1, 10])).tolist() == [8, 80]


def test_unrolled_loops_are_left_where_the_program_decides() -> None:
    @vy.kernel
    def around(x: vy.Array[vy.i32, "h", "w"]) -> vy.Array[vy.i32, "h", "w"]:
        h, w = x.shape
        i, j = (vy.i32(at) for at in vy.index())
        total = vy.i32(0)
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                if dy == 0 and dx == 0:
                    continue
                if i + dy < 0 or i + dy >= vy.i32(h) or j + dx < 0 or j + dx >= vy.i32(w):
                    continue
                total += x[i + dy, j + dx] * (3 * dy + dx)
                if total > 20:
                    total += 100
                    break
            if total > 120:
                break
            total += 1
        return total

    def plain(x: np.ndarray, i: int, j: int) -> int:
        total = 0
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                if (dy or dx) and 0 <= i + dy < x.shape[0] and 0 <= j + dx < x.shape[1]:
                    total += int(x[i + dy, j + dx]) * (3 * dy + dx)
                    if total > 20:
                        total += 100
                        break
            if total > 120:
                break
            total += 1
        return total

    x = np.random.default_rng(1).integers(-5, 9, (6, 7), np.int32)
    assert run(around, x).tolist() == [[plain(x, i, j) for j in range(7)] for i in range(6)]


def test_a_variable_counts_an_unrolled_loop_that_the_program_leaves() -> None:
    @vy.kernel
    def last(x: vy.Array[vy.i32, "n"]) -> vy.Array[vy.i32, "n"]:
        v, k, total = x[vy.index()], vy.i32(0), vy.i32(0)
        for _ in range(2):
            for k in (1, 2, 3):
                if v < k:
                    break
                total += 10
            total += k
        return total

    assert run(last, np.int32([0, 1, 2, 3])).tolist() == [2, 24, 46, 66]


def test_a_device_function_leaves_unrolled_loops() -> None:
    @vy.func
    def first_gap(x: vy.i32) -> vy.i32:
        found = vy.i32(0)
        for k in (1, 2, 4, 8):
            if x & k != 0:
                found += k
                continue
            if found > 2:
                break
            found -= 1
        return found

    @vy.kernel
    def gaps(x: vy.Array[vy.i32, "n"]) -> vy.Array[vy.i32, "n"]:
        return first_gap(x[vy.index()])

    def plain(x: int) -> int:
        found = 0
        for k in (1, 2, 4, 8):
            if x & k:
                found += k
                continue
            if found > 2:
                break
            found -= 1
        return found

    x = np.arange(16, dtype=np.int32)
    assert run(gaps, x).tolist() == [plain(v) for v in range(16)]


def test_a_while_loop_whose_condition_python_knows_is_unrolled() -> None:
    """As the strides of a tree are."""

    @vy.kernel(workgroup_size=8)
    def sums(x: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
        shared, k = vy.workgroup(vy.u32, 8), vy.local_id()
        shared[k] = x[vy.index()]
        vy.barrier()
        stride = 4
        while stride > 0:
            if k < stride:
                shared[k] += shared[k + stride]
            vy.barrier()
            stride //= 2
        while True and stride < 10:
            stride += 1
            if stride == 3:
                break
        return shared[0] + stride

    x = np.arange(16, dtype=np.uint32)
    assert run(sums, x).tolist() == [31] * 8 + [95] * 8


@vy.func
def noted(array, i, value):
    array[i] = value
    return value > 4


@vy.func
def any_of_sorted(value):
    own = vy.private(vy.i32, 4)
    for n in range(4):
        own[n] = value - vy.i32(n)
    return own[3] > 4


@vy.kernel
def both(x: vy.Array[vy.i32, "n"], seen: vy.InOut[vy.i32, "n"]):
    i = vy.index()
    if x[i] > 2 and noted(seen, i, x[i]):
        seen[i] += 1


@vy.kernel
def either(x: vy.Array[vy.i32, "n"], seen: vy.InOut[vy.i32, "n"]):
    i = vy.index()
    if x[i] <= 2 or noted(seen, i, x[i]):
        seen[i] += 1


@vy.kernel
def one_of_two(x: vy.Array[vy.i32, "n"], seen: vy.InOut[vy.i32, "n"]):
    i = vy.index()
    seen[i] += 1 if (noted(seen, i, x[i]) if x[i] > 2 else True) else 0


@vy.kernel
def of_private_memory(x: vy.Array[vy.i32, "n"]) -> vy.Array[vy.i32, "n"]:
    seen = vy.private(vy.i32, 1)
    is_greater = x[vy.index()] > 2 and noted(seen, 0, x[vy.index()])
    return seen[0] if is_greater else 0


@vy.kernel(workgroup_size=4)
def of_workgroup_memory(x: vy.Array[vy.i32, "n"]) -> vy.Array[vy.i32, "n"]:
    seen = vy.workgroup(vy.i32, 4)
    is_greater = x[vy.index()] > 2 and noted(seen, vy.local_id(), x[vy.index()])
    return seen[vy.local_id()] if is_greater else 0


@vy.kernel
def of_a_chained_comparison(x: vy.Array[vy.i32, "n"], seen: vy.InOut[vy.i32, "n"]):
    i = vy.index()
    if 0 < x[i] < vy.i32(noted(seen, i, x[i])):
        seen[i] += 1


@vy.func
def nested(value):
    own = vy.private(vy.i32, 1)
    return own[0] > 0 if value > 3 and noted(own, 0, value) else own[0] == 0


@vy.kernel
def of_a_nested_condition(x: vy.Array[vy.i32, "n"]) -> vy.Array[vy.i32, "n"]:
    return 1 if x[vy.index()] > 2 and nested(x[vy.index()]) else 0


ACT_ALWAYS = [
    *(both, either, one_of_two, of_private_memory, of_workgroup_memory, of_a_chained_comparison, of_a_nested_condition),
]


@pytest.mark.parametrize("kernel", ACT_ALWAYS)
def test_a_store_that_python_would_make_under_a_condition_is_refused(kernel) -> None:
    with pytest.raises(
        vy.KernelError, match="a store in an operand that is evaluated under a condition always takes effect"
    ):
        kernel.program


@vy.kernel
def of_its_own(x: vy.Array[vy.i32, "n"]) -> vy.Array[vy.i32, "n"]:
    return 1 if x[vy.index()] > 2 and any_of_sorted(x[vy.index()]) else 0


def test_a_function_stores_to_memory_of_its_own_under_a_condition() -> None:
    assert of_its_own(np.int32([0, 3, 5, 9])).tolist() == [0, 0, 0, 1]


@vy.func
def counted(array, i, value):
    array.atomic_add(i, 1)
    return value


@vy.func
def rounded_up(value):
    return (rest := value & 3) * 0 + value + ((4 - rest) & 3)


@vy.kernel(shape="n")
def evaluated_once(seen: vy.InOut[vy.i32, "n"]):
    i, k = vy.index(), 0
    while counted(seen, i, k) < 3:
        k += 1
    for _ in range(counted(seen, i, 3), 0, -1):
        pass
    assert len(seen.shape) == 1, f"{counted(seen, i, k)}"
    if seen[i] in (counted(seen, i, 1), counted(seen, i, 2)):
        pass
    sum(counted(seen, i, k) for k in (1, 2))


def test_what_python_evaluates_acts_as_often_as_in_python() -> None:
    assert evaluated_once(np.zeros(3, np.int32)).tolist() == [4 + 1 + 0 + 2 + 2] * 3


@vy.kernel
def named_in_a_function(x: vy.Array[vy.i32, "n"]) -> vy.Array[vy.i32, "n"]:
    return rounded_up(x[vy.index()]) if x[vy.index()] > 2 else 0


def test_a_function_that_is_called_under_a_condition_names_values_of_its_own() -> None:
    assert named_in_a_function(np.int32([1, 3, 4, 5])).tolist() == [0, 4, 4, 8]


@vy.func
def doubled_parts(x, parts):
    found = []
    for part in parts:
        found.append(2 * part)
    return sum(found) * x


@vy.kernel
def with_a_list_of_its_own(x: vy.Array[vy.i32, "n"]) -> vy.Array[vy.i32, "n"]:
    found = vy.i32(0)
    if x[vy.index()] > 2:
        found = doubled_parts(x[vy.index()], (1, 2))
    return found


def test_a_function_that_is_called_in_a_branch_changes_a_list_of_its_own() -> None:
    assert with_a_list_of_its_own(np.int32([1, 3])).tolist() == [0, 18]


@vy.kernel
def powers(x: vy.Array[vy.f32, "n"], y: vy.Array[vy.f32, "n"]) -> tuple[vy.Array[vy.f32, "n"], vy.Array[vy.f32, "n"]]:
    i = vy.index()
    power = x[i] ** y[i]
    return power, vy.pow(vy.abs(power) + 0.5, y[i]) + vy.atan2(x[i], y[i])


@vy.kernel
def powers_of_images(
    x: vy.Array[vy.f32, "l", "m", "n"], y: vy.Array[vy.f32, "l", "m", "n"]
) -> tuple[vy.Array[vy.f32, "l", "m", "n"], vy.Array[vy.f32, "l", "m", "n"]]:
    k, i, j = vy.index()
    power = x[k, i, j] ** y[k, i, j]
    return power, vy.pow(vy.abs(power) + 0.5, y[k, i, j]) + vy.atan2(x[k, i, j], y[k, i, j])


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 17, 33), (300, 5, 41), (1, 600, 601)])
def test_functions_with_rare_cases_have_the_same_bits_over_several_axes(shape: tuple[int, ...]) -> None:
    random, size = np.random.default_rng(5), int(np.prod(shape))
    x, y = random.uniform(0.1, 10, size).astype(np.float32), random.uniform(-8, 8, size).astype(np.float32)
    special = np.float32([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 2, 0.5, 3, -3, 1e-40, 3e38])
    for values in (x, y):
        values[::7] = random.choice(special, values[::7].size)
    wanted, found = powers(x, y), powers_of_images(x.reshape(shape), y.reshape(shape))
    assert [part.tobytes() for part in found] == [part.tobytes() for part in wanted]


@vy.kernel
def sums_of_powers(x: vy.Array[vy.f32, "n"], y: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    i = vy.index()
    total = vy.f32(0)
    for k in range(9):
        total += x[i] ** (y[i] * vy.f32(k))
    return total


@vy.kernel
def unrolled_sums_of_powers(x: vy.Array[vy.f32, "n"], y: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
    i = vy.index()
    total = vy.f32(0)
    for k in tuple(range(9)):
        total += x[i] ** (y[i] * float(k))
    return total


def test_functions_with_rare_cases_have_the_same_bits_in_loops() -> None:
    random = np.random.default_rng(6)
    x, y = random.uniform(0.1, 10, 100_001).astype(np.float32), random.uniform(-1, 1, 100_001).astype(np.float32)
    assert sums_of_powers(x, y).tobytes() == unrolled_sums_of_powers(x, y).tobytes()
    assert sums_of_powers(x[:50], y[:50]).tobytes() == sums_of_powers.on("reference")(x[:50], y[:50]).tobytes()


@pytest.mark.skipif("cpu" not in BACKENDS, reason="the backend is not installed")
@pytest.mark.parametrize("kernel", [powers, powers_of_images, sums_of_powers])
def test_functions_with_rare_cases_are_vectors_on_cpus(kernel: vy.KernelFunction) -> None:
    assert " x double>" in kernel.source("cpu")


def test_defaults_hold_for_all_that_takes_a_kernel() -> None:
    @vy.kernel
    def repeated(x: vy.Array[vy.f32, "n"], by: vy.f32 = 0.25, m: vy.u32 = 3) -> vy.Array[vy.f32, "m"]:
        return x[vy.index() % x.size] * by

    x = np.ones(2, np.float32)
    assert vy.run(repeated, x=x, backend="reference")["out"].tolist() == [0.25] * 3
    assert vy.run(repeated, {"by": 2.0}, x=x, m=1, backend="reference")["out"].tolist() == [2]
    assert vy.check(repeated.on("reference"), x=x, backend="reference")["out"].tolist() == [0.25] * 3
    assert vy.explain(repeated, x=x, backend=FAST)["grid"]
    assert [each.count for each in out_of_bounds(vy.backend_for("reference"), repeated, {"x": x})] == [64 - 3]
    assert pickle.loads(pickle.dumps(repeated)).defaults == {"by": 0.25, "m": 3}  # noqa: S301
    with vy.graph("g") as g:
        g.output("y", g.dispatch(repeated, x=g.input("x", vy.f32, 2))["out"])
    assert g.compile(backend="reference").run(x=x)["y"].tolist() == [0.25] * 3


def test_accesses_of_a_kernel_out_of_bounds_are_found() -> None:
    @vy.kernel(shape=("h", "w"))
    def shifted(x: vy.Array[vy.u32, "n"], h: vy.u32, w: vy.u32, out: vy.Out[vy.u32, "h", "w"]) -> None:
        i, j = vy.index()
        if (i < h) & (j < w):
            out[i, j] = x[i * w + j + 1]

    arrays = {"x": np.arange(12, dtype=np.uint32), "h": 3, "w": 4}
    found = out_of_bounds(vy.backend_for("reference"), shifted, arrays)
    assert [(each.buffer, each.index, each.length, each.count) for each in found] == [("x", 12, 12, 1)]


@pytest.mark.parametrize("by", [(0, 0, 1), (0, 2, 0), (1, 0, 0), (1, 1, -1), (-1, 0, 1), (0, -1, 0), (0, 0, 0)])
def test_loads_out_of_bounds_on_any_axis_are_found(by: tuple[int, int, int]) -> None:
    @vy.kernel
    def shifted(x: vy.Array[vy.u32, "p", "h", 3], by: vy.Array[vy.i32, 3]) -> vy.Array[vy.u32, "p", "h", 3]:
        i, j, k = vy.index()
        return x[vy.i64(i) + vy.i64(by[0]), vy.i32(j) + by[1], vy.i32(k) + by[2]]

    shape = (2, 5, 3)
    places = np.indices(shape).reshape(3, -1) + np.array(by)[:, None]
    lengths = np.array(shape)[:, None]
    is_out = (places < 0) | (places >= lengths)
    is_first = is_out & (np.cumsum(is_out, axis=0) == 1)
    arrays = {"x": np.arange(30, dtype=np.uint32).reshape(shape), "by": np.array(by, np.int32)}
    found = out_of_bounds(vy.backend_for("reference"), shifted, arrays)
    wanted = [(axis, shape[axis], number) for axis, number in enumerate(is_first.sum(1)) if number]
    assert [(each.axis, each.length, each.count) for each in found] == wanted
    for each in found:
        assert each.index == places[each.axis, np.flatnonzero(is_first[each.axis])[0]]
    if by == (0, 0, 1):
        assert str(found[0]) == "invocation 2 reads x at index 3 of 3 on axis 2, one of 10 here"


def test_what_is_open_in_a_process_is_not_pickled() -> None:
    """A launcher keeps the name of its backend. The errors of the others say what to pickle."""
    x = np.arange(3, dtype=np.float32)

    @vy.kernel
    def twice(x: vy.Array[vy.f32, "n"], out: vy.Out[vy.f32, "n"]) -> None:
        i = vy.index()
        out[i] = x[i] * 2

    for launcher in (twice.on(), twice.on("reference")):
        assert pickle.loads(pickle.dumps(launcher))(x).tolist() == [0, 2, 4]  # noqa: S301
    with vy.graph("g") as g:
        g.output("o", twice(g.input("x", vy.f32, 3)))
    compiled = g.compile()
    backend = vy.backend_for()
    with pytest.raises(TypeError, match="Fix: pass its id, and open it there"):
        pickle.dumps(backend)
    with pytest.raises(TypeError, match=r"Fix: name the backend, as in twice\.on"):
        pickle.dumps(twice.on(backend))
    with pytest.raises(TypeError, match="Fix: pickle its `graph`"):
        pickle.dumps(compiled)
    graph = pickle.loads(pickle.dumps(compiled.graph))  # noqa: S301
    assert vyre_driver.compile_graph(graph, backend).run(x=x)["o"][2] == 4
    for result in (twice(x, out=None), twice(x, None), twice.on("reference")(x, out=None)):
        assert result.tolist() == [0, 2, 4]


@vy.kernel
def quotients(x: vy.Array[vy.u32, "n"]) -> tuple[vy.Array[vy.u32, "n"], vy.Array[vy.u32, "n"], vy.Array[vy.u32, "n"]]:
    i = vy.index()
    y, z = divmod(x[i], 60)
    u = divmod(vy.vec(x[i], y), vy.vec(vy.u32(7), 9))[0]
    return y * 100 + z, u.x + u.y, pow(x[i], 3) + divmod(17, 5)[1]


def test_functions_of_python_that_are_operators() -> None:
    x = np.array([0, 59, 60, 3725, 2**32 - 1], np.uint32)
    first, second, third = quotients(x)
    assert np.array_equal(first, x // 60 * np.uint32(100) + x % 60)
    assert np.array_equal(second, x // 7 + x // 60 // 9)
    assert np.array_equal(third, x**3 + np.uint32(2))


@vy.kernel
def extremes(x: vy.Array[vy.f32, "n"]) -> tuple[vy.Array[vy.f32, "n"], vy.Array[vy.f32, "n"], vy.Array[vy.f32, "n"]]:
    i = vy.index()
    pairs = [vy.vec(x[i + k], -x[i + k]) for k in (0, 1, 2)]
    both = vy.max(pairs) - vy.max(pairs[:1])
    return vy.max(x[i + k] for k in (0, 1, 2)), vy.min(x[i], 3, x[i + 1], 7), both.x + both.y


def test_the_extreme_of_several_values() -> None:
    x = np.array([5, np.nan, 2, 9, -1], np.float32)
    greatest, least, both = extremes(x)
    padded = np.append(x, np.float32([0, 0]))
    windows = np.stack([padded[:5], padded[1:6], padded[2:]])
    assert np.array_equal(greatest, np.fmax.reduce(windows))
    assert np.array_equal(least, np.fmin(np.fmin(windows[0], 3), windows[1]))
    wanted = np.fmax.reduce(windows) - windows[0] + np.fmax.reduce(-windows) + windows[0]
    assert np.array_equal(both, wanted, equal_nan=True)


def test_a_program_chooses_among_several_values() -> None:
    with vy.program("extremes", workgroup_size=64) as p:
        x = p.read("x", vy.f32)
        out, i = p.write("out", vy.f32, like=x), p.global_id(0)
        out[i] = vy.max([vy.min(x[i], 4, 6, x[i]), x[0], vy.max((x[i],))])
    given = np.array([1, 7, 3], np.float32)
    assert vy.run(p.build(), x=given)["out"].tolist() == [1, 7, 3]


@vy.kernel
def plain_vectors(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.Vec2[vy.f32], "n"]:
    i = vy.index()
    total = vy.vec(0.0, 1)
    for k in range(3):
        total.x += x[(i + k) % 3]
    corner = vy.vec(1, 2)
    corner.y = x[i]
    if x[i] > 1:
        return vy.vec(0.5, 2)
    return total * vy.vec(2, 1) + corner[::-1] + vy.max(corner, vy.vec(0, 5)).yx.yx


def test_vectors_of_numbers_take_the_type_of_what_is_beside_them() -> None:
    assert plain_vectors(np.array([0, 1, 2], np.float32)).tolist() == [[7, 7], [8, 7], [0.5, 2]]


@vy.kernel
def swizzles(
    x: vy.Array[vy.Vec3[vy.f32], "n"],
) -> tuple[vy.Array[vy.Vec4[vy.f32], "n"], vy.Array[vy.Vec2[vy.f32], "n"]]:
    i = vy.index()
    v = vy.vec(x[i].z, 2.0, x[i].x)
    ends = v.xz
    for _ in range(2):
        ends = ends.yx + v.yz * 2
    return v.zyxx, vy.vec(*v[:2], 5)[1:] + ends + abs(-v.xyz.zy)


def test_letters_and_slices_of_vectors() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    v = np.stack([x[:, 2], np.full(2, 2, np.float32), x[:, 0]], 1)
    ends = v[:, [0, 2]]
    for _ in range(2):
        ends = ends[:, ::-1] + v[:, 1:] * 2
    four, two = swizzles(x)
    assert np.array_equal(four, v[:, [2, 1, 0, 0]])
    assert np.array_equal(two, np.float32([[2, 5]]) + ends + v[:, [2, 1]])


@vy.func
def raised_until(t, last):
    for k in range(4):
        if k == last:
            return
        t[k] += 1
    t[0] += 10


@vy.func
def raised_unless(t, bit):
    for k in (0, 1):
        if bit & 1 << k == 0:
            return
        t[k] += 100
    match bit:
        case 7:
            return
    t[3] = bit


@vy.func
def raised_in_rows(t, last):
    for i in range(3):
        for k in range(3):
            if i * 3 + k == last:
                return None
            t[k] += 1
        if i == last:
            return
    t[3] += 1


@vy.kernel(shape="n")
def procedures(x: vy.Array[vy.u32, "n"], out: vy.Out[vy.u32, "n", 4]) -> None:
    i = vy.index()
    t = vy.private(vy.u32, 4)
    raised_until(t, x[i])
    raised_unless(t, x[i])
    raised_in_rows(t, x[i])
    for k in range(4):
        out[i, k] = t[k]


def test_device_functions_that_give_nothing_end_early() -> None:
    expected = []
    for x in range(12):
        t = [0] * 4
        raised_until.__wrapped__(t, x)
        raised_unless.__wrapped__(t, x)
        raised_in_rows.__wrapped__(t, x)
        expected.append(t)
    assert procedures(np.arange(12, dtype=np.uint32)).tolist() == expected
