"""Proof that vyre backends agree byte for byte: `prove(backend_ids, suite, seed)` gives a `Run`."""

from vyre_conform.address import Address, Query
from vyre_conform.case import Case, Launch, Size, Spec
from vyre_conform.cell import Cell, State
from vyre_conform.gaps import Gap, read_gaps
from vyre_conform.prove import prove
from vyre_conform.report import Report
from vyre_conform.run import Exit, Run, Task, merge, read_run, write_run
from vyre_conform.suite import Suite

__version__ = "0.1.0"

__all__ = [
    "Address",
    "Case",
    "Cell",
    "Exit",
    "Gap",
    "Launch",
    "Query",
    "Report",
    "Run",
    "Size",
    "Spec",
    "State",
    "Suite",
    "Task",
    "merge",
    "prove",
    "read_gaps",
    "read_run",
    "write_run",
]


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
