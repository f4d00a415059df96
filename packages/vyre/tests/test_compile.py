"""`vyre compile`, and `vyre run` of what it made."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from vyre.cli import main

XOR = """\
program xor workgroup(64, 1, 1) {
  read a: u32[] @0;
  read b: u32[] @1;
  write out: u32[len(a)] @2;

  out[global_id.x] = a[global_id.x] ^ b[global_id.x];
}
"""


OPENCL = pytest.mark.backend("opencl")
BINARIES = pytest.mark.parametrize("target", ["cpu:host", pytest.param("opencl-binary", marks=OPENCL)])
SOURCES = [("cpu-ir", ".ll", "define"), pytest.param("opencl-c", ".cl", "__kernel", marks=OPENCL)]


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture
def xor(tmp_path: Path) -> Path:
    path = tmp_path / "xor.vyre"
    path.write_text(XOR)
    np.save(tmp_path / "a.npy", np.arange(100, dtype=np.uint32))
    np.save(tmp_path / "b.npy", np.full(100, 3, np.uint32))
    return path


def test_targets_are_listed() -> None:
    listed = json.loads(invoke("compile", "--json").stdout)["targets"]
    assert {"opencl-c", "opencl-binary"} <= {row["target"] for row in listed}
    assert "opencl-binary" in invoke("compile").stdout


@pytest.mark.parametrize(("target", "suffix", "word"), SOURCES)
def test_source_is_written_beside_the_program(target: str, suffix: str, word: str, xor: Path) -> None:
    document = json.loads(invoke("compile", xor, "--target", target, "--json").stdout)
    assert document["file"] == str(xor.with_suffix(suffix))
    assert word in xor.with_suffix(suffix).read_text()


@BINARIES
def test_what_is_compiled_runs(target: str, xor: Path) -> None:
    made, out, file = xor.with_name("made"), xor.with_name("out.npy"), xor.with_name("evidence.json")
    result = invoke("compile", xor, "--target", target, "-o", made, "--workgroup", 32, 1, 1)
    assert (result.exit_code, made.exists()) == (0, True)
    inputs = ("--input", f"a={xor.with_name('a.npy')}", "--input", f"b={xor.with_name('b.npy')}")
    result = invoke("run", made, *inputs, "--output", f"out={out}", "--evidence", file)
    assert result.exit_code == 0, result.output
    assert (np.load(out) == np.arange(100, dtype=np.uint32) ^ 3).all()
    assert "compiles" not in json.loads(file.read_text())["counters"]
    assert invoke("run", made, *inputs, "--backend", "reference").exit_code == 4


@BINARIES
def test_a_file_that_was_changed_is_refused(target: str, xor: Path) -> None:
    made = xor.with_name("made.vyrec")
    assert invoke("compile", xor, "--target", target).exit_code == 0
    data = bytearray(xor.with_suffix(".vyrec").read_bytes())
    data[-1] ^= 1
    made.write_bytes(data)
    result = invoke("run", made)
    assert result.exit_code == 2
    assert "its contents are not those of its digest" in result.stderr


def test_an_unknown_target(xor: Path) -> None:
    result = invoke("compile", xor, "--target", "abacus-brass")
    assert result.exit_code == 2
    assert "opencl-c" in result.stderr
    assert invoke("compile", "--target", "opencl-c").exit_code == 2


def test_a_plan_shows_what_a_dispatch_will_do(xor: Path) -> None:
    lengths = ("--length", "a=1000", "--length", "b=1000")
    document = json.loads(invoke("show", xor, "--stage", "plan", *lengths, "--target", "cpu", "--json").stdout)
    assert (document["grid"], document["elements"], document["invocations"]) == ([16, 1, 1], 1000, 1024)
    assert [(row["role"], row["bytes"]) for row in document["bindings"]] == [
        ("input", 4000),
        ("input", 4000),
        ("output", 4000),
    ]
    assert document["outputs"] == [{"name": "out", "start": 0, "stop": 4000}]
    assert "workgroups" in document["queue_reason"]
    shown = invoke("show", xor, "--stage", "plan", *lengths).stdout
    assert "1024 for 1000 elements (24 idle)" in shown
    assert invoke("show", xor, "--stage", "plan").exit_code == 2
    assert invoke("show", xor, "--stage", "plan", "--length", "c=1").exit_code == 2
    assert invoke("show", xor, "--stage", "plan", "--length", "a").exit_code == 2


def test_the_name_of_the_only_output_can_be_left_out(xor: Path) -> None:
    out = xor.with_name("out.npy")
    inputs = ("--input", f"a={xor.with_name('a.npy')}", "--input", f"b={xor.with_name('b.npy')}")
    assert invoke("run", xor, *inputs, "--output", out, "--backend", "reference").exit_code == 0
    assert (np.load(out) == np.arange(100, dtype=np.uint32) ^ 3).all()


def test_validate_for_a_target(xor: Path) -> None:
    assert invoke("validate", xor, "--target", "cpu").exit_code == 0
    assert invoke("validate", xor, "--target", "abacus-in-brass").exit_code == 3


@BINARIES
def test_a_parameter_is_baked_in(target: str, tmp_path: Path) -> None:
    scale, out = tmp_path / "scale.vyre", tmp_path / "out.npy"
    scale.write_text("""\
program scale workgroup(64, 1, 1) {
  read x: f32[] @0;
  uniform by: f32[1] @1;
  write out: f32[len(x)] @2;

  out[global_id.x] = x[global_id.x] * by[0];
}
""")
    np.save(tmp_path / "x.npy", np.arange(10, dtype=np.float32))
    x = ("--input", f"x={tmp_path / 'x.npy'}")
    assert invoke("run", scale, *x, "--spec", "by=2.5", "--output", out, "--backend", "reference").exit_code == 0
    assert (np.load(out) == np.arange(10, dtype=np.float32) * 2.5).all()
    assert "x[global_id.x] * 4.0;" in invoke("show", scale, "--spec", "by=0x4").stdout
    assert invoke("compile", scale, "--target", target, "--spec", "by=3").exit_code == 0
    assert invoke("run", scale.with_suffix(".vyrec"), *x, "--output", out).exit_code == 0
    assert (np.load(out) == np.arange(10, dtype=np.float32) * 3).all()
    assert invoke("run", scale, *x, "--spec", "by").exit_code == 2
    assert invoke("run", scale, *x, "--spec", "x=3").exit_code == 2
