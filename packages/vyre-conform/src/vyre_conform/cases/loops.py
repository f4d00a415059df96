"""Loops and what lives in, before and behind them: where a compiler moves, keeps or forgets something too early."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, fixed, seeded
from vyre_conform.cases.values import pack
from vyre_foundation.build import program
from vyre_foundation.dtype import i32, u32, u64

COUNT, GROUP = 40, 8
TOP = 2**32


def specs() -> Iterator[Spec]:
    yield seeded(address("loops", "carried_and_unread"), _carried)
    yield fixed(address("loops", "read_before_written"), _unset)
    yield seeded(address("loops", "break_before_reads"), _break)
    yield seeded(address("loops", "ends_that_change"), _ends)
    yield seeded(address("loops", "starts_side_by_side"), _starts)
    yield seeded(address("loops", "values_before_and_inside"), _values)
    yield seeded(address("loops", "return_out_of_two"), _return)
    yield seeded(address("loops", "return_before_barriers"), _return_before)
    yield seeded(address("loops", "everyone_returns"), _everyone)
    yield seeded(address("loops", "jumps_in_branches"), _jumps)


def _carried(rng: Random) -> tuple[Launch, Expected]:
    """Variables that are read in the next iteration of a loop with grid barriers, and not after the loop.

    Some are assigned under a condition.
    """
    with program("carried", GROUP) as p:
        x, out, cells = p.read("x", u32), p.write("out", u32, COUNT), p.scratch("cells", u32, COUNT)
        i = p.let(p.global_id(0))
        value, seldom, total = p.var(x[i]), p.var(5, u32), p.var(0, u32)
        with p.range(0, 4) as round:
            cells[i] = value + seldom
            p.grid_barrier()
            total.set(total * 3 + cells[(i + 11) % COUNT])
            value.set(value * 5 + round)
            with p.if_((i + round) % 3 == 0):
                seldom.set(total)
            p.grid_barrier()
        out[i] = total
    values = [rng.randrange(TOP) for _ in range(COUNT)]
    state = [(v, 5, 0) for v in values]
    for step in range(4):
        shown = [value + seldom for value, seldom, _ in state]
        totals = [(total * 3 + shown[(n + 11) % COUNT]) % TOP for n, (_, _, total) in enumerate(state)]
        state = [
            ((value * 5 + step) % TOP, totals[n] if (n + step) % 3 == 0 else seldom, totals[n])
            for n, (value, seldom, _) in enumerate(state)
        ]
    launch = Launch(program=p.build(), inputs={"x": pack(u32, values)})
    return launch, Exactly((pack(u32, [total for _, _, total in state]),))


def _unset() -> tuple[Launch, Expected]:
    """Arrays that are read in the first iteration before they are written, and in part after that.

    All of it runs twice, so that there is something that they could hold.
    """
    with program("unset", GROUP) as p:
        out, cells = p.write("out", u32, COUNT), p.scratch("cells", u32, COUNT)
        own, shared = p.private("own", u32, 3), p.workgroup("shared", u32, GROUP)
        i, local = p.let(p.global_id(0)), p.let(p.local_id(0))
        total = p.var(0, u32)
        with p.range(0, 3) as round:
            total.set(total * 10 + own[round] + own[2] + shared[(local + 1) % GROUP])
            cells[i] = total
            p.grid_barrier()
            own[(round + 1) % 3] = i + 1
            with p.if_(local % 2 == round % 2):
                shared[local] = cells[(i + 9) % COUNT] + 3
            p.grid_barrier()
        out[i] = total
    totals, own_ = [0] * COUNT, [[0] * 3 for _ in range(COUNT)]
    shared_ = [0] * COUNT
    for step in range(3):
        beside = [shared_[n - n % GROUP + (n % GROUP + 1) % GROUP] for n in range(COUNT)]
        totals = [(totals[n] * 10 + own_[n][step] + own_[n][2] + beside[n]) % TOP for n in range(COUNT)]
        for n in range(COUNT):
            own_[n][(step + 1) % 3] = n + 1
            if n % GROUP % 2 == step % 2:
                shared_[n] = totals[(n + 9) % COUNT] + 3
    return Launch(program=p.build(), inputs={}, iterations=2), Exactly((pack(u32, totals),))


def _break(rng: Random) -> tuple[Launch, Expected]:
    """Arrays that a loop fills until it breaks or continues early: what it has not reached is zero.

    A place in a table that a loop finds is known only behind it.
    """
    table = [rng.randrange(1, TOP) for _ in range(8)]
    with program("break_before_reads", GROUP) as p:
        x, cells = p.read("x", u32), p.constant("cells", u32, table)
        left, skipped, found = (p.write(name, u32, COUNT) for name in ("left", "skipped", "found"))
        own, other = p.private("own", u32, 8), p.private("other", u32, 8)
        i = p.let(p.global_id(0))
        at = p.var(0, i32)
        with p.range(0, 8) as k:
            with p.if_(k == x[i] % 11):
                p.break_()
            own[k] = i + k + 1
        with p.range(0, 8) as k:
            with p.if_((k + i) % 3 == 0):
                p.continue_()
            other[k] = i + k + 1
        with p.range(0, 20, dtype=i32) as k:
            at.set(k)
            with p.if_(k.cast(u32) == x[i] % 11):
                p.break_()
        digits, more = p.var(0, u32), p.var(0, u32)
        with p.range(0, 8) as k:
            digits.set(digits * 7 + own[7 - k])
            more.set(more * 7 + other[7 - k])
        left[i] = digits
        skipped[i] = more
        found[i] = cells[at] + cells[at - 3]
    values = [*range(20), *(rng.randrange(TOP) for _ in range(COUNT - 20))]
    rows: list[list[int]] = [[], [], []]
    for n, v in enumerate(values):
        digits_ = more_ = 0
        for k_ in reversed(range(8)):
            digits_ = (digits_ * 7 + (n + k_ + 1 if k_ < v % 11 else 0)) % TOP
            more_ = (more_ * 7 + (n + k_ + 1 if (k_ + n) % 3 else 0)) % TOP
        rows[0].append(digits_)
        rows[1].append(more_)
        rows[2].append(sum(table[place] for place in (v % 11, v % 11 - 3) if 0 <= place < 8) % TOP)
    launch = Launch(program=p.build(), inputs={"x": pack(u32, values)})
    return launch, Exactly(tuple(pack(u32, row) for row in rows), ("x",))


def _ends(rng: Random) -> tuple[Launch, Expected]:
    """Start and end are evaluated once, whatever the body does to what they are made of."""
    with program("ends_that_change", GROUP) as p:
        x, cells = p.read("x", u32), p.read_write("cells", u32)
        iterations, last = p.write("rounds", u32, COUNT), p.write("last", u32, COUNT)
        own = p.private("own", u32, 2)
        i = p.let(p.global_id(0))
        end, done, seen = p.var(x[i] % 6 + 2), p.var(0, u32), p.var(0, u32)
        with p.range(end - 2, end + 1) as k:
            end.set(end * 2 + k)
            done.set(done + 1)
        with p.range(0, cells[i] % 5) as k:
            cells[i] = cells[i] + 3 + k
            done.set(done + 10)
        own[1] = 4
        with p.range(own[0], own[1], 2) as k:
            own[k % 2] = own[1] - 1
            done.set(done + 100)
            seen.set(seen * 5 + k + 1)
        with p.range(0, end % 3 + 1) as a, p.range(a, end % 4 + 1) as b:
            end.set(end + 1)
            seen.set(seen * 5 + a * 3 + b)
        iterations[i] = done
        last[i] = seen + end
    values, olds = ([rng.randrange(2**16) for _ in range(COUNT)] for _ in "xc")
    rows: list[list[int]] = [[], [], []]
    for v, old in zip(values, olds, strict=True):
        end_, done_, seen_ = v % 6 + 2, 0, 0
        for k_ in range(end_ - 2, end_ + 1):
            end_, done_ = end_ * 2 + k_, done_ + 1
        for k_ in range(old % 5):
            old, done_ = old + 3 + k_, done_ + 10
        for k_ in range(0, 4, 2):
            done_, seen_ = done_ + 100, seen_ * 5 + k_ + 1
        for a_ in range(end_ % 3 + 1):
            for b_ in range(a_, end_ % 4 + 1):
                end_, seen_ = end_ + 1, (seen_ * 5 + a_ * 3 + b_) % TOP
        for row, value in zip(rows, (old, done_, (seen_ + end_) % TOP), strict=True):
            row.append(value)
    inputs = {"x": pack(u32, values), "cells": pack(u32, olds)}
    return Launch(program=p.build(), inputs=inputs), Exactly(tuple(pack(u32, row) for row in rows), ("x",))


def _starts(rng: Random) -> tuple[Launch, Expected]:
    """Loops that each invocation starts at its own index: neighbours go side by side, and end at different iterations.

    Some have no iteration, and some counters are close to the end of their type.
    """
    number, group, far = 100, 32, TOP - 200

    def bounds(i: Any) -> list[tuple[Any, Any, int]]:
        return [(i + 1, number, 1), (i, number, group), (i - 8, number, 1), (i % 64 + far, far + 95, 1)]

    with program("starts_side_by_side", group) as p:
        x = p.read("x", u32)
        outputs = [p.write(name, u32, number) for name in ("pairs", "strided", "wrapped", "high")]
        i = p.let(p.global_id(0))
        for output, (first, last, step) in zip(outputs, bounds(i), strict=True):
            total = p.var(i)
            with p.range(first, last, step) as k:
                total.set(total * 5 + (x[k % number] ^ k))
            output[i] = total
    values = [rng.randrange(TOP) for _ in range(number)]
    rows: list[list[int]] = [[], [], [], []]
    for n in range(number):
        for row, (first_, last_, step_) in zip(rows, bounds(n), strict=True):
            total_ = n
            for k_ in range(first_ % TOP, last_, step_):
                total_ = (total_ * 5 + (values[k_ % number] ^ k_)) % TOP
            row.append(total_)
    launch = Launch(program=p.build(), inputs={"x": pack(u32, values)})
    return launch, Exactly(tuple(pack(u32, row) for row in rows))


def _values(rng: Random) -> tuple[Launch, Expected]:
    """One expression before a loop, in it, and behind it: each time over what variables and memory hold then."""
    with program("before_and_inside", GROUP) as p:
        x, cells = p.read("x", u32), p.read_write("cells", u32)
        before, inside, behind = (p.write(name, u32, COUNT) for name in ("before", "inside", "behind"))
        own = p.private("own", u32, 2)
        i = p.let(p.global_id(0))
        value, total = p.var(x[i]), p.var(0, u32)
        own[0] = x[i] ^ 77
        before[i] = (value * 3 + 1) * (value * 3 + 1) + (cells[i] * 5 + own[0] * 7) * (cells[i] * 5 + own[0] * 7)
        with p.range(0, x[i] % 4) as k:
            total.set(total * 3 + (value * 3 + 1) * (value * 3 + 1))
            value.set(value + k + 1)
            total.set(total * 3 + (value * 3 + 1) * (value * 3 + 1))
            with p.if_((total & 1) == 1):
                cells[i] = cells[i] + k
                own[k % 2] = total
            total.set(total + (cells[i] * 5 + own[0] * 7) * (cells[i] * 5 + own[0] * 7))
        inside[i] = total
        behind[i] = (value * 3 + 1) * (value * 3 + 1) + (cells[i] * 5 + own[0] * 7) * (cells[i] * 5 + own[0] * 7)
    values, olds = ([rng.randrange(TOP) for _ in range(COUNT)] for _ in "xc")
    rows: list[list[int]] = [[], [], [], []]

    def squares(value: int, cell: int, stored: int) -> int:
        return ((value * 3 + 1) ** 2 + (cell * 5 + stored * 7) ** 2) % TOP

    for v, cell in zip(values, olds, strict=True):
        stored, total_, variable = [v ^ 77, 0], 0, v
        first = squares(v, cell, stored[0])
        for k_ in range(v % 4):
            total_ = total_ * 3 + (variable * 3 + 1) ** 2
            variable = (variable + k_ + 1) % TOP
            total_ = (total_ * 3 + (variable * 3 + 1) ** 2) % TOP
            if total_ & 1:
                cell = (cell + k_) % TOP
                stored[k_ % 2] = total_
            total_ = (total_ + (cell * 5 + stored[0] * 7) ** 2) % TOP
        for row, value_ in zip(rows, (cell, first, total_, squares(variable, cell, stored[0])), strict=True):
            row.append(value_)
    inputs = {"x": pack(u32, values), "cells": pack(u32, olds)}
    return Launch(program=p.build(), inputs=inputs), Exactly(tuple(pack(u32, row) for row in rows), ("x",))


def _return(rng: Random) -> tuple[Launch, Expected]:
    """An invocation that returns in the inner of two loops is gone: from both of them, and from what follows."""
    with program("return_out_of_two", GROUP) as p:
        x = p.read("x", u32)
        seen, between, after = (p.write(name, u32, COUNT) for name in ("seen", "between", "after"))
        i = p.let(p.global_id(0))
        with p.range(0, 4) as a:
            with p.range(0, 5) as b:
                seen[i] = a * 5 + b + 1
                with p.if_(a * 5 + b == x[i] % 31):
                    with p.if_(x[i] % 2 == 0):
                        p.return_()
                    p.break_()
            between[i] = a + 1
        after[i] = x[i] % 31 + 1
    values = [*range(33), *(rng.randrange(TOP) for _ in range(COUNT - 33))]
    rows: list[list[int]] = [[], [], []]
    for v in values:
        goal, returns = v % 31, v % 31 < 20 and v % 2 == 0
        rows[0].append(goal + 1 if returns or 15 <= goal < 20 else 20)
        rows[1].append(goal // 5 if returns else 4)
        rows[2].append(0 if returns else goal + 1)
    launch = Launch(program=p.build(), inputs={"x": pack(u32, values)})
    return launch, Exactly(tuple(pack(u32, row) for row in rows), ("x",))


def _return_before(rng: Random) -> tuple[Launch, Expected]:
    """Whole workgroups return out of two loops, before and between the barriers of the others."""
    with program("return_before_barriers", GROUP) as p:
        x, out, shared = p.read("x", u64), p.write("out", u64, COUNT), p.workgroup("shared", u64, GROUP)
        i, local, group = p.let(p.global_id(0)), p.let(p.local_id(0)), p.let(p.workgroup_id(0))
        value = p.var(x[i])
        with p.range(0, 3) as a, p.range(0, 2) as b:
            with p.if_(a * 2 + b == group * 2):
                out[i] = value + 1
                p.return_()
            shared[local] = value
            p.barrier()
            value.set(value * 3 + shared[(local + 1) % GROUP])
            p.barrier()
        out[i] = value
    values = [rng.randrange(2**64) for _ in range(COUNT)]
    result: list[int] = []
    for start in range(0, COUNT, GROUP):
        part = values[start : start + GROUP]
        leaves = start // GROUP * 2
        for _ in range(min(6, leaves)):
            part = [(part[n] * 3 + part[(n + 1) % GROUP]) % 2**64 for n in range(GROUP)]
        result += [(v + (leaves < 6)) % 2**64 for v in part]
    return Launch(program=p.build(), inputs={"x": pack(u64, values)}), Exactly((pack(u64, result),), ("x",))


def _everyone(rng: Random) -> tuple[Launch, Expected]:
    """Where all invocations have returned in a loop nothing behind it runs; a jump before that changes nothing."""
    with program("everyone_returns", GROUP) as p:
        x = p.read("x", u32)
        inside, behind = p.write("inside", u32, COUNT), p.write("behind", u32, COUNT)
        i = p.let(p.global_id(0))
        with p.range(0, 9) as k:
            with p.if_(k < x[i] % 4):
                p.continue_()
            with p.if_(k >= x[i] % 6):
                inside[i] = k + 1
                p.return_()
        behind[i] = 0xDEAD
    values = [rng.randrange(TOP) for _ in range(COUNT)]
    outputs = (pack(u32, [max(v % 4, v % 6) + 1 for v in values]), bytes(4 * COUNT))
    return Launch(program=p.build(), inputs={"x": pack(u32, values)}), Exactly(outputs, ("x",))


def _jumps(rng: Random) -> tuple[Launch, Expected]:
    """Behind a jump in a branch in a branch go on those alone that are in the outer one."""
    with program("jumps_in_branches", 16) as p:
        x = p.read("x", u32)
        out = p.write("out", u32, like=x)
        value = p.var(x[p.global_id(0)])
        with p.range(0, 12) as k:
            with p.if_(value % 2 == 0):
                with p.if_(value % 8 == 0):
                    value.set(value + 5)
                    p.continue_()
                with p.if_(value % 32 == 4):
                    p.break_()
                value.set(value * 3 + k)
            value.set(value ^ 6)
        out[p.global_id(0)] = value

    def found(value: int) -> int:
        for k in range(12):
            if value % 8 == 0:
                value = (value + 5) % TOP
                continue
            if value % 32 == 4:
                break
            value = ((value * 3 + k) % TOP if value % 2 == 0 else value) ^ 6
        return value

    values = [*range(32), *(rng.randrange(TOP) for _ in range(COUNT - 32))]
    launch = Launch(program=p.build(), inputs={"x": pack(u32, values)})
    return launch, Exactly((pack(u32, map(found, values)),))
