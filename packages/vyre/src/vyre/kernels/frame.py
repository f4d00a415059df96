"""The state of a compilation: the functions that are being read, and their names."""

from __future__ import annotations

import builtins
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from vyre.kernels.aggregates import Structure
from vyre.kernels.source import FunctionSource, assigned_names, changed_paths, closure_of
from vyre.kernels.values import LoopName
from vyre_foundation.build import Mutable
from vyre_foundation.dtype import DType

Names = dict[str, object]
NONE = object()
"""What a name without a value has."""


@dataclass(slots=True)
class EarlyExits:
    """How statements leave an iteration of an unrolled loop, or a device function, under a condition of the program."""

    depth: int
    """How many branches and loops of the program are open around what is left."""
    flag: str
    """The name of whether one did, where the program must know that; no name of Python begins with a digit."""
    outcome: str = ""
    """The name of what they give: the value that is returned, or whether a `break` leaves the loop, if one may."""
    names: list[Names] = field(default_factory=list)
    """What the names stand for at each of the statements."""


@dataclass(slots=True)
class OpenLoop:
    """A loop around the statement that is being read."""

    depth: int
    """How many branches and loops of the program are open around its body."""
    carried: dict[str, LoopName] = field(default_factory=dict)
    """`Frame.carried` outside of it."""
    exits: EarlyExits | None = None
    """How statements leave an iteration of it, if it is unrolled."""


@dataclass(slots=True)
class Frame:
    """A function that is being read."""

    source: FunctionSource
    names: Names
    """What each local name stands for."""
    is_kernel: bool
    depth: int = 0
    """How many branches and loops of the program were open where it was called."""
    outer: Mapping[str, Any] = field(init=False)
    """The names from outside of the function."""
    own: frozenset[str] = field(init=False)
    """The names that are local: they are assigned somewhere in the function."""
    loops: list[OpenLoop] = field(default_factory=list)
    changed: Mapping[str, int] = field(init=False)
    """What the function assigns to a part of, each with the first line that does."""
    passed: Names = field(default_factory=dict)
    """The structures and vectors of the caller, by the names of the parameters."""
    result: DType | None = None
    """The type of what a device function returns, where its annotation says it."""
    carried: dict[str, LoopName] = field(default_factory=dict)
    """The names that the open loops of the program may change, and that have no variable before these."""
    exits: EarlyExits = field(init=False)
    """How statements return from a device function."""
    flags: list[Mutable] = field(default_factory=list)
    """For each loop around the statement that a `return` of a device function leaves, whether it did."""

    def __post_init__(self) -> None:
        function = self.source.function
        self.exits = EarlyExits(self.depth, "0 returned", "return")
        self.outer = ChainMap(closure_of(function), function.__globals__, vars(builtins))
        self.changed = changed_paths(self.source.tree)
        self.own = frozenset({*assigned_names(self.source.tree.body), *self.names})


@dataclass(slots=True)
class Hints:
    """What a first reading of a kernel found out, for the next one."""

    merged: dict[tuple[int, str], tuple[Structure | None, tuple[DType, ...]]] = field(default_factory=dict)
    """Names that need a variable before a branch or a loop, by its number, with their types."""
    is_guarded: bool = False
    """Whether invocations beyond the shape must end at once, because they would have effects."""
    read: frozenset[str] = frozenset()
    """Results that the kernel also reads."""
