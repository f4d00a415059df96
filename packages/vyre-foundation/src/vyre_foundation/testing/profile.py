"""What a random program may contain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from vyre_foundation.dtype import DTYPES, DType, bool_, f32, f64, i32, i64, u32, u64
from vyre_foundation.ir.buffer import Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Switches of the generator. The default is everything whose result is the same on every schedule, without traps.

    `dtypes` are the types of values and buffers (u32 is always there, for ids and lengths). `memories` are the kinds of
    buffers beside the outputs. `max_invocations` bounds the grid times the workgroup, `max_statements` the size of the
    program, `max_depth` the height of an expression, `max_nesting` that of blocks. `axes` is 1, 2 or 3 for the
    dimensions of workgroups and grids. `atomic_results`: atomics on an element that only one invocation touches may
    name the old value. `wide_groups`: workgroups of up to 256 invocations (else 64). `digest`: an output in which most
    of what is computed leaves a trace.
    """

    dtypes: tuple[DType, ...] = DTYPES
    memories: tuple[Memory, ...] = tuple(Memory)
    max_invocations: int = 96
    max_statements: int = 36
    max_depth: int = 4
    max_nesting: int = 4
    axes: int = 3
    branches: bool = True
    loops: bool = True
    returns: bool = True
    barriers: bool = True
    grid_barriers: bool = True
    subgroups: bool = True
    atomics: bool = True
    atomic_results: bool = False
    traps: bool = False
    indirect: bool = True
    iterations: bool = True
    calls: bool = True
    regions: bool = True
    wide_groups: bool = False
    digest: bool = True

    def without(self, *dtypes: DType) -> Profile:
        """This profile without values and buffers of some types."""
        return replace(self, dtypes=tuple(t for t in self.dtypes if t not in dtypes))

    def only(self, dtypes: Iterable[DType]) -> Profile:
        """This profile with values and buffers of these types alone (and u32)."""
        wanted = tuple(dtypes)
        return replace(self, dtypes=tuple(t for t in DTYPES if t in wanted or t is u32))


DEFAULT = Profile()
"""Every construct whose result does not depend on the schedule; no traps."""

EVERYTHING = Profile(traps=True, atomic_results=True)
"""The default, traps, and used results of atomics on elements that one invocation owns."""

STRAIGHT_LINE = Profile(
    memories=(Memory.STORAGE, Memory.UNIFORM, Memory.CONSTANT),
    branches=False, loops=False, returns=False, barriers=False, grid_barriers=False, subgroups=False,
    atomics=False, indirect=False, iterations=False, calls=False, regions=False,
)  # fmt: skip
"""Expressions, lets, loads and stores."""

STRUCTURED = Profile(
    barriers=False, grid_barriers=False, subgroups=False, atomics=False, indirect=False, iterations=False
)
"""Everything that one invocation does alone."""

NARROW = Profile().only((bool_, u32, i32, f32))
"""The types that every device has."""

WIDE = Profile().only((bool_, u32, i32, u64, i64, f32, f64))
"""The types of 32 and 64 bits."""
