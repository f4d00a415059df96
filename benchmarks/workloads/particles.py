"""Bodies that attract each other."""

from __future__ import annotations

import numpy as np
import programs
from programs.particles import SOFTENING
from programs.sizes import GROUP

from workloads.work import Array, Launch, Work, Workload


def n_body(bodies: int) -> Work:
    places = np.random.default_rng(1).random((3, bodies), np.float32)
    pairs = float(bodies**2)
    return Work(
        program=programs.n_body(bodies),
        grid=(bodies // GROUP, 1, 1),
        inputs={"places": places},
        wanted=accelerations(places),
        amount=18 * pairs,
        bytes=24 * bodies,
        operations=18 * pairs,
        tolerance=1e-3,
        sizes=(bodies,),
        launches=(Launch("n_body", (bodies // GROUP,), (GROUP,), ("places", "out", bodies)),),
    )


def accelerations(places: Array) -> Array:
    out = np.empty_like(places)
    for first in range(0, places.shape[1], GROUP):  # some rows of the pairs at once, which fit into a cache
        ways = places[:, None, :] - places[:, first : first + GROUP, None]
        squares = (ways * ways).sum(axis=0) + np.float32(SOFTENING)
        out[:, first : first + GROUP] = (ways / (squares * np.sqrt(squares))).sum(axis=2)
    return out


WORKLOADS = {
    "n-body": Workload(domain="particles", unit="GFLOP/s", size=2**13, toy=2 * GROUP, make=n_body),
}
