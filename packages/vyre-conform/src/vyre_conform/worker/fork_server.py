"""``python -m vyre_conform.worker.fork_server MODULE…`` becomes one worker after another, by forks of itself.

The process imports and forks, and does nothing else: a worker finds in it what a new process has after its imports,
and leaves nothing behind. Workers follow one another on its standard streams. One that ends without being asked to
leave ends the process in the same way, so the parent sees what it sees of a worker that was started alone.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
import traceback

from vyre_conform.worker.protocol import Closed, receive, send
from vyre_conform.worker.serve import main as serve

assert sys.platform != "win32"  # which has no `os.fork`

LEFT = 86
"""The exit status of a worker that was asked to leave, and of none that a backend ends."""


def main(*modules: str) -> int:
    """Fork workers until the parent closes its end, or has gone."""
    for module in modules:
        importlib.import_module(module)
    # Nothing may be read ahead: what follows a worker's name is read by the worker.
    commands, answers = os.fdopen(os.dup(0), "rb", buffering=0), os.fdopen(os.dup(1), "wb")
    while True:
        try:
            message, _ = receive(commands)
        except Closed:
            return 0
        worker = os.fork()
        if not worker:
            _become(message["named_by"], message["backend"])
        _, status = os.waitpid(worker, 0)
        if (code := os.waitstatus_to_exitcode(status)) != LEFT:
            return _ended_like(code)
        with contextlib.suppress(BrokenPipeError):
            send(answers, {"ended": True})


def _become(named_by: str, backend: str) -> None:
    """Be a worker, and nothing after that: what follows the fork is its parent's."""
    status = 1
    try:
        status = serve(named_by, backend) or LEFT
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _ended_like(code: int) -> int:
    """The exit status `code`; or this process dies by the same signal, if it is negative."""
    if code < 0:
        with contextlib.suppress(OSError):  # SIGKILL cannot be handled
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
