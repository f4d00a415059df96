"""What text means: precedence, types of numbers, and the other spellings that the printer does not use."""

import pytest

from vyre_foundation import Program, TextError, encode, parse
from vyre_foundation.dtype import f32, f64, i8, u8, u32
from vyre_foundation.ir import Apply, Cast, Expr, Let, Literal, Local, literal
from vyre_foundation.ops import OPS

A, B, C, D = (Local(name, u32) for name in "abcd")
F = Local("f", f32)


def expr(text: str) -> Expr:
    declarations = (
        "let a = 1; let b = 2; let c = 3; let d = 4; let f = 1.0; let t = true; let g = 1.0:f64; let n = 1:i8;"
    )
    program = parse(f"program p workgroup(1) {{ {declarations} let result = {text}; }}")
    result = program.body[-1]
    assert isinstance(result, Let)
    return result.value


def op(id: str, *args: Expr) -> Expr:
    return Apply(OPS[id], *args)


# fmt: off
PRECEDENCE = [
    ("a + b * c",         op("add", A, op("mul", B, C))),
    ("a * b + c",         op("add", op("mul", A, B), C)),
    ("a - b - c",         op("sub", op("sub", A, B), C)),
    ("a - (b - c)",       op("sub", A, op("sub", B, C))),
    ("a / b * c % d",     op("rem", op("mul", op("div", A, B), C), D)),
    ("a << b + c",        op("shl", A, op("add", B, C))),
    ("a & b << c",        op("and", A, op("shl", B, C))),
    ("a ^ b & c",         op("xor", A, op("and", B, C))),
    ("a | b ^ c",         op("or", A, op("xor", B, C))),
    ("a | b & c == d",    op("eq", op("or", A, op("and", B, C)), D)),
    ("(a == b) == (c != d)", op("eq", op("eq", A, B), op("ne", C, D))),
    ("-a * b",            op("mul", op("neg", A), B)),
    ("- -a",              op("neg", op("neg", A))),
    ("~-~a",              op("not", op("neg", op("not", A)))),
    ("!(a < b)",          op("not", op("lt", A, B))),
    ("a - -b",            op("sub", A, op("neg", B))),
    ("min(a, b + c) >> d", op("shr", op("min", A, op("add", B, C)), D)),
    ("add(a, xor(b, c))", op("add", A, op("xor", B, C))),
    ("((((a))))",         A),
]
# fmt: on


@pytest.mark.parametrize(("text", "expected"), PRECEDENCE)
def test_precedence(text: str, expected: Expr) -> None:
    assert expr(text) is expected


# fmt: off
NUMBERS = [
    ("5",                  literal(u32, 5)),
    ("0xff",               literal(u32, 255)),
    ("0XFF:u8",            literal(u8, 255)),
    ("5.0",                literal(f32, 5.0)),
    ("5e3",                literal(f32, 5000.0)),
    ("-5:i8",              literal(i8, -5)),
    ("-inf",               literal(f32, float("-inf"))),
    ("nan:f64",            literal(f64, float("nan"))),
    ("-nan",               literal(f32, float("nan"))),
    ("nan(0x7f800001)",    Literal(f32, 0x7F800001)),
    ("true",               Literal(expr("t").dtype, 1)),
    ("a + 5",              op("add", A, literal(u32, 5))),
    ("5 + a",              op("add", literal(u32, 5), A)),
    ("f + 5",              op("add", F, literal(f32, 5.0))),
    ("f * -5",             op("mul", F, literal(f32, -5.0))),
    ("g / 3",              op("div", Local("g", f64), literal(f64, 3.0))),
    ("n - -128",           op("sub", Local("n", i8), literal(i8, -128))),
    ("1 + 2:i8",           op("add", literal(i8, 1), literal(i8, 2))),
    ("(1 + 2) * a",        op("mul", op("add", literal(u32, 1), literal(u32, 2)), A)),
    ("(1) * f",            op("mul", literal(f32, 1.0), F)),
    ("f32(5)",             Cast(f32, literal(u32, 5))),
    ("f32(5.5)",           Cast(f32, literal(f32, 5.5))),
    ("neg(5)",             op("neg", literal(u32, 5))),
]
# fmt: on


@pytest.mark.parametrize(("text", "expected"), NUMBERS)
def test_numbers_take_their_type_from_where_they_stand(text: str, expected: Expr) -> None:
    assert expr(text) is expected


def test_the_first_typed_operand_decides() -> None:
    assert expr("select(t, 1, 2:f64)").dtype is f64
    assert expr("select(t, 1.5, 2)").dtype is f32
    with pytest.raises(TextError, match=r"`1\.5` is not a value of u32"):
        expr("select(t, 1.5, a)")


SPELLINGS = [
    "program p workgroup(8,1,1){read a:u32[]@0;write o:u32[len(a)]@1;o[global_id.x]=a[global_id.x]+1;}",
    """
    # a comment
    program p // another { } "
      workgroup(8)
    {
      read a: u32[] @ 0;  write `o`: u32[len(`a`)] @1;
      %7 = a[global_id . x] + 1:u32;   # defined, used once
      `o`[global_id.x] = (%7);
    }
    """,
    (
        "program `p` workgroup(0x8, 1) {\r\n\tread a: u32[] @0;\r\n\twrite o: u32[ceil(len(a) * 1 / 1) + 0] @1;\r\n"
        "\to[global_id.x] = add(a[(global_id.x)], 1);\r\n}\r\n"
    ),
]


def test_spellings_of_one_program() -> None:
    assert len({encode(parse(text)) for text in SPELLINGS}) == 1


def test_words_of_the_language_are_names_where_nothing_else_can_stand() -> None:
    body = "let min = 1; let len = min(min, 2); let select = len + global_id.x; let x = select;"
    text = f"program add workgroup(1) {{ {body} }}"
    program = parse(text)
    assert [stmt.name for stmt in program.body if isinstance(stmt, Let)] == ["min", "len", "select", "x"]
    assert str(parse(str(program))) == str(program)


def test_strings_of_hexadecimal_digits() -> None:
    program = parse('program p workgroup(1) { constant t: u8[5] = hex "00 FF" "" "0a0b" "0c"; }')
    assert program.buffers[0].data == b"\x00\xff\x0a\x0b\x0c"


def test_definitions_are_expressions_and_not_locals() -> None:
    program = parse("program p workgroup(1) { var x = 1; %0 = x + 1; x = %0; x = %0; if x == %0 { let y = %0; } }")
    assert program.body[1] == program.body[2]
    assert "%0" not in str(program)


def test_deep_brackets() -> None:
    depth = 15_000
    assert expr("(" * depth + "a" + ")" * depth) is A
    nested = expr("~(" * depth + "a" + ")" * depth)
    for _ in range(depth):
        nested = nested.args[0]
    assert nested is A
    with pytest.raises(TextError, match="got `;`, expected an operator, `,` or `\\)`"):
        expr("(" * depth + "a")


def test_an_empty_program() -> None:
    assert parse("program p workgroup(1, 2, 3) subgroup(4) {}") == Program("p", (), (1, 2, 3), (), 4)
