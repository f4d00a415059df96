"""Clusters and networks: loops of other algorithms, with a fixed order of operations."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from vyre_algorithms.arguments import MOST, Array, Backend, HostArray, array_of, count, of_kind, vector
from vyre_algorithms.launches import launch
from vyre_algorithms.matrix import csr, spmv
from vyre_algorithms.move import places_of
from vyre_algorithms.random import sample
from vyre_algorithms.reduce import segmented_reduce, sum as sum_of
from vyre_algorithms.sorts import argsort
from vyre_driver.errors import InvalidInput
from vyre_foundation import DType, Program, program, select
from vyre_foundation.dtype import f32, f64, u32
from vyre_foundation.functions import fma, min as least

GROUP = 64


def kmeans(
    points: object, k: int, key: int = 0, /, *, iterations: int = 100, backend: Backend = None
) -> tuple[HostArray, HostArray]:
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
        iterations: How many there are at most.
        backend: As for `vyre.run`.

    Returns:
        The centres, of the type of `points`, and the number of the centre of each point, of int64, as arrays of the
        host.

    Raises:
        InvalidInput: There are fewer points than clusters, or an argument is of another kind.
    """
    array: HostArray = np.ascontiguousarray(np.asarray(array_of(points, "points")))
    kind = of_kind(array, "f", "floats", "points")
    if kind not in (f32, f64) or array.ndim != 2 or not array.shape[1]:
        needed, got = "f32 or f64 with two axes", f"{kind} {array.shape}"
        raise InvalidInput("points", needed=needed, got=got, fix="pass a row for each point")
    number, axes = array.shape
    clusters = count(k, "k", number)
    limit = count(iterations, "iterations")
    if not clusters:
        raise InvalidInput("k", needed=f"1 … {number}", got=str(k), fix="pass points, and a number of clusters")
    centres = array[sample(number, clusters, key, backend=backend)]
    labels = np.full(number, clusters, np.uint32)
    for _ in range(limit):
        given = {"points": array.reshape(-1), "centres": centres.reshape(-1), "axes": axes, "labels": labels}
        found = launch(_nearest(kind), given, -(-number // GROUP), backend)["nearest"]
        is_done = np.array_equal(found, labels)
        labels = found
        if is_done:
            break
        order = argsort(labels, backend=backend)
        sizes = np.bincount(labels, minlength=clusters)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        moved = array[order]
        sums = [segmented_reduce(np.ascontiguousarray(moved[:, n]), starts, backend=backend) for n in range(axes)]
        has_points = sizes > 0
        centres = centres.copy()
        centres[has_points] = np.stack(sums, 1)[has_points] / sizes[has_points, None].astype(array.dtype)
    return centres, labels.astype(np.int64)


def pagerank(
    sources: object,
    targets: object,
    number: int,
    /,
    *,
    damping: float = 0.85,
    tolerance: float = 1e-10,
    iterations: int = 100,
    backend: Backend = None,
) -> HostArray:
    """Rank the nodes of a network by the chance that a walk along its edges is there.

    The ranks begin as 1/n. In an iteration a node gets ``(1 − damping) / n + damping · (s + d / n)``: ``s`` is the sum
    of the ranks of the sources of its edges divided by the number of their edges, in the order of the edges, as `spmv`
    adds them; ``d`` is the sum of the ranks of the nodes without edges, as `sum` adds them. The iterations end when the
    sum of the absolute changes is below `tolerance`.

    Args:
        sources: Where each edge begins: integers below `number`.
        targets: Where it ends.
        number: The number of nodes.
        damping: The chance to follow an edge, from 0 to 1.
        tolerance: When to stop.
        iterations: How many there are at most.
        backend: As for `vyre.run`. It needs f64.

    Returns:
        The ranks, of float64, as an array of the host.

    Raises:
        InvalidInput: A node is out of bounds, or an argument is of another kind.
    """
    nodes, begins, ends = _edges(sources, targets, number, backend)
    if not 0 <= damping <= 1:
        raise InvalidInput("damping", needed="a number from 0 to 1", got=repr(damping), fix="pass one in that range")
    limit = count(iterations, "iterations")
    if not nodes:
        return np.zeros(0)
    degrees = np.bincount(begins, minlength=nodes)
    weights, columns, starts = csr(ends, begins, 1 / degrees[begins], nodes, backend=backend)
    is_end = degrees == 0
    ranks = np.full(nodes, 1 / nodes)
    for _ in range(limit):
        lost = sum_of(np.where(is_end, ranks, 0.0), backend=backend)
        followed = spmv(weights, columns, starts, ranks, backend=backend)
        found = (1 - damping) / nodes + damping * (followed + lost / nodes)
        change = sum_of(np.abs(found - ranks), backend=backend)
        ranks = found
        if change < tolerance:
            break
    return ranks


def connected_components(sources: object, targets: object, number: int, /, *, backend: Backend = None) -> HostArray:
    """Find the parts of a network between which no edges are, whatever their direction.

    Args:
        sources: Where each edge begins: integers below `number`.
        targets: Where it ends.
        number: The number of nodes.
        backend: As for `vyre.run`.

    Returns:
        For each node the least number of a node in its part, of int64, as an array of the host. Labels are integers, so
        no order has a part in them.

    Raises:
        InvalidInput: A node is out of bounds, or an argument is of another kind.
    """
    nodes, begins, ends = _edges(sources, targets, number, backend)
    labels = np.arange(nodes, dtype=np.uint32)
    while begins.size:
        edges = {"sources": begins, "targets": ends, "old": labels, "labels": labels}
        hooked = launch(_hook(), edges, -(-begins.size // GROUP), backend)["labels"]
        found = launch(_jump(), {"labels": hooked}, -(-nodes // GROUP), backend)["found"]
        if np.array_equal(found, labels):
            break
        labels = found
    return labels.astype(np.int64)


def _edges(sources: object, targets: object, number: int, backend: Backend) -> tuple[int, HostArray, HostArray]:
    nodes = count(number, "number", MOST - 1)
    begins, ends = vector(sources, "sources"), vector(targets, "targets")
    if begins.size != ends.size:
        needed, got = f"{begins.size} elements", str(ends.size)
        raise InvalidInput("targets", needed=needed, got=got, fix="pass a target for each source")
    found: list[Array] = []
    for name, array in (("sources", begins), ("targets", ends)):
        of_kind(array, "iu", "integers", name)
        try:
            found.append(np.asarray(places_of(array, nodes, backend, is_from_end=False)))
        except InvalidInput:
            fix = "number the nodes from 0 with unique_all"
            raise InvalidInput(name, needed=f"nodes from 0 to {nodes - 1}", got="others", fix=fix) from None
    return nodes, found[0], found[1]


@lru_cache(maxsize=2)
def _nearest(kind: DType) -> Program:
    with program("nearest", GROUP) as p:
        points, centres = p.read("points", kind), p.read("centres", kind)
        axes, labels = p.uniform("axes", u32, 1), p.read("labels", u32)
        nearest = p.write("nearest", u32, like=labels)
        i, width = p.global_id(0), p.let(axes[0])
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
            nearest[i] = chosen
    return p.build()


@lru_cache(maxsize=1)
def _hook() -> Program:
    """The label of the label of each end of an edge becomes the lesser of the two."""
    with program("components_hook", GROUP) as p:
        sources, targets, old = p.read("sources", u32), p.read("targets", u32), p.read("old", u32)
        labels = p.read_write("labels", u32)
        i = p.global_id(0)
        with p.if_(i < sources.length):
            a, b = p.let(old[sources[i]]), p.let(old[targets[i]])
            lesser = p.let(least(a, b))
            for end in (a, b, sources[i], targets[i]):
                labels.atomic_min(end, lesser)
    return p.build()


@lru_cache(maxsize=1)
def _jump() -> Program:
    """Each label becomes that of the node that it names, as often as three times."""
    with program("components_jump", GROUP) as p:
        labels = p.read("labels", u32)
        found = p.write("found", u32, like=labels)
        label = p.var(labels[p.global_id(0)])
        for _ in range(3):
            label.set(labels[label])
        found[p.global_id(0)] = label
    return p.build()
