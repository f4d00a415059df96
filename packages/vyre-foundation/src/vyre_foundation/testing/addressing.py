"""Random programs that read tables at computed indices: for what turns loads of adjacent invocations into vectors.

Workgroups are as large as those of real programs, and every invocation does the same. It adds up elements of inputs,
of a table in the workgroup and of one of its own, at indices that are chains of sums, products, masks, remainders,
shifts and conversions of ids and counters: some go up by one, some start again from 0, some wrap, some are out of
bounds. The sums are stored at the global id.
"""

from __future__ import annotations

from random import Random

from vyre_foundation.build import Array, Mutable, ProgramBuilder, Value, select
from vyre_foundation.dtype import DType, f32, i8, i16, i32, u8, u16, u32, u64
from vyre_foundation.testing.generator import GeneratedProgram
from vyre_foundation.testing.values import random_bytes

_SIZES = ((16, 1, 1), (64, 1, 1), (64, 1, 1), (256, 1, 1), (16, 4, 1), (8, 4, 2), (1, 1, 1))
_POWERS = (2, 4, 8, 16, 32, 64, 128, 256)
_THROUGH = (u8, u16, u32, u64, i8, i16, i32)
_LENGTH = 256
"""Elements of each table."""


def addressing(seed: int) -> GeneratedProgram:
    """The program of a seed, the same in every process, and a launch of it."""
    return _Addressing(seed).generated()


class _Addressing:
    def __init__(self, seed: int) -> None:
        self._seed, self._rng = seed, Random(f"addressing {seed}")
        self._size = self._rng.choice(_SIZES)
        self._dtype: DType = self._rng.choice((u32, u32, f32, u8, u64))
        self._inputs: dict[str, bytes] = {}
        self._p = ProgramBuilder(f"addressing_{seed}", self._size, None)

    def generated(self) -> GeneratedProgram:
        rng, groups = self._rng, self._rng.randint(1, 4)
        x, y, z = self._size
        count = max(1, x * y * z * groups - rng.choice((0, 0, 1, 5)))
        with self._p as p:
            tables = [self._input(f"table{n}", _LENGTH) for n in range(rng.randint(1, 2))]
            data = self._input("data", count)
            out = p.write("out", self._dtype, count)
            local = p.local_id(0) + p.local_id(1) * x + p.local_id(2) * (x * y)
            self._place = p.let(p.workgroup_id(0) * (x * y * z) + local)
            self._counters = [p.global_id(0), p.local_id(0), self._place, p.let(local)]
            if rng.random() < 0.5:
                tables.append(self._shared(local))
            if rng.random() < 0.3:
                tables.append(self._private())
            total = p.var(0, self._dtype)
            for table in rng.sample(tables, rng.randint(1, len(tables))):
                self._add(total, table)
            out[self._place] = total + data[self._place]
        return GeneratedProgram(
            seed=self._seed, program=p.build(), inputs=self._inputs, grid=(groups, 1, 1), iterations=1
        )

    def _input(self, name: str, count: int) -> Array:
        self._inputs[name] = random_bytes(self._rng, self._dtype, count)
        return self._p.read(name, self._dtype, count)

    def _shared(self, local: Value) -> Array:
        """A table of the workgroup: each invocation writes the elements that are its own."""
        x, y, z = self._size
        table = self._p.workgroup("shared", self._dtype, _LENGTH)
        for first in range(0, _LENGTH, x * y * z):
            at = local + first
            table[at] = at.cast(self._dtype) * 3
        self._p.barrier()
        return table

    def _private(self) -> Array:
        table = self._p.private("own", self._dtype, 16)
        with self._p.range(16) as k:
            table[k] = k.cast(self._dtype) + self._place.cast(self._dtype)
        return table

    def _add(self, total: Mutable, table: Array) -> None:
        p, rng = self._p, self._rng
        if rng.random() < 0.6:
            total += table[self._index(self._counters)]
            return
        with p.range(rng.choice((3, 16, 64))) as k:
            total += table[self._index([*self._counters, k, k])]

    def _index(self, counters: list[Value]) -> Value:
        rng = self._rng
        index: Value = rng.choice(counters)
        for _ in range(rng.randint(0, 4)):
            index = self._step(index, counters)
        return index if index.dtype in (u32, u64) else index.cast(u32)

    def _step(self, index: Value, counters: list[Value]) -> Value:
        rng, power = self._rng, self._rng.choice(_POWERS)
        match rng.choice(
            ("mask", "mask", "rest", "quotient", "product", "sum", "twice", "xor", "shifts", "cast", "select")
        ):
            case "mask":
                return index & (power - 1)
            case "rest":
                return index % rng.choice((power, 3, 10))
            case "quotient":
                return index // power
            case "product":
                return index * rng.choice((power, 3, 5))
            case "sum":
                return index + rng.choice((1, 7, power))
            case "twice":
                return index + rng.choice(counters).cast(index.dtype)
            case "xor":
                return index ^ (power - 1)
            case "shifts":
                bits = rng.randint(1, min(index.dtype.bits, 30) - 1)
                return (index << bits) >> bits
            case "cast":
                return index.cast(rng.choice(_THROUGH)).cast(u32)
            case _:
                return select(index % 2 == 0, index, index % power)
