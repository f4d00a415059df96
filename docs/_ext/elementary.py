"""The table of elementary functions: what each computes, and what is on record about it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from vyre_math.dialect import FUNCTIONS

EVIDENCE = Path(__file__).parents[2] / "evidence" / "math"
HEAD = ("function", "is", "f32: arguments checked", "hard cases among them", "f64: error below")


def elementary_rows() -> Iterator[tuple[str, ...]]:
    for name, function in FUNCTIONS.items():
        record = json.loads((EVIDENCE / f"{name}.opencl.json").read_text("utf-8"))
        if record["mismatches"]:
            raise ValueError(f"the evidence for {name} has mismatches. Fix: repair the function, and run it again")
        if "pairs" in record:
            checked = f"{record['pairs']:,} pairs"
            hard = sum(kind["hard_cases"] for kind in record["kinds"].values())
        else:
            checked, hard = "all", record["hard_cases"]
        yield f"`{name}`", function.summary, checked, f"{hard:,}", f"{function.bound}"
