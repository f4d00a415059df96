"""Measure vyre beside its peers.

    hatch run bench                       # everything, with the peers that are installed
    hatch run bench dispatch --peers numba,jax
    hatch run bench kernels --cases copy,matmul
    hatch run bench --output results      # also figures and tables in that folder
    hatch run bench --record              # everything into benchmarks/results/, RESULTS.md and its plots
    hatch run bench report                # RESULTS.md and its plots from the figures that are there
    hatch run bench gate                  # counts, not seconds: fails where one has grown; --accept takes them over

Peers are in requirements-peers.txt; install them beside the packages of vyre, or in an environment of their own.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Sequence
from importlib import import_module
from pathlib import Path

import environment
import results
from harness import SUITES, Case, Peer, Plan, Scale, measure
from records import Measured, load, save


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed(arguments)
    match options.suites:
        case ["gate"]:
            import gate

            return gate.main(accept=options.accept)
        case ["report"]:
            results.write()
            return 0
    facts = environment.describe()
    print(environment.as_text(facts))
    plan = Plan(scale=options.scale, rounds=options.rounds)
    measured = [run(suite, plan, facts, options) for suite in options.suites or SUITES]
    if options.record:
        results.write()
    return 0 if any("median" in row for each in measured for row in each.rows) else 1


def run(suite: str, plan: Plan, facts: dict[str, object], options: argparse.Namespace) -> Measured:
    moment = environment.Moment()
    wanted = lambda name, peer: takes_part(name, peer, options.peers)
    records = measure(suite, plan, wanted, lambda case: is_chosen(case, options.cases), say)
    cases = list(dict.fromkeys(row["case"] for row in records))
    measured = Measured(facts, [moment.facts() | {"commit": facts["commit"], "cases": cases}], records)
    print(results.section(suite, measured))
    if options.output:
        save(suite, measured, options.output)
        (options.output / f"{suite}.md").write_text(results.section(suite, measured), "utf-8")
    if options.record:
        save(suite, results.in_order(suite, load(suite).with_newer(measured)))
    return measured


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"which of {', '.join(SUITES)}; all without one")
    parser.add_argument("--rounds", type=int, default=9, help="turns that every peer gets")
    parser.add_argument("--cases", help='names of cases, "copy,matmul"; all without it')
    parser.add_argument("--peers", help='beginnings of names, "numba,jax"; "none" measures vyre alone')
    parser.add_argument("--output", type=Path, help="a folder for the figures and tables of each suite")
    parser.add_argument("--record", action="store_true", help="bring results/ and RESULTS.md up to date")
    parser.add_argument("--toy", action="store_true", help="tiny sizes: shows that everything runs, measures nothing")
    parser.add_argument("--accept", action="store_true", help="gate: what is counted now is what is expected")
    options = parser.parse_args(arguments)
    if options.suites not in (["gate"], ["report"]) and (unknown := set(options.suites) - set(SUITES)):
        parser.error(f"no suite is called {', '.join(sorted(unknown))}; there are {', '.join(SUITES)}")
    options.scale = Scale.TOY if options.toy else Scale.FULL
    if options.cases:
        suites = options.suites or SUITES
        known = [case.name for suite in suites for case in import_module(f"suites.{suite}").cases(options.scale)]
        options.cases, rest = names_in(options.cases, known)
        if rest:
            parser.error(f"no case is called {rest}; there are {', '.join(dict.fromkeys(known))}")
    return options


def names_in(listed: str, known: Sequence[str]) -> tuple[set[str], str]:
    """The known names of a list with commas between them, which may be in names, too; and what else it has."""
    found, rest = set(), f",{listed},"
    for name in sorted(known, key=len, reverse=True):
        if f",{name}," in rest:
            found.add(name)
            rest = rest.replace(f",{name},", ",")
    return found, rest.strip(",")


def takes_part(name: str, peer: Peer, wanted: str | None) -> bool:
    """vyre always; the others unless they are left out."""
    beginnings = tuple(part.strip().casefold() for part in wanted.split(",")) if wanted else ("",)
    return name.startswith("vyre") or name.casefold().startswith(beginnings)


def is_chosen(case: Case, wanted: Collection[str] | None) -> bool:
    return not wanted or case.name in wanted


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
