"""The stages of code generation, in the order in which they run."""

from vyre_driver_cpu.emit import emit
from vyre_driver_cpu.jam import jam_lookups
from vyre_driver_cpu.report import vector_reports
from vyre_driver_cpu.rows import write_out_rows
from vyre_driver_cpu.unswitch import unswitch_loops
from vyre_driver_cpu.versions import follow_versions

__all__ = ["emit", "follow_versions", "jam_lookups", "unswitch_loops", "vector_reports", "write_out_rows"]
