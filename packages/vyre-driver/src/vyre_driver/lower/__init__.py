"""Lowering: a program becomes kernels that a target can spell, and those become text.

Names are imported on their first use: who loads compiled code needs the words for it (`Target`, `Lowered`), no pass.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vyre_driver.lower.c.unit import print_unit
    from vyre_driver.lower.dialect import CDialect, SourceText
    from vyre_driver.lower.lowered import COUNTERS, RUNS, TRAPS, Kernel, Launch, Lowered, Repeat, Step
    from vyre_driver.lower.operators import c_casts, c_operators
    from vyre_driver.lower.target import Arrangement, Groups, Target

_MODULES = {
    "c.unit": "print_unit",
    "dialect": "CDialect SourceText",
    "lowered": "COUNTERS RUNS TRAPS Kernel Launch Lowered Repeat Step",
    "operators": "c_casts c_operators",
    "target": "Arrangement Groups Target",
}
_HOME = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = [
    "COUNTERS",
    "RUNS",
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
    "print_unit",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'vyre_driver.lower' has no attribute {name!r}")
    value = getattr(import_module(f"vyre_driver.lower.{_HOME[name]}"), name)
    globals()[name] = value
    return value
