"""From source text to a program of the device, with everything that the compiler says kept and attached.

Programs are built past PyOpenCL's own cache. Some compilers also write to the standard error of the process: that is
caught while they run, and becomes part of the log.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from tempfile import TemporaryFile
from typing import IO

import pyopencl as cl

from vyre_driver.engine.pending import AsyncCall, WaitLimit
from vyre_driver_opencl import aside
from vyre_driver_opencl.errors import status_name
from vyre_foundation.locks import forks_wait_for

OPTIONS = ("-w",)
"""For every program: warnings about emitted source are of no use to a user."""

_POSITION = re.compile(r":(\d+):\d+(?=[:\s])")
"""LINE:COLUMN after a file's name, as all compilers of this family write it."""
_TEMPORARY_FILE = re.compile(r"\S*tempfile_\w+\.cl")


class BuildFailed(Exception):
    """The compiler's refusal: its whole `log`, and the `lines` that it names, counted from 1, in its order."""

    def __init__(self, log: str) -> None:
        super().__init__(log)
        self.log = log
        self.lines = tuple(dict.fromkeys(map(int, _POSITION.findall(log))))


def build(
    context: cl.Context,
    device: cl.Device,
    text: str,
    options: tuple[str, ...] = (),
    wait_limit: WaitLimit | None = None,
) -> cl.Program:
    """Compile and link `text` for one device of the context, or raise `BuildFailed`.

    With `wait_limit` the wait for the compiler can end before the compiler does, which goes on by itself then.
    """
    return _built(aside.program_of(context, text.encode()), device, options, wait_limit)


def load(context: cl.Context, device: cl.Device, binary: bytes) -> cl.Program:
    """A program from the binary of one that was built for this device, or `BuildFailed`."""
    try:
        program = cl.Program(context, [device], [binary])
    except cl.Error as error:
        raise BuildFailed(str(error)) from error
    return _built(program, device, (), None)


def _built(
    program: cl.Program, device: cl.Device, options: tuple[str, ...], wait_limit: WaitLimit | None
) -> cl.Program:
    output: list[str] = []
    build_it = partial(aside.build, program, device, (*OPTIONS, *options))
    with _standard_error_into(output):
        failed = build_it() if wait_limit is None else AsyncCall(build_it).result(wait_limit, "compilation")
    output.append(program.get_build_info(device, cl.program_build_info.LOG) or "")  # type: ignore[no-untyped-call]
    log = _TEMPORARY_FILE.sub("<source>", "\n".join(filter(None, map(str.strip, output))))
    if failed:
        raise BuildFailed(log or f"clBuildProgram failed: {status_name(failed)}")
    if log:
        logging.getLogger("vyre.opencl.compiler").debug("%s", log)
    return program


_one_at_a_time = threading.RLock()
"""Held while the file descriptor 2 is another one."""
forks_wait_for(_one_at_a_time)


@contextmanager
def _standard_error_into(output: list[str]) -> Iterator[None]:
    """Append to `output` what anything in the process, libraries included, writes to file descriptor 2 meanwhile."""
    with _one_at_a_time, _sink() as sink:
        try:
            saved = os.dup(2)
        except OSError:  # there is no standard error: nothing to catch
            yield
            return
        try:
            os.dup2(sink.fileno(), 2)
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)
            sink.seek(0)
            output.append(sink.read().decode("utf-8", "replace"))


def _sink() -> IO[bytes]:
    """A file without a name, in memory where the system has such files."""
    return os.fdopen(os.memfd_create("said"), "w+b") if hasattr(os, "memfd_create") else TemporaryFile()
