"""The gate: what is counted may not grow. `counts.json` has what was accepted, one workload a line.

Some counts are texts and graphs of nodes, which another order of the same work changes a little: they have a tolerance.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import instructions
import vectorized
from counted import Counts, counts
from workloads import WORKLOADS

ACCEPTED = Path(__file__).parent / "counts.json"
TOLERANCE = {"nodes": 0.02, "characters": 0.02, "instructions": 0.03, "percent": 0.1}
"""By the last word of a count; the others are exact."""
FIX = "Fix: find what the change emits or does in addition; where it is worth it, `hatch run bench gate --accept`."


def main(*, accept: bool) -> int:
    """0, or 1 where something has grown; with `accept` the counts become the accepted ones."""
    counted = {name: counts(name) for name in WORKLOADS} | _instructions(accept=accept)
    counted |= _vectors(accept=accept)
    if accept:
        ACCEPTED.write_text(as_json(accepted() | counted), "utf-8")
        print(f"accepted: {', '.join(counted)}")
        return 0
    grown, fewer = compared(accepted(), counted)
    for line in fewer:
        print(f"fewer: {line}")
    for line in grown:
        print(f"MORE: {line}")
    if fewer and not grown:
        print("The gate can be closed further: hatch run bench gate --accept")
    if grown:
        print(FIX)
    return 1 if grown else 0


def _instructions(*, accept: bool) -> dict[str, Counts]:
    """Instructions a node of the stages in Python; nothing where valgrind is missing."""
    found = instructions.per_node()
    if found is None:
        print("Instructions are not counted: valgrind is not installed. Fix: apt install valgrind")
        return {}
    name = f"instructions, {instructions.INTERPRETER}"
    if name not in accepted() and not accept:
        print(f"No {name} were accepted yet.")
        return {}
    return {name: {f"{stage}: instructions": number for stage, number in found.items()}}


def _vectors(*, accept: bool) -> dict[str, Counts]:
    """How far kernels become vectors; nothing where no counts of this version of LLVM were accepted."""
    if not accept and not any(vectorized.title(name) in accepted() for name in WORKLOADS):
        print(f"No vectors of {vectorized.COMPILER} were accepted yet.")
        return {}
    return {vectorized.title(name): vectorized.counts(name) for name in WORKLOADS}


def accepted() -> dict[str, Counts]:
    found: dict[str, Counts] = json.loads(ACCEPTED.read_text("utf-8")) if ACCEPTED.exists() else {}
    return found


def compared(before: Mapping[str, Counts], now: Mapping[str, Counts]) -> tuple[list[str], list[str]]:
    """What has grown and what is fewer, each as a line; a count that is not accepted yet has grown."""
    grown, fewer = [], []
    for name, found in now.items():
        known = before.get(name, {})
        for count, number in found.items():
            line = f"{name}, {count}: {known.get(count, 'not accepted yet')} → {number}"
            tolerance = TOLERANCE.get(count.rpartition(" ")[2], 0.0)
            if count not in known or number > known[count] * (1 + tolerance):
                grown.append(line)
            elif number < known[count] * (1 - tolerance):
                fewer.append(line)
    return grown, fewer


def as_json(counted: Mapping[str, Counts]) -> str:
    lines = ",\n".join(f" {json.dumps(name)}: {json.dumps(found)}" for name, found in counted.items())
    return f"{{\n{lines}\n}}\n"
