"""The facts of a program that a pass has made from a valid one: found again, with nothing checked again."""

from __future__ import annotations

from vyre_foundation.ir.program import Program
from vyre_foundation.ir.walk import program_expressions
from vyre_foundation.validate.declared import buffer_usage, declared_locals, features, mutable_locals
from vyre_foundation.validate.facts import Facts
from vyre_foundation.validate.ranges import find_ranges
from vyre_foundation.validate.uniformity import Analysis


def facts_after(source: Facts, program: Program) -> Facts:
    """The facts of `program`, which does the same as that of `source`; so the verdict on its determinism is the same,
    and so are the statements of the source that its reasons name."""
    if program is source.program:
        return source
    nodes = program_expressions(program)
    return Facts(
        program=program,
        features=features(program, nodes),
        locals=declared_locals(program.body),
        mutable=mutable_locals(program.body),
        usage=buffer_usage(program, nodes),
        uniformity=Analysis(program, nodes).uniformity(),
        ranges=find_ranges(program, nodes),
        determinism=source.determinism,
    )
