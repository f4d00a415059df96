"""Timers, and the file of results, of the benchmarks in this folder."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from typing import Any

Row = dict[str, Any]
SAMPLES = 9


def seconds_of(make: Callable[[], object]) -> float:
    started = time.perf_counter()
    make()
    return time.perf_counter() - started


def us_per_call(run: Callable[[int], object], count: int = 2000) -> float:
    """Microseconds per call of `count` calls, the median of several runs."""
    run(count)
    times = []
    for _ in range(SAMPLES):
        started = time.perf_counter()
        run(count)
        times.append(time.perf_counter() - started)
    return round(1e6 * median(times) / count, 3)


def median_of(run: Callable[[], float], samples: int) -> float:
    return median(run() for _ in range(samples))


def us(seconds: float) -> float:
    return round(1e6 * seconds, 2)


class Results:
    """Tables by name, in a file that is written whenever something is added."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.tables: dict[str, list[Row]] = json.loads(file.read_text("utf-8")) if file.exists() else {}
        for name, rows in self.tables.items():
            self.tables[name] = [row for row in rows if "failed" not in row]

    def add(self, name: str, make: Callable[[], Iterable[Row]]) -> None:
        """A table, unless there is one. A failure is written down as a row, and does not end the run."""
        if not self.tables.get(name):
            self.go_on(name, make)

    def go_on(self, name: str, make: Callable[[], Iterable[Row]]) -> None:
        """Add rows to a table."""
        rows = self.tables.setdefault(name, [])
        try:
            for row in make():
                rows.append(row)
                self._write()
        except Exception as error:
            rows.append({"failed": f"{type(error).__name__}: {error}"})
            self._write()

    def _write(self) -> None:
        part = self._file.with_suffix(".part")
        part.write_text(json.dumps(self.tables, indent=1) + "\n", "utf-8")
        part.replace(self._file)

    def status(self) -> int:
        """Print which tables have failed; the exit code."""
        failed = {name: row["failed"] for name, rows in self.tables.items() for row in rows if "failed" in row}
        for name, reason in failed.items():
            print(f"{name}: {reason}", file=sys.stderr)
        return int(bool(failed))
