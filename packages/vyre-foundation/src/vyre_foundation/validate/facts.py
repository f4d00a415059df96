"""What validation knows about a valid program. Later stages take these facts, so they cannot get unvalidated input."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from vyre_foundation.dtype import DType
from vyre_foundation.errors import TypeMismatch, VyreError
from vyre_foundation.ir.argument import shown
from vyre_foundation.ir.expr import Expr
from vyre_foundation.ir.shapes import GRID_AXES
from vyre_foundation.ir.stmt import For

if TYPE_CHECKING:
    from vyre_foundation.ir.origin import Origin
    from vyre_foundation.ir.program import Program


@dataclass(frozen=True, slots=True)
class Finding:
    """One broken rule: a stable `code`, where (a path: ``body[2].then[0].value``), got and expected, a remedy.

    `origin` is the line of Python that wrote it, where that is known.
    """

    code: str
    where: str
    message: str
    fix: str
    origin: Origin | None = field(default=None, compare=False)

    def __str__(self) -> str:
        place = self.where if self.origin is None else f"{self.where} ({self.origin})"
        return f"{self.code} {place}: {self.message}. Fix: {self.fix}"


MOST_LISTED = 20
"""Findings that a message lists."""


def listed(findings: Sequence[Finding]) -> list[str]:
    """The lines of a message that lists `findings`: of more than `MOST_LISTED`, the first ones and how many follow."""
    more = len(findings) - MOST_LISTED
    rest = [f"… and {more} more, which `findings` of this error has"] if more > 0 else []
    return [*map(str, findings[:MOST_LISTED]), *rest]


class InvalidProgram(VyreError, ValueError):
    """A program breaks rules of the language; `findings` has all of them in program order."""

    code = "E110"

    @classmethod
    def of(cls, name: str, findings: Sequence[Finding]) -> InvalidProgram:
        """The error for the program called `name`."""
        found = "1 finding" if len(findings) == 1 else f"{len(findings)} findings"
        where = f"program {name!r}"
        return cls(f"not valid, {found}", fix="repair each of them", where=where, findings=tuple(findings))

    def __str__(self) -> str:
        return "\n".join((f"{self.where}: {self.message}", *listed(self.findings)))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All that is wrong with the program, in program order."""
        return tuple(self.fields["findings"])


class Interval(NamedTuple):
    """Every value that an integer expression can take lies in low … high, both included."""

    low: int
    high: int


class Feature(Enum):
    """What a program needs beyond 32-bit integers and f32."""

    F16 = "f16"
    BF16 = "bf16"
    F64 = "f64"
    INT64 = "int64"
    ATOMIC64 = "atomic64"
    SUBGROUP = "subgroup"
    GRID_BARRIER = "grid_barrier"
    TRAP = "trap"
    INDIRECT_DISPATCH = "indirect_dispatch"
    PERSISTENT = "persistent"


class Uniformity(Enum):
    """Over which invocations an expression has one value, from the widest to the narrowest."""

    LAUNCH = 3
    """The same in all invocations, and known to the host before the launch: literals, lengths, num_workgroups."""
    GRID = 2
    """The same in all invocations of the dispatch at this place."""
    WORKGROUP = 1
    """The same in all invocations of a workgroup at this place."""
    NONE = 0


@dataclass(frozen=True, slots=True)
class Usage:
    """How a program touches one buffer."""

    loads: bool = False
    stores: bool = False
    atomics: bool = False


Grid: TypeAlias = tuple[int, int, int]
"""Workgroups on each axis."""


@dataclass(frozen=True, slots=True)
class Determinism:
    """Whether every schedule gives the same outputs; `reasons` name the statements that may make them differ.

    The verdict is for grids that extend along `axes` only: x, and those that the program asks about.
    """

    reasons: tuple[Finding, ...] = ()
    axes: frozenset[int] = frozenset((0,))

    @property
    def is_deterministic(self) -> bool:
        """Whether every run over the same inputs is proven to give the same bytes."""
        return not self.reasons


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The result of `validate(program)`.

    `locals` maps every local to its type and `mutable` names those that `Assign` may change. `uniformity` is for every
    expression of the program, `ranges` for every integer expression; both hold at every place where it is evaluated.
    Uniformity, ranges and determinism are found when they are first asked for.
    """

    program: Program
    features: frozenset[Feature]
    locals: Mapping[str, DType]
    mutable: frozenset[str]
    usage: Mapping[str, Usage]
    uniformity: Mapping[Expr, Uniformity]
    ranges: Mapping[Expr, Interval]
    prove_determinism: Callable[[Grid | None], Determinism] = field(compare=False, repr=False)
    """Gives `determinism`, and that in a grid; keeps what it found."""

    def __repr__(self) -> str:
        needs = " ".join(sorted(feature.value for feature in self.features)) or "none"
        return f"<Facts of {self.program.name!r}: features {needs}; {len(self.locals)} locals>"

    @property
    def determinism(self) -> Determinism:
        """Whether the results can depend on the order of execution."""
        return self.prove_determinism(None)

    def determinism_in(self, grid: Grid) -> Determinism:
        """Whether the results can depend on the order of execution in this grid, or in a smaller one.

        Args:
            grid: The numbers of workgroups on x, y and z.
        """
        given: object = grid
        if not isinstance(given, (list, tuple)) or len(given) != GRID_AXES:
            message = f"determinism_in got {shown(given)}, expected the numbers of workgroups on three axes"
            raise TypeMismatch(message, fix="pass (x, y, z)")
        return self.determinism if self.determinism.is_deterministic else self.prove_determinism(grid)

    def has_iteration(self, loop: For) -> bool:
        """Whether a loop is proven to have an iteration."""
        start, stop = self.ranges.get(loop.start), self.ranges.get(loop.stop)
        return start is not None and stop is not None and start.high < stop.low

    def in_bounds(self, count: int | None, index: Expr) -> bool:
        """Whether `index` is proven to be below the fixed element count `count` (None: not fixed) and not negative."""
        if count is None or index not in self.ranges:
            return False
        low, high = self.ranges[index]
        return low >= 0 and high < count
