"""Child processes: hostile working directories, and parents that are ended at any moment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

fcntl = pytest.importorskip("fcntl")

HOSTILE = (
    "numpy", "json", "pickle", "subprocess", "multiprocessing", "click", "blake3", "vyre_driver", "vyre_conform",
    "vyre", "faulthandler", "tempfile", "ml_dtypes", "sitecustomize", "usercustomize", "evil",
)  # fmt: skip
"""Modules of the working directory that say so when they are executed."""
MEASURE = """
import fcntl, os
held = open(os.path.join(os.environ["VYRE_TEST_LOCKS"], str(os.getpid())), "w")
fcntl.flock(held, fcntl.LOCK_EX)
"""
"""``sitecustomize`` of every Python process of a test: it holds a lock for as long as it lives."""
SLEEPS = """
import re, time
from vyre_driver.backend.config import DEFAULT_CONFIG
from vyre_driver.backend.registration import Availability, BackendRegistration
from vyre_driver.testing.mock import MockBackend
from vyre_reference.vector import evaluate

class Sleeps(MockBackend, contract=1):
    def dispatch(self, program, inputs, config=DEFAULT_CONFIG):
        print("asleep", flush=True)
        time.sleep(300)

class Spins(MockBackend, contract=1):
    def dispatch(self, program, inputs, config=DEFAULT_CONFIG):
        print("spinning", flush=True)
        re.match("(a+)+$", "a" * 60 + "b")

SLEEPS, SPINS = (
    BackendRegistration(id=cls.__name__, precedence=999, contract=1, probe=Availability.available,
                        factory=lambda cls=cls: cls(evaluate, cls.__name__)) for cls in (Sleeps, Spins)
)
"""
RUN = """
import sys
from vyre_conform.cli import main
sys.argv[1:1] = ["run"]
main()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working directory full of modules that leave a file ``executed`` behind."""
    here = tmp_path / "hostile"
    here.mkdir()
    for name in HOSTILE:
        marker = str(tmp_path / "executed")
        (here / f"{name}.py").write_text(f"open({marker!r}, 'a').write({name + ' '!r})\nATTR = 1\n")
    return here


def executed(folder: Path) -> str:
    marker = folder.parent / "executed"
    return marker.read_text() if marker.exists() else ""


CHILDREN = """
import os, sys
os.chdir(sys.argv[1])
os.environ["PYTHONPATH"] = os.pathsep
os.environ["VYRE_COMPILE_GUARD"] = "always"

from functools import partial
from vyre.cli.child import ask
from vyre_conform.determinism import deviations
from vyre_conform.html.emit import emitted
from vyre_conform.oracle.pool import settled
from vyre_conform.stability import sweep
from vyre_conform.suite import find
from vyre_conform.worker import NamedBy
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.testing.fake_port import FakePort
from vyre_driver.testing.witnesses import doubling, in_place
from vyre_reference.vector import evaluate

assert ask("reference")["computes"]
((case, verdict),) = settled([find("traps:one")], 0, 60.0, 2)
assert verdict.is_settled, verdict
said = emitted("reference", case.launch.program, NamedBy.FILE)
assert said == "reference does not show what it emits", said
assert sweep(["traps:one"], backends=["reference"], seeds=["0"]) == {}
assert deviations("reference", [find("traps:one")], counts=[1], repeats=1) == []
engine = EngineBackend("fake", partial(FakePort, evaluate))
for witness in (doubling(5), in_place(5)):
    assert [bytes(out) for out in engine.dispatch(witness.program, witness.given)] == witness.expected
    sys.path.insert(0, "")  # as every interactive parent has it
engine.shutdown()
"""
"""Everything that starts a Python process."""


def test_no_child_executes_what_lies_in_the_working_directory(
    folder: Path, bounded: Callable[..., subprocess.CompletedProcess[str]]
) -> None:
    """The parent has changed into it, and has an entry of ``PYTHONPATH`` that means it."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"VYRE_CACHE": "off"}
    done = bounded(CHILDREN, str(folder), seconds=240, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert executed(folder) == ""


# ── parents that end ──


@pytest.fixture
def processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], int]]:
    """How many Python processes of this test live. None is left behind it."""
    (tmp_path / "site").mkdir()
    (tmp_path / "locks").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(MEASURE)
    (tmp_path / "site" / "sleepers.py").write_text(SLEEPS)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    monkeypatch.setenv("VYRE_TEST_LOCKS", str(tmp_path / "locks"))

    def living() -> list[int]:
        return [int(file.name) for file in (tmp_path / "locks").iterdir() if is_held(file)]

    yield lambda: len(living())
    for pid in living():
        os.kill(pid, signal.SIGKILL)


def is_held(file: Path) -> bool:
    with file.open() as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def wait_until(what: Callable[[], bool], seconds: float) -> bool:
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if what():
            return True
        time.sleep(0.05)
    return False


def conform(folder: Path, *words: str) -> subprocess.Popen[bytes]:
    """A run with a hanging backend, in a process group of its own."""
    command = [sys.executable, "-P", "-c", RUN, *words]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, process_group=0)


HANGING = ("--cases", "ops:*", "--jobs", "2", "--journal", "run.jsonl")
STARTED = 4
"""The command, a worker, and two processes of opinions."""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL], ids=lambda s: s.name)
def test_no_process_outlives_its_parent(how: signal.Signals, processes: Callable[[], int], tmp_path: Path) -> None:
    parent = conform(tmp_path, "--backend", "sleepers:SLEEPS", *HANGING)
    assert wait_until(lambda: processes() >= STARTED, 60), (tmp_path / "log").read_text()
    time.sleep(1.0)  # the worker is asleep in its first launch
    parent.send_signal(how)
    assert parent.wait(10) == -how
    assert wait_until(lambda: processes() == 0, 15)


def test_a_worker_that_holds_the_interpreter_ends_with_its_launch(processes: Callable[[], int], tmp_path: Path) -> None:
    """No thread of it can notice that the parent has gone; its time is limited all the same."""
    parent = conform(tmp_path, "--backend", "sleepers:SPINS", "--seconds", "4", *HANGING)
    assert wait_until(lambda: processes() >= STARTED, 60), (tmp_path / "log").read_text()
    time.sleep(1.0)
    parent.kill()
    parent.wait(10)
    assert wait_until(lambda: processes() == 0, 20)


def test_an_interrupt_ends_a_run_that_hangs(processes: Callable[[], int], tmp_path: Path) -> None:
    """It goes to the parent's group. What was judged stays, and the status is that of an interrupted run."""
    parent = conform(tmp_path, "--backend", "sleepers:SLEEPS", *HANGING)
    assert wait_until(lambda: processes() >= STARTED, 60), (tmp_path / "log").read_text()
    time.sleep(2.0)  # more cases are waiting than the queue before the worker holds
    os.killpg(parent.pid, signal.SIGINT)
    assert wait_until(lambda: parent.poll() is not None, 30), (tmp_path / "log").read_text()
    assert parent.returncode == 5, (tmp_path / "log").read_text()
    assert wait_until(lambda: processes() == 0, 15)
    assert "--resume" in (tmp_path / "log").read_text()
    last = (tmp_path / "run.jsonl").read_text().splitlines()[-1]
    assert "paused" in json.loads(last.partition(" ")[2])


def test_a_doctor_leaves_no_process_behind(processes: Callable[[], int], tmp_path: Path) -> None:
    code = "from vyre.cli.child import ask\nask('reference')"
    parent = subprocess.Popen([sys.executable, "-P", "-c", code], cwd=tmp_path)
    assert wait_until(lambda: processes() >= 2, 60)
    parent.kill()
    parent.wait(10)
    assert wait_until(lambda: processes() == 0, 15)


GUARDED = f"""
import os, stat, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from long_kernels import *
from vyre_driver import process

start, folders = process.start, []

def spied(command, **options):
    folder = os.stat(next(word for word in command if "vyre-compile-" in word))
    folders.append((oct(stat.S_IMODE(folder.st_mode)), folder.st_uid == os.getuid()))
    return start(command, **options)

os.umask(0)
process.start = spied
backend = acquire("opencl")
assert bytes(backend.dispatch(scaling(), [GIVEN])[0]) == EXPECTED
backend.shutdown()
assert set(folders) == {{("0o700", True)}}, folders
"""


@pytest.mark.backend("opencl")
def test_no_other_user_enters_the_folder_of_a_guarded_compiler(
    bounded: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    """Order and answer are pickles, and the mask of the process for new files may allow everything."""
    environment = {**os.environ, "VYRE_COMPILE_GUARD": "always", "VYRE_CACHE": "off"}
    done = bounded(GUARDED, seconds=120, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
