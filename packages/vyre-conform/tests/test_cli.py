"""The command line."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
from click import Context
from click.testing import CliRunner, Result

from vyre_conform import stability
from vyre_conform.cli import conform, options
from vyre_conform.controls import FAULTS, Fault
from vyre_conform.report import Kill
from vyre_conform.reproducer import format_launch
from vyre_conform.suite import random_spec

pytestmark = pytest.mark.usefixtures("backends", "forked")


def call(*words: str) -> Result:
    return CliRunner().invoke(conform, words)


def test_list_prints_addresses() -> None:
    result = call("list", "traps:o*", "ops:add:dtype=i*")
    assert result.exit_code == 0
    assert result.output.split() == [*(f"ops:add:dtype=i{n}" for n in (8, 16, 32, 64)), "traps:one"]


def test_show_prints_the_program_of_a_case() -> None:
    result = call("show", "ops:add:dtype=u32")
    assert result.exit_code == 0
    assert result.output.startswith("# ops:add:dtype=u32\nprogram add_u32 workgroup(64, 1, 1) {")


def test_a_run_that_proves(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    result = call("run", "--backend", "reference", "--cases", "traps:*", "--fuzz", "2", "--json", str(file))
    assert result.exit_code == 0, result.output
    assert "✓ 17" in result.output
    assert "19 cells in" in result.output
    report = json.loads(file.read_text("utf-8"))
    assert (report["exit"], report["task"]["cells"]) == (0, 19)


def test_a_run_that_fails_says_how_to_repeat_it(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    words = (
        "run",
        "--backend",
        "backends:FRAGILE",
        "--cases",
        "ops:rem:dtype=u8,values=random",
        "--seed",
        "9",
        "--json",
        str(file),
    )
    result = call(*words)
    assert result.exit_code == 1
    again = "vyre-conform run --backend backends:FRAGILE --cases ops:rem:dtype=u8,values=random --seed 9"
    assert f"again: {again}" in result.output
    assert json.loads(file.read_text("utf-8"))["cells"][0]["command"] == again


def test_an_absent_backend_is_status_3() -> None:
    result = call("run", "--backend", "backends:ABSENT", "--cases", "traps:one")
    assert result.exit_code == 3
    assert "backends:ABSENT: backend 'absent' is not available: there is no device. Fix: plug one in" in result.output


PLUGIN = """
from vyre_driver.backend.registration import Availability, BackendRegistration
from vyre_driver.testing.mock import MockBackend
from vyre_reference.vector import evaluate

registration = BackendRegistration(
    id={id!r}, precedence=9, contract={contract}, factory=lambda: MockBackend(evaluate, {id!r}),
    probe=lambda: {probe}, is_distributed={spread}
)
"""


def plugin(id: str, *, contract: int = 1, probe: str = "Availability.available()", spread: bool = False) -> str:
    return PLUGIN.format(id=id, contract=contract, probe=probe, spread=spread)


@pytest.mark.parametrize("command", ["run", "replay", pytest.param("sweep", marks=pytest.mark.slow)])
def test_backends_that_are_left_out_are_said(command: str, install: Callable[..., Path], tmp_path: Path) -> None:
    install("works", plugin("works"))
    install("broken", "import no_such_library")
    install("older", plugin("older", contract=0))
    install("other", plugin("another"))
    install("absent", plugin("absent", probe="Availability.unavailable('there is no device', 'plug one in')"))
    install("raises", plugin("raises", probe="exit(3)"))
    install("spread", plugin("spread", spread=True))
    file = tmp_path / "one.vyre"
    file.write_text(format_launch(random_spec("narrow", 4).case().launch, "one"), "utf-8")
    words = [str(file)] if command == "replay" else ["--cases", "traps:one"]
    result = call(command, *words)
    assert result.exit_code == 0, result.output
    said = [line.removeprefix("left out: ") for line in result.output.splitlines() if line.startswith("left out: ")]
    assert said == [
        (
            "backend 'broken' of acme-broken: importing 'acme_broken:registration' raised ModuleNotFoundError: "
            "No module named 'no_such_library'. Fix: repair or uninstall it: pip install --upgrade acme-broken"
        ),
        (
            "backend 'older' of acme-older: acme-older 1.0 implements contract 0, vyre-driver 0.1.0 speaks contract 1. "
            "Fix: pip install --upgrade acme-older"
        ),
        (
            "backend 'other' of acme-other: the entry point 'other' registers the id 'another'. "
            "Fix: name the entry point as the backend"
        ),
        "backend 'absent' is not available: there is no device. Fix: plug one in",
        (
            "backend 'raises' is not available: its probe raised SystemExit: 3. "
            "Fix: report it to the authors of acme-raises"
        ),
        "backend 'spread' starts a cluster. Fix: name it, --backend spread",
    ]
    assert "works" in result.output


@pytest.mark.parametrize(
    "words",
    [("run", "--cases", "nothing:*"), ("run", "--cases", ":"), ("list", "a:b:c"), ("list", "no"), ("show", "no")],
)
def test_wrong_usage_is_status_2(words: tuple[str, ...]) -> None:
    result = call(*words)
    assert result.exit_code == 2
    assert "Fix:" in result.output


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="CPUs cannot be taken away here")
def test_as_many_processes_run_as_there_are_cpus_for_them() -> None:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        option = next(parameter for parameter in conform.commands["run"].params if parameter.name == "jobs")
        assert option.get_default(Context(conform.commands["run"])) == 1
    finally:
        os.sched_setaffinity(0, allowed)


@pytest.mark.parametrize("words", [["report"], ["diff", "a"], ["merge", "--journal", "b"], ["verify"], ["replay"]])
def test_a_file_that_cannot_be_read_is_status_2(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "broken"):
        Path(name).write_text("x", "utf-8")

    def fail(*_: object) -> bytes:
        raise OSError(errno.EIO, "Input/output error")

    for method in ("read_bytes", "read_text", "open"):
        monkeypatch.setattr(Path, method, fail)
    result = call(*words, "broken")
    assert (result.exit_code, type(result.exception)) == (2, SystemExit)
    assert "Input/output error. Fix: name files that can be read" in " ".join(result.output.split())


def test_controls_hunt_the_faults_that_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    hunted: list[list[str]] = []

    def hunt(specs: object, seed: int, faults: tuple[Fault, ...], **_: object) -> list[Kill]:
        hunted.append([fault.id for fault in faults])
        return [Kill(fault.id, fault.layer.value, fault.summary, "ops:min", "fail", 1) for fault in faults]

    monkeypatch.setattr(import_module("vyre_conform.cli.running"), "run_controls", hunt)
    assert call("controls", "min-zeros", "load-first").exit_code == 0
    assert call("controls").exit_code == 0
    assert hunted == [["load-first", "min-zeros"], [fault.id for fault in FAULTS]]
    unknown = call("controls", "min-zero")
    assert unknown.exit_code == 2
    assert "'min-zero' is no planted fault. Fix: write min-zeros" in unknown.output
    assert "Fix: choose one of docs/planted-faults.md" in call("controls", "zzzzzzzz").output


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("--seconds", value) for value in ("nan", "inf", "0", "-1", "3601", "soon")),
        *(("--repeats", value) for value in ("0", "nan")),
        *(("--jobs", value) for value in ("0", "1.5")),
        ("--fuzz", "-1"),
        *(("--shard", value) for value in ("0/1", "2/1", "1", f"1/{'9' * 5000}")),
    ],
)
def test_a_wrong_number_is_an_error_of_its_option(option: str, value: str) -> None:
    result = call("run", "--backend", "reference", "--cases", "traps:one", option, value)
    assert result.exit_code == 2
    assert option in result.output


REPORTS = ("--json", "--junit", "--html", "--certificate", "--journal")
PLACES = {
    "run": (*REPORTS, "--reproducers"),
    "report": REPORTS[:-1],
    "certify": ("--certificate",),
    "merge": ("--journal",),
    "controls": ("--json",),
}


@pytest.mark.parametrize(("command", "option"), [(command, option) for command, of in PLACES.items() for option in of])
def test_places_of_files_are_refused_before_anything_runs(
    command: str, option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(*arguments: object, **named: object) -> None:
        raise AssertionError("it runs")

    for module, name in (("running", "prove"), ("running", "run_controls"), ("results", "read_run")):
        monkeypatch.setattr(import_module(f"vyre_conform.cli.{module}"), name, work)
    file = tmp_path / "file"
    file.write_text("")
    given = {"run": ["--cases", "traps:one", "--fuzz", "1"], "controls": []}.get(command, [str(file)])
    result = call(command, *given, option, str(file / "folder"))
    assert result.exit_code == 2, result.output
    if option != "--reproducers":
        assert f"{option}: {file} is a file, not a folder. Fix: " in " ".join(result.output.split())


def test_folders_of_files_are_made(tmp_path: Path) -> None:
    files = {option: tmp_path / option / "deep" / "file" for option in REPORTS if option != "--certificate"}
    words = [word for option, file in files.items() for word in (option, str(file))]
    result = call("run", "--backend", "reference", "--cases", "traps:one", *words)
    assert result.exit_code == 0, result.output
    assert all(file.stat().st_size for file in files.values())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device without space")
@pytest.mark.parametrize("option", REPORTS)
def test_a_full_disk_is_status_2_and_one_line(option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("vyre_conform.proving"), "git_facts", lambda: {"commit": "0", "dirty": "false"})
    monkeypatch.setattr(import_module("vyre_conform.bench"), "checkout", lambda packages: {})
    full = tmp_path / "full"  # as a link, so that nothing takes the device away
    full.symlink_to("/dev/full")
    result = call("run", "--backend", "backends:RIGHT", "--cases", "traps:one", option, str(full))
    assert result.exit_code == 2, result.output
    line = f"{option}: {full} cannot be written: No space left on device. Fix: name another file, or make room"
    assert line in " ".join(result.stderr.split())
    if option != "--journal":
        assert result.stderr == f"Error: {line}\n"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no device without an end")
@pytest.mark.parametrize(
    "words",
    [
        "report /dev/zero",
        "diff /dev/zero /dev/zero",
        "merge /dev/zero --journal out",
        "certify /dev/zero --certificate out",
        "verify /dev/zero",
        "replay /dev/zero",
        "run --known-gaps /dev/zero",
    ],
)
def test_a_device_is_not_read(words: str) -> None:
    """It may have no end."""
    result = call(*words.split())
    assert result.exit_code == 2, result.output
    assert result.stderr.endswith("/dev/zero is a device. Fix: name a file\n")


def test_a_backend_that_is_named_twice_is_judged_once() -> None:
    result = call("run", "--backend", "reference", "--backend", "reference", "--cases", "traps:one")
    assert (result.exit_code, "1 cells in" in result.output) == (0, True), result.output


@pytest.mark.parametrize("command", ["list", "run"])
def test_an_interrupt_from_the_keyboard(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object, **named: object) -> None:
        raise KeyboardInterrupt

    running = import_module("vyre_conform.cli.running")
    monkeypatch.setattr(running, "prove", interrupted)
    if command == "list":
        monkeypatch.setattr(running, "Suite", interrupted)
    assert call(command).exit_code == {"list": 130, "run": 5}[command]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device without space")
@pytest.mark.parametrize("word", ["list", "--help"])
def test_standard_output_that_cannot_be_written_is_one_line_and_status_2(word: str) -> None:
    source = "from vyre_conform.cli import main; main()"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-c", source, word], stdout=full, stderr=-1, text=True)
    line = "standard output cannot be written: No space left on device. Fix: send it to another place\n"
    assert (done.returncode, done.stderr) == (2, line)


def test_replay_judges_a_file_again(tmp_path: Path) -> None:
    file = tmp_path / "one.vyre"
    file.write_text(format_launch(random_spec("narrow", 4).case().launch, "one"), "utf-8")
    result = call("replay", str(file), "--backend", "reference", "--backend", "backends:RIGHT")
    assert result.exit_code == 0, result.output
    assert result.output == "pass-exact  reference  \npass-exact  backends:RIGHT  \n"


def test_replay_of_something_else_is_status_2(tmp_path: Path) -> None:
    file = tmp_path / "one.vyre"
    file.write_text("program p workgroup(1, 1, 1) {\n}\n")
    result = call("replay", str(file), "--backend", "reference")
    assert result.exit_code == 2
    assert "has no `# launch:` line" in result.output


def test_a_sweep_says_what_deviates(monkeypatch: pytest.MonkeyPatch) -> None:
    result = call("sweep", "--cases", "traps:one", "--json", "--backend", "backends:RIGHT")
    assert (result.exit_code, json.loads(result.output)) == (0, {"backends:RIGHT": []})
    if len(os.sched_getaffinity(0)) > 1:
        monkeypatch.setattr(stability, "sweep", lambda *arguments, **options: {})
        result = call("sweep", "--cases", "grid:two_phases", "--json", "--backend", "backends:COUNTS_CORES")
        assert result.exit_code == 1
        assert "grid:two_phases with 2 cores: out[0]: got" in result.output


def test_a_sweep_of_nobody_is_status_3() -> None:
    result = call("sweep", "--backend", "nobody")
    assert result.exit_code == 3
    assert "no backend 'nobody' is registered" in result.output


def test_addresses_are_no_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    options.console().print("traps:one: the opinions disagree")
    assert capsys.readouterr().out == "traps:one: the opinions disagree\n"


def test_python_runs_the_package() -> None:
    command = [sys.executable, "-W", "error", "-m", "vyre_conform", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: vyre-conform ")


def test_the_front_door_finds_the_command() -> None:
    from importlib.metadata import entry_points

    (entry,) = entry_points(group="vyre.cli", name="conform")
    assert entry.load() is conform
