"""What several commands share: options, files, and errors of their use."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

from vyre_conform.certificate import certify, sign, write_certificate
from vyre_conform.html import write_page
from vyre_conform.junit import write_junit
from vyre_conform.plain import checked, read_json, require
from vyre_conform.report import Kill, Report
from vyre_conform.run import Exit
from vyre_conform.show import command
from vyre_conform.worker import NamedBy
from vyre_driver.cpus import usable_cpus
from vyre_driver.observe import writing as places
from vyre_foundation.errors import VyreError

F = TypeVar("F", bound=Callable[..., Any])


class LaunchSeconds(click.FloatRange):
    """Seconds in a range. click finds nan within every range; it is refused here."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number of seconds."""
        seconds = super().convert(value, param, ctx)
        if math.isnan(seconds):
            self.fail(f"{value} is not a number of seconds.", param, ctx)
        return seconds


class InputFile(click.Path):
    """A file that a command reads, or a pipe. Devices are refused: some never end."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path of the file."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        if path.is_char_device() or path.is_block_device():
            self.fail(f"{path} is a device. Fix: name a file", param, ctx)
        return path


IN = InputFile(path_type=Path, exists=True, dir_okay=False)
OUT = click.Path(path_type=Path, dir_okay=False)

backends = click.option(
    "--backend",
    "backends",
    multiple=True,
    metavar="ID",
    help="Backend to test; by default all that are available. Repeatable.",
)
seed = click.option("--seed", default=0, show_default=True, help="Seed of random values and random programs.")
seconds = click.option(
    "--seconds",
    type=LaunchSeconds(min=0, max=3600, min_open=True),
    default=60.0,
    show_default=True,
    help="Time limit of one launch, in seconds.",
)
repeats = click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="Number of dispatches of each case; their results must agree.",
)

jobs = click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=usable_cpus,
    show_default="cores",
    help="Number of parallel processes.",
)


def console() -> Console:
    """Where reports go; ``traps:one`` is an address and no picture."""
    return Console(emoji=False)


def written(function: F) -> F:
    """The options of what a report is written as; `write` takes them."""
    for option in (
        click.option("--sign", "key", type=IN, metavar="KEY", help="Sign the certificate with this PEM key."),
        click.option(
            "--certificate", type=OUT, metavar="FILE", help="Write a certificate, or report why there is none."
        ),
        click.option("--html", type=OUT, metavar="FILE", help="Write the report as one HTML page."),
        click.option("--junit", type=OUT, metavar="FILE", help="Write JUnit XML."),
        click.option("--json", "json_file", type=OUT, metavar="FILE", help="Write the report as JSON."),
    ):
        function = option(function)
    return function


def write(
    report: Report,
    argv: list[str],
    *,
    json_file: Path | None,
    junit: Path | None,
    html: Path | None,
    certificate: Path | None,
    key: Path | None,
    named_by: NamedBy = NamedBy.FILE,
) -> None:
    """Write a report in the forms that were asked for. A run that cannot be certified is an error after all else.

    `named_by` says where the names of its backends come from: the page asks them for emitted source.
    """
    if json_file is not None:
        with writing(json_file, "--json"):
            _write_json(report, json_file)
    if junit is not None:
        with writing(junit, "--junit"):
            write_junit(report.run, junit)
    if html is not None:
        with writing(html, "--html"):
            write_page(report, html, named_by=named_by)
    if certificate is not None:
        with usage():
            document = certify(report, argv)
            if key is not None:
                document = sign(document, key)
        with writing(certificate, "--certificate"):
            write_certificate(document, certificate)
        for public in document.signatures:
            click.echo(f"signed; the line of a file for verify --trust: {public}  NAME")


def _write_json(report: Report, path: Path) -> None:
    facts = report.to_json()
    for cell, plain in zip(report.run.cells, facts["cells"], strict=True):
        if cell.state.is_bad:
            plain["command"] = command(cell, report.run.task)
    path.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", "utf-8")


def read_kills(path: Path | None) -> list[Kill]:
    """What ``controls --json`` has written; none without a file."""
    if path is None:
        return []
    try:
        return [checked(Kill, facts) for facts in require(read_json(path.read_text("utf-8")), list, what="the file")]
    except ValueError as error:
        raise click.UsageError(f"{path} holds no kills: {error}. Fix: write it by `controls --json`") from error


def write_kills(kills: list[Kill], path: Path) -> None:
    """Write the result of the planted faults as JSON, which `read_kills` reads."""
    with writing(path, "--json"):
        path.write_text(json.dumps([asdict(kill) for kill in kills], indent=1, ensure_ascii=False) + "\n", "utf-8")


class NotWritten(click.ClickException):
    """A file that could be written when the command began, and cannot any more."""

    exit_code = Exit.USAGE


@contextmanager
def writing(path: Path, option: str) -> Iterator[None]:
    """As in `vyre_driver.observe.writing`, as one line."""
    try:
        with places.writing(path, option):
            yield
    except VyreError as error:
        raise NotWritten(str(error)) from None


def require_writable(
    *,
    json_file: Path | None = None,
    junit: Path | None = None,
    html: Path | None = None,
    certificate: Path | None = None,
    journal: Path | None = None,
    reproducers: Path | None = None,
    key: Path | None = None,
) -> None:
    """Refuse, before anything runs, files that cannot be written. The parameters are those of the commands.

    `reproducers` is a folder, and `key` is read.
    """
    files = {"--json": json_file, "--junit": junit, "--html": html, "--certificate": certificate, "--journal": journal}
    if reproducers is not None:
        files["--reproducers"] = reproducers / "reproducer.vyre"
    with usage():
        for option, path in files.items():
            if path is not None:
                places.require_writable(path, option)


@contextmanager
def usage() -> Iterator[None]:
    """Errors of vyre, and files that cannot be read, as errors of usage: message and remedy, no traceback, status 2."""
    try:
        yield
    except OSError as error:
        raise click.UsageError(f"{error}. Fix: name files that can be read, and places that can be written") from error
    except VyreError as error:
        raise click.UsageError(str(error)) from error
