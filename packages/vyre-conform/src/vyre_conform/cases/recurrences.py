"""Recurrences: loops whose iterations depend on each other, which a compiler must not make vectors of.

Every invocation has a row of its own, in one of the memories, and a loop in which iterations depend on those that come
`distance` before or behind. The end of the loop differs between invocations, or is the same for all, or is written in
the program: then compilers know how many iterations there are, and unroll all of a short loop.

Totals of floats depend on each other through a variable or one element: in another order they have other bits.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from random import Random

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Size, Spec, seeded
from vyre_conform.cases.values import pack
from vyre_foundation.build import Array, Operand, ProgramBuilder, Value, apply, constant, program
from vyre_foundation.dtype import FLOATS, INTEGERS, DType, f32, f64, u32
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ops import OPS
from vyre_foundation.ops.scalar import Scalar, wrap

DISTANCES = range(1, 9)
FIRST = max(DISTANCES) + 1
ROWS = {"own": 80, "uniform": 80, "literal": 300, "short": 40}
"""Elements of a row, by what ends the loop."""
GROUP = 16
INVOCATIONS = GROUP + 1
GRID = (2, 1, 1)
"""Workgroups that have them. An invocation for each element would leave most without a row."""
MEMORIES = (Memory.STORAGE, Memory.WORKGROUP, Memory.PRIVATE)
HOMES = ("local", "element", "private")
"""Where the total of a loop is kept."""
TOTALS = ("add", "sub", "mul")
SCHEDULE = 64
"""Words of the message schedule of SHA-256."""

Row = list[Scalar]
Add = Callable[[Scalar, Scalar], Scalar]


class RowCells:
    """The row of an invocation: `count` elements of `array` from `start` on."""

    def __init__(self, array: Array, start: Operand, count: int) -> None:
        self._array, self._start, self.count, self.dtype = array, start, count, array.dtype

    def __getitem__(self, index: Operand) -> Value:
        return self._array[self._start + index]

    def __setitem__(self, index: Operand, value: Operand) -> None:
        self._array[self._start + index] = value


Body = Callable[[ProgramBuilder, RowCells, Operand, int], None]
"""What an invocation does to its row: the end of its loop, and the distance."""
Model = Callable[[Row, int, int, Add], None]
"""The same in Python, with the addition of the type."""


def specs() -> Iterator[Spec]:
    """All kinds on u32, and one kind on all types.

    The smallest run has two distances of a third of the kinds, and of the other types both, each in another memory.
    """
    for kind in KINDS:
        for memory in MEMORIES:
            for end in ROWS:
                yield from _distances(kind, memory, end, u32)
    others = [dtype for dtype in (*INTEGERS, *FLOATS) if dtype is not u32]
    for number, (dtype, memory) in enumerate(product(others, MEMORIES)):
        yield from _distances("flow", memory, "own", dtype, turn=number % 2)
    for op in TOTALS:
        for home in HOMES:
            for end in ROWS:
                for dtype in FLOATS:
                    at = address("recurrences", "total", op=op, home=home, end=end, dtype=dtype)
                    size = Size.CI if dtype in (f32, f64) and (op == "add" or home == "local") else Size.FULL
                    yield seeded(at, _total, op, home, end, dtype, size=size)
    for memory in MEMORIES:
        yield seeded(address("recurrences", "schedule", memory=memory.value), _schedule, memory)


def _distances(kind: str, memory: Memory, end: str, dtype: DType, turn: int | None = None) -> Iterator[Spec]:
    """All distances: the smallest run has two, or that of `turn`, or none."""
    keys = {"memory": memory.value, "end": end, "dtype": dtype}
    number = zlib.crc32(f"{kind} {memory.value} {end} {dtype}".encode())
    two = (2, 3 + number % 6)
    chosen = (two if number % 3 == 0 else ()) if turn is None else (two[turn],)
    for distance in DISTANCES:
        size = Size.CI if distance in chosen else Size.FULL
        at = address("recurrences", kind, **keys, distance=distance)
        yield seeded(at, _recurrence, kind, memory, end, dtype, distance, size=size)


def _recurrence(
    kind: str, memory: Memory, end: str, dtype: DType, distance: int, rng: Random
) -> tuple[Launch, Expected]:
    body, model = KINDS[kind]
    count = ROWS[end]
    with program(f"recurrence_{kind}", GROUP) as p:
        ends, out = p.read("ends", u32, INVOCATIONS + 1), p.read_write("out", dtype, INVOCATIONS * count)
        i = p.let(p.global_id(0))
        with p.if_(i < INVOCATIONS):
            stop = {"own": ends[i], "uniform": ends[0]}.get(end, constant(u32, count))
            there = RowCells(out, i * count, count)
            with _near(p, memory, there, ends[INVOCATIONS]) as here:
                body(p, here, p.let(stop), distance)
    rows = [[_number(dtype, rng.randrange(50)) for _ in range(count)] for _ in range(INVOCATIONS)]
    stops = [rng.randrange(FIRST + 20, count + 1) for _ in range(INVOCATIONS)]
    inputs = {"ends": pack(u32, [*stops, count]), "out": _packed(dtype, rows)}
    for row, own in zip(rows, stops, strict=True):
        model(row, {"own": own, "uniform": stops[0]}.get(end, count), distance, _addition(dtype))
    return Launch(program=p.build(), inputs=inputs, grid=GRID), Exactly((_packed(dtype, rows),))


def _total(op: str, home: str, end: str, dtype: DType, rng: Random) -> tuple[Launch, Expected]:
    """A row is combined from left to right. The elements are rounded quotients, so every order has bits of its own."""
    count = ROWS[end]
    with program("total", GROUP) as p:
        ends, rows = p.read("ends", u32, INVOCATIONS), p.read("rows", dtype, INVOCATIONS * count)
        out = p.read_write("out", dtype, INVOCATIONS)
        i = p.let(p.global_id(0))
        with p.if_(i < INVOCATIONS):
            stop = p.let({"own": ends[i], "uniform": ends[0]}.get(end, constant(u32, count)))
            if home == "local":
                local = p.var(out[i])
                with p.range(0, stop) as k:
                    local.set(apply(op, local, rows[i * count + k]))
                out[i] = local
            elif home == "private":
                own = p.private("own", dtype, 2)
                own[i & 1] = out[i]
                with p.range(0, stop) as k:
                    own[i & 1] = apply(op, own[i & 1], rows[i * count + k])
                out[i] = own[i & 1]
            else:
                with p.range(0, stop) as k:
                    out[i] = apply(op, out[i], rows[i * count + k])

    def value() -> Scalar:
        return OPS["div"].evaluate(dtype, float(rng.randrange(20, 40)), 29.0)

    given = [[value() for _ in range(count)] for _ in range(INVOCATIONS)]
    totals: Row = [value() for _ in range(INVOCATIONS)]
    stops = [rng.randrange(FIRST + 20, count + 1) for _ in range(INVOCATIONS)]
    inputs = {"ends": pack(u32, stops), "rows": _packed(dtype, given), "out": pack(dtype, totals)}
    for n, (row, length) in enumerate(zip(given, stops, strict=True)):
        for x in row[: {"own": length, "uniform": stops[0]}.get(end, count)]:
            totals[n] = OPS[op].evaluate(dtype, totals[n], x)
    return Launch(program=p.build(), inputs=inputs), Exactly((pack(dtype, totals),))


@contextmanager
def _near(p: ProgramBuilder, memory: Memory, there: RowCells, count: Value) -> Iterator[RowCells]:
    """A row in a memory, filled from storage and copied back: `count` elements, unknown before the launch."""
    match memory:
        case Memory.WORKGROUP:
            here = RowCells(
                p.workgroup("rows", there.dtype, GROUP * there.count), p.local_id(0) * there.count, there.count
            )
        case Memory.PRIVATE:
            here = RowCells(p.private("row", there.dtype, there.count), constant(u32, 0), there.count)
        case _:
            here = there
    if here is not there:
        with p.range(0, count) as k:
            here[k] = there[k]
    yield here
    if here is not there:
        with p.range(0, count) as k:
            there[k] = here[k]


def _packed(dtype: DType, rows: list[Row]) -> bytes:
    return pack(dtype, [value for row in rows for value in row])


def _number(dtype: DType, value: int) -> Scalar:
    return float(value) if dtype.is_float else value


def _addition(dtype: DType) -> Add:
    return lambda a, b: OPS["add"].evaluate(dtype, a, _number(dtype, b) if isinstance(b, int) else b)


# ── loops and their models ───────────────────────────────────────────────────────────────────────────────────────────


def _flow(p: ProgramBuilder, a: RowCells, end: Operand, d: int) -> None:
    with p.range(FIRST, end) as t:
        a[t] = a[t - d] + 1


def _flow_model(a: Row, end: int, d: int, add: Add) -> None:
    for t in range(FIRST, end):
        a[t] = add(a[t - d], 1)


def _terms(p: ProgramBuilder, a: RowCells, end: Operand, d: int) -> None:
    with p.range(FIRST, end) as t:
        a[t] = a[t - d] + a[t - d - 1]


def _terms_model(a: Row, end: int, d: int, add: Add) -> None:
    for t in range(FIRST, end):
        a[t] = add(a[t - d], a[t - d - 1])


def _ahead(p: ProgramBuilder, a: RowCells, end: Operand, d: int) -> None:
    """An iteration reads what a later one writes."""
    with p.range(0, _before(end, d)) as t:
        a[t] = a[t + d] + 1


def _ahead_model(a: Row, end: int, d: int, add: Add) -> None:
    for t in range(end - d):
        a[t] = add(a[t + d], 1)


def _written_before(p: ProgramBuilder, a: RowCells, end: Operand, d: int) -> None:
    """The same with the store in front of the load."""
    total = p.var(a[0])
    with p.range(0, _before(end, d)) as t:
        a[t] = a[t] + 1
        total.set(total + a[t + d])
    a[0] = total


def _written_before_model(a: Row, end: int, d: int, add: Add) -> None:
    total = a[0]
    for t in range(end - d):
        a[t] = add(a[t], 1)
        total = add(total, a[t + d])
    a[0] = total


def _stored_twice(p: ProgramBuilder, a: RowCells, end: Operand, d: int) -> None:
    """Two iterations write one element."""
    with p.range(0, _before(end, d)) as t:
        a[t] = a[t] + 1
        a[t + d] = 7


def _stored_twice_model(a: Row, end: int, d: int, add: Add) -> None:
    for t in range(end - d):
        a[t] = add(a[t], 1)
        a[t + d] = add(a[t + d], 0) * 0 + 7


def _downwards(p: ProgramBuilder, a: RowCells, end: Operand, d: int) -> None:
    with p.range(FIRST, end) as t:
        a[a.count - 1 - t] = a[a.count - 1 - t + d] + 1


def _downwards_model(a: Row, end: int, d: int, add: Add) -> None:
    for t in range(FIRST, end):
        a[len(a) - 1 - t] = add(a[len(a) - 1 - t + d], 1)


def _strided(p: ProgramBuilder, a: RowCells, end: Operand, d: int) -> None:
    with p.range(FIRST, end, 2) as t:
        a[t] = a[t - d] + 1


def _strided_model(a: Row, end: int, d: int, add: Add) -> None:
    for t in range(FIRST, end, 2):
        a[t] = add(a[t - d], 1)


def _branch(p: ProgramBuilder, a: RowCells, end: Operand, d: int) -> None:
    with p.range(FIRST, end) as t, p.if_(t % 3 != 1):
        a[t] = a[t - d] + 1


def _branch_model(a: Row, end: int, d: int, add: Add) -> None:
    for t in range(FIRST, end):
        if t % 3 != 1:
            a[t] = add(a[t - d], 1)


def _left(p: ProgramBuilder, a: RowCells, end: Operand, d: int) -> None:
    """The loop is left when an element is large enough."""
    with p.range(FIRST, end) as t:
        a[t] = a[t - d] + 1
        with p.if_(a[t] > 55):
            p.break_()


def _left_model(a: Row, end: int, d: int, add: Add) -> None:
    for t in range(FIRST, end):
        a[t] = add(a[t - d], 1)
        if a[t] > 55:
            break


def _sweeps(p: ProgramBuilder, a: RowCells, end: Operand, d: int) -> None:
    """A loop in a loop, both of which carry it."""
    with p.range(0, 3), p.range(FIRST, end) as t:
        a[t] = a[t - d] + a[t]


def _sweeps_model(a: Row, end: int, d: int, add: Add) -> None:
    for _ in range(3):
        for t in range(FIRST, end):
            a[t] = add(a[t - d], a[t])


def _short_inside(p: ProgramBuilder, a: RowCells, end: Operand, d: int) -> None:
    """A loop that compilers unroll, in the loop that carries it."""
    with p.range(3, apply("div", end, 4)) as t, p.range(0, 4) as k:
        a[t * 4 + k] = a[t * 4 + k - d] + 1


def _short_inside_model(a: Row, end: int, d: int, add: Add) -> None:
    for t in range(12, end // 4 * 4):
        a[t] = add(a[t - d], 1)


def _halves(p: ProgramBuilder, a: RowCells, end: Operand, d: int) -> None:
    """Two sequences that need each other, one behind the other in the row."""
    half = a.count // 2
    with p.range(FIRST, apply("div", end, 2)) as t:
        a[t] = a[t - d + half] + 1
        a[t + half] = a[t - 1] + a[t]


def _halves_model(a: Row, end: int, d: int, add: Add) -> None:
    half = len(a) // 2
    for t in range(FIRST, end // 2):
        a[t] = add(a[t - d + half], 1)
        a[t + half] = add(a[t - 1], a[t])


def _before(end: Operand, d: int) -> Value:
    """`end - d`; no end is less than that."""
    return apply("sub", end, d)


# fmt: off
KINDS: dict[str, tuple[Body, Model]] = {
    "flow":           (_flow, _flow_model),
    "terms":          (_terms, _terms_model),
    "ahead":          (_ahead, _ahead_model),
    "written_before": (_written_before, _written_before_model),
    "overwritten":    (_stored_twice, _stored_twice_model),
    "downwards":      (_downwards, _downwards_model),
    "strided":        (_strided, _strided_model),
    "branch":         (_branch, _branch_model),
    "left":           (_left, _left_model),
    "sweeps":         (_sweeps, _sweeps_model),
    "short_inside":   (_short_inside, _short_inside_model),
    "halves":         (_halves, _halves_model),
}
# fmt: on


# ── the message schedule of SHA-256 ──────────────────────────────────────────────────────────────────────────────────


def _schedule(memory: Memory, rng: Random) -> tuple[Launch, Expected]:
    """As many words of it as each invocation asks for (FIPS 180-4, 6.2.2)."""
    with program("schedule", GROUP) as p:
        ends, out = p.read("ends", u32, INVOCATIONS + 1), p.read_write("out", u32, INVOCATIONS * SCHEDULE)
        i = p.let(p.global_id(0))
        with p.if_(i < INVOCATIONS):
            there = RowCells(out, i * SCHEDULE, SCHEDULE)
            with _near(p, memory, there, ends[INVOCATIONS]) as w, p.range(16, ends[i]) as t:
                a, b = p.let(w[t - 15]), p.let(w[t - 2])
                s0 = apply("rotr", a, 7) ^ apply("rotr", a, 18) ^ (a >> 3)
                s1 = apply("rotr", b, 17) ^ apply("rotr", b, 19) ^ (b >> 10)
                w[t] = w[t - 16] + s0 + w[t - 7] + s1
    blocks = [[rng.getrandbits(32) for _ in range(16)] for _ in range(INVOCATIONS)]
    stops = [rng.randrange(17, SCHEDULE + 1) for _ in range(INVOCATIONS)]
    given = [word for block in blocks for word in _padded(block)]
    words = [word for block, stop in zip(blocks, stops, strict=True) for word in _padded(_scheduled(block, stop))]
    inputs = {"ends": pack(u32, [*stops, SCHEDULE]), "out": pack(u32, given)}
    return Launch(program=p.build(), inputs=inputs, grid=GRID), Exactly((pack(u32, words),))


def _padded(words: list[int]) -> list[int]:
    return words + [0] * (SCHEDULE - len(words))


def _scheduled(block: list[int], stop: int) -> list[int]:
    w = list(block)
    for t in range(16, stop):
        s0 = _rotated(w[t - 15], 7) ^ _rotated(w[t - 15], 18) ^ w[t - 15] >> 3
        s1 = _rotated(w[t - 2], 17) ^ _rotated(w[t - 2], 19) ^ w[t - 2] >> 10
        w.append(int(wrap(u32, w[t - 16] + s0 + w[t - 7] + s1)))
    return w


def _rotated(x: int, by: int) -> int:
    return (x >> by | x << 32 - by) & 0xFFFF_FFFF
