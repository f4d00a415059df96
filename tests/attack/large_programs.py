"""What children of `test_programs.py` run: valid programs that are large, deep or strange in one way each.

A case makes a `Launch`: a program with inputs, and the outputs that every backend must give. A program of another
size than the language or a device allows is refused with a typed error, which the table of the tests expects by name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

import vyre as vy
from vyre_driver import DispatchConfig, acquire
from vyre_driver.backend.config import DEFAULT_CONFIG
from vyre_foundation.errors import VyreError


@dataclass(frozen=True)
class Launch:
    program: Any
    inputs: Sequence[Any]
    expected: Sequence[np.ndarray]
    config: DispatchConfig = DEFAULT_CONFIG


Case = Callable[[], Launch]
CASES: dict[str, Case] = {}


def case(*arguments: Any) -> Callable[[Callable[..., Launch]], Callable[..., Launch]]:
    """A case for each of the arguments, or one without any."""

    def add(make: Callable[..., Launch]) -> Callable[..., Launch]:
        name = make.__name__.replace("_", " ")
        for argument in arguments:
            CASES[f"{name}: {argument}"] = lambda argument=argument: make(argument)
        if not arguments:
            CASES[name] = make
        return make

    return add


def words(*values: int) -> np.ndarray:
    return np.array(values, np.uint32)


X = np.arange(1, 65, dtype=np.uint32)


def over_words(p: Any) -> tuple[Any, Any, Any]:
    """The input, the output and the id of a program over `X`."""
    x = p.read("x", vy.u32)
    return x, p.write("out", vy.u32, like=x), p.global_id(0)


# ── many of one thing ────────────────────────────────────────────────────────────────────────────────────────────────


@case(64, 65, 5000)
def bound_buffers(count: int) -> Launch:
    """All but one are inputs; the output adds them up."""
    with vy.program("buffers") as p:
        given = [p.read(f"b{n}", vy.u32) for n in range(count - 1)]
        out = p.write("out", vy.u32, 64)
        total = p.var(0, vy.u32)
        for buffer in given:
            total += buffer[p.global_id(0)]
        out[p.global_id(0)] = total
    arrays = [X * (n + 1) for n in range(count - 1)]
    return Launch(p.build(), arrays, [sum(arrays)])


@case(63)
def outputs(count: int) -> Launch:
    with vy.program("outputs") as p:
        x = p.read("x", vy.u32)
        for n in range(count):
            out = p.write(f"o{n}", vy.u32, like=x)
            out[p.global_id(0)] = x[p.global_id(0)] * (n + 1)
    return Launch(p.build(), [X], [X * (n + 1) for n in range(count)])


@case(100, 1_000)
def constants(count: int) -> Launch:
    """Tables of 4,000 bytes."""
    with vy.program("constants") as p:
        x, out, i = over_words(p)
        total = p.var(0, vy.u32)
        tables = [np.arange(1000, dtype=np.uint32) * (n + 1) for n in range(count)]
        for n, table in enumerate(tables):
            total += p.constant(f"c{n}", vy.u32, table)[x[i]]
        out[i] = total
    return Launch(p.build(), [X], [sum(table[X] for table in tables)])


@case("u8", "u32", "u64", "f16", "f64")
def constant_table(dtype: str) -> Launch:
    """All of the 4 MiB."""
    of = np.dtype({"u": "uint", "f": "float"}[dtype[0]] + dtype[1:])
    table = np.random.default_rng(0).integers(0, 200, (4 << 20) // of.itemsize).astype(of)
    with vy.program("table") as p:
        x, out, i = over_words(p)
        out[i] = p.constant("c", getattr(vy, dtype), table)[x[i] * 1009].cast(vy.u32)
    return Launch(p.build(), [X], [table[X * 1009].astype(np.uint32)])


@case()
def constant_table_too_large() -> Launch:
    with vy.program("table") as p:
        x, out, i = over_words(p)
        out[i] = p.constant("c", vy.u8, np.zeros((4 << 20) + 1, np.uint8))[x[i]].cast(vy.u32)
    return Launch(p.build(), [X], [X])


@case("100 private", "100 workgroup", "1000 private", "1000 workgroup")
def arrays(memory: str) -> Launch:
    """Of 4 elements each."""
    count, memory = int(memory.split()[0]), memory.split()[1]
    with vy.program("arrays") as p:
        x, out, i = over_words(p)
        made = [getattr(p, memory)(f"a{n}", vy.u32, 4) for n in range(count)]
        at = p.local_id(0) if memory == "private" else p.local_id(0) % 4
        for n, array in enumerate(made):
            array[at % 4] = at % 4 + n
        p.barrier()
        total = p.var(0, vy.u32)
        for array in made:
            total += array[at % 4]
        out[i] = total + x[i]
    at = np.arange(64, dtype=np.uint32) % 4
    return Launch(p.build(), [X], [X + np.uint32(count) * at + np.uint32(count * (count - 1) // 2)])


@case(200, 2_500)
def locals_across_a_barrier(count: int) -> Launch:
    with vy.program("locals") as p:
        x, out, i = over_words(p)
        made = [p.let(x[(i + n) % 64] * (n + 1)) for n in range(count)]
        p.barrier()
        total = p.var(0, vy.u32)
        for value in made:
            total += value
        out[i] = total
    return Launch(p.build(), [X], [sum(np.roll(X, -n) * np.uint32(n + 1) for n in range(count))])


@case(200, 2_500)
def locals_across_a_grid_barrier(count: int) -> Launch:
    with vy.program("locals") as p:
        x, out, i = over_words(p)
        made = [p.let(x[(i + n) % 64] * (n + 1)) for n in range(count)]
        p.grid_barrier()
        total = p.var(0, vy.u32)
        for value in made:
            total += value
        out[i] = total
    return Launch(p.build(), [X], [sum(np.roll(X, -n) * np.uint32(n + 1) for n in range(count))])


@case(100, 1_000)
def variables_across_a_loop_with_a_barrier(count: int) -> Launch:
    with vy.program("variables") as p:
        x, out, i = over_words(p)
        made = [p.var(x[(i + n) % 64]) for n in range(count)]
        with p.range(x[0] + 2):
            for value in made:
                value += 3
            p.barrier()
        total = p.var(0, vy.u32)
        for value in made:
            total += value
        out[i] = total
    return Launch(p.build(), [X], [sum(np.roll(X, -n) + np.uint32(9) for n in range(count))])


@case(50, 2_000)
def barriers(count: int) -> Launch:
    with vy.program("barriers") as p:
        x, out, i = over_words(p)
        shared = p.workgroup("shared", vy.u32, 64)
        shared[i] = x[i]
        for n in range(count):
            p.barrier()
            value = p.let(shared[(i + n) % 64] + 1)
            p.barrier()
            shared[i] = value
        out[i] = shared[i]
    expected = X
    for n in range(count):
        expected = np.roll(expected, -n) + np.uint32(1)
    return Launch(p.build(), [X], [expected])


@case(20, 200)
def grid_barriers(count: int) -> Launch:
    with vy.program("grid_barriers", workgroup_size=16) as p:
        x, out, i = over_words(p)
        shared = p.scratch("shared", vy.u32, 64)
        shared[i] = x[i]
        for n in range(count):
            p.grid_barrier()
            value = p.let(shared[(i + n) % 64] + 1)
            p.grid_barrier()
            shared[i] = value
        out[i] = shared[i]
    expected = X
    for n in range(count):
        expected = np.roll(expected, -n) + np.uint32(1)
    return Launch(p.build(), [X], [expected])


@case(100, 1_000)
def collectives(count: int) -> Launch:
    with vy.program("collectives", subgroup_size=32) as p:
        x, out, i = over_words(p)
        value = x[i]
        for _ in range(count):
            value = p.subgroup("shuffle_xor", value, 1) + 1
        out[i] = value
    swapped = X if count % 2 == 0 else X.reshape(-1, 2)[:, ::-1].reshape(-1)
    return Launch(p.build(), [X], [swapped + np.uint32(count)])


@case(500, 5_000)
def traps(count: int) -> Launch:
    with vy.program("traps") as p:
        x, out, i = over_words(p)
        for n in range(count):
            with p.if_(x[i] == 1000 + n):
                p.trap(n, f"tag {n}")
        out[i] = x[i]
    return Launch(p.build(), [X], [X])


@case("10 exp", "10 sin", "10 pow", "10 atan2", "200 exp", "200 sin", "200 pow", "200 atan2")
def calls(name: str) -> Launch:
    """A call of `pow` becomes a hundred operations, and a rare path of as many again."""
    count, name = int(name.split()[0]), name.split()[1]
    with vy.program("calls") as p:
        x, out, i = over_words(p)
        function, value = getattr(vy, name), x[i].cast(vy.f32) / 64
        total = p.var(0.0, vy.f32)
        for n in range(count):
            other = (value + n / 256,) if name in ("exp", "sin") else (value + n / 256, value)
            total += function(*other) * 0.0
        out[i] = x[i] + total.get().cast(vy.u32)
    return Launch(p.build(), [X], [X])


# ── long ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@case(1_000, 10_000, 100_000)
def stores(count: int) -> Launch:
    with vy.program("stores") as p:
        x, i = p.read("x", vy.u32), p.global_id(0)
        out = p.write("out", vy.u32, 64 * 16)
        for n in range(count):
            out[i * 16 + n % 16] = x[i] + n
    last = [np.arange(count - 16, count)[np.arange(count - 16, count) % 16 == n][0] for n in range(16)]
    return Launch(p.build(), [X], [(X[:, None] + np.array(last, np.uint32)[None, :]).ravel()])


@case(1_000, 10_000, 100_000)
def assignments(count: int) -> Launch:
    with vy.program("assignments") as p:
        x, out, i = over_words(p)
        value = p.var(x[i])
        for n in range(count):
            value.set(value * 3 + (n & 255))
        out[i] = value
    expected = X
    for n in range(count):
        expected = expected * np.uint32(3) + np.uint32(n & 255)
    return Launch(p.build(), [X], [expected])


@case(1_000, 10_000, 100_000)
def expression(nodes: int) -> Launch:
    """One expression: a chain, as deep as it is long."""
    with vy.program("expression") as p:
        x, out, i = over_words(p)
        value = x[i]
        for n in range(nodes // 2):
            value = value * 3 + (n & 255)
        out[i] = value
    expected = X
    for n in range(nodes // 2):
        expected = expected * np.uint32(3) + np.uint32(n & 255)
    return Launch(p.build(), [X], [expected])


@case(60)
def shared_expression(depth: int) -> Launch:
    """A graph of `depth` nodes that is a tree of 2**depth."""
    with vy.program("shared") as p:
        x, out, i = over_words(p)
        value = x[i]
        for n in range(depth):
            value = value * value + (value ^ n)
        out[i] = value
    expected = X
    for n in range(depth):
        expected = expected * expected + (expected ^ np.uint32(n))
    return Launch(p.build(), [X], [expected])


@case(200, 2_000, 10_000)
def ifs(count: int) -> Launch:
    with vy.program("ifs") as p:
        x, out, i = over_words(p)
        value = p.var(x[i])
        for n in range(count):
            with p.if_((value & (n | 1)) == 0):
                value += n | 1
        out[i] = value
    expected = X.copy()
    for n in range(count):
        expected[(expected & np.uint32(n | 1)) == 0] += np.uint32(n | 1)
    return Launch(p.build(), [X], [expected])


@case(100, 1_000)
def loops(count: int) -> Launch:
    with vy.program("loops") as p:
        x, out, i = over_words(p)
        value = p.var(x[i])
        for n in range(count):
            with p.range(x[n % 64]) as k:
                value += k * n
        out[i] = value
    total = sum(int(X[n % 64]) * (int(X[n % 64]) - 1) // 2 * n for n in range(count))
    return Launch(p.build(), [X], [X + np.uint32(total % 2**32)])


@case(100, 1_000)
def loops_with_a_barrier(count: int) -> Launch:
    with vy.program("loops") as p:
        x, out, i = over_words(p)
        value = p.var(x[i])
        for n in range(count):
            with p.range(x[n % 4]) as k:
                value += k * n
                p.barrier()
        out[i] = value
    total = sum(int(X[n % 4]) * (int(X[n % 4]) - 1) // 2 * n for n in range(count))
    return Launch(p.build(), [X], [X + np.uint32(total % 2**32)])


@case("if", "range", "region", "else")
def nested(kind: str) -> Launch:
    """As deep as the language allows."""
    with vy.program("nested") as p:
        x, out, i = over_words(p)
        value = p.var(x[i])
        with ExitStack() as stack:
            for n in range(63):
                if kind == "if":
                    stack.enter_context(p.if_(value < 1000 + n))
                elif kind == "range":
                    stack.enter_context(p.range(x[0]))
                elif kind == "region":
                    stack.enter_context(p.region(f"r{n}"))
                else:
                    with p.if_(value > 1000 + n):
                        value += 2
                    stack.enter_context(p.else_())
            value += 1
        out[i] = value
    return Launch(p.build(), [X], [X + 1])


@case()
def nested_too_deep() -> Launch:
    with vy.program("nested") as p:
        x, out, i = over_words(p)
        with ExitStack() as stack:
            for n in range(66):
                stack.enter_context(p.if_(x[i] < 1000 + n))
            out[i] = 1
    return Launch(p.build(), [X], [X])


# ── large ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@case("workgroup", "private")
def memory_of_a_workgroup(memory: str) -> Launch:
    """All that the language allows: 32 KiB of a workgroup, or 16 KiB for each of 1,024 invocations; and a barrier."""
    with vy.program("memory", workgroup_size=1024) as p:
        x = p.read("x", vy.u32)
        out, i = p.write("out", vy.u32, like=x), p.local_id(0)
        size = 8192 if memory == "workgroup" else 4096
        array = getattr(p, memory)("array", vy.u32, size)
        with p.range(0, size // 1024) as k:
            array[k * 1024 + i] = x[i] + k
        p.barrier()
        total = p.var(0, vy.u32)
        with p.range(0, size // 1024) as k:
            total += array[k * 1024 + i]
        out[i] = total
    x = np.arange(1024, dtype=np.uint32)
    rounds = 8 if memory == "workgroup" else 4
    return Launch(p.build(), [x], [x * np.uint32(rounds) + np.uint32(rounds * (rounds - 1) // 2)])


@case("workgroup", "private", "uniform", "scratch", "write")
def memory_too_large(memory: str) -> Launch:
    with vy.program("memory") as p:
        x, out, i = over_words(p)
        array = getattr(p, memory)("array", vy.u64, 2**32 - 1)
        if memory != "uniform":
            array[i] = x[i].cast(vy.u64)
        out[i] = x[i] if memory in ("write",) else array[i].cast(vy.u32)
    given = [X, np.zeros(1, np.uint64)] if memory == "uniform" else [X]
    return Launch(p.build(), given, [X])


@case((2**32, 1, 1), (2**22, 1, 1), (1, 2**22, 1), (1, 1, 2**22), (2**10, 2**6, 2**6), (1, 2**31, 1), (1, 1, 2**31),
      (2**16, 2**15, 1), (2**11, 2**11, 2**10))  # fmt: skip
def grid(extent: tuple[int, int, int]) -> Launch:
    """Of workgroups of one invocation. Only the first and the last write."""
    with vy.program("grid", workgroup_size=1) as p:
        out = p.write("out", vy.u32, 2)
        ids = [p.global_id(axis) for axis in range(3)]
        with p.if_((ids[0] | ids[1] | ids[2]) == 0):
            out[0] = 1
        lasts = [id == n - 1 for id, n in zip(ids, (n % 2**32 or 2**32 for n in extent), strict=True)]
        with p.if_(lasts[0] & lasts[1] & lasts[2]):
            out[1] = 1
    return Launch(p.build(), [], [words(1, 1)], DispatchConfig(grid_override=extent))


@case((2**32 - 1, 1, 1), (1, 2**32 - 1, 2), (65536, 65536, 65536), (0, 2**32 - 1, 2**32 - 1))
def grid_from_a_buffer(extent: tuple[int, int, int]) -> Launch:
    with vy.program("indirect", workgroup_size=64) as p:
        sizes = p.read("sizes", vy.u32)
        p.indirect_dispatch(sizes, 0)
        out = p.write("out", vy.u32, 1)
        with p.if_(p.global_id(0) == 0):
            out[0] = 1
    return Launch(p.build(), [words(*extent)], [words(0)])


@case(2**32 - 1, 2**32)
def loop_of(iterations: int) -> Launch:
    """One in another, whose end a compiler can compute; a backend that cannot gives up in time."""
    with vy.program("rounds", workgroup_size=1) as p:
        out, total = p.write("out", vy.u64, 1), p.var(0, vy.u64)
        with p.range(0, iterations, dtype=vy.u64), p.range(0, iterations, dtype=vy.u64) as k:
            total += k
        out[0] = total
    expected = iterations * (iterations * (iterations - 1) // 2) % 2**64
    return Launch(p.build(), [], [np.array([expected], np.uint64)], DispatchConfig(grid_override=(1, 1, 1)))


# ── nothing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@case()
def no_statements() -> Launch:
    with vy.program("nothing") as p:
        p.write("out", vy.u32, 4)
    return Launch(p.build(), [], [words(0, 0, 0, 0)])


@case()
def no_buffers() -> Launch:
    with vy.program("nothing") as p, p.if_(p.global_id(0) == 0):
        p.return_()
    return Launch(p.build(), [], [], DispatchConfig(grid_override=(4, 1, 1)))


@case("read", "uniform", "constant", "workgroup", "private", "scratch", "persistent", "write", "read_write")
def empty(memory: str) -> Launch:
    """Buffers without elements: loads are 0, stores do nothing."""
    with vy.program("empty") as p:
        x, out, i = over_words(p)
        array = p.constant("a", vy.u32, []) if memory == "constant" else getattr(p, memory)("a", vy.u32, 0)
        if memory not in ("read", "uniform", "constant"):
            array[i] = x[i]
        out[i] = x[i] + (0 if memory == "write" else array[i])
    given = [X, words()] if memory in ("read", "uniform", "read_write") else [X]
    return Launch(p.build(), given, [X, words()] if memory in ("write", "read_write") else [X])


@case()
def inputs_of_no_elements() -> Launch:
    with vy.program("empty") as p:
        x, out, i = over_words(p)
        out[i] = x[i]
    return Launch(p.build(), [words()], [words()])


@case((0, 0, 0), (0, 1, 1), (2**32 - 1, 2**32 - 1, 0))
def grid_of_nothing(extent: tuple[int, int, int]) -> Launch:
    with vy.program("nothing", workgroup_size=1024) as p:
        x, out, i = over_words(p)
        out[i] = x[i]
    return Launch(p.build(), [X], [X * 0], DispatchConfig(grid_override=extent))


# ── far ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@case("u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64")
def indices(dtype: str) -> Launch:
    """Every index outside loads 0 and stores nothing, wherever it is and however it is computed."""
    of = np.dtype({"u": "uint", "i": "int"}[dtype[0]] + dtype[1:])
    far = np.array([np.iinfo(of).min, np.iinfo(of).max, np.iinfo(of).max // 2 + 1, 0, 1, 100], object).astype(of)
    with vy.program("indices", workgroup_size=1) as p:
        at, x = p.read("at", getattr(vy, dtype)), p.read("x", vy.u32, 64)
        out, kept = p.write("out", vy.u32, like=at), p.write("kept", vy.u32, 4)
        local = p.workgroup("local", vy.u32, 3)
        table = p.constant("table", vy.u32, [7])
        index = at[p.global_id(0)]
        kept[index + index] = 5
        local[index] = 5
        out[p.global_id(0)] = x[index] + x[index * 64] * 1000 + table[index] + local[index - 1] * 0
    with np.errstate(over="ignore"):

        def load(array: np.ndarray, index: np.ndarray) -> np.ndarray:
            inside = np.array([0 <= int(n) < len(array) for n in index])
            return np.where(inside, array[np.where(inside, index, 0).astype(np.int64)], 0).astype(np.uint32)

        expected = load(X, far) + load(X, far * of.type(64)) * 1000 + load(words(7), far)
        kept = words(0, 0, 0, 0)
        for n in far + far:
            if 0 <= int(n) < 4:
                kept[int(n)] = 5
    return Launch(p.build(), [far, X], [expected.astype(np.uint32), kept])


@case("u32", "i32", "u64", "i64")
def loop_bounds(dtype: str) -> Launch:
    """Counters stop at their bound, also where the next step is beyond the last number."""
    of = np.dtype({"u": "uint", "i": "int"}[dtype[0]] + dtype[1:])
    least, most = int(np.iinfo(of).min), int(np.iinfo(of).max)
    ranges = [(least, most, most), (most - 5, most, 3), (least, least + 7, 2), (most, least, 1), (most - 1, most, most)]
    with vy.program("bounds", workgroup_size=1) as p:
        given, out = p.read("given", getattr(vy, dtype)), p.write("out", vy.u32, len(ranges) * 2)
        for n, (start, stop, step) in enumerate(ranges):
            count = p.var(0, vy.u32)
            with p.range(given[2 * n], given[2 * n + 1], step):
                count += 1
            out[2 * n] = count
            count = p.var(0, vy.u32)
            with p.range(start, stop, step, dtype=getattr(vy, dtype)):
                count += 1
            out[2 * n + 1] = count
    given = np.array([n for start, stop, _ in ranges for n in (start, stop)], of)
    counts = [len(range(*bounds)) for bounds in ranges for _ in range(2)]
    return Launch(p.build(), [given], [words(*counts)], DispatchConfig(grid_override=(1, 1, 1)))


@case((2**63, 1, 0), (1, 2**63, 0), (2**63, 2**63, 0), (1, 1, 2**32 - 1), (1, 1, -64), (1, 1, -65), (3, 2**64 - 1, 0))
def length_rule(rule: tuple[int, int, int]) -> Launch:
    times, over, plus = rule
    with vy.program("lengths") as p:
        p.read("x", vy.u32)
        p.write("out", vy.u8, vy.LengthOf("x", times=times, over=over, plus=plus))
    length = -(-64 * times // over) + plus
    return Launch(p.build(), [X], [np.zeros(length if 0 <= length < 2**20 else 0, np.uint8)])


# ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────────

KEYWORDS = (
    "int float double kernel global local constant private main if while return asm sizeof typedef struct union "
    "class template namespace operator new delete this bool true false half uint ulong uchar NULL INFINITY NAN "
    "M_PI MAXFLOAT sampler_t image2d_t event_t get_global_id barrier printf select clz convert_uint as_uint "
    "atomic_add uint4 float2 CLK_LOCAL_MEM_FENCE FLT_MAX INT_MIN defined restrict volatile inline auto register "
    "goto extern static const unsigned threadIdx blockIdx blockDim gridDim warpSize uint32_t int64_t size_t asm "
    "volatile _Pragma _Bool _Complex _Z EOF errno linux unix i386 read_only write_only vec_step groups slot "
    "length len grid local_id lanes r_0 t_1 v_2 out_length runs memcpy memset malloc free exit abort _start __x "
    "a.b a_b a__b a..b _ _1 x.y.z L1 l1 O0 I l"
).split()


@case()
def names_of_buffers() -> Launch:
    names = [name for name in dict.fromkeys(KEYWORDS) if not name.startswith("__")]
    total = np.zeros_like(X)
    with vy.program("kernel") as p:
        given = [p.read(name, vy.u32) for name in names[:40]]
        tables = [p.constant(name, vy.u32, [n]) for n, name in enumerate(names[40:80])]
        shared = [p.workgroup(name, vy.u32, 1) for name in names[80:]]
        out, i = p.write("x", vy.u32, 64), p.global_id(0)
        value = p.var(0, vy.u32, name="value")
        for n, array in enumerate(given):
            value += array[i] * (n + 1)
        for table in tables:
            value += table[0]
        for array in shared:
            array[0] = 1
        p.barrier()
        for array in shared:
            value += array[0]
        out[i] = value
    for n in range(40):
        total += X * np.uint32(n + 1)
    return Launch(p.build(), [X] * 40, [total + np.uint32(sum(range(40)) + len(names) - 80)])


@case()
def names_of_locals() -> Launch:
    from dataclasses import replace

    from vyre_foundation.ir.expr import Apply, Load, Local
    from vyre_foundation.ir.stmt import Let, Store
    from vyre_foundation.ops import OPS

    with vy.program("main") as p:
        x, out, i = over_words(p)
        out[i] = x[i]
    program = p.build()
    store = program.body[-1]
    names = [name for name in dict.fromkeys(KEYWORDS) if not name.startswith("__")]
    value, body = store.value, []
    assert isinstance(store, Store)
    assert isinstance(value, Load)
    for name in names:
        body.append(Let(name, Apply(OPS["add"], value, value)))
        value = Local(name, vy.u32)
    body.append(Store(store.buffer, store.index, value))
    program = replace(program, body=tuple(body))
    program.validate()
    return Launch(program, [X], [X << np.uint32(len(names)) if len(names) < 32 else X * 0])


@case()
def long_names() -> Launch:
    long = "n" * 1020
    with vy.program(long) as p:
        x, out = p.read(long + "x", vy.u32), p.write(long + "o", vy.u32, 64)
        value = p.var(x[p.global_id(0)], name=long)
        with p.region("r" * 1024), p.if_(value == 1000):
            p.trap(1, "t" * 1024)
        value += 1
        out[p.global_id(0)] = value
    return Launch(p.build(), [X], [X + 1])


TEXTS = (
    "../../../etc/passwd", "a/b\\c", "\0", "\n#include </etc/passwd>", "*/ int x; /*", '"; exit(1); "', "%s%n%d", "ü",
    "数", "e\u0301", "\u202e", "\u2028", "\U0010ffff", " ", "-", "--help", "CON", "$(false)", "`false`", "\\\n", "??/",
    "\r", "\x1b[2J", "\ufeff", "{{x}}", "<script>", "1", "main", "kernel",
)  # fmt: skip


@case("../../../../../../tmp/vyre-was-here", "\0", "CON", " ", "/", "all")
def text(name: str) -> Launch:
    """As the name of a program and as the label of a dispatch; and every text as a label and as a tag."""
    name = "".join(TEXTS) if name == "all" else name
    with vy.program(name) as p:
        x, out, i = over_words(p)
        for text in TEXTS:
            with p.region(text), p.if_(x[i] == 1000):
                p.trap(1, text)
        out[i] = x[i] + 1
    return Launch(p.build(), [X], [X + 1], DispatchConfig(label=name))


@case("ü", "a b", "数", "", "1a", "a-b", "a\n", "a;")
def name_of_a_buffer(name: str) -> Launch:
    with vy.program("p") as p:
        x = p.read(name, vy.u32)
        out = p.write("out", vy.u32, 64)
        out[p.global_id(0)] = x[p.global_id(0)]
    return Launch(p.build(), [X], [X])


@case(1025)
def name_too_long(size: int) -> Launch:
    with vy.program("p") as p:
        x = p.read("x" * size, vy.u32)
        out = p.write("out", vy.u32, 64)
        out[p.global_id(0)] = x[p.global_id(0)]
    return Launch(p.build(), [X], [X])


# ── a child ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def outcome(backend: Any, make: Case, seconds: float) -> str:
    """``right``, or the name and the text of a typed error. Anything else is raised."""
    try:
        launch = make()
        got = backend.dispatch(launch.program, launch.inputs, launch.config.replace(timeout=seconds))
    except VyreError as error:
        return f"{type(error).__name__}: {error}"
    assert len(got) == len(launch.expected)
    for mine, expected in zip(got, launch.expected, strict=True):
        assert bytes(mine) == np.asarray(expected).tobytes(), "wrong bytes"
    return "right"


def main(id: str, seconds: float, names: Sequence[str]) -> None:
    """A line for each case: its name before it runs, then what came of it."""
    backend = acquire(id)
    for name in names:
        sys.stdout.write(f"{name!r}\t")
        sys.stdout.flush()
        sys.stdout.write(f"{outcome(backend, CASES[name], seconds)!r}\n")
