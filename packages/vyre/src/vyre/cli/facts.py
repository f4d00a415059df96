"""What is known of a program, as `validate` and `show` say it."""

from __future__ import annotations

from typing import Any

from vyre.cli.outcome import Answer, coloured
from vyre_driver.observe.diagnostics import Diagnostic, Severity, of_finding
from vyre_foundation import Program
from vyre_foundation.validate.facts import Facts


def facts_of(answer: Answer, facts: Facts) -> dict[str, Any]:
    """What is known of a valid program, as an object of JSON."""
    return {
        "name": facts.program.name,
        "features": sorted(f.value for f in facts.features),
        "buffers": [
            {
                "name": b.name,
                "memory": b.memory.value,
                "access": b.access.value,
                "dtype": b.dtype.name,
                "binding": b.binding,
            }
            for b in facts.program.buffers
        ],
        "locals": {name: dtype.name for name, dtype in facts.locals.items()},
        "deterministic": facts.determinism.is_deterministic,
        "determinism_reasons": [reason.to_json() for reason in _reasons(answer, facts)],
    }


def _reasons(answer: Answer, facts: Facts) -> list[Diagnostic]:
    """Why determinism is not proven, each with its line."""
    source = answer.source() if answer.source is not None else None
    return [of_finding(reason, source, Severity.NOTE) for reason in facts.determinism.reasons]


def print_facts(answer: Answer, facts: Facts) -> None:
    """Print what is known of a valid program."""
    program: Program = facts.program
    needs = ", ".join(sorted(f.value for f in facts.features)) or "nothing beyond 32-bit integers and f32"
    lines = [f"fingerprint    {program.fingerprint()}", f"needs          {needs}"]
    proven = facts.determinism.is_deterministic
    lines.append(f"deterministic  {'every schedule gives the same bytes' if proven else 'not proven:'}")
    for line in lines:
        answer.console.print(line, markup=False, soft_wrap=True)
    for reason in _reasons(answer, facts):
        answer.console.print(coloured(reason), soft_wrap=True)
