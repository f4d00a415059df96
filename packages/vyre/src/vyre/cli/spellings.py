"""How each backend's device spells the ops, as it was measured: what is printed, and what is not, with the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.text import Text

from vyre.cli.outcome import Answer

COMPOSED = "composed"


def print_spellings(answer: Answer, found: dict[str, dict[str, Any]]) -> None:
    """One table for each backend that answered: the candidates of every op that has several, by type."""
    for backend, report in found.items():
        rows = report.get("spellings", [])
        if "error" in report:
            answer.console.print(f"{backend}: {report['error']}", markup=False)
        elif rows:
            tried = Counter((one["op"], one["type"]) for one in rows)
            shown = [_row(one, rows) for one in rows if tried[one["op"], one["type"]] > 1]
            answer.table(backend, ("op", "type", "text", "ps", "verdict"), shown)
        else:
            answer.console.print(f"{backend}: the order of its table. `vyre doctor --prove` measures the others")


def _row(one: dict[str, Any], rows: Sequence[dict[str, Any]]) -> tuple[str | Text, ...]:
    text, picoseconds = one["text"] or COMPOSED, one["picoseconds"]
    time = "–" if picoseconds is None else f"{picoseconds:.0f}"
    return one["op"], one["type"], text, time, _verdict(one, rows)


def _verdict(one: dict[str, Any], rows: Sequence[dict[str, Any]]) -> str | Text:
    if one["wrong"]:
        return Text(one["wrong"], "red")
    if one["chosen"]:
        return Text("chosen", "green")
    best = next((row for row in rows if row["chosen"] and (row["op"], row["type"]) == (one["op"], one["type"])), None)
    if best is None or best["picoseconds"] is None or one["picoseconds"] is None:
        return ""
    ratio = one["picoseconds"] / best["picoseconds"]
    return f"× {ratio:.2f}"
