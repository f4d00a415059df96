"""A case: one launch of one program, and what has to come out of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import TypeAlias

from vyre_conform.address import Address
from vyre_driver.backend.config import DispatchConfig, Extent
from vyre_foundation.ir.program import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """A program, the bytes of its inputs by name, and the configuration that matters for the result."""

    program: Program
    inputs: Mapping[str, bytes]
    grid: Extent | None = None
    workgroup: Extent | None = None
    iterations: int = 1

    @property
    def config(self) -> DispatchConfig:
        return DispatchConfig(
            grid_override=self.grid, workgroup_override=self.workgroup, fixpoint_iterations=self.iterations
        )

    @property
    def arguments(self) -> list[bytes]:
        """The inputs in binding order."""
        return [self.inputs[buffer.name] for buffer in self.program.inputs]


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
class Traps:
    """No outputs, but this trap."""

    tag: str
    code: int
    invocation: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """No outputs, but an error of this class."""

    error: str


@dataclass(frozen=True, slots=True)
class AsEvaluated:
    """Whatever the evaluators agree on: a program nobody has worked out by other means."""


Expected: TypeAlias = Exactly | Traps | Refusal | AsEvaluated


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A launch that is worked out: build it from its `Spec`."""

    address: Address
    launch: Launch
    expected: Expected


Build = Callable[[Random], tuple[Launch, Expected]]


@dataclass(frozen=True, slots=True)
class Spec:
    """A case that is not worked out yet. Equal seeds build equal cases."""

    address: Address
    build: Build

    def __str__(self) -> str:
        return str(self.address)

    def case(self, seed: int = 0) -> Case:
        launch, expected = self.build(Random(f"{seed} {self.address}"))
        return Case(address=self.address, launch=launch, expected=expected)


def seeded(address: Address, build: Callable[..., tuple[Launch, Expected]], *args: object) -> Spec:
    """The case that `build` makes of `args` and a generator of random numbers."""
    return Spec(address, lambda rng: build(*args, rng))


def fixed(address: Address, build: Callable[..., tuple[Launch, Expected]], *args: object) -> Spec:
    """The case that `build` makes of `args` alone."""
    return Spec(address, lambda rng: build(*args))
