"""Programs that tempt a compiler: to equations that nearly hold, to proofs that nearly go through."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, fixed, seeded
from vyre_conform.cases.values import by_needs, pack
from vyre_foundation.build import Value, apply, program, select
from vyre_foundation.dtype import FLOATS, INTEGERS, DType, f16, f32, f64, i32, i64, u8, u32, u64
from vyre_foundation.ops import OPS
from vyre_foundation.ops.scalar import Scalar, cast, from_bits, wrap
from vyre_foundation.testing.values import random_bits, special_bits

SIGNED = tuple(t for t in INTEGERS if t.is_signed)
NARROW = tuple(t for t in INTEGERS if t.bits <= 16)
ROWS, FEW = 200, 40


# fmt: off
NEGATIONS: dict[str, Callable[[Value], Value]] = {
    "neg":              lambda x: -x,
    "difference":       lambda x: 0 - x,
    "product":          lambda x: x * -1,
    "complement":       lambda x: ~x + 1,
    "one_less":         lambda x: ~(x - 1),
    "two_steps":        lambda x: (7 - x) - 7,
    "saturated":        lambda x: apply("mul_sat", x, -1),
}
# fmt: on


# fmt: off
PERIODS: dict[str, tuple[Callable[[Value], Value], Callable[[int], int]]] = {
    "mask":      (lambda x: x & 3,                         lambda x: x & 3),
    "remainder": (lambda x: (x + 5) % 16 + 7,              lambda x: (x + 5) % 16 + 7),
    "shifts":    (lambda x: (x << 28) >> 28,               lambda x: x & 15),
    "quotient":  (lambda x: (x // 4) % 4,                  lambda x: x // 4 % 4),
    "sum":       (lambda x: x % 4 + x % 8,                 lambda x: x % 4 + x % 8),
    "u8":        (lambda x: (x.cast(u8) * 16).cast(u32),   lambda x: x * 16 % 256),
    "condition": (lambda x: (x % 2 == 1).cast(u32),        lambda x: x % 2),
}
# fmt: on


def specs() -> Iterator[Spec]:
    for dtype in SIGNED:
        yield seeded(address("temptations", "powers_of_two", dtype=dtype), _powers, dtype)
        for spelling in NEGATIONS:
            at = address("temptations", "sign_of_negation", spelling=spelling, dtype=dtype)
            yield seeded(at, _sign_of_negation, NEGATIONS[spelling], dtype)
    for dtype in INTEGERS:
        yield seeded(address("temptations", "sums_wrap", dtype=dtype), _sums, dtype)
    for dtype in NARROW:
        yield seeded(address("temptations", "narrow_chains", dtype=dtype), _chains, dtype)
    for dtype in FLOATS:
        yield seeded(address("temptations", "nearly_min", dtype=dtype), _nearly_min, dtype)
        yield seeded(address("temptations", "nested_differences", dtype=dtype), _differences, dtype)
    for period in PERIODS:
        for memory in ("storage", "workgroup"):
            at = address("temptations", "periodic_index", period=period, memory=memory)
            yield fixed(at, _periods, period, memory)
    for at, types in by_needs(address("temptations", "shifts_of_shifts"), INTEGERS).items():
        yield seeded(at, _shifts, types)
    for at, types in by_needs(address("temptations", "ops_of_ops"), INTEGERS).items():
        yield seeded(at, _ops_of_ops, types)
    at, narrow, floats = (
        address("temptations", "casts_of_casts"),
        [t for t in INTEGERS if t.bits <= 32],
        (f16, f32, f64),
    )
    yield seeded(at, _casts_of_casts, narrow, floats[:2], i32, u32)
    wide = address("temptations", "casts_of_casts", needs="int64")
    yield seeded(wide, _casts_of_casts, INTEGERS, floats, i64, u64)
    yield fixed(address("temptations", "stores_in_a_loop"), _stores)
    yield fixed(address("temptations", "element_of_a_loop"), _element)
    yield fixed(address("temptations", "element_of_some_rounds"), _element_of_some_iterations)
    yield fixed(address("temptations", "guard_at_the_end"), _guard)
    yield fixed(address("temptations", "clamped_above"), _clamped)
    yield fixed(address("temptations", "index_wraps"), _wraps)
    yield fixed(address("temptations", "long_input"), _long_input)
    yield fixed(address("temptations", "counters_alike"), _counters)


def _rows(dtype: DType, rng: Random, columns: int) -> list[list[Scalar]]:
    """Columns of values: special ones against random ones."""
    special = list(special_bits(dtype))
    drawn = [[rng.choice(special) if rng.random() < 0.5 else random_bits(rng, dtype) for _ in range(ROWS)]
             for _ in range(columns)]  # fmt: skip
    return [[from_bits(dtype, bits) for bits in column] for column in drawn]


def _pointwise(
    name: str, dtype: DType, result: DType, columns: list[list[Scalar]],
    body: Callable[..., Value], model: Callable[..., Scalar],
) -> tuple[Launch, Expected]:  # fmt: skip
    """``out[i] = body(x[i], y[i], …)``, which `model` computes on the host."""
    names = ("x", "y", "z")[: len(columns)]
    with program(f"{name}_{dtype}", 64) as p:
        arrays = [p.read(n, dtype) for n in names]
        out = p.write("out", result, like=arrays[0])
        i = p.let(p.global_id(0))
        out[i] = body(*[array[i] for array in arrays])
    inputs = {n: pack(dtype, column) for n, column in zip(names, columns, strict=True)}
    expected = pack(result, (model(*row) for row in zip(*columns, strict=True)))
    return Launch(program=p.build(), inputs=inputs), Exactly((expected,), names)


def _op(id: str, dtype: DType, *values: Scalar) -> Scalar:
    return OPS[id].evaluate(dtype, *values)


def _powers(dtype: DType, rng: Random) -> tuple[Launch, Expected]:
    """Division by a power of two rounds towards zero, and a remainder has the sign of the dividend."""

    def model(x: Scalar) -> Scalar:
        quotient, rest = _op("div", dtype, x, 8), _op("rem", dtype, x, 16)
        return _op("xor", dtype, _op("mul", dtype, quotient, 5), rest)

    def body(x: Value) -> Value:
        return apply("div", x, 8) * 5 ^ apply("rem", x, 16)

    return _pointwise("powers", dtype, dtype, _rows(dtype, rng, 1), body, model)


def _sign_of_negation(negation: Callable[[Value], Value], dtype: DType, rng: Random) -> tuple[Launch, Expected]:
    """The sign of ``-x``, spread over the word by shifts of several kinds, is not that of ``x > 0``."""
    width, saturates = dtype.bits, negation is NEGATIONS["saturated"]

    def body(x: Value) -> Value:
        negated = negation(x)
        spread = (negated >> (width - 1)) ^ ((negated >> (width // 2)) >> (width // 2 - 1)) * 3
        logical = -((negated.bitcast(dtype.unsigned) >> (width - 1)).bitcast(dtype))
        return (spread ^ logical * 5 ^ apply("mul_high", negated, 1) * 9) + negated * 17

    def model(x: Scalar) -> Scalar:
        negated = _op("mul_sat" if saturates else "mul", dtype, x, -1)
        sign = -1 if negated < 0 else 0
        mixed = sign ^ int(wrap(dtype, sign * 3)) ^ int(wrap(dtype, sign * 5)) ^ int(wrap(dtype, sign * 9))
        return wrap(dtype, mixed + int(negated) * 17)

    return _pointwise("sign_of_negation", dtype, dtype, _rows(dtype, rng, 1), body, model)


def _sums(dtype: DType, rng: Random) -> tuple[Launch, Expected]:
    """x + 3 > x does not hold where the sum wraps."""

    def model(x: Scalar) -> Scalar:
        return int(_op("add", dtype, x, 3) > x)

    columns = _rows(dtype, rng, 1)
    return _pointwise("sums", dtype, u32, columns, lambda x: ((x + 3) > x).cast(u32), model)


def _chains(dtype: DType, rng: Random) -> tuple[Launch, Expected]:
    """What is above a narrow type is gone before the next op looks."""

    def model(x: Scalar, y: Scalar) -> Scalar:
        total, product = _op("add", dtype, x, y), _op("mul", dtype, x, y)
        return _op("sub", dtype, _op("div", dtype, total, 3), _op("shr", dtype, product, 2))

    def body(x: Value, y: Value) -> Value:
        return apply("div", x + y, 3) - ((x * y) >> 2)

    return _pointwise("chains", dtype, dtype, _rows(dtype, rng, 2), body, model)


def _nearly_min(dtype: DType, rng: Random) -> tuple[Launch, Expected]:
    """A select by a comparison is not a minimum: of NaN, and of zeros of two signs."""

    def model(x: Scalar, y: Scalar) -> Scalar:
        return x if x < y else y

    return _pointwise("nearly_min", dtype, dtype, _rows(dtype, rng, 2), lambda x, y: select(x < y, x, y), model)


def _differences(dtype: DType, rng: Random) -> tuple[Launch, Expected]:
    """a - (b - c) is neither a - b - c nor a - b + c."""

    def model(a: Scalar, b: Scalar, c: Scalar) -> Scalar:
        return _op("sub", dtype, a, _op("sub", dtype, b, c))

    columns = [[from_bits(dtype, random_bits(rng, dtype)) for _ in range(ROWS)] for _ in range(3)]
    return _pointwise("differences", dtype, dtype, columns, lambda a, b, c: a - (b - c), model)


def _shifts(types: list[DType], rng: Random) -> tuple[Launch, Expected]:
    """Shifts by less than the width, one after the other: their sum may be the width, or more."""
    inputs: dict[str, bytes] = {}
    outputs = []
    with program("shifts_of_shifts", 64) as p:
        i = p.let(p.global_id(0))
        for dtype in types:
            x = p.read(f"x_{dtype}", dtype)
            total: Value = x[i]
            column = _rows(dtype, rng, 1)[0][:FEW]
            results = list(column)
            for outer, inner in (("shr", "shr"), ("shl", "shl"), ("shr", "shl"), ("shl", "shr"), ("rotl", "rotl")):
                for a, b in ((dtype.bits * 5 // 8, dtype.bits * 5 // 8), (3, dtype.bits - 3), (dtype.bits - 1, 2)):
                    total = total * 3 + apply(outer, apply(inner, x[i], a), b)
                    twice = [_op(outer, dtype, _op(inner, dtype, v, a), b) for v in column]
                    tripled = [_op("mul", dtype, r, 3) for r in results]
                    results = [_op("add", dtype, r, t) for r, t in zip(tripled, twice, strict=True)]
            p.write(f"out_{dtype}", dtype, like=x)[i] = total
            inputs[x.decl.name] = pack(dtype, column)
            outputs.append(pack(dtype, results))
    return Launch(program=p.build(), inputs=inputs), Exactly(tuple(outputs))


def _periods(period: str, memory: str) -> tuple[Launch, Expected]:
    """Beside the global id, an index that starts again from 0: no vector of neighbours is read by it."""
    index, right = PERIODS[period]
    values = [(k * k + 5) % 2**32 for k in range(256)]
    with program("periodic_index", 64) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        table = p.read("table", u32, 256) if memory == "storage" else p.workgroup("table", u32, 256)
        at = p.let(index(p.local_id(0)))
        if memory == "workgroup":
            with p.range(0, 4) as k:
                slot = p.let(k * 64 + p.local_id(0))
                table[slot] = slot * slot + 5
            p.barrier()
        total = p.var(0, u32)
        total += table[at]
        out[p.global_id(0)] = total + x[p.global_id(0)]
    given = list(range(1000, 1000 + 253))
    expected = [value + values[right(i % 64)] for i, value in enumerate(given)]
    inputs = {"x": pack(u32, given)} | ({"table": pack(u32, values)} if memory == "storage" else {})
    return Launch(program=p.build(), inputs=inputs), Exactly((pack(u32, expected),))


def _ops_of_ops(types: list[DType], rng: Random) -> tuple[Launch, Expected]:
    """An op with a literal over another: the two are one only where neither saturates, wraps or divides by zero."""
    inputs: dict[str, bytes] = {}
    outputs = []
    with program("ops_of_ops", 64) as p:
        i = p.let(p.global_id(0))
        for dtype in types:
            x = p.read(f"x_{dtype}", dtype)
            column = _rows(dtype, rng, 1)[0][:FEW]
            total: Value = x[i]
            results = list(column)
            minus = -50 if dtype.is_signed else dtype.highest - 49
            for outer, b, inner, a in (
                *(("rem", 4, "rem", 12), ("rem", 4, "rem", 0), ("rem", 12, "rem", 4), ("div", 3, "div", 5)),
                *(("min", 10, "max", 20), ("max", 10, "min", 20), ("max", 20, "min", 10), ("div", 0, "mul", 3)),
                *(("add_sat", minus, "add_sat", 100), ("sub_sat", 100, "add_sat", 50), ("mul_sat", 3, "mul_sat", 5)),
                *(("div", 6, "mul", 6), ("mul", 6, "div", 6), ("sub", 7, "mul_high", 9), ("abs_diff", 9, "sub", 20)),
            ):
                nested = apply(outer, apply(inner, x[i], a), b)
                total = total * 3 + (nested.cast(dtype) if nested.dtype is not dtype else nested)
                twice = [wrap(dtype, int(_op(outer, dtype, _op(inner, dtype, v, a), b))) for v in column]
                tripled = [_op("mul", dtype, r, 3) for r in results]
                results = [_op("add", dtype, r, t) for r, t in zip(tripled, twice, strict=True)]
            p.write(f"out_{dtype}", dtype, like=x)[i] = total
            inputs[x.decl.name] = pack(dtype, column)
            outputs.append(pack(dtype, results))
    return Launch(program=p.build(), inputs=inputs), Exactly(tuple(outputs))


def _casts_of_casts(
    types: Sequence[DType], floats: Sequence[DType], signed: DType, unsigned: DType, rng: Random
) -> tuple[Launch, Expected]:
    """A cast over another, through types that are narrower, of another sign, or floats."""
    inputs: dict[str, bytes] = {}
    outputs = []
    with program("casts_of_casts", 64) as p:
        i = p.let(p.global_id(0))
        for dtype in types:
            x = p.read(f"x_{dtype}", dtype)
            out = p.write(f"out_{dtype}", unsigned, like=x)
            column = _rows(dtype, rng, 1)[0][:FEW]
            total: Value = x[i].cast(unsigned)
            results = [wrap(unsigned, int(v)) for v in column]
            for between in (t for t in (*types, *floats) if t is not dtype):
                there = x[i].cast(between)
                total = total * 3 + there.cast(signed).cast(unsigned) + there.cast(dtype).cast(unsigned)
                for n, v in enumerate(column):
                    once = cast(dtype, between, v)
                    twice = int(cast(between, signed, once)) + int(cast(between, dtype, once))
                    results[n] = wrap(unsigned, results[n] * 3 + twice)
            out[i] = total
            inputs[x.decl.name] = pack(dtype, column)
            outputs.append(pack(unsigned, results))
    return Launch(program=p.build(), inputs=inputs), Exactly(tuple(outputs))


def _stores() -> tuple[Launch, Expected]:
    """Two stores to one buffer, one after the other, at different places."""
    with program("stores", 4) as p:
        out = p.write("out", u32, 64)
        i = p.let(p.global_id(0))
        with p.range(0, 8) as k:
            out[i * 16 + k * 2] = i + k
            out[i * 16 + k * 2 + 1] = i * k
    values = [v for i in range(4) for k in range(8) for v in (i + k, i * k)]
    return Launch(program=p.build(), inputs={}, grid=(1, 1, 1)), Exactly((pack(u32, values),))


def _guard() -> tuple[Launch, Expected]:
    """A guard that lets one index too many through: the check of the access has to stop it."""
    with program("guard", 16) as p:
        out, after = p.write("out", u32, 8), p.write("after", u32, 8)
        cells = p.workgroup("cells", u32, 8)
        i = p.let(p.local_id(0))
        with p.if_(i <= 8):
            cells[i] = i + 1
            out[i] = i + 2
        p.barrier()
        with p.if_(i < 8):
            after[i] = cells[i + 1]
    outputs = (pack(u32, range(2, 10)), pack(u32, [*range(2, 9), 0]))
    return Launch(program=p.build(), inputs={}, grid=(1, 1, 1)), Exactly(outputs)


def _clamped() -> tuple[Launch, Expected]:
    """A signed index that is clamped above alone may still be negative."""
    at = [0, 7, 8, 100, -1, -8, i32.lowest, i32.highest, 3]
    with program("clamped", 16) as p:
        indices, table = p.read("at", i32), p.read("table", u32, 8)
        out = p.write("out", u32, like=indices)
        i = p.let(p.global_id(0))
        out[i] = table[select(indices[i] > 7, 7, indices[i])]
    inputs = {"at": pack(i32, at), "table": pack(u32, range(50, 58))}
    expected = [50 + min(n, 7) if n >= 0 else 0 for n in at]
    return Launch(program=p.build(), inputs=inputs), Exactly((pack(u32, expected),), ("at",))


def _wraps() -> tuple[Launch, Expected]:
    """An index of 32 bits wraps before memory sees it, also where addresses are wider."""
    count = 21
    with program("wraps", 8) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        i = p.let(p.global_id(0))
        out[i] = x[i + (2**32 - 3)] + x[i * 2**31 + 5]
    values = [1000 + n for n in range(count)]
    expected = [(values[n - 3] if n >= 3 else 0) + (values[5] if n % 2 == 0 else 0) for n in range(count)]
    return Launch(program=p.build(), inputs={"x": pack(u32, values)}), Exactly((pack(u32, expected),))


def _element() -> tuple[Launch, Expected]:
    """A loop adds to one element of a row, and reads all of the row. The last invocation has its row out of bounds."""
    count, length, iterations = 5, 3, 4
    with program("element", 8) as p:
        out, seen = p.read_write("out", u32, count * length), p.read_write("seen", u32, count + 1)
        limit, i = p.uniform("limit", u32, 1), p.global_id(0)
        with p.if_(i < count + 1), p.range(0, limit[0]) as k:
            out[i * length] = out[i * length] + out[i * length + k % length] + 1
            seen[i] = out[i * length]
    rows = [[10 * n + k for k in range(length)] for n in range(count)]
    given = pack(u32, [x for row in rows for x in row])
    inputs = {"out": given, "seen": pack(u32, [7] * (count + 1)), "limit": pack(u32, [iterations])}
    for row in rows:
        for n in range(iterations):
            row[0] += row[n % length] + 1
    shown = [*(row[0] for row in rows), 0]
    expected = (pack(u32, [x for row in rows for x in row]), pack(u32, shown))
    return Launch(program=p.build(), inputs=inputs), Exactly(expected)


def _element_of_some_iterations() -> tuple[Launch, Expected]:
    """A loop adds to an element in some iterations, in none for some invocations: these leave a NaN as it was.

    The last invocation has its element out of bounds.
    """
    count, iterations = 6, 4
    with program("some_rounds", 8) as p:
        out, adds = p.read_write("out", f32, count), p.read("adds", f32, iterations)
        limit, ends, i = p.uniform("limit", u32, 1), p.read("ends", u32, count + 1), p.global_id(0)
        with p.if_(i < count + 1), p.range(0, limit[0]) as k, p.if_(k < ends[i]):
            out[i] = out[i] + adds[k]
    nan, canonical = 0xFFC12345, 0x7FC00000
    given = [nan, nan, 0x3F800000, 0x3F800000, 0x80000000, 0x7F812345]
    inputs = {
        "out": pack(u32, given),
        "adds": pack(f32, [1.0, 2.0, 4.0, 8.0]),
        "limit": pack(u32, [iterations]),
        "ends": pack(u32, [0, 2, 0, 3, 0, 0, 4]),
    }
    expected = [nan, canonical, 0x3F800000, 0x41000000, 0x80000000, 0x7F812345]
    return Launch(program=p.build(), inputs=inputs), Exactly((pack(u32, expected),))


def _long_input() -> tuple[Launch, Expected]:
    """The grid follows from outputs, however long the inputs are."""
    with program("long_input", 4) as p:
        x, out = p.read("x", u32), p.write("out", u32, 6)
        i = p.let(p.global_id(0))
        out[i] = x[i] + p.num_workgroups(0)
    return Launch(program=p.build(), inputs={"x": pack(u32, range(100))}), Exactly((pack(u32, range(2, 8)),))


def _counters() -> tuple[Launch, Expected]:
    """Loops in loops around grid barriers, with counters of one type that are beyond 32 bits."""
    count = 12
    with program("counters", 4) as p:
        out, cells = p.write("out", i64, count), p.scratch("cells", i64, count)
        i = p.let(p.global_id(0))
        with p.range(-3, 2, 2, dtype=i64) as a, p.range(2**33, 2**33 + 2, dtype=i64) as b:
            taken = p.let(cells[(i + 5) % count])
            p.grid_barrier()
            cells[i] = taken * 3 + a * 7 + b
            p.grid_barrier()
        out[i] = cells[i]
    values = [0] * count
    for a_ in range(-3, 2, 2):
        for b_ in range(2**33, 2**33 + 2):
            values = [values[(n + 5) % count] * 3 + a_ * 7 + b_ for n in range(count)]
    return Launch(program=p.build(), inputs={}), Exactly((pack(i64, values),))
