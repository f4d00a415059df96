"""Measure vyre beside its peers.

    hatch run bench                       # everything, with the peers that are installed
    hatch run bench dispatch --peers numba,jax
    hatch run bench --output results      # also FIGURES.json and tables.md in that folder
    hatch run bench --record              # everything into benchmarks/RESULTS.md and benchmarks/results/

Peers are in requirements-peers.txt; install them beside the packages of vyre, or in an environment of their own.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import environment
from harness import Peer, Plan, Record, Scale, measure
from report import section

HERE = Path(__file__).parent
SUITES = ("ir", "evaluators", "dispatch", "kernels", "startup")
RESULTS, FIGURES = HERE / "RESULTS.md", HERE / "results" / "figures.json"


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed(arguments)
    plan = Plan(scale=Scale.TOY if options.toy else Scale.FULL, rounds=options.rounds)
    facts = environment.describe()
    records: list[Record] = []
    began = time.perf_counter()
    for suite in options.suites or SUITES:
        records += measure(suite, plan, lambda name, peer: takes_part(name, peer, options.peers), say)
    facts |= {"seconds": round(time.perf_counter() - began), "load_after": environment.load()}
    sections = {suite: rendered(suite, records) for suite in SUITES if any(row["suite"] == suite for row in records)}
    print("\n".join([environment.as_text(facts), *sections.values()]))
    if options.output:
        write(options.output, facts, records, sections)
    if options.record:
        record(facts, records, sections)
    return 0 if any("median" in row for row in records) else 1


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"which of {', '.join(SUITES)}; all without one")
    parser.add_argument("--rounds", type=int, default=9, help="turns that every peer gets")
    parser.add_argument("--peers", help='beginnings of names, "numba,jax"; "none" measures vyre alone')
    parser.add_argument("--output", type=Path, help="a folder for figures.json and tables.md")
    parser.add_argument("--record", action="store_true", help="bring RESULTS.md and its figures up to date")
    parser.add_argument("--toy", action="store_true", help="tiny sizes: shows that everything runs, measures nothing")
    return parser.parse_args(arguments)


def takes_part(name: str, peer: Peer, wanted: str | None) -> bool:
    """vyre always; the others unless they are left out."""
    beginnings = tuple(part.strip().casefold() for part in wanted.split(",")) if wanted else ("",)
    return name.startswith("vyre") or name.casefold().startswith(beginnings)


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def rendered(name: str, records: Sequence[Record]) -> str:
    suite, rows = import_module(f"suites.{name}"), [row for row in records if row["suite"] == name]
    return section(suite.TITLE, suite.tables(rows), rows)


def write(folder: Path, facts: dict[str, Any], records: Sequence[Record], sections: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "figures.json").write_text(as_json(facts, records), "utf-8")
    (folder / "tables.md").write_text("\n".join([environment.as_text(facts), *sections.values()]), "utf-8")


def record(facts: dict[str, Any], records: Sequence[Record], sections: dict[str, str]) -> None:
    """Replace what stands between the marks of each suite; what people have written around it stays."""
    text = RESULTS.read_text("utf-8")
    for name, content in {"environment": environment.as_text(facts), **sections}.items():
        marked = rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)"
        text = re.sub(
            marked, lambda found, content=content: f"{found[1]}\n{content}\n{found[2]}", text, flags=re.DOTALL
        )
    RESULTS.write_text(text, "utf-8")
    FIGURES.parent.mkdir(exist_ok=True)
    FIGURES.write_text(as_json(facts, records), "utf-8")


def _between(content: str, marks: re.Match[str]) -> str:
    return f"{marks[1]}\n{content}\n{marks[2]}"


def as_json(facts: dict[str, Any], records: Sequence[Record]) -> str:
    """One row a line, so that a difference can be read."""
    rows = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in records)
    return f'{{"environment": {json.dumps(facts, indent=1, ensure_ascii=False)},\n"rows": [\n{rows}\n]}}\n'


if __name__ == "__main__":
    sys.exit(main())
