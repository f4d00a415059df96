"""Where statements go, and what is legal there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Expr, Select
from vyre_foundation.ir.stmt import (
    Body,
    Break,
    Continue,
    Return,
    Stmt,
)
from vyre_foundation.ir.walk import postorder
from vyre_foundation.testing import digest
from vyre_foundation.testing.expressions import NONE, Expressions
from vyre_foundation.testing.scope import Shared
from vyre_foundation.validate.facts import Uniformity


@dataclass(slots=True)
class GeneratorContext:
    """What is legal here beside what the scope says. `holds` are those a `continue` or `break` must find, if any."""

    nesting: int = 0
    iterations: int = 1
    in_loop: bool = False
    breaks: Uniformity = NONE
    """How uniform the condition of a `break` or `continue` must be."""
    at_top: bool = True
    """Only loops with bounds of the launch are around: a grid barrier is legal."""
    conditional: bool = False
    """Directly inside of an `if`: a bare jump leaves something to run."""
    holds: dict[Buffer, Shared] | None = None


class Emitter(ABC):
    """Emits statements at the end of the body under construction."""

    def __init__(self, exprs: Expressions, subgroup_size: int | None) -> None:
        self.exprs, self.subgroup_size = exprs, subgroup_size
        self.rng, self.profile, self.scope = exprs.rng, exprs.profile, exprs.scope
        self.budget = self.profile.max_statements
        self.out: list[Stmt] = []
        self.tail = False
        """The last part of a program: no barriers or collectives follow, so invocations may leave one by one."""
        self.grid_barriers = False
        self.sums: Buffer | None = None
        """The output for the digests."""

    def body(self, place: GeneratorContext, count: int) -> Body:
        """A body of about `count` statements."""
        outer, self.out = self.out, []
        for _ in range(count):
            self.statement(place)
            if jumps(self.out):
                break
        inner, self.out = tuple(self.out), outer
        return inner

    @abstractmethod
    def statement(self, place: GeneratorContext) -> None:
        """Emit one random statement."""

    @abstractmethod
    def let(self, place: GeneratorContext) -> None:
        """Emit a statement that is legal everywhere."""

    def show(self, value: Expr, chance: float) -> None:
        """Mix a value into the digest, with some chance."""
        if self.profile.digest and self.rng.random() < chance:
            self.out.append(digest.show(value))

    def seen(self, value: Expr) -> Expr:
        """The value, which is about to be used; some part of it may leave a trace first."""
        self.show(self.inner(value), 0.6)
        return value

    def inner(self, value: Expr) -> Expr:
        """Some part of an expression, so that what the rest makes of it cannot hide it."""
        parts = [node for node in postorder((value,)) if isinstance(node, (Apply, Cast, Bitcast, Select))]
        return self.rng.choice(parts) if parts else value


def jumps(body: Sequence[Stmt]) -> bool:
    """Whether nothing after `body` runs."""
    return bool(body) and isinstance(body[-1], (Break, Continue, Return))
