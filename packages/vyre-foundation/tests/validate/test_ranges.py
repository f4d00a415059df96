"""Bounds of expressions: ids, lengths, tables, loops, mutable locals; and random expressions against their values."""

from random import Random

import pytest

from vyre_foundation.dtype import INTEGERS, bool_, f32, u32
from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Local, Select, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Let, Var
from vyre_foundation.ir.walk import postorder
from vyre_foundation.ops import OPS, Tier, scalar
from vyre_foundation.text import parse
from vyre_foundation.validate import validate

BUFFERS = """
  read a: u32[] @0; read b: u32[10] @1; write out: u32[len(a) * 8 + 1] @2; scratch s: u8[ceil(len(b) / 3)] @3;
  constant table: u16[4] = hex "0300000009000700"; constant signed: i8[2] = hex "fe05"; workgroup w: u32[64];
"""


def bounds(expression, before="", launch="workgroup(8, 4, 1) subgroup(4)"):
    program = parse(f"program p {launch} {{ {BUFFERS} {before} let probe = {expression}; }}")
    facts = validate(program)
    return tuple(facts.ranges[program.body[-1].value])


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("7", (7, 7)),
        ("-7:i64", (-7, -7)),
        ("local_id.x", (0, 7)),
        ("local_id.z", (0, 0)),
        ("workgroup_id.y", (0, 2**30 - 1)),
        ("workgroup_id.x * 8 + local_id.x", (0, 2**32 - 1)),
        ("global_id.x", (0, 2**32 - 1)),
        ("num_workgroups.x", (0, 2**29)),
        ("subgroup_lane()", (0, 3)),
        ("subgroup_size()", (4, 4)),
        ("len(b)", (10, 10)),
        ("len(s)", (4, 4)),
        ("len(w)", (64, 64)),
        ("len(a)", (0, (2**32 - 2) // 8)),  # len(out) is a u32 too
        ("len(out)", (1, 2**32 - 1)),
        ("a[0]", (0, 2**32 - 1)),
        ("table[local_id.x]", (0, 9)),
        ("signed[local_id.x]", (-2, 5)),
        ("u32(true)", (0, 1)),
        ("u8(len(b))", (10, 10)),
        ("u8(a[0])", (0, 255)),
        ("u32(signed[0])", (0, 2**32 - 1)),
        ("i32(local_id.x)", (0, 7)),
        ("u32(1.5)", (0, 2**32 - 1)),
        ("bitcast<u8>(signed[0] - 100:i8)", (154, 161)),
        ("bitcast<i8>(u8(local_id.x) + 200:u8)", (-56, -49)),
        ("bitcast<u32>(1.5)", (0, 2**32 - 1)),
        ("select(a[0] == 0, local_id.x, 100)", (0, 100)),
        ("local_id.x * 4 + local_id.y", (0, 31)),
        ("w[0] % len(b)", (0, 9)),
        ("a[0] >> 24", (0, 255)),
        ("local_id.x << 2 | local_id.y", (0, 31)),
        ("local_id.y ^ local_id.x * 4", (0, 31)),
        ("local_id.x << 1 | local_id.y", (0, 15)),
    ],
)
def test_of_an_expression(expression, expected):
    assert bounds(expression) == expected


@pytest.mark.parametrize(
    ("before", "expression", "expected"),
    [
        ("let x = local_id.x + 1;", "x * x", (1, 64)),
        ("var x = 3; x = 9;", "x", (3, 9)),
        ("var x = 3; if a[0] == 0 { x = local_id.x; }", "x", (0, 7)),
        ("var x = 3; for i in 0..4 { x = x + 1; }", "x", (0, 2**32 - 1)),
        ("var x = 3; for i in 0..4 { x = min(x + 1, 20); }", "x", (3, 20)),
        ("var x = 3; for i in 0..4 { x = x + 1 & 15; }", "x", (0, 15)),
        ("var x = 1; var y = 2; for i in 0..4 { x = y; y = 5; }", "x", (1, 5)),
        ("let old = atomic add(w[0], 1);", "old", (0, 2**32 - 1)),
        ("let x = subgroup reduce_add(local_id.x);", "x", (0, 28)),
        ("let x = subgroup reduce_min(local_id.x);", "x", (0, 7)),
        ("let x = subgroup inclusive_scan_add(local_id.x + 1);", "x", (0, 32)),
        ("let x = subgroup exclusive_scan_max(local_id.x);", "x", (0, 2**32 - 1)),
        ("let x = subgroup shuffle(local_id.y, 3);", "x", (0, 3)),
        ("let x = subgroup ballot(true);", "x", (0, 15)),
    ],
)
def test_of_a_local(before, expression, expected):
    assert bounds(expression, before) == expected


def test_of_a_counter():
    program = parse("""program p workgroup(8, 1, 1) {
      read a: u32[100] @0;
      for i in 3..len(a) step 5 { let x = i; }
      for j in -5:i32..-9 { let y = j; }
      for k in local_id.x..8 { let z = k; }
    }""")
    facts = validate(program)
    found = {e.name: tuple(r) for e, r in facts.ranges.items() if isinstance(e, Local)}
    assert found == {"i": (3, 98), "j": (-5, -5), "k": (0, 7)}


def test_an_automaton_stays_inside_of_its_table():
    program = parse(
        """program p workgroup(8, 1, 1) {
      read text: u8[] @0;
      constant next: u8[768] = hex "{}";
      var state = 0;
      for i in 0..len(text) { state = u32(next[state << 8 | u32(text[i])]); }
    }""".replace("{}", "00" * 256 + "01" * 256 + "02" * 256)
    )
    facts = validate(program)
    (index,) = [e.args[0] for e in facts.ranges if type(e).__name__ == "Load" and e.buffer.name == "next"]
    assert tuple(facts.ranges[index]) == (0, 767)
    assert facts.in_bounds(768, index)
    assert not facts.in_bounds(767, index)
    assert not facts.in_bounds(None, index)


# ── random expressions ───────────────────────────────────────────────────────────────────────────────────────────────

LANGUAGE = [op for op in OPS.values() if op.tier is Tier.LANGUAGE]


class Drawn:
    """A random expression over locals that are bound to literals or to one of two values."""

    def __init__(self, seed):
        self.rng = Random(seed)
        self.body = []
        self.values = {}
        self.pool = []
        for n in range(8):
            self.bind(n)
        for _ in range(30):
            self.pool.append(self.grow())

    def number(self, dtype):
        if dtype is f32:
            return self.rng.choice((0.0, -1.5, 3e9, -3e9, 1e-30))
        small = self.rng.getrandbits(self.rng.choice((1, 3, 6, dtype.bits)))
        return scalar.wrap(dtype, small * self.rng.choice((1, -1)))

    def bind(self, n):
        """A mutable local with two possible values, of which one is current."""
        dtype = self.rng.choice((*INTEGERS, u32, f32))
        first, second = self.number(dtype), self.number(dtype)
        self.body.append(Var(f"v{n}", Select(literal(bool_, 1), literal(dtype, first), literal(dtype, second))))
        local = Local(f"v{n}", dtype)
        self.values[local] = self.rng.choice((first, second))
        self.pool.append(local)

    def grow(self):
        x = self.rng.choice(self.pool)
        draw = self.rng.random()
        if draw < 0.25:
            target = self.rng.choice((*INTEGERS, f32, bool_))
            return Cast(target, x)
        if draw < 0.35 and x.dtype is not bool_:
            return Bitcast(self.rng.choice([t for t in (*INTEGERS, f32) if t.bits == x.dtype.bits]), x)
        same = [e for e in self.pool if e.dtype is x.dtype]
        if draw < 0.45:
            bools = [e for e in self.pool if e.dtype is bool_] or [literal(bool_, self.rng.random() < 0.5)]
            return Select(self.rng.choice(bools), x, self.rng.choice(same))
        op = self.rng.choice([op for op in LANGUAGE if x.dtype in op.results])
        return Apply(op, x, *[self.rng.choice(same) for _ in range(op.arity - 1)])

    def evaluated(self):
        """The value of every expression."""
        values = dict(self.values)
        for node in postorder(self.pool):
            args = [values[a] for a in node.args]
            match node:
                case Local():
                    continue
                case Apply():
                    values[node] = node.op.evaluate(node.args[0].dtype, *args)
                case Select():
                    values[node] = args[1] if args[0] else args[2]
                case Cast():
                    values[node] = scalar.cast(node.value.dtype, node.dtype, args[0])
                case Bitcast():
                    values[node] = scalar.bitcast(node.value.dtype, node.dtype, args[0])
                case _:
                    values[node] = node.value
        return values


def test_no_value_leaves_its_bounds():
    for seed in range(150):
        drawn = Drawn(seed)
        probes = [Let(f"p{n}", e) for n, e in enumerate(drawn.pool)]
        facts = validate(Program("p", (), (1, 1, 1), (*drawn.body, *probes)))
        for node, value in drawn.evaluated().items():
            if node.dtype.is_integer:
                low, high = facts.ranges[node]
                assert low <= value <= high, (seed, node, value)
