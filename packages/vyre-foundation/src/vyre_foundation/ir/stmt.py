"""Statements: everything that acts. Bodies are tuples, so a statement is immutable all the way down.

A local is declared once in a whole program, by `Let`, `Var`, `For` or the result name of an `Atomic` or `Subgroup`; it
is visible from its declaration to the end of the enclosing body. A `Region` is transparent: no scope, no meaning.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from vyre_foundation.dtype import DType, bool_, u64
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Expr, Literal
from vyre_foundation.ir.integer import integer


@dataclass(frozen=True, slots=True)
class Let:
    """Declare an immutable local."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Var:
    """Declare a mutable local."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Assign:
    """Give a mutable local another value of its type."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Store:
    """Write one element; dropped out of bounds. `checked=False`: a legalizer has proven the bounds."""

    buffer: Buffer
    index: Expr
    value: Expr
    checked: bool = True


@dataclass(frozen=True, slots=True)
class If:
    """Runs `then` in the invocations where `condition`, a bool, holds, and `orelse` in the others."""

    condition: Expr
    then: Body
    orelse: Body = ()


@dataclass(frozen=True, slots=True)
class For:
    """Count `name` over start, start + step, … while below `stop`, as unbounded integers; bounds are read once.

    `is_parallel` is a legalizer's note to emitters, not a part of the program: the iterations are the invocations of a
    workgroup, and may run in any order or side by side.
    """

    name: str
    start: Expr
    stop: Expr
    step: int
    body: Body
    is_parallel: bool = field(default=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if type(self.step) is not int:
            object.__setattr__(self, "step", integer(f"for {self.name!r}", "step", self.step))

    @property
    def trip_count(self) -> int | None:
        """How many there are, where both bounds are literals."""
        if isinstance(self.start, Literal) and isinstance(self.stop, Literal):
            return trip_count(int(self.start.value), int(self.stop.value), self.step)
        return None


def trip_count(start: int, stop: int, step: int) -> int:
    """How many iterations a loop has, which may be more than `len` of a range can say."""
    return max(0, -((start - stop) // step))


@dataclass(frozen=True, slots=True)
class Break:
    """Leave the innermost loop."""


@dataclass(frozen=True, slots=True)
class Continue:
    """Continue with the next iteration of the innermost loop."""


@dataclass(frozen=True, slots=True)
class Return:
    """End this invocation."""


class Scope(Enum):
    """Who waits at a barrier, and whose writes are visible after it."""

    WORKGROUP = "workgroup"
    GRID = "grid"


@dataclass(frozen=True, slots=True)
class Barrier:
    """Execution and memory barrier for the scope."""

    scope: Scope = Scope.WORKGROUP


class AtomicOp(Enum):
    """What an atomic does with the old element and its value; the values are the names of the text form."""

    ADD = "add"
    AND = "and"
    OR = "or"
    XOR = "xor"
    MIN = "min"
    MAX = "max"
    EXCHANGE = "exchange"
    COMPARE_EXCHANGE = "compare_exchange"


@dataclass(frozen=True, slots=True)
class Atomic:
    """Read, modify and write one element indivisibly; `result` names the old value (0 out of bounds, nothing done).

    `expected` belongs to `COMPARE_EXCHANGE`, which writes `value` where the old value equals it.
    """

    op: AtomicOp
    buffer: Buffer
    index: Expr
    value: Expr
    expected: Expr | None = None
    result: str | None = None
    checked: bool = True


class SubgroupOp(Enum):
    """A collective of a subgroup. `operand` ops take a lane or mask (u32), reduced modulo the subgroup size."""

    REDUCE_ADD = "reduce_add"
    REDUCE_MIN = "reduce_min"
    REDUCE_MAX = "reduce_max"
    REDUCE_AND = "reduce_and"
    REDUCE_OR = "reduce_or"
    REDUCE_XOR = "reduce_xor"
    INCLUSIVE_SCAN_ADD = "inclusive_scan_add"
    INCLUSIVE_SCAN_MIN = "inclusive_scan_min"
    INCLUSIVE_SCAN_MAX = "inclusive_scan_max"
    INCLUSIVE_SCAN_AND = "inclusive_scan_and"
    INCLUSIVE_SCAN_OR = "inclusive_scan_or"
    INCLUSIVE_SCAN_XOR = "inclusive_scan_xor"
    EXCLUSIVE_SCAN_ADD = "exclusive_scan_add"
    EXCLUSIVE_SCAN_MIN = "exclusive_scan_min"
    EXCLUSIVE_SCAN_MAX = "exclusive_scan_max"
    EXCLUSIVE_SCAN_AND = "exclusive_scan_and"
    EXCLUSIVE_SCAN_OR = "exclusive_scan_or"
    EXCLUSIVE_SCAN_XOR = "exclusive_scan_xor"
    BROADCAST = "broadcast"
    SHUFFLE = "shuffle"
    SHUFFLE_XOR = "shuffle_xor"
    BALLOT = "ballot"
    ANY = "any"
    ALL = "all"

    @property
    def family(self) -> str:
        """The kind of collective: "reduce", "inclusive_scan", "exclusive_scan", or the op itself."""
        for family in ("reduce", "inclusive_scan", "exclusive_scan"):
            if self.value.startswith(family):
                return family
        return self.value

    @property
    def combine(self) -> str | None:
        """The id of the binary op that a reduction or scan folds with."""
        return self.value.rsplit("_", 1)[1] if self.family in ("reduce", "inclusive_scan", "exclusive_scan") else None

    @property
    def takes_lane(self) -> bool:
        """Whether the statement has a `lane`: the source, or for SHUFFLE_XOR the mask."""
        return self in (SubgroupOp.BROADCAST, SubgroupOp.SHUFFLE, SubgroupOp.SHUFFLE_XOR)

    def result_type(self, operand: DType) -> DType:
        """The type of the result: u64 with bit i for lane i (ballot), bool (any, all), else the operand's."""
        if self is SubgroupOp.BALLOT:
            return u64
        return bool_ if self in (SubgroupOp.ANY, SubgroupOp.ALL) else operand


@dataclass(frozen=True, slots=True)
class Subgroup:
    """A collective over the subgroup; `result` names what this lane gets. `lane` is the lane or mask of an exchange."""

    op: SubgroupOp
    value: Expr
    lane: Expr | None = None
    result: str | None = None


@dataclass(frozen=True, slots=True)
class Trap:
    """Record a failure of this invocation and go on; the dispatch then fails and returns no outputs."""

    code: Expr
    tag: str


@dataclass(frozen=True, slots=True)
class IndirectDispatch:
    """The grid is the three u32 elements of `buffer` from `offset` on. First statement of a program, or absent."""

    buffer: Buffer
    offset: int = 0

    def __post_init__(self) -> None:
        if type(self.offset) is not int:
            object.__setattr__(self, "offset", integer("indirect_dispatch", "offset", self.offset))


@dataclass(frozen=True, slots=True)
class Region:
    """Provenance: `label` says where `body` came from."""

    label: str
    body: Body


Stmt = (
    Let | Var | Assign | Store | If | For | Break | Continue | Return
    | Barrier | Atomic | Subgroup | Trap | IndirectDispatch | Region
)  # fmt: skip
"""Every kind of statement, for exhaustive matches."""

Body = tuple[Stmt, ...]

ATOMIC_DTYPES = ("u32", "i32", "u64", "i64")
MAX_NESTING = 64
"""Statements may be nested this deep, in the validator and in the decoder alike."""
