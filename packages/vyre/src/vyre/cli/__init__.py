"""The command line. Distributions add commands through the entry point group ``vyre.cli``."""

from __future__ import annotations

import logging
import os
from importlib.metadata import entry_points

import click
from rich.console import Console
from rich.logging import RichHandler

import vyre
from vyre.cli import machine, program
from vyre.cli.cache import cache
from vyre.cli.compile import compile_command
from vyre.cli.demo import demo
from vyre.cli.explain import explain
from vyre.cli.natives import natives
from vyre.cli.ops import ops
from vyre.cli.outcome import Exit
from vyre.cli.replay import replay_command
from vyre_driver.observe.live import OBSERVE

COMMANDS = {
    "backends": machine.backends,
    "cache": cache,
    "compile": compile_command,
    "demo": demo,
    "devices": machine.devices,
    "doctor": machine.doctor,
    "explain": explain,
    "natives": natives,
    "ops": ops,
    "replay": replay_command,
    "run": program.run,
    "show": program.show,
    "validate": program.validate,
}


class Commands(click.Group):
    """The built-in commands, and those of other distributions, which are imported when they are called."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted({*COMMANDS, *(entry.name for entry in entry_points(group="vyre.cli"))})

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name in COMMANDS:
            return COMMANDS[name]
        for entry in entry_points(group="vyre.cli", name=name):
            command = entry.load()
            if isinstance(command, click.Command):
                return command
        return None


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(vyre.__version__, prog_name="vyre")
def main() -> None:
    """Write a data-parallel program once; run it on any installed backend with byte-identical results.

    \b
    Exit codes: 0 done and agreed, 1 a check failed, 2 wrong usage or input file,
    3 backend or device not available, 4 the dispatch failed.
    """
    if "log" in os.environ.get(OBSERVE, ""):
        handler = RichHandler(console=Console(stderr=True), show_path=False, log_time_format="%X.%f")
        logging.getLogger("vyre").addHandler(handler)
        logging.getLogger("vyre").setLevel(logging.DEBUG)


__all__ = ["COMMANDS", "Exit", "main"]
