"""Kernels on one core: CPU time of one thread, which what else the machine does hardly changes.

Every process is bound to the same core and counts its own CPU time. The data are where the kernel wants them, as for
`kernel` in the suite `kernels`; what a launch costs is part of the figures. One peer is the CPU backend with loops that
do not ask whether the launch is cancelled: what cancellation costs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from unittest.mock import patch

from harness import Case, Peer, Scale, Trial
from records import Record
from report import Table, figure, ratio
from targets import ENDLESS
from workloads import WORKLOADS

from suites import kernels

TITLE = "Kernels on one core"
CALLS = 20
OURS, BASE = "vyre", "gcc -O3"
_ONE = {
    "VYRE_CPU_THREADS": "1",
    "POCL_MAX_PTHREAD_COUNT": "1",
    "OMP_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
_KERNELS = {
    OURS: "vyre, CPU",
    ENDLESS: "vyre, CPU",
    "vyre, PoCL": "vyre",
    BASE: "gcc -O3, OpenMP",
    "Numba": "Numba",
    "JAX": "JAX",
    "NumPy": "NumPy",
}
"""What a peer is called in the suite `kernels`."""
PEERS = {
    name: Peer(modules=kernels.PEERS[other].modules, environment={**kernels.PEERS[other].environment, **_ONE})
    for name, other in _KERNELS.items()
}
PEERS[ENDLESS] = replace(PEERS[ENDLESS], environment={**PEERS[ENDLESS].environment, "VYRE_CACHE": "off"})


def cases(scale: Scale) -> list[Case]:
    return kernels.cases(scale)


def takes_part(peer: str, case: Case) -> bool:
    return True


def prepare(peer: str, case: Case) -> dict[str, Trial]:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if peer == ENDLESS:
        for module in ("statements", "vectors"):
            patch(f"vyre_driver_cpu.{module}.chunk_of", return_value=None).start()
    if peer.startswith("vyre"):
        work = WORKLOADS[case.name].make(case.size)
        trials = kernels.vyre_trials(work, "opencl" if peer == "vyre, PoCL" else "cpu")
        return {"": replace(trials["resident"], clock=time.process_time)}
    found = kernels.prepare(_KERNELS[peer], case)
    return {variant: replace(trial, clock=time.process_time) for variant, trial in found.items()}


def tables(records: Sequence[Record]) -> list[Table]:
    table = Table(("case",), ["vyre, ms", f"{BASE}, ms", *(f"{peer} ÷ vyre" for peer in PEERS if peer != OURS)])
    named = {(row["case"], row["peer"]): row for row in records if not row.get("variant")}
    for case in dict.fromkeys(row["case"] for row in records):
        cells = {
            f"{peer}, ms": figure(row["median"] * 1e3)
            for peer in (OURS, BASE)
            if "median" in (row := named.get((case, peer), {}))
        }
        ratios = {f"{peer} ÷ vyre": ratio(named.get((case, peer)), named.get((case, OURS))) for peer in PEERS}
        table.rows[case,] = cells | {name: value for name, value in ratios.items() if name in table.columns}
    return [table.titled("CPU time of one thread, median; above 1 vyre is ahead")]
