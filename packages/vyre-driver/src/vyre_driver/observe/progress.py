"""Progress of long work, such as compiling: reported to the watcher of the context, if it has one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol


class ProgressWatcher(Protocol):
    """Shows progress, as a bar or a line."""

    def begin(self, what: str, total: int) -> Any:
        """Show work of so many steps: a handle for the other calls."""

    def advance(self, task: Any, steps: int) -> None:
        """Show that more steps are done."""

    def end(self, task: Any) -> None:
        """The work is over, done or not."""


_watcher: ContextVar[ProgressWatcher | None] = ContextVar("vyre_progress", default=None)


@contextmanager
def watching(watcher: ProgressWatcher) -> Iterator[None]:
    """Report progress to a watcher while the context lasts, for this thread and the tasks that it begins.

    Args:
        watcher: What shows it.
    """
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Report the progress of the context.

    Args:
        what: What is done, as a watcher shows it.
        total: Of how many steps it consists.

    Returns:
        A function to call with the number of steps that are done in addition.
    """
    watcher = _watcher.get()
    if watcher is None:
        yield _ignore
        return
    task = watcher.begin(what, total)
    try:
        yield lambda steps: watcher.advance(task, steps)
    finally:
        watcher.end(task)


def _ignore(steps: int) -> None:
    """Nobody watches."""
