"""Bodies that attract each other."""

from __future__ import annotations

import numpy as np
import programs
from programs.particles import SOFTENING
from programs.sizes import GROUP

from workloads.work import Array, Launch, Work, Workload

LISTED, NEAR = 64, 256
"""How many neighbours a list has, and how far they are apart in memory at most."""
REACH = 0.25
"""The square of the distance from which on there is no force."""


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


def neighbour_forces(count: int) -> Work:
    random = np.random.default_rng(1)
    places = np.concatenate([random.random((count, 3), np.float32), np.zeros((count, 1), np.float32)], axis=1)
    near = np.arange(count) + random.integers(-NEAR, NEAR, (LISTED, count))
    neighbours, reach = (near % count).astype(np.uint32), np.array([REACH], np.float32)
    arguments = ("neighbours", "places", "out", "reach", LISTED, count)
    return Work(
        program=programs.neighbour_forces(LISTED),
        grid=(count // GROUP, 1, 1),
        inputs={"reach": reach, "neighbours": neighbours, "places": places},
        wanted=forces(places, neighbours),
        amount=18.0 * count * LISTED,
        bytes=neighbours.nbytes + 2 * places.nbytes,
        operations=18.0 * count * LISTED,
        launches=(Launch("neighbour_forces", (count // GROUP,), (GROUP,), arguments),),
    )


def forces(places: Array, neighbours: Array) -> Array:
    """In the order of the program, so that the same bits come out."""
    out = np.zeros_like(places)
    one, half = np.float32(1), np.float32(0.5)
    for others in neighbours:
        ways = places - places[others]
        squares = ways[:, 0] * ways[:, 0] + ways[:, 1] * ways[:, 1] + ways[:, 2] * ways[:, 2] + np.float32(SOFTENING)
        inverse = one / squares
        sixth = inverse * inverse * inverse
        strength = inverse * sixth * (sixth - half)
        out += np.where((squares < np.float32(REACH))[:, None], ways * strength[:, None], np.float32(0))
    return out


WORKLOADS = {
    "n-body": Workload(domain="particles", unit="GFLOP/s", size=2**13, toy=2 * GROUP, make=n_body),
    "neighbour forces": Workload(domain="particles", unit="GFLOP/s", size=2**16, toy=2 * GROUP, make=neighbour_forces),
}
