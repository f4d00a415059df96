"""Random kernels, beside Python: the same source runs on integers that wrap around."""

import random
import runpy
from types import SimpleNamespace

import numpy as np
import pytest

from vyre_foundation.testing.wrapping import Wrapping

SEEDS = 90


class Writer:
    """Writes the body of a function of `a` and `b`, in which every name has a value where it is read."""

    def __init__(self, seed: int) -> None:
        self.random, self.lines, self.fresh = random.Random(seed), [], 0
        self.plain = ["e"]  # names that begin as numbers without a type
        self.is_left = False  # an unrolled loop of a device function has `break` and `continue`, or `return`

    def body(self) -> str:
        self.line(1, "c = a ^ b")
        self.line(1, f"d = vy.u32({self.random.randrange(9)})")
        self.line(1, f"e = {self.random.randrange(9)}")
        self.line(1, f"f = {self.random.random() < 0.5}")
        names = ["a", "b", "c", "d", "e"]
        for _ in range(5):
            self.statement(1, names, depth=3, loop="")
        self.line(1, "return (a if f else b) ^ b * 3 ^ c * 5 ^ d * 7 ^ (a ^ e)")
        return "\n".join(self.lines)

    def line(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def name(self) -> str:
        self.fresh += 1
        return f"v{self.fresh}"

    def value(self, names: list[str], depth: int = 2) -> str:
        chosen = self.random.random()
        if depth == 0 or chosen < 0.3:
            return self.typed(names)
        if chosen < 0.4:
            return f"({self.typed(names)} if {self.condition(names, 1)} else {self.random.randrange(9)})"
        left, right = self.value(names, depth - 1), self.value(names, depth - 1)
        if self.random.random() < 0.3:
            right = str(self.random.randrange(1, 9))
        return f"({left} {self.random.choice('+-*&|^')} {right})"

    def typed(self, names: list[str]) -> str:
        name = self.random.choice(names)
        return f"(a ^ {name})" if name in self.plain else name

    def condition(self, names: list[str], depth: int = 2) -> str:
        if depth and self.random.random() < 0.4:
            word = self.random.choice(["and", "or"])
            return f"({self.condition(names, depth - 1)} {word} not {self.condition(names, depth - 1)})"
        if self.random.random() < 0.15:
            return self.random.choice(["f", "(not f)"])
        sign = self.random.choice(["<", "<=", "==", "!=", ">"])
        return f"({self.value(names, 1)} & 7 {sign} {self.random.randrange(1, 8)})"

    def block(self, indent: int, names: list[str], depth: int, loop: str) -> None:
        inner = list(names)
        for _ in range(self.random.randrange(1, 3)):
            if self.statement(indent, inner, depth - 1, loop):
                return

    def statement(self, indent: int, names: list[str], depth: int, loop: str) -> bool:
        """Write one statement; whether none may follow it."""
        choices = ["set", "set", "set", "add", "swap", "change", "flag", "plain"]
        if depth:
            choices += ["if", "if", "both", "range", "while", "unroll"] + ["return"] * (not self.is_left)
        if loop:
            choices += ["break", "continue"]
        kind = self.random.choice(choices)
        target = self.random.choice("abcd")
        if kind == "set":
            self.line(indent, f"{target} = {self.value(names)}")
        elif kind == "change":
            known = [name for name in self.plain if name in names]
            self.line(indent, f"{self.random.choice(known)} = {self.value(names)}")
        elif kind == "flag":
            self.line(indent, f"f = {self.random.choice([self.condition(names), 'True', 'False', 'not f'])}")
        elif kind == "plain":
            made = self.name()
            self.line(indent, f"{made} = {self.random.randrange(9)}")
            self.plain.append(made)
            names.append(made)
        elif kind == "add":
            self.line(indent, f"{target} += {self.value(names)}")
        elif kind == "swap":
            other = self.random.choice("abcd".replace(target, ""))  # CPython 3.11.2 stores `c, c = x, c` the wrong way
            self.line(indent, f"{target}, {other} = {self.value(names)}, {target}")
        elif kind in ("if", "both"):
            made = self.name()
            self.line(indent, f"if {self.condition(names)}:")
            self.block(indent + 1, names, depth, loop)
            self._last(indent + 1, made, names, kind)
            if kind == "both" or self.random.random() < 0.5:
                self.line(indent, "else:")
                self.block(indent + 1, names, depth, loop)
                self._last(indent + 1, made, names, kind)
            if kind == "both":
                names.append(made)
        elif kind == "range":
            counter = self.name()
            self.line(indent, f"for {counter} in range({self.random.randrange(5)}):")
            self.line(indent + 1, f"{target} = {target} + {counter}")
            self.block(indent + 1, names, depth, "range")
        elif kind == "while":
            counter = self.name()
            self.line(indent, f"{counter} = vy.u32({self.random.randrange(4)})")
            self.line(indent, f"while vy.bounded({counter} > 0 and {self.condition(names, 1)}, 9):")
            self.line(indent + 1, f"{counter} -= 1")
            self.block(indent + 1, names, depth, "")
        elif kind == "unroll":
            item = self.name()
            self.line(indent, f"for {item} in (2, {self.random.randrange(9)}):")
            self.line(indent + 1, f"{target} = {target} * {item}")
            outer, self.is_left = self.is_left, self.is_left or self.random.random() < 0.5
            self.block(indent + 1, names, depth, "unroll" if self.is_left else "")
            self.is_left = outer
        elif kind == "return":
            self.line(indent, f"if {self.condition(names, 1)}:")
            self.line(indent + 1, f"return vy.u32({self.value(names)})")
        else:
            self.line(indent, f"if {self.condition(names, 1)}:")
            self.line(indent + 1, kind)
        return False

    def _last(self, indent: int, made: str, names: list[str], kind: str) -> None:
        if kind == "both":
            self.line(indent, f"{made} = {self.value(names)}")


KERNELS = """
from __future__ import annotations

import vyre as vy


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


@pytest.mark.parametrize("seed", [*range(15), *(pytest.param(n, marks=pytest.mark.slow) for n in range(15, SEEDS))])
def test_a_random_kernel_computes_what_python_computes(seed, tmp_path):
    body = Writer(seed).body()
    file = tmp_path / "kernels.py"
    file.write_text(KERNELS.format(body=body), "utf-8")
    module = SimpleNamespace(**runpy.run_path(str(file)))
    scope = {"vy": SimpleNamespace(u32=Wrapping, bounded=lambda condition, _: condition)}
    exec(f"def plain(a, b):\n{body}", scope)
    generator = np.random.default_rng(seed)
    x, y = generator.integers(0, 2**32, (2, 24), np.uint32)
    expected = [scope["plain"](Wrapping(a), Wrapping(b)) % 2**32 for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    for kernel in (module.whole, module.calling):
        assert kernel.on("reference")(x, y).tolist() == expected, body
