"""``python -m vyre_conform.html.emit BACKEND``: what a backend's compiler gets for the program on standard input.

A process of its own, because opening a device may end it.
"""

from __future__ import annotations

import subprocess
import sys

from vyre_conform.worker.serve import open_backend
from vyre_foundation.ir.program import Program
from vyre_foundation.wire import decode

SECONDS = 60.0


def emitted(backend: str, program: Program) -> str:
    """The source, or why there is none."""
    command = [sys.executable, "-m", "vyre_conform.html.emit", backend]
    try:
        done = subprocess.run(command, input=program.encode(), capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"nothing came within {SECONDS:g} s"
    words = done.stdout if done.returncode == 0 else done.stderr[-2000:]
    return words.decode("utf-8", "replace").strip()


def main(backend_id: str) -> int:
    import vyre_foundation.testing.dialect  # noqa: F401 - random programs call its ops

    program = decode(sys.stdin.buffer.read())
    backend = open_backend(backend_id)
    source = getattr(backend, "emitted_source", None)
    sys.stdout.write(source(program).text if source is not None else f"{backend_id} does not show what it emits")
    backend.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
