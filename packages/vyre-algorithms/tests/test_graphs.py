"""Algorithms over ranges of a graph: recorded once, launched with the bits of a call."""

import numpy as np
import pytest
from algorithm_data import BACKENDS, data
from test_devices import CASES, floats, places, results, signed, words

import vyre_algorithms as va
from vyre_driver import DeviceArray, backend_for, compile_graph
from vyre_driver.arrays.make import array as array_on
from vyre_driver.errors import InvalidInput, Trapped
from vyre_driver.graph.record import GraphRecorder
from vyre_foundation import BuildError
from vyre_foundation.build.arguments import dtype_of
from vyre_foundation.dtype import f32, i32, u8, u32

DEPENDS = {
    "bincount",
    "compact",
    "compact of rows",
    "exact_sum",
    "partition",
    "partition of rows",
    "repeat by counts",
    "repeat rows by counts",
    "run_length",
    "select",
    "unique",
    "unique_all",
}
"""What cannot be recorded: the host reads elements, or their number."""


def recorded(arrays, graph):
    """An input of a graph for each array."""
    return [graph.input(f"x{n}", dtype_of(array.dtype), array.shape) for n, array in enumerate(arrays)]


def called(function, arrays):
    """What a call on the reference gives; arrays of the host beside the first one go where that is."""
    first, *others = arrays
    found = results(function(array_on(backend_for("reference"), first), *others))
    return [each.numpy() if isinstance(each, DeviceArray) else np.asarray(each) for each in found]


@pytest.mark.parametrize("name", sorted(DEPENDS))
def test_what_depends_on_elements_is_refused(name):
    function, arrays = CASES[name]
    graph = GraphRecorder("algorithm")
    with pytest.raises(InvalidInput, match=r"argument '(x|repeats)': .* Fix: (make it an output|pass minlength=)"):
        function(*recorded(arrays, graph))
    assert graph._bodies == [[]]
    assert len(graph._buffers) == len(arrays)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda x, i, out: va.sum(x, 0, out=out), "out"),
        (lambda x, i, out: va.mean(x, keepdims=True, out=out), "out"),
        (lambda x, i, out: va.var(x, 0, keepdims=True, out=out), "out"),
        (lambda x, i, out: va.bincount(i, np.ones(3, "f4"), minlength=4), "weights"),
        (lambda x, i, out: va.matmul(x, x, out=out), "out"),
        (lambda x, i, out: va.matmul(data("f4", (9, 9)), x, out=out), "out"),
        (lambda x, i, out: va.dot(x.reshape(-1), x.reshape(-1), out=out), "out"),
        (lambda x, i, out: va.cumsum(x, 0, out=out), "out"),
        (lambda x, i, out: va.sort(x, 0, out=out), "out"),
        (lambda x, i, out: va.sort(x.reshape(-1), before=greater_first, out=out), "out"),
        (lambda x, i, out: va.argsort(x, 0, out=out), "out"),
        (lambda x, i, out: va.exact_dot(x.reshape(-1), x.reshape(-1)), "x"),
        (lambda x, i, out: va.exact_dot(np.ones(81, "f4"), x.reshape(-1)), "y"),
        (lambda x, i, out: va.compact(np.ones(81, "f4"), x.reshape(-1)), "mask"),
        (lambda x, i, out: va.histogram(x, 4), "x"),
        (lambda x, i, out: va.repeat(x, np.array([1, -1] + [0] * 7), 0), "repeats"),
        (lambda x, i, out: va.take_along_axis(x, i), "indices"),
        (lambda x, i, out: va.scatter(i, i, x.reshape(-1)), "values"),
        (lambda x, i, out: va.scatter(x.reshape(-1), i, x.reshape(-1)[:2], "xor"), "x"),
        (lambda x, i, out: va.scatter(x.reshape(-1), np.array([0, 81]), x.reshape(-1)[:2], "max"), "indices"),
        (lambda x, i, out: va.csr(i, x.reshape(-1)[:2], x.reshape(-1)[:2], 3), "columns"),
        (lambda x, i, out: va.coo(x.reshape(-1)[:2], i, i), "starts"),
        (lambda x, i, out: va.pagerank(i, i, 3, damping=2), "damping"),
        (lambda x, i, out: va.pagerank(i, i, 3, iterations=0), "iterations"),
    ],
)
def test_a_refused_call_leaves_nothing_in_the_graph(call, name):
    graph, other = GraphRecorder("one"), GraphRecorder("other")
    x, i = graph.input("x", f32, (9, 9)), graph.input("i", i32, 2)
    device = array_on(backend_for("cpu"), np.zeros((9, 9), "f4"))
    for out in (np.zeros((9, 9), "f4"), np.zeros(9, "f4"), other.input("y", f32, (9, 9)), device):
        with pytest.raises(InvalidInput, match=rf"argument '{name}': .*Fix: "):
            call(x, i, out)
    assert graph._bodies == [[]]
    assert sorted(graph._buffers) == ["i", "x"]


def greater_first(a, b):
    return a > b


def neighbours(at):
    return at(0, 1) + at(0, -1) + at(1, 0) * 3


RECORDED = {
    **CASES,
    "mean of columns": (lambda x: va.mean(x, 0), [signed]),
    "std of columns": (lambda x: va.std(x, 0), [signed]),
    "var": (lambda x: va.var(x, ddof=1), [floats]),
    "all": (lambda x: va.all(x, 1), [signed]),
    "scan of columns of f16": (lambda x: va.scan(x, axis=0), [data("f2", (9, 500))]),
    "prod with keepdims": (lambda x: va.prod(x, (0, 1), keepdims=True), [signed]),
    "convolve": (lambda x, w: va.convolve(x, w), [signed, signed[:3, :4]]),
    "correlate with numbers of the host": (lambda x: va.correlate(x, signed[:3, :4], "same"), [signed]),
    "stencil": (lambda x: va.stencil(x, neighbours), [signed]),
    "matmul from the left by one of the host": (lambda x: va.matmul(signed, x), [signed.T]),
    "searchsorted of numbers of the host": (lambda v: va.searchsorted(np.sort(words), v), [words]),
    "scatter that adds": (lambda x, i: va.scatter(x, i, words, "add"), [words, places]),
    "scatter that adds floats": (lambda x, i: va.scatter(x, i, floats[::-1].copy(), "add"), [floats, places]),
    "scatter of the greatest floats": (lambda x, i: va.scatter(x, i, floats[::-1].copy(), "max"), [floats, places]),
    "bincount": (lambda x: va.bincount(x, minlength=1024), [words]),
    "bincount with weights": (lambda x, w: va.bincount(x, w, minlength=1024), [words[:100], floats[:100]]),
    "top_k of a few": (lambda x: va.top_k(x, 5, largest=False), [floats[:100]]),
    "top_k of rows": (lambda x: va.top_k(x, 5, 0), [floats[:120].reshape(30, 4)]),
    "sort_pairs of rows": (
        lambda x, y: va.sort_pairs(x, y, 0),
        [words[:120].reshape(30, 4), floats[:120].reshape(30, 4)],
    ),
    "rows by a comparison": (lambda x: va.sort(x, before=lambda a, b: a > b), [floats[:120].reshape(4, 30)]),
    "repeat by counts of the host": (lambda x: va.repeat(x, np.arange(90) & 3, 0), [signed]),
    "nothing": (lambda x: (va.sum(x), va.sort(x), va.scan(x)), [floats[:0]]),
}


OF_SORTS = {"argsort", "csr", "shuffle", "sort", "sort of rows", "sort_pairs", "top_k", "top_k of long rows"}
"""Their programs are those of "argsort of rows", which the reference evaluates for seconds."""


def cases_of(backend):
    """All of them on the backend `cpu`, and one in three on the reference, without those that take it seconds."""
    names = [name for name in RECORDED if name not in DEPENDS]
    short = {"cpu": names, "reference": [name for name in names if name not in OF_SORTS][::3]}.get(backend, ())
    return [pytest.param(backend, name, marks=() if name in short else pytest.mark.slow) for name in names]


@pytest.mark.parametrize(("on", "name"), [case for on in BACKENDS for case in cases_of(on)])
def test_a_graph_gives_the_bits_of_a_call(on, name):
    function, arrays = RECORDED[name]
    with GraphRecorder("algorithm") as graph:
        for n, found in enumerate(results(function(*recorded(arrays, graph)))):
            graph.output(f"y{n}", found)
    given = {f"x{n}": array for n, array in enumerate(arrays)}
    outputs = compile_graph(graph.build(), backend_for(on)).run(given)
    for n, expected in enumerate(called(function, arrays)):
        assert outputs[f"y{n}"].dtype == expected.dtype
        assert outputs[f"y{n}"].reshape(expected.shape).tobytes() == expected.tobytes()


@pytest.mark.parametrize("length", [31, 64])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("transform", [va.fft, va.ifft])
def test_the_parts_of_complex_numbers_are_an_axis(transform, axis, length, backend):
    x = data("f4", (length, length, 2))
    with GraphRecorder("transform") as graph:
        graph.output("y", transform(graph.input("x", f32, x.shape), axis))
    found = compile_graph(graph.build(), backend_for(backend)).run({"x": x})["y"]
    assert found.tobytes() == transform(x.view("c8")[..., 0], axis, backend="reference").tobytes()


@pytest.mark.parametrize("length", [30, 33])
@pytest.mark.parametrize("axis", [0, 1])
def test_real_numbers_are_transformed_and_back(axis, length, backend):
    x = data("f4", (length, length))
    with GraphRecorder("transform") as graph:
        half = va.rfft(graph.input("x", f32, x.shape), axis)
        graph.output("half", half)
        graph.output("y", va.irfft(half, length, axis))
    found = compile_graph(graph.build(), backend_for(backend)).run({"x": x})
    wanted = va.rfft(x, axis, backend="reference")
    assert found["half"].tobytes() == wanted.tobytes()
    assert found["y"].tobytes() == va.irfft(wanted, length, axis, backend="reference").tobytes()


def test_algorithms_after_each_other(backend):
    """What one gives another takes, in a loop too: the steps of a power iteration, with its norm."""
    matrix = data("f4", (40, 40))
    with GraphRecorder("power iteration") as graph:
        a, x = graph.input("a", f32, (40, 40)), graph.temporary(f32, 40)
        graph.upload(x, np.ones(40, "f4"))
        with graph.repeat(3):
            y = va.matmul(a, x)
            norm = va.max(y)
            x.assign(va.sort(y))
        graph.output("x", x)
        graph.output("norm", norm)
    x = np.ones(40, "f4")
    for _ in range(3):
        y = va.matmul(matrix, x, backend="reference")
        norm, x = va.max(y, backend="reference"), va.sort(y, backend="reference")
    found = compile_graph(graph.build(), backend_for(backend)).run({"a": matrix})
    assert found["x"].tobytes() == x.tobytes()
    assert found["norm"].tobytes() == norm.tobytes()


def test_ranges_that_are_passed_keep_their_elements(backend):
    with GraphRecorder("scatter") as graph:
        x = graph.input("x", u32, 8)
        graph.output("y", va.scatter(x, np.array([1, 1]), np.array([3, 4], "u4"), "add"))
        graph.output("x", x)
    found = compile_graph(graph.build(), backend_for(backend)).run({"x": np.zeros(8, "u4")})
    assert found["x"].tolist() == [0] * 8
    assert found["y"].tolist() == [0, 7, 0, 0, 0, 0, 0, 0]


def test_an_index_out_of_bounds_is_a_trap(backend):
    with GraphRecorder("gather") as graph:
        x, places = graph.input("x", f32, 10), graph.input("places", i32, 3)
        graph.output("y", va.gather(x, places))
    compiled = compile_graph(graph.build(), backend_for(backend))
    given = np.arange(10, dtype="f4")
    assert compiled.run({"x": given, "places": np.array([9, -1, 0], "i4")})["y"].tolist() == [9, 9, 0]
    with pytest.raises(Trapped, match="out of bounds"):
        compiled.run({"x": given, "places": np.array([0, 10, 0], "i4")})


def test_what_is_refused():
    graph, other = GraphRecorder("one"), GraphRecorder("other")
    x, y = graph.input("x", f32, 10), other.input("y", f32, 10)
    with pytest.raises(BuildError, match="expected one of graph"):
        va.dot(x, y)
    with pytest.raises(InvalidInput, match="got 'cpu', expected none for ranges of a graph"):
        va.sum(x, backend="cpu")
    with pytest.raises(
        InvalidInput, match=r"elements that are known now\. Fix: pass minlength=, the length of the result"
    ):
        va.bincount(x.astype(u32))
    with pytest.raises(
        InvalidInput, match=r"elements that are known now\. Fix: pass range=\(first, last\), with the ends"
    ):
        va.histogram(x)
    with pytest.raises(InvalidInput, match=r"argument 'text': got <u8 range .* expected elements that are known now"):
        va.find_all(graph.input("text", u8, 10), [b"a"])
    with pytest.raises(BuildError, match="got a range of another graph 'one', expected one of graph 'one'"):
        va.dot(x, GraphRecorder("one").input("x", f32, 10))
    with pytest.raises(InvalidInput, match="'out': got ndarray, expected a range of the graph of"):
        va.sum(x, out=np.zeros((), "f4"))


def network():
    """Edges between 300 of 400 nodes, so that some have none."""
    return words[:900] % 300, words[900:1800] % 300


@pytest.mark.parametrize(
    ("function", "arrays"),
    [
        (lambda x: va.kmeans(x, 2, 3, iterations=2), [data("f4", (5000, 2))]),
        (lambda x: va.kmeans(x, 1, iterations=1), [data("f8", (5, 2))]),
        (lambda a, b: va.pagerank(a, b, 400, iterations=9), network()),
        (lambda a, b: va.pagerank(a, b, 5, iterations=3), [words[:0], words[:0]]),
        (lambda a, b: va.connected_components(a, b, 400), network()),
        (lambda a: va.connected_components(a, words[900:1800] % 300, 400), network()[:1]),
    ],
)
def test_a_loop_becomes_a_call(function, arrays, backend):
    """k-means over more points than a block of a reduction has, and the networks, in a graph of the caller."""
    arrays = [np.ascontiguousarray(array) for array in arrays]
    with GraphRecorder("loops") as graph:
        for n, found in enumerate(results(function(*recorded(arrays, graph)))):
            graph.output(f"y{n}", found)
    given = {f"x{n}": array for n, array in enumerate(arrays)}
    outputs = compile_graph(graph.build(), backend_for(backend)).run(given)
    for n, expected in enumerate(called(function, arrays)):
        assert outputs[f"y{n}"].dtype == expected.dtype
        assert outputs[f"y{n}"].reshape(expected.shape).tobytes() == expected.tobytes()


def test_starts_of_rows_may_be_a_range(backend):
    values, columns, x = data("f4", 6), np.array([0, 2, 1, 0, 1, 2]), data("f4", 3)
    with GraphRecorder("spmv") as graph:
        starts = graph.input("starts", i32, 4)
        graph.output("y", va.spmv(values, columns, starts, x))
    compiled = compile_graph(graph.build(), backend_for(backend))
    starts = np.array([0, 2, 2, 6], "i4")
    assert compiled.run({"starts": starts})["y"].tobytes() == va.spmv(values, columns, starts, x).tobytes()
    for wrong in ([0, 4, 2, 6], [1, 2, 2, 6], [0, 2, 2, 5], [0, 2, -1, 6], [0, 7, 7, 6]):
        with pytest.raises(Trapped, match="do not ascend"):
            compiled.run({"starts": np.array(wrong, "i4")})


STARTS = np.array([0, 0, 3, 3, 64, 9000, 9001, 9001], "i4")


@pytest.mark.parametrize(
    ("function", "dtype"),
    [
        (lambda x, starts: va.segmented_reduce(x, starts), "f4"),
        (lambda x, starts: va.segmented_reduce(x, starts, "any"), "i4"),
        (lambda x, starts: va.segmented_scan(x, starts), "i4"),
        (lambda x, starts: va.segmented_scan(x, starts, "max", exclusive=True), "f4"),
    ],
)
def test_starts_of_segments_may_be_a_range(function, dtype, backend):
    x = data(dtype, 9001)
    with GraphRecorder("segments") as graph:
        graph.output("y", function(*recorded([x, STARTS], graph)))
    compiled = compile_graph(graph.build(), backend_for(backend))
    assert compiled.run({"x0": x, "x1": STARTS})["y"].tobytes() == called(function, [x, STARTS])[0].tobytes()
    with pytest.raises(Trapped, match="do not ascend"):
        compiled.run({"x0": x, "x1": STARTS[::-1].copy()})


@pytest.mark.parametrize("operation", ["min", "argmax"])
def test_segments_without_elements_are_a_trap(operation, backend):
    x, starts = data("f4", 9001), np.array([0, 3, 64, 9001], "i4")
    with GraphRecorder("segments") as graph:
        graph.output("y", va.segmented_reduce(graph.input("x", f32, 9001), graph.input("starts", i32, 4), operation))
    compiled = compile_graph(graph.build(), backend_for(backend))
    expected = va.segmented_reduce(x, starts, operation, backend="reference")
    assert compiled.run({"x": x, "starts": starts})["y"].tobytes() == expected.tobytes()
    with pytest.raises(Trapped, match="a segment without elements"):
        compiled.run({"x": x, "starts": np.array([0, 3, 3, 9001], "i4")})


def test_a_node_has_the_line_of_the_caller():
    graph = GraphRecorder("lines")
    va.sort(graph.input("x", f32, 9000))
    assert {node.origin.file for node in graph.build().nodes} == {__file__}
