"""For every code a smallest program that breaks its rule, and only that, and a repaired twin that is valid."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from vyre_foundation import dialects as dialects
from vyre_foundation.dialects import Composition, Dialect, register, registry, unregister
from vyre_foundation.dialects.attributes import AttrSchema, AttrType
from vyre_foundation.dtype import f32, u32
from vyre_foundation.ir.buffer import RUNTIME, Access, Buffer, Memory
from vyre_foundation.ir.expr import Id, IdKind, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, AtomicOp, Let, Region, Return, Store
from vyre_foundation.text import parse
from vyre_foundation.validate import InvalidProgram, validate
from vyre_foundation.validate.codes import REASONS, RULES
from vyre_foundation.validate.limits import MAX_BOUND_BUFFERS

PACKAGE = import_module("vyre_foundation.validate")
OUT = "write out: u32[16] @0;"
LANES = "workgroup(4, 1, 1) subgroup(4)"


def text(body="", declarations=OUT, launch="workgroup(4, 1, 1)"):
    return f"program p {launch} {{ {declarations} {body} }}"


# code: (where the finding is, a program that breaks the rule, the repaired program)
# fmt: off
CASES = {
    "V001": ("buffers[1]", text(declarations="read a: u32[] @0; read a as b: f32[] @1;"),
                           text(declarations="read a: u32[] @0; read b: f32[] @1;")),
    "V002": ("buffers[0]", text(declarations="read a: u32[] @1;"),
                           text(declarations="read a: u32[] @0;")),
    "V003": ("body[0]",    text("let `1st` = 0;"),
                           text("let first = 0;")),
    "V004": ("buffers[0]", text(declarations="read __a: u32[] @0;"),
                           text(declarations="read a: u32[] @0;")),
    "V005": ("buffers[0]", text(declarations="write out: u32[len(x)] @0;"),
                           text(declarations="write out: u32[len(x)] @0; read x: u8[] @1;")),
    "V006": ("buffers[0]", text(declarations="scratch s: u32[len(s)] @0;"),
                           text(declarations="scratch s: u32[7] @0;")),
    "V007": ("buffers[0]", text(declarations="write out: u8[len(a) * 3] @0; read a: u8[2147483648] @1;"),
                           text(declarations="write out: u8[len(a)] @0; read a: u8[2147483648] @1;")),
    "V008": ("buffers[0]", text(declarations="write out: u32[1] @0 bytes(0, 8);"),
                           text(declarations="write out: u32[1] @0 bytes(0, 4);")),
    "V009": ("body[0].value", text("let x = a[0];", "undeclared read a: u32[] @0;"),
                              text("let x = a[0];", "read a: u32[] @0;")),
    "V010": ("workgroup_size", text(launch="workgroup(0, 1, 1)"),
                               text(launch="workgroup(1, 1, 1)")),
    "V011": ("subgroup_size", text(launch="workgroup(12, 1, 1) subgroup(3)"),
                              text(launch="workgroup(12, 1, 1) subgroup(4)")),
    "V012": ("buffers[0]", text(declarations="workgroup w: u32[8193];"),
                           text(declarations="workgroup w: u32[8192];")),
    "V020": ("body[0].orelse[0]", text("if true { let x = 0; } else { let x = 1; }"),
                                  text("if true { let x = 0; } else { let y = 1; }")),
    "V021": ("body[0].value", text("out[0] = x:u32;"),
                              text("let x = 1; out[0] = x;")),
    "V022": ("body[1].value", text("if true { let x = 1; } out[0] = x;"),
                              text("let x = 1; if true { } out[0] = x;")),
    "V023": ("body[1].value", text("let x = 1; out[0] = bitcast<u32>(x:f32);"),
                              text("let x = 1.0; out[0] = bitcast<u32>(x);")),
    "V024": ("body[1].name",  text("let x = 1; x = 2;"),
                              text("var x = 1; x = 2;")),
    "V025": ("body[1].value", text("var x = 1; x = 2:i32;"),
                              text("var x = 1; x = 2;")),
    "V030": ("body[0].value", text("let x = out[0];"),
                              text("let x = out[0];", "read_write out: u32[] @0;")),
    "V031": ("body[0].buffer", text("a[0] = 1;", "read a: u32[] @0;"),
                               text("a[0] = 1;", "read_write a: u32[] @0;")),
    "V032": ("body[0].buffer", text("atomic add(x[0], 1);", "private x: u32[4];"),
                               text("atomic add(x[0], 1);", "workgroup x: u32[4];")),
    "V033": ("body[0].value", text("out[0] = 1:i32;"),
                              text("out[0] = 1;")),
    "V035": ("body[0].buffer", text("atomic add(x[0], 1);", "workgroup x: u16[4];"),
                               text("atomic add(x[0], 1);", "workgroup x: u32[4];")),
    "V036": ("body[0].value", text("atomic add(out[0], 1:i32);"),
                              text("atomic add(out[0], 1);")),
    "V037": ("body[0].expected", text("atomic compare_exchange(out[0], 1);"),
                                 text("atomic compare_exchange(out[0], 1, expected = 0);")),
    "V040": ("body[0].condition", text("if 1 { }"),
                                  text("if 1 != 0 { }")),
    "V041": ("body[0].start", text("for i in 0:u32..5:i32 { }"),
                              text("for i in 0..5 { }")),
    "V042": ("body[0].step", text("for i in 0..5 step 0 { }"),
                             text("for i in 0..5 step 1 { }")),
    "V043": ("body[0]", text("break;"),
                        text("for i in 0..5 { break; }")),
    "V044": ("body[1]", text("return; out[0] = 1;"),
                        text("return;")),
    "V045": ("body[0].code", text('trap(1:i32, "bad");'),
                             text('trap(1, "bad");')),
    "V046": ("body[0].tag", text('trap(1, "");'),
                            text('trap(1, "bad");')),
    "V047": ("body[1]", text("let x = 0; indirect_dispatch g[0];", "read g: u32[] @0;"),
                        text("indirect_dispatch g[0]; let x = 0;", "read g: u32[] @0;")),
    "V048": ("body[0].buffer", text("indirect_dispatch g[0];", "read g: f32[] @0;"),
                               text("indirect_dispatch g[0];", "read g: u32[] @0;")),
    "V050": ("body[0].then[0]", text("if local_id.x == 0 { barrier workgroup; }"),
                                text("if local_id.x == 0 { } barrier workgroup;")),
    "V051": ("body[0].then[0]", text("if local_id.x == 0 { subgroup reduce_add(1); }", launch=LANES),
                                text("if local_id.x == 0 { } subgroup reduce_add(1);", launch=LANES)),
    "V052": ("body[0].then[0]", text("if true { barrier grid; }"),
                                text("if true { } barrier grid;")),
    "V053": ("body[0].stop", text("for i in 0..n[0] { barrier grid; }", "uniform n: u32[1] @0;"),
                             text("for i in 0..len(n) { barrier grid; }", "uniform n: u32[1] @0;")),
    "V054": ("body[1]", text("if len(a) == 0 { return; } barrier grid;", "read a: u32[] @0;"),
                        text("if len(a) == 0 { } barrier grid;", "read a: u32[] @0;")),
    "V055": ("body[0].body[1].then[0]", text("for i in 0..5 { barrier grid; if i == 3 { break; } }"),
                                        text("for i in 0..5 { barrier grid; if i == 3 { } }")),
    "V056": ("body[0].value", text("let x = subgroup_lane();"),
                              text("let x = subgroup_lane();", launch=LANES)),
    "V057": ("body[0].value", text("subgroup ballot(1);", launch=LANES),
                              text("subgroup ballot(true);", launch=LANES)),
    "V058": ("body[0].lane", text("subgroup shuffle(1);", launch=LANES),
                             text("subgroup shuffle(1, 0);", launch=LANES)),
    "V059": ("body[0].lane", text("subgroup broadcast(1, local_id.x);", launch=LANES),
                             text("subgroup shuffle(1, local_id.x);", launch=LANES)),
    "V060": ("body[0].value", text("let x = raw_div(6, 3);"),
                              text("let x = 6 / 3;")),
    "V061": ("body[0].value", text("let x = a[unchecked 0];", "read a: u32[4] @0;"),
                              text("let x = a[0];", "read a: u32[4] @0;")),
    "V062": ("body[0].value", text("let x = call<u32> absent.op(1);"),
                              text("let x = call<u32> validate.same(1);")),
    "V063": ("body[0].value", text("let x = call<u32> validate.same(1, 2);"),
                              text("let x = call<u32> validate.same(1);")),
    "V064": ("body[0].value", text("let x = call<u32> validate.where();"),
                              text("let x = call<u32> validate.same(global_id.x);")),
    "V065": ("body[0].value", text("let x = call<u32> validate.power(3, len(a));", "read a: u32[] @0;"),
                              text("let x = call<u32> validate.power(len(a), 3);", "read a: u32[] @0;")),
    "V066": ("body[0].value", text("let x = call<u32> validate.power(3, 0);"),
                              text("let x = call<u32> validate.power(3, 1);")),
}
# fmt: on


def many_buffers(count):
    inputs = [Buffer(f"a{n}", u32, Access.READ, Memory.STORAGE, RUNTIME, n) for n in range(count)]
    return Program("p", tuple(inputs), (1, 1, 1), ())


def nested(depth):
    body = (Return(),)
    for _ in range(depth):
        body = (Region("r", body),)
    return Program("p", (), (1, 1, 1), body)


def labelled(size):
    return Program("p", (), (1, 1, 1), (Region("x" * size, ()),))


def added(op):
    out = Buffer("out", u32, Access.READ_WRITE, Memory.STORAGE, 16, 0)
    return Program("p", (out,), (1, 1, 1), (Atomic(op, out, literal(u32, 0), literal(u32, 1)),))


def stored_at(index):
    out = Buffer("out", u32, Access.WRITE, Memory.STORAGE, 16, 0)
    return Program("p", (out,), (1, 1, 1), (Store(out, index, literal(u32, 1)),))


BUILT = {
    "V013": ("buffers", many_buffers(MAX_BOUND_BUFFERS + 1), many_buffers(MAX_BOUND_BUFFERS)),
    "V014": ("body[0]", nested(65), nested(64)),
    "V034": ("body[0].index", stored_at(literal(f32, 1.0)), stored_at(literal(u32, 1))),
    "V016": ("body[0].op", added("add"), added(AtomicOp.ADD)),
    "V015": ("body[0].label", labelled(1025), labelled(1024)),
}


@pytest.fixture(autouse=True)
def dialect(monkeypatch):
    """`validate.same` is a composition, `validate.where` only claims to be one; `validate.power` wants no 0."""
    rows = (
        Composition("validate.same", {(u32,): u32}, lambda x: x),
        Composition("validate.where", {(): u32}, lambda: Id(IdKind.GLOBAL_ID, 0)),
        Composition("validate.power", {(u32, u32): u32}, lambda x, n: x, attrs=(AttrSchema("n", AttrType(u32)),)),
    )
    found = Dialect(id="validate", version="1", ops=rows, validator=lambda op, types, attrs: refuse_zero(**attrs))
    monkeypatch.setitem(registry._registry.dialects, "validate", found)
    register(rows)
    yield
    unregister(row.id for row in rows)


def refuse_zero(n=1):
    return "" if n else "the power 0 is 1"


def programs(code):
    where, broken, repaired = CASES.get(code) or BUILT[code]
    return where, *(parse(p) if isinstance(p, str) else p for p in (broken, repaired))


def findings(program):
    try:
        validate(program)
    except InvalidProgram as error:
        return [(finding.code, finding.where) for finding in error.findings]
    return []


@pytest.mark.parametrize("code", sorted(RULES))
def test_breaking_one_rule_gives_its_code_alone(code):
    where, broken, _ = programs(code)
    assert findings(broken) == [(code, where)]


@pytest.mark.parametrize("code", sorted(RULES))
def test_the_repaired_twin_is_valid(code):
    *_, repaired = programs(code)
    assert findings(repaired) == []


@pytest.mark.parametrize("code", sorted(RULES))
def test_every_finding_says_what_was_got_and_how_to_repair_it(code):
    _, broken, _ = programs(code)
    with pytest.raises(InvalidProgram) as caught:
        validate(broken)
    (finding,) = caught.value.findings
    assert re.search(r"\bgot\b|follows from|comes to", finding.message), finding.message
    assert str(caught.value).endswith(f". Fix: {finding.fix}")


@pytest.mark.parametrize(("op", "reduction"), [("add", "vy.sum"), ("min", "vy.min"), ("max", "vy.max")])
def test_an_atomic_on_floats_names_what_computes_the_same(op: str, reduction: str) -> None:
    with pytest.raises(InvalidProgram) as error:
        parse(text(f"atomic {op}(x[0], 1.0);", "workgroup x: f32[4];")).validate()
    (finding,) = error.value.findings
    assert finding.code == "V035"
    assert f"by {reduction} or, in several places, by vy.scatter(zeros, places, values, '{op}')" in finding.fix


def test_the_table_has_exactly_the_codes_that_are_emitted():
    sources = "".join(file.read_text("utf-8") for file in Path(PACKAGE.__file__).parent.rglob("*.py"))
    emitted = set(re.findall(r'"([VD]\d{3})",', sources)) | set(re.findall(r'code = "(V\d{3})"', sources))
    assert emitted == {*RULES, *REASONS}


def test_the_package_lists_every_rule_in_the_words_of_the_table():
    listed = " ".join((PACKAGE.__doc__ or "").split())
    for code, rule in (RULES | REASONS).items():
        assert f"{code} {rule.rule}" in listed


def test_a_name_of_a_let_is_a_name_of_a_local():
    assert validate(Program("p", (), (1, 1, 1), (Let("a.b", literal(u32, 1)),))).locals == {"a.b": u32}
