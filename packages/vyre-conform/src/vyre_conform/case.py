"""A case: one launch of one program, and what has to come out of it.

Compiling and launching is what costs, so one launch judges many things: its parts are runs of elements of its outputs,
and each part is a cell with an address of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from random import Random
from typing import TypeAlias

from vyre_conform.address import Address
from vyre_driver.backend.config import DispatchConfig, Extent
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.program import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A program, the bytes of its inputs by name, and the configuration that matters for the result."""

    program: Program
    inputs: Mapping[str, bytes]
    grid: Extent | None = None
    workgroup: Extent | None = None
    iterations: int = 1
    ulp_budget: int = 0
    """How far floats may be from what is expected, in representable values, as elementary functions are allowed to."""
    entry: str = "dispatch"
    """The way into the backend, by its name in `vyre_conform.worker.entries`."""
    then: tuple[Launch, ...] = ()
    """Launches that follow in the same session, while the results of all before are held. An input that one lacks is
    what the launches before left under its name. Equal programs are one pipeline, whose persistent memory lasts."""

    @property
    def config(self) -> DispatchConfig:
        """The options of its dispatch."""
        return DispatchConfig(
            ulp_budget=self.ulp_budget,
            grid_override=self.grid,
            workgroup_override=self.workgroup,
            fixpoint_iterations=self.iterations,
        )

    @property
    def arguments(self) -> list[bytes]:
        """The inputs in binding order."""
        return [self.inputs[buffer.name] for buffer in self.program.inputs]

    @property
    def launches(self) -> tuple[Launch, ...]:
        """This one and those that follow."""
        return (self, *self.then)

    @property
    def outputs(self) -> tuple[Buffer, ...]:
        """What comes back: the outputs of all launches in order. Those of the second are called ``out, launch 2``."""
        following = [
            buffer.replace(name=f"{buffer.name}, launch {number}")
            for number, launch in enumerate(self.then, 2)
            for buffer in launch.program.outputs
        ]
        return (*self.program.outputs, *following)


@dataclass(frozen=True, slots=True)
class Exactly:
    """These bytes in every output.

    `operands` names inputs whose element explains an output element of the same index. The outputs in `unordered` hold
    these elements in any order: what the schedule may decide.
    """

    outputs: tuple[bytes, ...]
    operands: tuple[str, ...] = ()
    unordered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExpectedTrap:
    """No outputs, but this trap."""

    tag: str
    code: int
    invocation: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """No outputs, but an error of this class."""

    error: str


@dataclass(frozen=True, slots=True)
class Alike:
    """Whatever comes out, the outputs of each group are equal."""

    groups: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class AsEvaluated:
    """What the evaluators agree on: the result of a program that has no other oracle."""


Expected: TypeAlias = Exactly | ExpectedTrap | Refusal | Alike | AsEvaluated


class Size(IntEnum):
    """How much is judged: each size has all the cases of those before it."""

    CI = 0
    """For every change: minutes on all backends."""
    FULL = 1
    """For every release: all combinations, and all values of the narrow types."""
    NIGHTLY = 2
    """As full, with random programs through the night."""


@dataclass(frozen=True, slots=True)
class OutputSlice:
    """Some elements of outputs, judged by themselves: `rows` of each of `outputs`, of all if none is named."""

    address: Address
    rows: range
    outputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A launch that is worked out: build it from its `Spec`. Without parts it is one cell."""

    address: Address
    launch: Launch
    expected: Expected
    parts: tuple[OutputSlice, ...] = ()


Work: TypeAlias = tuple[Launch, Expected, *tuple[OutputSlice, ...]]
"""A launch, what has to come out of it, and its parts, if it has several."""
Build = Callable[[Random], Work]


@dataclass(frozen=True, slots=True)
class Spec:
    """A case that is not worked out yet. Equal seeds build equal cases.

    `parts` are the addresses of its cells, where it has several.
    """

    address: Address
    build: Build
    size: Size = Size.CI
    parts: tuple[Address, ...] = ()

    def __str__(self) -> str:
        return str(self.address)

    @property
    def cells(self) -> tuple[Address, ...]:
        """The addresses of the cells of this case."""
        return self.parts or (self.address,)

    def case(self, seed: int = 0) -> Case:
        """Build the case; random values in it depend on `seed` and the address alone."""
        launch, expected, *parts = self.build(Random(f"{seed} {self.address}"))
        chosen = tuple(part for part in parts if part.address in self.parts)
        return Case(address=self.address, launch=launch, expected=expected, parts=chosen)


def seeded(address: Address, build: Callable[..., Work], *args: object, size: Size = Size.CI) -> Spec:
    """The case that `build` makes of `args` and a generator of random numbers."""
    return Spec(address, lambda rng: build(*args, rng), size)


def fixed(address: Address, build: Callable[..., Work], *args: object, size: Size = Size.CI) -> Spec:
    """The case that `build` makes of `args` alone."""
    return Spec(address, lambda rng: build(*args), size)
