"""Elements from their neighbours."""

from __future__ import annotations

from programs.sizes import GROUP
from vyre_foundation import Program, f32, program, select, u32

WIDE, HIGH = 64, 4
"""A workgroup in two dimensions."""


def stencil() -> Program:
    """Half of an element and a quarter of both neighbours. Beyond the ends everything is 0, as loads there are."""
    with program("stencil", GROUP) as p:
        x = p.read("x", f32)
        out = p.write("out", f32, like=x)
        i = p.global_id(0)
        out[i] = x[i - 1] * 0.25 + x[i] * 0.5 + x[i + 1] * 0.25
    return p.build()


def stencil_2d(width: int, height: int) -> Program:
    """One step of heat over a plate: the mean of the four neighbours, and an edge that stays what it is."""
    with program("stencil_2d", (WIDE, HIGH)) as p:
        plate, out = p.read("plate", f32, width * height), p.write("out", f32, width * height)
        x, y = p.global_id(0), p.global_id(1)
        at = p.let(y * width + x)
        mean = (plate[at - width] + plate[at - 1] + plate[at + 1] + plate[at + width]) * 0.25
        inside = (x > 0) & (x < width - 1) & (y > 0) & (y < height - 1)
        out[at] = select(inside, mean, plate[at])
    return p.build()


def stencil_3d() -> Program:
    """One step of heat through a box: an element and its six neighbours, and an outside that stays what it is.

    `sizes` are the elements of the box on x, y and z; x is what neighbours in memory differ in.
    """
    with program("stencil_3d", (WIDE, HIGH)) as p:
        sizes, box = p.uniform("sizes", u32, 3), p.read("box", f32)
        out = p.write("out", f32, like=box)
        wide, high, deep = (p.let(sizes[axis]) for axis in range(3))
        x, y, z = (p.global_id(axis) for axis in range(3))
        at = p.let((z * high + y) * wide + x)
        layer = p.let(wide * high)
        near = box[at - 1] + box[at + 1] + box[at - wide] + box[at + wide] + box[at - layer] + box[at + layer]
        inside = (x > 0) & (x < wide - 1) & (y > 0) & (y < high - 1) & (z > 0) & (z < deep - 1)
        out[at] = select(inside, box[at] * 0.25 + near * 0.125, box[at])
    return p.build()
