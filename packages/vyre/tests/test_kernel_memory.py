"""Memory of the results of kernels: neither cleared nor copied where a launch writes all, and the caller's own."""

import numpy as np
import pytest

import vyre as vy
from vyre.kernels import kernel as of_kernels
from vyre.kernels.kernel import KernelFunction
from vyre_driver import DispatchConfig, availability
from vyre_driver.errors import InvalidInput, InvalidLaunch

CPU = pytest.mark.skipif(not availability("cpu").is_available, reason="needs the backend cpu")


@vy.kernel
def shifted(a: vy.Array[vy.f32, "h", "w"], out: vy.Out[vy.f32, "h", "w"]) -> None:
    i, j = vy.index()
    out[i, j] = a[i, j - 1] + 1


@vy.kernel
def outer(a: vy.Array[vy.f32, "n"], b: vy.Array[vy.f32, "m"], out: vy.Out[vy.f32, "n", "m"]) -> None:
    i, j = vy.index()
    out[i, j] = a[i] * b[j]


@vy.kernel
def lower(a: vy.Array[vy.f32, "n"], out: vy.Out[vy.f32, "n", "n"]) -> None:
    i, j = vy.index()
    if j <= i:
        out[i, j] = a[j]


@vy.kernel
def both(a: vy.Array[vy.f32, "n"], low: vy.Out[vy.f32, "n"], high: vy.Out[vy.f32, "n"]) -> None:
    i = vy.index()
    low[i] = a[i] - 1
    high[i] = a[i + 1] + 1


@vy.kernel
def neighbour(a: vy.Array[vy.f32, "n"], out: vy.Out[vy.f32, "n"]) -> None:
    i = vy.index()
    out[i] = a[i - 1] + a[a.size - 1 - i]


X = np.arange(1, 61, dtype=np.float32).reshape(6, 10)
ROW = np.arange(1, 38, dtype=np.float32)


def verdicts(kernel: object, *arrays: object) -> dict[str, str]:
    return {v.subject: v.choice for v in kernel.on("cpu").explain(*arrays).verdicts}  # type: ignore[attr-defined]


@CPU
def test_results_of_images_are_not_cleared_where_all_of_them_is_written() -> None:
    assert verdicts(shifted, X)["zeroing"] == "not of out"
    assert verdicts(outer, ROW, ROW)["zeroing"] == "not of out"
    assert "zeroing" not in verdicts(lower, ROW)


def test_what_is_not_written_is_zero_in_each_launch() -> None:
    for factor in (1, 2, 3):
        assert np.array_equal(lower(ROW * factor), np.tril(np.broadcast_to(ROW * factor, (37, 37))))


def test_a_launch_of_shorter_axes_leaves_the_rest_zero() -> None:
    """The lengths that the launch passes decide, not those of the arrays: both launches have arrays of 60 elements."""
    config = DispatchConfig(grid_override=(1, 1, 1))
    for shape in ((6, 10), (5, 10), (6, 10), (4, 9)):
        arrays = {"a": X, "launch.shape": np.array(shape, np.uint32)}
        for _ in range(3):
            out = vy.backend_for(None).dispatch_arrays(shifted.program, arrays, config)["out"].reshape(-1)
            written = shape[0] * shape[1]
            assert np.all(out[:written] > 0)
            assert not np.any(out[written:])


@pytest.mark.parametrize("copied_bytes", [0, 1 << 40])
@pytest.mark.parametrize("kernel", [outer, lower])
def test_an_array_of_the_caller_receives_the_result(
    kernel: KernelFunction, copied_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_kernels, "COPIED_BYTES", copied_bytes)
    arrays, launch = (ROW, ROW) if kernel is outer else (ROW,), kernel.on()
    expected = launch(*arrays)
    for given, named in ((arrays, {}), (arrays[:1], {"b": ROW} if kernel is outer else {})):
        target = np.full((37, 37), np.nan, np.float32)
        assert launch(*given, **named, out=target) is target
        assert np.array_equal(target, expected)
    target[:] = np.nan
    assert launch(*arrays, target) is target
    assert np.array_equal(target, expected)
    with pytest.raises(InvalidLaunch, match="other: got an unknown name"):
        launch(*arrays, out=target, other=target)
    assert np.array_equal(launch(*arrays, out=None), expected)


def test_what_the_caller_passes_is_the_memory_of_the_dispatch(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = vy.backend_for(None)
    row = np.arange(1, 301, dtype=np.float32)
    launch, target = outer.on(backend), np.empty((300, 300), np.float32)
    slots: list[np.ndarray] = []
    right = backend.dispatch_borrowed_into

    def dispatch(program: vy.Program, inputs: list, config: vy.DispatchConfig, outputs: list) -> None:
        slots.extend(outputs)
        right(program, inputs, config, outputs)

    monkeypatch.setattr(backend, "dispatch_borrowed_into", dispatch)
    assert launch(row, row, out=target) is target
    assert np.array_equal(target, np.outer(row, row))
    (slot,) = slots
    assert slot.nbytes == target.nbytes
    assert np.shares_memory(slot, target)
    few = np.empty((37, 37), np.float32)
    assert launch(ROW, ROW, out=few) is few  # a copy takes less than the checks of a dispatch into memory of the caller
    assert np.array_equal(few, np.outer(ROW, ROW))
    assert len(slots) == 1


def test_arrays_that_overlap_receive_what_others_would() -> None:
    a = X.copy()
    expected = shifted(X)
    assert shifted(a, out=a) is a
    assert np.array_equal(a, expected)
    wide = np.zeros((6, 20), np.float32)
    shifted(X, out=wide[:, ::2])
    assert np.array_equal(wide[:, ::2], expected)
    line = np.arange(1, 21, dtype=np.float32)
    low, high = both(line[5:15].copy())
    found = both(line[5:15], low=line[:10], high=line[10:])  # both overlap the input, and not each other
    assert np.array_equal(found[0], low)
    assert np.array_equal(found[1], high)


def test_results_that_would_overlap_are_refused() -> None:
    """Of two results in the same memory, one would be lost without a word."""
    line, a = np.zeros(20, np.float32), np.arange(1, 11, dtype=np.float32)
    for low, high in ((line[:10], line[:10]), (line[:10], line[5:15]), (line[::2], line[10:])):
        with pytest.raises(InvalidInput, match="'high': got memory of both, expected memory apart from that for 'low'"):
            both(a, low=low, high=high)
    with pytest.raises(InvalidInput, match="'low': got one that repeats elements"):
        both(a, low=np.lib.stride_tricks.as_strided(line, (10,), (0,)))
    assert not line.any()
    low, high = both(a, low=line[::2], high=line[1::2])  # interleaved, and apart
    assert [low.tolist(), high.tolist()] == [x.tolist() for x in both(a)]


@pytest.mark.parametrize("exported", [memoryview, lambda a: memoryview(a.data), lambda a: a[::1]])
def test_memory_of_another_object_overlaps_too(exported: object) -> None:
    """An input may be any object that exports its memory, and results may share that."""
    a = np.arange(100_000, dtype=np.float32)
    moved = neighbour(a.copy())
    neighbour(exported(a), out=a)  # type: ignore[operator]
    assert np.array_equal(a, moved)


@vy.kernel
def halved(a: vy.Array[vy.u32, "n"], out: vy.Out[vy.u32, "n"]) -> None:
    i = vy.index()
    assert a[i] % 2 == 0, "an odd number"
    out[i] = a[i] // 2


def test_a_trap_leaves_an_array_of_the_caller_as_it_was() -> None:
    target = np.full(1000, 7, np.uint32)
    with pytest.raises(vy.Trapped, match="an odd number"):
        halved(np.arange(1000, dtype=np.uint32), out=target)
    assert np.all(target == 7)
    assert halved(np.full(1000, 8, np.uint32), out=target) is target
    assert np.all(target == 4)


@pytest.mark.parametrize("target", [np.zeros((6, 9), np.float32), np.zeros((6, 10), np.float64), [0.0]])
def test_another_array_is_refused_before_anything_runs(target: object) -> None:
    with pytest.raises(vy.InvalidInput, match=r"'out': got .* expected an array of float32 of the shape \(6, 10\)"):
        shifted(X, out=target)


def test_an_array_that_cannot_be_written_is_refused() -> None:
    target = np.zeros((6, 10), np.float32)
    target.flags.writeable = False
    with pytest.raises(vy.InvalidInput, match="an array that can be written"):
        shifted(X, out=target)


def test_an_element_is_updated_by_one_invocation() -> None:
    """By the only one, or by one of many."""

    @vy.kernel(shape=1)
    def alone(x: vy.Array[vy.u32, "n"], total: vy.InOut[vy.u32, 1]):
        for k in range(len(x)):
            total[0] += x[k]

    @vy.kernel(shape="n")
    def first(x: vy.Array[vy.u32, "n"], total: vy.InOut[vy.u32, 1]):
        if vy.index() == 0:
            for k in range(len(x)):
                total[0] = total[0] + x[k]

    @vy.kernel(shape="n")
    def atomic(x: vy.Array[vy.u32, "n"], total: vy.InOut[vy.u32, 1]):
        total.atomic_add(0, x[vy.index()])

    for kernel in (alone, first, atomic):
        assert kernel(np.arange(100, dtype=np.uint32), np.array([5], np.uint32)).tolist() == [4955]
