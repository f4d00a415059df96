"""Kernels to Python: one function each, every value a line of its own, so that expressions may be as deep as they like.

def kernel_0(group, groups, m0, m1, n0):
    t0 = group[0]
    …
"""

from __future__ import annotations

from collections.abc import Iterator

from vyre_driver.legalization.lowered import Kernel
from vyre_driver_abacus.spelling import word
from vyre_foundation.dtype import DType
from vyre_foundation.ir.buffer import Buffer
from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Expr, Id, IdKind, Length, Literal, Load, Local, Select
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
    Let,
    Region,
    Return,
    Stmt,
    Store,
    Var,
)
from vyre_foundation.ir.walk import expressions, postorder

_IDS = {IdKind.WORKGROUP_ID: "group", IdKind.NUM_WORKGROUPS: "groups", IdKind.GLOBAL_ID: "group"}
"""A workgroup of one invocation is no loop; its global id is that of the group."""

# fmt: off
_ATOMICS = {
    AtomicOp.ADD: "cut_{t}({old} + {x})", AtomicOp.MIN: "min({old}, {x})", AtomicOp.MAX: "max({old}, {x})",
    AtomicOp.AND: "{old} & {x}", AtomicOp.OR: "{old} | {x}", AtomicOp.XOR: "{old} ^ {x}", AtomicOp.EXCHANGE: "{x}",
    AtomicOp.COMPARE_EXCHANGE: "{x} if {old} == {expected} else {old}",
}
# fmt: on


def print_kernel(name: str, kernel: Kernel) -> str:
    """The source of one kernel."""
    return "\n".join([*_Printer(kernel).lines(name), ""])


class _Printer:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        buffers = kernel.program.buffers
        self.bound = [b for b in buffers if b.memory.is_bound]
        self.own = [b for b in buffers if not b.memory.is_bound]
        self.memory = {b.name: f"m{n}" for n, b in enumerate(self.bound)}
        self.memory |= {b.name: f"own{n}" for n, b in enumerate(self.own)}
        self.lengths = {name: f"n{n}" for n, name in enumerate(kernel.lengths)}
        self.locals: dict[str, str] = {}
        self.temporaries = 0

    def lines(self, name: str) -> Iterator[str]:
        arguments = ["group", "groups", *(self.memory[b.name] for b in self.bound), *self.lengths.values()]
        yield f"def {name}({', '.join(arguments)}):"
        for buffer in self.own:
            data = f"bytes.fromhex({buffer.data.hex()!r})" if buffer.data is not None else f"bytes({self.size(buffer)})"
            yield f"  {self.memory[buffer.name]} = view_{buffer.dtype}(bytearray({data}))"
        yield from self.body(self.kernel.program.body, "  ")

    @staticmethod
    def size(buffer: Buffer) -> int:
        assert isinstance(buffer.count, int)
        return buffer.count * buffer.dtype.size

    def body(self, body: Body, indent: str) -> Iterator[str]:
        if not body:
            yield f"{indent}pass"
        for stmt in body:
            yield from self.statement(stmt, indent)

    def statement(self, stmt: Stmt, indent: str) -> Iterator[str]:
        values: dict[Expr, str] = {}
        for node in postorder(expressions(stmt)):
            text = self.value(node, values)
            values[node] = text
            if node.args or isinstance(node, Load):
                values[node] = f"t{self.temporaries}"
                self.temporaries += 1
                yield f"{indent}{values[node]} = {text}"
        match stmt:
            case Let() | Var() | Assign():
                yield f"{indent}{self.local(stmt.name)} = {values[stmt.value]}"
            case Store():
                yield from self.access(stmt.buffer, values[stmt.index], stmt.checked, indent, values[stmt.value])
            case Atomic():
                yield from self.atomic(stmt, values, indent)
            case If():
                yield f"{indent}if {values[stmt.condition]}:"
                yield from self.body(stmt.then, indent + " ")
                if stmt.orelse:
                    yield f"{indent}else:"
                    yield from self.body(stmt.orelse, indent + " ")
            case For():
                bounds = f"{values[stmt.start]}, {values[stmt.stop]}, {stmt.step}"
                yield f"{indent}for {self.local(stmt.name)} in range({bounds}):"
                yield from self.body(stmt.body, indent + " ")
            case Region():
                yield from self.body(stmt.body, indent)
            case Barrier():
                yield f"{indent}pass"  # left only in workgroups of one invocation
            case Break() | Continue() | Return():
                yield f"{indent}{type(stmt).__name__.lower()}"
            case _:
                raise AssertionError(f"lowering leaves no {type(stmt).__name__} for a device that runs groups as loops")

    def value(self, node: Expr, values: dict[Expr, str]) -> str:
        """One node over the texts of its operands."""
        match node:
            case Literal():
                return f"float({str(node.value)!r})" if node.dtype.is_float else repr(node.value)
            case Local():
                return self.local(node.name)
            case Length():
                return self.length(node.buffer)
            case Id():
                return "0" if node.kind is IdKind.LOCAL_ID else f"{_IDS[node.kind]}[{node.axis}]"
            case Load():
                cell = f"{self.memory[node.buffer.name]}[{values[node.index]}]"
                outside = "0.0" if node.dtype.is_float else "0"
                return (
                    f"{cell} if {self.inside(node.buffer, values[node.index])} else {outside}" if node.checked else cell
                )
            case Select():
                condition, if_true, if_false = (values[a] for a in node.args)
                return f"{if_true} if {condition} else {if_false}"
            case Cast():
                return f"cast_{node.value.dtype}_{node.dtype}({values[node.value]})"
            case Bitcast():
                return f"bits_{node.value.dtype}_{node.dtype}({values[node.value]})"
            case Apply():
                return self.apply(node, [values[a] for a in node.args])
        raise AssertionError(f"lowering leaves no {type(node).__name__}")

    def apply(self, node: Apply, operands: list[str]) -> str:
        operand = node.args[0].dtype
        template = word(node.op.id, operand)
        if template is None:
            return f"op_{node.op.id}_{operand}({', '.join(operands)})"
        text = template.format(*operands)
        return f"cut_{node.dtype}({text})" if node.dtype.is_integer else text

    def access(self, buffer: Buffer, index: str, checked: bool, indent: str, value: str) -> Iterator[str]:
        guard = f"if {self.inside(buffer, index)}: " if checked else ""
        yield f"{indent}{guard}{self.memory[buffer.name]}[{index}] = {value}"

    def atomic(self, stmt: Atomic, values: dict[Expr, str], indent: str) -> Iterator[str]:
        """Nobody else runs meanwhile, so reading, combining and writing are three lines."""
        index, cell = values[stmt.index], f"{self.memory[stmt.buffer.name]}[{values[stmt.index]}]"
        old = f"t{self.temporaries}"
        self.temporaries += 1
        expected = values[stmt.expected] if stmt.expected is not None else ""
        dtype: DType = stmt.buffer.dtype
        new = _ATOMICS[stmt.op].format(old=old, x=values[stmt.value], expected=expected, t=dtype)
        inside = self.inside(stmt.buffer, index) if stmt.checked else "True"
        yield f"{indent}{old} = {cell} if {inside} else 0"
        yield f"{indent}if {inside}: {cell} = {new}"
        if stmt.result is not None:
            yield f"{indent}{self.local(stmt.result)} = {old}"

    def inside(self, buffer: Buffer, index: str) -> str:
        return f"0 <= {index} < {self.length(buffer)}"

    def length(self, buffer: Buffer) -> str:
        if isinstance(buffer.count, int):
            return str(buffer.count)
        return self.lengths.get(buffer.name) or f"len({self.memory[buffer.name]})"

    def local(self, name: str) -> str:
        return self.locals.setdefault(name, f"v{len(self.locals)}")
