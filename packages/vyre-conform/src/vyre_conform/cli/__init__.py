"""The command: ``vyre-conform``, and ``vyre conform`` where the front door is installed."""

from __future__ import annotations

import sys

import click

import vyre_conform
from vyre_conform.cli.results import certify, diff, merge, report, verify
from vyre_conform.cli.running import controls, list_, replay, run, show_, sweep
from vyre_driver.observe.printable import degrade


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(vyre_conform.__version__, prog_name="vyre-conform")
def conform() -> None:
    """Prove that backends conform to the language, byte for byte.

    \b
    Exit codes: 0 proven, 1 a cell failed (or a planted fault survived, or a replay differs), 2 wrong usage,
    3 a backend is not available, 4 the evaluators disagree about a case, 5 the run was interrupted,
    6 a backend passes no cell.
    """  # noqa: D301


for _command in (run, list_, show_, replay, controls, sweep, report, diff, merge, certify, verify):
    conform.add_command(_command)


def main() -> None:
    """The entry point."""
    degrade(sys.stdout, sys.stderr)
    conform(prog_name="vyre-conform")
