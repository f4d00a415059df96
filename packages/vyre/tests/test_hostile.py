"""The command line as a class: hostile arguments and files, and terminals without Unicode.

Every failure has an exit code, a message with `Fix:`, and no traceback.
"""

import json
import os
import pickle
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import closing
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

import vyre as vy
from vyre.cli import COMMANDS, main
from vyre.cli.child import ask
from vyre_driver.observe.capsule import Capsule, write_capsule
from vyre_driver.pipeline import database
from vyre_driver.pipeline.ahead import ANY_VERSION, MAGIC
from vyre_driver.pipeline.entry import EntryIdentity, PayloadKind
from vyre_driver.pipeline.settings import CacheMode, CacheSettings
from vyre_driver.pipeline.store import DiskStore


def invoke(*arguments: str | Path, charset: str = "utf-8") -> Result:
    return CliRunner(charset=charset).invoke(main, [str(a) for a in arguments])


def require_refusal(result: Result) -> None:
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (1, 2, 3, 4), result.output
    assert "Traceback" not in result.output
    if result.stdout.startswith("{"):
        assert json.loads(result.stdout)["error"]["fix"]
    else:
        assert "Fix: " in result.output, result.output
        assert result.output.count("Fix: ") == 1 or "findings" in result.output, result.output


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a program and its inputs, in which every command finds a store of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VYRE_CACHE_DIR", str(tmp_path / "cache"))
    with vy.program("xor", workgroup_size=64) as p:
        a, by = p.read("a", vy.u32), p.uniform("by", vy.u32, 1)
        out, rest = p.write("out", vy.u32, like=a), p.write("rest", vy.u32, like=a)
        out[p.global_id(0)] = a[p.global_id(0)] ^ by[0]
        rest[p.global_id(0)] = a[p.global_id(0)] + by[0]
    program = p.build()
    (tmp_path / "p.vyre").write_text(vy.print_program(program), "utf-8")
    (tmp_path / "p.bin").write_bytes(vy.encode(program))
    np.save(tmp_path / "a.npy", np.arange(100, dtype=np.uint32))
    np.save(tmp_path / "by.npy", np.full(1, 3, np.uint32))
    capsule = Capsule(
        program=program,
        inputs={"a": bytes(400), "by": bytes(4)},
        config=vy.DispatchConfig(),
        backend="reference",
        backend_version="0",
        reference="reference-scalar",
        difference="",
    )
    write_capsule(tmp_path, capsule).replace(tmp_path / "c.zip")
    return tmp_path


RUN = ("run", "p.vyre", "--backend", "reference", "--input", "by=by.npy", "--input", "a=a.npy")


def test_the_controls_run(place: Path) -> None:
    for command in (RUN, ("validate", "p.bin"), ("show", "p.vyre"), ("replay", "c.zip"), ("cache", "info")):
        result = invoke(*command)
        assert result.exit_code == 0, result.output


def test_a_line_is_shown_without_characters_that_control_the_terminal(place: Path) -> None:
    """And it is the right one: a form feed ends no line."""
    (place / "control.vyre").write_text("// \f\nprogram p workgroup(1) {\n  \33[2J let\0\n}\n", "utf-8")
    shown = invoke("validate", "control.vyre").output
    assert "control.vyre:3:3\n" in shown
    assert " 3 |    [2J let\n" in shown
    assert "Fix: delete it" in shown
    assert all(character.isprintable() or character == "\n" for character in shown)


# ── arguments ──


@pytest.mark.parametrize(
    "arguments",
    [
        "nonsense", "--nonsense", "run", "run nowhere", "run .", "run p.vyre --nonsense", "run p.vyre --input a",
        "run p.vyre --input =a.npy", "run p.vyre --input a=", "run p.vyre --input a=nowhere.npy",
        "run p.vyre --input a=.", "run p.vyre --backend reference", "run p.vyre --backend nonsense",
        "run p.vyre --grid 1 2", "run p.vyre --grid 1 2 x", "run p.vyre --backend reference --timeout 0",
        "run p.vyre --backend reference --timeout nan", "run p.vyre --backend reference --timeout -inf",
        "run p.vyre --backend reference --grid -1 1 1",
        "run p.vyre --backend reference --grid 99999999999999999999 1 1", "run p.vyre --spec by",
        "run p.vyre --spec by=x", "run p.vyre --spec nothing=1", "run p.vyre --spec by=1e999",
        "run p.vyre --spec by=-1", "run p.vyre --spec by=nan", "run p.vyre --spec a=1",
        f"run p.vyre --spec by={'9' * 5000}", "run p.vyre --output out=x --output out=y",
        "run p.vyre --output nothing=x", "validate", "validate nowhere", "validate p.vyre --target nonsense",
        "show p.vyre --stage nonsense", "show p.vyre --target nonsense", "show p.vyre --target reference",
        "show p.vyre --stage plan", "show p.vyre --stage plan --length a",
        "show p.vyre --stage plan --length a=-1", "show p.vyre --stage plan --length a=1.5",
        f"show p.vyre --stage plan --length a={'9' * 5000}", "show p.vyre --stage plan --length nothing=1",
        "compile p.vyre --target nonsense", "compile --target opencl-c",
        "compile p.vyre --target opencl-c --workgroup 0 0 0", "compile p.vyre --target opencl-c --ulp -5",
        "compile p.vyre --target opencl-c -o p.vyre/x", "compile p.vyre --target opencl-c -o .",
        "explain nonsense", f"explain {'x' * 300}", "replay", "replay nowhere", "replay p.vyre",
        "replay c.zip --backend nonsense",
        "replay c.zip --reference nonsense", "cache", "cache nonsense", "cache prune --size nonsense",
        "cache info extra", "natives", "natives --backend reference", "natives --backend nonsense",
        "natives --backend opencl --budget -1", "demo --backend nonsense", "demo --limit nonsense",
        "demo --picture p.vyre/x.png", "devices extra", "ops extra",
    ],
)  # fmt: skip
@pytest.mark.parametrize("as_json", [False, True], ids=["text", "json"])
def test_arguments(place: Path, arguments: str, as_json: bool) -> None:
    require_refusal(invoke(*arguments.split(), *(("--json",) if as_json else ())))


@pytest.mark.parametrize("option", ["--output", "--evidence"])
@pytest.mark.parametrize("where", [".", "p.vyre/x.npy", f"{'x' * 300}/y.npy", f"{'x' * 300}.npy"])
def test_outputs_are_checked_before_anything_runs(
    place: Path, option: str, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("it ran")

    monkeypatch.setattr("vyre.cli.program.backend_for", never)
    require_refusal(invoke(*RUN, option, where if option == "--evidence" else f"out={where}"))


def test_two_outputs_are_two_files(place: Path) -> None:
    (place / "link").symlink_to("x.npy")
    for other in ("x.npy", "./x.npy", "link"):
        require_refusal(invoke(*RUN, "--output", "out=x.npy", "--output", f"rest={other}"))
    assert invoke(*RUN, "--output", "out=x.npy", "--output", "rest=y.npy").exit_code == 0


def test_an_output_may_be_a_device_and_stays_one(place: Path) -> None:
    assert invoke(*RUN, "--output", "out=/dev/null", "--output", "rest=/dev/null").exit_code == 0
    assert Path("/dev/null").is_char_device()
    require_refusal(invoke(*RUN, "--output", "out=/dev/full"))


def test_an_output_through_a_link_changes_its_target(place: Path) -> None:
    (place / "link.npy").symlink_to("target.npy")
    assert invoke(*RUN, "--output", "out=link.npy").exit_code == 0
    assert (place / "link.npy").is_symlink()
    assert np.load(place / "target.npy").size == 100


# ── files ──


def empty(path: Path) -> None:
    path.write_bytes(b"")


def zeros(path: Path) -> None:
    path.write_bytes(bytes(5000))


def noise(path: Path) -> None:
    path.write_bytes(np.random.default_rng(1).bytes(5000))


def unicode(path: Path) -> None:
    path.write_text("program \N{SNOWMAN}\ud800 workgroup(64) { }", "utf-8", "surrogatepass")


def brackets(path: Path) -> None:
    path.write_text("[" * 200_000)


def a_pickle(path: Path) -> None:
    path.write_bytes(pickle.dumps({"out": [1, 2, 3]}))


def objects(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, np.array([{}, None]), allow_pickle=True)


def arrays(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, a=np.arange(3))


def structures(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, np.zeros(3, [("x", "<u4"), ("y", "<f8")]))


def claims(path: Path) -> None:
    """A header that asks for a terabyte."""
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<u4", "fortran_order": False, "shape": (2**38,)})
        file.write(bytes(400))


def nested(path: Path) -> None:
    header = f"{{'descr': '<u4', 'fortran_order': False, 'shape': {'(' * 4000}1{')' * 4000}, }}\n".encode()
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(400))


def later_npy(path: Path) -> None:
    path.write_bytes(b"\x93NUMPY\x09\x00" + bytes(500))


def later_wire(path: Path) -> None:
    data = bytearray((path.parent / "p.bin").read_bytes())
    data[4] += 1
    path.write_bytes(data)


def later_compiled(path: Path) -> None:
    path.write_bytes(ANY_VERSION + b"9\n" + bytes(500))


def damaged_compiled(path: Path) -> None:
    path.write_bytes(MAGIC + bytes(500))


def bomb(path: Path) -> None:
    """Many zeros in few bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("capsule.json", bytes(2**27))


FILES = (
    empty, zeros, noise, unicode, brackets, a_pickle, objects, arrays, structures, claims, nested, later_npy,
    later_wire, later_compiled, damaged_compiled, bomb,
)  # fmt: skip


@pytest.mark.parametrize("make", FILES)
def test_files(place: Path, make: Callable[[Path], None]) -> None:
    make(place / "x")
    shutil.copy(place / "x", place / "x.npy")
    commands = [
        "run x", "run x --backend reference", "validate x", "show x", "compile x --target opencl-c", "replay x",
        "run p.vyre --backend reference --input by=by.npy --input a=x.npy",
        "run p.vyre --backend reference --input by=x --input a=a.npy",
    ]  # fmt: skip
    for command in commands:
        require_refusal(invoke(*command.split()))
        require_refusal(invoke(*command.split(), "--json"))


def test_a_mark_of_the_encoding_is_skipped(place: Path) -> None:
    (place / "marked.vyre").write_text((place / "p.vyre").read_text("utf-8"), "utf-8-sig")
    assert CliRunner().invoke(main, ["validate", "marked.vyre"]).exit_code == 0


def test_an_archive_of_arrays_is_no_array(place: Path) -> None:
    np.savez(place / "a.npz", a=np.arange(100, dtype=np.uint32))
    result = CliRunner().invoke(main, [*RUN[:-1], "a=a.npz"])
    assert result.exit_code == 2
    assert "a.npz is not a NumPy file (it is an archive of arrays). Fix: write it with numpy.save" in result.output


def test_devices_are_not_read(place: Path) -> None:
    for command in ("run", "validate", "show", "replay"):
        require_refusal(invoke(command, "/dev/zero"))


def test_a_program_may_come_from_a_pipe(place: Path) -> None:
    for file in ("p.vyre", "p.bin"):
        with (place / file).open("rb") as program:
            command = [sys.executable, "-m", "vyre.cli", "validate", "/dev/stdin"]
            with subprocess.Popen(["cat"], stdin=program, stdout=subprocess.PIPE) as pipe:
                done = subprocess.run(
                    command, stdin=pipe.stdout, capture_output=True, text=True, timeout=60, check=False
                )
        assert done.returncode == 0, done.stderr


def test_memory_that_does_not_suffice_is_said(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def exhausted(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("vyre.cli.show.read_program", exhausted)
    require_refusal(invoke("show", "p.vyre"))
    require_refusal(invoke("show", "p.vyre", "--json"))


def test_brackets_in_names_are_brackets(place: Path) -> None:
    """Not styles of the terminal's library, which it may refuse."""
    text = (place / "p.vyre").read_text().replace("program xor", "program `[/red][bold]`")
    (place / "p.vyre").write_text(text)
    capsule = Capsule(
        program=vy.parse(text),
        inputs={"a": bytes(4), "by": bytes(4)},
        config=vy.DispatchConfig(),
        backend="reference",
        backend_version="0",
        reference="reference-scalar",
        difference="[/x]",
    )
    write_capsule(place, capsule).replace(place / "c.zip")
    for command in (
        RUN,
        ("show", "p.vyre", "--passes"),
        ("show", "p.vyre"),
        ("validate", "p.vyre"),
        ("replay", "c.zip"),
    ):
        result = invoke(*command)
        assert result.exit_code == 0, result.output
    assert "[/red][bold]" in invoke("show", "p.vyre", "--passes").stdout
    require_refusal(invoke("run", "p.vyre", "--input", "[/]=x"))


# ── the store ──


def fill(folder: Path) -> None:
    with closing(DiskStore(CacheSettings(CacheMode.READ_WRITE, folder))) as store:
        assert store.put(EntryIdentity(kind=PayloadKind.CODE, key="k", subject="s", text="t"), b"payload", 1)


def overwritten(folder: Path) -> None:
    fill(folder)
    (folder / database.FILE).write_bytes(b"this is no database" * 500)


def undecodable(folder: Path) -> None:
    fill(folder)
    whole = bytearray((folder / database.FILE).read_bytes())
    whole[whole.index(b"CREATE TABLE heat") + 15] ^= 0x80
    (folder / database.FILE).write_bytes(whole)


def as_fifo(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    os.mkfifo(folder / database.FILE)


def open_to_others(folder: Path) -> None:
    fill(folder)
    folder.chmod(0o777)


@pytest.mark.parametrize("damage", [overwritten, undecodable, as_fifo, open_to_others])
def test_a_store_that_cannot_be_used_is_cleared(place: Path, damage: Callable[[Path], None]) -> None:
    damage(place / "cache")
    for command in ("info", "info --json", "verify", "verify --json", "prune", "clear"):
        result = invoke("cache", *command.split())
        assert result.exit_code in (0, 1), result.output
        assert result.exception is None or isinstance(result.exception, SystemExit)
        if command.startswith("verify"):
            assert result.exit_code == 1
    assert [*(place / "cache").iterdir()] == []
    (place / "cache").chmod(0o700)
    assert invoke("cache", "verify").exit_code == 0


def test_what_cannot_be_deleted_is_named(place: Path) -> None:
    (place / "cache" / database.FILE).mkdir(parents=True)
    require_refusal(invoke("cache", "clear"))
    require_refusal(invoke("cache", "clear", "--json"))


def test_a_user_without_a_home_is_told_to_name_a_folder(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise FileNotFoundError("this user has no home folder. Fix: set VYRE_CACHE_DIR to a folder")

    monkeypatch.delenv("VYRE_CACHE_DIR")
    monkeypatch.setattr("vyre_driver.pipeline.settings._user_folder", homeless)
    result = invoke("cache", "info")
    require_refusal(result)
    assert "this user has no home folder" in result.output


# ── other distributions ──


def test_a_command_that_is_not_installed_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vyre.cli.entry_points", lambda group: ())
    result = invoke("conform", "run", "--backend", "reference")
    require_refusal(result)
    assert "Fix: pip install vyre-conform" in result.output
    assert "conform" not in invoke("--help").stdout


@pytest.mark.parametrize("value", ["no_such_module:command", "json:no_such_name", "json:dumps"])
def test_a_command_that_cannot_be_loaded_breaks_no_other(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    found = EntryPoint("broken", value, "vyre.cli")
    monkeypatch.setattr("vyre.cli.entry_points", lambda group: [found])
    assert invoke("--help").exit_code == 0
    assert invoke("explain", "V021").exit_code == 0
    require_refusal(invoke("broken", "--anything"))


# ── terminals ──

ASCII = {
    "backends": "", "cache": "info", "compile": "", "demo": "--help", "devices": "", "doctor": "", "explain": "",
    "profile": "--help", "graph": "show --help", "natives": "--help",
    "ops": "", "replay": "c.zip", "run": " ".join(RUN[1:]), "show": "p.vyre", "tune": "--help",
    "validate": "p.vyre",
}  # fmt: skip


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    """What a backend answers in a process of its own; the same for all, since each takes seconds."""
    return ask("reference")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("charset", ["ascii", "latin-1"])
def test_every_command_writes_to_a_terminal_without_unicode(
    place: Path, command: str, charset: str, said: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vyre.cli.machine.ask", lambda id, **_: {**said, "version": "µ × – 中"})
    for arguments in (ASCII[command].split(), ["--help"]):
        result = invoke(command, *arguments, charset=charset)
        assert not isinstance(result.exception, UnicodeError)
        assert result.exit_code == 0, result.output
        result.stdout_bytes.decode(charset)


def test_explanations_have_all_their_characters_in_ascii(place: Path) -> None:
    codes = json.loads(invoke("explain", "--json").stdout)
    for code in codes:
        assert invoke("explain", code, charset="ascii").exit_code == 0


def test_a_name_that_is_no_text_is_shown(place: Path) -> None:
    """Of a file, in an error, on a standard output that is UTF-8."""
    name = os.fsdecode(b"\xff\xfe.vyre")
    (place / name).write_text("nonsense")
    require_refusal(invoke("validate", name))
    (place / name).write_text((place / "p.vyre").read_text())
    result = invoke("validate", name)
    assert result.exit_code == 0, result.output
    assert "\\udcff" in result.stdout


def test_a_process_in_the_c_locale(place: Path) -> None:
    here = {name: value for name, value in os.environ.items() if name != "PYTHONIOENCODING"}
    environment = {**here, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    for variables in (environment, {**here, "PYTHONIOENCODING": "ascii"}):
        command = [sys.executable, "-m", "vyre.cli", "ops"]
        done = subprocess.run(command, env=variables, capture_output=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.isascii()


def test_output_that_nobody_reads_to_the_end(place: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "vyre.cli", "ops"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as p:
        assert p.stdout is not None
        assert p.stderr is not None
        p.stdout.read(10)
        p.stdout.close()
        assert b"Traceback" not in p.stderr.read()


def test_click_is_asked_in_the_usual_way() -> None:
    """Callers that want the exception get it."""
    with pytest.raises(click.UsageError):
        main(["nonsense"], standalone_mode=False)
