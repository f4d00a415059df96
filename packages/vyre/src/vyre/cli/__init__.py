"""The command line. Distributions add commands through the entry point group ``vyre.cli``."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from importlib.metadata import EntryPoint
from typing import Any, NamedTuple

import click

import vyre
from vyre.cli.exit import ExitCode
from vyre_driver.observe.printable import degrade
from vyre_driver.observe.writing import standard_output
from vyre_foundation.errors import DamagedDistribution
from vyre_foundation.plugins import entry_points

GROUP = "vyre.cli"
"""The entry point group of commands."""


class Command(NamedTuple):
    """A command of this distribution, imported when it is called."""

    reference: str
    """``module:attribute``."""
    summary: str
    """Its line in `vyre --help`."""


COMMANDS = {
    "backends": Command("vyre.cli.machine:backends", "List the registered backends, most preferred first."),
    "cache": Command("vyre.cli.cache:cache", "Inspect, verify, prune or clear the compilation cache."),
    "compile": Command("vyre.cli.compile:compile_command", "Compile a program ahead of time."),
    "demo": Command("vyre.cli.demo:demo", "Run four jobs on real input and compare every byte."),
    "devices": Command("vyre.cli.machine:devices", "Show the device of each available backend."),
    "doctor": Command("vyre.cli.machine:doctor", "Check versions, environment and every backend."),
    "explain": Command("vyre.cli.explain:explain", "Explain an error code, or what is decided about a program."),
    "graph": Command("vyre.cli.graph:graph", "Show or run a recorded graph of dispatches."),
    "natives": Command("vyre.cli.natives:natives", "Measure a device's own elementary functions."),
    "ops": Command("vyre.cli.ops:ops", "List the operations, with their types."),
    "profile": Command("vyre.cli.profile:profile_command", "Profile a program or a graph, beside the device's roofs."),
    "replay": Command("vyre.cli.replay:replay_command", "Run a replay capsule again and compare every byte."),
    "run": Command("vyre.cli.program:run", "Run a program, or a compiled artifact, over files."),
    "show": Command("vyre.cli.show:show", "Print a program, its facts, plan, passes or source."),
    "tune": Command("vyre.cli.tune:tune", "Measure which launch of a program is the fastest."),
    "validate": Command("vyre.cli.program:validate", "Validate a program and print all findings."),
}


ELSEWHERE = {"conform": Command("vyre-conform", "Prove that backends conform, byte for byte.")}
"""Commands of other distributions of this project, by the name of the distribution: it may not be installed."""


class Commands(click.Group):
    """The built-in commands, and those that other distributions register as entry points."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted({*COMMANDS, *(entry.name for entry in entry_points(GROUP))})

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name in COMMANDS:
            return _loaded(EntryPoint(name, COMMANDS[name].reference, GROUP))
        for entry in entry_points(GROUP):
            if entry.name == name:
                return _loaded(entry)
        if name in ELSEWHERE:
            return _failing(name, f"{name!r} is not installed. Fix: pip install {ELSEWHERE[name].reference}")
        return None

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """As in `click.Group`, without an import of the commands whose summary is known."""
        known = COMMANDS | ELSEWHERE
        rows = []
        for name in self.list_commands(context):
            if name in known:
                rows.append((name, known[name].summary))
            elif command := self.get_command(context, name):
                rows.append((name, command.get_short_help_str(60)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)

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
        with standard_output():
            sys.exit(self._code(args, prog_name, complete_var, **extra))

    def _code(self, args: Sequence[str] | None, prog_name: str | None, complete_var: str | None, **extra: Any) -> int:
        """Run a command; the exit code of the process."""
        try:
            code = super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        except click.ClickException as error:
            error.show()
            if "Fix: " not in error.format_message():
                context = getattr(error, "ctx", None)
                path = "vyre" if context is None else context.command_path
                click.echo(f"Fix: correct the command; `{path} --help` lists what it takes", err=True)
            code = error.exit_code
        except DamagedDistribution as error:
            click.echo(f"error[{error.code}]: {error}", err=True)
            code = ExitCode.UNAVAILABLE
        except click.Abort:
            click.echo("Aborted!", err=True)
            code = ExitCode.INTERRUPTED
        return code if isinstance(code, int) else ExitCode.OK


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

    FILE is a program as text or bytes, as `vyre.print_program(kernel.program)` and `vyre.encode(kernel.program)` give
    them in Python.

    \b
    Exit codes: 0 done and agreed, 1 a check failed,
    2 wrong usage, or a file or standard output that cannot be read or written,
    3 backend, device or optional package not available, 4 the dispatch failed,
    130 interrupted (Ctrl-C), 141 the reader of standard output has gone.
    """  # noqa: D301
    if "log" in os.environ.get("VYRE_OBSERVE", "").casefold():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-8s %(message)s"))
        logging.getLogger("vyre").addHandler(handler)
        logging.getLogger("vyre").setLevel(logging.DEBUG)


__all__ = ["COMMANDS", "ExitCode", "main"]
