"""Exceptions of a backend's own code, on the command line: whose they are, exit code 4, and no traceback."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
from click.testing import CliRunner, Result

import vyre as vy
from vyre.cli import main
from vyre.cli.child import answer, ask
from vyre_driver import Availability, BackendRegistration, EngineBackend, devices
from vyre_driver.backend.aot import AotEmitter, AotTargetId
from vyre_driver.backend.registration import DeviceFactory
from vyre_driver.registry import backends
from vyre_driver.testing.fake_port import FakePort
from vyre_driver.testing.registration import registered

NUMBERS = count()


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


class Plain(vy.VyreBackend, contract=1):
    def __init__(self, id: str, error: BaseException) -> None:
        self._id, self._error = id, error

    def id(self) -> str:
        return self._id

    def dispatch(self, program, inputs, config=vy.DispatchConfig()):  # noqa: B008
        raise self._error


class CompilesNothing(Plain, contract=1):
    def compile_native(self, program, config=vy.DispatchConfig()):  # noqa: B008
        raise self._error


def raising(error: BaseException) -> Callable[..., NoReturn]:
    def call(*_: object, **named: object) -> NoReturn:
        raise error

    return call


def engine(id: str, method: str, error: BaseException) -> EngineBackend:
    port = type("Port", (FakePort,), {method: raising(error)})
    return EngineBackend(id, lambda: port(lambda plan, memory: None))


Made = Callable[..., str]


@pytest.fixture
def made() -> Iterator[Made]:
    """Registers a backend under an id of its own, because backends are opened once for a process."""
    contexts = []

    def made(factory: Callable[[str], object], **rest: object) -> str:
        id = f"raising-{next(NUMBERS)}"
        registration = BackendRegistration(
            id=id, precedence=950, contract=1, factory=lambda: factory(id), probe=Availability.available, **rest
        )
        contexts.append(registered(registration))
        contexts[-1].__enter__()
        return id

    yield made
    for context in contexts:
        context.__exit__(None, None, None)


@pytest.fixture
def given(tmp_path: Path) -> tuple[Path, ...]:
    with vy.program("copy", workgroup_size=4) as p:
        a = p.read("a", vy.u32)
        p.write("out", vy.u32, like=a)[p.global_id(0)] = a[p.global_id(0)]
    (tmp_path / "copy.vyre").write_text(vy.print_program(p.build()))
    np.save(tmp_path / "a.npy", np.arange(10, dtype=np.uint32))
    return tmp_path / "copy.vyre", "--input", f"a={tmp_path / 'a.npy'}"


ERRORS = [
    ValueError("two\nlines"),
    RuntimeError("no"),
    FileNotFoundError("cc"),
    FileNotFoundError(2, "No such file or directory", "cc"),
    OSError("[Errno 5]"),
    BrokenPipeError("the compiler ended"),
    MemoryError(),
    SystemExit(3),
    KeyError("x"),
    StopIteration(),
]


def require_told(result: Result, id: str, error: BaseException) -> None:
    assert result.exit_code == 4, result.output
    assert result.stdout == "", result.stderr
    assert result.stderr.count("\n") == 1, result.stderr
    line = result.stderr.strip()
    words = " ".join(str(error).split())
    told = f"backend {id!r} raised {type(error).__name__}{f': {words}' if words else ''}. Fix: "
    assert line.startswith(told)
    assert line.endswith("report it to the backend's authors; VYRE_DEBUG=1 shows where it was raised")


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_a_dispatch_that_raises_is_the_backend_s(error: BaseException, made: Made, given: tuple[Path, ...]) -> None:
    id = made(lambda id: Plain(id, error))
    require_told(invoke("run", *given, "--backend", id), id, error)


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_json_has_the_same(error: BaseException, made: Made, given: tuple[Path, ...]) -> None:
    id = made(lambda id: Plain(id, error))
    result = invoke("run", *given, "--backend", id, "--json")
    told = json.loads(result.stdout)["error"]
    assert (result.exit_code, told["code"], told["kind"]) == (4, "", type(error).__name__)
    assert told["message"].startswith(f"backend {id!r} raised {type(error).__name__}")


@pytest.mark.parametrize("method", ["probe", "target", "emit", "compile", "allocate", "launch", "copy_out"])
def test_a_port_that_raises_is_the_backend_s(method: str, made: Made, given: tuple[Path, ...]) -> None:
    error = FileNotFoundError("cc")
    id = made(lambda id: engine(id, method, error))
    require_told(invoke("run", *given, "--backend", id), id, error)


@pytest.mark.parametrize("error", [FileNotFoundError("cc"), SystemExit(3)], ids=repr)
def test_a_factory_that_raises_is_the_backend_s(error: BaseException, made: Made, given: tuple[Path, ...]) -> None:
    id = made(raising(error))
    require_told(invoke("run", *given, "--backend", id), id, error)


@pytest.mark.parametrize(
    ("emit", "words"),
    [
        (raising(FileNotFoundError("cc")), "raised FileNotFoundError: cc"),
        (lambda *_: None, "returned None, expected bytes"),
    ],
)
def test_an_emitter_that_breaks_is_the_backend_s(
    emit: Callable[..., bytes], words: str, made: Made, given: tuple[Path, ...], tmp_path: Path
) -> None:
    emitter = AotEmitter(AotTargetId("raising-target"), emit, ".txt")
    made(lambda id: Plain(id, KeyError()), aot=(emitter,))
    result = invoke("compile", given[0], "--target", "raising-target", "--output", tmp_path / "x")
    assert result.exit_code == 4
    assert f"its emitter {words}" in result.stderr
    assert "Fix: report it to the backend's authors" in result.stderr


def test_an_emitter_that_ends_the_process_is_the_backend_s(made: Made, given: tuple[Path, ...], tmp_path: Path) -> None:
    emitter = AotEmitter(AotTargetId("raising-target"), raising(SystemExit(3)), ".txt")
    id = made(lambda id: Plain(id, KeyError()), aot=(emitter,))
    result = invoke("compile", given[0], "--target", "raising-target", "--output", tmp_path / "x")
    require_told(result, id, SystemExit(3))


def test_tracebacks_are_shown_on_demand(made: Made, given: tuple[Path, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    id = made(lambda id: Plain(id, ValueError("no")))
    monkeypatch.setenv("VYRE_DEBUG", "1")
    result = invoke("run", *given, "--backend", id)
    assert result.exit_code == 4
    assert "Traceback" in result.stderr


def test_python_callers_get_the_exception_itself(made: Made) -> None:
    error = FileNotFoundError("cc")
    with vy.program("one", workgroup_size=1) as p:
        p.write("out", vy.u32, 1)[0] = 1
    with pytest.raises(FileNotFoundError) as caught:
        vy.run(p.build(), backend=made(lambda id: Plain(id, error)))
    assert caught.value is error


def test_files_are_still_files(given: tuple[Path, ...], tmp_path: Path) -> None:
    result = invoke("run", *given, "--backend", "reference", "--output", given[0] / "out.npy")
    assert result.exit_code == 2


@pytest.mark.parametrize("error", [RuntimeError("no"), SystemExit(3)], ids=repr)
def test_the_process_of_a_backend_tells_the_same(error: BaseException, made: Made) -> None:
    for factory in (lambda id: Plain(id, error), lambda id: CompilesNothing(id, error), raising(error)):
        id = made(factory)
        told = answer(id)
        assert told["error"] == f"backend {id!r} raised {type(error).__name__}: {error}"
        assert told["fix"].startswith("report it to the backend's authors")


def test_devices_that_cannot_be_listed_are_the_backend_s(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr("vyre.cli.machine.ask", lambda id, **_: asked.append(id) or {"error": "e", "fix": "f"})
    raises = made(lambda id: Plain(id, KeyError()), devices=DeviceFactory(raising(KeyError()), raising(KeyError())))
    wrong = made(lambda id: Plain(id, KeyError()), devices=DeviceFactory(lambda: None, raising(KeyError())))
    assert invoke("devices").exit_code == 0
    assert {raises, wrong} <= set(asked)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """A distribution whose dispatch runs the code that is given."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def install(code: str) -> str:
        source = f"""
            import atexit, os
            from vyre_driver import Availability, BackendRegistration, VyreBackend

            class Plain(VyreBackend, contract=1):
                def id(self):
                    return "acme"

                def dispatch(self, program, inputs, config=None):
                    {code}

            registration = BackendRegistration(
                id="acme", precedence=950, contract=1, factory=Plain, probe=Availability.available
            )
        """
        (tmp_path / "acme_plugin.py").write_text(textwrap.dedent(source), "utf-8")
        info = tmp_path / "acme_backend-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-backend\nVersion: 1.0\n", "utf-8")
        (info / "entry_points.txt").write_text("[vyre.backends]\nacme = acme_plugin:registration\n", "utf-8")
        backends.refresh()
        return "acme"

    yield install
    monkeypatch.undo()
    backends.refresh()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise RuntimeError('no')", "backend 'acme' of acme-backend raised RuntimeError: no"),
        ("os._exit(3)", "its process ended with exit status 3: it printed nothing"),
    ],
)
def test_the_distribution_is_named(installed: Callable[[str], str], code: str, message: str) -> None:
    told = ask(installed(code))
    assert told["error"] == message
    assert told["fix"].startswith("report it to the authors of acme-backend")


def test_a_crash_is_the_driver_s(installed: Callable[[str], str]) -> None:
    told = ask(installed("os.abort()"))
    assert told["error"].startswith("its process ended with ")
    if sys.platform != "win32":
        assert told["error"].startswith("its process ended with signal SIGABRT: ")
    assert told["fix"] == "reinstall the device's driver"


def test_what_a_runtime_prints_is_no_part_of_the_answer(installed: Callable[[str], str]) -> None:
    id = installed("os.write(1, b'hello'), atexit.register(os.write, 1, b'bye')")
    assert ask(id)["error"].startswith("backend 'acme' returned None")
    (listed,) = devices(id)
    assert listed.profile is not None
