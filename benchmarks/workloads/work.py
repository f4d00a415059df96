"""What a workload is: a program and its data, the result that is wanted, and how the same is launched by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from vyre_foundation import Program

Array: TypeAlias = npt.NDArray[Any]
Extent: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel of `native/*.cl`, with as many workgroups of as many invocations.

    `arguments` are names of inputs, tables and scratch memory, `out`, or numbers, which are passed as `uint`; all
    inputs and `out` where nothing is said.
    """

    kernel: str
    groups: tuple[int, ...]
    invocations: tuple[int, ...]
    arguments: tuple[str | int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One workload at one size.

    `inputs` are by name, in binding order. Where `in_place`, the only one of them is the result, too. `amount` is the
    work in the workload's unit. `bytes` are those that must come from memory or go there at least, `operations` what
    the algorithm does beside. `tolerance` is relative; without it the result is exact. `sizes` are what the functions
    of `native/*.c` get behind the arrays; `scratch` are bytes that the kernels of `native/*.cl` need, `defines` their
    constants. `tables` are arrays that are part of the program and not of its inputs; by hand they are arguments.
    """

    program: Program
    grid: Extent
    inputs: Mapping[str, Array]
    wanted: Array
    amount: float
    bytes: float
    operations: float = 0.0
    tolerance: float = 0.0
    in_place: bool = False
    sizes: tuple[int, ...] = ()
    launches: tuple[Launch, ...]
    scratch: Mapping[str, int] = field(default_factory=dict)
    tables: Mapping[str, Array] = field(default_factory=dict)
    defines: Mapping[str, int] = field(default_factory=dict)

    def facts(self) -> dict[str, object]:
        """What the rows of the figures say about the work."""
        return {"bytes": self.bytes, "operations": self.operations}

    def is_met_by(self, result: Array, tolerance: float = 0.0) -> bool:
        """Whether the result is right; a peer that does not promise every rounding says what it needs beyond ours."""
        found, wanted, relative = result.reshape(-1), self.wanted.reshape(-1), max(self.tolerance, tolerance)
        if relative and wanted.dtype.kind == "f":
            return np.allclose(found, wanted, rtol=relative, atol=relative * float(np.abs(wanted).max()))
        return np.array_equal(found, wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """`make` gives the work of a size. `domain` is the name of the files in `native`, `unit` that of the amount."""

    domain: str
    unit: str
    size: int
    toy: int
    make: Callable[[int], Work]


def entry(name: str) -> str:
    """The name of a workload as the languages by hand know it."""
    return name.replace(" ", "_").replace("-", "_")
