"""Bodies that attract each other."""

from __future__ import annotations

from programs.sizes import GROUP
from vyre_foundation import Program, f32, program
from vyre_foundation.functions import sqrt

SOFTENING = 1e-3
"""Added to squares of distances, so that no body meets itself at none."""


def n_body(bodies: int) -> Program:
    """The accelerations of bodies of mass 1, x, y and z one after the other, as the positions are."""
    with program("n_body", GROUP) as p:
        places, out = p.read("places", f32, 3 * bodies), p.write("out", f32, 3 * bodies)
        tile = [p.workgroup(f"tile_{axis}", f32, GROUP) for axis in "xyz"]
        i, local = p.global_id(0), p.local_id(0)
        own = [p.let(places[i + axis * bodies]) for axis in range(3)]
        pull = [p.var(0.0, f32) for _ in range(3)]
        with p.range(0, bodies, GROUP) as first:
            for axis, shared in enumerate(tile):
                shared[local] = places[first + local + axis * bodies]
            p.barrier()
            with p.range(0, GROUP) as n:
                way = [p.let(shared[n] - here) for shared, here in zip(tile, own, strict=True)]
                square = p.let(way[0] * way[0] + way[1] * way[1] + way[2] * way[2] + SOFTENING)
                strength = p.let(1.0 / (square * sqrt(square)))
                for total, distance in zip(pull, way, strict=True):
                    total.set(total + distance * strength)
            p.barrier()
        for axis, total in enumerate(pull):
            out[i + axis * bodies] = total
    return p.build()
