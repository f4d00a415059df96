"""The caller's buffers as bytes, checked by name before anything else happens."""

from __future__ import annotations

from vyre_driver.backend.results import Inputs, host_bytes
from vyre_driver.plan.lengths import wrong_number
from vyre_foundation.ir.program import Program


def bind_inputs(program: Program, inputs: Inputs) -> tuple[memoryview, ...]:
    """One view of bytes for each input in binding order. Lengths are the plan's to judge."""
    declared = program.inputs
    if len(inputs) != len(declared):
        raise wrong_number(declared, len(inputs))
    return tuple([host_bytes(buffer.name, given) for buffer, given in zip(declared, inputs, strict=True)])
