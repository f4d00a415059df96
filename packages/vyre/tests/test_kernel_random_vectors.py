"""Random kernels with vectors and structures, beside Python: the same source runs on objects that compute alike."""

import random
import runpy
from types import SimpleNamespace

import numpy as np
import pytest

from vyre_foundation.testing.wrapping import Wrapping

SEEDS = 90
SIZES = {"p": 2, "q": 2, "u": 3, "v": 3, "w": 4}
"""The names of vectors, and how many components they have."""
LETTERS = "xyzw"


class Vector:
    """What `vy.vec` makes, in Python."""

    def __init__(self, *parts):
        self.__dict__["parts"] = [*map(Wrapping, parts)]

    def __getattr__(self, letters):
        found = [self.parts[LETTERS.index(letter)] for letter in letters]
        return found[0] if len(found) == 1 else Vector(*found)

    def __setattr__(self, letter, value):
        self.parts[LETTERS.index(letter)] = Wrapping(value)

    def __getitem__(self, at):
        return Vector(*self.parts[at]) if isinstance(at, slice) else self.parts[at]

    def __len__(self):
        return len(self.parts)

    def cast(self, dtype):
        return Vector(*map(dtype, self.parts))


def _by_component(name):
    def method(x, y):
        others = y.parts if isinstance(y, Vector) else [y] * len(x)
        return Vector(*(getattr(a, name)(b) for a, b in zip(x.parts, others, strict=True)))

    return method


for _name in ("add", "sub", "mul", "and", "or", "xor"):
    for _prefix in ("__", "__r"):
        setattr(Vector, f"{_prefix}{_name}__", _by_component(f"{_prefix}{_name}__"))


def low(x):
    """A number as u16, which `vy.u32` makes one of 32 bits again."""
    return int(x) % 2**16


def extreme(of):
    """`vy.min` or `vy.max` of numbers, vectors, or a list of these."""

    def chosen(*given):
        given = given[0] if len(given) == 1 else given
        size = next((len(x) for x in given if isinstance(x, Vector)), 0)
        if not size:
            return Wrapping(of(given))
        return Vector(*(of(x[n] if isinstance(x, Vector) else x for x in given) for n in range(size)))

    return chosen


class Pair:
    """What the structure of the kernels is, in Python."""

    def __init__(self, part, number):
        self.part, self.number = part, number


class Writer:
    """Writes the body of a function of the numbers `a` and `b`."""

    def __init__(self, seed: int) -> None:
        self.random, self.lines, self.fresh = random.Random(seed), [], 0
        self.plain: dict[str, int] = {}

    def body(self) -> str:
        self.line(1, "p, q = vy.vec(a, b), vy.vec(b, 3)")
        self.line(1, "u, v = vy.vec(a, 7, b), vy.vec(1, a ^ b, 2)")
        self.line(1, "w = vy.vec(a, b, a + b, 9)")
        self.line(1, "s = Pair(vy.vec(a, 5), b)")
        for _ in range(6):
            self.statement(1, depth=3)
        self.line(1, "s = s.turned() if a & 1 == 0 else Pair(s.part.yx, s.number)")
        terms = [f"{name}.{letter}" for name, size in SIZES.items() for letter in LETTERS[:size]]
        terms += ["s.part.x", "s.part.y", "s.number"]
        self.line(1, f"return {' ^ '.join(f'{term} * {2 * n + 1}' for n, term in enumerate(terms))}")
        return "\n".join(self.lines)

    def line(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def number(self, depth: int = 2) -> str:
        chosen = self.random.random()
        if depth == 0 or chosen < 0.25:
            return self.random.choice(["a", "b", "s.number", f"vy.u32({self.random.randrange(99)})"])
        if chosen < 0.6:
            size = self.random.randrange(2, 5)
            vector = self.vector(size, depth - 1)
            part = f".{self.random.choice(LETTERS[:size])}"
            return vector + self.random.choice([part, f"[{self.random.randrange(-size, size)}]"])
        if chosen < 0.7:
            operands = ", ".join(self.number(depth - 1) for _ in range(self.random.randrange(2, 4)))
            return f"vy.{self.random.choice(['min', 'max'])}({self.random.choice([operands, f'[{operands}]'])})"
        return f"({self.number(depth - 1)} {self.random.choice('+-*&|^')} {self.number(depth - 1)})"

    def vector(self, size: int, depth: int = 2) -> str:
        """An expression of a vector, which is never a name alone: that would be one object in Python."""
        chosen = self.random.random()
        names = [name for name, of in SIZES.items() if of == size] + ["s.part"] * (size == 2)
        if depth == 0 or chosen < 0.2:
            return f"({self.random.choice(names)} {self.random.choice('+^')} {self.random.randrange(9)})"
        if chosen < 0.4:
            parts = [self.number(depth - 1) for _ in range(size)]
            for n in self.random.sample(range(size), self.random.randrange(size)):
                parts[n] = str(self.random.randrange(99))
            return f"vy.vec({', '.join(parts)})"
        if chosen < 0.6:
            of = self.random.randrange(2, 5)
            if of >= size and self.random.random() < 0.3:
                start = self.random.randrange(of - size + 1)
                return f"{self.vector(of, depth - 1)}[{start}:{start + size}]"
            return f"{self.vector(of, depth - 1)}.{''.join(self.random.choices(LETTERS[:of], k=size))}"
        if chosen < 0.7:
            operands = ", ".join([self.vector(size, depth - 1), self.random.choice([self.vector(size, 0), "7"])])
            return f"vy.{self.random.choice(['min', 'max'])}({self.random.choice([operands, f'[{operands}]'])})"
        if chosen < 0.72:
            return f"{self.vector(size, depth - 1)}.cast(vy.u16).cast(vy.u32)"
        if chosen < 0.75:
            return f"({self.vector(size, depth - 1)} if {self.condition()} else {self.vector(size, 0)})"
        other = [self.vector(size, depth - 1), self.number(depth - 1), str(self.random.randrange(99)), self.known(size)]
        left, right = self.vector(size, depth - 1), self.random.choice(other)
        if self.random.random() < 0.2:
            left, right = right, left
        return f"({left} {self.random.choice('+-*&|^')} {right})"

    def known(self, size: int) -> str:
        return f"vy.vec({', '.join(str(self.random.randrange(99)) for _ in range(size))})"

    def condition(self) -> str:
        return f"({self.number(1)} & 7 {self.random.choice(['<', '==', '!=', '>'])} {self.random.randrange(1, 8)})"

    def statement(self, indent: int, depth: int) -> None:
        kind = self.random.choice(
            ["set", "set", "part", "part", "add", "struct", "field"] + ["if", "range", "unroll"] * (depth > 0)
        )
        target, size = self.random.choice([*SIZES.items()])
        if kind == "set":
            self.line(indent, f"{target} = {self.vector(size)}")
        elif kind == "part":
            part, sign = self.random.choice(LETTERS[:size]), self.random.choice(["=", "+=", "^="])
            self.line(indent, f"{target}.{part} {sign} {self.number()}")
        elif kind == "add":
            self.line(indent, f"{target} {self.random.choice(['+=', '*=', '^='])} {self.vector(size)}")
        elif kind == "struct":
            made = f"Pair({self.vector(2)}, {self.number()})"
            self.line(indent, f"s = {self.random.choice([made, 's.turned()', f's.plus({self.vector(2)})'])}")
        elif kind == "field":
            field = self.random.choice(["part.x", "part.y", "number"])
            self.line(indent, f"s.{field} {self.random.choice(['=', '+='])} {self.number()}")
        elif kind == "if":
            self.line(indent, f"if {self.condition()}:")
            self.block(indent + 1, depth)
            if self.random.random() < 0.5:
                self.line(indent, "else:")
                self.block(indent + 1, depth)
        else:
            counts = ["range(3)", "range(2)"] if kind == "range" else ["(1, 5)", "tuple(range(3))"]
            self.fresh += 1
            self.line(indent, f"for k{self.fresh} in {self.random.choice(counts)}:")
            self.line(indent + 1, f"{target}.x += k{self.fresh}")
            self.block(indent + 1, depth)

    def block(self, indent: int, depth: int) -> None:
        for _ in range(self.random.randrange(1, 3)):
            self.statement(indent, depth - 1)


KERNELS = """
import vyre as vy


@vy.struct
class Pair(vy.Struct):
    part: vy.Vec2[vy.u32]
    number: vy.u32

{methods}

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
METHODS = """
    def turned(self):
        return Pair(self.part.yx, self.number + 1)

    def plus(self, by):
        return Pair(self.part + by, self.number ^ by.y)
"""


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(n, marks=pytest.mark.slow) for n in range(8, SEEDS))])
def test_a_random_kernel_computes_what_python_computes(seed, tmp_path):
    body = Writer(seed).body()
    file = tmp_path / "kernels.py"
    file.write_text(KERNELS.format(body=body, methods=METHODS), "utf-8")
    module = SimpleNamespace(**runpy.run_path(str(file)))
    scope = {"vy": SimpleNamespace(u16=low, u32=Wrapping, vec=Vector, min=extreme(min), max=extreme(max)), "Base": Pair}
    exec(f"class Pair(Base):\n{METHODS}\n\ndef plain(a, b):\n{body}", scope)
    generator = np.random.default_rng(seed)
    x, y = generator.integers(0, 2**32, (2, 24), np.uint32)
    expected = [scope["plain"](Wrapping(a), Wrapping(b)) % 2**32 for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    for kernel in (module.whole, module.calling):
        assert kernel.on("reference")(x, y).tolist() == expected, body
