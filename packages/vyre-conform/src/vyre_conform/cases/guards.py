"""Guards that are nearly right: what a condition does not prove has to be checked, beside canaries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, fixed, seeded
from vyre_conform.cases.values import pack
from vyre_foundation.build import program, select
from vyre_foundation.dtype import bool_, i8, i16, i32, u8, u16, u32
from vyre_foundation.ir.buffer import LengthOf

GROUP = 16
TOP = 2**32


def specs() -> Iterator[Spec]:
    yield seeded(address("guards", "at_most"), _at_most)
    yield seeded(address("guards", "lengths_by_rule"), _rules)
    yield seeded(address("guards", "narrowed"), _narrowed)
    yield seeded(address("guards", "xor"), _xor)
    yield fixed(address("guards", "limits_near_the_end"), _limits)
    yield fixed(address("guards", "counters_near_the_end"), _counters)
    yield seeded(address("guards", "either_of_two"), _either)
    yield seeded(address("guards", "not_zero"), _not_zero)
    yield seeded(address("guards", "shorter_than_the_loop"), _shorter)


def _guarded(launch: Launch) -> Launch:
    """Buffers are windows of larger memory, so that nothing beside them is zero by chance."""
    return replace(launch, entry="canaries")


def _at_most(rng: Random) -> tuple[Launch, Expected]:
    """``i <= n`` lets one through for which there is no element, whether n is a number, a length or read."""
    count = 21
    with program("at_most", GROUP) as p:
        a, b, c, d = (p.read(name, u32) for name in "abcd")
        limit = p.uniform("limit", u32, 1)
        numbers, lengths, loaded = (p.write(name, u32, count + 4) for name in ("numbers", "lengths", "loaded"))
        behind = p.write("behind", u32, count + 4)
        i = p.let(p.global_id(0))
        with p.if_(i <= count):
            numbers[i] = a[i] + 1
        with p.if_(b.length >= i):
            lengths[i] = b[i] + 2
        with p.if_(i <= limit[0]):
            loaded[i] = c[i] + 3
        with p.if_(i > d.length):
            p.return_()
        behind[i] = d[i] + 4
    columns = [[rng.randrange(2**30) for _ in range(count)] for _ in range(4)]
    rows = [[*(v + more for v in column), more, 0, 0, 0] for more, column in enumerate(columns, 1)]
    inputs = {name: pack(u32, column) for name, column in zip("abcd", columns, strict=True)}
    launch = Launch(program=p.build(), inputs=inputs | {"limit": pack(u32, [count])})
    return _guarded(launch), Exactly(tuple(pack(u32, row) for row in rows))


def _rules(rng: Random) -> tuple[Launch, Expected]:
    """Lengths that follow from others are longer or shorter: a guard for one of them says nothing of the other."""
    count = 21
    half = -(-count // 2)
    with program("rules", GROUP) as p:
        x = p.read("x", u32)
        y, z = p.read("y", u32, like=x), p.read("z", u32, like=x)
        longer, twice = p.write("longer", u32, LengthOf("x", plus=3)), p.write("twice", u32, LengthOf("x", times=2))
        halves = p.write("halves", u32, LengthOf("x", over=2))
        short = p.scratch("short", u32, LengthOf("x", over=2))
        i = p.let(p.global_id(0))
        with p.if_(i < longer.length):
            longer[i] = y[i] + 1
        with p.if_(i < twice.length):
            twice[i] = z[i] + halves.length
        with p.if_(i < x.length):
            short[i] = x[i] + 2
            halves[i] = short[i] + 3
    xs, ys, zs = ([rng.randrange(2**30) for _ in range(count)] for _ in "xyz")
    rows = ([*(v + 1 for v in ys), 1, 1, 1], [*(v + half for v in zs), *[half] * count], [v + 5 for v in xs[:half]])
    launch = Launch(program=p.build(), inputs={"x": pack(u32, xs), "y": pack(u32, ys), "z": pack(u32, zs)})
    return _guarded(launch), Exactly(tuple(pack(u32, row) for row in rows))


def _narrowed(rng: Random) -> tuple[Launch, Expected]:
    """An id that is narrowed counts from 0 again: what is known of the id is not known of that."""
    count = 300
    with program("narrowed", 64) as p:
        x, table, long = p.read("x", u32), p.read("table", u32, 200), p.read("long", u32, count)
        bytes_, words = p.write("bytes", u32, like=x), p.write("words", u32, like=x)
        stored = p.write("stored", u32, like=x)
        i = p.let(p.global_id(0))
        with p.if_(i < 200):
            stored[i.cast(u8).cast(u16) + 50] = x[i] + long[(i + 100).cast(i8)]
        with p.if_(i < x.length):
            bytes_[i] = table[i.cast(u8)] + 1
            words[i] = table[(i + 65_500).cast(u16)] + table[(i + 32_700).cast(i16)]
    values, cells = ([rng.randrange(2**30) for _ in range(n)] for n in (count, 200))

    def cell(at: int) -> int:
        return cells[at] if 0 <= at < 200 else 0

    def far(at: int) -> int:
        at = (at + 128) % 256 - 128
        return values[at] if at >= 0 else 0

    rows = (
        [cell(n % 256) + 1 for n in range(count)],
        [cell((n + 65_500) % 65_536) + cell((n + 32_700 + 32_768) % 65_536 - 32_768) for n in range(count)],
        [values[n - 50] + far(n + 50) if 50 <= n < 250 else 0 for n in range(count)],
    )
    inputs = {"x": pack(u32, values), "table": pack(u32, cells), "long": pack(u32, values)}
    return _guarded(Launch(program=p.build(), inputs=inputs)), Exactly(tuple(pack(u32, row) for row in rows))


def _xor(rng: Random) -> tuple[Launch, Expected]:
    """The neighbour by xor of an index that is in bounds may be out of bounds."""
    count = 21
    with program("xor_index", GROUP) as p:
        x = p.read("x", u32, count)
        out, inner = p.write("out", u32, count), p.write("inner", u32, count)
        shared, own = p.workgroup("shared", u32, 11), p.private("own", u32, 6)
        i, local = p.let(p.global_id(0)), p.let(p.local_id(0))
        shared[local] = i + 40
        with p.range(0, 6) as k:
            own[k] = i + k
        p.barrier()
        with p.if_(i < count):
            out[i] = x[i ^ 5] + x[i ^ 16]
            inner[i] = select(local < 11, shared[local ^ 4], 0) * 1000 + own[local % 6 ^ 3]
    values = [rng.randrange(2**30) for _ in range(count)]
    expected = [sum(values[at] for at in (n ^ 5, n ^ 16) if at < count) for n in range(count)]
    inside = []
    for n in range(count):
        local_ = n % GROUP
        shared_ = n - local_ + (local_ ^ 4) + 40 if local_ < 11 and local_ ^ 4 < 11 else 0
        inside.append(shared_ * 1000 + (n + (local_ % 6 ^ 3) if local_ % 6 ^ 3 < 6 else 0))
    launch = Launch(program=p.build(), inputs={"x": pack(u32, values)})
    return _guarded(launch), Exactly((pack(u32, expected), pack(u32, inside)))


def _limits() -> tuple[Launch, Expected]:
    """Sums and differences of ids and limits wrap: a limit near the end of the type plus a little is a small one."""
    count = 40
    limits = [TOP - 1, TOP - 8, 5, 0]
    with program("limits", GROUP) as p:
        limit = p.uniform("limit", u32, 4)
        names = ("below", "wrapped", "far", "minus", "signed")
        below, wrapped, far, minus, signed = (p.write(name, u32, count) for name in names)
        i = p.let(p.global_id(0))
        with p.if_(i < limit[0]):
            below[i] = i + 1
        with p.if_(i < limit[1] + 20):
            wrapped[i] = i + 2
        with p.if_(i + limit[1] < limit[0]):
            far[i] = i + 3
        with p.if_(i < limit[2] - 7):
            minus[i] = i + 4
        with p.if_(i.cast(i32) < (limit[1] + 2**31 + 9).cast(i32)):
            signed[i] = i + 5
    rows = (
        [n + 1 for n in range(count)],
        [n + 2 if n < 12 else 0 for n in range(count)],
        [n + 3 if (n + TOP - 8) % TOP < TOP - 1 else 0 for n in range(count)],
        [n + 4 for n in range(count)],
        [0] * count,
    )
    launch = Launch(program=p.build(), inputs={"limit": pack(u32, limits)})
    return _guarded(launch), Exactly(tuple(pack(u32, row) for row in rows))


def _counters() -> tuple[Launch, Expected]:
    """Loops from a first number that an id is added to, up to a limit near the end of the type."""
    count, first, stop = 20, TOP - 12, TOP - 2
    with program("near_the_end", 8) as p:
        x, ends = p.read("x", u32), p.uniform("ends", u32, 3)
        iterations, sums, steps = (p.write(name, u32, count) for name in ("rounds", "sums", "steps"))
        i = p.let(p.global_id(0))
        done, total, taken = p.var(0, u32), p.var(0, u32), p.var(0, u32)
        with p.range(ends[0] + i % 12, ends[1]) as k:
            done.set(done + 1)
            total.set(total + x[k + 12] + x[k])
        with p.range(ends[0], ends[1] + ends[2], 3) as k:
            taken.set(taken * 7 + x[k - (ends[0] - i)] + 1)
        iterations[i] = done
        sums[i] = total
        steps[i] = taken
    values = [1000 + n for n in range(count)]

    def at(index: int) -> int:
        return values[index % TOP] if index % TOP < count else 0

    rows: list[list[int]] = [[], [], []]
    for n in range(count):
        counted = range(first + n % 12, stop)
        rows[0].append(len(counted))
        rows[1].append(sum(at(k + 12) + at(k) for k in counted))
        result = 0
        for counter in range(first, stop + 1, 3):
            result = (result * 7 + at(counter - first + n) + 1) % TOP
        rows[2].append(result)
    inputs = {"x": pack(u32, values), "ends": pack(u32, [first, stop, 1])}
    return _guarded(Launch(program=p.build(), inputs=inputs)), Exactly(tuple(pack(u32, row) for row in rows))


def _either(rng: Random) -> tuple[Launch, Expected]:
    """Behind ``or`` none of the two conditions is known; behind a branch that may go on, nothing."""
    count, more = 21, 32
    with program("either", GROUP) as p:
        x, y = p.read("x", u32, count), p.read("y", u32, count)
        flags, marks = p.read("flags", u32, more), p.read("marks", u32, more)
        either, behind = p.write("either", u32, more), p.write("behind", u32, more)
        i = p.let(p.global_id(0))
        with p.if_((i < count) | (flags[i] == 1)):
            either[i] = x[i] + 1
        with p.if_(i >= count), p.if_(marks[i] == 1):
            p.return_()
        behind[i] = y[i] + 2
    xs, ys = ([rng.randrange(2**30) for _ in range(count)] for _ in "xy")
    flagged, marked = ([rng.randrange(2) for _ in range(more)] for _ in "fm")
    rows = (
        [xs[n] + 1 if n < count else flagged[n] for n in range(more)],
        [ys[n] + 2 if n < count else 0 if marked[n] else 2 for n in range(more)],
    )
    inputs = {"x": xs, "y": ys, "flags": flagged, "marks": marked}
    launch = Launch(program=p.build(), inputs={name: pack(u32, column) for name, column in inputs.items()})
    return _guarded(launch), Exactly(tuple(pack(u32, row) for row in rows))


def _not_zero(rng: Random) -> tuple[Launch, Expected]:
    """A load that is not zero is within bounds. One that may be zero need not be, whatever it is compared with."""
    count, more = 21, 32
    with program("not_zero", GROUP) as p:
        links, marks = p.read("links", u32, more), p.read("marks", u32)
        flags, levels = p.read("flags", bool_, like=marks), p.read("levels", i32, like=marks)
        level, places = p.uniform("level", u32, 1), p.read("places", i32, more)
        names = ("equal", "unknown", "unequal", "less", "flagged", "unset", "high", "low", "bound")
        equal, unknown, unequal, less, flagged, unset, high, low, bound = (p.write(n, u32, like=marks) for n in names)
        i = p.let(p.global_id(0))
        j, k = p.let(links[i]), p.let(places[i])
        with p.if_(marks[j] == 2):
            equal[j] = i + 1
        with p.if_(marks[j] == level[0]):
            unknown[j] = i + 2
        with p.if_(marks[j] != 2):
            unequal[j] = i + 3
        with p.if_(marks[j] < 2):
            less[j] = i + 4
        with p.if_(flags[j]):
            flagged[j] = i + 5
        with p.else_():
            unset[j] = i + 6
        with p.if_(levels[k] > 0):
            high[k] = i + 7
        with p.if_(levels[k] > -1):
            low[k] = i + 8
        mark = p.let(marks[j])
        with p.if_((mark >= 1) & (i < more)):
            bound[j] = i + 9
    linked = rng.sample(range(more), more)
    placed = [at - 5 for at in rng.sample(range(more), more)]
    marked, flag = [rng.randrange(3) for _ in range(count)], [rng.randrange(2) for _ in range(count)]
    levelled = [rng.randrange(-2, 3) for _ in range(count)]
    by_link, by_place = {j: n for n, j in enumerate(linked)}, {k: n for n, k in enumerate(placed)}

    def column(at: dict[int, int], more: int, is_there: list[bool]) -> bytes:
        return pack(u32, [at[j] + more if there else 0 for j, there in enumerate(is_there)])

    rows = (
        column(by_link, 1, [mark == 2 for mark in marked]),
        column(by_link, 2, [mark == 0 for mark in marked]),
        column(by_link, 3, [mark != 2 for mark in marked]),
        column(by_link, 4, [mark < 2 for mark in marked]),
        column(by_link, 5, [bool(f) for f in flag]),
        column(by_link, 6, [not f for f in flag]),
        column(by_place, 7, [level > 0 for level in levelled]),
        column(by_place, 8, [level > -1 for level in levelled]),
        column(by_link, 9, [mark >= 1 for mark in marked]),
    )
    inputs = {
        "links": pack(u32, linked),
        "marks": pack(u32, marked),
        "flags": pack(bool_, flag),
        "levels": pack(i32, levelled),
        "level": pack(u32, [0]),
        "places": pack(i32, placed),
    }
    return _guarded(Launch(program=p.build(), inputs=inputs)), Exactly(rows)


def _shorter(rng: Random) -> tuple[Launch, Expected]:
    """Buffers with fewer elements than the workgroup has invocations, beside a condition that most of those share."""
    group, count = 64, 5
    with program("shorter", group) as p:
        a, few, i = p.read("a", u32, count), p.read_write("few", u32, count), p.let(p.local_id(0))
        few[i * 3] = select(p.global_id(0) > 0, i, 77)
        p.write("out", u32, group)[p.global_id(0)] = select(p.global_id(0) > 0, a[i * 3], 99)
    values, old = ([rng.randrange(1, TOP) for _ in range(count)] for _ in range(2))
    stored = [77, old[1], old[2], 1, old[4]]
    loaded = [99] + [values[3 * n] if 3 * n < count else 0 for n in range(1, group)]
    launch = Launch(program=p.build(), inputs={"a": pack(u32, values), "few": pack(u32, old)}, grid=(1, 1, 1))
    return _guarded(launch), Exactly((pack(u32, stored), pack(u32, loaded)))
