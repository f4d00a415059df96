"""Bounds: what is read beyond the ends is 0, what is written there is dropped, in every memory and by every index."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, fixed, seeded
from vyre_conform.cases.values import pack, pack_bits
from vyre_foundation.build import Array, ProgramBuilder, program
from vyre_foundation.dtype import DTYPES, INTEGERS, DType, i8, i16, u8, u16, u32
from vyre_foundation.ir.buffer import Memory
from vyre_foundation.ops.scalar import from_bits
from vyre_foundation.testing.values import random_bits

LENGTH = 11
GATHERED = (Memory.STORAGE, Memory.UNIFORM, Memory.CONSTANT, Memory.WORKGROUP, Memory.PRIVATE, Memory.SCRATCH)


def specs() -> Iterator[Spec]:
    for memory in GATHERED:
        for index in INTEGERS:
            yield fixed(address("memory", "gather", memory=memory.value, index=index), _gather, memory, index)
    for index in (i8, u8, i16, u16):
        yield fixed(address("memory", "gather_long", index=index), _gather_long, index)
    for index in INTEGERS:
        yield fixed(address("memory", "scatter", index=index), _scatter, index)
    for memory in (Memory.WORKGROUP, Memory.PRIVATE, Memory.SCRATCH):
        yield fixed(address("memory", "scatter_inside", memory=memory.value), _scatter_inside, memory)
    for dtype in DTYPES:
        yield seeded(address("memory", "literal_index", dtype=dtype), _literal_index, dtype)


def _indices(dtype: DType, length: int) -> list[int]:
    """All places in bounds, and those around both ends and at the ends of the type."""
    near = [*range(length + 3), length * 2, 64, 127, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**32 + 3, -1, -2, -length]
    ends = [dtype.lowest, dtype.lowest + 1, dtype.highest - 1, dtype.highest]
    return [i for i in dict.fromkeys([*near, *ends]) if dtype.lowest <= i <= dtype.highest]


def _gather(memory: Memory, index: DType) -> tuple[Launch, Expected]:
    """Loads at each index: 0 where it is out of bounds."""
    table = [100 + n for n in range(LENGTH)]
    indices = _indices(index, LENGTH)
    inputs = {"at": pack(index, indices)}
    with program(f"gather_{memory.value}_{index}", 16) as p:
        at = p.read("at", index)
        source = _table(p, memory, inputs, table)
        out = p.write("out", u32, like=at)
        if memory in (Memory.WORKGROUP, Memory.PRIVATE, Memory.SCRATCH):
            with p.range(0, LENGTH) as n:
                if memory is Memory.PRIVATE:
                    source[n] = n + 100
                else:
                    with p.if_(p.local_id(0) == 0 if memory is Memory.WORKGROUP else p.global_id(0) == 0):
                        source[n] = n + 100
            p.grid_barrier() if memory is Memory.SCRATCH else p.barrier()
        i = p.global_id(0)
        out[i] = source[at[i]]
    expected = [table[i] if 0 <= i < LENGTH else 0 for i in indices]
    return Launch(program=p.build(), inputs=inputs), Exactly((pack(u32, expected),), ("at",))


def _gather_long(index: DType) -> tuple[Launch, Expected]:
    """A buffer that is longer than the index type can count: a negative index is not a large one."""
    count = (1 << index.bits) + 10
    near = (0, 1, 100, 127, 128, 255, 32767, 65535, -1, -2, index.lowest, index.highest)
    indices = [i for i in near if index.lowest <= i <= index.highest]
    with program(f"gather_long_{index}", 16) as p:
        at, x = p.read("at", index), p.read("x", u8)
        out = p.write("out", u8, like=at)
        out[p.global_id(0)] = x[at[p.global_id(0)]]
    data = bytes(n % 251 + 1 for n in range(count))
    expected = bytes(data[i] if i >= 0 else 0 for i in indices)
    return Launch(program=p.build(), inputs={"at": pack(index, indices), "x": data}), Exactly((expected,), ("at",))


def _table(p: ProgramBuilder, memory: Memory, inputs: dict[str, bytes], table: Sequence[int]) -> Array:
    match memory:
        case Memory.STORAGE:
            inputs["table"] = pack(u32, table)
            return p.read("table", u32)
        case Memory.UNIFORM:
            inputs["table"] = pack(u32, table)
            return p.uniform("table", u32)
        case Memory.CONSTANT:
            return p.constant("table", u32, list(table))
        case Memory.WORKGROUP:
            return p.workgroup("table", u32, LENGTH)
        case Memory.PRIVATE:
            return p.private("table", u32, LENGTH)
        case _:
            return p.scratch("table", u32, LENGTH)


def _scatter(index: DType) -> tuple[Launch, Expected]:
    """Stores at each index once: dropped out of bounds, and nothing beside is touched."""
    indices = _indices(index, LENGTH)
    with program(f"scatter_{index}", 16) as p:
        at, before, out, after = (
            p.read("at", index),
            p.write("before", u32, 4),
            p.write("out", u32, LENGTH),
            p.write("after", u32, 4),
        )
        i = p.global_id(0)
        with p.if_(i < at.length):
            out[at[i]] = i + 1
        with p.if_(i < 4):
            before[i] = 7
            after[i] = 8
    expected = [0] * LENGTH
    for n, index_ in enumerate(indices):
        if 0 <= index_ < LENGTH:
            expected[index_] = n + 1
    grid = (-(-len(indices) // 16), 1, 1)
    outputs = (pack(u32, [7] * 4), pack(u32, expected), pack(u32, [8] * 4))
    return Launch(program=p.build(), inputs={"at": pack(index, indices)}, grid=grid), Exactly(outputs)


def _scatter_inside(memory: Memory) -> tuple[Launch, Expected]:
    """Stores out of bounds of device memory are dropped, those in bounds arrive."""
    with program(f"scatter_inside_{memory.value}", 8) as p:
        at = p.read("at", u32)
        out = p.write("out", u32, 8 * 3)
        makers: dict[Memory, Callable[[str, DType, int], Array]] = {
            Memory.WORKGROUP: p.workgroup, Memory.PRIVATE: p.private, Memory.SCRATCH: p.scratch,
        }  # fmt: skip
        make = makers[memory]
        low, cells, high = make("low", u32, 4), make("cells", u32, 8), make("high", u32, 4)
        i = p.let(p.local_id(0))
        cells[at[i]] = i + 1
        p.grid_barrier() if memory is Memory.SCRATCH else p.barrier()
        out[i] = cells[i]
        out[i + 8] = low[i]
        out[i + 16] = high[i]
    indices = [3, 8, 9, 2**32 - 1, 0, 12, 2**31, 7]
    if memory is Memory.PRIVATE:
        expected = [n + 1 if index == n else 0 for n, index in enumerate(indices)]
    else:
        expected = [indices.index(n) + 1 if n in indices else 0 for n in range(8)]
    launch = Launch(program=p.build(), inputs={"at": pack(u32, indices)}, grid=(1, 1, 1))
    return launch, Exactly((pack(u32, [*expected, *[0] * 16]),))


def _literal_index(dtype: DType, rng: Random) -> tuple[Launch, Expected]:
    """Literal indices in and out of bounds, of a buffer whose length is fixed."""
    values = [random_bits(rng, dtype) for _ in range(3)]
    with program(f"literal_index_{dtype}", 1) as p:
        x, out = p.read("x", dtype, 3), p.write("out", dtype, 6)
        for n, index in enumerate((0, 2, 3, 4, 2**32 - 1, 1)):
            out[n] = x[index]
        out[6] = x[0]
        out[2**32 - 1] = x[0]
    read = [from_bits(dtype, values[i]) if i < 3 else from_bits(dtype, 0) for i in (0, 2, 3, 4, 2**32 - 1, 1)]
    launch = Launch(program=p.build(), inputs={"x": pack_bits(dtype, values)}, grid=(1, 1, 1))
    return launch, Exactly((pack(dtype, read),))
