"""Random loops along rows: for what loads pieces of rows as vectors, and what takes checks out of loops.

Every invocation walks along rows that are its own: by counters of loops, forwards and backwards, by places that move,
at widths that the program states or reads. The lengths of arrays differ from those of all rows, so elements are out of
bounds; indices wrap. Loops are nested, short or without an iteration, and left early. Each invocation stores into its
own elements alone.
"""

from __future__ import annotations

from random import Random

from vyre_foundation.build import Mutable, ProgramBuilder, Value, constant, select
from vyre_foundation.dtype import DType, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from vyre_foundation.testing.generator import GeneratedProgram
from vyre_foundation.testing.values import random_bytes

_TYPES = (u8, i8, u16, i16, u32, i32, u64, i64, f16, f32, f32, f64)
_SIZES = (64, 64, 32, 100, 16, 1)
_GROUPS = 2
_WIDTHS = ((0, 3), (5, 16), (17, 4), (40, 1), (33, 20), (64, 2))
"""Pairs of widths that a program reads."""
_KNOWN = (1, 2, 3, 4, 5, 8, 16, 17, 20, 24, 40, 64)
"""Widths that it states."""
_STORED = 80
"""Elements into which an invocation stores at most: more than any loop has iterations."""
_NESTED = 2
"""Loops within each other."""


def row_walk(seed: int) -> GeneratedProgram:
    """The program of a seed, the same in every process, and a launch of it."""
    return _RowWalk(seed).generated()


class _RowWalk:
    def __init__(self, seed: int) -> None:
        self._seed, self._rng = seed, Random(f"row walk {seed}")
        self._dtype: DType = self._rng.choice(_TYPES)
        self._size, self._widths = self._rng.choice(_SIZES), self._rng.choice(_WIDTHS)
        self._inputs: dict[str, bytes] = {}
        self._p = ProgramBuilder(f"row_walk_{seed}", self._size, None)

    def generated(self) -> GeneratedProgram:
        rng, dtype, invocations = self._rng, self._dtype, self._size * _GROUPS
        count = max(1, invocations - rng.choice((0, 1, 5)))
        walked = invocations * max(self._widths)
        with self._p as p:
            self._x, self._y = p.read("x", dtype), p.read("y", dtype)
            self._inputs["x"] = self._elements(rng.choice((3 * walked, walked, walked - 7, 50)))
            self._inputs["y"] = self._elements(rng.choice((walked, 40)))
            self._n, self._starts = p.read("n", u32, 2), p.read("starts", u32, 64)
            self._inputs["n"] = b"".join(width.to_bytes(4, "little") for width in self._widths)
            self._inputs["starts"] = b"".join(rng.randrange(130).to_bytes(4, "little") for _ in range(64))
            out, self._rows = p.write("out", dtype, count), p.read_write("rows", dtype)
            self._inputs["rows"] = self._elements(rng.choice((count, invocations)) * _STORED)
            self._i = p.let(p.global_id(0))
            with p.if_(self._i < rng.choice((count, self._n[0] * 4, 70))):
                self._place = p.var(self._i)
                self._sums = [p.var(value, dtype) for value in (1, 2)]
                for _ in range(rng.randint(1, 2)):
                    self._loop([])
                with p.range(0, rng.choice((4, 8, 16, 17, 40, self._n[0], self._n[0], self._n[0]))) as k:
                    for variable in self._sums:
                        self._change(variable, [k])
                    self._move()
                out[self._i] = self._sums[0] + self._sums[1]
        grid = (_GROUPS, 1, 1)
        return GeneratedProgram(seed=self._seed, program=p.build(), inputs=self._inputs, grid=grid, iterations=1)

    def _elements(self, count: int) -> bytes:
        """A pattern of elements again and again: random ones for all would take too long."""
        count, pattern = max(1, count), random_bytes(self._rng, self._dtype, 61)
        size = count * self._dtype.size
        return (pattern * (size // len(pattern) + 1))[:size]

    # ── statements ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _loop(self, counters: list[Value]) -> None:
        p, rng = self._p, self._rng
        ends: tuple[int | Value, ...] = (4, 8, 16, 17, 40, self._n[0], self._n[0], self._n[0] + (self._i & 3))
        start, step = rng.choice((0, 0, 0, 1, 3, self._n[1])), rng.choice((1, 1, 1, 1, 2))
        with p.range(start, rng.choice(ends if not counters else ends[:4]), step) as k:
            self._statements([*counters, k])

    def _statements(self, counters: list[Value]) -> None:
        p, rng = self._p, self._rng
        for _ in range(rng.randint(1, 3)):
            match rng.choice(("sum", "sum", "sum", "store", "move", "branch", "leave", "loop")):
                case "sum":
                    self._change(rng.choice(self._sums), counters)
                case "store":
                    self._rows[self._own(rng.choice(counters))] = self._value(counters)
                case "move":
                    self._move()
                case "branch":
                    with p.if_(self._value(counters) < self._value(counters)):
                        self._change(rng.choice(self._sums), counters)
                    if rng.random() < 0.5:
                        with p.else_():
                            self._change(rng.choice(self._sums), counters)
                case "leave":
                    with p.if_(self._value(counters) == self._value(counters)):
                        rng.choice((p.break_, p.continue_))()
                case _ if len(counters) < _NESTED:
                    self._loop(counters)

    def _move(self) -> None:
        place = self._place.get()
        self._place.set(self._rng.choice((place + 1, place * 3 & 63, place ^ self._i)))

    def _change(self, variable: Mutable, counters: list[Value]) -> None:
        value = self._value(counters)
        variable.set(self._rng.choice((value, variable + value, variable * 3 + value, variable * value)))

    # ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def _value(self, counters: list[Value], depth: int = 0) -> Value:
        rng = self._rng
        choice = rng.random()
        if depth == 2 or choice < 0.2:
            plain = rng.choice(self._sums).get(), constant(self._dtype, rng.randint(0, 6))
            return rng.choice((*plain, rng.choice(counters).cast(self._dtype)))
        if choice < 0.7:
            return rng.choice((self._x, self._x, self._x, self._y))[self._index(rng.choice(counters))]
        a, b = (self._value(counters, depth + 1) for _ in range(2))
        return rng.choice((a + b, a - b, a * b, select(a < b, b, a)))

    def _index(self, k: Value) -> Value:
        """Where an element of a row is, which may be another invocation's row too."""
        rng, n, i = self._rng, self._n, self._i
        width = rng.choice((n[0], n[0], n[1], constant(u32, rng.choice(_KNOWN))))
        others = i * 3 + k, self._starts[i & 63], self._place.get(), i & 7, i ^ 1, i // 2, i % 5
        row = rng.choice((*[i] * 5, *others))
        first = row * width
        match rng.randrange(16):
            case 0:
                return first + (width - 1 - k)
            case 1:
                return self._x.length - 1 - first - k
            case 2:
                return row.cast(u64) * width.cast(u64) + k.cast(u64)
            case 3:
                return first + k + rng.randint(0, 3)
            case 4:
                return first + k - rng.randint(0, 2)
            case 5:
                return k * width + row
            case 6:
                return row + width - k
            case 7:
                return k
            case _:
                return first + k

    def _own(self, k: Value) -> Value:
        """Where an element of the invocation's own row of `rows` is."""
        first = self._i * _STORED
        return self._rng.choice((first + k, k + first, first + k + 1, first + (63 - k & 63), first + (k & 15)))
