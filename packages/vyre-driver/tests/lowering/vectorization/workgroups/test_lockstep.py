"""Loops that invocations leave at rounds of their own: together, then one by one."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from vyre_driver.legalization.lowered import RARE, Lowered
from vyre_foundation.build import Mutable, ProgramBuilder, Value, program, select
from vyre_foundation.dtype import INTEGERS, bool_, f16, f32, u8, u32
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Break, For, If, Region
from vyre_foundation.ir.walk import statements

SEEDS = [(k * 2654435761) % 2**32 for k in range(150)]
SMALL = [seed & 0xF for seed in SEEDS]
"""From which Collatz's rule takes 0 to 20 steps, and not up to 112."""


def in_step(lowered: Lowered) -> list[For]:
    """The loops that end when few go on."""
    loops = [s for kernel in lowered.kernels for s in statements(kernel.program.body) if isinstance(s, For)]
    return [loop for loop in loops if isinstance(loop.body[-1], If) and isinstance(loop.body[-1].then[-1], Break)]


def collatz(p: ProgramBuilder, n: Mutable) -> Mutable:
    """How many steps Collatz's rule takes from `n` to 1, at most 200."""
    count = p.var(0, u32)
    with p.range(200):
        with p.if_(n <= 1):
            p.break_()
        with p.if_((n & 1) == 0):
            n.set(n >> 1)
        with p.else_():
            n.set(n * 3 + 1)
        count.set(count + 1)
    return count


def collatz_steps(shape: int | tuple[int, ...] = 64) -> Program:
    with program("collatz", shape) as p:
        a = p.read("a", u32)
        columns, rows = (p.num_workgroups(axis) * p.workgroup_size[axis] for axis in (0, 1))
        i = p.let((p.global_id(2) * rows + p.global_id(1)) * columns + p.global_id(0))
        p.write("out", u32, like=a)[i] = collatz(p, p.var(a[i] & 0x3F))
    return p.build()


def test_the_result_is_known(case, dialects):
    made = case(collatz_steps(), {"a": [27, 1, 0, 41, 54]})
    outcome = made.run_lowered(made.lower(dialects["loops"].target()))
    assert np.frombuffer(outcome["out"], np.uint32).tolist() == [111, 0, 0, 109, 112]


def test_rounds_have_no_branches_and_few_go_on_alone(case, check):
    lowered = check(case(collatz_steps(), {"a": SEEDS}), "loops")
    (loop,) = in_step(lowered)
    lanes = loop.body[0]
    assert isinstance(lanes, For)
    assert lanes.stop.value == 64
    assert not [s for s in statements(lanes.body) if isinstance(s, (If, For))]
    rare = [s for s in statements(lowered.kernels[0].program.body) if isinstance(s, Region) and s.label == RARE]
    assert any(s.name.startswith("i0") for region in rare for s in statements(region.body) if isinstance(s, For))


SHAPES = [(8, 1, 1), (16, 8, 1), (1, 70, 1), (3, 5, 7)]
"""Less than a part of 64, two whole ones, and a whole one with a rest."""


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_workgroups_go_part_by_part(shape, case, check):
    lowered = check(case(collatz_steps(shape), {"a": SMALL}, grid=(1, 1, 1)), "loops")
    assert len(in_step(lowered)) == 1


@pytest.mark.parametrize("length", [0, 1, 64, 65, 128, 150])
def test_behind_a_guard(length, case, check):
    """`if i < n` around everything is the end of all loops, those of the parts too."""
    with program("guarded", 128) as p:
        a, n = p.read("a", u32), p.uniform("n", u32, 1)
        out = p.write("out", u32, like=a)
        i = p.global_id(0)
        with p.if_(i < n[0]):
            start = p.var(a[i] & 0x1F)
            out[i] = collatz(p, start) + start
    lowered = check(case(p.build(), {"a": SMALL, "n": [length]}), "loops")
    assert len(in_step(lowered)) == 1


def test_behind_a_guard_on_two_axes(case, check):
    with program("guarded", (8, 16)) as p:
        a, size = p.read("a", u32), p.uniform("size", u32, 2)
        out = p.write("out", u32, like=a)
        x, y = p.global_id(0), p.global_id(1)
        with p.if_((x < size[0]) & (y < size[1])):
            i = p.let(y * size[0] + x)
            out[i] = collatz(p, p.var(a[i] & 0x1F))
    lowered = check(case(p.build(), {"a": SMALL, "size": [13, 21]}, grid=(2, 2, 1)), "loops")
    assert len(in_step(lowered)) == 1


def test_a_guard_that_is_no_limit_stays(case, check):
    with program("odd", 64) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        i = p.global_id(0)
        with p.if_(a[i] % 2 == 1):
            out[i] = collatz(p, p.var(a[i] & 0x1F))
    assert in_step(check(case(p.build(), {"a": SEEDS}), "loops")) == []


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_every_invocation_has_its_own_end(dtype, case, check):
    """Ends below the start, at it, and at the highest value of the counter's type."""
    edges = [0, 1, 2, 9, 40, dtype.highest - 1, dtype.highest, dtype.lowest, dtype.lowest + 1]
    start = dtype.highest - 20
    with program("own", 16) as p:
        a = p.read("a", dtype)
        i = p.global_id(0)
        hash, count = p.var(1, u32), p.var(0, u32)
        with p.range(p.let(a[0]) * 0 + start, a[i]) as k:
            hash.set(hash * 31 + k.cast(u32))
        with p.range(0, a[i] & 31) as k:
            count.set(count + k.cast(u32))
        p.write("out", u32, like=a)[i] = hash + count
    lowered = check(case(p.build(), {"a": (edges * 4)[:32]}), "loops")
    assert len(in_step(lowered)) == 2


@pytest.mark.parametrize("step", [1, 3, 11])
def test_counters_that_come_to_the_highest_value(step, case, check):
    with program("high", 16) as p:
        a = p.read("a", u8)
        i = p.global_id(0)
        total, last = p.var(0, u32), p.let(a[i])
        with p.range(200, 255, step, dtype=u8) as k:
            with p.if_(k == last):
                p.break_()
            total.set(total + k.cast(u32))
        p.write("out", u32, like=a)[i] = total
    data = {"a": [255] * 14 + [254, 200, 203, 0]}  # more than a few come to the end, then few do
    lowered = check(case(p.build(), data), "loops")
    assert len(in_step(lowered)) == 1
    check(case(p.build(), {"a": [200] * 30 + [255]}), "loops")


def test_in_rounds_of_the_workgroup_and_beside_barriers(case, check):
    with program("nested", 8) as p:
        a, w = p.read("a", u32), p.workgroup("w", u32, 8)
        i, l = p.global_id(0), p.local_id(0)
        n, total = p.var(a[i] & 0x1F), p.var(0, u32)
        with p.range(5):
            total.set(total + collatz(p, n))
            n.set((n + total + 7) & 0x1F)
        with p.range(3):
            w[l] = total + collatz(p, n)
            p.barrier()
            total.set(total + w[7 - l])
            n.set(total & 0x1F)
            p.barrier()
        p.write("out", u32, like=a)[i] = total
    lowered = check(case(p.build(), {"a": SEEDS[:40]}), "loops")
    assert len(in_step(lowered)) == 2


def test_types_that_are_not_registers(case, check):
    with program("half", 32) as p:
        a = p.read("a", f16)
        i = p.global_id(0)
        x, small, is_odd = p.var(a[i]), p.var(0, u8), p.var(False, bool_)
        with p.range(40):
            with p.if_(x * x > 100.0):
                p.break_()
            x.set(x * 1.5 + 0.25)
            small.set(small + 77)
            is_odd.set(~is_odd.get())
        p.write("x", f16, like=a)[i] = x
        p.write("small", u8, like=a)[i] = small
        p.write("is_odd", bool_, like=a)[i] = is_odd
    data = [float(k) / 16 - 8 for k in range(100)] + [float("nan"), float("inf"), 0.0, -0.0]
    assert len(in_step(check(case(p.build(), {"a": data}), "loops"))) == 1


def test_loops_over_memory_and_divisions_stay_with_each_invocation(case, check):
    with program("alone", 64) as p:
        a = p.read("a", u32)
        out, other = p.write("out", u32, like=a), p.write("other", u32, like=a)
        i = p.global_id(0)
        gcd, rest, hops = p.var(a[i] & 0x1F), p.var(a[i] >> 24), p.var(i)
        with p.range(40):
            with p.if_(rest == 0):
                p.break_()
            next = p.let(gcd % rest)
            gcd.set(rest)
            rest.set(next)
        with p.range(40):
            with p.if_(a[hops] % 3 == 0):
                p.break_()
            hops.set((hops + 7) % 150)
        with p.range(0, a[i] & 7) as k:
            other[i * 8 + k] = k
        out[i] = gcd + hops
    assert in_step(check(case(p.build(), {"a": SEEDS}), "loops")) == []


def test_after_an_early_end_loops_stay_with_each_invocation(case, check):
    with program("left", 64) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        i = p.global_id(0)
        with p.if_(a[i] % 5 == 0):
            p.return_()
        out[i] = collatz(p, p.var(a[i] & 0x1F))
    assert in_step(check(case(p.build(), {"a": SEEDS}), "loops")) == []


# ── any branches ──


class Arithmetic:
    """Bodies of loops by chance: values of two locals, branches in branches, breaks and continues anywhere."""

    def __init__(self, p: ProgramBuilder, random: Random, x: Mutable, y: Mutable) -> None:
        self._p, self._random, self._x, self._y = p, random, x, y

    def value(self, k: Value) -> Value:
        x, y, number = self._x, self._y, self._random.randrange(1, 1000)
        return self._random.choice(
            [
                lambda: x * number + k,
                lambda: (x ^ y) >> (number % 13),
                lambda: select(x > y, x - number, y + k),
                lambda: y + (x << (k & 31)),
                lambda: x // number,
                lambda: x.cast(f32).cast(u32) ^ y,
            ]
        )()

    def body(self, k: Value, depth: int) -> None:
        p, random = self._p, self._random
        for _ in range(random.randrange(1, 4)):
            match random.choice(
                ("set", "set", "let", "if", "if", "break", "continue") if depth else ("set", "if", "if")
            ):
                case "set":
                    random.choice((self._x, self._y)).set(self.value(k))
                case "let":
                    self._y.set(p.let(self.value(k)) + 1)
                case "if":
                    with p.if_((self.value(k) & 7) < random.randrange(1, 8)):
                        self.body(k, depth + 1)
                    if random.random() < 0.5:
                        with p.else_():
                            self.body(k, depth + 1)
                case "break":
                    p.break_()
                    return
                case "continue":
                    p.continue_()
                    return


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(n, marks=pytest.mark.slow) for n in range(6, 40))])
def test_any_branches(seed, case, check):
    random = Random(seed)
    with program("any", random.choice((8, 12))) as p:
        a = p.read("a", u32)
        i = p.global_id(0)
        x, y = p.var(a[i]), p.var(i)
        stop = random.choice((9, a[i] & 15, 3 + (i & 7)))
        with p.range(0, stop) as k:
            Arithmetic(p, random, x, y).body(k, 0)
        x.set(x)  # some bodies leave one of them as it is
        y.set(y)
        p.write("x", u32, like=a)[i] = x
        p.write("y", u32, like=a)[i] = y
    check(case(p.build(), {"a": SEEDS}), "loops")
    check(case(p.build(), {"a": SEEDS[1:4] + [0] * 30}), "loops")
