"""Sorting."""

from __future__ import annotations

import numpy as np
import programs
from programs.sizes import GROUP
from programs.sorting import LOCAL

from workloads.work import Launch, Work, Workload


def bitonic_sort(n: int) -> Work:
    data, groups = programs.words(n), n // (2 * GROUP)
    stages = n.bit_length() - 1
    return Work(
        program=programs.bitonic_sort(n),
        grid=(groups, 1, 1),
        inputs={"data": data},
        wanted=np.sort(data),
        amount=n,
        bytes=8 * n,
        operations=n * stages * (stages + 1) / 2,
        in_place=True,
        sizes=(n,),
        launches=(Launch("bitonic_runs", (groups,), (GROUP,)), *_merges(n, groups)),
    )


def _merges(n: int, groups: int) -> list[Launch]:
    launches = []
    for stage in range(LOCAL + 1, n.bit_length()):
        for step in reversed(range(LOCAL, stage)):
            launches.append(Launch("bitonic_step", (groups,), (GROUP,), ("out", stage, step)))
        launches.append(Launch("bitonic_merge", (groups,), (GROUP,), ("out", stage)))
    return launches


WORKLOADS = {
    "bitonic sort": Workload(domain="sorting", unit="Gelement/s", size=2**20, toy=8 * GROUP, make=bitonic_sort),
}
