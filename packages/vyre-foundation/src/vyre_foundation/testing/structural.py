"""Programs of every shape that the constructors allow, valid or not: every kind of node, every field, odd names.

For what must hold of all programs: forms that lose nothing, errors that are typed, messages that are printed.
"""

from __future__ import annotations

from random import Random

from vyre_foundation.dtype import DTYPES, INTEGERS, DType, bool_
from vyre_foundation.ir.buffer import RUNTIME, Access, Buffer, Count, LengthOf, Memory, Per, PerLaunch
from vyre_foundation.ir.expr import Apply, Bitcast, Call, Cast, Expr, Id, IdKind, Length, Literal, Load, Local, Select
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import (
    Assign,
    Atomic,
    AtomicOp,
    Barrier,
    Body,
    Break,
    Continue,
    For,
    If,
    IndirectDispatch,
    Let,
    Region,
    Return,
    Scope,
    Stmt,
    Store,
    Subgroup,
    SubgroupOp,
    Trap,
    Var,
)
from vyre_foundation.ops import OPS

NAMES = (
    *("x", "y", "i0", "acc", "out", "x_2", "_", "0", "%0", "a b", "a.b", "let", "for", "step", "true", "nan", "u32"),
    *("read", "workgroup", "global_id", "len", "select", "sqrt", "call", "bitcast", "unchecked", "program", "expected"),
    *("`", "\\", '"', "'", "\n", "\t", "\0", "\x7f", "\u2028", "#", "//"),
    *("naïve", "日本", "𝄞", "\U0010ffff", "e\u0301"),
)
"""Names that some form might trip over."""


def structural_program(random: Random, size: int = 24) -> Program:
    """A program with about `size` expressions in the pool that its statements draw from."""
    return _Maker(random, size).program()


class _Maker:
    def __init__(self, random: Random, size: int) -> None:
        self.random = random
        self.buffers = [self.buffer() for _ in range(random.randrange(1, 6))]
        self.pool: dict[DType, list[Expr]] = {dtype: [self.literal(dtype)] for dtype in DTYPES}
        for _ in range(random.randrange(size)):
            node = random.choice(_MAKERS)(self)
            self.pool[node.dtype].append(node)

    def name(self) -> str:
        if self.random.random() < 0.9:
            return self.random.choice(NAMES)
        return "".join(chr(self.random.randrange(0xD800)) for _ in range(self.random.randrange(5)))

    def dtype(self) -> DType:
        return self.random.choice(DTYPES)

    def flag(self) -> bool:
        return self.random.random() < 0.5

    def number(self) -> int:
        return self.random.choice((0, 1, 2, 3, 127, 128, 255, 2**14, 2**32 - 1, 2**63, 2**64 - 1))

    # ── buffers ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def buffer(self) -> Buffer:
        memory, dtype = self.random.choice(list(Memory)), self.dtype()
        access = {Memory.UNIFORM: Access.READ, Memory.CONSTANT: Access.READ}.get(memory, Access.READ_WRITE)
        if memory is Memory.STORAGE:
            access = self.random.choice(list(Access))
        count = self.count(memory, access)
        data = output_range = None
        if memory is Memory.CONSTANT:
            count = self.random.choice((0, 1, 5, 40))
            data = self.random.randbytes(count * dtype.size)
        if memory is Memory.STORAGE and access.writes and self.flag():
            start = self.random.choice((0, 1, 200))
            output_range = start, start + self.random.choice((0, 4, 300))
        binding = self.random.choice((0, 1, 2, 300, 2**16 - 1)) if memory.is_bound else None
        return Buffer(self.name() or "b", dtype, access, memory, count, binding, data, output_range)

    def count(self, memory: Memory, access: Access) -> Count:
        fixed = self.random.choice((0, 1, 64, 2**32 - 1))
        times, over, plus = (self.random.choice((1, 3, 2**40)) for _ in range(3))
        rule = LengthOf(self.name(), times, over, {1: 1, 3: 0}.get(plus, -1))
        counts: list[Count] = [fixed]
        if memory.is_bound:
            counts.append(rule)
        if memory is Memory.SCRATCH:
            counts.append(PerLaunch(self.random.choice(list(Per)), self.random.choice((1, 2, 1000))))
        if memory is Memory.UNIFORM or (memory is Memory.STORAGE and access.reads):
            counts.append(RUNTIME)
        return self.random.choice(counts)

    # ── expressions ──────────────────────────────────────────────────────────────────────────────────────────────────

    def expr(self, *dtypes: DType) -> Expr:
        return self.random.choice(self.pool[self.random.choice(dtypes or DTYPES)])

    def literal(self, dtype: DType | None = None) -> Expr:
        dtype = dtype or self.dtype()
        patterns = [0, 1, (1 << dtype.bits) - 1, 1 << (dtype.bits - 1), self.random.randrange(1 << dtype.bits)]
        if dtype.is_float:
            infinity = dtype.nan_bits & dtype.nan_bits << 1  # without the quiet bit
            patterns += [dtype.nan_bits, dtype.nan_bits | 1, infinity, infinity | 1, 3]
        return Literal(dtype, self.random.choice(patterns) & ((1 << dtype.bits) - 1))

    def local(self) -> Expr:
        return Local(self.name(), self.dtype())

    def load(self) -> Expr:
        return Load(self.random.choice(self.buffers), self.expr(*INTEGERS), checked=self.flag())

    def length(self) -> Expr:
        return Length(self.random.choice(self.buffers))

    def id(self) -> Expr:
        kind = self.random.choice(list(IdKind))
        return Id(kind, self.random.randrange(3) if kind.has_axis else 0)

    def apply(self) -> Expr:
        op = self.random.choice(list(OPS.values()))
        dtype = self.random.choice(op.accepts)
        return Apply(op, *(self.expr(dtype) for _ in range(op.arity)))

    def select(self) -> Expr:
        dtype = self.dtype()
        return Select(self.expr(bool_), self.expr(dtype), self.expr(dtype))

    def cast(self) -> Expr:
        return Cast(self.dtype(), self.expr(), checked=self.flag())

    def bitcast(self) -> Expr:
        value = self.expr()
        same = [t for t in DTYPES if t.bits == value.dtype.bits and (t is bool_) == (value.dtype is bool_)]
        return Bitcast(self.random.choice(same), value)

    def call(self) -> Expr:
        return Call(self.name(), self.dtype(), *(self.expr() for _ in range(self.random.randrange(4))))

    # ── statements ───────────────────────────────────────────────────────────────────────────────────────────────────

    def program(self) -> Program:
        declared = tuple(self.random.choice(self.buffers) for _ in range(self.random.randrange(5)))
        sizes = self.number(), self.number(), self.number()
        subgroup = self.random.choice((None, 0, 1, 32, 2**40))
        return Program(self.name(), declared, sizes, self.body(0), subgroup)

    def body(self, depth: int) -> Body:
        return tuple(self.stmt(depth) for _ in range(self.random.randrange(5)))

    def stmt(self, depth: int) -> Stmt:
        if depth < 4 and self.random.random() < 0.3:
            body = self.body(depth + 1)
            return self.random.choice(
                (
                    If(self.expr(), body, self.body(depth + 1)),
                    For(self.name(), self.expr(), self.expr(), self.number(), body),
                    Region(self.name(), body),
                )
            )
        return self.simple()

    def simple(self) -> Stmt:
        name, buffer, value = self.name(), self.random.choice(self.buffers), self.expr()
        index = self.expr(*INTEGERS)
        result = name if self.flag() else None
        extra = self.expr() if self.flag() else None
        return self.random.choice(
            (
                Let(name, value),
                Var(name, value),
                Assign(name, value),
                Store(buffer, index, value, self.flag()),
                Atomic(self.random.choice(list(AtomicOp)), buffer, index, value, extra, result, self.flag()),
                Subgroup(self.random.choice(list(SubgroupOp)), value, extra, result),
                Trap(value, name),
                IndirectDispatch(buffer, self.number()),
                Barrier(self.random.choice(list(Scope))),
                Break(),
                Continue(),
                Return(),
            )
        )


_MAKERS = (
    _Maker.literal,
    _Maker.local,
    _Maker.load,
    _Maker.length,
    _Maker.id,
    *[_Maker.apply] * 5,
    _Maker.select,
    _Maker.cast,
    _Maker.bitcast,
    _Maker.call,
)
