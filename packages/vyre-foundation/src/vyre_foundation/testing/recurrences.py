"""Random loops whose iterations depend on each other through memory or a variable: what must not become vectors.

Every invocation has a row of its own in each of a few arrays, of any memory. Loops store into rows what they make of
elements a few iterations before or behind, in the same row or another: upwards or downwards, in steps, under
conditions, inside of each other. No index leaves its row, so no other invocation sees it.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from vyre_foundation.build import Array, ProgramBuilder, Value, apply, constant
from vyre_foundation.dtype import FLOATS, INTEGERS, f32, f64, i32, i64, u8, u32
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.testing.generator import GeneratedProgram
from vyre_foundation.testing.values import random_bytes, random_literal

_TYPES = (u32, u32, u32, i32, f32, f32, u8, i64, f64, *INTEGERS, *FLOATS)
_MEMORIES = (Memory.STORAGE, Memory.WORKGROUP, Memory.PRIVATE, Memory.SCRATCH)
_FARTHEST = 9
"""Elements from the middle of a loop's reach to its ends."""
_LENGTHS = (24, 33, 48, 64, 100)
_WORKGROUP_BYTES = 8192
"""Of one array."""


@dataclass(frozen=True, slots=True)
class _Row:
    """The elements of one invocation: those of `array` from `first` on."""

    array: Array
    first: Value


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an iteration stands: its element of every row is ``counter * scale + offset``, or as far from the end."""

    counter: Value
    scale: int
    is_downwards: bool


def recurrence(seed: int) -> GeneratedProgram:
    """The program of a seed, the same in every process, and a launch of it."""
    return _Recurrence(seed).generated()


class _Recurrence:
    """One type for all rows of a program, and one length."""

    def __init__(self, seed: int) -> None:
        self._seed, self._rng = seed, Random(f"recurrence {seed}")
        self._totals = Random(f"total {seed}")
        rng = self._rng
        self._group, self._groups = rng.choice((1, 2, 5, 8, 16, 16, 32)), rng.randint(1, 3)
        self._length, self._dtype = rng.choice(_LENGTHS), rng.choice(_TYPES)
        self._inputs: dict[str, bytes] = {}
        self._p = ProgramBuilder(f"recurrence_{seed}", self._group, None)

    def generated(self) -> GeneratedProgram:
        invocations = self._group * self._groups
        with self._p as p:
            self._ends = p.read("ends", u32, invocations + 1)
            self._i = p.let(p.global_id(0))
            stops = [self._rng.randint(0, self._length) for _ in range(invocations)]
            self._inputs["ends"] = b"".join(stop.to_bytes(4, "little") for stop in (*stops, self._length))
            outputs = [self._output(number) for number in range(self._rng.randint(1, 3))]
            with p.if_(self._i < invocations - self._rng.choice((0, 0, 1))):
                rows = [self._near(number, output) for number, output in enumerate(outputs)]
                for _ in range(self._rng.randint(1, 3)):
                    self._loop(rows, self._rng.choice((0, 0, 1)))
                for near, output in zip(rows, outputs, strict=True):
                    self._copy(near, output)
        grid = (self._groups, 1, 1)
        return GeneratedProgram(seed=self._seed, program=p.build(), inputs=self._inputs, grid=grid, iterations=1)

    # ── rows ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _output(self, number: int) -> _Row:
        name, count = f"row{number}", self._group * self._groups * self._length
        self._inputs[name] = random_bytes(self._rng, self._dtype, count)
        return _Row(self._p.read_write(name, self._dtype, count), self._i * self._length)

    def _near(self, number: int, output: _Row) -> _Row:
        """A copy of an output's row in a memory, or the row itself."""
        p, count = self._p, self._group * self._length
        match self._rng.choice(_MEMORIES):
            case Memory.WORKGROUP if count * self._dtype.size <= _WORKGROUP_BYTES:
                row = _Row(p.workgroup(f"shared{number}", self._dtype, count), p.local_id(0) * self._length)
            case Memory.SCRATCH:
                row = _Row(p.scratch(f"scratch{number}", self._dtype, count * self._groups), output.first)
            case Memory.PRIVATE:
                row = _Row(p.private(f"own{number}", self._dtype, self._length), constant(u32, 0))
            case _:
                return output
        self._copy(output, row)
        return row

    def _copy(self, source: _Row, target: _Row) -> None:
        """The length comes from memory: compilers do not know it, and keep the loop."""
        if source is not target:
            with self._p.range(0, self._ends[self._group * self._groups]) as k:
                target.array[target.first + k] = source.array[source.first + k]

    # ── loops ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _loop(self, rows: list[_Row], nesting: int) -> None:
        """Loops of which the innermost stores."""
        if nesting:
            with self._p.range(0, self._rng.randint(1, 3)):
                self._loop(rows, nesting - 1)
            return
        rng, scale = self._rng, self._rng.choice((1, 1, 1, 1, 2, 3))
        short = rng.choice((0, 0, 0, 2, 4))  # iterations of a loop inside, which compilers write out
        first = -(-_FARTHEST // scale)
        last = (self._length - _FARTHEST - 1 - short) // scale  # every index of an iteration before it is in the row
        total = self._p.var(rows[0].array[rows[0].first]) if self._totals.random() < 0.4 else None
        with self._p.range(first, self._end(first, last), rng.choice((1, 1, 1, 1, 2))) as t:
            if total is not None:
                row = self._totals.choice(rows)
                total.set(apply(self._totals.choice(("add", "sub", "mul")), total, row.array[row.first + t * scale]))
            if short:
                with self._p.range(0, short) as k:
                    self._statements(rows, _Place(t * scale + k, 1, rng.random() < 0.2))
            else:
                self._statements(rows, _Place(t, scale, rng.random() < 0.2))
        if total is not None:
            rows[0].array[rows[0].first] = total

    def _end(self, first: int, last: int) -> Value:
        """As each invocation has it, the same for all, or known to compilers."""
        match self._rng.randrange(4):
            case 0:
                return constant(u32, self._rng.randint(first, max(first, last)))
            case 1:
                return apply("min", self._ends[0], max(0, last))
            case _:
                return apply("min", self._ends[self._i], max(0, last))

    def _statements(self, rows: list[_Row], place: _Place) -> None:
        p, rng = self._p, self._rng
        for _ in range(rng.randint(1, 3)):
            row = rng.choice(rows)
            value = self._value(rows, place)
            if rng.random() < 0.15:
                with p.if_(self._condition(rows, place)):
                    row.array[self._index(row, place)] = value
            else:
                row.array[self._index(row, place)] = value
        if rng.random() < 0.1:
            with p.if_(self._condition(rows, place)):
                p.break_()

    def _condition(self, rows: list[_Row], place: _Place) -> Value:
        if self._rng.random() < 0.4:
            return place.counter % self._rng.choice((2, 3, 5)) != 1
        return apply("lt", self._load(rows, place), self._load(rows, place))

    def _index(self, row: _Row, place: _Place) -> Value:
        """In the row for all iterations: at most `_FARTHEST` from where the iteration stands."""
        offset = self._rng.choice((0, 0, *range(-_FARTHEST, _FARTHEST + 1)))
        at = place.counter * place.scale if place.scale > 1 else place.counter
        if place.is_downwards:
            at, offset = apply("sub", self._length - 1, at), -offset
        return apply("add", row.first + at, offset) if offset >= 0 else apply("sub", row.first + at, -offset)

    def _load(self, rows: list[_Row], place: _Place) -> Value:
        row = self._rng.choice(rows)
        return row.array[self._index(row, place)]

    def _value(self, rows: list[_Row], place: _Place) -> Value:
        """An element, two combined, or one with a literal."""
        rng, x = self._rng, self._load(rows, place)
        ops = (
            ("add", "sub", "mul", "min", "max") if self._dtype.is_float else ("add", "add", "sub", "mul", "xor", "max")
        )
        for _ in range(rng.choice((0, 1, 1, 1, 2))):
            other = Value(random_literal(rng, self._dtype)) if rng.random() < 0.4 else self._load(rows, place)
            x = apply(rng.choice(ops), x, other)
        return x
