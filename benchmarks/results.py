"""`RESULTS.md` from the figures on file: tables between marks, and plots. People wrote the text around them."""

from __future__ import annotations

import re
from functools import partial
from importlib import import_module
from pathlib import Path

import environment
import plots
import targets
from harness import SUITES, Scale
from records import Measured, load
from report import skipped

RESULTS = Path(__file__).parent / "RESULTS.md"


def write() -> None:
    """Bring the tables, the plots and the verdicts up to date."""
    measured = {suite: load(suite) for suite in SUITES}
    newest = max(measured.values(), key=lambda each: max((run["date"] for run in each.runs), default=""))
    contents = {suite: section(suite, each) for suite, each in measured.items() if each.rows}
    contents |= {"environment": environment.as_text(newest.environment), "targets": targets.table(measured)}
    plots.write(measured["kernels"])
    text = RESULTS.read_text("utf-8")
    for name, content in contents.items():
        text = _replaced(text, name, content)
    RESULTS.write_text(text, "utf-8")


def section(name: str, measured: Measured) -> str:
    """One suite."""
    suite = import_module(f"suites.{name}")
    tables = [table.markdown() for table in suite.tables(measured.rows) if table.rows]
    missing = skipped(measured.rows)
    parts = [f"## {suite.TITLE}\n\n{measured.when()}", *tables, *([f"Not measured:\n\n{missing}"] if missing else [])]
    return "\n".join(parts)


def in_order(name: str, measured: Measured) -> Measured:
    """In the order of the suite's cases, without those that it has no more."""
    cases = [case.name for case in import_module(f"suites.{name}").cases(Scale.FULL)]
    return measured.in_order(list(dict.fromkeys(cases)))


def _replaced(text: str, name: str, content: str) -> str:
    """With `content` between the marks of a name; what people have written around it stays."""
    marked = rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)"
    return re.sub(marked, partial(_between, content), text, flags=re.DOTALL)


def _between(content: str, marks: re.Match[str]) -> str:
    return f"{marks[1]}\n{content}\n{marks[2]}"
