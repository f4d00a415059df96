"""Sorting."""

from __future__ import annotations

import numpy as np
import programs
from programs.sizes import GROUP
from programs.sorting import LOCAL

from workloads.work import Launch, Work, Workload

WIDTH = 64
"""Elements of a run that a merge takes."""


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


def merge_pass(n: int) -> Work:
    runs = np.sort(programs.words(n).reshape(-1, WIDTH), axis=1)
    groups = n // (2 * WIDTH * GROUP)
    return Work(
        program=programs.merge_pass(),
        grid=(groups, 1, 1),
        inputs={"width": np.array([WIDTH], np.uint32), "data": runs},
        wanted=np.sort(runs.reshape(-1, 2 * WIDTH), axis=1),
        amount=n,
        bytes=8 * n,
        operations=n,
        launches=(Launch("merge_pass", (groups,), (GROUP,), ("data", "out", WIDTH, n)),),
    )


WORKLOADS = {
    "bitonic sort": Workload(domain="sorting", unit="Gelement/s", size=2**20, toy=8 * GROUP, make=bitonic_sort),
    "merge pass": Workload(domain="sorting", unit="Gelement/s", size=2**20, toy=2 * WIDTH * GROUP, make=merge_pass),
}
