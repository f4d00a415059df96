"""The facts of a program that a pass has made from a valid one: found when asked for, with nothing checked again."""

from __future__ import annotations

from dataclasses import replace

from vyre_foundation.ir.program import Program
from vyre_foundation.validate.declared import buffer_usage, declared_locals, features, mutable_locals
from vyre_foundation.validate.facts import Facts
from vyre_foundation.validate.later import Later
from vyre_foundation.validate.later_ranges import LaterRanges
from vyre_foundation.validate.uniformity import Analysis


def facts_after(source: Facts, program: Program) -> Facts:
    """The facts of `program`, which does the same as that of `source`; the same object where it is that.

    Determinism is a fact of what a program does, so it is that of the source, and so are the statements that its
    reasons name. `features` are those of the source until `finish`, because the next pass may need fewer.
    """
    if program is source.program:
        return source
    return replace(
        source,
        program=program,
        locals=Later(lambda: declared_locals(program.body)),
        mutable=mutable_locals(program.body),
        usage=Later(lambda: buffer_usage(program)),
        uniformity=Later(lambda: Analysis(program, program.code.nodes).uniformity()),
        ranges=LaterRanges(program, source.ranges),
    )


def finish(facts: Facts) -> Facts:
    """The facts after the last pass."""
    return replace(facts, features=features(facts.program))
