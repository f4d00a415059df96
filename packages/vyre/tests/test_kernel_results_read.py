"""Kernels that read what they have stored in a result."""

import numpy as np
import pytest

import vyre as vy
from vyre.kernels.compile import CompiledKernel

X = np.random.default_rng(3).integers(-99, 99, (7, 12), np.int32)


@vy.func
def doubled(out, i):
    return out[i] + out[i]


@vy.struct
class Pair(vy.Struct):
    first: vy.i32
    second: vy.u8


@vy.kernel(shape="r")
def running(x: vy.Array[vy.i32, "r", "n"], out: vy.Out[vy.i32, "r", "n"]) -> None:
    r = vy.index()
    for i in range(x.shape[1]):
        out[r, i] = x[r, i] + (out[r, i - 1] if i > 0 else 0)


@vy.kernel
def added(x: vy.Array[vy.i32, "n"], out: vy.Out[vy.i32, "n"]) -> None:
    i = vy.index()
    out[i] += x[i]
    out[i] += x[i]


@vy.kernel
def in_a_function(x: vy.Array[vy.i32, "n"], out: vy.Out[vy.i32, "n"]) -> None:
    i = vy.index()
    out[i] = x[i]
    out[i] = doubled(out, i)


@vy.kernel
def of_structures(x: vy.Array[vy.i32, "n"], out: vy.Out[Pair, "n"]) -> None:
    i = vy.index()
    out[i].first = x[i]
    out[i].second = vy.u8(out[i].first & 127)
    pair = out[i]
    out[i].first += vy.i32(pair.second)


@vy.kernel
def beside_one_that_is_returned(x: vy.Array[vy.i32, "n"], twice: vy.Out[vy.i32, "n"]) -> vy.Array[vy.i32, "n"]:
    i = vy.index()
    twice[i] = x[i] * 2
    return twice[i] + 1


def expected(kernel: object) -> object:
    x = X[0]
    if kernel is running:
        return np.cumsum(X, axis=1, dtype=np.int32)
    if kernel is of_structures:
        found = np.zeros(12, Pair.dtype)
        found["first"], found["second"] = x + (x & 127), x & 127
        return found
    return (x * 2, x * 2 + 1) if kernel is beside_one_that_is_returned else x * 2


def same(found: object, wanted: object) -> bool:
    if isinstance(wanted, tuple):
        return all(map(same, found, wanted))
    found = found if isinstance(found, np.ndarray) else found.numpy()
    return found.dtype == wanted.dtype and np.array_equal(found, wanted)


KERNELS = [running, added, in_a_function, of_structures, beside_one_that_is_returned]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_a_result_that_is_read_begins_with_zeros(kernel) -> None:
    x, wanted = X if kernel is running else X[0], expected(kernel)
    for _ in range(2):  # the zeros of the first launch are still zeros
        assert same(kernel(x), wanted)
    assert same(kernel.on("reference")(x), wanted)
    assert same(kernel(vy.array(x)), wanted)
    with vy.graph("read") as g:
        found = kernel(g.input("x", vy.i32, x.shape))
        for n, result in enumerate(found if isinstance(found, tuple) else (found,)):
            g.output(f"{n}", result)
    if kernel is not of_structures:  # graphs take units
        outputs = g.compile().run(x=x)
        assert same(
            tuple(outputs[f"{n}"] for n in range(len(outputs))), wanted if isinstance(wanted, tuple) else (wanted,)
        )


def test_an_array_that_is_passed_for_it_only_receives_it() -> None:
    target = np.full(12, 77, np.int32)
    assert added(X[0], out=target) is target
    assert np.array_equal(target, X[0] * 2)
    strided = np.full((12, 2), 77, np.int32)
    added(X[0], out=strided[:, 1])
    assert np.array_equal(strided[:, 1], X[0] * 2)
    device = vy.array(target)
    added(vy.array(X[0]), out=device)
    assert np.array_equal(device.numpy(), X[0] * 2)
    same_memory = X[0].copy()
    added(same_memory, out=same_memory)
    assert np.array_equal(same_memory, X[0] * 2)
    assert added(X[0, :0]).shape == (0,)


def test_a_result_that_is_not_read_is_no_input() -> None:
    @vy.kernel
    def copied(x: vy.Array[vy.i32, "n"], out: vy.Out[vy.i32, "n"]) -> None:
        out[vy.index()] = x[vy.index()]

    compiled: CompiledKernel = copied.compiled
    assert [result.is_input for result in compiled.results] == [False]
    assert [result.is_input for result in added.compiled.results] == [True]


def test_a_race_through_a_result_is_found() -> None:
    @vy.kernel
    def raced(x: vy.Array[vy.i32, "n"], out: vy.Out[vy.i32, "n"]) -> None:
        i = vy.index()
        out[i] = x[i] + out[i - 1]

    with pytest.raises(vy.VyreError, match=r"invocation 0 writes .* and invocation 1 reads"):
        vy.check(raced, x=X[0])


def test_a_builder_that_reads_an_output_gives_it_a_shape() -> None:
    with vy.program("p", 64) as p:
        with pytest.raises(
            vy.VyreError, match=r"'out' is read and has no shape.*Fix: declare it with p\.read_write, or"
        ):
            p.write("out", vy.i32, 4, is_read=True)
        x = p.read("x", vy.i32, shape="n")
        out = p.write("out", vy.i32, shape="n", is_read=True)
        out[p.index()] = x[p.index()]
        out[p.index()] = out[p.index()] * 2
    assert np.array_equal(vy.run(p.build(), x=X[0])["out"], X[0] * 2)
