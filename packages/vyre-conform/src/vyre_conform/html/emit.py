"""What a backend's compiler gets for a program, from a process of its own: opening a device may end it."""

from __future__ import annotations

import subprocess
import sys

from vyre_conform.worker.serve import open_backend
from vyre_foundation.ir.program import Program
from vyre_foundation.wire import decode

SECONDS = 60.0


def emitted(backend: str, program: Program) -> str:
    """The source, or why there is none."""
    command = [sys.executable, "-c", f"import sys; from {__name__} import main; sys.exit(main(sys.argv[1]))", backend]
    try:
        done = subprocess.run(command, input=program.encode(), capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"nothing came within {SECONDS:g} s"
    if done.returncode != 0:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return f"it was not emitted: {last or f'exit status {done.returncode}'}"
    return done.stdout.decode("utf-8", "replace").strip()


def main(backend_id: str) -> int:
    """Print what becomes of the program on standard input."""
    import vyre_foundation.testing.dialect  # noqa: F401 - random programs call its ops

    program = decode(sys.stdin.buffer.read())
    backend = open_backend(backend_id)
    source = getattr(backend, "emitted_source", None)
    sys.stdout.write(source(program).text if source is not None else f"{backend_id} does not show what it emits")
    backend.shutdown()
    return 0
