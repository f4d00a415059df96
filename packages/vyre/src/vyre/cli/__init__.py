"""The command line. Distributions add commands through the entry point group ``vyre.cli``."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any

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
from vyre_driver.observe.printable import degrade

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


ELSEWHERE = {"conform": "vyre-conform"}
"""Commands of other distributions of this project, which may not be installed."""


class Commands(click.Group):
    """The built-in commands, and those of other distributions, which are imported when they are called."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted({*COMMANDS, *(entry.name for entry in entry_points(group="vyre.cli"))})

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name in COMMANDS:
            return COMMANDS[name]
        for entry in entry_points(group="vyre.cli", name=name):
            return _loaded(entry)
        if name in ELSEWHERE:
            return _failing(name, f"{name!r} is not installed. Fix: pip install {ELSEWHERE[name]}")
        return None

    def main(  # the two overloads of click in one
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """As in `click.Group`; a message about wrong usage ends with what to do, and any terminal can show it."""
        degrade(sys.stdout, sys.stderr)
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        try:
            code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except click.ClickException as error:
            error.show()
            if "Fix: " not in error.format_message():
                context = getattr(error, "ctx", None)
                path = "vyre" if context is None else context.command_path
                click.echo(f"Fix: correct the command; `{path} --help` lists what it takes", err=True)
            code = error.exit_code
        except click.Abort:
            click.echo("Aborted!", err=True)
            code = Exit.FAILED
        sys.exit(code if isinstance(code, int) else Exit.OK)


def _loaded(entry: EntryPoint) -> click.Command:
    """The command of another distribution; one that cannot be imported says so when it is called."""
    of = "its distribution" if entry.dist is None else entry.dist.name
    try:
        command = entry.load()
    except Exception as error:  # whatever the import of foreign code raises
        return _failing(entry.name, f"{entry.name!r} cannot be loaded ({error!r}). Fix: reinstall or uninstall {of}")
    if isinstance(command, click.Command):
        return command
    return _failing(entry.name, f"{entry.name!r} is no command but {command!r}. Fix: reinstall or uninstall {of}")


def _failing(name: str, message: str) -> click.Command:
    def fail() -> None:
        raise click.UsageError(message)

    taken = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
    return click.Command(name, callback=fail, short_help=message, context_settings=taken)


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
