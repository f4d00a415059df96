"""Proof that vyre backends agree byte for byte: `prove(backend_ids, suite, seed)` gives a `Report`."""

from vyre_conform.address import Address, Query
from vyre_conform.case import Case, Launch, Spec
from vyre_conform.prove import prove
from vyre_conform.report import Cell, Exit, Report, State
from vyre_conform.suite import Suite

__version__ = "0.1.0"

__all__ = ["Address", "Case", "Cell", "Exit", "Launch", "Query", "Report", "Spec", "State", "Suite", "prove"]
