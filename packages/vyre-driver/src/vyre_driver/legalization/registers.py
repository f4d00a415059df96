"""The last rewriting: values in registers of the target, ops that it spells, memory as it is laid out."""

from __future__ import annotations

from dataclasses import replace

from vyre_driver.legalization.forms import casts, half
from vyre_driver.legalization.forms.forms import Forms
from vyre_driver.legalization.forms.narrow import pattern, wrapped
from vyre_driver.legalization.forms.term import ExprTerm
from vyre_driver.legalization.kernel_memory import kernel_memory
from vyre_driver.legalization.nans import Purities, Purity
from vyre_driver.legalization.ranges import Ranges
from vyre_foundation.dtype import bool_, u32
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import (
    Apply,
    Bitcast,
    Cast,
    Expr,
    Length,
    Literal,
    Load,
    Local,
    Select,
    literal,
)  # fmt: skip
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Atomic, Let, Stmt, Store
from vyre_foundation.ir.walk import rebuilt, rewrite_body, statements, transform, with_expressions


def to_registers(program: Program, ranges: Ranges, forms: Forms) -> Program:
    """Replace operations and types that the target lacks by those that it has.

    ``let x = a[i] * b[i]`` on i8  →  ``let x = i32(u32(i32(a[i]) * i32(b[i])) << 24) >> 24``

    The buffers of the result are those that it touches, in argument order.
    """
    rewriter = _Registers(program, ranges, forms)
    body = rewrite_body(program.body, rewriter.stmt)
    return replace(program, buffers=tuple(rewriter.memory.values()), body=body)


class _Registers:
    def __init__(self, program: Program, ranges: Ranges, forms: Forms) -> None:
        self.memory = kernel_memory(program, forms)
        self._forms, self._ranges = forms, ranges
        self._target = forms.target
        self._purities = Purities({s.name: s.value for s in statements(program.body) if isinstance(s, Let)})
        self._memo: dict[Expr, Expr] = {}

    # ── statements ───────────────────────────────────────────────────────────────────────────────────────────────────

    def stmt(self, stmt: Stmt) -> Stmt:
        match stmt:
            case Store(buffer, index, value, checked):
                return Store(self.memory[buffer], self._expr(index), self._encoded(buffer, value), checked)
            case Atomic(op, buffer):
                if (op, buffer.dtype) not in self._target.atomics:
                    raise self._forms.unsupported(f"atomic {op.value} on {buffer.dtype}")
                stmt = replace(stmt, buffer=self.memory[buffer])
        return with_expressions(stmt, self._expr)

    def _encoded(self, buffer: Buffer, value: Expr) -> Expr:
        """The value as memory holds it; where the host sees it, a NaN is canonical."""
        dtype, stored = buffer.dtype, self.memory[buffer].dtype
        x = ExprTerm(self._forms, self._expr(value))
        if x.dtype is stored:
            visible = dtype.is_float and buffer.memory.is_host_visible
            dirty = visible and self._purities.of(value) is Purity.UNKNOWN
            return (
                x.differs(x).where(ExprTerm(self._forms, Literal(dtype, dtype.nan_bits)), x).expr if dirty else x.expr
            )
        if dtype.is_float:
            x = half.pattern(dtype, self._forms.widened(x))
        elif dtype is bool_:
            x = x.cast(stored) if (bool_, stored) in self._target.casts else x.cast(u32)
        elif not stored.is_signed:
            x = pattern(dtype, x)
        return x.cast(stored).expr

    # ── expressions ──────────────────────────────────────────────────────────────────────────────────────────────────

    def _expr(self, root: Expr) -> Expr:
        return transform(root, self._node, self._memo)

    def _node(self, node: Expr, args: tuple[Expr, ...]) -> Expr:
        match node:
            case Apply():
                return self._apply(node, args)
            case Literal(dtype):
                register = self._forms.carrier(dtype)
                return node if register is dtype else literal(register, node.value)
            case Local(name, dtype):
                return Local(name, self._forms.carrier(dtype))
            case Load():
                return self._decoded(node, args[0])
            case Length(buffer):
                return literal(u32, buffer.count) if isinstance(buffer.count, int) else Length(self.memory[buffer])
            case Select():
                return self._forms.select(*args)
            case Cast(dtype, value):
                return casts.convert(value.dtype, dtype, self._term(value, args[0])).expr
            case Bitcast(dtype, value):
                dirty = value.dtype.is_float and self._purities.of(value) is Purity.UNKNOWN
                return casts.reinterpret(value.dtype, dtype, self._term(value, args[0]), may_be_nan=dirty).expr
            case _:
                return rebuilt(node, args)

    def _term(self, source: Expr, image: Expr) -> ExprTerm:
        return ExprTerm(self._forms, image, self._ranges.get(source))

    def _apply(self, node: Apply, args: tuple[Expr, ...]) -> Expr:
        op, dtype = node.op.id, node.args[0].dtype
        if (op, dtype) in self._target.ops and dtype in self._target.arithmetic:
            return rebuilt(node, args)
        terms = [self._term(source, image) for source, image in zip(node.args, args, strict=True)]
        if args[0].dtype is dtype:
            return self._forms.apply(op, *terms)
        return self._forms.native_cast(self._forms.carrier(node.dtype), self._forms.narrow(op, dtype, *terms))

    def _decoded(self, load: Load, index: Expr) -> Expr:
        """The element in a register; a bool is any byte but 0."""
        buffer, dtype = self.memory[load.buffer], load.buffer.dtype
        raw = Load(buffer, index, checked=load.checked)
        register = self._forms.carrier(dtype)
        if register is buffer.dtype:
            return raw
        x = ExprTerm(self._forms, raw).cast(self._forms.wide(buffer.dtype))
        if dtype is bool_:
            return x.differs(0).expr
        if dtype.is_float:
            return half.value(dtype, x).cast(register).expr
        return (wrapped(dtype, x) if dtype.is_signed and not buffer.dtype.is_signed else x).cast(register).expr
