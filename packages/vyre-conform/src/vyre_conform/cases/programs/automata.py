"""Automata over bytes, a byte-code interpreter, and a binary search: data that decides the way."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from random import Random

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, seeded
from vyre_conform.cases.values import pack
from vyre_foundation.build import program
from vyre_foundation.dtype import i64, u8, u32


def specs() -> Iterator[Spec]:
    yield seeded(address("programs", "dfa_scan"), _dfa)
    yield seeded(address("programs", "binary_search"), _search)
    yield seeded(address("programs", "byte_code"), _byte_code)


# Accepts texts that hold an ``a``, then any number of ``a`` and ``b``, then a ``c``. Columns: a, b, c, other.
TRANSITIONS = [
    [1, 0, 0, 0],
    [1, 1, 2, 0],
    [2, 2, 2, 2],
]


def _dfa(rng: Random) -> tuple[Launch, Expected]:
    """Each invocation runs the automaton over one line; the table is embedded in the program."""
    lines = [bytes(rng.choice(b"abbbcx") for _ in range(rng.randrange(0, 12))) for _ in range(60)]
    with program("dfa_scan", 16) as p:
        text, ends = p.read("text", u8), p.read("ends", u32)
        table = p.constant("table", u8, [s for row in TRANSITIONS for s in row])
        accepted, steps = p.write("accepted", u32, len(lines)), p.write("steps", u32, len(lines))
        i = p.let(p.global_id(0))
        state, walked = p.var(0, u32), p.var(0, u32)
        with p.range(ends[i], ends[i + 1]) as at:
            byte = p.let(text[at].cast(u32))
            column = p.var(3, u32)
            with p.if_((byte >= ord("a")) & (byte <= ord("c"))):
                column.set(byte - ord("a"))
            state.set(table[state * 4 + column].cast(u32))
            walked.set(walked + 1)
            with p.if_(state == 2):
                p.break_()
        accepted[i] = (state == 2).cast(u32)
        steps[i] = walked
    pattern = re.compile(rb"a[ab]*c")
    found = [pattern.search(line) for line in lines]
    ends_ = [0]
    for line in lines:
        ends_.append(ends_[-1] + len(line))
    outputs = (
        pack(u32, [int(m is not None) for m in found]),
        pack(u32, [_shortest(line) for line in lines]),
    )
    inputs = {"text": b"".join(lines), "ends": pack(u32, ends_)}
    return Launch(program=p.build(), inputs=inputs), Exactly(outputs)


def _shortest(line: bytes) -> int:
    """Bytes until the first match is complete, or all of them."""
    match = re.search(rb"a[ab]*?c", line)
    return match.end() if match else len(line)


def _search(rng: Random) -> tuple[Launch, Expected]:
    """The place of each key in a sorted table: a loop whose bounds move apart in every invocation."""
    table = sorted(rng.randrange(-(2**40), 2**40) for _ in range(100))
    keys = [rng.choice((rng.choice(table), rng.randrange(-(2**40), 2**40))) for _ in range(77)]
    with program("binary_search", 32) as p:
        sorted_, wanted, out = p.read("sorted", i64), p.read("wanted", i64), p.write("out", u32, 77)
        i = p.let(p.global_id(0))
        low, high = p.var(0, u32), p.var(sorted_.length)
        with p.range(0, 32):
            with p.if_(low >= high):
                p.break_()
            middle = p.let((low + high) >> 1)
            with p.if_(sorted_[middle] < wanted[i]):
                low.set(middle + 1)
            with p.else_():
                high.set(middle)
        out[i] = low
    inputs = {"sorted": pack(i64, table), "wanted": pack(i64, keys)}
    return Launch(program=p.build(), inputs=inputs), Exactly((pack(u32, [bisect_left(table, k) for k in keys]),))


def _byte_code(rng: Random) -> tuple[Launch, Expected]:
    """A stack machine in private memory: each invocation runs the code with its own argument."""
    push, add, mul, xor, dup, arg, skip = range(7)
    code = [arg, push, 3, add, dup, mul, arg, skip, 3, push, 7, xor, push, 250, mul, arg, add]
    with program("byte_code", 8) as p:
        program_, args, out = p.read("code", u8), p.read("args", u32), p.write("out", u32, 33)
        stack = p.private("stack", u32, 8)
        i = p.let(p.global_id(0))
        pc, top = p.var(0, u32), p.var(0, u32)
        with p.range(0, 64):
            with p.if_(pc >= program_.length):
                p.break_()
            op, operand = p.let(program_[pc]), p.let(program_[pc + 1])
            pc.set(pc + 1)
            with p.if_((op == push) | (op == skip)):
                pc.set(pc + 1)
            with p.if_((op == push) | (op == dup) | (op == arg)):
                value = p.var(args[i])
                with p.if_(op == push):
                    value.set(operand.cast(u32))
                with p.if_(op == dup):
                    value.set(stack[top - 1])
                stack[top] = value
                top.set(top + 1)
                p.continue_()
            with p.if_(op == skip):
                top.set(top - 1)
                with p.if_(stack[top] % 2 == 1):
                    pc.set(pc + operand.cast(u32))
                p.continue_()
            x, y = p.let(stack[top - 2]), p.let(stack[top - 1])
            result = p.var(x ^ y)
            with p.if_(op == add):
                result.set(x + y)
            with p.if_(op == mul):
                result.set(x * y)
            stack[top - 2] = result
            top.set(top - 1)
        out[i] = stack[top - 1]
    arguments = [rng.randrange(2**32) for _ in range(33)]
    results = [_interpret(code, a) for a in arguments]
    inputs = {"code": bytes(code), "args": pack(u32, arguments)}
    return Launch(program=p.build(), inputs=inputs), Exactly((pack(u32, results),), ("args",))


def _interpret(code: list[int], argument: int) -> int:
    push, add, mul, xor, dup, arg, skip = range(7)
    stack: list[int] = []
    pc = 0
    while pc < len(code):
        op = code[pc]
        pc += 1
        if op == push:
            stack.append(code[pc])
            pc += 1
        elif op == dup:
            stack.append(stack[-1])
        elif op == arg:
            stack.append(argument)
        elif op == skip:
            distance = code[pc]
            pc += 1
            if stack.pop() % 2 == 1:
                pc += distance
        else:
            y, x = stack.pop(), stack.pop()
            stack.append({add: x + y, mul: x * y, xor: x ^ y}[op] % 2**32)
    return stack[-1]
