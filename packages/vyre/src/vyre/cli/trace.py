"""The option `--trace` of commands that run something."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from vyre.cli.source import writing
from vyre_driver.backend.contract import VyreBackend
from vyre_driver.observe.live import traced
from vyre_driver.observe.trace import Trace

TRACE = click.option("--trace", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
                     help="Write a trace for ui.perfetto.dev: compilation, transfers, kernels, waits.")  # fmt: skip


@contextmanager
def tracing(backend: VyreBackend, file: Path | None) -> Iterator[VyreBackend]:
    """`backend`, with a trace of what the context does in `file`, if there is one; it is written after failures too."""
    if file is None:
        yield backend
        return
    trace = Trace()
    traced_backend = traced(backend, trace)
    try:
        yield traced_backend
    finally:
        with writing(file, "--trace"):
            trace.write(file)
