"""Random kernels with private arrays, tables and loops of all kinds, beside Python: the same source runs on both."""

import random
import runpy
from types import SimpleNamespace

import numpy as np
import pytest

from vyre_foundation.testing.wrapping import Wrapping

SEEDS = 90
TABLE = [7, 2, 2**32 - 5, 9, 1]


class Checked:
    """An array whose elements outside are 0, and are not stored."""

    def __init__(self, *shape, elements=()):
        self.shape, self.elements, self.size = shape, dict(enumerate(map(Wrapping, elements))), shape[0]

    def __len__(self):
        return self.shape[0]

    def _place(self, at):
        indices = at if isinstance(at, tuple) else (at,)
        assert len(indices) == len(self.shape)
        inside = all(0 <= index < length for index, length in zip(indices, self.shape, strict=True))
        return indices if inside and len(indices) > 1 else int(indices[0]) if inside else None

    def __getitem__(self, at):
        return self.elements.get(self._place(at), Wrapping(0))

    def __setitem__(self, at, value):
        if (place := self._place(at)) is not None:
            self.elements[place] = Wrapping(value)


def counting(*bounds):
    """`range` of a kernel, whose counters are u32."""
    return [Wrapping(k) for k in range(*map(int, bounds))]


class Writer:
    """Writes the body of a function of two numbers, `a` and `b`, and the array `x`."""

    def __init__(self, seed: int) -> None:
        self.random, self.lines, self.fresh = random.Random(seed), [], 0
        self.counters: list[str] = []

    def body(self) -> str:
        self.line(1, "t = vy.private(vy.u32, 6)")
        self.line(1, "m = vy.private(vy.u32, (3, 4))")
        self.line(1, "for k in range(6):")
        self.line(2, "t[k] = a * (k + 1) ^ b")
        self.line(1, "for i in range(3):")
        self.line(2, "for j in range(4):")
        self.line(3, "m[i, j] = b * (i * 4 + j + 3)")
        self.line(1, "c, d = a ^ b, vy.u32(5)")
        self.line(1, "pair = (a, 3)")
        for _ in range(6):
            self.statement(1, depth=3)
        self.line(1, "total = c ^ d * 3 ^ pair[0] * 5 ^ pair[1]")
        self.line(1, "for k in range(6):")
        self.line(2, "total = total * 31 + t[k]")
        self.line(1, "for i in range(3):")
        self.line(2, "total = total * 7 + (m[i, 0] ^ m[i, 1] * 3 ^ m[i, 2] * 5 ^ m[i, 3] * 9)")
        self.line(1, "return total")
        return "\n".join(self.lines)

    def line(self, indent: int, text: str) -> None:
        self.lines.append("    " * indent + text)

    def name(self, stem: str) -> str:
        self.fresh += 1
        return f"{stem}{self.fresh}"

    def index(self, length: int) -> str:
        """An index that is mostly within the length: of a value, a counter, or a number."""
        chosen = self.random.random()
        if chosen < 0.4:
            return f"({self.number(1)}) % {length + (self.random.random() < 0.3)}"
        if chosen < 0.7 and self.counters:
            return self.random.choice(self.counters)
        return str(self.random.randrange(length))

    def element(self) -> str:
        kind = self.random.choice(["t", "m", "x", "TABLE", "column"])
        if kind == "m":
            return f"m[{self.index(3)}, {self.index(4)}]"
        if kind == "column":
            return f"column(m, {self.index(4)})"
        if kind == "TABLE":  # a number, if Python knows the index
            return f"TABLE[(a ^ {self.number(1)}) % {self.random.choice([5, 6])}]"
        return f"{kind}[{self.index({'t': 6, 'x': 4}[kind])}]"

    def number(self, depth: int = 2) -> str:
        chosen = self.random.random()
        if depth == 0 or chosen < 0.3:
            return self.random.choice(["a", "b", "c", "d", "pair[0]", *(f"(a ^ {name})" for name in self.counters)])
        if chosen < 0.6:
            return self.element()
        if chosen < 0.68:
            length = self.random.randrange(2, 5)
            array, of = self.random.choice([("t", 6), ("x", 4)])
            where = self.random.choice(["", f" if q != {self.random.randrange(length)}"])
            return (
                f"sum(({array}[({self.random.choice('abcd')} + q) % {of}] for q in tuple(range({length})){where}), a)"
            )
        if chosen < 0.74:
            return f"max({self.number(depth - 1)}, {self.number(depth - 1)}, a)"
        if chosen < 0.8:
            return f"({self.number(depth - 1)} if {self.condition()} else {self.number(depth - 1)})"
        if chosen < 0.86:
            return f"({self.number(depth - 1)} {self.random.choice(['//', '%'])} {self.random.randrange(1, 9)})"
        return f"({self.number(depth - 1)} {self.random.choice('+-*&|^')} {self.number(depth - 1)})"

    def condition(self) -> str:
        if self.random.random() < 0.2:
            return f"({self.number(1)} % 4 in (0, {self.random.randrange(4)}))"
        if self.random.random() < 0.2:
            return f"(1 < {self.number(1)} % 8 <= {self.random.randrange(2, 8)})"
        return f"({self.number(1)} & 7 {self.random.choice(['<', '==', '!=', '>'])} {self.random.randrange(1, 8)})"

    def place(self) -> str:
        if self.random.random() < 0.5:
            return f"t[{self.index(6)}]"
        return f"m[{self.index(3)}, {self.index(4)}]"

    def statement(self, indent: int, depth: int) -> None:
        kinds = ["set", "store", "store", "update", "pair", "call", "trade"]
        kind = self.random.choice(kinds + ["if", "match", "range", "range", "known", "while"] * (depth > 0))
        if kind == "set":
            self.line(indent, f"{self.random.choice('cd')} = {self.number()}")
        elif kind == "store":
            self.line(indent, f"{self.place()} = {self.number()}")
        elif kind == "update":
            self.line(indent, f"{self.place()} {self.random.choice(['+=', '^=', '*='])} {self.number()}")
        elif kind == "pair":
            self.line(indent, f"pair = ({self.number(1)}, {self.number(1)})")
        elif kind == "call":
            self.line(indent, f"stored(t, {self.index(6)}, {self.number(1)})")
        elif kind == "trade":
            first, second = self.index(6), self.index(6)
            self.line(indent, f"t[{first}], t[{second}] = t[{second}], {self.number(1)}")
        elif kind == "if":
            self.line(indent, f"if {self.condition()}:")
            self.block(indent + 1, depth)
            for word in self.random.choice([[], ["else:"], [f"elif {self.condition()}:", "else:"]]):
                self.line(indent, word)
                self.block(indent + 1, depth)
        elif kind == "match":
            self.line(indent, f"match {self.number(1)} % 4:")
            for case in self.random.choice([["0", "1 | 2", "_"], ["3", "_ if a > b"], ["0", "1", "2"]]):
                self.line(indent + 1, f"case {case}:")
                self.block(indent + 2, depth)
        elif kind == "while":
            counter = self.name("n")
            self.line(indent, f"{counter} = vy.u32({self.random.randrange(4)})")
            self.line(indent, f"while vy.bounded({counter} > 0, 9):")
            self.line(indent + 1, f"{counter} -= 1")
            self.block(indent + 1, depth)
        else:
            self.loop(kind, indent, depth)

    def loop(self, kind: str, indent: int, depth: int) -> None:
        counter, value = self.name("k"), self.name("e")
        head = f"for {counter} in {{}}:"
        values = self.random.choice(["pair", "(c, d, 4)", "[t[0], m[1, 1]]"])
        if kind == "range":
            first, last = self.random.randrange(3), self.random.randrange(2, 6)
            counts = [f"range({last})", f"range({first}, {last})", f"range({first}, {last}, 2)", "range(len(x))"]
            counts += [f"range(d % {last})", f"range(c % 3, {last})", f"reversed(range({last}))", "range(5, 0, -2)"]
            head = head.format(self.random.choice(counts))
        elif self.random.random() < 0.5:
            head = f"for {counter}, {value} in enumerate({values}):"
        elif self.random.random() < 0.5:
            head = f"for {counter}, {value} in zip((0, 2), {values}):"
        else:
            head, value = head.format(self.random.choice(["(0, 3, 1)", "tuple(range(3))"])), "a"
        self.line(indent, head)
        self.line(indent + 1, f"c = c * 3 + {value if kind == 'known' else 'a'}")
        self.counters.append(counter)
        self.block(indent + 1, depth)
        if self.random.random() < 0.3:
            self.line(indent + 1, f"if {self.condition()}:")
            self.line(indent + 2, self.random.choice(["break", "continue"]))
            self.block(indent + 1, depth)
        self.counters.pop()

    def block(self, indent: int, depth: int) -> None:
        for _ in range(self.random.randrange(1, 3)):
            self.statement(indent, depth - 1)


FUNCTIONS = """
def column(m, j):
    total = m[0, j]
    for i in range(1, 3):
        if m[i, j] == total:
            return m[i, j] + 1
        total += m[i, j]
    return total

def stored(t, at, value):
    t[at] = value
    if value & 1 == 0:
        return
    t[(at + 1) % 6] ^= value
"""
KERNELS = """
import numpy as np
import vyre as vy

TABLE = np.array({table}, np.uint32)

{functions}

@vy.func
def inlined(a, b, x):
{body}


@vy.kernel(shape="n")
def calling(ab: vy.Array[vy.u32, "n", 2], x: vy.Array[vy.u32, 4], out: vy.Out[vy.u32, "n"]) -> None:
    i = vy.index()
    out[i] = inlined(ab[i, 0], ab[i, 1], x)


@vy.kernel(shape="n")
def whole(ab: vy.Array[vy.u32, "n", 2], x: vy.Array[vy.u32, 4]) -> vy.Array[vy.u32, "n"]:
    a, b = ab[vy.index()]
{body}
"""


@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(n, marks=pytest.mark.slow) for n in range(8, SEEDS))])
def test_a_random_kernel_computes_what_python_computes(seed, tmp_path):
    body = Writer(seed).body()
    file = tmp_path / "kernels.py"
    functions = FUNCTIONS.replace("def ", "@vy.func\ndef ")
    file.write_text(KERNELS.format(body=body, functions=functions, table=TABLE), "utf-8")
    module = SimpleNamespace(**runpy.run_path(str(file)))
    shapes = {"private": lambda _, shape: Checked(*(shape if isinstance(shape, tuple) else (shape,)))}
    scope = {"vy": SimpleNamespace(u32=Wrapping, bounded=lambda c, _: c, **shapes), "range": counting}
    scope["TABLE"] = Checked(len(TABLE), elements=TABLE)
    exec(f"{FUNCTIONS}\ndef plain(a, b, x):\n{body}", scope)
    generator = np.random.default_rng(seed)
    ab, x = generator.integers(0, 2**32, (24, 2), np.uint32), generator.integers(0, 2**32, 4, np.uint32)
    given = Checked(4, elements=x.tolist())
    expected = [scope["plain"](Wrapping(a), Wrapping(b), given) % 2**32 for a, b in ab.tolist()]
    for kernel in (module.whole, module.calling):
        assert kernel.on("reference")(ab, x).tolist() == expected, body
