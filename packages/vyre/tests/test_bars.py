"""Progress bars: on a terminal, and nothing anywhere else."""

from __future__ import annotations

import io
import sys

import pytest
from rich.console import Console

import vyre as vy
from vyre_driver.observe.progress import progress


def work() -> None:
    with progress("compile <b> [red]x[/red]", 2) as done:
        done(1)
        done(1)


def test_a_terminal_shows_them() -> None:
    screen = io.StringIO()
    with vy.progress(Console(file=screen, force_terminal=True, width=100)):
        work()
        work()
    assert "compile <b> [red]x[/red]" in screen.getvalue()
    assert "0/2" in screen.getvalue()


def test_a_file_gets_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    screen = io.StringIO()
    with vy.progress(Console(file=screen)):
        work()
    assert screen.getvalue() == ""
    with vy.progress():
        work()
    assert (capsys.readouterr().err, sys.stderr.isatty()) == ("", False)


def test_nothing_is_shown_before_there_is_something() -> None:
    screen = io.StringIO()
    with vy.progress(Console(file=screen, force_terminal=True)):
        pass
    assert screen.getvalue() == ""
