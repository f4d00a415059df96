"""Assignments of Python: which of them the program has, and what is said of the others."""

from __future__ import annotations

import operator
import re
import threading
from collections.abc import Callable
from linecache import getline
from pathlib import Path
from typing import Any

import pytest

from vyre_foundation import BuildError, InvalidProgram, Mutable, Program, ProgramBuilder, Value, constant, program
from vyre_foundation.dtype import f32, u32

THIS = re.escape(str(Path(__file__)))


@pytest.fixture
def p() -> ProgramBuilder:
    return program("p")


def body(built: Program) -> list[str]:
    text = str(built)
    return [line.strip() for line in text[text.index("\n\n") : text.rindex("}")].splitlines() if line.strip()]


# ── variables ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_augmented_assignment_changes_a_variable_where_it_stands(p: ProgramBuilder) -> None:
    out = p.write("out", u32, 4)
    c = same = p.var(0, u32)
    c += 5
    with p.if_(p.global_id(0) > 1):
        c += 1
    with p.range(3) as k:
        c += k
    out[p.global_id(0)] = c
    assert c is same
    assert body(p.build()) == [
        *("var v0 = 0;", "v0 = v0 + 5;", "if global_id.x > 1 {", "v0 = v0 + 1;", "}"),
        *("for i0 in 0..3 {", "v0 = v0 + i0;", "}", "out[global_id.x] = v0;"),
    ]


SIGNS = [
    *((operator.iadd, "+"), (operator.isub, "-"), (operator.imul, "*"), (operator.iand, "&"), (operator.ior, "|")),
    *((operator.ixor, "^"), (operator.ilshift, "<<"), (operator.irshift, ">>"), (operator.ifloordiv, "/")),
    *((operator.imod, "%"), (operator.itruediv, "/")),
]


@pytest.mark.parametrize(("assign", "sign"), SIGNS, ids=lambda part: getattr(part, "__name__", ""))
def test_every_augmented_assignment_is_one_of_variables(
    p: ProgramBuilder, assign: Callable[[Any, Any], Any], sign: str
) -> None:
    dtype, number = (f32, "3.0") if assign is operator.itruediv else (u32, "3")
    c = p.var(7, dtype)
    assert assign(c, 3) is c
    p.write("out", dtype, 1)[0] = c
    assert f"v0 = v0 {sign} {number};" in body(p.build())


@pytest.mark.parametrize("assign", [assign for assign, _ in SIGNS], ids=lambda assign: assign.__name__)
def test_every_augmented_assignment_to_a_value_from_outside_of_a_loop_is_refused(
    p: ProgramBuilder, assign: Callable[[Any, Any], Any]
) -> None:
    value = constant(f32 if assign is operator.itruediv else u32, 7)
    name = f"__{assign.__name__}__"
    with p.range(3), pytest.raises(BuildError, match=r"nothing adds up\. Fix: make it with p\.var"):
        getattr(value, name)(3)


# ── values ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_value_is_renamed_where_nothing_else_could_be_meant(p: ProgramBuilder) -> None:
    x, out = p.read("x", u32), p.write("out", u32, 4)
    total = x[0]
    total += 1
    for n in range(3):
        total ^= x[n]
    with p.range(4) as k:
        inner = constant(u32, 0)
        for n in range(2):
            inner += x[k * 2 + n]
        with p.region("part"):
            inner += 1
        with p.if_(inner > 2):
            offset = k * 2
            offset += 1
            out[offset] = inner
    out[0] = total
    lines = body(p.build())
    assert {"%0 = i0 * 2 + 1;", "%1 = 0 + x[i0 * 2 + 0] + x[%0] + 1;", "out[%0] = %1;"} <= set(lines)


def test_a_function_has_names_of_its_own(p: ProgramBuilder) -> None:
    x, out = p.read("x", u32), p.write("out", u32, 4)

    def mixed(h: Value) -> Value:
        h ^= h >> 16
        h *= 3
        return h

    i = p.global_id(0)
    with p.range(4) as k:
        out[k] = mixed(i)
    with p.if_(x[i] > 1):
        kept = mixed(x[i])
        out[0] = 1
    out[i] = kept
    p.build()


def test_a_value_that_adds_up_in_a_loop_is_refused_where_it_stands(p: ProgramBuilder) -> None:
    x = p.read("x", u32)
    total = x[0]
    with p.range(4) as k:
        with p.if_(k > 1), pytest.raises(BuildError, match="a loop to a value that was made outside of it"):
            total += x[k]
        p.break_()


def test_a_value_that_is_renamed_in_a_branch_is_of_use_in_it(p: ProgramBuilder) -> None:
    out = p.write("out", u32, 4)
    offset = p.global_id(0)
    with p.if_(offset > 3):
        offset += 1
        offset *= 2
        out[offset] = 1
    assert "out[(global_id.x + 1) * 2] = 1;" in body(p.build())


def behind(p: ProgramBuilder) -> dict[str, Callable[[Any], object]]:
    out = p.write("out", u32, 4)
    return {
        "stored": lambda c: operator.setitem(out, 0, c),
        "index": lambda c: operator.setitem(out, c, 1),
        "left": lambda c: c + 1,
        "right": lambda c: 1 + c,
        "beside a value": lambda c: p.global_id(0) + c,
        "cast": lambda c: c.cast(f32),
        "bound": lambda c: p.let(c),
        "in another branch": lambda c: p.if_(c > 1),
    }


@pytest.mark.parametrize("use", ["stored", "index", "left", "right", "beside a value", "cast", "bound"])
def test_a_value_that_is_renamed_in_a_branch_is_refused_behind_it(p: ProgramBuilder, use: str) -> None:
    count = p.let(5, u32)
    with p.if_(p.global_id(0) > 1):
        count += 1
        count += 1
    said = rf"that an augmented assignment at {THIS}:\d+ gave its name in a branch, behind that branch: .*Fix: make the"
    with pytest.raises(BuildError, match=said):
        behind(p)[use](count)
    assert repr(count) == "<u32 t0 + 1 + 1>"


def test_the_other_branch_is_behind_the_first_one(p: ProgramBuilder) -> None:
    out, count = p.write("out", u32, 4), p.global_id(0)
    with p.if_(count > 1):
        count += 1
    with p.else_(), pytest.raises(BuildError, match="behind that branch"):
        out[0] = count


def test_blocks_that_end_with_an_error_are_closed(p: ProgramBuilder) -> None:
    value = p.global_id(0)
    with pytest.raises(ZeroDivisionError), p.range(3):
        raise ZeroDivisionError
    value += 1
    with pytest.raises(ZeroDivisionError), p.if_(value > 1):
        raise ZeroDivisionError
    value += 1
    p.write("out", u32, 1)[0] = value
    assert body(p.build()) == ["out[0] = global_id.x + 1 + 1;"]


def test_threads_do_not_see_the_blocks_of_each_other() -> None:
    failures: list[BaseException] = []

    def build() -> None:
        try:
            for _ in range(200):
                p = program("p")
                out = p.write("out", u32, 4)
                value = p.global_id(0)
                value += 1
                with p.range(4) as k:
                    inner = k + 1
                    inner += 1
                    out[k] = inner + value
                value += 1
                out[0] = value
                p.build()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# ── lines that have no effect ────────────────────────────────────────────────────────────────────────────────────────


def test_a_variable_that_is_never_set_is_named(p: ProgramBuilder) -> None:
    x, out = p.read("x", u32), p.write("out", u32, 4)
    v = p.var(0, u32)
    with p.if_(x[0] > 1):
        v = x[0]  # type: ignore[assignment]
    out[0] = v
    said = rf"^{THIS}:\d+: the variable of p\.var\(…\), <mutable u32 v0>, is never set\. Fix: change it with \.set"
    with pytest.raises(BuildError, match=said):
        p.build()
    p.build_unchecked().validate()


@pytest.mark.parametrize("block", ["branch", "loop"])
def test_a_variable_that_a_plain_assignment_forgets_is_named(p: ProgramBuilder, block: str) -> None:
    """The value that the name has got was read in the block, and is of no use behind it."""
    x, out = p.read("x", u32), p.write("out", u32, 4)
    c = p.var(5, u32)
    c += x[0]
    with p.if_(x[1] > 1) if block == "branch" else p.range(4):
        c = c + 1  # type: ignore[assignment]
    out[0] = c
    with pytest.raises(InvalidProgram) as caught:
        p.build()
    (finding,) = caught.value.findings
    assert finding.code == "V022"
    told = re.fullmatch(
        r"got the value of 'v0' at body\[2\]\.\w+\[0\] \((.*):(\d+)\), after the end of that body", finding.message
    )
    assert told is not None
    assert told[1] == __file__
    assert "c = c + 1" in getline(__file__, int(told[2]))
    assert finding.origin is not None
    assert "out[0] = c" in getline(*finding.origin)
    assert finding.fix.startswith("set 'v0' there, and read it here; in Python `.set` and `+=` do that")


def test_where_a_variable_is_set_does_not_matter(p: ProgramBuilder) -> None:
    """One assignment anywhere is enough: in one arm, in a loop without iterations, behind every use."""
    x, out = p.read("x", u32), p.write("out", u32, 4)
    arm, loop, late, passed = (p.var(n, u32) for n in range(4))

    def assign(variable: Mutable) -> None:
        variable.set(7)

    with p.if_(x[0] > 1):
        pass
    with p.else_():
        arm.set(x[1])
    with p.range(0):
        loop += 1
    out[0] = arm + loop + late + passed
    late.set(1)
    with p.if_(x[0] > 5):
        assign(passed)
    p.build()


def test_a_variable_that_no_line_has_set_is_refused_also_where_it_is_read(p: ProgramBuilder) -> None:
    """A loop of Python without rounds leaves a program that is right, and that `let` can say."""
    out = p.write("out", u32, 4)
    total = p.var(0, u32)
    for k in range(0):
        total += k
    out[0] = total
    with pytest.raises(BuildError, match=r"is never set\. Fix: .* or make it with p\.let"):
        p.build()


def test_a_block_that_is_never_opened_is_named(p: ProgramBuilder) -> None:
    out = p.write("out", u32, 4)
    p.if_(p.global_id(0) > 1)
    out[0] = 1
    p.range(4)
    p.region("x")
    p.at("demo.lang", 3)
    p.while_(lambda: p.global_id(0) > 1, limit=3)
    with pytest.raises(BuildError) as caught:
        p.build()
    lines = str(caught.value).splitlines()
    assert [re.sub(r"^.*:\d+: ", "", line) for line in lines] == [
        "the block of p.if_(…) is never opened. Fix: write `with p.if_(…)`",
        "the block of p.range(…) is never opened. Fix: write `with p.range(…)`",
        "the block of p.region(…) is never opened. Fix: write `with p.region(…)`",
        "the block of p.at(…) is never opened. Fix: write `with p.at(…)`",
        "the block of p.while_(…) is never opened. Fix: write `with p.while_(…)`",
    ]
    assert {line.partition(":")[0] for line in lines} == {__file__}


def test_a_block_is_for_one_with_statement(p: ProgramBuilder) -> None:
    block = p.if_(p.global_id(0) > 1)
    with block:
        pass
    with pytest.raises(BuildError, match=r"the block of p\.if_\(…\) is opened twice"), block:
        pass
    stated = p.at("demo.lang", 3)
    with stated:
        pass
    with pytest.raises(BuildError, match=r"the block of p\.at\(…\) is opened twice"), stated:
        pass


def test_a_loop_of_python_over_a_block_is_refused(p: ProgramBuilder) -> None:
    with pytest.raises(BuildError, match=r"Fix: write `with p\.range\(…\) as k`"):
        for _ in p.range(4):  # type: ignore[attr-defined]
            pass
    with pytest.raises(BuildError, match=r"got p\.if_\(…\) as a condition of Python\. Fix: write `with p\.if_"):
        assert p.if_(True)
    with pytest.raises(BuildError, match=r"p\.range\(…\) is never opened[\s\S]*p\.if_\(…\) is never opened"):
        p.build()


def test_a_block_that_cannot_be_opened_is_named_once(p: ProgramBuilder) -> None:
    with pytest.raises(BuildError, match="else_ does not follow"), p.else_():
        pass
    p.build()
