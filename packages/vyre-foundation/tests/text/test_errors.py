"""Every error shows the place, says what was got and expected, and what to do."""

import re
import tracemalloc
from random import Random

import pytest

from vyre_foundation import TextError, dialects, parse, print_program
from vyre_foundation.dialects import Composition
from vyre_foundation.dtype import f32
from vyre_foundation.testing.structural import structural_program

HEAD = "program p workgroup(1) {\n  read a: u32[] @0;\n"

# The text behind `HEAD`, on line 3 from column 3 on; the column of the error; what it says.
# fmt: off
ERRORS = [
    ("let x = ;",               11, "got `;`, expected an expression"),
    ("let x = 1",               12, "got the end of the text, expected `;`"),
    ("let x = 1 2;",            13, "got `2`, expected `;`"),
    ("let x = b;",              11, "no local is called `b`"),
    ("let x = b[0];",           11, "no buffer is called `b`"),
    ("let x = len(b);",         15, "no buffer is called `b`"),
    ("let x = a[1.5];",         13, "`1.5` is not a value of u32"),
    ("let x = a[1.5 + 2];",     11, "the index of 'a' got f32, expected an integer type"),
    ("let x = a[0;",            14, "got `;`, expected an operator, `,` or `]`"),
    ("let x = a[0, 1];",        11, "got 2 operands, expected one"),
    ("let x = a[];",            11, "got 0 operands, expected one"),
    ("let x = (1, 2);",         11, "got 2 operands, expected one"),
    ("let x = 1 + 1.5:f64;",    None, None),
    ("let x = a[0] + 1.5;",     18, "`1.5` is not a value of u32"),
    ("let x = a[0] + 1.5:f32;", 16, "add got (u32, f32), expected operands of one type"),
    ("let x = sqrt(a[0]);",     11, "sqrt got u32, expected one of f16 bf16 f32 f64"),
    ("let x = sqrt(1.0, 2.0);", 11, "sqrt got 2 operands (f32, f32), expected 1"),
    ("let x = frob(1.0);",      11, "no op is called `frob`"),
    ("let x = a + 1;",          11, "`a` is a buffer, expected a value"),
    ("let x = global_id;",      11, "`global_id` alone is no value"),
    ("let x = local_id(0);",    11, "`local_id` alone is no value"),
    ("let x = subgroup_lane;",  11, "`subgroup_lane` alone is no value"),
    ("let x = select(true, 1);", 11, "select got 2 operands, expected 3"),
    ("let x = select(1, 1, 2);", 18, "`1` is not a value of bool"),
    ("let x = bitcast<f64>(1);", 11, "bitcast got u32 (32 bits), expected one of 64 bits, as f64"),
    ("let x = bitcast<word>(1);", 19, "got `word`, expected a type"),
    ("let x = 1 < 2 < 3;",      17, "got `<` behind a comparison"),
    ("let x = 1 == 2 != 3;",    18, "got `!=` behind a comparison"),
    ("let x = 256:u8;",         11, "256 is not a value of u8"),
    ("let x = -1;",             12, "-1 is not a value of u32"),
    ("let x = 1e999;",          11, "`1e999` is above every float"),
    ("let x = 0x10:f32;",       11, "`0x10` is not a value of f32"),
    ("let x = nan(1);",         11, "0x1 are not the bits of a NaN of f32"),
    ("let x = nan(0x100000000);", 11, "0x100000000 is not a pattern of 32 bits"),
    ("let x = 5:bool;",         11, "`5` is not a value of bool"),
    ("let x = 5:word;",         13, "got `word`, expected a type"),
    ("let x = %0;",             11, "%0 is not defined"),
    ("%0 = 1; %0 = 2;",         11, "%0 is defined twice"),
    ("let x = global_id.w;",    21, "got `w`, expected an axis"),
    ("let for = 1;",             7, "got the word `for`, expected the name of a local"),
    ("let 5 = 1;",               7, "got `5`, expected the name of a local"),
    ("let x = 1; }}",           15, "got `}` behind the program"),
    ("trap(1, tag);",           11, "got `tag`, expected a string"),
    ("trap(1.5, \"t\");",        8, "`1.5` is not a value of u32"),
    ("barrier;",                10, "got `;`, expected a scope"),
    ("shared s = 1;",            3, "no statement begins with `shared`"),
    ("print(a[0]);",             3, "no statement begins with `print`"),
    ("if true { } elif true { }", 15, "no statement begins with `elif`"),
    ("else { }",                 3, "no statement begins with `else`"),
    ("t += 1;",                  5, "got `+`, expected `=`"),
    ("barrier world;",          11, "got `world`, expected a scope"),
    ("atomic nand(a[0], 1);",   10, "got `nand`, expected an atomic"),
    ("subgroup nand(1);",       12, "got `nand`, expected a collective"),
    ("read b: u32[] @1;",       None, None),
    ("read a: f32[] @1;",        3, "two buffers are called a"),
    ("read b: u32[];",           3, "storage memory needs a binding number, got None"),
    ("write b: u32[] @1;",       3, "no input is bound to it, so its length cannot come from one"),
    ("read b: u32[4 per lane] @1;", 21, "got `lane`, expected workgroup or invocation"),
    ("constant t: u8[1] = hex \"0\";", 27, "the string is not bytes in hexadecimal digits"),
    ("constant t: u8[2] = hex \"00\";", 3, "got 1 bytes of data for 2 elements of 1 bytes"),
    ("let x = 1; read b: u32[] @1;", 14, "got a declaration behind a statement"),
    ("for i in 0 { }",          14, "got `{`, expected `..`"),
    ("for i in 0.0..1.5 step 1.5 { }", 26, "got `1.5`, expected a whole number"),
    ("if true { } else 5",      20, "got `5`, expected `{`"),
    ("undeclared lane b: u32[1] @1;", 14, "got `lane`, expected a kind of buffer"),
    ("undeclared 5;",           14, "got `5`, expected a word"),
    ("let x = $;",              11, "got '$', which starts no token"),
    ("let x = \0;",              11, "got '\\x00', which starts no token"),
    ("let x = `y;",             11, "a ` is not closed on its line"),
    ("region \"a { }",          10, "a \" is not closed on its line"),
    ("region \"\\q\" { }",      11, "no escape is \\q"),
    ("region \"\\u{110000}\" { }", 11, "no escape is \\u{110000}"),
]
# fmt: on


@pytest.mark.parametrize(("text", "column", "message"), ERRORS)
def test_errors(text: str, column: int | None, message: str | None) -> None:
    if message is None:  # control: the same construction without the mistake
        parse(f"{HEAD}  {text}\n}}")
        return
    complete = text if text.endswith("let x = 1") else text + "\n}"
    with pytest.raises(TextError) as caught:
        parse(f"{HEAD}  {complete}")
    error = caught.value
    assert (error.message, error.column, error.line) == (message, column, 3)
    place, snippet, caret, fix = str(error).split("\n")
    assert place == f"line 3, column {column}: {message}"
    assert snippet == f"  3 |   {text}".replace("\0", " ").rstrip()
    assert caret.index("^") - len("  3 | ") == error.column - 1
    assert fix.startswith("Fix: ")
    assert len(fix) > 10


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("let x = a[0] > 1 && a[1] > 2;", "write one `&`, which combines conditions too"),
        ("let x = a[0] > 1 || a[1] > 2;", "write one `|`, which combines conditions too"),
        ("let x = !(a[0] > 1) ? 1 : 2;", "write select(condition, x, y)"),
        ("let x = not a[0];", "write `!` before a condition, `~` before an integer"),
        ("var t = 0; t += a[0];", "write it in full, as in t = t + …"),
        ("a[0] <<= 2;", "write it in full, as in a[…] = a[…] << …"),
        ("while true { }", "count with `for`, which `break` leaves: every loop ends"),
        ("if true { } elif true { }", "write `else if`"),
        ("let x = curl(1.0);", "write `call<f32> t.curl(…)`, or another type between the angles"),
        ("let value = 1; let x = valeu;", "write `value`, if that is meant"),
        ("let x = 0b101;", "write decimal digits, or 0x and hexadecimal ones, and a type as in 1:u8"),
        ("let x = 1_000;", "write decimal digits, or 0x and hexadecimal ones, and a type as in 1:u8"),
        ("let x = 1.5f;", "write decimal digits, or 0x and hexadecimal ones, and a type as in 1:u8"),
        ("let x = 5.;", "write 5.0"),
        ("let x = 0x1.8;", "write a decimal number"),
        ("let x = .5;", "write a digit before the point, as in 0.5"),
        ("a[0] = 'a';", "write text between double quotes, and characters as numbers"),
        (
            "let x: u32 = 1;",
            "leave the type away, which is that of the value: a number states it behind itself, as in 1:u32",
        ),
        ("a[0] = (u32)a[1];", "write `u32(…)` around the value"),
        ("a[0] = a[1] as u32;", "write the type before the value, as in u32(x)"),
        ("a[0] = bitcast(a[1]);", "write the type between angles, as in `bitcast<f32>(…)`"),
        ("let x = call t.curl(1.0);", "write the type of the result between angles, as in `call<f32> math.exp(…)`"),
        ("a[0] = a[1] ** 2;", "write a value here; a power is `call<f32> math.pow(x, y)`"),
        ("a[0] = /* c */ 1;", "write a value here; comments extend from `//` or `#` to the end of the line"),
        (
            "a[0] = atomic add(a[1], 1);",
            "bind its result before, as in `let old = atomic add(b[i], x);`, and write `old` here",
        ),
        (
            "a[0] = 1 + subgroup any(true);",
            "bind its result before, as in `let old = subgroup reduce_add(x);`, and write `old` here",
        ),
        ("atomic_add(a[0], 1);", "write `atomic add`"),
        ("subgroup_any(true);", "write `subgroup any`"),
        ("atomic compare_exchange(a[0], 1, 2);", "write `expected =` before the value that is replaced"),
        ("for i in range(4) { }", "write `start..stop`"),
        ("for (i = 0; i < 4; i++) { }", "write `for i in start..stop { … }`, without parentheses"),
        ('trap("x", 1);', "write a number: only labels and tags are texts"),
        ("a[0] = 1;;", "delete it: statements are not empty"),
        ("{ a[0] = 1; }", 'write `region "label"` before it'),
        (
            "let x = frob;",
            "declare it before this line: in a program by `let` or `var`, in an op of a dialect under `params`",
        ),
    ],
)
def test_what_other_languages_write_is_corrected(text: str, fix: str) -> None:
    dialects.register([Composition("t.curl", {(f32,): f32}, lambda x: x)])
    try:
        with pytest.raises(TextError) as caught:
            parse(f"{HEAD}  {text}\n}}")
    finally:
        dialects.unregister(["t.curl"])
    assert caught.value.fix == fix


def test_a_word_of_the_grammar_may_follow_a_number_at_once() -> None:
    declared = "write b: u32[2] @{}bytes(0, 4); scratch s: u32[2{}per workgroup] @1;"
    texts = [f"program p workgroup(1) {{ {declared.format(n, m)} }}" for n, m in (("0", ""), ("0 ", " "))]
    assert parse(texts[0]) == parse(texts[1])
    assert parse(f"{HEAD}  for k in 0..8step 2 {{ }}\n}}") == parse(f"{HEAD}  for k in 0..8 step 2 {{ }}\n}}")


def test_an_error_as_it_is_shown() -> None:
    with pytest.raises(TextError) as caught:
        parse("program p workgroup(64) {\n  read a: u32[] @0;\n  write out: u32[4] @1;\n\n  out[0] = a[0] + 1.5;\n}\n")
    assert str(caught.value) == (
        "line 5, column 19: `1.5` is not a value of u32\n"
        "  5 |   out[0] = a[0] + 1.5;\n"
        "    |                   ^\n"
        "Fix: write a value of u32, or cast"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1, column 1: got the end of the text, expected `program`"),
        ("module p", "line 1, column 1: got `module`, expected `program`"),
        ("program", "line 1, column 8: got the end of the text, expected the name of a program"),
        ("program p {", "line 1, column 11: got `{`, expected `workgroup`"),
        ("program p workgroup() {}", "line 1, column 21: got `)`, expected a number"),
        ("program p workgroup(1, 2, 3, 4) {}", "line 1, column 11: a workgroup got 4 sizes, expected up to 3"),
        ("program p workgroup(1)", "line 1, column 23: got the end of the text, expected `{`"),
        (
            "program p workgroup(1) {",
            "line 1, column 25: got the end of the text, expected `}`",
        ),
        ("program p workgroup(1) {} program", "line 1, column 27: got `program` behind the program"),
        ("program p workgroup(007) {}", "line 1, column 21: got `007`, expected a whole number"),
    ],
)
def test_errors_around_a_program(text: str, message: str) -> None:
    with pytest.raises(TextError) as caught:
        parse(text)
    assert str(caught.value).split("\n")[0] == message


def test_long_lines_are_shown_in_part() -> None:
    with pytest.raises(TextError) as caught:
        parse(HEAD + "let x = 1" + " + 1" * 10_000 + " + ;" + " # and so on" * 1000 + "\n}")
    assert max(map(len, str(caught.value).splitlines())) < 130
    assert caught.value.column == 40_013


def test_statements_nested_too_deep() -> None:
    for opened in ("if true {", 'region "r" {', "if true {} else "):
        for depth in (65, 5_000):
            text = HEAD + f"\n{opened}" * depth + ("if true {}" if "else" in opened else "return;" + "}" * depth) + "}"
            with pytest.raises(TextError, match="inside of more than 64 others"):
                parse(text)


@pytest.mark.parametrize("seed", range(8))
def test_damaged_text_gives_a_program_or_a_text_error(seed: int) -> None:
    random = Random(seed)
    text = print_program(structural_program(random, 30))
    pieces = [
        *'{}()[];:,.%@`"\\#/=<>!~-+ \n0',
        "if",
        "else",
        "let",
        "nan",
        "1e5",
        "0x",
        "unchecked",
        "..",
        "u32",
        "select(",
    ]
    for _ in range(150):
        damaged = text
        for _ in range(random.randrange(1, 4)):
            at = random.randrange(len(damaged) + 1)
            damaged = damaged[:at] + random.choice(pieces) + damaged[at + random.randrange(4) :]
        try:
            program = parse(damaged)
        except TextError as error:
            shown = str(error)
            assert "\nFix: " in shown
        else:
            assert parse(print_program(program)) == program


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"let x = 0x{'f' * 5000};", f"`0x{'f' * 58}…` is not a value of u32"),
        (f"let x = {'9' * 5000};", f"`{'9' * 60}…` is not a value of u32"),
        (f"read b: u32[{'9' * 5000}] @1;", f"got `{'9' * 60}…`, expected at most 40 digits"),
        (f"let x = nan(0x{'f' * 5000}):f32;", f"got `0x{'f' * 58}…`, expected at most 40 digits"),
        (f"let x = {'y' * 5000};", f"no local is called `{'y' * 60}…`"),
    ],
)
def test_what_is_too_long(text: str, message: str) -> None:
    """Numbers of thousands of digits are converted neither to a value nor for the message."""
    with pytest.raises(TextError) as caught:
        parse(f"{HEAD}  {text}\n}}")
    assert caught.value.message == message
    assert len(str(caught.value)) < 600


def test_leading_zeros_within_the_limit_are_read() -> None:
    assert parse(f"{HEAD}  let x = 0x{'0' * 30}12345678;\n}}") == parse(f"{HEAD}  let x = 0x12345678;\n}}")


def test_a_string_takes_little_more_than_its_characters() -> None:
    digits = "ab" * 2**20
    text = f'program p workgroup(64) {{ constant c: u8[{2**20}] = hex "{digits}"; }}'
    tracemalloc.start()
    try:
        (constant,) = parse(text).buffers
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert constant.data == b"\xab" * 2**20
    assert peak < 8 * len(text)


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("let x = mn(a[0], 1);", "write `min`, if that is meant"),
        ("let x = frobnicate(1);", "write an op of the table, or call<type> before an op of a dialect"),
        ("let x = a;", "write an element: a[index]"),
        ("let x = num_workgroups;", "write num_workgroups.x"),
        ("let x = subgroup_size;", "write subgroup_size()"),
    ],
)
def test_the_remedy_for_a_name_that_is_no_local(text: str, fix: str) -> None:
    with pytest.raises(TextError) as caught:
        parse(f"{HEAD}  {text}\n}}")
    assert caught.value.fix == fix


@pytest.mark.parametrize("shape", ["workgroup({})", "workgroup(8, {})", "workgroup(8) subgroup({})"])
@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 10**30])
def test_numbers_beyond_64_bits_are_refused(shape: str, number: int) -> None:
    refused = re.escape(f"got `{abs(number)}`, expected a number that fits 64 bits") + "(.|\n)*Fix: write a smaller one"
    with pytest.raises(TextError, match=refused):
        parse(f"program p {shape.format(number)} {{ read b: u32[] @0; }}")


@pytest.mark.parametrize(
    ("number", "fix"),
    [("0u64", "0:u64"), ("0x1fu8", "0x1f:u8"), ("1.5f32", "1.5:f32")],
)
def test_a_type_behind_a_number_is_corrected(number: str, fix: str) -> None:
    head, tail = "program p workgroup(1, 1, 1) { let n = ", "; }"
    with pytest.raises(TextError, match=f"got the type .* behind a number[^$]*Fix: write {fix}$"):
        parse(head + number + tail)
    parse(head + fix + tail)
