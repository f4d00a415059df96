"""Bodies that attract each other."""

from __future__ import annotations

from programs.sizes import GROUP
from vyre_foundation import Program, f32, program, u32
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


def neighbour_forces(listed: int) -> Program:
    """Forces between particles and those in their lists, with a short range, as molecular dynamics has them.

    `neighbours` has the first of each particle, then the second of each, and so on. A place has four elements, the last
    of which is nothing. `reach` is the square of the range.
    """
    with program("neighbour_forces", GROUP) as p:
        reach = p.uniform("reach", f32, 1)
        neighbours, places = p.read("neighbours", u32), p.read("places", f32)
        out = p.write("out", f32, like=places)
        i = p.global_id(0)
        count = p.let(places.length // 4)
        own = [p.let(places[4 * i + axis]) for axis in range(3)]
        forces = [p.var(0.0, f32) for _ in range(3)]
        with p.range(0, listed) as n:
            other = p.let(neighbours[n * count + i])
            way = [p.let(here - places[4 * other + axis]) for axis, here in enumerate(own)]
            square = p.let(way[0] * way[0] + way[1] * way[1] + way[2] * way[2] + SOFTENING)
            with p.if_(square < reach[0]):
                inverse = p.let(1.0 / square)
                sixth = p.let(inverse * inverse * inverse)
                strength = p.let(inverse * sixth * (sixth - 0.5))
                for total, distance in zip(forces, way, strict=True):
                    total.set(total + distance * strength)
        for axis, total in enumerate(forces):
            out[4 * i + axis] = total
        out[4 * i + 3] = 0.0
    return p.build()
