"""Diagnostics: from errors and findings, with places, as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from vyre_driver.errors import BackendError, InvalidInput, KernelCompileFailed, Trapped
from vyre_driver.observe.diagnostics import (
    LONGEST,
    WIDEST,
    Diagnostic,
    DiagnosticCode,
    OpLocation,
    Severity,
    Source,
    SourceLine,
    diagnose,
    of_finding,
    of_migration,
    parts,
    render,
    summary,
)
from vyre_foundation import InvalidProgram, VyreError, parse, program, u32
from vyre_foundation.dialects import Migration
from vyre_foundation.dialects.mutation import MutationClass
from vyre_foundation.discovery.migration import Migrated
from vyre_foundation.errors import TypeMismatch
from vyre_foundation.ir.origin import Origin
from vyre_foundation.text import TextError
from vyre_foundation.validate.facts import Finding

TEXT = """\
program p workgroup(4, 1, 1) {
  write out: u32[4] @0;

  let x = 1;
  x = 2;
  out[0] = 1:i32;
}
"""


def caught(text: str, kind: type[VyreError]) -> VyreError:
    with pytest.raises(kind) as info:
        parse(text).validate()
    return info.value


def test_an_invalid_program_gives_one_diagnostic_for_each_finding() -> None:
    first, second = diagnose(caught(TEXT, InvalidProgram), Source("p.vyre", TEXT))
    assert (first.code, second.code) == ("V024", "V033")
    assert (
        render(second)
        == """\
error[V033]: got a value of i32, expected u32, as 'out' has
  --> p.vyre:6:12
   |
 6 |   out[0] = 1:i32;
   |            ^^^^^
   = Fix: cast the value to u32"""
    )


def test_without_the_text_the_path_is_the_place() -> None:
    first, _ = diagnose(caught(TEXT, InvalidProgram))
    assert render(first).splitlines()[1] == "  --> body[1].name"


def test_a_program_that_was_built_here_shows_the_line_of_python() -> None:
    with program("p", 4) as p:
        out = p.write("out", u32, 4)
        with p.if_(p.local_id(0) == 1):
            p.barrier()
        out[0] = 1
    with pytest.raises(InvalidProgram) as caught:
        p.build()
    (diagnostic,) = diagnose(caught.value)
    line = diagnostic.source
    assert line is not None
    assert (line.file, line.column, line.code.strip()) == (__file__, 13, "p.barrier()")
    assert f"--> {__file__}:{line.line}:13" in render(diagnostic)
    (far,) = diagnose(InvalidProgram.of("p", [replace(caught.value.findings[0], origin=Origin("<cell 3>", 7))]))
    assert far.source is None


def test_a_text_that_does_not_parse() -> None:
    text = "program p workgroup(1) {\n  write out: u33[4] @0;\n}"
    (found,) = diagnose(caught(text, TextError), Source("p.vyre", text))
    assert found.source == SourceLine(file="p.vyre", line=2, column=14, width=1, code="  write out: u33[4] @0;")
    assert "2 |   write out: u33[4] @0;\n   |              ^\n" in render(found)


def test_an_error_without_a_program() -> None:
    (found,) = diagnose(InvalidInput("a", needed="8 bytes", got="6 bytes"))
    assert render(found) == (
        "error[E1007]: got 6 bytes, expected 8 bytes\n"
        "  --> argument 'a'\n"
        "   = Fix: pass a buffer that matches the program's declaration"
    )


def test_notes_are_what_was_added_and_what_brought_it_about() -> None:
    error = Trapped("bad", 7, 3)
    error.add_note("in the second batch")
    error.__cause__ = TypeMismatch("got u8", fix="cast it")
    (found,) = diagnose(error)
    assert found.notes == ("in the second batch", "because of E101: got u8")
    assert "   = note: in the second batch\n" in render(found)


def test_a_note_of_several_lines_stays_under_its_label() -> None:
    shown = render(Diagnostic(severity=Severity.NOTE, code=DiagnosticCode("E1"), message="m", notes=("a\nb",)))
    assert shown == "note[E1]: m\n   = note: a\n     b"


def test_a_long_line_shows_the_part_around_the_mark() -> None:
    text = TEXT.replace("1:i32", " + ".join(["1:i32"] * 60))
    (_, found) = diagnose(caught(text, InvalidProgram), Source("p.vyre", text))
    frame = render(found).splitlines()
    assert len(frame[3]) <= WIDEST + len(" 6 | ")
    assert frame[4].strip(" |^") == ""


def test_tabs_do_not_move_the_mark() -> None:
    text = TEXT.replace("  x = 2", "\tx = 2")
    found = diagnose(caught(text, InvalidProgram), Source("p.vyre", text))[0]
    assert render(found).splitlines()[3:5] == [" 5 |  x = 2;", "   |  ^"]


def test_a_reason_is_a_note() -> None:
    reason = Finding("D001", "body[1]", "it may meet itself", "index it")
    found = of_finding(reason, Source("p.vyre", TEXT), Severity.NOTE)
    assert render(found).startswith("note[D001]: it may meet itself\n  --> p.vyre:5:3\n")


def test_json_leaves_out_what_is_empty() -> None:
    found = diagnose(caught(TEXT, InvalidProgram), Source("p.vyre", TEXT))[0]
    assert json.loads(json.dumps(found.to_json())) == {
        "severity": "error",
        "code": "V024",
        "message": found.message,
        "where": "body[1].name",
        "source": {"file": "p.vyre", "line": 5, "column": 3, "width": 1, "code": "  x = 2;"},
        "fix": found.fix,
    }
    bare = Diagnostic(severity=Severity.WARNING, code=DiagnosticCode("W1"), message="m")
    assert bare.to_json() == {"severity": "warning", "code": "W1", "message": "m"}


def test_the_parts_are_the_text() -> None:
    for found in diagnose(caught(TEXT, InvalidProgram), Source("p.vyre", TEXT)):
        assert "".join(text for _, text in parts(found)) == render(found)


def test_every_kind_of_error_gives_a_diagnostic_with_its_remedy() -> None:
    for error in (BackendError("m", fix="f"), KernelCompileFailed("mine", "line 1: no\nline 2")):
        (found,) = diagnose(error)
        assert (found.code, found.fix) == (error.code, error.fix)


def test_a_summary_counts_by_severity() -> None:
    some = [Diagnostic(severity=s, code=DiagnosticCode("E1"), message="m") for s in Severity]
    assert summary([*some, some[0]]) == "2 errors, 1 warning, 1 note"


def test_a_migration_gives_warnings_about_its_ops() -> None:
    renamed = Migration(op="geo.hyp", to="geo.hypot", since="1.2")
    rounded = Migration(op="geo.len", to="geo.hypot", since="2.0", mutation=MutationClass.SEMANTIC)
    old = Migration(op="geo.norm", since="2.1", note="use geo.hypot")
    program = parse(TEXT)
    found = of_migration(Migrated(program, steps=(renamed,), held_back=(rounded,), deprecated=(old,)))
    assert [d.code for d in found] == ["W001", "W002", "W003"]
    assert render(found[0]) == (
        "warning[W001]: geo.hyp is geo.hypot since 1.2\n  --> op geo.hyp\n   = Fix: save the program as it is now"
    )
    assert found[2].fix == "use geo.hypot"
    assert found[0].to_json()["location"] == {"op_id": "geo.hyp"}
    assert str(OpLocation(op_id="geo.hyp", operand=1)) == "op geo.hyp, operand 1"
    assert of_migration(Migrated(program)) == ()


def test_a_record_has_the_beginning_of_a_long_line() -> None:
    text = "program p workgroup(1) { " + " " * 5000 + "let x = 1; let x = 2; }"
    with pytest.raises(InvalidProgram) as error:
        parse(text).validate()
    (found,) = diagnose(error.value, Source("p.vyre", text))
    source = found.to_json()["source"]
    assert (source["line"], source["column"]) == (1, text.index("let x = 2") + 1)
    assert source["code"] == text[:LONGEST]
    assert "let x = 2;" in render(found)
