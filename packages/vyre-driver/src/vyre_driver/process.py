"""Child processes of this interpreter: they import nothing from the working directory, and they end with their parent.

The parent holds the other end of the child's standard input and writes nothing to it. However the parent ends, the
system closes that pipe; the child, which waits for this in a thread (`end_with_parent`), then ends too.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import IO

from vyre_driver.errors import UnsupportedFeature


def python(*arguments: str) -> list[str]:
    """The command of this interpreter with `arguments`.

    ``-P`` keeps the working directory off `sys.path`: a file there that is named as a module would be executed.

    Raises:
        UnsupportedFeature: The executable is an application that contains an interpreter: it would start itself again.
    """
    is_compiled = hasattr(import_module("__main__"), "__compiled__")  # by Nuitka
    if is_compiled or getattr(sys, "frozen", False) or not sys.executable:
        reason = "starting a Python process: its executable is not an interpreter"
        fix = "do it in the environment from which the application was built"
        raise UnsupportedFeature(reason, backend="this application", fix=fix)
    return [sys.executable, "-P", *arguments]


def environment(**variables: str) -> dict[str, str]:
    """The environment of this process, and `variables`, for a child.

    Empty entries of `PYTHONPATH` mean the working directory, and are left out.
    """
    found = {**os.environ, **variables}
    if "PYTHONPATH" in found:
        found["PYTHONPATH"] = os.pathsep.join(filter(None, found["PYTHONPATH"].split(os.pathsep)))
    return found


def search_path() -> list[str]:
    """`sys.path` of this process without the working directory, for a child that has to import the same modules."""
    here = Path.cwd().resolve()
    return [entry for entry in sys.path if entry and Path(entry).resolve() != here]


def start(
    command: Sequence[str],
    *,
    stdout: int | IO[bytes],
    stderr: int | IO[bytes],
    env: dict[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a child in a process group of its own, whose standard input is a pipe from this process.

    An interrupt from the keyboard reaches this process alone, and `end` reaches what the child has started, too. `env`
    is by default `environment()`.
    """
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=stderr,
        env=environment() if env is None else env,
        process_group=None if sys.platform == "win32" else 0,
    )


def end(child: subprocess.Popen[bytes]) -> None:
    """Kill the child, and what it has started, unless it has ended; release its standard input."""
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                child.kill()
            else:
                os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    if child.stdin is not None:
        with contextlib.suppress(OSError):
            child.stdin.close()


def run(
    command: Sequence[str], *, seconds: float, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run a child that calls `end_with_parent` to its end. `subprocess.TimeoutExpired` after `seconds`."""
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        child = start(command, stdout=stdout, stderr=stderr, env=env)
        try:
            child.wait(seconds)
        finally:
            end(child)
        outputs = []
        for file in (stdout, stderr):
            file.seek(0)
            outputs.append(file.read())
    return subprocess.CompletedProcess(command, child.returncode, *outputs)


def ending(status: int) -> str:
    """How a child with this return code has ended: `signal SIGSEGV` or `exit status 3`."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:
        return f"signal {-status}"


def failure(done: subprocess.CompletedProcess[bytes]) -> str | None:
    """Why a child has not answered, with the last line that it printed; None if it has."""
    if done.returncode == 0:
        return None
    last = (done.stderr.decode("utf-8", "replace").strip().splitlines() or ["it printed nothing"])[-1]
    return f"its process ended with {ending(done.returncode)}: {last}"


def answer_stream() -> IO[str]:
    """In a child: standard output, for the answer alone.

    What foreign code prints there from now on, also native code and at exit, goes to standard error.
    """
    sys.stdout.flush()
    stream = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return stream


def end_with_parent() -> None:
    """In a child: end this process when its standard input is closed, whatever it does then."""

    def wait() -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 1 << 12):
                pass
        os._exit(1)

    threading.Thread(target=wait, name="parent", daemon=True).start()
