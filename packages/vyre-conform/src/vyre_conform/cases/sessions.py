"""Sessions: launches that follow each other, with other inputs, lengths, grids and programs, while results are held."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, seeded
from vyre_conform.cases.values import pack
from vyre_conform.worker.sessions import SESSIONS
from vyre_driver.backend.config import Extent
from vyre_foundation.build import program
from vyre_foundation.dtype import i8, u32
from vyre_foundation.functions import min as least
from vyre_foundation.ir.buffer import LengthOf
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.shapes import LAUNCH_SHAPE

GROUP = 16
DIRTY = 7
"""An input whose first element this divides is written to all elements of all outputs."""
TOP = 2**32

Build = Callable[[Random], tuple[Launch, Expected]]


def specs() -> Iterator[Spec]:
    for name, (build, ways) in PROGRAMS.items():
        for way in ways:
            yield seeded(address("sessions", name, entry=way), _through, build, way)


def _through(build: Build, way: str, rng: Random) -> tuple[Launch, Expected]:
    launch, expected = build(rng)
    return replace(launch, entry=way), expected


def _session(launches: Sequence[Launch], outputs: Sequence[Sequence[bytes]]) -> tuple[Launch, Expected]:
    """One launch after another, each with its outputs."""
    first, *then = launches
    return replace(first, then=tuple(then)), Exactly(tuple(data for results in outputs for data in results))


def _numbers(rng: Random, count: int) -> list[int]:
    return [rng.randrange(TOP) for _ in range(count)]


def _recycled(rng: Random) -> tuple[Launch, Expected]:
    """Memory of results serves later launches: what those do not write is zero, and what is held stays as it is."""
    count, last, returned, run = 150, 20, 37, 10
    with program("recycled", GROUP) as p:
        x = p.read("x", u32, count)
        whole, some, narrow = (p.write(name, u32, like=x) for name in ("whole", "some", "narrow"))
        below, broken, early = (p.write(name, u32, like=x) for name in ("below", "broken", "early"))
        i = p.let(p.global_id(0))
        first, stop = i * run, least(i * run + run, count)
        with p.if_(x[0] % DIRTY == 0):
            for array in (some, narrow, below, early):
                array[i] = 0xABCD_EF01
            with p.range(first, stop) as k:
                broken[k] = 0xABCD_EF01
        whole[i] = x[i] * 3 + 1
        with p.if_(x[i] % 2 == 1):
            some[i] = x[i]
        narrow[i.cast(i8)] = x[i] + 5
        with p.if_(i <= last):
            below[i] = x[i] + 7
        with p.range(first, stop) as k:
            with p.if_(x[k] % 4 == 3):
                p.break_()
            broken[k] = x[k] + 8
        with p.if_(i >= returned):
            p.return_()
        early[i] = x[i] + 9
    built = p.build()

    def outputs(values: Sequence[int]) -> list[bytes]:
        rest = 0xABCD_EF01 if values[0] % DIRTY == 0 else 0
        rows = (
            [v * 3 + 1 for v in values],
            [v if v % 2 else rest for v in values],
            [v + 5 if n < 128 else rest for n, v in enumerate(values)],
            [v + 7 if n <= last else rest for n, v in enumerate(values)],
            [v + 8 if all(w % 4 != 3 for w in values[n - n % run : n + 1]) else rest for n, v in enumerate(values)],
            [v + 9 if n < returned else rest for n, v in enumerate(values)],
        )
        return [pack(u32, [v % TOP for v in row]) for row in rows]

    inputs = [[DIRTY * n if n % 2 else DIRTY * n + 1, *_numbers(rng, count - 1)] for n in (1, 2, 3, 5, 4, 6, 7)]
    launches = [Launch(program=built, inputs={"x": pack(u32, values)}) for values in inputs]
    return _session(launches, [outputs(values) for values in inputs])


def _axes(rng: Random) -> tuple[Launch, Expected]:
    """Arrays of one length and launches of several shapes, some of which are smaller: the rest of a result is zero."""
    count, shapes = 60, ((6, 10), (5, 10), (10, 6), (6, 9), (4, 15), (3, 4), (6, 10))
    with program("axes", (8, 8), shape=("h", "w")) as p:
        x = p.read("x", u32, shape=("h", "w"))
        out = p.write("out", u32, shape=("h", "w"))
        i, j = p.index()
        out[i, j] = x[i, j] * 3 + 1
    built = p.build()
    inputs = [_numbers(rng, count) for _ in shapes]
    launches = [
        Launch(
            program=built,
            inputs={"x": pack(u32, values), LAUNCH_SHAPE: pack(u32, shape)},
            grid=(2, 2, 1),
        )
        for values, shape in zip(inputs, shapes, strict=True)
    ]
    outputs = [
        [pack(u32, [(v * 3 + 1) % TOP if n < h * w else 0 for n, v in enumerate(values)])]
        for values, (h, w) in zip(inputs, shapes, strict=True)
    ]
    return _session(launches, outputs)


def _lengths(rng: Random) -> tuple[Launch, Expected]:
    """Longer and shorter inputs, and none at all; outputs are a little longer, and guarded by their own length."""
    with program("lengths", GROUP) as p:
        x, y = p.read("x", u32), p.read_write("y", u32)
        out = p.write("out", u32, LengthOf("x", plus=3))
        i = p.let(p.global_id(0))
        with p.if_(i < out.length):
            out[i] = x[i] * 3 + x.length + 1
        with p.if_(i < y.length):
            y[i] = y[i] ^ x[i]
    built = p.build()
    launches, outputs = [], []
    for count in (20, 5, 0, 33, 20, 5, 20):
        xs, ys = _numbers(rng, count), _numbers(rng, count)
        launches.append(Launch(program=built, inputs={"x": pack(u32, xs), "y": pack(u32, ys)}))
        longer = [(v * 3 + count + 1) % TOP for v in (*xs, 0, 0, 0)]
        outputs.append([pack(u32, [a ^ b for a, b in zip(xs, ys, strict=True)]), pack(u32, longer)])
    return _session(launches, outputs)


def _persistent(rng: Random) -> tuple[Launch, Expected]:
    """Two pipelines remember, each for itself, whatever grid and however many iterations the launches have."""
    count = 3 * GROUP
    one, other = (_remembering(name, factor, count) for name, factor in (("remembers_one", 3), ("remembers_other", 5)))
    memory = {one: [0] * count, other: [0] * count}
    launches, outputs = [], []
    rows: tuple[tuple[Program, int, int], ...] = (
        *((one, 3, 1), (one, 3, 1), (other, 3, 1), (one, 1, 1), (one, 3, 2)),
        *((other, 3, 1), (other, 2, 3), (one, 3, 1)),
    )
    for built, groups, iterations in rows:
        values, totals = _numbers(rng, count), memory[built]
        found = [0] * count
        for _ in range(iterations):
            for n in range(groups * GROUP):
                found[n] = (totals[n] + values[n]) % TOP
                totals[n] = (totals[n] * (3 if built is one else 5) + values[n]) % TOP
        inputs = {"x": pack(u32, values)}
        launches.append(Launch(program=built, inputs=inputs, grid=(groups, 1, 1), iterations=iterations))
        outputs.append([pack(u32, found)])
    return _session(launches, outputs)


def _remembering(name: str, factor: int, count: int) -> Program:
    with program(name, GROUP) as p:
        x, out, totals = p.read("x", u32, count), p.write("out", u32, count), p.persistent("kept", u32, count)
        i = p.let(p.global_id(0))
        out[i] = totals[i] + x[i]
        totals[i] = totals[i] * factor + x[i]
    return p.build()


def _grids(rng: Random) -> tuple[Launch, Expected]:
    """Grids that stand in an input, another one in each launch, in as many bytes."""
    with program("grids", 4) as p:
        words, out = p.read("words", u32), p.write("out", u32, 27)
        p.indirect_dispatch(words, 1)
        with p.if_(p.local_id(0) == 3):
            at = (p.workgroup_id(2) * 3 + p.workgroup_id(1)) * 3 + p.workgroup_id(0)
            out[at] = p.num_workgroups(0) * 100 + p.num_workgroups(1) * 10 + p.num_workgroups(2)
    built = p.build()
    grids = ((3, 1, 1), (1, 2, 1), (0, 1, 1), (2, 2, 2), (1, 2, 1), (3, 3, 3), (2, 0, 1), (1, 1, 1))
    launches = [Launch(program=built, inputs={"words": pack(u32, [9, *grid, 8])}) for grid in grids]
    return _session(launches, [[_marks(grid)] for grid in grids])


def _marks(grid: Extent) -> bytes:
    x, y, z = grid
    mark = x * 100 + y * 10 + z
    cells = ((a, b, c) for a in range(3) for b in range(3) for c in range(3))
    return pack(u32, [mark if c < x and b < y and a < z else 0 for a, b, c in cells])


def _made_grids(rng: Random) -> tuple[Launch, Expected]:
    """A launch makes the grid of the next one, whose result a third one takes."""
    with program("makes_grid", 1) as p:
        x, words = p.read("x", u32, 3), p.write("words", u32, 3)
        i = p.let(p.global_id(0))
        words[2 - i] = x[i]
    makes = p.build()
    with program("follows_grid", 2) as p:
        words, out = p.read("words", u32, 3), p.write("out", u32, 12)
        p.indirect_dispatch(words, 0)
        i = p.let(p.workgroup_id(1) * p.num_workgroups(0) * 2 + p.global_id(0))
        out[i] = i + p.num_workgroups(0) * 10 + 100
    follows = p.build()
    with program("sums_up", 4) as p:
        out, sums = p.read("out", u32, 12), p.write("sums", u32, 4)
        i = p.let(p.global_id(0))
        sums[i] = out[i] + out[i + 4] + out[i + 8]
    sums_up = p.build()
    grid = (3, 2, 1)
    marks = [n + 130 for n in range(12)]
    launches = [
        Launch(program=makes, inputs={"x": pack(u32, reversed(grid))}),
        Launch(program=follows, inputs={}),
        Launch(program=sums_up, inputs={}),
    ]
    sums_ = [marks[n] + marks[n + 4] + marks[n + 8] for n in range(4)]
    return _session(launches, [[pack(u32, grid)], [pack(u32, marks)], [pack(u32, sums_)]])


def _alike(rng: Random) -> tuple[Launch, Expected]:
    """Programs of one name that differ in one thing each, from one another or from the first."""
    changes: list[dict[str, Any]] = [
        {}, {"table": (5, 6, 7, 9)}, {"step": 2}, {"private_count": 3}, {"lanes": 8}, {"shown": (4, 28)}, {"length": 9},
        {"group": 16}, {"turned": True}, {"rule": 3}, {"own": 1}, {},
    ]  # fmt: skip
    values = _numbers(rng, 8)
    launches, outputs = [], []
    for change in changes:
        built, model = _like(**change)
        launches.append(
            Launch(program=built, inputs={"x": pack(u32, values)}, grid=(16 // built.workgroup_size[0], 1, 1))
        )
        outputs.append(model(values))
    return _session(launches, outputs)


def _like(
    *,
    table: Sequence[int] = (5, 6, 7, 8),
    step: int = 1,
    private_count: int = 4,
    lanes: int = 4,
    shown: tuple[int, int] = (0, 32),
    length: int = 8,
    group: int = 8,
    turned: bool = False,
    rule: int = 2,
    own: int = 2,
) -> tuple[Program, Callable[[Sequence[int]], list[bytes]]]:
    """A program with something of everything that code depends on, and what it gives."""
    with program("alike", group, subgroup_size=lanes) as p:
        x, cells = p.read("x", u32), p.constant("cells", u32, table)
        out = p.write("out", u32, length, output_range=(shown[0], min(shown[1], 4 * length)))
        more = p.write("more", u32, LengthOf("x", times=rule))
        private = p.private("private", u32, private_count)
        i = p.let(p.global_id(0))
        total = p.var(0, u32)
        with p.range(0, 4, step) as k:
            private[k] = k + 1
            total.set(total * 3 + cells[k] + private[3 - k])
        with p.if_(i < length):
            out[i] = (total - x[i]) if turned else (x[i] - total)
        more[i * own] = p.subgroup_lane() + 1
    built = p.build()

    def model(values: Sequence[int]) -> list[bytes]:
        known, total_ = [0] * 4, 0
        for k_ in range(0, 4, step):
            known[k_] = k_ + 1 if k_ < private_count else 0
            total_ = total_ * 3 + table[k_] + known[3 - k_]
        given = [*values, *[0] * 8][:length]
        results = pack(u32, [(total_ - v if turned else v - total_) % TOP for v in given])
        places = {n * own: n % lanes + 1 for n in range(16)}
        return [results[shown[0] : shown[1]], pack(u32, [places.get(n, 0) for n in range(8 * rule)])]

    return built, model


_HOST = ("calls", "calls_by_name", "calls_into", "calls_into_inputs", "calls_in_flight", "calls_in_batches")
_FOLLOWING = ("calls", "calls_over_residents", "sequence_of_calls")

PROGRAMS: dict[str, tuple[Build, Sequence[str]]] = {
    "recycled": (_recycled, (*_HOST, "calls_over_residents")),
    "axes": (_axes, _HOST),
    "lengths": (_lengths, _HOST),
    "persistent": (_persistent, (*_HOST, "calls_over_residents")),
    "grids": (_grids, (*_HOST, "calls_over_residents")),
    "made_grids": (_made_grids, _FOLLOWING),
    "alike": (_alike, ("calls",)),
}
"""What is launched, and the ways in which that is done."""

assert {way for _, ways in PROGRAMS.values() for way in ways} == {*SESSIONS}
