"""The programs of these tests, and what they compute on arrays by name."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from vyre_driver.legalization.lowered import Kernel, Lowered
from vyre_driver.legalization.schedule import TRAPS, KernelLaunch
from vyre_foundation.build import program
from vyre_foundation.dtype import u32, u64
from vyre_foundation.ir.buffer import Access, Buffer, Memory
from vyre_foundation.ir.program import Program

Engine = Callable[..., SimpleNamespace]
UseLowering = Callable[[Callable[..., Lowered]], None]


def doubling(name: str = "doubling") -> Program:
    """out = 2 a, both as long as a."""
    with program(name, 4) as p:
        a = p.read("a", u32)
        out = p.write("out", u32, like=a)
        i = p.global_id(0)
        out[i] = a[i] * 2
    return p.build()


def double(x: Any) -> None:
    x["out"][:] = 2 * x["a"]


A = np.arange(5, dtype=np.uint32)
DOUBLED = (2 * A).tobytes()


def words(data: object) -> list[int]:
    """Bytes as u32."""
    return list(np.frombuffer(data, np.uint32).tolist())  # type: ignore[call-overload]


def with_traps(source: Program, *_: object) -> Lowered:
    """The program as it is written, with a record of one trap statement."""
    bound = (*source.buffers, Buffer(TRAPS, u64, Access.READ_WRITE, Memory.STORAGE, 1, len(source.buffers)))
    body = Program(source.name, bound, source.workgroup_size, source.body)
    return Lowered(
        source=source,
        kernels=(Kernel("k", body, tuple(b.name for b in bound)),),
        schedule=(KernelLaunch(0),),
        buffers={b.name: b for b in bound},
        traps=("odd",),
    )


def trap_if_odd(x: Any) -> None:
    """Doubles, and traps in invocation 3 with the first word, if that is odd."""
    double(x)
    if x["a"][0] % 2:
        x[TRAPS][0] = min(x[TRAPS][0], np.uint64(3 << 32 | int(x["a"][0])))
