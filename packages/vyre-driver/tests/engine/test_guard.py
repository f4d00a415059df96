"""Compilers that crash or hang: a guarded process gets an error, and the process after a crash is guarded."""

import importlib
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from vyre_driver.backend.config import DispatchConfig
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.errors import DispatchTimeout, InvalidSetting, KernelCompileFailed, UnsupportedFeature
from vyre_driver.pipeline.entry import PayloadKind
from vyre_driver.pipeline.settings import GuardMode, GuardSettings
from vyre_driver.pipeline.store import shared_store
from vyre_driver.testing.fake_port import FakePort
from vyre_foundation.build import program
from vyre_foundation.dtype import u32

from .programs import DOUBLED, A, doubling

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes end by signals")

MODULE = '''
"""A device whose compiler does what the file `how` says: crash, hang, refuse, or what it should."""
import os, signal, threading
from functools import partial
from pathlib import Path
import numpy as np
from vyre_driver.engine.backend import EngineBackend
from vyre_driver.errors import KernelCompileFailed
from vyre_driver.testing.fake_port import FakePort

def crash(deep):
    # The trace of the stack is longer than what an error shows.
    crash(deep - 1) if deep else signal.raise_signal(signal.SIGSEGV)

class Port(FakePort):
    def compile(self, unit, queue=0):
        folder = Path(__file__).parent
        how = (folder / "how").read_text()
        with (folder / "compilers").open("a") as log:
            log.write(f"{os.getpid()} ")
        if how == "crash":
            os.write(2, b"the last words\\n")
            crash(50)
        if how == "hang":
            threading.Event().wait()
        if how == "refuse":
            raise KernelCompileFailed("fake", "line 1: no", source=unit.text)
        return super().compile(unit, queue)

def evaluate(plan, memory):
    np.frombuffer(memory["out"], np.uint32)[:] = 2 * np.frombuffer(memory["a"], np.uint32)

def open_port(**options):
    return Port(evaluate, **options)

def backend(**options):
    return EngineBackend("fake", partial(open_port, **options))
'''
SCRIPT = """
import sys, pickle
sys.path[:0] = [sys.argv[1]]
import numpy as np, fragile
from vyre_driver.pipeline.store import shared_store
source = pickle.loads(bytes.fromhex(sys.argv[2]))
engine = fragile.backend()
if sys.argv[3:] == ["compile"]:
    engine.compile_native(source)
else:
    assert engine.dispatch(source, [np.arange(5, dtype=np.uint32)])
"""


@pytest.fixture
def fragile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    (tmp_path / "fragile.py").write_text(MODULE)
    monkeypatch.setenv("VYRE_CACHE", "rw")
    monkeypatch.setenv("VYRE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("fragile")
    del sys.modules["fragile"]
    store = shared_store()
    assert store is not None
    store.close()


@pytest.fixture
def behave(tmp_path: Path) -> Callable[[str], None]:
    def write(how: str) -> None:
        (tmp_path / "how").write_text(how)

    return write


def compilers(folder: Path) -> list[int]:
    """The processes that compiled."""
    log = folder / "compilers"
    return [int(pid) for pid in log.read_text().split()] if log.exists() else []


def in_another_process(folder: Path, *words: str) -> int:
    command = [sys.executable, "-c", SCRIPT, str(folder), pickle.dumps(doubling()).hex(), *words]
    return subprocess.run(command, timeout=60, check=False, stderr=subprocess.DEVNULL).returncode


def marks() -> int:
    """What is left of processes that did not survive."""
    store = shared_store()
    assert store is not None
    return sum(entry.kind == PayloadKind.IN_PROGRESS.value for entry in store.entries())


def test_a_crash_in_a_guarded_process_is_an_error(
    fragile: Any, behave: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VYRE_COMPILE_GUARD", "always")
    behave("crash")
    backend = fragile.backend()
    with pytest.raises(KernelCompileFailed, match=r"it crashed \(signal SIGSEGV\)\nthe last words") as raised:
        backend.dispatch(doubling(), [A])
    assert "entry_0" in raised.value.source
    behave("right")
    assert backend.dispatch(doubling(), [A]) == [DOUBLED]
    assert len(compilers(tmp_path)) == 2
    assert os.getpid() not in compilers(tmp_path)
    backend.shutdown()
    again = fragile.backend()
    assert again.dispatch(doubling(), [A]) == [DOUBLED]
    assert again.backend_metric_snapshot()["loads"] == 1
    again.shutdown()


def test_a_compiler_that_hangs_is_ended(
    fragile: Any, behave: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VYRE_COMPILE_GUARD", "always")
    monkeypatch.setenv("VYRE_COMPILE_TIMEOUT", "1.5")
    behave("hang")
    backend = fragile.backend()
    with pytest.raises(KernelCompileFailed, match=r"it did not end within 1\.5 s .*Fix: .*VYRE_COMPILE_TIMEOUT"):
        backend.dispatch(doubling(), [A])
    with pytest.raises(DispatchTimeout, match="compilation"):
        backend.dispatch(doubling(), [A], DispatchConfig(timeout=0.7))
    for pid in compilers(tmp_path):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
    backend.shutdown()


def test_what_the_compiler_says_comes_through(
    fragile: Any, behave: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VYRE_COMPILE_GUARD", "always")
    behave("refuse")
    backend = fragile.backend()
    with pytest.raises(KernelCompileFailed) as raised:
        backend.dispatch(doubling(), [A])
    assert raised.value.log == "line 1: no"
    backend.shutdown()


def test_the_process_after_a_crash_is_guarded(fragile: Any, behave: Callable[[str], None], tmp_path: Path) -> None:
    behave("crash")
    assert in_another_process(tmp_path) == -signal.SIGSEGV
    assert marks() == 1
    backend = fragile.backend()
    with pytest.raises(KernelCompileFailed, match="it crashed"):
        backend.dispatch(doubling(), [A])
    assert marks() == 1
    behave("right")
    assert backend.dispatch(doubling(), [A]) == [DOUBLED]
    assert marks() == 0
    assert os.getpid() not in compilers(tmp_path)
    with program("another", 4) as p:
        out = p.write("out", u32, like=p.read("a", u32))
        out[p.global_id(0)] = 7
    assert backend.dispatch(p.build(), [A]) == [DOUBLED], "other programs are compiled as ever"
    assert compilers(tmp_path)[-1] == os.getpid()
    backend.shutdown()


@pytest.mark.parametrize("how", ["right", "refuse"])
def test_who_ends_by_himself_leaves_no_mark(
    fragile: Any, behave: Callable[[str], None], tmp_path: Path, how: str
) -> None:
    behave(how)
    assert (in_another_process(tmp_path, "compile") == 0) == (how == "right")
    assert marks() == 0


def test_a_process_that_still_compiles_is_no_reason(
    fragile: Any, behave: Callable[[str], None], tmp_path: Path
) -> None:
    behave("right")
    first, second = fragile.backend(), fragile.backend()
    first.compile_native(doubling())
    assert marks() == 1
    assert second.dispatch(doubling(), [A]) == [DOUBLED]
    assert compilers(tmp_path) == [os.getpid()] * 2
    first.shutdown()
    second.shutdown()


def test_a_port_without_binaries_compiles_after_its_child(
    fragile: Any, behave: Callable[[str], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VYRE_COMPILE_GUARD", "always")
    behave("right")
    backend = fragile.backend(has_binaries=False)
    assert backend.dispatch(doubling(), [A]) == [DOUBLED]
    child, here = compilers(tmp_path)
    assert child != here == os.getpid()
    backend.shutdown()


def test_a_device_that_no_other_process_can_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VYRE_COMPILE_GUARD", "always")
    backend = EngineBackend("fake", lambda: FakePort(lambda plan, memory: None))
    with pytest.raises(UnsupportedFeature, match=r"process of its own.*Fix: give EngineBackend a function of a module"):
        backend.dispatch(doubling(), [A])
    backend.shutdown()


def test_settings() -> None:
    assert GuardSettings.of({}) == GuardSettings(GuardMode.AUTO, 120.0)
    assert GuardSettings.of({"VYRE_COMPILE_GUARD": "Always", "VYRE_COMPILE_TIMEOUT": "2"}) == GuardSettings(
        GuardMode.ALWAYS, 2.0
    )
    with pytest.raises(InvalidSetting, match="VYRE_COMPILE_GUARD"):
        GuardSettings.of({"VYRE_COMPILE_GUARD": "maybe"})
    for text in ("0", "-1", "nan", "inf", "soon", "1e300", "1000000001"):
        with pytest.raises(InvalidSetting, match="VYRE_COMPILE_TIMEOUT"):
            GuardSettings.of({"VYRE_COMPILE_TIMEOUT": text})
