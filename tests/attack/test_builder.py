"""Random calls of the builder with random arguments: a program, or an error that says what to do, and nothing else."""

from __future__ import annotations

import math
import random
import re
from typing import Any

import numpy as np

import vyre as vy

FIX = re.compile(r"Fix: \S")
NUMBERS = [0, 1, 3, -1, 2**31, 2**32, 2**64, 0.5, math.nan, math.inf, True, np.uint8(3), np.float64(0.25), np.int64(-5)]
OTHERS = [
    *(None, "", "x", "reduce_add", "div", b"ab", [], [1, 2], (1,), (1, 2, 3), {}, {1: 2}, slice(0, 2), ..., object()),
    *(np.ones(3), np.array("a"), np.datetime64("2020"), 1j, float, int, np.float32, np.dtype(">i4"), vy.f16, vy.bool_),
    *(vy.LengthOf("a"), vy.LengthOf("b", plus=-3), vy.LengthOf("b", times="a"), vy.Access.READ, lambda: 1),  # type: ignore[arg-type]
]
STATEMENTS = ("let", "var", "if_", "else_", "range", "region", "trap", "subgroup", "indirect_dispatch", "barrier",
              "break_", "continue_", "return_", "grid_barrier")  # fmt: skip
DECLARATIONS = ("read", "write", "read_write", "uniform", "constant", "workgroup", "private", "scratch", "persistent")
PLACES = ("global_id", "local_id", "workgroup_id", "num_workgroups", "subgroup_lane", "subgroup_size_")
METHODS = ("cast", "bitcast", "set", "get", "atomic_add", "atomic_compare_exchange", "__getitem__", "__setitem__",
           "__add__", "__radd__", "__iadd__", "__ilshift__", "__truediv__", "__mod__", "__lt__", "__neg__", "__pow__",
           "__array__", "__index__", "__enter__")  # fmt: skip
FUNCTIONS = ("apply", "select", "constant", "call", "min", "fma", "clz", "sqrt", "exp", "atan2", "f32")


def refused(error: vy.VyreError) -> None:
    assert FIX.search(str(error)), str(error)


class Calls:
    """Calls what there is with what there is, and keeps what it gets."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.p = vy.program("p", 64, 32)
        self.known: list[Any] = [self.p.read("a", vy.u32), self.p.read_write("b", vy.f32), self.p.global_id(0)]

    def argument(self) -> object:
        return self.random.choice(self.random.choice((NUMBERS, OTHERS, self.known, self.known)))

    def call(self, depth: int = 0) -> None:
        kind = self.random.randrange(4)
        owner = self.random.choice(self.known) if kind == 1 else vy if kind == 2 else self.p
        names = {0: STATEMENTS, 1: METHODS, 2: FUNCTIONS, 3: (*DECLARATIONS, *PLACES)}[kind]
        method = getattr(owner, self.random.choice(names), None)
        if method is None:
            return
        arguments = [self.argument() for _ in range(self.random.choice((0, 1, 1, 2, 2, 3)))]
        if kind == 3 and arguments:
            arguments[0] = f"n{self.random.randrange(10**6)}"
        try:
            got = method(*arguments)
        except vy.VyreError as error:
            refused(error)
            return
        except TypeError as error:  # Python's, about the number of arguments
            if not re.search(r"argument|expected \d", str(error)):
                raise
            return
        if hasattr(got, "__enter__") and depth < 5 and self.random.random() < 0.7:
            try:
                with got as value:
                    if value is not None:
                        self.known.append(value)
                    for _ in range(self.random.randrange(4)):
                        self.call(depth + 1)
            except vy.VyreError as error:
                refused(error)
        elif got is not None and not isinstance(got, vy.Program):
            self.known.append(got)


def test_random_calls_give_a_program_or_an_error_with_a_remedy(attacks: Any) -> None:
    for number in range(attacks.count(300)):
        calls = Calls(f"{attacks.seed}:{number}")
        for _ in range(40):
            calls.call()
        for build in (calls.p.build, calls.p.build_unchecked):
            try:
                program = build()
                assert vy.decode(vy.encode(program)) == program
            except vy.VyreError as error:
                refused(error)
