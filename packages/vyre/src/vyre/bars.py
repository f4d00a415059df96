"""Progress bars of what takes long: on a terminal, and in a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from vyre_driver.observe.progress import watching


class ProgressBars:
    """A bar for each piece of work that is under way. The display begins with the first."""

    def __init__(self, console: Console) -> None:
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
        self._bars = Progress(*columns, TimeElapsedColumn(), console=console, transient=True)

    def begin(self, what: str, total: int) -> TaskID:
        """See `ProgressWatcher.begin`."""
        self._bars.start()
        return self._bars.add_task(what, total=total)

    def advance(self, task: TaskID, steps: int) -> None:
        """See `ProgressWatcher.advance`."""
        self._bars.advance(task, steps)

    def end(self, task: TaskID) -> None:
        """See `ProgressWatcher.end`."""
        self._bars.remove_task(task)
        if not self._bars.tasks:
            self._bars.stop()


@contextmanager
def progress(console: Console | None = None) -> Iterator[None]:
    """Show progress bars of compiling, profiling and tuning in a ``with`` block.

    They are written to standard error and vanish at the end. There are none if that is neither a terminal nor a
    notebook. A notebook needs ``pip install 'vyre[notebook]'``.

    Args:
        console: Another console for the bars.
    """
    shown = Console(stderr=True) if console is None else console
    if not (shown.is_terminal or shown.is_jupyter):
        yield
        return
    with watching(ProgressBars(shown)):
        yield
