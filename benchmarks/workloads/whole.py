"""Whole algorithms of many dispatches: their graphs, inputs, and what NumPy computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from vyre_driver.graph.nodes import Graph

DEGREE, FAR = 8, 2**30
DAMPING, ACCURACY = 0.85, 1e-7
ITERATIONS, CENTRES, ROUNDS, LAYERS = 100, 16, 20, 100
GROUP, EACH = 256, 4
"""Invocations of a workgroup that reduces, and the elements that each of them adds."""
PART = 64
"""Points that one invocation looks at for one centre."""

Arrays = dict[str, npt.NDArray[Any]]


def data(name: str, size: int) -> tuple[Arrays, npt.NDArray[Any], float]:
    """The inputs in the order in which functions take them, the result, and how far from it another may be."""
    return _DATA[name](size)


def graph(name: str, size: int) -> Graph:
    """The work as a graph with an output `out`."""
    return _GRAPHS[name](size)


# ── graphs of vertices ───────────────────────────────────────────────────────────────────────────────────────────────


def _neighbours(count: int) -> npt.NDArray[np.uint32]:
    """`DEGREE` vertices before each: those around it, and one far away."""
    random, near = np.random.default_rng(7), np.arange(count)[:, None] + np.arange(-3, 4)
    far = random.integers(0, count, (count, 1))
    return (np.concatenate([near, far], axis=1) % count).astype(np.uint32).reshape(-1)


def _search_data(count: int) -> tuple[Arrays, npt.NDArray[Any], float]:
    neighbours = _neighbours(count)
    start = np.full(count, FAR, np.uint32)
    start[0] = 0
    found = start
    while True:
        nearer = np.minimum(found, found[neighbours].reshape(-1, DEGREE).min(axis=1) + 1)
        if (nearer == found).all():
            return {"neighbours": neighbours, "distance": start}, found, 0.0
        found = nearer


def _search(count: int) -> Graph:
    import vyre as vy
    from vyre_foundation import program, u32
    from vyre_foundation.functions import min

    with program("relax", 64) as p:
        neighbours, distance = p.read("neighbours", u32), p.read("distance", u32)
        nearer, changed = p.write("nearer", u32, like=distance), p.read_write("changed", u32, 1)
        i = p.global_id(0)
        with p.if_(i < distance.length):
            own = p.let(distance[i])
            least = p.var(own)
            with p.range(0, DEGREE) as k:
                least.set(min(least, distance[neighbours[i * DEGREE + k]] + 1))
            nearer[i] = least
            with p.if_(least < own):
                changed[0] = 1
    relax = p.build()
    with vy.graph("breadth_first_search") as g:
        edges, distance = g.input("neighbours", u32, count * DEGREE), g.input("distance", u32, count)
        changed = g.temporary(u32, 1)
        with g.repeat(count, until_zero=changed):
            g.fill(changed, 0)
            nearer = g.dispatch(relax, neighbours=edges, distance=distance, changed=changed)["nearer"]
            g.copy(nearer, distance)
        g.output("out", distance)
    return g.build()


def _rank_data(count: int) -> tuple[Arrays, npt.NDArray[Any], float]:
    neighbours = _neighbours(count)
    leaving = np.bincount(neighbours, minlength=count).astype(np.float32)
    share = (np.float32(DAMPING) / np.maximum(leaving, 1)).astype(np.float32)
    rank = np.full(count, 1, np.float32)
    expected = rank.astype(np.float64)
    while True:
        made = (1 - DAMPING) + (expected * share)[neighbours].reshape(-1, DEGREE).sum(axis=1)
        if np.abs(made - expected).max() <= ACCURACY * 10:
            return {"neighbours": neighbours, "share": share, "rank": rank}, made.astype(np.float32), 1e-4
        expected = made


def _rank(count: int) -> Graph:
    import vyre as vy
    from vyre_foundation import f32, program, u32

    with program("rank", 64) as p:
        neighbours, share, rank = p.read("neighbours", u32), p.read("share", f32), p.read("rank", f32)
        made, changed = p.write("made", f32, like=rank), p.read_write("changed", u32, 1)
        i = p.global_id(0)
        with p.if_(i < rank.length):
            total = p.var(0.0, f32)
            with p.range(0, DEGREE) as k:
                j = p.let(neighbours[i * DEGREE + k])
                total.set(total + rank[j] * share[j])
            value = p.let(total + (1 - DAMPING))
            made[i] = value
            with p.if_(abs(value - rank[i]) > 10 * ACCURACY):
                changed[0] = 1
    step = p.build()
    with vy.graph("page_rank") as g:
        edges, share = g.input("neighbours", u32, count * DEGREE), g.input("share", f32, count)
        rank, changed = g.input("rank", f32, count), g.temporary(u32, 1)
        with g.repeat(1000, until_zero=changed):
            g.fill(changed, 0)
            made = g.dispatch(step, neighbours=edges, share=share, rank=rank, changed=changed)["made"]
            g.copy(made, rank)
        g.output("out", rank)
    return g.build()


# ── equations ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _poisson(x: npt.NDArray[Any], side: int) -> npt.NDArray[Any]:
    wide = np.pad(x.reshape(side, side), 1)
    made = 4 * wide[1:-1, 1:-1] - wide[:-2, 1:-1] - wide[2:, 1:-1] - wide[1:-1, :-2] - wide[1:-1, 2:]
    return np.asarray(made.reshape(-1))


def _gradient_data(side: int) -> tuple[Arrays, npt.NDArray[Any], float]:
    right = np.random.default_rng(3).standard_normal(side * side).astype(np.float32)
    x, r = np.zeros(side * side), right.astype(np.float64)
    d, rr = r.copy(), float(r @ r)
    for _ in range(ITERATIONS):
        q = _poisson(d, side)
        alpha = rr / float(d @ q)
        x, r = x + alpha * d, r - alpha * q
        rr, before = float(r @ r), rr
        d = r + rr / before * d
    return {"right": right}, x.astype(np.float32), 2e-2


def _group_sum(p: Any, name: str, value: Any) -> Any:
    """The sum of a value over the invocations of a workgroup, which all of them come to."""
    from vyre_foundation import f32

    shared, own, half = p.workgroup(name, f32, GROUP), p.local_id(0), GROUP // 2
    shared[own] = value
    p.barrier()
    while half:
        with p.if_(own < half):
            shared[own] = shared[own] + shared[own + half]
        p.barrier()
        half //= 2
    return shared[0]


def _gradient(side: int) -> Graph:
    import vyre as vy
    from vyre_foundation import f32, program, select

    n = side * side
    count = -(-n // (GROUP * EACH))
    with program("apply", 64) as p:
        d, q = p.read("d", f32), p.write("q", f32, n)
        i = p.global_id(0)
        x, y = p.let(i % side), p.let(i // side)
        with p.if_(i < n):
            total = p.var(4.0 * d[i])
            total.set(total - select(y > 0, d[i - side], 0.0))
            total.set(total - select(y < side - 1, d[i + side], 0.0))
            total.set(total - select(x > 0, d[i - 1], 0.0))
            total.set(total - select(x < side - 1, d[i + 1], 0.0))
            q[i] = total
    apply = p.build()
    with program("products", GROUP) as p:
        a, b, parts = p.read("a", f32), p.read("b", f32), p.write("parts", f32, count)
        group = p.workgroup_id(0)
        value = p.var(0.0, f32)
        with p.range(0, EACH) as k:  # in which neighbours read neighbours
            i = p.let((group * EACH + k) * GROUP + p.local_id(0))
            with p.if_(i < n):
                value.set(value + a[i] * b[i])
        whole = _group_sum(p, "shared", value)
        with p.if_(p.local_id(0) == 0):
            parts[group] = whole
    products = p.build()
    with program("total", GROUP) as p:
        parts, total = p.read("parts", f32), p.write("total", f32, 1)
        value = p.var(0.0, f32)
        with p.range(p.local_id(0), count, GROUP) as k:
            value.set(value + parts[k])
        whole = _group_sum(p, "shared", value)
        with p.if_(p.local_id(0) == 0):
            total[0] = whole
    total = p.build()
    with program("advance", 64) as p:
        rr, dq, d, q = p.read("rr", f32, 1), p.read("dq", f32, 1), p.read("d", f32), p.read("q", f32)
        x, r = p.read_write("x", f32), p.read_write("r", f32)
        i = p.global_id(0)
        alpha = p.let(rr[0] / dq[0])
        x[i] = x[i] + alpha * d[i]
        r[i] = r[i] - alpha * q[i]
    advance = p.build()
    with program("turn", 64) as p:
        after, before, r, d = (
            p.read("after", f32, 1),
            p.read("before", f32, 1),
            p.read("r", f32),
            p.read_write("d", f32),
        )
        i = p.global_id(0)
        d[i] = r[i] + after[0] / before[0] * d[i]
    turn = p.build()
    with vy.graph("conjugate_gradient") as g:
        r, x, d = g.input("right", f32, n), g.temporary(f32, n), g.temporary(f32, n)
        rr = g.temporary(f32, 1)
        g.fill(x, 0.0)
        g.copy(r, d)

        def dot(a: Any, b: Any, **into: Any) -> Any:
            parts = g.dispatch(products, a=a, b=b, invocations=count * GROUP)["parts"]
            return g.dispatch(total, parts=parts, invocations=GROUP, **into)["total"]

        dot(r, r, total=rr)
        with g.repeat(ITERATIONS):
            q = g.dispatch(apply, d=d)["q"]
            dq = dot(d, q)
            g.dispatch(advance, rr=rr, dq=dq, d=d, q=q, x=x, r=r)
            after = dot(r, r)
            g.dispatch(turn, after=after, before=rr, r=r, d=d)
            g.copy(after, rr)
        g.output("out", x)
    return g.build()


# ── clusters ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _means_data(count: int) -> tuple[Arrays, npt.NDArray[Any], float]:
    random = np.random.default_rng(5)
    middles = random.uniform(-10, 10, (CENTRES, 2))
    points = (middles[np.arange(count) % CENTRES] + random.standard_normal((count, 2))).astype(np.float32)
    start = points[:CENTRES].copy()
    centres = start.astype(np.float64)
    for _ in range(ROUNDS):
        nearest = ((points[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        sizes = np.maximum(np.bincount(nearest, minlength=CENTRES), 1)
        sums = [np.bincount(nearest, points[:, axis], CENTRES) for axis in range(2)]
        centres = np.stack(sums, axis=1) / sizes[:, None]
    inputs = {"points": points.reshape(-1), "centres": start.reshape(-1)}
    return inputs, centres.astype(np.float32).reshape(-1), 1e-2


def _means(count: int) -> Graph:
    import vyre as vy
    from vyre_foundation import f32, program, u32
    from vyre_foundation.functions import max

    parts = count // PART
    with program("assign", 64) as p:
        points, centres, label = p.read("points", f32), p.read("centres", f32), p.write("label", u32, count)
        i = p.global_id(0)
        x, y = p.let(points[2 * i]), p.let(points[2 * i + 1])
        best, least = p.var(0, u32), p.var(3e38, f32)
        with p.range(0, CENTRES) as k:
            dx, dy = p.let(x - centres[2 * k]), p.let(y - centres[2 * k + 1])
            far = p.let(dx * dx + dy * dy)
            with p.if_(far < least):
                least.set(far)
                best.set(k)
        label[i] = best
    assign = p.build()
    with program("gather", 64) as p:
        points, label = p.read("points", f32), p.read("label", u32)
        sums = p.write("sums", f32, 3 * CENTRES * parts)
        i = p.global_id(0)
        centre, part = p.let(i % CENTRES), p.let(i // CENTRES)
        with p.if_(part < parts):
            sx, sy, size = p.var(0.0, f32), p.var(0.0, f32), p.var(0.0, f32)
            with p.range(part * PART, part * PART + PART) as k, p.if_(label[k] == centre):
                sx.set(sx + points[2 * k])
                sy.set(sy + points[2 * k + 1])
                size.set(size + 1.0)
            sums[3 * i] = sx
            sums[3 * i + 1] = sy
            sums[3 * i + 2] = size
    gather = p.build()
    with program("move", GROUP) as p:
        sums, centres = p.read("sums", f32), p.write("centres", f32, 2 * CENTRES)
        centre = p.workgroup_id(0)
        sx, sy, size = p.var(0.0, f32), p.var(0.0, f32), p.var(0.0, f32)
        with p.range(p.local_id(0), parts, GROUP) as k:
            at = p.let(3 * (k * CENTRES + centre))
            sx.set(sx + sums[at])
            sy.set(sy + sums[at + 1])
            size.set(size + sums[at + 2])
        x, y, members = (_group_sum(p, name, value) for name, value in (("xs", sx), ("ys", sy), ("sizes", size)))
        with p.if_(p.local_id(0) == 0):
            centres[2 * centre] = x / max(members, 1.0)
            centres[2 * centre + 1] = y / max(members, 1.0)
    move = p.build()
    with vy.graph("k_means") as g:
        points, centres = g.input("points", f32, 2 * count), g.input("centres", f32, 2 * CENTRES)
        with g.repeat(ROUNDS):
            label = g.dispatch(assign, points=points, centres=centres, invocations=count)["label"]
            sums = g.dispatch(gather, points=points, label=label, invocations=CENTRES * parts)["sums"]
            g.dispatch(move, sums=sums, centres=centres, invocations=CENTRES * GROUP)
        g.output("out", centres)
    return g.build()


# ── images ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _layers_data(side: int) -> tuple[Arrays, npt.NDArray[Any], float]:
    image = np.random.default_rng(1).random((side, side), np.float32)
    made = image
    for layer in range(LAYERS):
        match layer % 4:
            case 0:
                wide = np.pad(made, ((0, 0), (1, 1)))
                made = (wide[:, :-2] + 2 * made + wide[:, 2:]) * np.float32(0.25)
            case 1:
                wide = np.pad(made, ((1, 1), (0, 0)))
                made = (wide[:-2] + 2 * made + wide[2:]) * np.float32(0.25)
            case 2:
                made = made * np.float32(1.5) + np.float32(0.01)
            case _:
                made = np.minimum(np.maximum(made, np.float32(0)), np.float32(1))
    return {"image": image.reshape(-1)}, made.reshape(-1), 1e-5


def _layers(side: int) -> Graph:
    import vyre as vy
    from vyre_foundation import f32, program, select
    from vyre_foundation.functions import max, min

    def blur(name: str, step: int, axis: int) -> Any:
        with program(name, 64) as p:
            x = p.read("x", f32)
            out = p.write("out", f32, like=x)
            i = p.global_id(0)
            at = p.let(i % side if axis else i // side)
            before, after = select(at > 0, x[i - step], 0.0), select(at < side - 1, x[i + step], 0.0)
            out[i] = (before + x[i] * 2.0 + after) * 0.25
        return p.build()

    with program("brighten", 64) as p:
        x = p.read("x", f32)
        out = p.write("out", f32, like=x)
        out[p.global_id(0)] = x[p.global_id(0)] * 1.5 + 0.01
    brighten = p.build()
    with program("clip", 64) as p:
        x = p.read("x", f32)
        out = p.write("out", f32, like=x)
        out[p.global_id(0)] = min(max(x[p.global_id(0)], 0.0), 1.0)
    kinds = [blur("blur_x", 1, 1), blur("blur_y", side, 0), brighten, p.build()]
    with vy.graph("image_pipeline") as g:
        image = g.input("image", f32, side * side)
        for layer in range(LAYERS):
            image = g.dispatch(kinds[layer % 4], x=image)["out"]
        g.output("out", image)
    return g.build()


_DATA: dict[str, Callable[[int], tuple[Arrays, npt.NDArray[Any], float]]] = {
    "breadth-first search": _search_data,
    "PageRank": _rank_data,
    "conjugate gradient": _gradient_data,
    "k-means": _means_data,
    "image pipeline": _layers_data,
}
_GRAPHS: dict[str, Callable[[int], Graph]] = {
    "breadth-first search": _search,
    "PageRank": _rank,
    "conjugate gradient": _gradient,
    "k-means": _means,
    "image pipeline": _layers,
}
