"""Lowering: a program becomes kernels that a target can spell, and those become text."""

from vyre_driver.lower.c.unit import print_unit
from vyre_driver.lower.dialect import CDialect, SourceText
from vyre_driver.lower.legalize import legalize
from vyre_driver.lower.lowered import COUNTERS, TRAPS, Kernel, Launch, Lowered, Repeat, Step
from vyre_driver.lower.operators import c_casts, c_operators
from vyre_driver.lower.target import Arrangement, Groups, Target

__all__ = [
    "COUNTERS",
    "TRAPS",
    "Arrangement",
    "CDialect",
    "Groups",
    "Kernel",
    "Launch",
    "Lowered",
    "Repeat",
    "SourceText",
    "Step",
    "Target",
    "c_casts",
    "c_operators",
    "legalize",
    "print_unit",
]
