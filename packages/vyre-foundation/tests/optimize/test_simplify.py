"""What becomes of expressions: a table of them, then programs, sharing, locals and size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from vyre_foundation.dtype import u32
from vyre_foundation.ir.buffer import Access, Buffer, Memory
from vyre_foundation.ir.expr import Apply, Expr, Id, IdKind, Literal, Load, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Store
from vyre_foundation.ops import OPS
from vyre_foundation.optimize import Pass
from vyre_foundation.optimize.simplify import SIMPLIFY, simplify
from vyre_foundation.testing import EVERYTHING, generate
from vyre_foundation.text import format_expr, parse
from vyre_foundation.validate import validate
from vyre_foundation.validate.facts import Uniformity


@pytest.fixture
def stage() -> Pass:
    return SIMPLIFY


LOCALS = """
program p workgroup(8, 4, 1) subgroup(4) {
  read a: u32[] @0;
  read n: i32[] @1;
  read f: f32[] @2;
  read h: f16[] @3;
  read t: bool[] @4;
  read w: u64[] @5;
  read eight: u32[8] @6;
  constant table: u32[2] = hex
    "0100000002000000";
  constant odd: bool[2] = hex "0005";
  let x = a[0];
  let y = a[1];
  let k = a[2] & 15;
  let i = n[0];
  let j = n[1];
  let m = n[2] & 15;
  let p = t[0];
  let q = t[1];
  let r = f[0];
  let s = f[1];
  let g = h[0];
  let v = w[0];
  let it = %s;
}
"""

# fmt: off
CASES = [
    # Folding.
    ("(2 + 3) * 7",                         "35"),
    ("1.5 / 0.0",                           "inf"),
    ("u8(300)",                             "44:u8"),
    ("bitcast<u32>(0.0 / 0.0)",             "2143289344"),
    ("clz(1)",                              "31"),
    # Integers.
    ("0 + x",                               "x"),
    ("((x + 1) - 3) + 2",                   "x"),
    ("x + 4294967295",                      "x - 1"),
    ("i - -5",                              "i + 5"),
    ("5 - (x + 3)",                         "2 - x"),
    ("x - (x - y)",                         "y"),
    ("(x + y) - x",                         "y"),
    ("x * 3 + x",                           "x * 4"),
    ("(x * 3) * 5",                         "x * 15"),
    ("-(-x)",                               "x"),
    ("-i + j",                              "j - i"),
    ("x / 1 + x % 1",                       "x"),
    ("x / 8",                               "x >> 3"),
    ("x % 8",                               "x & 7"),
    ("i / 8",                               "i / 8"),
    ("m / 8",                               "m >> 3"),
    ("x / 10",                              "x / 10"),
    ("x / 10 / 3",                          "x / 30"),
    ("x - x / 10 * 10",                     "x % 10"),
    ("k % 16",                              "k"),
    ("(k * 20 + (x & 3)) / 20",             "k"),
    ("(k * 8 + 3) % 8",                     "3"),
    ("x / x",                               "x / x"),
    ("abs(m)",                              "m"),
    ("add_sat(k, 3)",                       "k + 3"),
    # Bits and shifts.
    ("x & 4294967295",                      "x"),
    ("k & 255",                             "k"),
    ("(x | y) & x",                         "x"),
    ("x ^ y ^ x",                           "y"),
    ("not(not(x))",                         "x"),
    ("x << 33",                             "x << 1"),
    ("(x << 20) << 12",                     "0"),
    ("(x << 20) << 11",                     "x << 31"),
    ("(x >> 4) << 4",                       "x & 4294967280"),
    ("rotr(x, 40)",                         "rotr(x, 8)"),
    ("rotr(rotl(x, 8), 8)",                 "x"),
    # Comparisons and truth values.
    ("x == x",                              "true"),
    ("r == r",                              "r == r"),
    ("r < r",                               "false"),
    ("not(x < y)",                          "y <= x"),
    ("not(r < s)",                          "!(r < s)"),
    ("not(r == s)",                         "r != s"),
    ("k < 16",                              "true"),
    ("k == 16",                             "false"),
    ("x >= 0",                              "true"),
    ("(x ^ 5) == 7",                        "x == 2"),
    ("x - y == 0",                          "x == y"),
    ("p == true",                           "p"),
    ("u32(p) != 0",                         "p"),
    ("bool(x)",                             "x != 0"),
    ("local_id.y < 4",                      "true"),
    ("len(eight) == 8",                     "true"),
    ("subgroup_size() == 4",                "true"),
    # Selects.
    ("select(true, x, y)",                  "x"),
    ("select(not(p), x, y)",                "select(p, y, x)"),
    ("select(p, select(p, x, y), y)",       "select(p, x, y)"),
    ("select(p, select(q, x, y), y)",       "select(p & q, x, y)"),
    ("select(x < y, x, y)",                 "min(x, y)"),
    ("select(r < s, r, s)",                 "select(r < s, r, s)"),
    ("select(p, q, false)",                 "p & q"),
    ("select(p, 3, 4) + 1",                 "select(p, 4, 5)"),
    ("select(p, 3, 4) == 3",                "p"),
    ("max(min(k, 20), 0)",                  "k"),
    # Conversions.
    ("u32(u64(x))",                         "x"),
    ("u64(x) < u64(y)",                     "x < y"),
    ("u64(x) == 5:u64",                     "x == 5"),
    ("u32(u64(x) + u64(y))",                "x + y"),
    ("u32(u8(k))",                          "k"),
    ("u32(u8(x))",                          "u32(u8(x))"),
    ("u64(bitcast<i32>(u32(i)))",           "u64(i)"),
    ("u8(bitcast<i32>(x))",                 "u8(x)"),
    ("f16(f32(g))",                         "g"),
    ("f32(f16(r))",                         "f32(f16(r))"),
    ("bitcast<u32>(bitcast<f32>(x))",       "bitcast<u32>(bitcast<f32>(x))"),
    ("bitcast<f32>(bitcast<u32>(r))",       "r"),
    ("floor(f32(x))",                       "f32(x)"),
    # Floats.
    ("r * 1.0",                             "r"),
    ("r + 0.0",                             "r + 0.0"),
    ("r + -0.0",                            "r"),
    ("r - 0.0",                             "r"),
    ("r - r",                               "r - r"),
    ("r * 0.0",                             "r * 0.0"),
    ("r / 4.0",                             "r * 0.25"),
    ("r / 3.0",                             "r / 3.0"),
    ("-(r - s)",                            "-(r - s)"),
    ("r * s + 1.0",                         "r * s + 1.0"),
    ("floor(ceil(r))",                      "ceil(r)"),
    ("fma(r, 1.0, s)",                      "r + s"),
    # Memory.
    ("table[1]",                            "2"),
    ("table[x] < 3",                        "true"),
    ("table[2]",                            "0"),
    ("odd[1]",                              "true"),
    ("eight[k + 8]",                        "0"),
    ("eight[k + 7]",                        "eight[k + 7]"),
    ("eight[u64(x)]",                       "eight[x]"),
    ("eight[u8(x)]",                        "eight[u8(x)]"),
    ("eight[-1:i32]",                       "0"),
]
# fmt: on


def simplified(text: str) -> str:
    """The last statement's value, printed."""
    program = parse(LOCALS % text)
    made = simplify(program, program.validate())
    assert simplify(made, validate(made)) is made
    return format_expr(made.body[-1].value)  # type: ignore[union-attr]


@pytest.mark.parametrize(("before", "after"), CASES, ids=[before for before, _ in CASES])
def test_expressions(before: str, after: str) -> None:
    assert simplified(before) == simplified(after) == after


def test_what_a_legalizer_has_claimed_stays() -> None:
    program = parse(LOCALS % "raw_shr(x, 40) + raw_shr(16, 2) + table[7]")
    facts = validate(program, legalized=True)
    assert "raw_shr(x, 40) + 4" in str(simplify(facts.program, facts))


def chain(op: str, count: int, other: Callable[[int], Expr]) -> Program:
    """``out[0] = (((x op other(0)) op other(1)) … )``"""
    out = Buffer("out", u32, Access.WRITE, Memory.STORAGE, 1, 0)
    node: Expr = Id(IdKind.GLOBAL_ID, 0)
    for n in range(count):
        node = Apply(OPS[op], node, other(n))
    return Program("chain", (out,), (1, 1, 1), (Store(out, literal(u32, 0), node),))


@pytest.mark.parametrize(
    ("op", "other", "value"),
    [
        ("add", lambda n: literal(u32, n % 7 + 1), "global_id.x + 19995"),
        ("xor", lambda n: Id(IdKind.GLOBAL_ID, 1), "global_id.x"),
        ("and", lambda n: literal(u32, 0xFFFF_FFFF), "global_id.x"),
        ("mul", lambda n: literal(u32, 0 if n == 2_500 else 3), "0"),
        ("min", lambda n: Id(IdKind.GLOBAL_ID, 1), "min(global_id.x, global_id.y)"),
    ],
)
def test_a_long_chain_is_no_deep_one(op: str, other: Callable[[int], Expr], value: str) -> None:
    program = simplify(long := chain(op, 5_000, other), long.validate())
    assert format_expr(program.body[0].value) == value  # type: ignore[union-attr]


def test_the_time_grows_with_the_program(instructions: Callable[[Callable[[], object]], int]) -> None:
    """A program of hashing steps, in each of which something can be simplified."""

    def steps(count: int) -> int:
        facts = chain(
            "xor", count, lambda n: Apply(OPS["mul"], literal(u32, n | 1), Id(IdKind.GLOBAL_ID, 0))
        ).validate()
        return instructions(lambda: simplify(facts.program, facts))

    steps(50)  # rules are sorted when they are first met
    few, many = steps(200), steps(2000)
    assert many < 12 * few


@pytest.mark.parametrize("block", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 4))])
def test_on_random_programs(block: int) -> None:
    """Valid, a fixed point, at least as uniform, and with the same interface."""
    for seed in range(block * 25, block * 25 + 25):
        program = generate(seed, EVERYTHING).program
        facts = program.validate()
        made = simplify(facts.program, facts)
        new = validate(made)
        assert simplify(new.program, new) is made, seed
        assert made == replace(program, body=made.body), seed
        assert new.features <= facts.features, seed
        assert new.determinism.is_deterministic >= facts.determinism.is_deterministic, seed
        for node in facts.uniformity.keys() & new.uniformity.keys():
            assert new.uniformity[node].value >= facts.uniformity[node].value, seed


def test_literals_are_launch_uniform() -> None:
    facts = validate(simplify(same := parse(LOCALS % "x - x"), same.validate()))
    assert all(level is Uniformity.LAUNCH for node, level in facts.uniformity.items() if isinstance(node, Literal))
    assert not any(isinstance(node, Load) and node.buffer.name == "table" for node in facts.uniformity)
