"""Expressions as instructions, each once as long as its value stays valid."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from vyre_driver.codegen.known import KnownValues
from vyre_driver.codegen.placement import Life, Placement
from vyre_driver.legalization.text_forms import CallForm
from vyre_driver_cpu.bounds import UpperBounds
from vyre_driver_cpu.function import LIKELY, UNPREDICTABLE, FunctionText
from vyre_driver_cpu.literals import operand_of
from vyre_driver_cpu.narrow import NarrowIndices
from vyre_driver_cpu.spelling import TYPES, Spellings, quiet
from vyre_foundation.dialects import lookup
from vyre_foundation.dtype import bool_, i64, u32, u64
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import (
    Apply,
    Bitcast,
    Call,
    Cast,
    Expr,
    Length,
    Literal,
    Load,
    Local,
    Select,
    literal,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FunctionScope:
    """What the printers of one function share.

    `arrays` are the addresses of its buffers, `symbols` the operands of ids, lengths and immutable locals, `variables`
    the addresses of mutable ones, `lets` the values of immutable ones, `functions` what calls are left for. `known` are
    the values that have been computed, `bounds` those that indices do not exceed.
    """

    out: FunctionText
    spellings: Spellings
    placement: Placement
    arrays: Mapping[str, str]
    symbols: dict[Expr, str]
    variables: dict[str, str]
    lets: Mapping[str, Expr]
    functions: Mapping[CallForm, str]
    known: KnownValues[str]
    bounds: UpperBounds


def may_be_signalling(node: Expr) -> bool:
    """Whether a value is a float that enters as bits: from the memory of the host, or of an integer.

    Arithmetic gives quiet NaNs, and stores to other memory canonical ones.
    """
    if not node.dtype.is_float:
        return False
    return isinstance(node, Bitcast) or (isinstance(node, Load) and node.buffer.memory.is_host_visible)


def _compares_loads(condition: Expr, lets: Mapping[str, Expr]) -> bool:
    """Whether a condition compares two elements of memory, as merges do.

    A CPU cannot predict which way it goes. LLVM makes branches of selections that loops wait for, unless it is told.
    """

    def bound(node: Expr) -> Expr:
        return lets.get(node.name, node) if isinstance(node, Local) else node

    todo, seen = [condition], set[Expr]()
    while todo:
        node = bound(todo.pop())
        if isinstance(node, Apply) and node.dtype is bool_ and node not in seen:
            seen.add(node)
            if node.args[0].dtype is bool_:
                todo += node.args
            elif len({*node.args}) == 2 and all(isinstance(bound(operand), Load) for operand in node.args):
                return True
    return False


class OperandValues:
    """Computes the expressions of one function."""

    def __init__(self, scope: FunctionScope) -> None:
        self._scope, self._out, self._spellings = scope, scope.out, scope.spellings
        self._symbols, self.known = scope.symbols, scope.known
        self._narrow = NarrowIndices(scope.lets)
        self._compute: dict[type[Expr], Callable[..., str]] = {
            Apply: self._apply,
            Load: self._load,
            Select: self._select,
            Cast: self._cast,
            Bitcast: self._bitcast,
            Call: self._call,
            Local: self._local,
        }

    def operand(self, root: Expr) -> str:
        """`root` as an operand, behind the instructions that it needs."""
        known, symbols = self.known.values, self._symbols
        done: dict[Expr, str] = {}
        stack = [root]
        while stack:
            node = stack[-1]
            if node in done or node in known or node in symbols:
                stack.pop()
                continue
            if isinstance(node, Literal):
                done[node] = self._out.nan(node.dtype) if node.value != node.value else operand_of(node)
                stack.pop()
                continue
            todo = [a for a in node.args if not (a in done or a in known or a in symbols)]
            if todo:
                stack.extend(reversed(todo))
                continue
            args = [symbols.get(a) or known.get(a) or done[a] for a in node.args]
            value = self._compute[type(node)](node, args)
            if self._spellings.has_signalling and may_be_signalling(node):
                value = self._quiet(node, value)
            done[node] = value
            if self._scope.placement.uses[node] > 1:
                self.known.remember(node, value)
            stack.pop()
        return symbols.get(root) or known.get(root) or done[root]

    def address(self, buffer: Buffer, index: Expr) -> str:
        """Where the element `index` is, which is within bounds."""
        return self._element(buffer, index, self.operand(index))

    def forget(self, life: Life) -> None:
        """See `KnownValues`."""
        self.known.forget(life)

    # ── one node ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def _apply(self, node: Apply, args: list[str]) -> str:
        spelling = self._spellings.ops[node.op.id, node.args[0].dtype]
        if node.dtype is u64 and node.op.id in ("add", "mul") and self._scope.bounds.of(node) <= i64.highest:
            spelling = spelling.replace(node.op.id, f"{node.op.id} nuw nsw", 1)
        return self._out.spelled(spelling, args)

    def _select(self, node: Select, args: list[str]) -> str:
        t = TYPES[node.dtype]
        advice = f", !unpredictable {UNPREDICTABLE}" if _compares_loads(node.condition, self._scope.lets) else ""
        return self._out.value(f"select i1 {args[0]}, {t} {args[1]}, {t} {args[2]}{advice}")

    def _cast(self, node: Cast, args: list[str]) -> str:
        return self._out.spelled(self._spellings.casts[node.value.dtype, node.dtype], args)

    def _bitcast(self, node: Bitcast, args: list[str]) -> str:
        return self._out.spelled(self._spellings.bitcasts[node.value.dtype, node.dtype], args)

    def _call(self, node: Call, args: list[str]) -> str:
        values = args[: len(args) - len(lookup(node.callee).attrs)]
        operands = ", ".join(f"{TYPES[a.dtype]} {v}" for a, v in zip(node.args, values, strict=False))
        return self._out.value(f"call {TYPES[node.dtype]} @{self._scope.functions[CallForm.of(node)]}({operands})")

    def _quiet(self, node: Expr, value: str) -> str:
        return self._out.spelled(quiet(node.dtype), [value])

    def _local(self, node: Local, args: list[str]) -> str:
        return self._out.value(f"load {TYPES[node.dtype]}, ptr {self._scope.variables[node.name]}")

    def _load(self, node: Load, args: list[str]) -> str:
        """A checked load reads only where the index is below the length, and gives 0 elsewhere."""
        if not node.checked:
            return self._read(node, args[0])
        out, t = self._out, TYPES[node.index.dtype]
        inside, behind = out.name("inside"), out.name("behind")
        is_inside = out.value(f"icmp ult {t} {args[0]}, {self._length(node)}")
        before = out.block
        out.branch(is_inside, inside, behind, LIKELY)
        out.open(inside)
        element = self._read(node, args[0])
        out.open(behind)
        zero = operand_of(Literal(node.dtype, 0))
        return out.value(f"phi {TYPES[node.dtype]} [ {element}, %{inside} ], [ {zero}, %{before} ]")

    def _read(self, node: Load, index: str) -> str:
        address = self._element(node.buffer, node.index, index)
        return self._out.value(f"load {TYPES[node.dtype]}, ptr {address}, align {node.dtype.size}")

    def _element(self, buffer: Buffer, index: Expr, operand: str) -> str:
        wide = operand
        if index.dtype.bits < u64.bits and not isinstance(index, Literal):
            wide = self._out.value(f"zext {TYPES[index.dtype]} {operand} to i64")
        if self._narrow.may_wrap(index):
            wide = self._out.value(f"and i64 {wide}, {self._out.every_bit()}")
        array = self._scope.arrays[buffer.name]
        return self._out.value(f"getelementptr inbounds nuw {TYPES[buffer.dtype]}, ptr {array}, i64 {wide}")

    def _length(self, node: Load) -> str:
        index = node.index.dtype
        if isinstance(node.buffer.count, int):
            return operand_of(literal(index, min(node.buffer.count, index.highest)))
        length = self._symbols[Length(node.buffer)]
        if index is u32:
            return length
        if index is u64:
            return self._out.value(f"zext i32 {length} to i64")
        raise AssertionError(f"legalization leaves no index of type {index}")
