"""Clusters and networks: graphs whose loops run on the device, with a fixed order of operations."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from vyre_algorithms.arguments import MOST, Array, Backend, array_of, contiguous, count, of_kind, real, vector
from vyre_algorithms.count import bincount
from vyre_algorithms.launches import counted_up, mapped, run_loop, with_grid
from vyre_algorithms.matrix import multiply_rows
from vyre_algorithms.monoids import reduction_of
from vyre_algorithms.move import places_below, take
from vyre_algorithms.random import sample
from vyre_algorithms.reductions import sum as sum_of
from vyre_algorithms.search import places_in
from vyre_algorithms.segments import reduce_segments
from vyre_algorithms.sorts import sort_bits
from vyre_driver.errors import InvalidInput
from vyre_driver.graph.record import GraphRecorder
from vyre_driver.graph.recorded import RecordedRange
from vyre_foundation import DType, Program, Value, program, select
from vyre_foundation.build.arguments import shown
from vyre_foundation.dtype import f32, f64, i64, u32
from vyre_foundation.functions import abs as absolute, add, fma, min as least

GROUP = 64


def kmeans(
    points: object, /, k: int, key: int = 0, *, iterations: int = 100, backend: Backend = None
) -> tuple[Array, Array]:
    """Divide points into clusters by Lloyd's algorithm.

    The first centres are the points that `sample` draws with `key`. In an iteration each point goes to the nearest
    centre, of equally near ones to the first: the squares of the differences are added from 0 in the order of the axes,
    each by a fused multiply-add. Then a centre becomes the mean of its points: the sum along each axis, in the order of
    `sum` over the points in their order, divided by their number. A centre without points stays. The iterations end
    when no point changes its centre.

    Args:
        points: An array of f32 or f64 with two axes: a row for each point.
        k: The number of clusters.
        key: As for `sample`.
        iterations: The largest number of iterations, at least 1.
        backend: As for `vyre.run`.

    Returns:
        The centres, of the type of `points`, and the number of the centre of each point, of int64: NumPy arrays, or
        ranges if `points` is a range of a graph.

    Raises:
        InvalidInput: There are fewer points than clusters, or an argument is invalid.
    """
    array = contiguous(array_of(points, "points"))
    kind = of_kind(array, "f", "floats", "points")
    if kind not in (f32, f64) or array.ndim != 2 or not array.shape[1]:
        needed, got = "f32 or f64 with two axes", f"{kind} {array.shape}"
        raise InvalidInput("points", needed=needed, got=got, fix="pass a row for each point")
    number, axes = array.shape
    clusters = count(k, "k", number)
    if not clusters:
        raise InvalidInput("k", needed=f"1 … {number}", got=str(k), fix="pass points, and a number of clusters")
    shape = (kind, number, axes, clusters, _iterations(iterations))
    drawn = sample(number, clusters, key, backend=None if isinstance(array, RecordedRange) else backend)
    first = take(array, drawn.astype(np.uint32), backend)
    found = run_loop(_cluster, shape, {"points": array.reshape(-1), "first": first.reshape(-1)}, backend)
    return found["centres"].reshape(clusters, axes), found["labels"].astype(np.int64)


def pagerank(
    sources: object,
    targets: object,
    /,
    number: int,
    *,
    damping: float = 0.85,
    tolerance: float = 1e-10,
    iterations: int = 100,
    backend: Backend = None,
) -> Array:
    """Rank the nodes of a network by PageRank: the probability that a random walk along its edges is there.

    The ranks begin as 1/n. In an iteration a node gets ``(1 − damping) / n + damping · (s + d / n)``: ``s`` is the sum
    of the ranks of the sources of its edges divided by the number of their edges, in the order of the edges, as `spmv`
    adds them; ``d`` is the sum of the ranks of the nodes without outgoing edges, as `sum` adds them. The iterations end
    when the sum of the absolute changes is below `tolerance`.

    Args:
        sources: Where each edge begins: integers below `number`.
        targets: Where it ends.
        number: The number of nodes.
        damping: The probability of following an edge, from 0 to 1.
        tolerance: The sum of absolute changes below which the iterations end.
        iterations: The largest number of iterations, at least 1.
        backend: As for `vyre.run`. It needs f64.

    Returns:
        The ranks, of float64: a NumPy array, or a range if the edges are ranges of a graph.

    Raises:
        InvalidInput: A node is out of bounds, which in a graph is a trap of the launch, or an argument is invalid.
    """
    if not 0 <= real(damping, "damping") <= 1:
        raise InvalidInput("damping", needed="a number from 0 to 1", got=shown(damping), fix="pass one in that range")
    numbers = real(damping, "damping"), real(tolerance, "tolerance")
    limit = _iterations(iterations)
    nodes, begins, ends = _edges(sources, targets, number, backend)
    shape = (nodes, begins.size, limit)
    if not nodes:
        return np.zeros(0)
    given = {"begins": begins, "ends": ends, "numbers": np.array([(1 - numbers[0]) / nodes, *numbers])}
    return run_loop(_rank, shape, given, backend)["ranks"]


def connected_components(sources: object, targets: object, /, number: int, *, backend: Backend = None) -> Array:
    """Find the connected components of a network, ignoring the direction of edges.

    Args:
        sources: Where each edge begins: integers below `number`.
        targets: Where it ends.
        number: The number of nodes.
        backend: As for `vyre.run`.

    Returns:
        For each node the lowest number of a node in its component, of int64: a NumPy array, or a range if the edges are
        ranges of a graph. The labels do not depend on the order of the edges.

    Raises:
        InvalidInput: As for `pagerank`.
    """
    nodes, begins, ends = _edges(sources, targets, number, backend)
    labels = counted_up(nodes)
    if not begins.size:
        return labels.astype(np.int64)
    given = {"begins": begins, "ends": ends, "first": labels}
    return run_loop(_connect, (nodes, begins.size), given, backend)["labels"].astype(np.int64)


def _iterations(given: object) -> int:
    limit = count(given, "iterations")
    if not limit:
        raise InvalidInput("iterations", needed="at least 1", got="0", fix="pass a greater number")
    return limit


def _edges(sources: object, targets: object, number: int, backend: Backend) -> tuple[int, Array, Array]:
    nodes = count(number, "number", MOST - 1)
    begins, ends = vector(sources, "sources"), vector(targets, "targets")
    if begins.size != ends.size:
        needed, got = f"{begins.size} elements", str(ends.size)
        raise InvalidInput("targets", needed=needed, got=got, fix="pass a target for each source")
    fix = "number the nodes from 0 with unique_all"
    begins, ends = (
        places_below(array, nodes, name, fix, backend) for name, array in (("sources", begins), ("targets", ends))
    )
    return nodes, begins, ends


# ── clusters ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _cluster(graph: GraphRecorder, kind: DType, number: int, axes: int, clusters: int, iterations: int) -> None:
    """Record the iterations. The sums of all axes are one reduction, over the axes behind each other."""
    points, first = graph.input("points", kind, number * axes), graph.input("first", kind, clusters * axes)
    labels, is_changed = graph.temporary(u32, number, "labels"), graph.temporary(u32, 1, "is_changed")
    cluster_of_each = np.append(np.tile(np.arange(clusters, dtype=np.uint32), axes), np.uint32(0))
    before_axis = np.append(np.repeat(np.arange(axes) * number, clusters), axes * number).astype(np.uint32)
    centres = first.copy()
    graph.fill(labels, clusters)
    with graph.repeat(iterations, until_zero=is_changed):
        graph.fill(is_changed)
        given = {"points": points, "centres": centres, "axes": axes, "labels": labels, "is_changed": is_changed}
        graph.dispatch(_nearest(kind), given, config=with_grid(-(-number // GROUP)))
        order = sort_bits(labels, True, False, number, None, most=clusters - 1)
        places = places_in(take(labels, order, None), cluster_of_each, False, None)
        starts = mapped(add, u32, [places, before_axis], None)
        moved = graph.dispatch(_columns(kind), points=points, order=order, axes=axes)["columns"]
        (sums,) = reduce_segments(reduction_of("sum", kind, kind), [moved], starts, number, None)
        graph.dispatch(_means(kind), sums=sums, starts=starts, axes=axes, centres=centres)
    graph.output("centres", centres)
    graph.output("labels", labels)


@lru_cache(maxsize=2)
def _nearest(kind: DType) -> Program:
    with program("nearest", GROUP) as p:
        points, centres = p.read("points", kind), p.read("centres", kind)
        axes = p.uniform("axes", u32, 1)
        labels, is_changed = p.read_write("labels", u32), p.read_write("is_changed", u32)
        i, width = p.global_id(0), p.let(least(axes[0], centres.length))
        shortest, chosen = p.var(float("inf"), kind), p.var(0, u32)
        with p.if_(i < labels.length):
            with p.range(0, centres.length // width) as centre:
                total = p.var(0, kind)
                with p.range(0, width) as axis:
                    difference = p.let(points[i * width + axis] - centres[centre * width + axis])
                    total.set(fma(difference, difference, total.get()))
                is_nearer = p.let(total < shortest.get())
                chosen.set(select(is_nearer, centre, chosen.get()))
                shortest.set(select(is_nearer, total.get(), shortest.get()))
            with p.if_(labels[i] != chosen.get()):
                labels[i] = chosen
                is_changed.atomic_or(0, 1)
    return p.build()


@lru_cache(maxsize=2)
def _columns(kind: DType) -> Program:
    """The points in an order, one axis behind the other."""
    with program("columns_of_points", GROUP) as p:
        points, order, axes = p.read("points", kind), p.read("order", u32), p.uniform("axes", u32, 1)
        columns = p.write("columns", kind, like=points)
        i, number = p.global_id(0), p.let(order.length)
        columns[i] = points[order[i % number] * axes[0] + i // number]
    return p.build()


@lru_cache(maxsize=2)
def _means(kind: DType) -> Program:
    """The centres of the clusters that have points; sums and starts have one axis behind the other."""
    with program("means_of_clusters", GROUP) as p:
        sums, starts, axes = p.read("sums", kind), p.read("starts", u32), p.uniform("axes", u32, 1)
        centres = p.read_write("centres", kind)
        i = p.global_id(0)
        with p.if_(i < centres.length):
            place = p.let(i % axes[0] * (centres.length // axes[0]) + i // axes[0])
            size = p.let(starts[place + 1] - starts[place])
            with p.if_(size != 0):
                centres[i] = sums[place] / size.cast(kind)
    return p.build()


# ── ranks ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _rank(graph: GraphRecorder, nodes: int, edges: int, iterations: int) -> None:
    """Record the iterations; `numbers` are (1 − damping) / n, the damping, and the tolerance."""
    begins, ends = graph.input("begins", u32, edges), graph.input("ends", u32, edges)
    numbers = graph.input("numbers", f64, 3)
    ranks, is_more = graph.temporary(f64, nodes, "ranks"), graph.temporary(u32, 1, "is_more")
    graph.fill(ranks, 1 / nodes)
    if edges:
        degrees = bincount(begins, minlength=nodes)
        order = sort_bits(ends, True, False, edges, None, most=nodes - 1)
        starts = places_in(take(ends, order, None), counted_up(nodes + 1), False, None)
        weighed = graph.dispatch(_weights(), begins=begins, degrees=degrees, order=order)
    else:
        degrees, followed = graph.temporary(i64, nodes, "degrees"), graph.temporary(f64, nodes, "followed")
        graph.fill(degrees)
        graph.fill(followed)
    with graph.repeat(iterations, until_zero=is_more):
        lost = sum_of(mapped(_without_edges, f64, [ranks, degrees], None))
        if edges:
            followed = multiply_rows(weighed["weights"], weighed["columns"], starts, ranks, None)
        given = {"followed": followed, "lost": lost, "nodes": float(nodes), "numbers": numbers, "ranks": ranks}
        changes = graph.dispatch(_follow(), given)["changes"]
        graph.dispatch(_is_more(), change=sum_of(changes), numbers=numbers, is_more=is_more)
    graph.output("ranks", ranks)


def _without_edges(rank: Value, degree: Value) -> Value:
    return select(degree == 0, rank, 0.0)


@lru_cache(maxsize=1)
def _weights() -> Program:
    """The source of each edge in an order, and one divided by the number of its edges."""
    with program("weights_of_edges", GROUP) as p:
        begins, degrees, order = p.read("begins", u32), p.read("degrees", i64), p.read("order", u32)
        columns, weights = p.write("columns", u32, like=order), p.write("weights", f64, like=order)
        i = p.global_id(0)
        source = p.let(begins[order[i]])
        columns[i] = source
        weights[i] = 1.0 / degrees[source].cast(f64)
    return p.build()


@lru_cache(maxsize=1)
def _follow() -> Program:
    """The ranks after one more step, and by how much they change."""
    with program("follow_edges", GROUP) as p:
        followed, lost = p.read("followed", f64), p.read("lost", f64)
        nodes, numbers = p.uniform("nodes", f64, 1), p.read("numbers", f64)
        ranks = p.read_write("ranks", f64)
        changes = p.write("changes", f64, like=followed)
        i = p.global_id(0)
        with p.if_(i < ranks.length):
            rank = p.let(numbers[0] + numbers[1] * (followed[i] + lost[0] / nodes[0]))
            changes[i] = absolute(rank - ranks[i])
            ranks[i] = rank
    return p.build()


@lru_cache(maxsize=1)
def _is_more() -> Program:
    with program("is_more", 1) as p:
        change, numbers = p.read("change", f64), p.read("numbers", f64)
        is_more = p.write("is_more", u32, 1)
        is_more[0] = select(change[0] < numbers[2], u32(0), u32(1))
    return p.build()


# ── components ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _connect(graph: GraphRecorder, nodes: int, edges: int) -> None:
    """Record the iterations: the least label moves along one edge at least in each of them."""
    begins, ends = graph.input("begins", u32, edges), graph.input("ends", u32, edges)
    labels, hooked = graph.input("first", u32, nodes).copy(), graph.temporary(u32, nodes, "hooked")
    is_changed = graph.temporary(u32, 1, "is_changed")
    with graph.repeat(nodes + 1, until_zero=is_changed):
        graph.fill(is_changed)
        graph.copy(labels, hooked)
        given = {"begins": begins, "ends": ends, "labels": labels, "hooked": hooked}
        graph.dispatch(_hook(), given, config=with_grid(-(-edges // GROUP)))
        changed = {"hooked": hooked, "labels": labels, "is_changed": is_changed}
        graph.dispatch(_jump(), changed, config=with_grid(-(-nodes // GROUP)))
    graph.output("labels", labels)


@lru_cache(maxsize=1)
def _hook() -> Program:
    """The label of the label of each end of an edge becomes the lesser of the two."""
    with program("components_hook", GROUP) as p:
        begins, ends, labels = p.read("begins", u32), p.read("ends", u32), p.read("labels", u32)
        hooked = p.read_write("hooked", u32)
        i = p.global_id(0)
        with p.if_(i < begins.length):
            a, b = p.let(labels[begins[i]]), p.let(labels[ends[i]])
            lesser = p.let(least(a, b))
            for end in (a, b, begins[i], ends[i]):
                hooked.atomic_min(end, lesser)
    return p.build()


@lru_cache(maxsize=1)
def _jump() -> Program:
    """Each label becomes that of the node that it names, as often as three times."""
    with program("components_jump", GROUP) as p:
        hooked = p.read("hooked", u32)
        labels, is_changed = p.read_write("labels", u32), p.read_write("is_changed", u32)
        i = p.global_id(0)
        with p.if_(i < labels.length):
            label = p.var(hooked[i])
            for _ in range(3):
                label.set(hooked[label])
            with p.if_(labels[i] != label.get()):
                labels[i] = label
                is_changed.atomic_or(0, 1)
    return p.build()
