"""All findings at once, in program order, as text that says where, what was got and how to repair it."""

import pickle

import pytest

from vyre_foundation.text import parse
from vyre_foundation.validate import InvalidProgram, validate


def refused(text):
    with pytest.raises(InvalidProgram) as caught:
        validate(parse(text))
    return caught.value


def test_one_finding():
    error = refused("program p workgroup(1, 1, 1) { write out: f32[4] @0; out[0] = len(out); }")
    assert str(error) == (
        "program 'p': not valid, 1 finding\n"
        "V033 body[0].value: got a value of u32, expected f32, as 'out' has. Fix: cast the value to f32"
    )


def test_of_many_findings_the_message_lists_the_first_ones():
    error = refused(f"program p workgroup(1, 1, 1) {{ write out: f32[4] @0; {'out[0] = len(out); ' * 500} }}")
    lines = str(error).splitlines()
    assert (lines[0], len(lines)) == ("program 'p': not valid, 500 findings", 22)
    assert lines[20].startswith("V033 body[19].value: ")
    assert lines[21] == "… and 480 more, which `findings` of this error has"
    assert [finding.where for finding in error.findings] == [f"body[{n}].value" for n in range(500)]


def test_findings_come_in_program_order_one_a_line():
    error = refused("""
        program `` workgroup(2048, 1, 1) subgroup(4) {
          read a: u32[] @1;
          write out: f32[len(b)] @0;
          workgroup w: u8[40000];
          if local_id.x == 0 { barrier workgroup; }
          a[0] = 1.0:f32;
          for i in 0..5 { i = 3; }
        }
        """)
    assert str(error) == (
        "program '': not valid, 10 findings\n"
        "V003 name: got an empty name, expected a string. Fix: name the program\n"
        "V010 workgroup_size: got 2048 invocations on x, expected 1 … 1024. Fix: choose a size in that range\n"
        "V010 workgroup_size: got 2048 invocations, expected at most 1024. Fix: make the workgroup smaller\n"
        "V002 buffers[0]: 'a': got binding 1, expected 0. Fix: number the bound buffers 0, 1, 2, … in their order\n"
        "V002 buffers[1]: 'out': got binding 0, expected 1. Fix: number the bound buffers 0, 1, 2, … in their order\n"
        "V005 buffers[1]: 'out': the length follows from 'b', which is no buffer of the program, expected a buffer "
        "with a binding. Fix: name an input, or give a count\n"
        "V012 buffers[2]: 'w': got 40000 bytes, expected at most 32768 of workgroup memory. "
        "Fix: make it smaller, or use storage memory\n"
        "V031 body[1].buffer: got a store to 'a', which is read-only. Fix: declare it as write or read_write\n"
        "V033 body[1].value: got a value of f32, expected u32, as 'a' has. Fix: cast the value to u32\n"
        "V024 body[2].body[0].name: got an assignment to 'i', which is a loop counter, expected a local declared with "
        "var. Fix: declare it with var, or bind a new name"
    )


def test_uniformity_waits_for_sound_scopes_and_for_nothing_else():
    text = "program p workgroup(8, 1, 1) { read a: u32[] @0; a[0] = 1; if local_id.x == 0 { barrier workgroup; } }"
    assert [f.code for f in refused(text).findings] == ["V031", "V050"]


def test_findings_survive_pickling():
    error = refused("program p workgroup(1, 1, 1) { break; }")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 # our own bytes
    assert again.findings == error.findings
    assert str(again) == str(error)


def test_a_path_leads_through_branches_loops_and_regions():
    error = refused("""
        program p workgroup(1, 1, 1) {
          write out: u32[9] @0;
          let x = 0;
          if x == 0 { } else { for i in 0..3 { region "r" { out[0] = 1; out[i] = 1.5:f32; } } }
        }
        """)
    assert [f.where for f in error.findings] == ["body[1].orelse[0].body[0].body[1].value"]
