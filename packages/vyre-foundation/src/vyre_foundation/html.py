"""What a notebook shows of a program: its facts, its buffers, and its text with colours."""

from __future__ import annotations

from vyre_foundation.errors import DeclarationError
from vyre_foundation.ir.program import Program
from vyre_foundation.markup import folded, fragment, table
from vyre_foundation.text import print_program
from vyre_foundation.text.highlight import highlighted
from vyre_foundation.text.printer import count
from vyre_foundation.validate import InvalidProgram, validate


def program_html(program: Program) -> str:
    """Show a program in a notebook. An invalid one is shown with its findings.

    Args:
        program: Any program.
    """
    rows = [
        (b.name, b.memory.value, b.access.value, b.dtype, count(b.count), "" if b.binding is None else b.binding)
        for b in program.buffers
    ]
    buffers = table(("buffer", "memory", "access", "type", "elements", "binding"), rows, (5,))
    size = " × ".join(map(str, program.workgroup_size))
    note, text = f"workgroup {size}", ""
    try:
        note += f", {len(program.statements)} statements, {len(program.code.nodes)} expressions"
        text = highlighted(print_program(program))
    except DeclarationError:  # a field is of another kind than declared, which is among the findings
        pass
    return fragment(f"program {program.name}", note, _facts(program), buffers, text)


def _facts(program: Program) -> str:
    try:
        facts = program.memoised(validate)
    except InvalidProgram as error:
        return folded(
            f"invalid: {len(error.findings)} findings", table((), [(f,) for f in error.findings]), is_open=True
        )
    needs = ", ".join(sorted(feature.value for feature in facts.features)) or "nothing beyond 32-bit integers and f32"
    proven = "every schedule gives the same bytes" if facts.determinism.is_deterministic else "not proven"
    return table((), [("fingerprint", program.fingerprint()), ("needs", needs), ("deterministic", proven)])
