"""One meaning, one fingerprint: however the program was spelled, wherever that was. And no other meaning has it."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings, strategies as st

from vyre_foundation import Program, encode, fingerprint, parse, program
from vyre_foundation.dtype import INTEGERS, DType, f32, u32
from vyre_foundation.ir import (
    Apply,
    Assign,
    Atomic,
    Expr,
    For,
    Let,
    Literal,
    Local,
    Region,
    Stmt,
    Subgroup,
    Var,
)
from vyre_foundation.ir.walk import rewrite, rewrite_body, with_expressions
from vyre_foundation.ops import OPS
from vyre_foundation.testing import DEFAULT, generate
from vyre_foundation.testing.strategies import structural_programs
from vyre_foundation.wire import WireError, canonical
from vyre_foundation.wire.operand_order import COMMUTATIVE

GOLDENS = Path(__file__).parents[1] / "goldens"
seeds = st.integers(0, 2**32 - 1)

# ── other spellings of a program ─────────────────────────────────────────────────────────────────────────────────────


def with_operands_swapped(p: Program, random: Random) -> Program:
    """Each expression anew, with the operands of commutative ops in a random order at each place where it is used."""

    def swap(node: Expr) -> Expr:
        if isinstance(node, Apply) and node.op in COMMUTATIVE and random.random() < 0.5:
            return Apply(node.op, *node.args[::-1])
        return node

    def change(stmt: Stmt) -> Stmt:
        return with_expressions(stmt, lambda e: rewrite(e, swap, {}))

    return replace(p, body=rewrite_body(p.body, change))


def with_locals_renamed(p: Program, random: Random) -> Program:
    names: dict[str, str] = {}

    def new(name: str) -> str:
        return names.setdefault(name, f"{random.randrange(10**6)}{name}")

    def rename(node: Expr) -> Expr:
        return Local(new(node.name), node.dtype) if isinstance(node, Local) else node

    def change(stmt: Stmt) -> Stmt:
        stmt = with_expressions(stmt, lambda e: rewrite(e, rename, {}))
        match stmt:
            case Let() | Var() | Assign() | For():
                return replace(stmt, name=new(stmt.name))
            case Atomic() | Subgroup() if stmt.result is not None:
                return replace(stmt, result=new(stmt.result))
        return stmt

    return replace(p, body=rewrite_body(p.body, change))


def with_regions(p: Program, random: Random) -> Program:
    """Some statements alone in regions, which may be nested."""

    def change(stmt: Stmt) -> Stmt:
        for _ in range(random.choice((0, 0, 1, 2))):
            stmt = Region(random.choice(("", "a", "b")), (stmt,))
        return stmt

    return replace(p, body=rewrite_body(p.body, change))


def with_buffers_shuffled(p: Program, random: Random) -> Program:
    return replace(p, buffers=tuple(random.sample(p.buffers, len(p.buffers))))


def with_another_name(p: Program, random: Random) -> Program:
    return replace(p, name=f"{p.name}{random.randrange(100)}")


SPELLINGS = [with_operands_swapped, with_locals_renamed, with_regions, with_buffers_shuffled, with_another_name]


@pytest.mark.parametrize(("index", "other"), list(product(INTEGERS, repeat=2)), ids=str)
def test_a_local_and_a_literal_of_its_number_are_told_apart(index: DType, other: DType) -> None:
    """Their kinds and their types must not make up for one another in the hash that orders them."""
    head = "program p workgroup(1, 1, 1) { write out: u32[1] @0; private table: u32[64];"
    lets = " ".join(f"let v{n} = {n}:{index};" for n in range(4))
    sums = (f"table[v3] + table[3:{other}]", f"table[3:{other}] + table[v3]")
    one, same = (fingerprint(parse(f"{head} {lets} out[0] = {total}; }}")) for total in sums)
    assert one == same


@pytest.mark.parametrize("respelled", SPELLINGS)
@given(seed=seeds)
@settings(max_examples=25, deadline=None)
def test_spellings_of_a_valid_program(respelled: Callable[[Program, Random], Program], seed: int) -> None:
    p = generate(seed, DEFAULT).program
    assert fingerprint(respelled(p, Random(seed))) == fingerprint(p)


@given(structural_programs(), seeds)
@settings(max_examples=100, deadline=None)
def test_swapped_operands_anywhere(p: Program, seed: int) -> None:
    assert fingerprint(with_operands_swapped(p, Random(seed))) == fingerprint(p)


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_the_canonical_form_is_the_same_program_and_its_own_canonical_form(seed: int) -> None:
    p = generate(seed, DEFAULT).program
    c = canonical(p)
    c.validate()
    assert canonical(c) == c
    assert fingerprint(c) == fingerprint(p)
    assert {b.name: b for b in c.buffers} == {b.name: b for b in p.buffers}
    assert (c.workgroup_size, c.subgroup_size) == (p.workgroup_size, p.subgroup_size)


@given(structural_programs())
@settings(max_examples=200, deadline=None)
def test_the_canonical_form_of_any_program_is_its_own_canonical_form(p: Program) -> None:
    """Also of programs that use locals which nothing declares, and call them as the canonical form calls others."""
    try:
        c = canonical(p)
    except WireError:
        return
    assert canonical(c) == c
    assert fingerprint(c) == fingerprint(p)


def test_locals_that_nothing_declares_keep_their_names() -> None:
    x, v0, odd = (Local(name, u32) for name in ("x", "v0", "?v0"))
    lets = (Let("a", x), Let("b", v0), Let("c", odd))
    c = canonical(Program("p", (), (1, 1, 1), lets))
    assert c.body == (Let("v1", x), Let("v2", v0), Let("v3", odd))
    assert canonical(c) == c


def test_a_canonical_program_as_text() -> None:
    p = parse(
        """program p workgroup(64) {
          workgroup z: u32[1];  workgroup y: f32[1];
          write out: u32[4] @1; read a: u32[] @0;
          region "outer" {
            let x = 3 * a[0];
            region "inner" { var sum = x + (a[1] ^ a[0]) + ((a[0] ^ a[1]) + x); }
            y[0] = nan(0x7f800001);
          }
          out[0] = sum & (1 | sum);
        }"""
    )
    assert str(canonical(p)) == (
        """program canonical workgroup(64, 1, 1) {
  read a: u32[] @0;
  write out: u32[4] @1;
  workgroup y: f32[1];
  workgroup z: u32[1];

  let v0 = a[0] * 3;
  %0 = (a[0] ^ a[1]) + v0;
  var v1 = %0 + %0;
  y[0] = nan;
  out[0] = (v1 | 1) & v1;
}
"""
    )


def test_every_order_of_a_sum() -> None:
    def total(order: tuple[int, ...]) -> str:
        with program("sum") as p:
            a, b = p.read("a", f32, 64), p.read("b", f32, 64)
            out = p.write("out", f32, 64)
            terms = [a[0], a[1] * b[2], b[2] * a[0], a[3] + a[1]]
            x, y, z, w = (terms[i] for i in order)
            out[0] = (x + y) * (z + w)
        return fingerprint(p.build())

    orders = list(permutations(range(4)))
    pairs = {order: frozenset((frozenset(order[:2]), frozenset(order[2:]))) for order in orders}
    prints = {order: total(order) for order in orders}
    assert len(set(prints.values())) == 3  # ways to make two pairs of four
    for one in orders:
        for other in orders:
            assert (prints[one] == prints[other]) == (pairs[one] == pairs[other])


def test_deep_operands_that_differ_only_at_the_bottom() -> None:
    def tower(bottom: int) -> Expr:
        e: Expr = Literal(u32, bottom)
        for _ in range(1000):
            e = Apply(OPS["not"], Apply(OPS["neg"], e))
        return e

    def p(first: Expr, second: Expr) -> Program:
        return Program("p", (), (1, 1, 1), (Let("x", Apply(OPS["add"], first, second)),))

    assert fingerprint(p(tower(1), tower(2))) == fingerprint(p(tower(2), tower(1)))
    assert fingerprint(p(tower(1), tower(2))) != fingerprint(p(tower(1), tower(3)))


def test_nan_payloads_are_not_observable() -> None:
    def p(*bits: int) -> Program:
        return Program("p", (), (1, 1, 1), tuple(Let(f"x{at}", Literal(f32, b)) for at, b in enumerate(bits)))

    assert fingerprint(p(0x7FC00000, 0x7FC00000)) == fingerprint(p(0x7F800001, 0xFFFFFFFF))
    assert fingerprint(p(0x7F800000, 0)) != fingerprint(p(0x7FC00000, 0))


# ── other meanings ───────────────────────────────────────────────────────────────────────────────────────────────────

BASE = """program base workgroup(64, 1, 1) subgroup(32) {
  read a: u32[] @0;
  read b: u32[] @1;
  read_write out: i32[len(a)] @2 bytes(0, 16);
  uniform scale: f32[4] @3;
  scratch pool: u32[2 per workgroup] @4;
  constant table: u8[2] = hex
    "0001";
  workgroup tile: u32[64];

  let x = a[global_id.x] - b[1];
  var y = f32(x) / scale[0] + 0.0;
  let old = atomic compare_exchange(tile[0], x, expected = 7);
  let sum = subgroup reduce_add(x, 1);
  for i in 0..x step 2 {
    y = y * 1.5;
    if y < 3.0 {
      break;
    } else {
      continue;
    }
  }
  barrier workgroup;
  out[x] = i32(y);
  trap(x, "tag");
}
"""

# fmt: off
CHANGES = [
    ("workgroup(64, 1, 1)", "workgroup(1, 64, 1)"), ("workgroup(64, 1, 1)", "workgroup(32, 1, 1)"),
    ("subgroup(32)", "subgroup(16)"), (" subgroup(32)", ""),
    ("pool: u32", "pool: i32"), ("read a: u32[] @0", "read a: u32[] @5"), ("read a:", "read_write a:"),
    ("read a: u32[]", "read a: u32[8]"), ("uniform scale", "read scale"), ("f32[4]", "f32[5]"),
    ("len(a)", "len(b)"), ("len(a)", "len(a) * 2"), ("len(a)", "ceil(len(a) / 2)"), ("len(a)", "len(a) + 1"),
    (" bytes(0, 16)", ""), ("bytes(0, 16)", "bytes(4, 16)"), ("bytes(0, 16)", "bytes(0, 12)"),
    ("2 per workgroup", "2 per invocation"), ("2 per workgroup", "3 per workgroup"), ("2 per workgroup", "2"),
    ("scratch pool: u32[2 per workgroup]", "persistent pool: u32[2]"),
    ('"0001"', '"0101"'), ("workgroup tile", "private tile"), ("pool", "pond"), ("tile", "tail"), ("scale", "scales"),
    ("- b[1]", "+ b[1]"), ("a[global_id.x] - b[1]", "b[1] - a[global_id.x]"), ("b[1]", "b[2]"), ("b[1]", "a[1]"),
    ("b[1]", "b[unchecked 1]"), ("b[1]", "b[1:u64]"), ("global_id.x", "global_id.y"), ("global_id.x", "local_id.x"),
    ("+ 0.0", "+ -0.0"), ("f32(x)", "f32(unchecked x)"), ("f32(x)", "bitcast<f32>(x)"), ("var y", "let y"),
    ("y * 1.5", "y * 1.5000001"), ("3.0", "inf"), ("3.0", "nan"), ("y < 3.0", "y <= 3.0"), ("y < 3.0", "3.0 < y"),
    ("compare_exchange(", "exchange("), (", expected = 7", ""), ("expected = 7", "expected = 8"),
    ("tile[0], x", "tile[0], 1"),
    ("let old = atomic", "atomic"), ("atomic compare_exchange(tile[0]", "atomic compare_exchange(tile[unchecked 0]"),
    ("reduce_add(x, 1)", "reduce_add(x)"), ("reduce_add", "inclusive_scan_add"), ("let sum = ", ""),
    ("0..x", "1..x"), ("0..x", "x..0"), ("step 2", "step 3"), ("break", "return"), ("break", "continue"),
    ("    } else {\n      continue;\n    }", "    }"),
    ("barrier workgroup", "barrier grid"), ("  barrier workgroup;\n", ""),
    ("out[x] =", "out[unchecked x] ="), ("out[x]", "out[0]"), ('"tag"', '"tags"'), ("trap(x,", "trap(0,"),
    ("  barrier workgroup;\n  out[x] = i32(y);", "  out[x] = i32(y);\n  barrier workgroup;"),
]
# fmt: on


@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_a_change_of_meaning_or_interface_changes_it(before: str, after: str) -> None:
    assert before in BASE
    assert fingerprint(parse(BASE.replace(before, after))) != fingerprint(parse(BASE))


def test_all_changes_differ_from_each_other() -> None:
    prints = [fingerprint(parse(BASE.replace(before, after))) for before, after in CHANGES]
    assert len({*prints, fingerprint(parse(BASE))}) == len(prints) + 1


@given(seeds, seeds)
@settings(max_examples=30, deadline=None)
def test_one_flipped_bit_of_a_literal(seed: int, choice: int) -> None:
    p = generate(seed, DEFAULT).program
    literals = sorted({e for e in _literals(p) if not _is_nan(e)}, key=lambda e: (e.dtype.tag, e.bits))
    if not literals:
        return
    random = Random(choice)
    old = random.choice(literals)
    new = Literal(old.dtype, old.bits ^ 1 << random.randrange(old.dtype.bits))
    if _is_nan(new):
        return

    def change(stmt: Stmt) -> Stmt:
        return with_expressions(stmt, lambda e: rewrite(e, lambda n: new if n is old else n, {}))

    changed = replace(p, body=rewrite_body(p.body, change))
    # Where `new` was there too, the change may only have exchanged operands.
    assert fingerprint(changed) != fingerprint(p) or new in literals


def _literals(p: Program) -> list[Literal]:
    from vyre_foundation.ir.walk import program_expressions

    return [e for e in program_expressions(p) if isinstance(e, Literal)]


def _is_nan(e: Literal) -> bool:
    return e.value != e.value


def test_locals_of_other_names_are_other_locals() -> None:
    def p(used: str) -> Program:
        return parse(f"program p workgroup(1) {{ let a = 1; let b = 2; let c = {used}; }}")

    assert fingerprint(p("a")) != fingerprint(p("b"))
    assert fingerprint(p("a")) != fingerprint(p("nowhere:u32"))


def test_two_locals_that_change_places() -> None:
    p = parse("program p workgroup(1) { let a = 1; let b = 2; let c = a - b; }")
    q = parse("program p workgroup(1) { let b = 1; let a = 2; let c = b - a; }")
    r = parse("program p workgroup(1) { let b = 2; let a = 1; let c = a - b; }")
    assert fingerprint(p) == fingerprint(q) != fingerprint(r)


# ── other processes ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("hash_seed", ["0", "1", "4242"])
def test_the_same_in_every_process(hash_seed: str) -> None:
    script = """
import sys
from random import Random
from vyre_foundation import fingerprint
from vyre_foundation.testing import DEFAULT, generate
from vyre_foundation.testing.structural import structural_program
print(*[fingerprint(generate(seed, DEFAULT).program) for seed in range(6)])
print(*[fingerprint(structural_program(Random(seed))) for seed in range(40)])
"""
    from vyre_foundation.testing.structural import structural_program

    command = [sys.executable, "-c", script]
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    out = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.split()
    here = [fingerprint(generate(seed, DEFAULT).program) for seed in range(6)]
    assert out == here + [fingerprint(structural_program(Random(seed))) for seed in range(40)]


def test_it_is_blake3_of_the_canonical_wire_form() -> None:
    from blake3 import blake3

    p = parse(BASE)
    assert fingerprint(p) == p.fingerprint() == blake3(encode(canonical(p))).hexdigest()
    assert len(fingerprint(p)) == 64
