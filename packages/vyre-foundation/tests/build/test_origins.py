"""Findings name the line that wrote what they are about."""

from __future__ import annotations

import copy
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

from vyre_foundation import (
    BuildError,
    Finding,
    InvalidProgram,
    Program,
    TypeMismatch,
    decode,
    encode,
    parse,
    print_program,
    program,
)
from vyre_foundation.dtype import i32, u32
from vyre_foundation.ir.stmt import For, If, Store


def here(offset: int = 0) -> str:
    """The line of the caller, and some lines below."""
    return f"{Path(__file__)}:{sys._getframe(1).f_lineno + offset}"


def findings(built: Program) -> list[Finding]:
    with pytest.raises(InvalidProgram) as caught:
        built.validate()
    return list(caught.value.findings)


def test_a_finding_names_the_line_of_its_statement_buffer_or_program() -> None:
    lines = [here(1)]
    p = program("p", subgroup_size=3)
    lines += [here(1)]
    p.workgroup("much", u32, 10_000)
    with p.range(4) as k:
        lines += [here(1)]
        p.trap(k, "")
        lines += [here(1)]
        with p.if_(p.local_id(0) == k):
            lines += [here(1)]
            p.barrier()
    with p.region("x"):
        lines += [here(1)]
        p.break_()
    found = findings(p.build_unchecked())
    assert [f.code for f in found] == ["V011", "V012", "V046", "V050", "V043"]
    assert [str(f.origin) for f in found] == [lines[n] for n in (0, 1, 2, 4, 5)]
    assert f"body[0].body[0].tag ({lines[2]}): got an empty tag" in str(found[2])


def test_lines_stay_with_their_statements_when_temporaries_are_left_out() -> None:
    p = program("p")
    m = p.read_write("m", u32)
    m.atomic_add(0, 1)
    expected = [("Atomic", here(-1))]
    x = m[1]
    m[2] = x + m[3]
    expected += [("Store", here(-1))]
    with p.if_(m[4] > 1):
        expected += [("If", here(-1)), ("Store", here(1))]
        m[5] += 1
    with p.else_():
        expected += [("Store", here(1))]
        m[6] = 1
    with p.range(m[7]) as k:
        expected += [("For", here(-1)), ("Store", here(1))]
        m[k] = 2
    built = p.build()
    assert built.origins is not None
    kinds = [type(stmt).__name__ for stmt in built.statements]
    assert [(kind, str(built.origins.statement(n))) for n, kind in enumerate(kinds)] == expected
    assert {Store, If, For} <= set(map(type, built.statements))


def test_a_function_of_the_user_is_named_and_not_the_builder() -> None:
    p = program("p")
    out = p.write("out", u32, 1)

    def store() -> str:
        out[0] = 1
        return here(-1)

    line = store()
    origins = p.build().origins
    assert origins is not None
    assert str(origins.statement(0)) == line


def test_lines_are_no_part_of_a_program() -> None:
    def build() -> Program:
        p = program("p")
        p.write("out", u32, 1)[0] = 1
        return p.build()

    first = build()
    p = program("p")
    p.write("out", u32, 1)[0] = 1
    second = p.build()
    assert first == second
    assert hash(first) == hash(second)
    assert first.origins is not None
    assert second.origins is not None
    assert first.origins.statement(0) != second.origins.statement(0)
    assert first.fingerprint() == second.fingerprint()
    for other in (parse(print_program(first)), decode(encode(first))):
        assert other == first
        assert other.origins is None
    assert Finding("V001", "body", "a", "b", None) == Finding("V001", "body", "a", "b", first.origins.program)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_keeps_the_lines(protocol: int) -> None:
    p = program("p")
    x, out = p.read("x", u32), p.write("out", u32, 1)
    with p.if_(x[p.global_id(0)] > 3):
        out[0] = p.global_id(0)
    line = here(-1)
    built = p.build()
    for other in (pickle.loads(pickle.dumps(built, protocol)), copy.copy(built), copy.deepcopy(built)):  # noqa: S301
        assert (other, other.fingerprint()) == (built, built.fingerprint())
        assert built.origins is not None
        assert other.origins is not None
        assert str(other.origins.statement(1)) == line
        assert other.origins.buffer(1) == built.origins.buffer(1)
        assert other.origins.program == built.origins.program
    read = pickle.loads(pickle.dumps(parse(print_program(built)), protocol))  # noqa: S301
    assert read.origins is None


def test_reasons_against_determinism_name_lines() -> None:
    p = program("p")
    out = p.write("out", u32, 1)
    out[0] = p.global_id(0)
    line = here(-1)
    (reason,) = p.build().validate().determinism.reasons
    assert (reason.code, str(reason.origin)) == ("D001", line)


def test_an_error_of_types_is_raised_at_the_line_itself() -> None:
    p = program("p")
    out = p.write("out", i32, 1)
    with pytest.raises(TypeError) as caught:
        out[0] = p.global_id(0)
    frames = []
    trace = caught.value.__traceback__
    while trace is not None:
        frames.append(f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}")
        trace = trace.tb_next
    assert here(-6) in frames


def test_at_attributes_to_a_line_of_another_source() -> None:
    with program("p") as p:
        with p.at("demo.lang", 1):
            x = p.read("x", u32)
            out = p.write("out", u32, like=x)
        with p.at("demo.lang", 2), p.if_(x[0] > 1):
            with p.at("demo.lang", 3):
                out[0] = 1
            p.trap(1, "two")
        out[1] = 2
        line = here(-1)
    with p.at("demo.lang", 9):
        built = p.build()
    origins = built.origins
    assert origins is not None
    assert [str(origins.buffer(n)) for n in range(2)] == ["demo.lang:1"] * 2
    assert [str(origins.statement(n)) for n in range(4)] == ["demo.lang:2", "demo.lang:3", "demo.lang:2", line]
    assert str(origins.program) == "demo.lang:9"


def test_an_error_in_a_block_of_at_names_its_line() -> None:
    p = program("p")
    x = p.read("x", u32)
    with pytest.raises(TypeMismatch) as caught, p.at("demo.lang", 1), p.at("demo.lang", 2):
        x[0] + i32(1)
    assert str(caught.value).startswith("demo.lang:2: add got (u32, i32), expected operands of one type. Fix: ")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301
    assert caught.value.origin == ("demo.lang", 2)
    p.trap(1, "")
    with pytest.raises(InvalidProgram, match=r"^demo.lang:1: program 'p': not valid"), p.at("demo.lang", 1):
        p.build()
    with pytest.raises(ZeroDivisionError), p.at("demo.lang", 3):
        _ = 1 // 0
    line = here(1)
    p.barrier()
    origins = p.build_unchecked().origins
    assert origins is not None
    assert str(origins.statement(1)) == line


@pytest.mark.parametrize(("file", "line"), [(None, 1), ("demo.lang", "1"), ("demo.lang", None), ("demo.lang", True)])
def test_at_takes_a_file_and_the_number_of_a_line(file: Any, line: Any) -> None:
    with pytest.raises(BuildError, match=r"got .* of a line, expected .*\. Fix: pass a"), program("p").at(file, line):
        pass
