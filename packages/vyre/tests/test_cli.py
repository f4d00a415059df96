"""The command line: outputs, JSON, exit codes, and errors without tracebacks."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

import vyre as vy
from vyre.cli import COMMANDS, main
from vyre.cli.outcome import Answer
from vyre_driver import Availability, BackendRegistration
from vyre_driver.observe.capsule import Capsule, write_capsule
from vyre_driver.testing.mock import MockBackend
from vyre_driver.testing.registration import registered
from vyre_driver.testing.traces import require_trace_events
from vyre_foundation.dialects import refresh


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


def answer(*arguments: str | Path) -> dict[str, object]:
    result = invoke(*arguments, "--json")
    document = json.loads(result.stdout)
    assert isinstance(document, dict)
    return document


@pytest.fixture
def xor(tmp_path: Path) -> Path:
    with vy.program("xor", workgroup_size=64) as p:
        a, b = p.read("a", vy.u32), p.read("b", vy.u32)
        out = p.write("out", vy.u32, like=a)
        i = p.global_id(0)
        out[i] = a[i] ^ b[i]
    path = tmp_path / "xor.vyre"
    path.write_text(vy.print_program(p.build()))
    return path


@pytest.fixture
def arrays(tmp_path: Path) -> tuple[Path, Path]:
    np.save(tmp_path / "a.npy", np.arange(100, dtype=np.uint32))
    np.save(tmp_path / "b.npy", np.full(100, 3, np.uint32))
    return tmp_path / "a.npy", tmp_path / "b.npy"


def test_help_lists_the_commands_of_every_distribution() -> None:
    result = invoke("--help")
    assert result.exit_code == 0
    for command in ("backends", "conform", "demo", "devices", "doctor", "run", "show", "validate"):
        assert command in result.stdout


def test_backends_are_listed_by_rank() -> None:
    listed = answer("backends")["backends"]
    assert isinstance(listed, list)
    ranks = [b["precedence"] for b in listed]
    assert ranks == sorted(ranks)
    assert {"cpu", "reference"} <= {b["id"] for b in listed}
    assert invoke("backends").exit_code == 0


@pytest.fixture(scope="module")
def examined() -> Result:
    """What `doctor` says: it asks every backend in a process of its own, which takes seconds."""
    return invoke("doctor", "--json")


@pytest.fixture
def known(examined: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    """Backends answer as they did before, where a test is about what is shown of their answers."""
    answers = json.loads(examined.stdout)["backends"]
    monkeypatch.setattr("vyre.cli.machine.ask", lambda id, **_: answers[id])


@pytest.mark.usefixtures("known")
def test_a_backend_that_cannot_run_here_is_listed_with_its_remedy() -> None:
    gone = Availability.unavailable("there is no driver", "install one")
    absent = BackendRegistration(id="absent", precedence=1, contract=1, factory=MockBackend, probe=lambda: gone)
    with registered(absent):
        (listed,) = [row for row in answer("backends")["backends"] if row["id"] == "absent"]
        judged = answer("doctor")["unavailable"]["absent"]
        shown = " ".join(invoke("backends").stdout.split())
    assert listed["available"] is False
    assert listed["reason"] == "there is no driver"
    assert listed["fix"] == "install one"
    assert judged == {"reason": "there is no driver", "fix": "install one"}
    assert "absent" in shown


@pytest.mark.usefixtures("known")
def test_a_table_shows_every_character_of_a_remedy() -> None:
    fix = "pip install some-very-long-distribution-name[with-an-extra]"
    gone = Availability.unavailable("it is [not] installed", fix)
    absent = BackendRegistration(id="absent", precedence=1, contract=1, factory=MockBackend, probe=lambda: gone)
    with registered(absent):
        tables = [invoke("backends").stdout, invoke("doctor").stdout]
    for table in tables:
        shown = "".join(table.split())
        assert "[not]" in shown
        for word in ("some-very-long-", "[with-an-extra]"):
            assert word in shown


def test_doctor_runs_every_available_backend(examined: Result) -> None:
    document = json.loads(examined.stdout)
    assert document["backends"]["reference"]["computes"] is True
    assert examined.exit_code == (0 if document["well"] else 1)
    times = [(said["open_s"], said["first_dispatch_s"], said["took_s"]) for said in document["backends"].values()]
    assert all(opened + dispatched <= took for opened, dispatched, took in times)
    assert sum(took for *_, took in times) <= document["took_s"]


@pytest.mark.usefixtures("known")
def test_devices_tells_the_profile() -> None:
    document = answer("devices")
    assert document["devices"]["cpu"]["profile"]["device"]  # type: ignore[index]


def test_validate_prints_facts(xor: Path) -> None:
    document = answer("validate", xor)
    assert document["valid"] is True
    assert document["deterministic"] is True
    assert "fingerprint" in invoke("validate", xor).stdout


def test_validate_reports_all_findings_and_fails(tmp_path: Path) -> None:
    bad = tmp_path / "bad.vyre"
    bad.write_text("program bad workgroup(64, 1, 1) {\n  write out: u32[4] @0;\n\n  x = 1;\n  y = 2;\n}\n")
    result = invoke("validate", bad)
    assert result.exit_code == 1
    assert result.stderr.count("Fix: ") == 2
    assert "Traceback" not in result.output
    error = answer("validate", bad)["error"]
    assert isinstance(error, dict)
    first, second = error["diagnostics"]
    assert first["source"] == {"file": str(bad), "line": 4, "column": 3, "width": 1, "code": "  x = 1;"}
    assert second["code"] == "V021"


def test_an_error_shows_its_line(tmp_path: Path) -> None:
    bad = tmp_path / "bad.vyre"
    bad.write_text("program bad workgroup(64, 1, 1) {\n  write out: u32[4] @0;\n\n  out[0] = 1:i32 + 2:i32;\n}\n")
    shown = invoke("run", bad, "--backend", "reference").stderr
    assert (
        shown
        == f"""\
error[V033]: got a value of i32, expected u32, as 'out' has
  --> {bad}:4:12
   |
 4 |   out[0] = 1:i32 + 2:i32;
   |            ^^^^^^^^^^^^^
   = Fix: cast the value to u32

program 'bad': 1 error; `vyre explain V033` says more
"""
    )


def test_an_error_of_a_wire_form_shows_the_line_of_its_text(tmp_path: Path) -> None:
    bad = tmp_path / "bad.bin"
    bad.write_bytes(vy.encode(vy.parse("program bad workgroup(1, 1, 1) { write out: u32[4] @0; out[0] = 1:i32; }")))
    result = invoke("validate", bad)
    assert result.exit_code == 1
    assert f"{bad} (as text):4:12" in result.stderr


def test_reasons_against_determinism_show_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "race.vyre"
    path.write_text("program race workgroup(4, 1, 1) {\n  write out: u32[4] @0;\n\n  out[0] = global_id.x;\n}\n")
    shown = invoke("validate", path).stdout
    assert "note[D001]: the store to 'out' may meet itself" in shown
    assert f"{path}:4:3" in shown
    (reason,) = answer("validate", path)["determinism_reasons"]  # type: ignore[misc]
    assert reason["severity"] == "note"


def test_explain_says_what_a_code_stands_for() -> None:
    page = invoke("explain", "v024").stdout
    assert page.startswith("V024\n\nOnly locals declared with `var` are assigned")
    assert "      var x = 1;" in page
    assert invoke("explain", "InvalidInput").stdout.startswith("E1007 InvalidInput")
    assert answer("explain", "E1007")["name"] == "InvalidInput"


def test_explain_lists_the_codes_of_every_distribution() -> None:
    listed = answer("explain")
    assert {"V001", "D005", "E000", "E131", "E1017", "E1103", "E1203"} <= set(listed)
    assert "V064" in invoke("explain").stdout


def test_explain_names_the_nearest_of_an_unknown_code() -> None:
    result = invoke("explain", "V0024")
    assert result.exit_code == 2
    assert "the nearest is V024" in result.stderr
    assert "Fix: " in invoke("explain", "quantum").stderr


def test_a_file_that_is_no_program_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "noise").write_bytes(b"\xff\xfe\x00")
    result = invoke("validate", tmp_path / "noise")
    assert result.exit_code == 2
    assert "Traceback" not in result.output


@pytest.mark.parametrize("command", ["run", "show", "validate", "compile", "profile", "explain", "tune"])
@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("kernel.py", b"import vyre as vy\n", "is a file of Python, which the command line does not run"),
        ("kernel.pkl", pickle.dumps("kernel"), "is a pickle, which the command line does not load"),
        ("kernel.npy", b"\x93NUMPY", "is neither the text of a program nor its bytes"),
    ],
)
def test_a_file_of_another_kind_is_told_from_a_program(
    command: str, name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    options = ["--target", "opencl-c"] if command == "compile" else []
    result = invoke(command, tmp_path / name, *options)
    assert result.exit_code == 2
    assert message in result.output
    assert "Fix: in Python, write `vyre.print_program(kernel.program)` to a file, such as kernel.vyre" in result.output


def test_a_target_that_there_is_not_is_a_usage_error(xor: Path) -> None:
    result = invoke("compile", xor, "--target", "nonsense")
    assert result.exit_code == 2
    assert re.search(r"--target 'nonsense' is none of .*opencl-c.*Fix: name one of them", result.output)
    for given, near in (("cpu", "cpu:"), ("opencl_c", "opencl-")):
        output = invoke("compile", xor, "--target", given).output
        (listed,) = re.findall(rf"--target '{given}' is none of (.*)\. Fix: name one of them", output)
        assert listed
        assert all(name.startswith(near) for name in listed.split(", ")), listed


SCALED = """program scaled workgroup(16, 16, 1) {
  read img: f32[] @0;
  uniform k: f32[1] @1;
  write out: f32[len(img)] @2;
  uniform `launch.shape`: u32[2] @3;

  if (global_id.y < `launch.shape`[0]) & (global_id.x < `launch.shape`[1]) {
    out[global_id.y * `launch.shape`[1] + global_id.x] = img[global_id.y * `launch.shape`[1] + global_id.x] * k[0];
  }
}
"""


@pytest.fixture
def scaled(tmp_path: Path) -> Path:
    """A kernel over two axes with a number, as it is printed, and an input beside it."""
    path = tmp_path / "scaled.vyre"
    path.write_text(SCALED)
    np.save(tmp_path / "img.npy", np.arange(12, dtype=np.float32).reshape(3, 4))
    return path


def test_a_kernel_over_two_axes_says_what_the_command_line_takes(scaled: Path) -> None:
    image = f"img={scaled.parent / 'img.npy'}"
    result = invoke("run", scaled, "--input", image)
    assert result.exit_code == 2
    assert "got nothing, expected an array or a number for 'k' and 'launch.shape'" in result.output
    assert (
        "Fix: add --spec k=NUMBER; --input launch.shape=FILE with the 2 lengths of axes that the kernel uses"
        in result.output
    )
    for command, options in (("tune", []), ("profile", ["--length", "img=12"]), ("explain", ["--length", "img=12"])):
        result = invoke(command, scaled, *options)
        assert result.exit_code == 2
        assert "'launch.shape'" in result.output
    shape = scaled.parent / "shape.npy"
    np.save(shape, np.uint32([3, 4]))
    options = ["--input", f"launch.shape={shape}", "--invocations", "4,3", "--spec", "k=0.5"]
    result = invoke("run", scaled, "--input", image, *options, "--output", scaled.parent / "out.npy")
    assert result.exit_code == 0
    assert np.load(scaled.parent / "out.npy").reshape(3, 4)[1].tolist() == [2, 2.5, 3, 3.5]


def test_an_array_for_no_input_is_refused(xor: Path, arrays: tuple[Path, Path]) -> None:
    result = invoke("run", xor, "--input", f"c={arrays[0]}")
    assert result.exit_code == 2
    assert "there is no input 'c', only a, b. Fix: name one of them" in result.output


@pytest.mark.parametrize(("command", "option"), [("run", "--input=x={}"), ("explain", "--length=x=3")])
def test_of_no_inputs_none_can_be_named(command: str, option: str, tmp_path: Path) -> None:
    file, array = tmp_path / "none.vyre", tmp_path / "x.npy"
    file.write_text("program p workgroup(1) { write o: u32[1] @0; o[0] = 1; }")
    np.save(array, np.zeros(1, np.uint32))
    result = invoke(command, file, option.format(array))
    assert result.exit_code == 2
    assert "no input 'x': there are none. Fix: leave the option out" in " ".join(result.output.split())


def test_syntax_errors_have_a_place(tmp_path: Path) -> None:
    (tmp_path / "bad.vyre").write_text("program bad workgroup(64, 1, 1) {\n  write out: u33[4] @0;\n}\n")
    result = invoke("validate", tmp_path / "bad.vyre")
    assert result.exit_code == 2
    assert f"{tmp_path / 'bad.vyre'}:2:14" in result.stderr
    assert "Fix: " in result.stderr


def test_show_prints_text_that_parses_to_the_same_program(xor: Path) -> None:
    document = answer("show", xor)
    text = document["text"]
    assert isinstance(text, str)
    assert vy.parse(text) == vy.parse(xor.read_text())


@pytest.fixture
def wasteful(tmp_path: Path) -> Path:
    path = tmp_path / "wasteful.vyre"
    path.write_text(
        "program wasteful workgroup(4, 1, 1) {\n  write out: u32[4] @0;\n\n"
        "  let unread = 1;\n  if true {\n    out[local_id.x] = 2 + 3;\n  }\n}\n"
    )
    return path


def test_show_prints_the_optimized_program(wasteful: Path) -> None:
    assert answer("show", wasteful)["text"] == wasteful.read_text()
    optimized = answer("show", wasteful, "--stage", "optimized")
    assert "{\n  write out: u32[4] @0;\n\n  out[local_id.x] = 5;\n}" in str(optimized["text"])
    assert optimized["locals"] == {}


def test_show_prints_what_each_pass_did(wasteful: Path) -> None:
    rows = answer("show", wasteful, "--passes")["passes"]
    assert isinstance(rows, list)
    sizes = [(row["pass"], row["changed"], row["statements"], row["expressions"]) for row in rows]
    assert sizes[0] == ("source", True, 3, 6)
    assert ("branches", True, 2, 5) in sizes
    assert ("simplify", True, 1, 2) in sizes
    assert sizes[-1] == ("dead", False, 1, 2)
    text = invoke("show", wasteful, "--passes").stdout
    assert text.startswith("// source: As it was written\nprogram wasteful ")
    assert "// simplify: Apply the rewrite rules to expressions, and fold constants\n" in text
    assert "// hoist:" not in text, "it changes nothing"


def test_show_prints_every_step_to_the_source_of_a_target(wasteful: Path) -> None:
    text = invoke("show", wasteful, "--passes", "--target", "cpu").stdout
    assert text.index("// branches: ") < text.index("// workgroups-as-loops: ") < text.index("// source for cpu\n")
    assert text.endswith(invoke("show", wasteful, "--target", "cpu").stdout)


def test_show_prints_one_pass_alone(wasteful: Path) -> None:
    alone = invoke("show", wasteful, "--pass", "branches").stdout
    assert "if true" not in alone
    assert "let unread = 1;" in alone, "no other pass has run"
    assert answer("show", wasteful, "--pass", "branches") == {"pass": "branches", "text": alone}
    again = wasteful.with_name("again.vyre")
    again.write_text(alone)
    assert invoke("show", again, "--pass", "branches").stdout == alone
    lowered = invoke("show", wasteful, "--pass", "workgroups-as-loops", "--target", "cpu")
    assert "for " in lowered.stdout, lowered.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--pass", "brunches"), "there is no pass 'brunches' among regions, branches,"),
        (("--pass", "zero-fill"), "Fix: name one of them, or a --target for the passes that lower"),
        (("--pass", "zero-fill", "--target", "reference"), "printing source: it emits none"),
    ],
)
def test_a_pass_that_there_is_not(wasteful: Path, options: tuple[str, ...], message: str) -> None:
    result = invoke("show", wasteful, *options)
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())


@pytest.mark.backend("opencl")
def test_show_prints_the_source_for_a_target(xor: Path) -> None:
    result = invoke("show", xor, "--target", "opencl")
    assert result.exit_code == 0
    assert "^" in result.stdout
    assert answer("show", xor, "--target", "opencl")["source"] == result.stdout


def test_show_counts_the_vectors_of_machine_code_beside_the_source(xor: Path) -> None:
    result = invoke("show", xor, "--target", "cpu")
    (line,) = answer("show", xor, "--target", "cpu")["machine_code"]
    assert result.stderr == f"{line}\n"
    assert re.fullmatch(r"kernel_0: \d+ instructions, \d+ % on vectors of up to \d+ bits; 0 gathers, .*masked", line)


def test_show_says_that_the_reference_emits_nothing(xor: Path) -> None:
    result = invoke("show", xor, "--target", "reference")
    assert result.exit_code == 4
    assert "Fix: " in result.stderr


@pytest.mark.parametrize("backend", ["reference", "cpu", "auto"])
def test_run_reads_and_writes_arrays(xor: Path, arrays: tuple[Path, Path], tmp_path: Path, backend: str) -> None:
    a, b = arrays
    out = tmp_path / "out.npy"
    result = invoke(
        "run", xor, "--input", f"a={a}", "--input", f"b={b}", "--output", f"out={out}", "--backend", backend
    )
    assert result.exit_code == 0, result.output
    np.testing.assert_array_equal(np.load(out), np.arange(100, dtype=np.uint32) ^ 3)


def test_run_writes_a_trace(xor: Path, arrays: tuple[Path, Path], tmp_path: Path) -> None:
    a, b = arrays
    file = tmp_path / "trace.json"
    result = invoke("run", xor, "--input", f"a={a}", "--input", f"b={b}", "--backend", "cpu", "--trace", file)
    assert result.exit_code == 0, result.output
    document = json.loads(file.read_text())
    require_trace_events(document)
    spans = {e["name"]: e for e in document["traceEvents"] if e["ph"] == "X"}
    assert {"dispatch xor", "plan", "find code", "bind", "launch xor", "xor", "wait"} <= spans.keys()
    assert spans["xor"]["args"]["grid"] == [2, 1, 1]


def test_a_trace_is_written_after_a_failure_too(tmp_path: Path) -> None:
    with vy.program("failing", workgroup_size=1) as p:
        p.write("out", vy.u32, count=1)[0] = 1
        p.trap(7, "always")
    path, file = tmp_path / "failing.vyre", tmp_path / "trace.json"
    path.write_text(vy.print_program(p.build()))
    result = invoke("run", path, "--backend", "cpu", "--trace", file)
    assert result.exit_code == 4
    (call,) = [e for e in json.loads(file.read_text())["traceEvents"] if e["name"] == "dispatch failing"]
    assert call["args"]["error"].startswith("Trapped: ")


def test_run_writes_evidence(xor: Path, arrays: tuple[Path, Path], tmp_path: Path) -> None:
    a, b = arrays
    file = tmp_path / "evidence.json"
    result = invoke("run", xor, "--input", f"a={a}", "--input", f"b={b}", "--backend", "reference", "--evidence", file)
    assert result.exit_code == 0, result.output
    bundle = json.loads(file.read_text())
    assert (bundle["backend_id"], bundle["program"]) == ("reference", "xor")
    assert [artifact["name"] for artifact in bundle["artifacts"]] == ["a", "b", "out"]


def test_run_takes_raw_bytes(xor: Path, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(np.arange(4, dtype="<u4").tobytes())
    out = tmp_path / "out.bin"
    raw = tmp_path / "a.bin"
    options = ("--input", f"a={raw}", "--input", f"b={raw}", "--output", f"out={out}", "--backend", "reference")
    document = answer("run", xor, *options)
    assert document["outputs"] == {"out": {"dtype": "uint32", "count": 4, "file": str(out)}}
    assert out.read_bytes() == bytes(16)


def test_run_with_a_missing_input_names_it_and_writes_nothing(
    xor: Path, arrays: tuple[Path, Path], tmp_path: Path
) -> None:
    out = tmp_path / "out.npy"
    result = invoke("run", xor, "--input", f"a={arrays[0]}", "--output", f"out={out}", "--backend", "reference")
    assert result.exit_code == 2
    assert "argument 'b'" in result.stderr
    assert not out.exists()


def test_run_with_an_unknown_backend(xor: Path) -> None:
    result = invoke("run", xor, "--backend", "abacus")
    assert result.exit_code == 3
    assert "reference" in result.stderr


@pytest.mark.parametrize("option", ["a", "=a.npy", "a="])
def test_a_malformed_option_is_a_usage_error(xor: Path, option: str) -> None:
    assert invoke("run", xor, "--input", option).exit_code == 2


def test_a_trap_fails_the_run(tmp_path: Path) -> None:
    with vy.program("trapping") as p:
        out = p.write("out", vy.u32, 64)
        with p.if_(p.global_id(0) == 5):
            p.trap(7, "five")
        out[p.global_id(0)] = 1
    path = tmp_path / "trapping.vyre"
    path.write_text(vy.print_program(p.build()))
    result = invoke("run", path, "--backend", "reference")
    assert result.exit_code == 4
    assert "invocation 5 trapped with 'five', code 7" in result.stderr


@pytest.mark.parametrize("module", ["vyre", "vyre.cli"])
def test_python_runs_the_package(module: str) -> None:
    command = [sys.executable, "-W", "error", "-m", module, "--version"]
    assert (
        subprocess.run(command, capture_output=True, text=True, check=True).stdout
        == f"vyre, version {vy.__version__}\n"
    )


def test_calls_are_logged_where_the_environment_asks_for_it(xor: Path, arrays: tuple[Path, Path]) -> None:
    a, b = (f"{name}={path}" for name, path in zip("ab", arrays, strict=True))
    command = [sys.executable, "-m", "vyre.cli", "run", str(xor), "--input", a, "--input", b, "--backend", "reference"]
    environment = os.environ | {"VYRE_OBSERVE": "Log", "COLUMNS": "200"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert "reference: dispatch 'xor': 800 bytes in, 400 out" in done.stderr


# ── dialects ──


@pytest.fixture
def geometry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A dialect that somebody has put into a folder."""
    (tmp_path / "geometry.toml").write_text(
        'id = "geometry"\nversion = "1.2"\n[ops.twice]\nparams = { x = "u32" }\nresult = "u32"\nis = "x * 2"\n'
        '[migrations.double]\nto = "twice"\nsince = "1.2"\n'
    )
    monkeypatch.setenv("VYRE_DIALECT_PATH", str(tmp_path))
    refresh()
    yield
    monkeypatch.undo()
    refresh()


@pytest.mark.usefixtures("geometry")
def test_ops_lists_the_language_and_every_dialect() -> None:
    listed = answer("ops")
    by_id = {op["id"]: op for op in listed["ops"]}  # type: ignore[attr-defined]
    assert by_id["geometry.twice"]["signatures"] == ["(u32) -> u32"]
    assert by_id["add"]["dialect"] == "vyre"
    assert {"id": "geometry", "version": "1.2", "summary": ""} in listed["dialects"]  # type: ignore[operator]
    assert "geometry.twice" in invoke("ops").stdout


@pytest.mark.usefixtures("geometry")
def test_a_program_with_an_old_op_is_brought_up_to_date_as_it_is_read(tmp_path: Path) -> None:
    old = tmp_path / "old.vyre"
    old.write_text(
        "program old workgroup(4, 1, 1) { write out: u32[4] @0; "
        "out[global_id.x] = call<u32> geometry.double(global_id.x); }"
    )
    result = invoke("show", old)
    assert result.exit_code == 0, result.output
    assert "call<u32> geometry.twice(global_id.x)" in result.stdout
    assert "warning[W001]: geometry.double is geometry.twice since 1.2" in result.stderr
    assert invoke("run", old, "--backend", "reference").exit_code == 0


# ── replay ──


@pytest.fixture
def capsule(tmp_path: Path) -> Path:
    """What a shadow would have written about a backend that adds 1."""
    program = vy.parse("program one workgroup(1, 1, 1) { write out: u32[1] @0; out[global_id.x] = 1; }")
    outputs = {"out": b"\2\0\0\0"}, {"out": b"\1\0\0\0"}
    return write_capsule(
        tmp_path,
        Capsule(
            program=program, inputs={}, config=vy.DispatchConfig(), backend="reference", backend_version="1",
            reference="reference-scalar", difference="out[0]: got 2, expected 1", outputs=outputs[0],
            reference_outputs=outputs[1],
        ),
    )  # fmt: skip


def test_replay_runs_a_capsule_again(capsule: Path) -> None:
    result = invoke("replay", capsule)
    assert result.exit_code == 0, result.output
    assert "agrees: reference and reference-scalar on 'one'" in result.stdout
    assert "then: out[0]: got 2, expected 1" in result.stdout
    assert "since then: out[0]: got 1 (0x00000001), expected 2 (0x00000002)" in result.stdout


def test_replay_fails_while_the_difference_is_there(capsule: Path) -> None:
    class Wrong(MockBackend, contract=1):
        def dispatch(self, program, inputs, config=vy.DispatchConfig()):  # noqa: B008
            return [memoryview(b"\2\0\0\0")]

    def factory() -> Wrong:
        return Wrong(lambda plan, memory: None, "wrong")

    registration = BackendRegistration(
        id="wrong", precedence=999, contract=1, factory=factory, probe=Availability.available
    )
    with registered(registration):
        result = invoke("replay", capsule, "--backend", "wrong", "--json")
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert document["agrees"] is False
    assert document["now"] == "out[0]: got 2 (0x00000002), expected 1 (0x00000001)"


def test_replay_of_another_file_is_refused(xor: Path) -> None:
    result = invoke("replay", xor)
    assert result.exit_code == 2
    assert "error[E1020]" in result.stderr


def test_the_demo_agrees_on_a_small_part(tmp_path: Path) -> None:
    picture = tmp_path / "m.png"
    result = invoke("demo", "--limit", "20000", "--picture", picture, "--json")
    document = json.loads(result.stdout)
    assert result.exit_code == 0
    assert document["agreed"] is True
    assert {run["backend"] for run in document["runs"]} == {"cpu", "reference"}
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_demo_says_at_once_that_pillow_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.setattr("vyre.cli.demo.jobs", lambda *_: pytest.fail("a job was made"))
    result = invoke("demo")
    assert result.exit_code == 3
    assert "the package 'pillow' is not installed" in result.stderr
    assert "pip install 'vyre[demo]'" in result.stderr


@pytest.mark.parametrize("name", ["picture", "picture.txt"])
def test_the_demo_says_at_once_that_a_picture_has_no_format(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vyre.cli.demo.jobs", lambda *_: pytest.fail("a job was made"))
    result = invoke("demo", "--picture", tmp_path / name)
    assert result.exit_code == 2
    assert f"{name} has no suffix of a picture. Fix: name a .png file" in " ".join(result.stderr.split())


NEIGHBOUR = """program neighbour workgroup(4) {
  read x: u32[] @0;
  write out: u32[len(x)] @1;
  workgroup s: u32[4];

  s[local_id.x] = x[global_id.x];
  out[global_id.x] = s[3 - local_id.x];
}
"""


@pytest.fixture
def neighbour(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "neighbour.vyre").write_text(NEIGHBOUR)
    np.save(tmp_path / "x.npy", np.arange(8, dtype=np.uint32))
    return tmp_path / "neighbour.vyre", tmp_path / "x.npy"


def test_races_are_shown_with_their_lines(neighbour: tuple[Path, Path]) -> None:
    program, x = neighbour
    result = invoke("run", program, "--input", f"x={x}", "--races")
    assert result.exit_code == 1
    said = " ".join(result.stderr.split())
    assert "error[E1103]: invocation 0 writes at body[0] and invocation 3 reads at body[1]" in said
    assert f"note: invocation 3 reads at {program}:7: out[global_id.x] = s[3 - local_id.x];" in said
    assert f"note: invocation 0 writes at {program}:6: s[local_id.x] = x[global_id.x];" in said
    found = json.loads(invoke("run", program, "--input", f"x={x}", "--races", "--json").stdout)["error"]
    assert (found["kind"], found["where"], len(found["diagnostics"][0]["notes"])) == ("DataRace", "s[0]", 2)


def test_a_run_without_races_gives_its_outputs(neighbour: tuple[Path, Path], tmp_path: Path) -> None:
    program, x = neighbour
    program.write_text(NEIGHBOUR.replace("  out[", "  barrier workgroup;\n  out["))
    out = tmp_path / "out.npy"
    result = invoke("run", program, "--input", f"x={x}", "--races", "--output", out)
    assert result.exit_code == 0, result.stderr
    assert np.load(out).tolist() == [3, 2, 1, 0, 7, 6, 5, 4]


def test_races_can_be_sought_by_the_reference(neighbour: tuple[Path, Path]) -> None:
    program, x = neighbour
    result = invoke("run", program, "--input", f"x={x}", "--races", "--backend", "reference")
    assert result.exit_code == 1
    assert "error[E1103]: invocation 1 reads at body[1] and invocation 2 writes at body[0]" in " ".join(
        result.stderr.split()
    )


BEHIND = """program behind workgroup(4) {
  write out: u32[4] @0;

  out[global_id.x + 2] = 1;
  if global_id.x == 3 {
    trap(7, "odd");
  }
}
"""


def test_accesses_out_of_bounds_and_traps_are_shown_with_their_lines(tmp_path: Path) -> None:
    program = tmp_path / "behind.vyre"
    program.write_text(BEHIND)
    result = invoke("run", program, "--bounds")
    said = " ".join(result.stderr.split())
    assert result.exit_code == 4
    assert f"note: out of bounds: invocation 2 writes out[4] of 4, one of 2 here --> {program}:4:3" in said
    assert f"""note: trap('odd') at {program}:6: trap(7, "odd");""" in said
    program.write_text(BEHIND.replace("== 3", "== 9"))
    found = json.loads(invoke("run", program, "--bounds", "--json").stdout)["diagnostics"]
    assert [(note["severity"], note["where"], note["source"]["line"]) for note in found] == [("note", "body[0]", 4)]


def test_a_scheduler_is_one_of_dask(neighbour: tuple[Path, Path]) -> None:
    program, x = neighbour
    result = invoke("run", program, "--input", f"x={x}", "--scheduler", "tcp://127.0.0.1:9")
    assert result.exit_code == 2
    assert "--scheduler is an option of --backend dask" in result.stderr


def test_a_search_for_races_has_no_evidence(neighbour: tuple[Path, Path], tmp_path: Path) -> None:
    program, x = neighbour
    result = invoke("run", program, "--input", f"x={x}", "--races", "--evidence", tmp_path / "evidence.json")
    assert result.exit_code == 2
    assert "--races runs other programs than are recorded: leave --evidence and --trace out" in result.stderr


ROWS = """program rows workgroup(4, 2) {
  read image: u32[] @0;
  write out: u32[len(image)] @1;

  if global_id.x < 5 {
    out[global_id.y * 5 + global_id.x] = global_id.y * 10 + global_id.x;
  }
}
"""


def test_invocations_cover_an_image_and_the_output_has_its_shape(tmp_path: Path) -> None:
    (tmp_path / "rows.vyre").write_text(ROWS)
    np.save(tmp_path / "image.npy", np.zeros((3, 5), np.uint32))
    given = ("run", tmp_path / "rows.vyre", "--input", f"image={tmp_path / 'image.npy'}", "--backend", "reference")
    refused = invoke(*given)
    assert refused.exit_code == 2
    assert "got none, expected how many there are on y" in refused.stderr
    result = invoke(*given, "--invocations", "5,3", "--output", tmp_path / "out.npy")
    assert result.exit_code == 0, result.stderr
    out = np.load(tmp_path / "out.npy")
    assert out.shape == (3, 5)
    assert out[2].tolist() == [20, 21, 22, 23, 24]
    for wrong, said in (("5;3", "is not of the form X, X,Y or X,Y,Z"), ("5,-3", "is not of the form X, X,Y or X,Y,Z")):
        result = invoke(*given, "--invocations", wrong)
        assert result.exit_code == 2
        assert said in result.stderr
    assert invoke(*given, "--invocations", f"5,{2**60}").exit_code == 2


def test_a_compiled_program_is_named_where_a_program_is_expected(tmp_path: Path) -> None:
    (tmp_path / "rows.vyrec").write_bytes(b"VYRE\0C1\n" + bytes(100))
    for command in ("validate", "show", "explain", "tune", "profile"):
        result = invoke(command, tmp_path / "rows.vyrec")
        assert result.exit_code == 2
        assert "is a compiled program, which `vyre compile` wrote. Fix: name the program" in " ".join(
            result.stderr.replace("│", "").split()
        )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device without space")
def test_messages_about_files_name_the_option_the_file_and_the_reason(xor: Path, arrays: tuple[Path, Path]) -> None:
    a, b = arrays
    result = invoke("run", xor, "--input", "a=/dev/zero", "--input", f"b={b}", "--backend", "reference")
    assert (result.exit_code, "--input a: /dev/zero is no regular file" in result.stderr) == (2, True)
    given = ("run", xor, "--input", f"a={a}", "--input", f"b={b}", "--backend", "reference")
    for option in ("--output", "--evidence", "--trace"):
        result = invoke(*given, option, "/dev/full")
        assert result.exit_code == 2, result.output
        assert f"{option}: /dev/full cannot be written: No space left on device. Fix: " in result.stderr


def test_folders_of_files_are_made_but_not_of_a_file(xor: Path, arrays: tuple[Path, Path], tmp_path: Path) -> None:
    a, b = arrays
    given = ("run", xor, "--input", f"a={a}", "--input", f"b={b}", "--backend", "reference")
    for option in ("--output", "--evidence", "--trace"):
        file = tmp_path / f"made{option}" / "deep" / "x.npy"
        assert invoke(*given, option, file).exit_code == 0
        assert file.is_file()
        result = invoke(*given, option, xor / "x.npy")
        assert result.exit_code == 2
        assert f"{option}: {xor} is a file, not a folder. Fix: " in result.stderr


def test_an_interrupt_from_the_keyboard_is_status_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("vyre.cli.ops.DialectRegistry.current", interrupted)
    result = invoke("ops")
    assert (result.exit_code, result.stderr.strip()) == (130, "Aborted!")


OUTPUTS = (("vyre", "ops"), ("vyre", "ops", "--json"), ("vyre", "--help"), ("vyre", "backends"), ("vyre", "--version"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device without space")
@pytest.mark.parametrize("words", OUTPUTS, ids=" ".join)
def test_standard_output_that_cannot_be_written_is_one_line_and_status_2(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-m", "vyre.cli", *words[1:]], stdout=full, stderr=-1, text=True)
    line = "standard output cannot be written: No space left on device. Fix: send it to another place\n"
    assert (done.returncode, done.stderr) == (2, line)


@pytest.mark.skipif(os.name == "nt", reason="pipes of Windows end otherwise")
@pytest.mark.parametrize("words", OUTPUTS, ids=" ".join)
def test_a_closed_pipe_is_silent(words: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-m", "vyre.cli", *words[1:]], stdout=writer, stderr=-1, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device without space")
@pytest.mark.parametrize("words", ["nope", "explain E9999", "run nothing.vyre"])
def test_the_status_does_not_depend_on_standard_error(words: str) -> None:
    command = [sys.executable, "-m", "vyre.cli", *words.split()]
    reader, writer = os.pipe()
    os.close(reader)
    with Path("/dev/full").open("w") as full:
        for stderr in (full, writer):
            assert subprocess.run(command, stdout=-1, stderr=stderr).returncode == 2
    os.close(writer)


ABOUT = "there is no runtime. Fix: pip install 'vyre-driver-opencl[intel]', then `vyre doctor --prove`"


@pytest.mark.parametrize("width", [1, 20, 40, 60, 80, 100, 400])
@pytest.mark.parametrize("terminal", [False, True])
def test_a_table_of_any_width_leaves_nothing_out_and_breaks_no_word(width: int, terminal: bool) -> None:
    shown, screen = Answer(as_json=False), StringIO()
    shown.console = Console(file=screen, width=width, force_terminal=terminal, highlight=False, color_system=None)
    rows = [("opencl-intel", "30", ABOUT, "a second long text, which has words"), ("cpu", "9", "it works", "")]
    shown.table("a title", ("backend", "rank", "about", "more"), rows)
    words = screen.getvalue().split()
    assert [word for row in rows for cell in row for word in cell.split() if word not in words] == []
    lines = [line.rstrip() for line in screen.getvalue().splitlines()]
    if not terminal:
        assert len([line for line in lines if ABOUT in line]) == 1
    elif width >= 40:
        assert all(len(line) <= width for line in lines)


def test_a_flag_of_the_environment_is_0_or_1(xor: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VYRE_DEBUG", "7")
    result = invoke("validate", xor)
    assert (result.exit_code, "got '7', expected 0 or 1" in result.stderr) == (2, True)


NUMBERS = {
    "run": {
        "--timeout": ("0", "-1", "nan", "inf", "1e10", "soon"),
        "--grid": ("-1 1 1", "99999999999 1 1", "1 1", "x 1 1"),
        "--invocations": ("-1", "1e3", "1,2,3,4", ""),
    },
    "tune": {"--grid": ("-1 1 1", "99999999999 1 1"), "--workgroup-size": ("0", "99999999999", "1,1,1,1")},
    "profile": {"--seconds": ("-1", "nan", "inf")},
    "compile": {"--workgroup": ("0 1 1", "-1 1 1", "99999999999 1 1"), "--ulp": ("-1", "1.5")},
    "demo": {"--limit": ("0", "-5")},
    "cache prune": {"--size": ("-1", "much", "nan")},
}


@pytest.mark.parametrize(
    ("command", "option", "value"),
    [
        (command, option, value)
        for command in NUMBERS
        for option in NUMBERS[command]
        for value in NUMBERS[command][option]
    ],
)
def test_a_wrong_number_is_an_error_of_its_option(command: str, option: str, value: str, tmp_path: Path) -> None:
    (tmp_path / "rows.vyre").write_text(ROWS)
    np.save(tmp_path / "image.npy", np.zeros((3, 5), np.uint32))
    file = [tmp_path / "rows.vyre"]
    inputs = ["--input", f"image={tmp_path / 'image.npy'}"]
    given = {"compile": [*file, "--target", "cpu-ir"], "demo": [], "cache prune": []}.get(command, [*file, *inputs])
    result = invoke(
        *command.split(), *given, option, *(value.split() if option in ("--grid", "--workgroup") else [value])
    )
    assert result.exit_code == 2, result.output
    assert option in result.stderr
    assert "Traceback" not in result.stderr


# ── the list of commands ──


@pytest.mark.parametrize("command", ["validate", "run"])
def test_a_command_imports_no_lowering_that_needs_none(command: str) -> None:
    source = (
        f"import sys\nfrom vyre.cli import main\ntry: main([{command!r}, '--help'])\nexcept SystemExit: pass\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    modules = done.stdout.splitlines()[-1].split()
    assert "vyre.cli.program" in modules
    assert not {"vyre_driver.engine.lowering", "vyre_driver.codegen.lower", "vyre_foundation.optimize"} & set(modules)


def test_help_imports_neither_commands_nor_backends() -> None:
    source = (
        "import sys\nfrom vyre.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
        "print(*sorted(name for name in sys.modules if name.startswith('vyre')))"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    *listing, modules = done.stdout.splitlines()
    assert any(line.split()[:1] == ["doctor"] for line in listing)
    imported = {name for name in modules.split() if not name.startswith(("vyre_foundation", "vyre_math"))}
    light = {"vyre_algorithms", "vyre_driver", "vyre_driver.errors", "vyre_driver.observe"}
    light |= {"vyre_driver.observe.printable", "vyre_driver.observe.writing"}
    assert imported == {"vyre", "vyre.cli", "vyre.cli.exit", "vyre.overloads", *light}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_in_the_list_exists(name: str) -> None:
    assert invoke(name, "--help").exit_code == 0
    assert f"  {name} " in invoke("--help").stdout
    assert len(COMMANDS[name].summary) <= 60


def test_a_lazy_name_of_the_front_door_is_listed_and_imported() -> None:
    assert {"run", "check", "VyreBackend", "program", "exp"} <= set(dir(vy))
    assert all(getattr(vy, name) is not None for name in vy.__all__)


def test_a_name_that_is_misspelled_is_suggested() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import vyre; vyre.tunes"], capture_output=True, text=True, check=False
    )
    assert (
        "module 'vyre' has no attribute 'tunes'. Fix: use vyre.tune if that is what it does, or choose" in done.stderr
    )
