"""Every way into a backend, with programs of every kind; and what the backend says of itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, fixed, seeded
from vyre_conform.cases.values import pack
from vyre_conform.worker.claims import CLAIMS
from vyre_conform.worker.entries import CLAIM, ENTRIES
from vyre_conform.worker.sessions import SESSIONS
from vyre_foundation.build import program
from vyre_foundation.dtype import f32, i32, u8, u32
from vyre_foundation.ops import OPS

OWN = frozenset({"dispatch", "split", "budgeted", *SESSIONS})
"""What all other cases go through, what the laws are about, what elementary functions do within a budget, and what has
a group of its own."""
GROUP = 16


def specs() -> Iterator[Spec]:
    for entry in (name for name in ENTRIES if name not in OWN):
        for name, build in PROGRAMS.items():
            if not (entry == "sequence" and name in CHANGING):
                yield seeded(address("entries", entry, program=name), _through, entry, build)


def claims() -> Iterator[Spec]:
    for claim in CLAIMS:
        yield fixed(address("claims", claim), _claim, claim)


def _through(entry: str, build: object, rng: Random) -> tuple[Launch, Expected]:
    assert callable(build)
    launch, expected = build(rng)
    return replace(launch, entry=entry), expected


def _claim(name: str) -> tuple[Launch, Expected]:
    launch, expected = _out_of_bounds(Random(name))
    return replace(launch, entry=f"{CLAIM}{name}"), expected


def _floats(rng: Random) -> tuple[Launch, Expected]:
    """A map over floats, with sizes that are no multiple of the workgroup."""
    with program("entry_floats", GROUP) as p:
        x, y = p.read("x", f32), p.read("y", f32)
        out = p.write("out", f32, like=x)
        i = p.let(p.global_id(0))
        out[i] = x[i] * y[i] + x[i]
    xs, ys = ([float(rng.randint(-99, 99)) / 8 for _ in range(77)] for _ in "xy")
    mul, add = OPS["mul"], OPS["add"]
    values = [add.evaluate(f32, mul.evaluate(f32, a, b), a) for a, b in zip(xs, ys, strict=True)]
    launch = Launch(program=p.build(), inputs={"x": pack(f32, xs), "y": pack(f32, ys)})
    return launch, Exactly((pack(f32, values),), ("x", "y"))


def _out_of_bounds(rng: Random) -> tuple[Launch, Expected]:
    """Stores beside both ends of every buffer: what lies there stays as it is."""
    count = 40
    with program("entry_out_of_bounds", GROUP) as p:
        at = p.read("at", u32)
        small, large = p.write("small", u8, count), p.read_write("large", u32, count)
        i = p.let(p.global_id(0))
        with p.if_(i >= at.length):
            p.return_()
        small[at[i]] = (i + 1).cast(u8)
        large[at[i]] = i + 1
        small[i.cast(i32) - at.length.cast(i32)] = p.let(77, u8)
        large[count + i] = 77
    places = [*rng.sample(range(count), count // 2), count, count + 1, 2**31, 2**32 - 1]
    old = [rng.randrange(2**32) for _ in range(count)]
    bytes_, words = [0] * count, list(old)
    for n, place in enumerate(places):
        if place < count:
            bytes_[place], words[place] = n + 1, n + 1
    launch = Launch(program=p.build(), inputs={"at": pack(u32, places), "large": pack(u32, old)}, grid=(2, 1, 1))
    return launch, Exactly((bytes(bytes_), pack(u32, words)))


def _barriers(rng: Random) -> tuple[Launch, Expected]:
    """Workgroup memory and a grid barrier: several launches on many devices."""
    with program("entry_barriers", GROUP) as p:
        x = p.read("x", u32)
        out, sums = p.write("out", u32, like=x), p.scratch("sums", u32, 4)
        shared = p.workgroup("shared", u32, GROUP)
        i, local = p.let(p.global_id(0)), p.let(p.local_id(0))
        shared[local] = x[i]
        p.barrier()
        with p.if_(local == 0):
            total = p.var(0, u32)
            with p.range(0, GROUP) as n:
                total.set(total + shared[n])
            sums[p.workgroup_id(0)] = total
        p.grid_barrier()
        out[i] = sums[3 - p.workgroup_id(0)] + shared[(local + 1) % GROUP]
    values = [rng.randrange(2**32) for _ in range(4 * GROUP)]
    groups = [values[n : n + GROUP] for n in range(0, len(values), GROUP)]
    results = [
        (sum(groups[3 - g]) + groups[g][(n + 1) % GROUP]) % 2**32 for g in range(4) for n in range(GROUP)
    ]  # fmt: skip
    return Launch(program=p.build(), inputs={"x": pack(u32, values)}), Exactly((pack(u32, results),), ("x",))


def _counter(rng: Random) -> tuple[Launch, Expected]:
    """A buffer that is read and written by atomics, and an iterated launch."""
    with program("entry_counter", GROUP) as p:
        x, bins = p.read("x", u8), p.read_write("bins", u32, 8)
        i = p.let(p.global_id(0))
        with p.if_(i < x.length):
            bins.atomic_add(x[i] & 7, 1)
    data = rng.randbytes(100)
    start = [rng.randrange(1000) for _ in range(8)]
    counts = [start[n] + 3 * sum(b % 8 == n for b in data) for n in range(8)]
    launch = Launch(
        program=p.build(), inputs={"x": data, "bins": pack(u32, start)}, grid=(7, 1, 1), iterations=3
    )  # fmt: skip
    return launch, Exactly((pack(u32, counts),))


def _nothing(rng: Random) -> tuple[Launch, Expected]:
    """No elements: nothing is launched, and an empty output comes back."""
    with program("entry_nothing", GROUP) as p:
        x = p.read("x", u32)
        p.write("out", u32, like=x)[p.global_id(0)] = x[p.global_id(0)]
    return Launch(program=p.build(), inputs={"x": b""}), Exactly((b"",))


PROGRAMS = {
    "floats": _floats,
    "out_of_bounds": _out_of_bounds,
    "barriers": _barriers,
    "counter": _counter,
    "nothing": _nothing,
}
CHANGING = frozenset({"counter"})
"""Programs that give something else when they run again over what they left."""
