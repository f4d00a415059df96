"""Kernels in graphs: calls with ranges record dispatches, and ranges have shapes."""

import inspect
from collections.abc import Callable

import numpy as np
import pytest

import vyre as vy
from vyre_driver import InvalidGraph, check_graph
from vyre_driver.errors import InvalidInput


@vy.kernel
def blur(x: vy.Array[vy.f32, "h", "w"]) -> vy.Array[vy.f32, "h", "w"]:
    i, j = vy.index()
    return (x[i, j - 1] + x[i, j] + x[i, j + 1]) / 3


@vy.kernel
def turn(x: vy.Array[vy.f32, "h", "w"]) -> vy.Array[vy.f32, "w", "h"]:
    i, j = vy.index()
    return x[j, i]


@vy.kernel(shape=("h", "w"))
def count(x: vy.Array[vy.f32, "h", "w"], counts: vy.InOut[vy.u32, 4]) -> None:
    counts.atomic_add(vy.u32(x[vy.index()]) & 3, 1)


@vy.kernel
def split(x: vy.Array[vy.f32, "n"], by: vy.f32 = 2.0) -> tuple[vy.Array[vy.f32, "n"], vy.Array[vy.f32, "n"]]:
    i = vy.index()
    return x[i] * by, x[i] + by


IMAGE = np.random.default_rng(1).random((6, 5), np.float32) * 10


@pytest.mark.parametrize("backend", ["cpu", "reference"])
def test_calls_in_a_graph_give_the_bytes_of_calls(backend: str) -> None:
    with vy.graph("image") as g:
        x, ones = g.input("x", vy.f32, (6, 5)), g.temporary(vy.u32, 4)
        g.fill(ones, 1)
        y = turn(blur(turn(blur(x))))
        g.output("y", y)
        g.output("rows", y[1:3])
        g.output("counts", count(y, ones))
        g.output("ones", ones)
        g.output("from zero", count(y, np.zeros(4, np.uint32)))
        for name, part in zip(("double", "more"), split(y.reshape(30), by=3), strict=True):
            g.output(name, part)
    run = g.compile(backend)
    expected = turn(blur(turn(blur(IMAGE))))
    for outputs in (run.run(x=IMAGE), run.launch(x=IMAGE).result()):
        assert np.array_equal(outputs["y"], expected)
        assert np.array_equal(outputs["rows"], expected[1:3])
        assert np.array_equal(outputs["counts"], count(expected, np.ones(4, np.uint32)))
        assert outputs["ones"].tolist() == [1] * 4, "what is passed is not changed"
        assert np.array_equal(outputs["from zero"], outputs["counts"] - 1)
        assert np.array_equal(outputs["double"], expected.reshape(30) * 3)
        assert np.array_equal(outputs["more"], expected.reshape(30) + 3)
    check_graph(run, vy.backend_for("reference"), {"x": IMAGE})


def test_a_dispatch_of_a_kernel_changes_ranges_in_place() -> None:
    @vy.kernel
    def halve(x: vy.InOut[vy.u32, "n"], changed: vy.InOut[vy.u32, 1]) -> None:
        i = vy.index()
        if x[i] > 1:
            x[i] >>= 1
            changed.atomic_max(0, 1)

    with vy.graph("halves") as g:
        x, changed = g.input("x", vy.u32, 70), g.temporary(vy.u32, 1)
        with g.repeat(limit=40, until_zero=changed):
            g.fill(changed)
            g.dispatch(halve, x=x, changed=changed)
        g.output("x", x)
    assert g.compile().run(x=np.arange(70, dtype=np.uint32))["x"].tolist() == [0] + [1] * 69


def test_results_go_to_ranges_that_are_passed_for_them() -> None:
    @vy.kernel(shape=("w", "h"))
    def turned(x: vy.Array[vy.f32, "h", "w"], out: vy.Out[vy.f32, "w", "h"], corner: vy.Out[vy.f32, 1]) -> None:
        i, j = vy.index()
        out[i, j] = x[j, i]
        corner[0 if (i == 0) and (j == 0) else 1] = x[j, i]

    with vy.graph("into") as g:
        x, target = g.input("x", vy.f32, (3, 2)), g.temporary(vy.f32, (2, 3))
        assert turned(x, out=target)[0].range == target.range
        g.output("turned", target)
    x = np.arange(1, 7, dtype=np.float32).reshape(3, 2)
    assert np.array_equal(g.compile("reference").run(x=x)["turned"], x.T)
    with pytest.raises(vy.VyreError, match=r"'out': got ndarray, expected a range of the graph\. Fix: pass a range"):
        turned(vy.graph("wrong").input("x", vy.f32, (2, 3)), out=np.zeros((3, 2), np.float32))


def test_nodes_have_the_line_of_the_call() -> None:
    g = vy.graph("lines")
    x, line = g.input("x", vy.f32, (2, 2)), inspect.currentframe().f_lineno
    y = blur(x)
    g.output("counts", count(turn(y), np.zeros(4, np.uint32)))
    lines = [(node.name, node.origin.line - line) for node in g.build().nodes if node.origin.file == __file__]
    assert len(lines) == len(g.build().nodes)
    assert {name: at for name, at in lines if "." not in name} == {"blur": 1, "turn": 2, "count": 2, "output counts": 2}


def test_a_graph_that_is_called_has_shapes() -> None:
    with vy.graph("inner") as inner:
        inner.output("y", turn(inner.input("x", vy.f32, (2, 3))))
    with vy.graph("outer") as g:
        found = g.call(inner.build(), x=g.input("x", vy.f32, (2, 3)))["y"]
        assert found.shape == (3, 2)
        g.output("z", turn(found))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.array_equal(g.compile("reference").run(x=x)["z"], x)


def test_shapes_are_no_part_of_what_a_graph_means() -> None:
    graphs = []
    for shape in (4, (2, 2)):
        with vy.graph("g") as g:
            x = g.input("x", vy.f32, shape)
            g.output("x", x)
        graphs.append(g.build())
    assert graphs[0] == graphs[1]
    assert graphs[0].fingerprint() == graphs[1].fingerprint()


def test_what_does_not_fit_is_refused() -> None:
    g = vy.graph("wrong")
    x = g.input("x", vy.f32, 6)
    with pytest.raises(vy.VyreError, match=r"'x': got one of shape \(6,\), expected an array of 2 axes"):
        blur(x)
    with pytest.raises(vy.VyreError, match=r"a call on 'reference'.*Fix: call the kernel itself; compile\(placement"):
        blur.on("reference")(x.reshape(2, 3))
    with pytest.raises(vy.VyreError, match="expected a shape of 6 elements"):
        x.reshape(4, 2)
    with pytest.raises(vy.VyreError, match=r"one within 2 rows"):
        x.reshape(2, 3)[1:3]
    with pytest.raises(vy.VyreError, match=r"the shape of buffer 'y'.*got -1"):
        g.input("y", vy.f32, (2, -1))
    with pytest.raises(vy.VyreError, match=r"a graph runs by graph.compile\(\)"):
        vy.run(g, x=np.zeros(6, np.float32))
    with pytest.raises(TypeError, match=r"has no length\. Fix: use `.size`"):
        len(g.temporary(vy.f32, ()))
    with pytest.raises(InvalidGraph, match="nothing has written element 0"), vy.graph("unwritten") as unwritten:
        blur(unwritten.temporary(vy.f32, (2, 2)))
    with vy.graph("g") as good:
        good.output("y", blur(good.input("x", vy.f32, (2, 3))))
    with pytest.raises(vy.VyreError, match=r"'x': got one of \(3, 2\), expected an array of the shape \(2, 3\)"):
        good.compile("reference").run(x=np.zeros((3, 2), np.float32))
    with pytest.raises(vy.VyreError, match=r"got ndarray, expected a mapping of names to arrays.*run\(x=array\)"):
        good.compile("reference").run(np.zeros((2, 3), np.float32))
    with vy.graph("g") as resident:
        resident.output("y", blur(resident.resident("x", vy.f32, (2, 3))))
    with pytest.raises(vy.VyreError, match=r"'x': got one of \(3, 2\), expected an array of the shape \(2, 3\)"):
        resident.compile("reference").run(x=vy.array(np.zeros((3, 2), np.float32), backend="reference"))


@pytest.mark.parametrize("launch", [vy.run, vy.check, vy.profile, vy.explain, vy.graph("g").dispatch])
def test_a_mistyped_name_is_named(launch: Callable[..., object]) -> None:
    given = launch.__self__.input("x", vy.f32, 4) if inspect.ismethod(launch) else np.zeros(4, np.float32)
    with pytest.raises(
        InvalidInput, match=r"'xx': got a name that .* expected one of x.* Fix: pass 'x', which is missing"
    ):
        launch(split, xx=given, by=3.0)


def test_a_graph_without_effect_is_refused() -> None:
    @vy.kernel(shape="n")
    def tally(x: vy.Array[vy.u32, "n"], counts: vy.InOut[vy.u32, 4]) -> None:
        counts.atomic_add(x[vy.index()] % 4, 1)

    with pytest.raises(vy.BuildError) as error, vy.graph("batch") as g:
        tally(g.input("x", vy.u32, 8), g.resident("counts", vy.u32, 4))
    assert "test_kernel_graphs.py" in error.value.where
    assert str(error.value).endswith(
        "nothing reads what the graph computes: it has no output, and writes to no resident range."
        " Fix: make the result an output, as in g.output('y', kernel(x)), or store it, as in t.assign(kernel(x, t))"
    )
    with vy.graph("batch") as g:
        counts = g.resident("counts", vy.u32, 4)
        counts.assign(tally(g.input("x", vy.u32, 8), counts))
    held = vy.zeros(4, vy.u32, backend="reference")
    g.compile("reference").run(x=np.arange(8, dtype=np.uint32), counts=held)
    assert held.tolist() == [2] * 4


def test_a_loop_whose_iterations_do_the_same_is_refused() -> None:
    @vy.kernel
    def doubled(x: vy.Array[vy.f32, "n"]) -> vy.Array[vy.f32, "n"]:
        return x[vy.index()] * 2.0

    g = vy.graph("g")
    x = g.input("x", vy.f32, 4)
    with g.repeat(3):
        found = doubled(x)
        found = doubled(found)
    g.output("found", found)
    with pytest.raises(vy.BuildError) as error:
        g.build()
    assert "test_kernel_graphs.py" in error.value.where
    assert str(error.value).endswith(
        "all iterations of the loop do the same: none reads what the one before it has written."
        " Fix: store what an iteration computes where the next one reads it, as in x.assign(kernel(x))"
    )
    with vy.graph("g") as g:
        x = g.input("x", vy.f32, 4)
        with g.repeat(3):
            found = doubled(x)
            x.assign(doubled(found))
        g.output("found", found)
    assert g.compile("reference").run(x=np.ones(4, np.float32))["found"].tolist() == [32] * 4
    with pytest.raises(vy.BuildError, match=r"write `with g\.repeat"):
        for _ in vy.graph("g").repeat(3):
            pass


def test_the_axes_of_a_range_in_reverse_order() -> None:
    with vy.graph() as g:
        x = g.input("x", vy.f32, (3, 5))
        g.output("turned", x.T)
        g.output("product", vy.matmul(x, x.T))
    given = np.arange(15, dtype=np.float32).reshape(3, 5)
    found = g.compile().run(x=given)
    assert np.array_equal(found["turned"], given.T)
    assert np.array_equal(found["product"], given @ given.T)
