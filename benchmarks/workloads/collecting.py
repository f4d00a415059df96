"""Many elements into few."""

from __future__ import annotations

import numpy as np
import programs
from programs.sizes import BINS, EACH, GROUP, RUN

from workloads.work import Launch, Work, Workload

N = 2**24
EACH_BY_HAND = 64
"""Elements that one work item of the histogram by hand counts."""


def reduction(n: int) -> Work:
    x = programs.words(n)
    return Work(
        program=programs.reduction(n // GROUP),
        grid=(n // GROUP, 1, 1),
        inputs={"x": x},
        wanted=programs.group_sums(x),
        amount=4 * n,
        bytes=4 * n + 4 * n // GROUP,
        operations=n,
        sizes=(n // GROUP,),
        launches=(Launch("reduction", (n // GROUP,), (GROUP,)),),
    )


def histogram(n: int) -> Work:
    x = programs.words(n)
    return Work(
        program=programs.shared_histogram(EACH),
        grid=(n // (GROUP * EACH), 1, 1),
        inputs={"x": x},
        wanted=programs.counts(x),
        amount=n,
        bytes=4 * n,
        operations=2 * n,
        sizes=(n,),
        launches=(
            Launch("clear", (1,), (BINS,), ("out",)),
            Launch("histogram", (n // (GROUP * EACH_BY_HAND),), (GROUP,)),
        ),
        defines={"EACH": EACH_BY_HAND},
    )


def prefix_sum(n: int) -> Work:
    x, groups = programs.words(n), n // (GROUP * RUN)
    return Work(
        program=programs.prefix_sum(groups),
        grid=(groups, 1, 1),
        inputs={"x": x},
        wanted=np.cumsum(x, dtype=np.uint32),
        amount=n,
        bytes=8 * n,
        operations=n,
        sizes=(n,),
        launches=(
            Launch("prefix_sum_groups", (groups,), (GROUP,), ("x", "sums")),
            Launch("prefix_sum_sums", (1,), (GROUP,), ("sums", groups)),
            Launch("prefix_sum", (groups,), (GROUP,), ("x", "sums", "out")),
        ),
        scratch={"sums": 4 * groups},
        defines={"RUN": RUN},
    )


WORKLOADS = {
    "reduction": Workload(domain="collecting", unit="GB/s", size=N, toy=4 * GROUP, make=reduction),
    "histogram": Workload(domain="collecting", unit="Gelement/s", size=N, toy=GROUP * EACH, make=histogram),
    "prefix sum": Workload(domain="collecting", unit="Gelement/s", size=N, toy=4 * GROUP * RUN, make=prefix_sum),
}
