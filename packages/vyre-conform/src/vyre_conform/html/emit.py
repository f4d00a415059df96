"""What a backend's compiler gets for a program, from a process of its own: opening a device may end it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from vyre_conform.worker.opening import NamedBy, open_backend
from vyre_driver import process
from vyre_foundation.errors import VyreError
from vyre_foundation.ir.program import Program
from vyre_foundation.wire import decode

SECONDS = 60.0


def emitted(backend: str, program: Program, named_by: NamedBy) -> str:
    """The source, or why there is none."""
    with tempfile.TemporaryDirectory(prefix="vyre-emit-") as folder:
        file = Path(folder) / "program"
        file.write_bytes(program.encode())
        command = process.python("-m", __name__, named_by.value, backend, str(file))
        try:
            done = process.run(command, seconds=SECONDS)
        except subprocess.TimeoutExpired:
            return f"nothing came within {SECONDS:g} s"
    if done.returncode != 0:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return f"it was not emitted: {last or f'exit status {done.returncode}'}"
    return done.stdout.decode("utf-8", "replace").strip()


def main(named_by: str, backend_id: str, file: str) -> None:
    """Print what becomes of the program in a file."""
    program = decode(Path(file).read_bytes())
    try:
        backend = open_backend(backend_id, NamedBy(named_by))
    except VyreError as error:
        sys.exit(str(error))
    source = getattr(backend, "emitted_source", None)
    sys.stdout.write(source(program).text if source is not None else f"{backend_id} does not show what it emits")
    backend.shutdown()


if __name__ == "__main__":
    process.end_with_parent()
    main(*sys.argv[1:])
