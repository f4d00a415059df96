"""Expressions of several invocations at once, as instructions on vectors. What is one for all stays one value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from vyre_driver_cpu.chains import is_constant
from vyre_driver_cpu.lanes import VectorLanes
from vyre_driver_cpu.spelling import TYPES, neutral, quiet, typed
from vyre_driver_cpu.values import FunctionScope, OperandValues
from vyre_foundation.dtype import DType, bool_, u32
from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Expr, Local, Select


class VectorArithmetic(OperandValues):
    """Computes the expressions of one loop over invocations, for a vector of them; `VectorValues` adds their memory.

    `first` is the operand of the loop's counter in lane 0. `mask` is None where all invocations are active.
    `constants_in_memory`: floats are loaded where they are used (see `chains`).

    A mask is a vector of `mask_type`, which `active` makes conditions of, and `where` is made of some.
    """

    def __init__(
        self, scope: FunctionScope, lanes: VectorLanes, first: str, *, constants_in_memory: bool = False
    ) -> None:
        super().__init__(scope)
        self.lanes, self._constants_in_memory = lanes, constants_in_memory
        self._firsts: dict[Expr, str] = {lanes.counter: first}
        """Lane 0 of this loop's counter, and of the counters of loops in it that lanes begin apart."""
        self._vectors = scope.spellings.of(lanes.width)
        self.mask: str | None = None

    # ── vectors ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def type(self, dtype: DType) -> str:
        """The type of a vector with one element for each lane."""
        return typed(dtype, self.lanes.width)

    @property
    def condition_type(self) -> str:
        """The type of conditions."""
        return self.type(bool_)

    @property
    def mask_type(self) -> str:
        """The type of masks: bits where there are registers for them, or else integers of which all bits are equal.

        Without such registers LLVM makes one vector of bytes of conditions that take several registers, and takes it
        apart again where values are selected.
        """
        return f"<{self.lanes.width} x i{self._mask_bits}>"

    @property
    def _mask_bits(self) -> int:
        return 1 if self._vectors.mask_registers else max(u32.bits, self._vectors.vector_bits // self.lanes.width)

    def vector(self, root: Expr) -> str:
        """`root` for all lanes."""
        value = self.operand(root)
        return value if self.lanes.varies(root) else self.splat(value, root.dtype)

    def splat(self, value: str, dtype: DType) -> str:
        """A vector of equal elements."""
        t, width = TYPES[dtype], self.lanes.width
        if not value.startswith("%"):
            return f"splat ({t} {value})"
        one = self._out.value(f"insertelement <{width} x {t}> poison, {t} {value}, i64 0")
        return self.shuffle(t, width, one, "poison", (0,) * width)

    def shuffle(self, type: str, width: int, a: str, b: str, places: Sequence[int]) -> str:
        """Elements of two vectors of `width` elements; -1 takes none."""
        indices = ", ".join("i32 poison" if place < 0 else f"i32 {place}" for place in places)
        t = f"<{width} x {type}>"
        return self._out.value(f"shufflevector {t} {a}, {t} {b}, <{len(places)} x i32> <{indices}>")

    def counted(self) -> str:
        """The counter of all lanes."""
        dtype, width = self.lanes.counter.dtype, self.lanes.width
        steps = ", ".join(f"{TYPES[dtype]} {n}" for n in range(width))
        return self._out.value(
            f"add {self.type(dtype)} {self.splat(self._firsts[self.lanes.counter], dtype)}, <{steps}>"
        )

    def counted_from(self, start: Expr, index: Local) -> Callable[[str], str]:
        """What gives the counter `index` of a loop in which lanes are neighbours, when all have counted so far."""
        t, vector = TYPES[start.dtype], self.type(start.dtype)
        values, first = self.operand(start), self.in_first(start)

        def counted(gone: str) -> str:
            self._firsts[index] = self._out.value(f"add {t} {first}, {gone}")
            return self._out.value(f"add {vector} {values}, {self.splat(gone, start.dtype)}")

        return counted

    def where(self, condition: str) -> str:
        """The lanes for which a condition holds, as a mask."""
        if self._vectors.mask_registers:
            return condition
        return self._out.value(f"sext {self.condition_type} {condition} to {self.mask_type}")

    def active(self, mask: str) -> str:
        """Whether a lane is active, as a condition."""
        if self._vectors.mask_registers:
            return mask
        return self._out.value(f"icmp slt {self.mask_type} {mask}, zeroinitializer")

    def both(self, mask: str | None, condition: str) -> str:
        """The lanes of a mask for which a condition holds; in the others it may be poison."""
        if mask is None:
            return self.where(condition)
        t = self.condition_type
        if self._vectors.mask_registers:
            return self._out.value(f"select {t} {mask}, {t} {condition}, {t} splat (i1 false)")
        return self.common(mask, self.where(self._out.value(f"freeze {t} {condition}")))

    def common(self, mask: str | None, other: str) -> str:
        """The lanes of two masks."""
        return other if mask is None else self._out.value(f"and {self.mask_type} {mask}, {other}")

    def without(self, mask: str, leaving: str) -> str:
        """The lanes of a mask that are not those of another."""
        t = self.mask_type
        others = self._out.value(f"xor {t} {leaving}, splat (i{self._mask_bits} -1)")
        return self._out.value(f"and {t} {mask}, {others}")

    def inverse(self, condition: str) -> str:
        """The lanes for which a condition does not hold, as a condition."""
        return self._out.value(f"xor {self.condition_type} {condition}, splat (i1 true)")

    def any(self, condition: str) -> str:
        """Whether a condition holds for a lane."""
        width = self.lanes.width
        bits = self._out.value(f"bitcast {self.condition_type} {condition} to i{width}")
        return self._out.value(f"icmp ne i{width} {bits}, 0")

    def every(self, condition: str) -> str:
        """Whether a condition holds for all lanes."""
        width = self.lanes.width
        bits = self._out.value(f"bitcast {self.condition_type} {condition} to i{width}")
        return self._out.value(f"icmp eq i{width} {bits}, -1")

    def reduced(self, operation: str, root: Expr) -> str:
        """One value that combines those of `root` in the active lanes: add, and, or, xor, min or max of integers."""
        dtype, t = root.dtype, self.type(root.dtype)
        given = self.vector(root)
        if self.mask is not None:
            rest = f"splat ({TYPES[dtype]} {neutral(operation, dtype)})"
            is_active = f"{self.condition_type} {self.active(self.mask)}"
            given = self._out.value(f"select {is_active}, {t} {given}, {t} {rest}")
        if operation in ("min", "max"):
            operation = f"{'s' if dtype.is_signed else 'u'}{operation}"
        name = f"@llvm.vector.reduce.{operation}.v{self.lanes.width}{TYPES[dtype]}"
        return self._out.value(f"call {TYPES[dtype]} {name}({t} {given})")

    # ── one node ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _spread(self, nodes: Iterable[Expr], operands: Iterable[str]) -> list[str]:
        return [
            x if self.lanes.varies(n) else self.splat(self._from_memory(n, x), n.dtype)
            for n, x in zip(nodes, operands, strict=True)
        ]

    def _from_memory(self, node: Expr, operand: str) -> str:
        """The operand, or the same constant loaded; a load that is volatile stays where it is."""
        if not self._constants_in_memory or not is_constant(node) or operand.startswith("%"):
            return operand
        t = TYPES[node.dtype]
        return self._out.value(f"load volatile {t}, ptr {self._out.constant(t, operand)}")

    def _apply(self, node: Apply, args: list[str]) -> str:
        if not self.lanes.varies(node):
            return super()._apply(node, args)
        vectors = self._spread(node.args, args)
        if node.op.id in ("raw_div", "raw_rem") and self.mask is not None:  # other lanes may have any divisor
            t = self.type(node.dtype)
            one = f"splat ({TYPES[node.dtype]} 1)"
            is_active = f"{self.condition_type} {self.active(self.mask)}"
            vectors[1] = self._out.value(f"select {is_active}, {t} {vectors[1]}, {t} {one}")
        return self._out.spelled(self._vectors.ops[node.op.id, node.args[0].dtype], vectors)

    def _select(self, node: Select, args: list[str]) -> str:
        if not self.lanes.varies(node):
            return super()._select(node, args)
        condition, yes, no = node.args
        t, kind = self.type(node.dtype), self.condition_type if self.lanes.varies(condition) else "i1"
        a, b = self._spread((yes, no), args[1:])
        return self._out.value(f"select {kind} {args[0]}, {t} {a}, {t} {b}")

    def _cast(self, node: Cast, args: list[str]) -> str:
        if not self.lanes.varies(node):
            return super()._cast(node, args)
        return self._out.spelled(self._vectors.casts[node.value.dtype, node.dtype], args)

    def _bitcast(self, node: Bitcast, args: list[str]) -> str:
        if not self.lanes.varies(node):
            return super()._bitcast(node, args)
        return self._out.spelled(self._vectors.bitcasts[node.value.dtype, node.dtype], args)

    def _quiet(self, node: Expr, value: str) -> str:
        if not self.lanes.varies(node):
            return super()._quiet(node, value)
        return self._out.spelled(quiet(node.dtype, self.lanes.width), [value])

    def _local(self, node: Local, args: list[str]) -> str:
        if not self.lanes.varies(node):
            return super()._local(node, args)
        return self._out.value(f"load {self.type(node.dtype)}, ptr {self._scope.variables[node.name]}")

    def in_first(self, root: Expr) -> str:
        """An index that has a pattern, in lane 0."""
        known = dict(self._firsts)

        def of(node: Expr) -> str:
            if node not in known:
                known[node] = found(node)
            return known[node]

        def found(node: Expr) -> str:
            if not self.lanes.varies(node):
                return self.operand(node)
            match node:
                case Local():
                    value = self.lanes.steady(node)
                    assert value is not None
                    return of(value)
                case Cast():
                    return super(VectorArithmetic, self)._cast(node, [of(node.value)])
                case Apply():
                    return super(VectorArithmetic, self)._apply(node, [of(a) for a in node.args])
            raise AssertionError(f"{type(node).__name__} has no pattern")

        return of(root)
