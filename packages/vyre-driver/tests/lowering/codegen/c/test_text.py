"""The text of kernels: temporaries where values are shared or deep, none that outlives what it depends on."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import accumulate, pairwise

import pytest

from vyre_driver.codegen.c.carried import carrying_loops
from vyre_driver.codegen.c.unit import print_unit
from vyre_driver.codegen.lower import legalize
from vyre_foundation.build import apply, constant, program, select
from vyre_foundation.dtype import f32, u32, u64
from vyre_foundation.ir.buffer import RUNTIME, Access, Buffer, LengthOf, Memory
from vyre_foundation.ir.expr import Apply, Expr, Id, IdKind, Load, Local, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import For, Let, Store
from vyre_foundation.ir.walk import statements
from vyre_foundation.ops import OPS
from vyre_foundation.optimize import optimize
from vyre_foundation.text import parse


def printed(built: Program, dialect) -> str:
    return print_unit(legalize(built, built.validate(), dialect.target()), dialect).text


def body(built: Program, dialect) -> list[str]:
    """The lines of the one kernel, without its head, its ids, and indentation."""
    lines = [line.strip() for line in printed(built, dialect).splitlines() if line]
    return [line for line in lines[1:-1] if not re.match(r"const u32 \w+ = \w+_id\(\d\);", line)]


def chain(length: int) -> Program:
    """One expression of `length` operators, on top of each other."""
    a = Buffer("a", u32, Access.READ, Memory.STORAGE, RUNTIME, 0)
    out = Buffer("out", u32, Access.WRITE, Memory.STORAGE, LengthOf("a"), 1)
    i = Id(IdKind.GLOBAL_ID)
    x: Expr = Load(a, i)
    for k in range(length):
        x = Apply(OPS[("add", "xor", "mul")[k % 3]], x, literal(u32, k % 97))
    return Program("chain", (a, out), (64, 1, 1), (Store(out, i, x),))


def stores(count: int) -> Program:
    """As many guarded stores as operators in what they all share."""
    source = chain(count)
    (store,) = source.body
    out = source.buffer("out")
    index = [Apply(OPS["add"], Id(IdKind.GLOBAL_ID), literal(u32, k)) for k in range(count)]
    values = [Apply(OPS["xor"], store.value, literal(u32, k)) for k in range(count)]
    body = tuple(Store(out, i, v) for i, v in zip(index, values, strict=True))
    return Program("stores", source.buffers, source.workgroup_size, body)


def doubling(count: int) -> Program:
    """An expression that would have 2**count operators if nothing were shared."""
    a = Buffer("a", u32, Access.READ, Memory.STORAGE, RUNTIME, 0)
    out = Buffer("out", u32, Access.WRITE, Memory.STORAGE, LengthOf("a"), 1)
    x: Expr = Load(a, Id(IdKind.GLOBAL_ID))
    for k in range(count):
        x = Apply(OPS["mul"], Apply(OPS["add"], x, literal(u32, k)), x)
    return Program("doubling", (a, out), (64, 1, 1), (Store(out, Id(IdKind.GLOBAL_ID), x),))


@pytest.mark.parametrize("build", [chain, stores, doubling])
@pytest.mark.parametrize("dialect", ["full", "loops", "bare"])
def test_text_is_linear_in_the_expressions(build, dialect, dialects):
    small, large = (len(printed(build(n), dialects[dialect])) for n in (300, 900))
    assert large < 3.3 * small


def test_a_hundred_thousand_operators(dialects):
    text = printed(chain(100_000), dialects["full"])
    assert len(text) < 1_500_000
    assert _deepest(text) <= 32


def test_brackets_are_never_deep(dialects):
    assert _deepest(printed(chain(5000), dialects["full"])) <= 32
    assert max(len(line) for line in printed(chain(5000), dialects["full"]).splitlines()) < 250


def _deepest(text: str) -> int:
    return max(max(accumulate((c == "(") - (c == ")") for c in line), default=0) for line in text.splitlines() if line)


def test_a_shared_value_is_computed_once(dialects):
    with program("shared", 4) as p:
        a = p.read("a", u32)
        x = a[p.global_id(0)] * 3 + 1
        p.write("out", u32, like=a)[p.global_id(0)] = x * x
    assert body(p.build(), dialects["full"]) == [
        "if (global_id_x < out_length) {",
        "const u32 t0 = (a[global_id_x] * 3u) + 1u;",
        "out[global_id_x] = t0 * t0;",
        "}",
    ]


def test_guarded_blocks_share_what_is_computed_before_them(dialects):
    """The guards of the stores come between, and the load is not proven by either alone: it keeps its check."""
    with program("hoisted", 4) as p:
        a, out, other = p.read("a", u32), p.write("out", u32, 9), p.write("other", u32, 99)
        i = p.global_id(0)
        x = (a[i] * 3 + 1) * 5
        out[i] = x + 1
        other[i] = x + 2
    assert body(p.build(), dialects["full"]) == [
        "const u32 t0 = (((global_id_x < a_length ? a[global_id_x] : 0u) * 3u) + 1u) * 5u;",
        "if (global_id_x < 9u) {",
        "out[global_id_x] = t0 + 1u;",
        "}",
        "if (global_id_x < 99u) {",
        "other[global_id_x] = t0 + 2u;",
        "}",
    ]


def test_what_a_guard_proves_stays_behind_it(dialects):
    """Shared by statements behind one guard, the load is computed there, unchecked, and before inner guards."""
    with program("guarded", 4) as p:
        a, out = p.read("a", u32), p.write("out", u32, 9)
        i = p.global_id(0)
        x = (a[i] // 3 + 7) * 5
        with p.if_(i < a.length):
            out[i] = x + 1
            out[i + 1] = x + 2
    assert body(p.build(), dialects["full"])[:3] == [
        "if (global_id_x < a_length) {",
        "const u32 t0 = ((a[global_id_x] / 3u) + 7u) * 5u;",
        "if (global_id_x < 9u) {",
    ]


def test_a_value_of_a_mutable_local_ends_with_an_assignment(dialects):
    with program("mutable", 4) as p:
        a, out = p.read("a", u32, 8), p.write("out", u32, 8)
        v = p.var(a[0])
        out[0] = (v.get() * 3 + 1) * ((v.get() * 3 + 1) ^ 1)
        v.set(v * 2)
        out[1] = (v.get() * 3 + 1) * ((v.get() * 3 + 1) ^ 1)
    values = dict.fromkeys(re.findall(r"out\[\du\] = (.*);", printed(p.build(), dialects["full"])))
    assert len(values) == 2


def test_the_end_of_a_loop_is_what_it_was_before_the_loop(dialects):
    with program("end", 4) as p:
        n = p.var(5, u32)
        with p.range(0, n):
            n.set(n + 1)
        p.write("out", u32, 1)[0] = n.get()
    lines = body(p.build(), dialects["full"])
    assert "const u32 t0 = v0;" in lines or any("const u32" in line and "= v0;" in line for line in lines)
    loop = next(line for line in lines if line.startswith("for"))
    assert "< v0;" not in loop


def test_operands_that_a_template_repeats_are_words(dialects):
    full = dialects["full"]
    repeating = replace(full, ops={**full.ops, ("min", u32): "({0} < {1} ? {0} : {1})"})
    with program("repeated", 4) as p:
        a = p.read("a", u32)
        i = p.global_id(0)
        with p.if_(i < a.length):
            p.write("out", u32, like=a)[i] = apply("min", a[i] * 3, a[i] + 1)
    assert body(p.build(), repeating)[1:5] == [
        "const u32 t0 = a[global_id_x];",
        "const u32 t1 = t0 * 3u;",
        "const u32 t2 = t0 + 1u;",
        "out[global_id_x] = t1 < t2 ? t1 : t2;",
    ]


def test_lines_know_their_statements(dialects):
    with program("places", 4) as p:
        a = p.read("a", u32)
        i = p.global_id(0)
        with p.if_(i < a.length):
            out = p.write("out", f32, like=a)
            out[i] = select(a[i] > 3, constant(f32, 1.5), constant(f32, 2.5))
    built = p.build()
    text = print_unit(legalize(built, built.validate(), dialects["full"].target()), dialects["full"])
    lines = text.text.splitlines()
    places = {line.strip(): text.place(number) for number, line in enumerate(lines, 1)}
    assert places["if (global_id_x < a_length) {"] == "places body[0]"
    assert next(p for line, p in places.items() if line.startswith("out[")) == "places body[0].then[0]"
    assert text.place(len(lines) + 5) == ""
    assert len(text.places) == len(lines)


def test_a_nan_may_be_a_variable_that_compilers_do_not_know(dialects) -> None:
    """Bits, the statement that hides them, and the float: once in a kernel, and only where it has a NaN."""
    with program("roots", 4) as p:
        a = p.read("a", f32)
        p.write("out", f32, like=a)[p.global_id(0)] = a[p.global_id(0)] + a[p.global_id(0) + 1]
    dialect = replace(dialects["vectors"], opaque="hide({0});")
    text = printed(p.build(), dialect)
    assert text.count("hide(") == 1
    hidden = re.search(r"u32 (\w+) = 0x7fc00000u;\n +hide\(\1\);\n +const \w+ (\w+) = [^;]*\b\1\b[^;]*;", text)
    assert hidden is not None
    assert text.count("0x7fc00000") == 1
    assert re.search(rf"\? {hidden[2]} :", text)
    assert "hide(" not in printed(chain(3), dialect)


def test_an_exchange_whose_old_value_nobody_uses_is_a_store(dialects) -> None:
    """Of the types that have one; an old value that is used comes from an exchange."""
    with program("marks", 64) as p:
        out, wide = p.read_write("out", u32, 64), p.read_write("wide", u64, 64)
        out.atomic_exchange(p.local_id(0), 1)
        out[0] = out.atomic_exchange(p.local_id(0), 2) + 1
        wide.atomic_exchange(p.local_id(0), 3)
    dialect = replace(dialects["full"], atomic_stores={u32: "store(&{0}, {1})"})
    text = printed(optimize(p.build().validate()).program, dialect)
    assert re.findall(r"\bstore\(.*\)", text) == ["store(&out[local_id_x], 1u)"]
    assert re.findall(r"atomic_exchange\(&(\w+)", text) == ["out", "wide"]


def advised(text: str, dialect) -> list[str]:
    """The loops of a program that are said to have an order, by their counters."""
    lines = printed(parse(f"program p workgroup(1, 1, 1) {{ {BUFFERS} {text} }}"), dialect).splitlines()
    said = [after for before, after in pairwise(lines) if before.strip() == "serial"]
    return [line.split()[2] for line in said]


BUFFERS = "uniform n: u32[1] @0; read x: f32[] @1; read_write y: f32[] @2; read_write z: u32[] @3; private v: f32[4];"


@pytest.mark.parametrize(
    ("text", "loops"),
    [
        ("var t = 0.0; for k in 0..n[0] { t = t + x[k]; } y[0] = t;", ["k"]),
        ("for k in 0..n[0] { y[n[0]] = y[n[0]] + x[k]; }", ["k"]),
        ("for k in 0..n[0] { v[1] = v[1] + x[k]; } y[0] = v[1];", ["k"]),
        ("for k in 0..n[0] { let at = n[0] + 1; y[at] = y[at] + x[k]; }", ["k"]),
        ("for j in 0..n[0] { var t = 0.0; for k in 0..n[0] { t = t + x[k]; } y[j] = t; }", ["k"]),
        ("var t = 0.0; for j in 0..n[0] { for k in 0..n[0] { if x[k] > t { t = x[k]; } } } y[0] = t;", ["j", "k"]),
        ("for j in 0..n[0] { var t = x[j]; t = t + y[j]; y[j] = t; }", []),
        ("for j in 0..n[0] { for k in 0..n[0] { y[k] = y[k] + x[j]; } }", ["j"]),
        ("var t = 0; for k in 0..n[0] { t = t + k; } z[0] = t;", []),
    ],
)
def test_loops_that_carry_a_float(text: str, loops: list[str], dialects) -> None:
    assert advised(text, replace(dialects["full"], serial_loop="serial")) == loops
    assert advised(text, dialects["full"]) == []


@pytest.mark.parametrize(
    ("index", "carried"),
    [("i", {"k"}), ("k", {"i"}), ("k * 8 + i", set()), ("0", {"i", "k"}), ("at", {"k"}), ("sum", {"i", "k"})],
)
def test_an_element_is_carried_by_loops_that_do_not_change_its_index(index: str, carried: set[str]) -> None:
    """`i` starts again in each iteration of `k`, so the same elements are met again."""
    found = parse(f"""program p workgroup(1, 1, 1) {{
      read_write x: f32[64] @0;

      var sum = 0;
      for k in 0..8 {{
        for i in 0..8 {{
          let at = i * 2;
          sum = sum + i;
          x[{index}] = x[{index}] + 1.0;
        }}
      }}
    }}""")
    loops = {stmt.name: id(stmt) for stmt in statements(found.body) if isinstance(stmt, For)}
    assert carrying_loops(found) == {loops[name] for name in carried}


def test_parameters_of_functions_are_declared_outside() -> None:
    """Rare calls are functions, whose parameters are locals that no statement declares."""
    body = (Let("sum", Apply(OPS["add"], Local("x0", f32), Local("x1", f32))),)
    assert carrying_loops(Program("function", (), (1, 1, 1), body)) == frozenset()
