"""The command: ``vyre-conform``, and ``vyre conform`` where the front door is installed."""

from __future__ import annotations

import sys
from typing import Any

import click

import vyre_conform
from vyre_conform.cli.results import certify, diff, merge, report, verify
from vyre_conform.cli.running import controls, list_, replay, run, show_, sweep
from vyre_conform.run import Exit
from vyre_driver.observe.printable import degrade
from vyre_driver.observe.writing import standard_output


class InterruptibleGroup(click.Group):
    """Commands that an interrupt from the keyboard ends with a status of its own."""

    def invoke(self, context: click.Context) -> Any:
        """As in `click.Group`."""
        try:
            return super().invoke(context)
        except KeyboardInterrupt:
            click.echo("Aborted!", err=True)
            sys.exit(Exit.INTERRUPTED)


@click.group(cls=InterruptibleGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(vyre_conform.__version__, prog_name="vyre-conform")
def conform() -> None:
    """Prove that backends conform to the language, byte for byte.

    \b
    Exit codes: 0 proven, 1 a cell failed (or a planted fault survived, or a replay differs),
    2 wrong usage, or a file or standard output that cannot be read or written,
    3 a backend is not available, 4 the opinions disagree about a case,
    5 `run` was interrupted, or an opinion was not given in time, 6 a backend passes no cell,
    130 another command was interrupted (Ctrl-C), 141 the reader of standard output has gone.
    """  # noqa: D301


for _command in (run, list_, show_, replay, controls, sweep, report, diff, merge, certify, verify):
    conform.add_command(_command)


def main() -> None:
    """The entry point."""
    degrade(sys.stdout, sys.stderr)
    with standard_output():
        conform(prog_name="vyre-conform")
