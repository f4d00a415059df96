"""Random kernels with tuples, lists and functions that return them, beside Python: the same source runs on both."""

import random
import runpy
from types import SimpleNamespace

import numpy as np
import pytest

from vyre_foundation.testing.wrapping import Wrapping

SEEDS = 90
SHAPES = {"p": 2, "q": 3, "r": 2}
"""The names of tuples of numbers, and how many they have; `n` has a tuple of two and a number."""


def counting(*bounds):
    """`range` of a kernel, whose counters are u32."""
    return [Wrapping(k) for k in range(*map(int, bounds))]


class Writer:
    """Writes the body of a function of two numbers, `a` and `b`."""

    def __init__(self, seed: int) -> None:
        self.random, self.lines, self.fresh = random.Random(seed), [], 0
        self.in_loop = False

    def body(self) -> str:
        self.line(1, "p, q, r = (a, b), (b, vy.u32(3), a ^ b), (vy.u32(5), a)")
        self.line(1, "n = ((a, vy.u32(2)), b)")
        self.line(1, "c = a ^ b")
        self.line(1, "items = [a, b ^ 1]")
        for _ in range(7):
            self.statement(1, depth=3)
        self.line(1, "total = c")
        self.line(1, "for k, x in enumerate((*p, *q, *r, *n[0], n[1], *items)):")
        self.line(2, "total = total * 31 ^ x + k")
        self.line(1, "return total")
        return "\n".join(self.lines)

    def line(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def number(self, depth: int = 2) -> str:
        chosen = self.random.random()
        if depth == 0 or chosen < 0.25:
            return self.random.choice(["a", "b", "c", f"vy.u32({self.random.randrange(99)})"])
        if chosen < 0.55:
            name, size = self.random.choice([*SHAPES.items()])
            element = f"{name}[{self.random.randrange(-size, size)}]"
            return f"(a ^ {self.random.choice([element, 'n[0][1]', 'n[1]', 'items[-1]'])})"
        if chosen < 0.62:
            return f"sum({self.tuple(self.random.randrange(2, 4), 1)}, a)"
        if chosen < 0.68:
            return f"max(x ^ {self.random.randrange(9)} for x in {self.tuple(2, 1)})"
        if chosen < 0.74:
            return f"(c & 3 if {self.condition()} else {self.random.randrange(9)})"
        return f"({self.number(depth - 1)} {self.random.choice('+-*&|^')} {self.number(depth - 1)})"

    def tuple(self, size: int, depth: int = 2) -> str:
        names = [name for name, of in SHAPES.items() if of == size] + ["n[0]"] * (size == 2)
        chosen = self.random.random()
        if depth == 0 or chosen < 0.2:
            return self.random.choice(names)
        if chosen < 0.3 and size == 2:
            return f"{self.random.choice(['both', 'turned'])}({self.number(1)}, {self.number(1)})"
        if chosen < 0.4:
            return f"({self.tuple(size, depth - 1)} if {self.condition()} else {self.tuple(size, 0)})"
        if chosen < 0.5:
            return f"tuple(x + {self.random.randrange(9)} for x in {self.tuple(size, depth - 1)})"
        if chosen < 0.57:
            return f"{self.tuple(size, depth - 1)}[::-1]"
        if chosen < 0.64 and size == 2:
            return f"{self.tuple(3, depth - 1)}[{self.random.choice(['1:', ':2', '::2'])}]"
        if chosen < 0.7 and size == 3:
            return f"(*{self.tuple(2, depth - 1)}, {self.number(1)})"
        if chosen < 0.76:
            other = self.tuple(size, 0)
            return f"tuple(x ^ y for x, y in zip({self.tuple(size, depth - 1)}, {other}))"
        parts = [self.number(1) for _ in range(size)]
        if self.random.random() < 0.3:
            parts[self.random.randrange(size)] = f"vy.u32({self.random.randrange(99)})"
        return f"({', '.join(parts)})"

    def condition(self) -> str:
        return f"({self.number(1)} & 7 {self.random.choice(['<', '==', '!=', '>'])} {self.random.randrange(1, 8)})"

    def statement(self, indent: int, depth: int) -> None:
        kinds = ["set", "set", "number", "nest", "star", "swap", "unpack", "chain"] + ["append"] * (indent == 1)
        kinds += ["if", "if", "range", "range", "unroll", "while", "leave"] * (depth > 0)
        kind = self.random.choice(kinds)
        target, size = self.random.choice([*SHAPES.items()])
        if kind == "set":
            self.line(indent, f"{target} = {self.tuple(size)}")
        elif kind == "number":
            self.line(indent, f"c {self.random.choice(['=', '+=', '^='])} {self.number()}")
        elif kind == "nest":
            self.line(indent, f"n = ({self.tuple(2)}, {self.number()})")
        elif kind == "star":
            self.line(indent, self.random.choice(["c, _, d = q", f"(p, c), q = n, {self.tuple(3, 1)}"]))
        elif kind == "swap":
            self.line(indent, "p, r = r, p")
        elif kind == "unpack":
            self.line(indent, f"c, d = {self.tuple(2)}")
            self.line(indent, "c = c ^ d * 3")
        elif kind == "chain":
            self.line(indent, f"p = r = {self.tuple(2)}")
        elif kind == "append":
            self.line(indent, f"items.append({self.number()})")
        elif kind == "leave" and self.in_loop:
            self.line(indent, f"if {self.condition()}:")
            self.line(indent + 1, self.random.choice(["break", "continue"]))
        elif kind in ("if", "leave"):
            self.line(indent, f"if {self.condition()}:")
            self.block(indent + 1, depth)
            for word in self.random.choice([[], ["else:"], [f"elif {self.condition()}:", "else:"]]):
                self.line(indent, word)
                self.block(indent + 1, depth)
        else:
            self.fresh += 1
            heads = {"range": f"for k{self.fresh} in range({self.random.choice(['3', 'c & 3', '1, 4'])}):",
                     "unroll": f"for k{self.fresh} in {self.random.choice(['(4, 1)', 'p', 'enumerate(q)'])}:",
                     "while": f"while vy.bounded(w{self.fresh} > 0, 9):"}  # fmt: skip
            if kind == "while":
                self.line(indent, f"w{self.fresh} = vy.u32({self.random.randrange(4)})")
            self.line(indent, heads[kind])
            if kind == "while":
                self.line(indent + 1, f"w{self.fresh} -= 1")
            outer, self.in_loop = self.in_loop, True
            self.block(indent + 1, depth)
            self.block(indent + 1, depth)
            self.in_loop = outer

    def block(self, indent: int, depth: int) -> None:
        for _ in range(self.random.randrange(1, 3)):
            self.statement(indent, depth - 1)


FUNCTIONS = """
def both(x, y):
    if x & 1 == 0:
        return y, x
    return x ^ y, y

def turned(x, y):
    state = (x, y)
    for k in range(3):
        state = (state[1], state[0] + k)
        if state[0] & 7 == 5:
            return state
    return state[::-1]
"""
KERNELS = """
import vyre as vy

{functions}

@vy.func
def inlined(a, b):
{body}


@vy.kernel
def calling(x: vy.Array[vy.u32, "n"], y: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    return inlined(x[vy.index()], y[vy.index()])


@vy.kernel
def whole(x: vy.Array[vy.u32, "n"], y: vy.Array[vy.u32, "n"]) -> vy.Array[vy.u32, "n"]:
    a, b = x[vy.index()], y[vy.index()]
{body}
"""


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(n, marks=pytest.mark.slow) for n in range(8, SEEDS))])
def test_a_random_kernel_computes_what_python_computes(seed, tmp_path):
    body = Writer(seed).body()
    file = tmp_path / "kernels.py"
    functions = FUNCTIONS.replace("def ", "@vy.func\ndef ")
    file.write_text(KERNELS.format(body=body, functions=functions), "utf-8")
    module = SimpleNamespace(**runpy.run_path(str(file)))
    scope = {"vy": SimpleNamespace(u32=Wrapping, bounded=lambda c, _: c), "range": counting}
    exec(f"{FUNCTIONS}\ndef plain(a, b):\n{body}", scope)
    generator = np.random.default_rng(seed)
    x, y = generator.integers(0, 2**32, (2, 24), np.uint32)
    expected = [scope["plain"](Wrapping(a), Wrapping(b)) % 2**32 for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    for kernel in (module.whole, module.calling):
        assert kernel.on("reference")(x, y).tolist() == expected, body
