"""Compilation in a process of its own: a compiler that crashes or hangs there is an error here.

It costs the start of a process, so it is for code that has ended a compiler before,
and for users who ask for it.
The child gets the emitted unit, compiles and runs it once, because some runtimes compile a part then, and gives the
port's `binary` back. Nothing of the program is optimized, lowered or printed twice.
"""

from __future__ import annotations

import pickle
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from vyre_driver import process
from vyre_driver.backend.config import DispatchConfig
from vyre_driver.engine.pending import Deadline
from vyre_driver.engine.port import OpenPort, SourceUnit
from vyre_driver.errors import BackendError, KernelCompileFailed, UnsupportedFeature
from vyre_driver.pipeline.executable import ExecutableManifest
from vyre_driver.pipeline.settings import TIMEOUT, GuardSettings
from vyre_foundation.ir.program import Program
from vyre_foundation.wire import encode

_CHILD = """
import sys
folder, seconds, *path = sys.argv[1:]
sys.path[:] = [*path, *(entry for entry in sys.path if entry not in path)]
from vyre_driver.engine.artifact import main
main(folder, float(seconds))
"""
ORDER, ANSWER, LOG = "order", "answer", "log"
"""The files of one compilation: what the child is to do, what it made of that, and what it printed."""
TAIL = 2000
"""Characters of what a dead compiler said last."""


@dataclass(frozen=True, slots=True)
class CompileOrder:
    """What the child is to do, as a pickle; program and executable are in their own bytes."""

    open_port: OpenPort
    unit: SourceUnit
    queue: int
    config: DispatchConfig
    program: bytes
    executable: bytes


class Guard:
    """Makes children for one backend. `open_port` must be a function that another process can import."""

    def __init__(self, backend: str, open_port: OpenPort, settings: GuardSettings) -> None:
        self._backend, self._open_port, self._settings = backend, open_port, settings

    def compile(
        self,
        unit: SourceUnit,
        executable: ExecutableManifest,
        program: Program,
        config: DispatchConfig,
        queue: int,
        deadline: Deadline | None,
    ) -> bytes | None:
        """The binary of a unit; None where the port gives none away, and the child has shown that it compiles.

        `KernelCompileFailed` if the child crashes or takes too long; what it raises is raised here.
        """
        order = CompileOrder(self._open_port, unit, queue, config, encode(program), executable.to_bytes())
        with tempfile.TemporaryDirectory(prefix="vyre-compile-") as name:
            folder = Path(name)
            (folder / ORDER).write_bytes(self._pickled(order))
            status = self._run(folder, unit, deadline)
            if (folder / ANSWER).exists():
                given = pickle.loads((folder / ANSWER).read_bytes())  # noqa: S301 - of our own child
                if isinstance(given, BackendError):
                    raise given
                return None if given is None else bytes(given)
            last = (folder / LOG).read_text("utf-8", "replace")[-TAIL:]
        raise self._failed(unit, f"it crashed ({_ending(status)})\n{last}".rstrip())

    def _pickled(self, order: CompileOrder) -> bytes:
        try:
            return pickle.dumps(order)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            reason = f"compiling in a process of its own, which cannot open the device ({error})"
            fix = "give EngineBackend a function of a module, such as functools.partial(open_mine, id)"
            raise UnsupportedFeature(reason, backend=self._backend, fix=fix) from error

    def _run(self, folder: Path, unit: SourceUnit, deadline: Deadline | None) -> int:
        """Run a child to its end, which comes at the latest when the time is over. Its exit status."""
        left = None if deadline is None else deadline.remaining()
        limit = self._settings.timeout if left is None else min(left, self._settings.timeout)
        command = process.python("-X", "faulthandler", "-c", _CHILD, str(folder), str(limit), *process.search_path())
        with (folder / LOG).open("wb") as log:
            child = process.start(command, stdout=log, stderr=log)
            try:
                child.wait(limit)
            except subprocess.TimeoutExpired:
                if deadline is not None and limit == left:
                    raise deadline.passed("compilation") from None
                raise self._failed(unit, f"it did not end within {limit:g} s ({TIMEOUT})") from None
            finally:
                process.end(child)
        return child.returncode

    def _failed(self, unit: SourceUnit, log: str) -> KernelCompileFailed:
        fix = f"report the program with the emitted `source`; {TIMEOUT} says how long a compiler may take"
        return KernelCompileFailed(self._backend, log, source=unit.text, fix=fix)


def _ending(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
