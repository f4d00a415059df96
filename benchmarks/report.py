"""From rows to tables in Markdown: what stands where is decided by each suite, how it looks is decided here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from records import Record

NOTHING = "–"


@dataclass(slots=True)
class Table:
    """Cells as text, by the names of their row and of their column."""

    head: tuple[str, ...]
    columns: list[str] = field(default_factory=list)
    rows: dict[tuple[str, ...], dict[str, str]] = field(default_factory=dict)
    title: str = ""

    def titled(self, title: str) -> Table:
        self.title = title
        return self

    def markdown(self) -> str:
        lines = [[*self.head, *self.columns], [*("---" for _ in self.head), *("--:" for _ in self.columns)]]
        lines += [[*names, *(cells.get(c, NOTHING) for c in self.columns)] for names, cells in self.rows.items()]
        rows = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return f"{self.title}:\n\n{rows}\n" if self.title else f"{rows}\n"


def pivot(
    records: Iterable[Record], rows: Sequence[str], columns: Sequence[str], show: Callable[[Record], str]
) -> Table:
    """A table of measured rows; `rows` and `columns` are the fields that name them, in the order of appearance."""
    table = Table(tuple(rows))
    for record in records:
        if "median" in record:
            name = tuple(_text(record[key]) for key in rows)
            column = " ".join(filter(None, (_text(record[key]) for key in columns)))
            if column not in table.columns:
                table.columns.append(column)
            table.rows.setdefault(name, {})[column] = show(record)
    return table


def _text(value: object) -> str:
    return f"{value:,}".replace(",", " ") if isinstance(value, int) else str(value)


def figure(value: float) -> str:
    """Three digits, and no exponent."""
    if value == 0 or value >= 100:
        return f"{value:,.0f}".replace(",", " ")
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3g}"


def per(record: Record, scale: float = 1.0) -> str:
    """Time for a unit of work; `scale` 1e6 gives microseconds."""
    return figure(record["median"] / record["amount"] * scale)


def rate(record: Record, scale: float = 1.0) -> str:
    """Work in a second; `scale` 1e-6 gives millions."""
    return figure(record["amount"] / record["median"] * scale)


def with_best(show: Callable[[Record], str]) -> Callable[[Record], str]:
    """The figure of the median, and that of the best run in brackets: on a busy machine the two are far apart."""
    return lambda record: f"{show(record)} ({show({**record, 'median': record['best']})})"


def spread(record: Record, scale: float = 1.0) -> str:
    """Time for a unit of work with its quartiles."""
    low, high = (figure(record[part] / record["amount"] * scale) for part in ("p25", "p75"))
    return f"{per(record, scale)} ({low}–{high})"


def ratio(record: Record | None, base: Record | None) -> str:
    """Time for a unit of work beside that of another row."""
    if record is None or base is None or "median" not in record or "median" not in base:
        return NOTHING
    return f"{record['median'] / record['amount'] / (base['median'] / base['amount']):.2f}"


def skipped(records: Iterable[Record]) -> str:
    """Who was not measured, and why; each reason once."""
    found: dict[tuple[str, str], list[str]] = {}
    for record in records:
        if "skipped" in record:
            cases = found.setdefault((record["peer"], record["skipped"]), [])
            if record["case"] not in cases:
                cases.append(record["case"])
    return "".join(f"- {peer} ({', '.join(cases)}): {reason}\n" for (peer, reason), cases in found.items())
