"""Branches, loops and jumps, against the same algorithm written in Python."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, fixed, seeded
from vyre_conform.cases.values import pack
from vyre_foundation.build import ProgramBuilder, Value, apply, program
from vyre_foundation.dtype import INTEGERS, DType, u32, u64
from vyre_foundation.ir.expr import Local, literal
from vyre_foundation.ir.stmt import For, Region, Stmt, Store
from vyre_foundation.ops.scalar import wrap

COUNT = 77
"""Invocations that matter; the last workgroup is not full."""


def specs() -> Iterator[Spec]:
    for name, (body, model) in PER_ELEMENT.items():
        yield seeded(address("control", name), _per_element, name, body, model)
    for dtype in INTEGERS:
        yield fixed(address("control", "loop_bounds", dtype=dtype), _bounds, dtype)
    yield fixed(address("control", "early_return"), _return)
    yield fixed(address("control", "loop_wide_bounds"), _wide_bounds)
    yield fixed(address("control", "deep_nesting"), _deep)
    yield fixed(address("control", "long_chain"), _chain)


Body = Callable[[ProgramBuilder, Value], Value]
Model = Callable[[int], int]


def _per_element(name: str, body: Body, model: Model, rng: Random) -> tuple[Launch, Expected]:
    """``out[i] = body(x[i])`` for u32, against `model`."""
    with program(name, 32) as p:
        x, out = p.read("x", u32), p.write("out", u32, COUNT)
        i = p.global_id(0)
        out[i] = body(p, p.let(x[i]))
    values = [*range(20), *(rng.randrange(2**32) for _ in range(COUNT - 20))]
    outputs = struct.pack(f"<{COUNT}I", *[model(v) & 0xFFFF_FFFF for v in values])
    return Launch(program=p.build(), inputs={"x": struct.pack(f"<{COUNT}I", *values)}), Exactly((outputs,), ("x",))


def _branch(p: ProgramBuilder, x: Value) -> Value:
    result = p.var(0, u32)
    with p.if_(x % 3 == 0):
        result.set(x + 1)
    with p.else_():
        with p.if_(x % 3 == 1):
            result.set(x * 7)
        with p.else_():
            result.set(x ^ 0xFFFF)
    return result.get()


def _branch_model(x: int) -> int:
    return x + 1 if x % 3 == 0 else x * 7 if x % 3 == 1 else x ^ 0xFFFF


def _collatz(p: ProgramBuilder, x: Value) -> Value:
    """Steps to 1 of a small start, at most 60: a loop that is left early."""
    value, steps = p.var(x % 30 + 1), p.var(0, u32)
    with p.range(0, 60) as _:
        with p.if_(value == 1):
            p.break_()
        steps.set(steps + 1)
        with p.if_(value % 2 == 0):
            value.set(value // 2)
            p.continue_()
        value.set(value * 3 + 1)
    return steps.get()


def _collatz_model(x: int) -> int:
    value, steps = x % 30 + 1, 0
    while value != 1 and steps < 60:
        value, steps = (value // 2 if value % 2 == 0 else value * 3 + 1), steps + 1
    return steps


def _nested_jumps(p: ProgramBuilder, x: Value) -> Value:
    """Inner jumps leave the inner loop alone."""
    total = p.var(0, u32)
    with p.range(0, x % 7) as a:
        with p.range(a, 9) as b:
            with p.if_((a + b) % 4 == 3):
                p.continue_()
            with p.if_(b > x % 11):
                p.break_()
            total.set(total * 5 + a + b)
        with p.if_(total % 13 == 5):
            p.continue_()
        total.set(total + 1000)
    return total.get()


def _nested_jumps_model(x: int) -> int:
    total = 0
    for a in range(x % 7):
        for b in range(a, 9):
            if (a + b) % 4 == 3:
                continue
            if b > x % 11:
                break
            total = (total * 5 + a + b) % 2**32
        if total % 13 == 5:
            continue
        total += 1000
    return total


def _swap(p: ProgramBuilder, x: Value) -> Value:
    """Values that were read before an assignment stay what they were."""
    a, b = p.var(x), p.var(x + 1)
    with p.range(0, x % 5):
        old_a, old_b = a.get(), b.get()
        a.set(old_b)
        b.set(old_a + old_b)
    return a * 3 + b


def _swap_model(x: int) -> int:
    a, b = x, x + 1
    for _ in range(x % 5):
        a, b = b, (a + b) % 2**32
    return a * 3 + b


def _steps(p: ProgramBuilder, x: Value) -> Value:
    total = p.var(0, u32)
    for step in (1, 2, 3, 7):
        with p.range(x % 3, x % 23, step) as i:
            total.set(total * 31 + i)
    return total.get()


def _steps_model(x: int) -> int:
    total = 0
    for step in (1, 2, 3, 7):
        for i in range(x % 3, x % 23, step):
            total = (total * 31 + i) % 2**32
    return total


def _changed_bounds(p: ProgramBuilder, x: Value) -> Value:
    """Bounds are read once: what the body assigns does not move them."""
    limit, iterations = p.var(x % 9), p.var(0, u32)
    with p.range(0, limit):
        limit.set(limit + 5)
        iterations.set(iterations + 1)
    return iterations * 1000 + limit


def _changed_bounds_model(x: int) -> int:
    return x % 9 * 1000 + x % 9 * 6


def _counter_after(p: ProgramBuilder, x: Value) -> Value:
    """A break keeps what was assigned in its round."""
    found = p.var(99, u32)
    with p.range(0, 10) as i:
        found.set(i)
        with p.if_(i * i >= x % 90):
            p.break_()
    return found.get()


def _counter_after_model(x: int) -> int:
    return next(i for i in range(10) if i * i >= x % 90 or i == 9)


def _early_return(p: ProgramBuilder, x: Value) -> Value:
    """Those that return have stored before, and do not store again."""
    early = p.write("early", u32, COUNT)
    with p.range(0, 8) as k, p.if_(x % 8 == k * 2):
        early[p.global_id(0)] = k + 50
        p.return_()
    return x + 1


PER_ELEMENT: dict[str, tuple[Body, Model]] = {
    "branch": (_branch, _branch_model),
    "collatz": (_collatz, _collatz_model),
    "nested_jumps": (_nested_jumps, _nested_jumps_model),
    "swap": (_swap, _swap_model),
    "steps": (_steps, _steps_model),
    "changed_bounds": (_changed_bounds, _changed_bounds_model),
    "counter_after": (_counter_after, _counter_after_model),
}


def _return() -> tuple[Launch, Expected]:
    with program("early_return", 32) as p:
        x, out = p.read("x", u32), p.write("out", u32, COUNT)
        out[p.global_id(0)] = _early_return(p, p.let(x[p.global_id(0)]))
    values = list(range(COUNT))
    late = [v + 1 if v % 8 not in (0, 2, 4, 6) else 0 for v in values]
    early = [v % 8 // 2 + 50 if v % 8 in (0, 2, 4, 6) else 0 for v in values]
    outputs = (pack(u32, late), pack(u32, early))
    return Launch(program=p.build(), inputs={"x": pack(u32, values)}), Exactly(outputs, ("x",))


def _bounds(dtype: DType) -> tuple[Launch, Expected]:
    """Rounds and the sum of the counters, for bounds at the ends of the type: counters do not wrap."""
    low, high = dtype.lowest, dtype.highest
    rows = [
        *((0, 5, 1), (5, 0, 1), (3, 3, 1), (high - 3, high, 1), (high - 4, high, 3), (high - 1, high, 7)),
        *((low, low + 4, 1), (low, low + 5, 2), (high, low, 1), (high, high, 1), (low, high, max(1, high // 2))),
    ]
    with program(f"bounds_{dtype}", 1) as p:
        start, stop = p.read("start", dtype), p.read("stop", dtype)
        iterations, total = p.write("rounds", u32, len(rows)), p.write("total", dtype, len(rows))
        for n, (_, _, step) in enumerate(rows):
            count, so_far = p.var(0, u32), p.var(0, dtype)
            with p.range(start[n], stop[n], step) as i:
                count.set(count + 1)
                so_far.set(so_far * 3 + i)
            iterations[n] = count
            total[n] = so_far
    counters = [range(*row) for row in rows]
    sums = []
    for counted in counters:
        value = 0
        for counter in counted:
            value = wrap(dtype, value * 3 + counter)
        sums.append(value)
    inputs = {"start": pack(dtype, [r[0] for r in rows]), "stop": pack(dtype, [r[1] for r in rows])}
    outputs = (pack(u32, [len(c) for c in counters]), pack(dtype, sums))
    return Launch(program=p.build(), inputs=inputs, grid=(1, 1, 1)), Exactly(outputs, ("start", "stop"))


def _wide_bounds() -> tuple[Launch, Expected]:
    """Bounds above 2**32: counters are not cut to 32 bits."""
    with program("wide_bounds", 1) as p:
        first, out = p.read("first", u64), p.write("out", u64, 4)
        with p.range(first[0], first[0] + 4) as i:
            out[i - first[0]] = i
    start = 2**32 - 2
    launch = Launch(program=p.build(), inputs={"first": pack(u64, [start])}, grid=(1, 1, 1))
    return launch, Exactly((pack(u64, range(start, start + 4)),))


def _deep() -> tuple[Launch, Expected]:
    """Blocks as deep as the language allows them."""
    with program("deep", 1) as p:
        out = p.write("out", u32, 1)
        store = Store(out.decl, literal(u32, 0), Local("i0", u32))
    body: tuple[Stmt, ...] = (store,)
    for depth in range(60):
        body = (Region("layer", body),) if depth % 2 else (For(f"i{depth}", literal(u32, 3), literal(u32, 4), 1, body),)
    return Launch(program=replace(p.build_unchecked(), body=body), inputs={}, grid=(1, 1, 1)), Exactly(
        (pack(u32, [3]),)
    )


def _chain() -> tuple[Launch, Expected]:
    """A chain of 2,000 operators in one expression."""
    with program("chain", 8) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        value = x[p.global_id(0)]
        for n in range(1000):
            value = apply("rotl", value + n, 5)
        out[p.global_id(0)] = value
    values, results = [0, 1, 2**32 - 1, 12345], []
    for v in values:
        for n in range(1000):
            v = (v + n) % 2**32
            v = (v << 5 | v >> 27) % 2**32
        results.append(v)
    return Launch(program=p.build(), inputs={"x": pack(u32, values)}), Exactly((pack(u32, results),), ("x",))
