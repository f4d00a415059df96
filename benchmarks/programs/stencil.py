"""Elements from their neighbours."""

from __future__ import annotations

from programs.sizes import GROUP
from vyre_foundation import Program, f32, program, select

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
