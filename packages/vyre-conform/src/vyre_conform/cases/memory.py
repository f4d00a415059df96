"""Memory of every kind: zeros at the start, lengths, what is kept and what is canonical."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, fixed, seeded
from vyre_conform.cases import bounds
from vyre_conform.cases.values import by_needs, pack, pack_bits
from vyre_foundation.build import Array, program
from vyre_foundation.dtype import DTYPES, FLOATS, DType, bool_, f32, u8, u16, u32, u64
from vyre_foundation.ir.buffer import LengthOf, Memory, Per, PerLaunch
from vyre_foundation.ops.scalar import from_bits, to_bits
from vyre_foundation.testing.values import random_bits, special_bits


def specs() -> Iterator[Spec]:
    yield from bounds.specs()
    for dtype in DTYPES:
        yield seeded(address("memory", "through", dtype=dtype), _through, dtype)
    for memory in (Memory.WORKGROUP, Memory.PRIVATE, Memory.SCRATCH, Memory.PERSISTENT):
        yield fixed(address("memory", "starts_at_zero", memory=memory.value), _zero, memory)
    for group in (1, 7, 64):
        for count in sorted({0, 1, group - 1, group, group + 1, 3 * group + 2}):
            yield seeded(address("memory", "sizes", group=group, n=count), _sizes, group, count)
    yield fixed(address("memory", "empty_inputs"), _empty)
    yield seeded(address("memory", "untouched_outputs"), _untouched)
    yield fixed(address("memory", "bool_bytes"), _bool_bytes)
    for at, types in by_needs(address("memory", "nan_is_canonical"), FLOATS).items():
        yield seeded(at, _nans, types)
    yield seeded(address("memory", "lengths"), _lengths)
    yield fixed(address("memory", "output_range"), _output_range)
    yield seeded(address("memory", "grid_of_a_range"), _grid_of_a_range)
    yield fixed(address("memory", "rules_of_rules"), _rules_of_rules)
    yield fixed(address("memory", "larger_than_the_group"), _larger)
    yield seeded(address("memory", "many_buffers"), _many_buffers)
    yield fixed(address("memory", "bytes_side_by_side"), _bytes_side_by_side)
    for dtype in (u8, u16, u32):
        yield seeded(address("memory", "one_store_of_a_group", dtype=dtype), _one_store, dtype)


def _through(dtype: DType, rng: Random) -> tuple[Launch, Expected]:
    """Values pass through every kind of memory and come out the same."""
    patterns = [*special_bits(dtype), *(random_bits(rng, dtype) for _ in range(20))]
    count = len(patterns)
    with program(f"through_{dtype}", 16) as p:
        x = p.read("x", dtype)
        out = p.write("out", dtype, like=x)
        shared, own = p.workgroup("shared", dtype, 16), p.private("own", dtype, 2)
        scratch, both = p.scratch("scratch", dtype, like=x), p.read_write("both", dtype)
        stored, table = p.persistent("kept", dtype, like=x), p.uniform("table", dtype)
        data = np.frombuffer(pack_bits(dtype, patterns), dtype.numpy)
        constants, copies = p.constant("constants", dtype, data), p.write("copies", dtype, like=x)
        embedded = p.write("embedded", dtype, like=x)
        i, local = p.let(p.global_id(0)), p.local_id(0)
        own[1] = x[i]
        shared[local] = own[1]
        p.barrier()
        scratch[i] = shared[local]
        stored[i] = scratch[i]
        both[i] = stored[i]
        variable = p.var(x[i])
        variable.set(both[i])
        out[i] = variable
        copies[i] = table[i]
        embedded[i] = constants[i]
    values = pack(dtype, [from_bits(dtype, bits) for bits in patterns])
    old = pack_bits(dtype, [random_bits(rng, dtype) for _ in range(count)])
    inputs = {"x": pack_bits(dtype, patterns), "both": old, "table": pack_bits(dtype, patterns)}
    return Launch(program=p.build(), inputs=inputs), Exactly((values, values, values, values), ("x",))


def _zero(memory: Memory) -> tuple[Launch, Expected]:
    """Every workgroup, invocation or dispatch finds zeros, whatever those before have left."""
    with program(f"zero_{memory.value}", 8) as p:
        found, left = p.write("found", u32, 64), p.write("left", u32, 64)
        match memory:
            case Memory.WORKGROUP:
                cells = p.workgroup("cells", u32, 8)
            case Memory.PRIVATE:
                cells = p.private("cells", u32, 8)
            case Memory.SCRATCH:
                cells = p.scratch("cells", u32, 64)
            case _:
                cells = p.persistent("cells", u32, 64)
        i = p.let(p.global_id(0))
        own = p.local_id(0) if memory in (Memory.WORKGROUP, Memory.PRIVATE) else i
        found[i] = cells[own]
        cells[own] = i + 0xA5A5_0000
        p.barrier()
        left[i] = cells[own]
    outputs = (pack(u32, [0] * 64), pack(u32, [0xA5A5_0000 + n for n in range(64)]))
    return Launch(program=p.build(), inputs={}), Exactly(outputs)


def _sizes(group: int, count: int, rng: Random) -> tuple[Launch, Expected]:
    """Lengths around the workgroup size; 0 launches nothing."""
    with program(f"sizes_{group}_{count}", group) as p:
        x, y = p.read("x", u32), p.read_write("y", u32)
        out = p.write("out", u32, like=x)
        i = p.global_id(0)
        out[i] = x[i] * 3 + y[i] + p.num_workgroups(0) * 1000
        y[i] = x[i]
    xs, ys = ([rng.randrange(2**32) for _ in range(count)] for _ in "xy")
    groups = -(-count // group)
    values = [(a * 3 + b + groups * 1000) % 2**32 for a, b in zip(xs, ys, strict=True)]
    inputs = {"x": pack(u32, xs), "y": pack(u32, ys)}
    return Launch(program=p.build(), inputs=inputs), Exactly((pack(u32, xs), pack(u32, values)), ("x", "y"))


def _empty() -> tuple[Launch, Expected]:
    """Inputs without elements: loads give 0, the length is 0."""
    with program("empty", 4) as p:
        x, y, table = p.read("x", u32), p.read("y", f32), p.uniform("table", u32)
        out, floats = p.write("out", u32, 6), p.write("floats", f32, 6)
        i = p.global_id(0)
        out[i] = x[i] + x.length + table[i] + 5
        floats[i] = y[0]
    launch = Launch(program=p.build(), inputs={"x": b"", "y": b"", "table": b""})
    return launch, Exactly((pack(u32, [5] * 6), bytes(24)))


def _untouched(rng: Random) -> tuple[Launch, Expected]:
    """Elements that are not written are zero in a written buffer and kept in a read and written one."""
    with program("untouched", 16) as p:
        stored, fresh = p.read_write("kept", u32), p.write("fresh", u32, like=p.read("x", u32))
        i = p.let(p.global_id(0))
        with p.if_(i % 3 == 1):
            stored[i] = i
            fresh[i] = i
    old = [rng.randrange(1, 2**32) for _ in range(50)]
    outputs = (
        pack(u32, [n if n % 3 == 1 else v for n, v in enumerate(old)]),
        pack(u32, [n if n % 3 == 1 else 0 for n in range(50)]),
    )
    return Launch(program=p.build(), inputs={"kept": pack(u32, old), "x": bytes(200)}), Exactly(outputs)


def _bool_bytes() -> tuple[Launch, Expected]:
    """Any byte but 0 loads as true, and true is stored as 1."""
    with program("bool_bytes", 64) as p:
        x = p.read("x", bool_)
        out, number = p.write("out", bool_, like=x), p.write("number", u8, like=x)
        i = p.global_id(0)
        out[i] = x[i]
        number[i] = x[i].cast(u8) + 7
    data = bytes(range(256))
    outputs = (bytes(b != 0 for b in data), bytes(7 + (b != 0) for b in data))
    return Launch(program=p.build(), inputs={"x": data}), Exactly(outputs, ("x",))


def _nans(types: list[DType], rng: Random) -> tuple[Launch, Expected]:
    """Every NaN that is stored or bitcast is the canonical one, whatever its sign and payload were."""
    inputs: dict[str, bytes] = {}
    outputs: list[bytes] = []
    with program("nans", 64) as p:
        i = p.global_id(0)
        for dtype in types:
            x = p.read(f"x_{dtype}", dtype)
            stored, bits = p.write(f"stored_{dtype}", dtype, like=x), p.write(f"bits_{dtype}", dtype.unsigned, like=x)
            stored[i] = x[i]
            bits[i] = x[i].bitcast(dtype.unsigned)
            patterns = [dtype.nan_bits | rng.getrandbits(dtype.bits) for _ in range(40)]
            patterns += [(dtype.nan_bits ^ quiet_bit(dtype)) | 1, to_bits(dtype, 1.5)]
            inputs[x.decl.name] = pack_bits(dtype, patterns)
            values = [from_bits(dtype, b) for b in patterns]
            outputs += [pack(dtype, values), pack_bits(dtype.unsigned, [to_bits(dtype, v) for v in values])]
    return Launch(program=p.build(), inputs=inputs), Exactly(tuple(outputs))


def quiet_bit(dtype: DType) -> int:
    """The bit that tells a quiet NaN from a signalling one."""
    assert dtype.format is not None
    return 1 << (dtype.format.precision - 2)


def _lengths(rng: Random) -> tuple[Launch, Expected]:
    """The length of every kind of buffer, also of those whose length follows from others."""
    with program("lengths", 4) as p:
        a, b, table = p.read("a", u32), p.read("b", u8, 9), p.uniform("table", u32)
        out = p.write("out", u32, 13)
        rule = p.write("rule", u32, LengthOf("a", times=3, over=2, plus=1))
        constant = p.constant("constant", u32, [1, 2, 3])
        shared, own = p.workgroup("shared", u32, 17), p.private("own", u32, 5)
        per_group = p.scratch("per_group", u32, PerLaunch(Per.WORKGROUP, 2))
        per_invocation = p.scratch("per_invocation", u32, PerLaunch(Per.INVOCATION, 3))
        like = p.scratch("like", u8, like=rule)
        stored = p.persistent("kept", u32, LengthOf("b", over=4))
        fewer = p.scratch("fewer", u32, LengthOf("a", plus=-1))
        arrays = (a, b, table, out, rule, constant, shared, own, per_group, per_invocation, like, stored, fewer)
        with p.if_(p.global_id(0) == 0):
            for n, array in enumerate(arrays):
                out[n] = array.length
    groups = 4
    counts = [7, 9, 2, 13, 12, 3, 17, 5, groups * 2, groups * 4 * 3, 12, 3, 6]
    inputs = {"a": bytes(28), "b": bytes(9), "table": bytes(8)}
    return Launch(program=p.build(), inputs=inputs), Exactly((pack(u32, counts), bytes(48)))


def _output_range() -> tuple[Launch, Expected]:
    """The host gets a byte range of an output."""
    with program("output_range", 8) as p:
        part, whole = p.write("part", u32, 16, output_range=(8, 24)), p.write("whole", u32, 16)
        nothing = p.read_write("nothing", u8, 16, output_range=(3, 3))
        i = p.let(p.global_id(0))
        part[i] = i + 1
        whole[i] = i + 1
        nothing[i] = i.cast(u8)
    numbers = pack(u32, range(1, 17))
    return Launch(program=p.build(), inputs={"nothing": bytes(16)}), Exactly((numbers[8:24], numbers, b""))


def _grid_of_a_range(rng: Random) -> tuple[Launch, Expected]:
    """The longest output has a range; the grid covers all of it, as the other output shows."""
    with program("grid_of_a_range", 8) as p:
        x = p.read("x", u32)
        part = p.write("part", u32, 40, output_range=(4, 12))
        total, short = p.scratch("total", u32, 40), p.write("short", u32, 3)
        i = p.let(p.global_id(0))
        part[i] = x[i]
        total[i] = x[i] + 1
        p.grid_barrier()
        short[i] = total[39 - i] + p.num_workgroups(0)
    values = [rng.randrange(2**31) for _ in range(40)]
    outputs = (pack(u32, values[1:3]), pack(u32, [values[39 - n] + 1 + 5 for n in range(3)]))
    return Launch(program=p.build(), inputs={"x": pack(u32, values)}), Exactly(outputs)


def _rules_of_rules() -> tuple[Launch, Expected]:
    """Lengths that follow from lengths that follow from others, declared in the other order."""
    with program("rules_of_rules", 4) as p:
        last = p.write("last", u32, LengthOf("middle", times=2, plus=1))
        middle = p.write("middle", u8, LengthOf("first", over=3, plus=2))
        first, other = p.scratch("first", u32, LengthOf("x", times=5, over=2)), p.scratch("other", u8, like=middle)
        x = p.read("x", u32)
        i = p.let(p.global_id(0))
        last[i] = first.length * 10000 + middle.length * 100 + other.length
        middle[i] = x.length.cast(u8)
    first_ = -(-7 * 5 // 2)
    middle_ = -(-first_ // 3) + 2
    numbers = [first_ * 10000 + middle_ * 100 + middle_] * (middle_ * 2 + 1)
    return Launch(program=p.build(), inputs={"x": bytes(28)}), Exactly((pack(u32, numbers), bytes([7] * middle_)))


def _larger() -> tuple[Launch, Expected]:
    """Workgroup memory of more elements than there are invocations: all of it is zero in every workgroup."""
    sizes, group, groups = (11, 16, 21), 8, 3
    with program("larger", group) as p:
        outputs = [p.write(f"out_{size}", u32, size * groups) for size in sizes]
        arrays = [p.workgroup(f"cells_{size}", u32, size) for size in sizes]
        local, first = p.let(p.local_id(0)), p.let(p.workgroup_id(0))
        for size, out, cells in zip(sizes, outputs, arrays, strict=True):
            with p.range(local, size, group) as k:
                out[first * size + k] = cells[(k * 5 + 3) % size] + k
        p.barrier()
        for size, cells in zip(sizes, arrays, strict=True):
            with p.range(local, size, group) as k:
                cells[k] = k + 77
    expected = tuple(pack(u32, [*range(size)] * groups) for size in sizes)
    return Launch(program=p.build(), inputs={}, grid=(groups, 1, 1)), Exactly(expected)


def _many_buffers(rng: Random) -> tuple[Launch, Expected]:
    """Seven inputs and seven outputs, in the order of their bindings and not of their names."""
    names = ["q", "b", "z", "a", "m", "c", "x"]
    columns = {name: [rng.randrange(2**32) for _ in range(5)] for name in names}
    with program("many_buffers", 4) as p:
        i = p.global_id(0)
        arrays: list[Array] = []
        for n, name in enumerate(names):
            x = p.read(name, u32)
            arrays.append(x)
            p.write(f"{name}_out", u32, like=x)[i] = x[i] + arrays[n // 2][i]
    outputs = tuple(
        pack(u32, [(a + b) % 2**32 for a, b in zip(columns[name], columns[names[n // 2]], strict=True)])
        for n, name in enumerate(names)
    )
    return Launch(program=p.build(), inputs={name: pack(u32, columns[name]) for name in names}), Exactly(outputs)


def _bytes_side_by_side() -> tuple[Launch, Expected]:
    """Neighbours in one word are written by different invocations and keep apart."""
    with program("bytes_side_by_side", 64) as p:
        out, halves = p.write("out", u8, 203), p.write("halves", u16, 203)
        shared = p.workgroup("shared", u8, 64)
        i, local = p.let(p.global_id(0)), p.let(p.local_id(0))
        shared[local] = (local * 3).cast(u8)
        p.barrier()
        out[i] = shared[local ^ 1] + i.cast(u8)
        halves[i] = i.cast(u16) * 77
    outputs = (
        bytes((((n % 64) ^ 1) * 3 + n) % 256 for n in range(203)),
        pack_bits(u16, [n * 77 % 65536 for n in range(203)]),
    )
    return Launch(program=p.build(), inputs={}), Exactly(outputs)


def _one_store(dtype: DType, rng: Random) -> tuple[Launch, Expected]:
    """One invocation of each workgroup stores a part of a larger value: the elements beside it stay."""
    wide = u64 if dtype is u32 else u32
    group = 512 // wide.bits
    with program("one_store_of_a_group", group) as p:
        x, out = p.read("x", wide), p.read_write("out", dtype)
        i, value = p.let(p.global_id(0)), p.var(x[p.global_id(0)])
        with p.range(0, 9):
            with p.if_(value % 3 != 0):
                p.break_()
            value.set(value // 3)
        with p.if_(p.local_id(0) == 3):
            out[i] = value.cast(dtype)
    values = [rng.randrange(1 << wide.bits) * 3 for _ in range(3 * group)]
    values = [value % (1 << wide.bits) for value in values]
    old = [rng.randrange(1 << dtype.bits) for _ in values]

    def found(value: int) -> int:
        for _ in range(9):
            value = value // 3 if value % 3 == 0 else value
        return value % (1 << dtype.bits)

    wanted = [found(value) if n % group == 3 else bits for n, (value, bits) in enumerate(zip(values, old, strict=True))]
    launch = Launch(program=p.build(), inputs={"x": pack(wide, values), "out": pack(dtype, old)}, grid=(3, 1, 1))
    return launch, Exactly((pack(dtype, wanted),))
