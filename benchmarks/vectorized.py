"""How far the kernels become vectors on a CPU, counted in the code that LLVM makes for one that is named.

The counts belong to a version of LLVM: another one decides otherwise. What is lost grows a count, so that the gate
finds it.
"""

from __future__ import annotations

from counted import Counts
from workloads import WORKLOADS

from vyre_driver import DispatchConfig
from vyre_driver_cpu.ahead import assembly_ahead
from vyre_driver_cpu.cpu import COMPILER
from vyre_driver_cpu.report import vector_reports

CPU = "x86-64-v4"
WIDTH = 512
"""Bits of its registers for vectors."""


def title(name: str) -> str:
    """What the counts of a workload are called."""
    return f"{name}, {CPU}, {COMPILER}"


def counts(name: str) -> Counts:
    """Kernels without vectors, bits that vectors are too short, gathers, scatters, and the share that is no vector."""
    workload = WORKLOADS[name]
    work = workload.make(workload.toy)
    text = assembly_ahead(CPU, work.program, DispatchConfig(grid_override=work.grid)).decode()
    reports = list(vector_reports(text))
    scalar = sum(report.instructions - report.vectors for report in reports)
    return {
        "vectors: kernels without": sum(not report.vectors for report in reports),
        "vectors: missing bits": sum(WIDTH - report.width for report in reports),
        "vectors: gathers": sum(report.gathers for report in reports),
        "vectors: scatters": sum(report.scatters for report in reports),
        "vectors: scalar percent": 100 * scalar // sum(report.instructions for report in reports),
    }
