"""Random loops that combine something into elements of memory: what may be kept in a local, and what may not.

Every invocation has a short row of its own, in storage or in the workgroup. The last rows may reach beyond the buffer.
Loops, some without an iteration, store into elements at fixed places of the row, at places that are loaded before, and
at places that the counter chooses, which may be the same; some stores are conditional, some loops are left early. Rows
are not shared, so no two invocations see each other.
"""

from __future__ import annotations

from random import Random

from vyre_foundation.build import Array, ProgramBuilder, Value, apply
from vyre_foundation.dtype import FLOATS, INTEGERS, f32, i32, u8, u32
from vyre_foundation.testing.generator import GeneratedProgram
from vyre_foundation.testing.values import random_bytes

_TYPES = (u32, u32, f32, f32, i32, u8, *INTEGERS, *FLOATS)
_DATA = 40
"""Elements that are combined into rows."""
_FEW = 5
"""Iterations of a loop at most."""


def accumulation(seed: int) -> GeneratedProgram:
    """The program of a seed, the same in every process, and a launch of it."""
    return _Accumulation(seed).generated()


class _Accumulation:
    """One type for all rows of a program, and one length."""

    def __init__(self, seed: int) -> None:
        self._seed, self._rng = seed, Random(f"accumulation {seed}")
        rng = self._rng
        self._group, self._groups, self._length = rng.choice((1, 5, 8, 16)), rng.randint(1, 3), rng.randint(1, 4)
        self._dtype = rng.choice(_TYPES)
        self._inputs: dict[str, bytes] = {}
        self._p = ProgramBuilder(f"accumulation_{seed}", self._group, None)

    def generated(self) -> GeneratedProgram:
        rng, invocations = self._rng, self._group * self._groups
        with self._p as p:
            self._ends, self._data = p.read("ends", u32, invocations), p.read("data", self._dtype, _DATA)
            self._inputs["ends"] = b"".join(rng.randint(0, _FEW).to_bytes(4, "little") for _ in range(invocations))
            self._inputs["data"] = random_bytes(rng, self._dtype, _DATA)
            count = max(1, invocations * self._length - rng.choice((0, 0, 1, self._length + 1)))
            out = p.read_write("out", self._dtype, rng.choice((count, None)))
            seen = p.read_write("seen", self._dtype, invocations)
            self._inputs["out"] = b"".join(self._element() for _ in range(count))
            self._inputs["seen"] = random_bytes(rng, self._dtype, invocations)
            self._i = p.let(p.global_id(0))
            self._row, self._first = out, p.let(self._i * self._length)
            is_shared = rng.random() < 0.3
            if is_shared:
                self._row = p.workgroup("shared", self._dtype, max(1, self._group * self._length - rng.choice((0, 1))))
                own, self._first = self._first, p.let(p.local_id(0) * self._length)
                for n in range(self._length):
                    self._row[self._first + n] = out[own + n]
            self._chosen = self._ends[self._i] % self._length
            for _ in range(rng.randint(1, 3)):
                self._loop(seen, rng.choice((0, 0, 1)))
            if is_shared:
                for n in range(self._length):
                    out[own + n] = self._row[self._first + n]
        grid = (self._groups, 1, 1)
        return GeneratedProgram(seed=self._seed, program=p.build(), inputs=self._inputs, grid=grid, iterations=1)

    def _element(self) -> bytes:
        """What an element holds before: of floats often a NaN, whose bits a store would change."""
        if self._dtype.is_float and self._rng.random() < 0.3:
            return (self._dtype.nan_bits | 1).to_bytes(self._dtype.size, "little")
        return random_bytes(self._rng, self._dtype, 1)

    def _loop(self, seen: Array, nesting: int) -> None:
        p, rng = self._p, self._rng
        end = rng.choice((rng.randint(1, _FEW), self._ends[self._i], self._ends[self._i], self._ends[0]))
        with p.range(0, end) as k:
            if nesting:
                self._loop(seen, nesting - 1)
            for _ in range(rng.randint(1, 3)):
                self._statement(seen, k)

    def _statement(self, seen: Array, k: Value) -> None:
        p, rng = self._p, self._rng
        element = self._first + rng.choice((0, 0, self._length - 1))
        kind = rng.choice(("combine", "combine", "combine", "combine", "branch", "chosen", "counter", "shown", "left"))
        match kind:
            case "branch":
                with p.if_(k % 2 == rng.randint(0, 1)):
                    self._combine(element, k)
            case "chosen":
                self._combine(self._first + self._chosen, k)
            case "counter":
                self._combine(self._first + k % self._length, k)
            case "shown":
                seen[self._i] = self._row[element]
            case "left":
                with p.if_(k == rng.randint(0, 2)):
                    rng.choice((p.break_, p.continue_, p.return_))()
            case _:
                self._combine(element, k)

    def _combine(self, element: Value, k: Value) -> None:
        ops = ("add", "sub", "mul", "min") if self._dtype.is_float else ("add", "sub", "xor", "max")
        value = self._data[(k + self._i) % _DATA]
        self._row[element] = apply(self._rng.choice(ops), self._row[element], value)
