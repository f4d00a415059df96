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


def test_source_is_written_beside_the_program(xor: Path) -> None:
    document = json.loads(invoke("compile", xor, "--target", "opencl-c", "--json").stdout)
    assert document["file"] == str(xor.with_suffix(".cl"))
    assert "__kernel" in xor.with_suffix(".cl").read_text()


def test_what_is_compiled_runs(xor: Path) -> None:
    made, out, file = xor.with_name("made"), xor.with_name("out.npy"), xor.with_name("evidence.json")
    result = invoke("compile", xor, "--target", "opencl-binary", "-o", made, "--workgroup", 32, 1, 1)
    assert (result.exit_code, made.exists()) == (0, True)
    inputs = ("--input", f"a={xor.with_name('a.npy')}", "--input", f"b={xor.with_name('b.npy')}")
    result = invoke("run", made, *inputs, "--output", f"out={out}", "--evidence", file)
    assert result.exit_code == 0, result.output
    assert (np.load(out) == np.arange(100, dtype=np.uint32) ^ 3).all()
    assert "compiles" not in json.loads(file.read_text())["counters"]
    assert invoke("run", made, *inputs, "--backend", "reference").exit_code == 4


def test_a_file_that_was_changed_is_refused(xor: Path) -> None:
    made = xor.with_name("made.vyrec")
    assert invoke("compile", xor, "--target", "opencl-binary").exit_code == 0
    data = bytearray(xor.with_suffix(".vyrec").read_bytes())
    data[-1] ^= 1
    made.write_bytes(data)
    result = invoke("run", made)
    assert result.exit_code == 2
    assert "its contents are not those of its digest" in result.stderr


def test_an_unknown_target(xor: Path) -> None:
    result = invoke("compile", xor, "--target", "abacus-brass")
    assert result.exit_code == 4
    assert "opencl-c" in result.stderr
    assert invoke("compile", "--target", "opencl-c").exit_code == 2
