"""Where a local is visible: from its declaration to the end of the body, regions being transparent."""

import pytest

from vyre_foundation.dtype import bool_, f32, i32, u32, u64
from vyre_foundation.ir.expr import Apply, Local, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Let
from vyre_foundation.ops import OPS
from vyre_foundation.text import parse
from vyre_foundation.validate import InvalidProgram, validate


def program(body):
    return parse(f"program p workgroup(4, 1, 1) subgroup(4) {{ read_write out: u32[16] @0; {body} }}")


def codes(body):
    try:
        validate(program(body))
    except InvalidProgram as error:
        return [f"{f.code} {f.where}" for f in error.findings]
    return []


@pytest.mark.parametrize(
    "body",
    [
        "let x = 1; if true { if true { out[x] = x; } }",
        'region "r" { let x = 1; } out[0] = x;',
        'region "r" { region "s" { var x = 1; } x = 2; } out[0] = x;',
        "for i in 0..4 { let x = i; out[i] = x; }",
        "let old = atomic add(out[0], 1); out[1] = old;",
        "let sum = subgroup reduce_add(1); out[1] = sum;",
        "var x = 1; for i in 0..4 { x = x + i; }",
        "let x = 1; let y = x; let z = x + y;",
    ],
)
def test_visible(body):
    assert codes(body) == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("out[0] = x:u32; let x = 1;", ["V022 body[0].value"]),
        ("let x = x:u32 + 1;", ["V022 body[0].value"]),
        ("for i in i:u32..4 { }", ["V022 body[0].start"]),
        ("for i in 0..4 { } out[0] = i;", ["V022 body[1].value"]),
        ("if true { let x = 1; } else { out[0] = x; }", ["V022 body[0].orelse[0].value"]),
        ("if true { let x = 1; } if true { let y = x; }", ["V022 body[1].then[0].value"]),
        ("if true { var x = 1; } x = 2;", ["V022 body[1].name"]),
        ("x = 2;", ["V021 body[0].name"]),
        ("x = 2; out[0] = x:u32; out[1] = x:u32 + 1;", ["V021 body[0].name"]),
        ("out[0] = x:u32; x = 2; out[1] = x:u32;", ["V021 body[0].value"]),
        ("let x = 1; for x in 0..4 { }", ["V020 body[1]"]),
        ("let x = 1; let x = atomic add(out[0], 1);", ["V020 body[1]"]),
        ("let old = atomic add(out[0], 1); old = 2;", ["V024 body[1].name"]),
    ],
)
def test_not_visible_or_not_changeable(body, expected):
    assert codes(body) == expected


def test_an_expression_stands_where_all_of_its_locals_are_visible():
    """Of a shared expression it is remembered where it may stand; the finding names the local that does not fit."""
    with pytest.raises(InvalidProgram) as caught:
        validate(program("let a = 1; if true { let b = 2; out[0] = a + b; } out[1] = a + b;"))
    (finding,) = caught.value.findings
    assert finding.where == "body[2].value"
    assert finding.message.startswith("got 'b' after the end of the body with its declaration at body[1].then[0]")


def test_undeclared_locals_are_reported_once_each():
    x, y = Local("x", u32), Local("y", u32)
    total = Apply(OPS["add"], x, Apply(OPS["mul"], y, x))
    with pytest.raises(InvalidProgram) as caught:
        validate(Program("p", (), (1, 1, 1), (Let("a", total), Let("b", total), Let("c", x))))
    assert [(f.where, f.message) for f in caught.value.findings] == [
        ("body[0].value", "got 'x', expected a declared local"),
        ("body[0].value", "got 'y', expected a declared local"),
    ]


def test_locals_and_their_types():
    facts = validate(
        program("""
        let a = 1.5; var b = true; for c in 0:i32..4 { let d = c; }
        let e = atomic add(out[0], 1); let f = subgroup ballot(b); let g = subgroup any(b);
        let h = subgroup shuffle(a, 0);
        """)
    )
    assert facts.locals == {"a": f32, "b": bool_, "c": i32, "d": i32, "e": u32, "f": u64, "g": bool_, "h": f32}
    assert facts.mutable == {"b"}


def test_literals_need_no_scope():
    assert validate(Program("p", (), (1, 1, 1), (Let("a", literal(u32, 1)),))).locals == {"a": u32}
