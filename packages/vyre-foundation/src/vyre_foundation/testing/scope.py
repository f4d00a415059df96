"""What is known at one place of a program under construction: locals, buffers, and who may touch which element.

Random programs are free of races because every writable buffer that invocations share is in one `Hold` at every place,
and a hold changes only at a barrier that orders the invocations concerned.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum

from vyre_foundation.dtype import DType, u32
from vyre_foundation.ir.buffer import Access, Buffer, Memory
from vyre_foundation.ir.expr import Apply, Expr, Local, literal
from vyre_foundation.ir.stmt import AtomicOp
from vyre_foundation.ops import OPS
from vyre_foundation.validate.facts import Uniformity

GID = Local("gid", u32)
"""The linear global id, by rows of the whole grid."""
LID = Local("lid", u32)
"""The linear local id."""
GROUP = Local("group", u32)
"""The linear workgroup id."""
SID = Local("sid", u32)
"""The invocations numbered group by group: ``group * volume + lid``."""


class Hold(Enum):
    """Who may touch the elements of a shared buffer until the next barrier."""

    OWN = "own"
    """Every invocation reads and writes its own elements."""
    GROUP = "group"
    """Each invocation reads the elements of its workgroup, none writes."""
    ALL = "all"
    """Each invocation reads every element, none writes."""
    ATOMIC = "atomic"
    """Everybody applies one commutative atomic op to any element and looks at nothing."""


COMMUTATIVE = (AtomicOp.ADD, AtomicOp.AND, AtomicOp.OR, AtomicOp.XOR, AtomicOp.MIN, AtomicOp.MAX)


@dataclass(frozen=True, slots=True)
class Shared:
    """A writable buffer in which each invocation owns `slots` adjacent elements.

    `base` (below `limit`) numbers the invocations; `from_last` counts them from the last one.
    """

    buffer: Buffer
    base: Local
    limit: int
    slots: int = 1
    from_last: bool = False
    hold: Hold = Hold.OWN
    op: AtomicOp = AtomicOp.ADD

    def own(self, slot: int) -> Expr:
        """The index of one of the elements of this invocation."""
        base: Expr = self.base
        if self.from_last:
            base = Apply(OPS["sub"], literal(u32, max(0, self.limit - 1)), base)
        if self.slots > 1:
            base = Apply(OPS["mul"], base, literal(u32, self.slots))
        return Apply(OPS["add"], base, literal(u32, slot)) if slot else base

    @property
    def is_grouped(self) -> bool:
        """Whether the elements of a workgroup are adjacent."""
        return self.base is SID and not self.from_last

    @property
    def readable(self) -> bool:
        """Whether it can be loaded from; nothing but atomics touches what atomics change."""
        return self.buffer.access.reads and self.hold is not Hold.ATOMIC


@dataclass(frozen=True, slots=True)
class ScopedLocal:
    """A local in sight, the invocations over which its value is the same, and whether it may be assigned."""

    local: Local
    level: Uniformity
    mutable: bool = False
    is_counter: bool = False


@dataclass(slots=True)
class GeneratorScope:
    """The state of the generator at one place. `flow` is the uniformity of getting here."""

    volume: int
    fixed: list[Buffer] = field(default_factory=list)
    private: list[Buffer] = field(default_factory=list)
    shared: dict[Buffer, Shared] = field(default_factory=dict)
    variables: list[ScopedLocal] = field(default_factory=list)
    flow: Uniformity = Uniformity.LAUNCH
    names: dict[str, int] = field(default_factory=dict)

    def fresh(self, stem: str) -> str:
        """A name that no other local of the program has."""
        self.names[stem] = self.names.get(stem, -1) + 1
        return f"{stem}{self.names[stem]}"

    def declare(
        self, name: str, dtype: DType, level: Uniformity, *, mutable: bool = False, is_counter: bool = False
    ) -> Local:
        """Make a local visible from here on."""
        local = Local(name, dtype)
        self.variables.append(ScopedLocal(local, level, mutable, is_counter))
        return local

    @contextmanager
    def block(self, flow: Uniformity) -> Iterator[None]:
        """A nested body, reached by invocations as uniform as `flow`."""
        outside, count = self.flow, len(self.variables)
        self.flow = least(outside, flow)
        yield
        self.flow = outside
        del self.variables[count:]

    def visible(self, dtype: DType, level: Uniformity) -> list[Local]:
        """Locals of a type whose value is as uniform as `level` demands."""
        return [v.local for v in self.variables if v.local.dtype is dtype and v.level.value >= level.value]

    def assignable(self) -> list[ScopedLocal]:
        """Mutable locals that may change here: a uniform one only where control flow is uniform for its invocations."""
        return [v for v in self.variables if v.mutable and self.flow.value >= v.level.value]

    def counters(self, level: Uniformity) -> list[Local]:
        """The counters of the loops around, as uniform as `level` demands, the innermost last."""
        return [v.local for v in self.variables if v.is_counter and v.level.value >= level.value]

    def writable(self) -> list[Shared]:
        """The memory whose elements belong to one invocation each."""
        return [s for s in self.shared.values() if s.hold is Hold.OWN]

    def hold(self, shared: Shared, hold: Hold, op: AtomicOp) -> None:
        """Set how the invocations may use some memory from here on."""
        self.shared[shared.buffer] = replace(shared, hold=hold, op=op)


def least(*levels: Uniformity) -> Uniformity:
    """The narrowest of some levels."""
    return min(levels, key=lambda level: level.value)


def is_shared(buffer: Buffer) -> bool:
    """Whether several invocations can see what one of them writes."""
    if buffer.memory in (Memory.WORKGROUP, Memory.SCRATCH, Memory.PERSISTENT):
        return True
    return buffer.memory is Memory.STORAGE and buffer.access is not Access.READ
