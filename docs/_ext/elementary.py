"""The table of elementary functions: what each computes, and what is on record about it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from vyre_foundation.dialects import call, expand, is_rare_call, lookup
from vyre_foundation.dtype import f32
from vyre_foundation.ir.expr import Local
from vyre_foundation.ir.walk import postorder
from vyre_math.dialect import FUNCTIONS

EVIDENCE = Path(__file__).parents[2] / "evidence" / "math"
HEAD = ("function", "is", "f32: operations", "arguments checked", "hard cases among them", "f64: error below")


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
        yield f"`{name}`", function.summary, f"{_operations(name)}", checked, f"{hard:,}", f"{function.bound}"


def _operations(name: str) -> int:
    """How many nodes of the composition compute something; a call that is hardly ever made is one of them."""
    row = lookup(f"math.{name}")
    arity = next(len(operands) for operands in row.signatures if operands[0] is f32)
    body = expand(call(row.id, *(Local(f"x{n}", f32) for n in range(arity))), {}, is_rare_call)
    return sum(bool(node.args) for node in postorder([body]))
