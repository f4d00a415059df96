"""Elements from their neighbours."""

from __future__ import annotations

import numpy as np
import programs
from programs.sizes import GROUP
from programs.stencil import HIGH, WIDE

from workloads.work import Array, Launch, Work, Workload


def stencil(n: int) -> Work:
    x = np.random.default_rng(1).random(n, np.float32)
    return Work(
        program=programs.stencil(),
        grid=(n // GROUP, 1, 1),
        inputs={"x": x},
        wanted=smoothed(x, np.empty_like(x)),
        amount=8 * n,
        bytes=8 * n,
        operations=5 * n,
        sizes=(n,),
        launches=(Launch("stencil", (n // GROUP,), (GROUP,), ("x", "out", n)),),
    )


def smoothed(x: Array, out: Array) -> Array:
    """In the order of the program, so that the same bits come out."""
    quarter = x * np.float32(0.25)
    np.multiply(x, np.float32(0.5), out=out)
    out[1:] += quarter[:-1]
    out[:-1] += quarter[1:]
    return out


def stencil_2d(side: int) -> Work:
    plate = np.random.default_rng(1).random((side, side), np.float32)
    return Work(
        program=programs.stencil_2d(side, side),
        grid=(side // WIDE, side // HIGH, 1),
        inputs={"plate": plate},
        wanted=warmed(plate, np.empty_like(plate)),
        amount=8 * side**2,
        bytes=8 * side**2,
        operations=4 * side**2,
        sizes=(side, side),
        launches=(Launch("stencil_2d", (side // WIDE, side // HIGH), (WIDE, HIGH), ("plate", "out", side, side)),),
    )


def warmed(plate: Array, out: Array) -> Array:
    out[:] = plate
    inner = out[1:-1, 1:-1]
    np.add(plate[:-2, 1:-1], plate[1:-1, :-2], out=inner)
    inner += plate[1:-1, 2:]
    inner += plate[2:, 1:-1]
    inner *= np.float32(0.25)
    return out


def stencil_3d(side: int) -> Work:
    box = np.random.default_rng(1).random((side, side, side), np.float32)
    groups = side // WIDE, side // HIGH, side
    return Work(
        program=programs.stencil_3d(),
        grid=groups,
        inputs={"sizes": np.full(3, side, np.uint32), "box": box},
        wanted=diffused(box),
        amount=8 * side**3,
        bytes=8 * side**3,
        operations=8 * side**3,
        launches=(Launch("stencil_3d", groups, (WIDE, HIGH, 1), ("box", "out", side, side, side)),),
    )


def diffused(box: Array) -> Array:
    out, own = box.copy(), (slice(1, -1),) * 3
    ends = {-1: slice(None, -2), 1: slice(2, None)}
    sides = [(*own[:axis], end, *own[axis + 1 :]) for axis in (2, 1, 0) for end in ends.values()]
    near = box[sides[0]] + box[sides[1]]
    for side in sides[2:]:
        near += box[side]
    out[own] = box[own] * np.float32(0.25) + near * np.float32(0.125)
    return out


WORKLOADS = {
    "stencil": Workload(domain="stencil", unit="GB/s", size=2**24, toy=GROUP, make=stencil),
    "stencil 2d": Workload(domain="stencil", unit="GB/s", size=4096, toy=WIDE, make=stencil_2d),
    "stencil 3d": Workload(domain="stencil", unit="GB/s", size=192, toy=WIDE, make=stencil_3d),
}
