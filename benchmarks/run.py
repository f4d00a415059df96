"""Measure vyre beside its peers.

    hatch run bench                       # everything, with the peers that are installed
    hatch run bench dispatch --peers numba,jax
    hatch run bench --output results      # also figures and tables in that folder
    hatch run bench --record              # everything into benchmarks/RESULTS.md and benchmarks/results/

Peers are in requirements-peers.txt; install them beside the packages of vyre, or in an environment of their own.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import environment
from harness import Peer, Plan, Record, Scale, measure
from report import section

HERE = Path(__file__).parent
SUITES = ("ir", "evaluators", "dispatch", "kernels", "startup")
RESULTS, FIGURES = HERE / "RESULTS.md", HERE / "results"


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed(arguments)
    plan = Plan(scale=Scale.TOY if options.toy else Scale.FULL, rounds=options.rounds)
    facts = environment.describe()
    print(environment.as_text(facts))
    measured = False
    for suite in options.suites or SUITES:
        moment = environment.Moment()
        records = measure(suite, plan, lambda name, peer: takes_part(name, peer, options.peers), say)
        content = rendered(suite, moment.as_text(), records)
        print(content)
        if options.output:
            write(options.output, suite, content, as_json(facts, moment, records))
        if options.record:
            record({"environment": environment.as_text(facts), suite: content})
            (FIGURES / f"{suite}.json").write_text(as_json(facts, moment, records), "utf-8")
        measured |= any("median" in row for row in records)
    return 0 if measured else 1


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"which of {', '.join(SUITES)}; all without one")
    parser.add_argument("--rounds", type=int, default=9, help="turns that every peer gets")
    parser.add_argument("--peers", help='beginnings of names, "numba,jax"; "none" measures vyre alone')
    parser.add_argument("--output", type=Path, help="a folder for the figures and tables of each suite")
    parser.add_argument("--record", action="store_true", help="bring RESULTS.md and results/ up to date")
    parser.add_argument("--toy", action="store_true", help="tiny sizes: shows that everything runs, measures nothing")
    options = parser.parse_args(arguments)
    if unknown := set(options.suites) - set(SUITES):
        parser.error(f"no suite is called {', '.join(sorted(unknown))}; there are {', '.join(SUITES)}")
    return options


def takes_part(name: str, peer: Peer, wanted: str | None) -> bool:
    """vyre always; the others unless they are left out."""
    beginnings = tuple(part.strip().casefold() for part in wanted.split(",")) if wanted else ("",)
    return name.startswith("vyre") or name.casefold().startswith(beginnings)


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def rendered(name: str, when: str, records: Sequence[Record]) -> str:
    suite = import_module(f"suites.{name}")
    return section(suite.TITLE, when, suite.tables(records), records)


def write(folder: Path, suite: str, content: str, figures: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{suite}.md").write_text(content, "utf-8")
    (folder / f"{suite}.json").write_text(figures, "utf-8")


def record(contents: dict[str, str]) -> None:
    """Replace what stands between the marks of each name; what people have written around it stays."""
    text = RESULTS.read_text("utf-8")
    for name, content in contents.items():
        marked = rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)"
        text = re.sub(marked, partial(_between, content), text, flags=re.DOTALL)
    RESULTS.write_text(text, "utf-8")


def _between(content: str, marks: re.Match[str]) -> str:
    return f"{marks[1]}\n{content}\n{marks[2]}"


def as_json(facts: dict[str, Any], moment: environment.Moment, records: Sequence[Record]) -> str:
    """One row a line, so that a difference can be read."""
    head = json.dumps(facts | moment.facts(), indent=1, ensure_ascii=False)
    rows = ",\n".join(f"  {json.dumps(row, ensure_ascii=False)}" for row in records)
    return f'{{"environment": {head},\n"rows": [\n{rows}\n]}}\n'


if __name__ == "__main__":
    sys.exit(main())
