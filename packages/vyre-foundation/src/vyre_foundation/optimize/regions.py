"""Regions are left away: their statements stand where they stood, and neighbours see each other.

::

    let x = a[0];                    let x = a[0];
    region "inlined" {          →    let y = x + 1;
      let y = x + 1;                 out[0] = y;
    }
    out[0] = y;
"""

from __future__ import annotations

from dataclasses import replace

from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Body, Region, Stmt
from vyre_foundation.ir.walk import rewrite_body
from vyre_foundation.passes import Pass
from vyre_foundation.validate.facts import Facts


def flatten_regions(program: Program, facts: Facts) -> Program:
    """The program without regions."""
    body = rewrite_body(program.body, _contents)
    return program if body is program.body else replace(program, body=body)


def _contents(stmt: Stmt) -> Stmt | Body:
    return stmt.body if isinstance(stmt, Region) else stmt


REGIONS = Pass("regions", "Inline regions into the body around them", flatten_regions)
