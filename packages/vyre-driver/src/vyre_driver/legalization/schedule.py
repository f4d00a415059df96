"""The order in which the host launches the kernels of a lowered program, and the buffers that lowering adds for it.

A process that finds its code in the cache imports them without the programs and passes of lowering.
"""

from __future__ import annotations

from dataclasses import dataclass

from vyre_foundation.ir.expr import Expr

COUNTERS = "__counters"
"""The uniform u64 buffer through which kernels read the host's loop counters, one element each."""

RUNS = "__runs"
"""The uniform u32 buffer of two elements: the number of workgroups on x that one work item runs, and the number of
workgroups on x of the dispatch."""

TRAPS = "__traps"
"""The u64 storage buffer with one element per trap statement, all ones before the dispatch."""


@dataclass(frozen=True, slots=True)
class KernelLaunch:
    """Run `kernels[kernel]` over the grid of the dispatch; everything before it is visible to it."""

    kernel: int


@dataclass(frozen=True, slots=True)
class Repeat:
    """A `For` of the source around grid barriers: its bounds have launch uniformity, so the host evaluates them.

    In every iteration element `counter` of `COUNTERS` holds the loop counter, as the u64 with the same low bits.
    """

    counter: int
    start: Expr
    stop: Expr
    step: int
    body: tuple[Step, ...]


Step = KernelLaunch | Repeat
