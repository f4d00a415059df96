"""What a legalizer may write, and what it may not."""

import pytest

from vyre_foundation.text import parse
from vyre_foundation.validate import Interval, InvalidProgram, validate


def codes(text, *, legalized):
    try:
        validate(parse(text), legalized=legalized)
    except InvalidProgram as error:
        return [finding.code for finding in error.findings]
    return []


def program(body, declarations="read a: u32[4] @0; read_write b: u32[4] @1;"):
    return f"program p workgroup(4, 1, 1) {{ {declarations} {body} }}"


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        (program("let x = raw_rem(a[0], 3);"), ["V060"]),
        (program("let x = a[unchecked 0];"), ["V061"]),
        (program("b[unchecked 0] = 1;"), ["V061"]),
        (program("atomic add(b[unchecked 0], 1);"), ["V061"]),
        (program("let x = u32(unchecked 1.5);"), ["V061"]),
        (program("", "read_write __traps: u64[1] @0;"), ["V004"]),
        (program("let __t0 = 1;"), ["V004"]),
        # The buffer that the length follows from is not among those that the kernel touches.
        (program("", "write out: u32[len(elsewhere)] @0;"), ["V005"]),
        # A uniform local that was spilled across a grid barrier is loaded again.
        (program("if b[0] == 1 { barrier workgroup; }"), ["V050"]),
        # Collectives through workgroup memory need room of their own.
        (program("", "workgroup mine: u32[8192]; workgroup __exchange: u64[4];"), ["V004", "V012"]),
    ],
)
def test_for_legalizers_only(text, refused):
    assert codes(text, legalized=False) == refused
    assert codes(text, legalized=True) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (program("b[0] = 1:i32;"), ["V033"]),
        (program("a[0] = 1;"), ["V031"]),
        (program("let x = 1; let x = 2;"), ["V020"]),
        (program("break;"), ["V043"]),
        (program("if true { barrier grid; }"), ["V052"]),
        (program("", "read a: u32[] @3;"), ["V002"]),
        (program("let `x y` = 1;"), ["V003"]),
    ],
)
def test_for_nobody(text, expected):
    assert codes(text, legalized=False) == expected
    assert codes(text, legalized=True) == expected


def test_raw_ops_have_bounds():
    text = program("let x = raw_rem(a[0], 10); let y = raw_shl(x & 3, 2); let z = raw_div(a[0], 16);")
    facts = validate(parse(text), legalized=True)
    values = [stmt.value for stmt in facts.program.body]
    assert [facts.ranges[v] for v in values] == [Interval(0, 9), Interval(0, 12), Interval(0, 2**28 - 1)]


def test_facts_of_a_valid_program_are_the_same():
    text = program("for i in local_id.x..4 step 4 { b[i] = a[i] * 2; }")
    user, legalized = (validate(parse(text), legalized=flag) for flag in (False, True))
    assert user.uniformity == legalized.uniformity
    assert user.ranges == legalized.ranges
    assert user.determinism == legalized.determinism
