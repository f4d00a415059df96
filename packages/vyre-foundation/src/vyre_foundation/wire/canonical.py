"""The canonical form: one program for all spellings of one meaning and one interface.

    the program's name              → "canonical"
    names of locals                 → "v0", "v1", … in the order of the statements that declare or assign them
    regions                         → their statements
    operands of a commutative op    → in the order of `operand_order`; `a + b` beside `b + a` is one expression
    literals that are a NaN         → the canonical NaN, because no program can tell
    buffers                         → by binding, then those without one by name

What the host or a report can see stays: all that buffers say, the workgroup, the tags of traps. In an invalid program
the names of locals that nothing declares stay, too, and the others get none of these.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count

from vyre_foundation.ir.code import Code, code
from vyre_foundation.ir.expr import Apply, Expr, Literal, Local, interned
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Body, Region, Stmt
from vyre_foundation.ir.walk import rewrite, rewrite_body, with_expressions
from vyre_foundation.wire import format as f
from vyre_foundation.wire.decode import decode
from vyre_foundation.wire.encode import assemble
from vyre_foundation.wire.encode_statements import StatementColumns
from vyre_foundation.wire.operand_order import COMMUTATIVE, OperandOrder, operand_order


def canonical(program: Program) -> Program:
    """The canonical form of `program`; of a canonical program, the program itself."""
    return decode(encode_canonical(program))


def encode_canonical(program: Program) -> bytes:
    """The wire form of the canonical form. Expressions are built only where two become one."""
    body, made = program.memoised(StatementColumns.of), program.code
    if f.REGION in body.tags:
        body = StatementColumns(rewrite_body(program.body, without_region))
    buffers = tuple(sorted(program.buffers, key=lambda b: (b.binding is None, b.binding or 0, b.name)))
    locals = {name: number for number, name in enumerate(dict.fromkeys(body.locals))}
    order = operand_order(made, locals, buffers)
    if has_equals(made, order):
        body = StatementColumns(merged(rewrite_body(program.body, without_region)))
        made = code(body.roots)
        order = operand_order(made, locals, buffers)
    if order.wrong:
        made = code(body.roots, order.wrong)
    head = Program("canonical", buffers, program.workgroup_size, (), program.subgroup_size)
    names = canonical_names(locals, {node.name for node in made.of(Local)})
    return assemble(head, body, made, lambda name: names.get(name, name))


def canonical_names(locals: Iterable[str], used: set[str]) -> dict[str, str]:
    """What `locals` are called, none of them as one of those `used` that are not among them."""
    given = list(locals)
    undeclared = used.difference(given)
    free = (name for number in count() if (name := f"v{number}") not in undeclared)
    return dict(zip(given, free, strict=False))


def without_region(stmt: Stmt) -> Stmt | Body:
    """Give the body of a region in its place: a label does not change what a program means."""
    return stmt.body if isinstance(stmt, Region) else stmt


def has_equals(made: Code, order: OperandOrder) -> bool:
    """Whether `merged` has something to do: an op with its operands in both orders, or a NaN with bits of its own."""
    twins = {interned(node.op, node.args[::-1]) for node in (*order.wrong, *order.undecided)} - {None}
    if twins and not twins.isdisjoint(made.nodes):
        return True
    return any(is_other_nan(node) for node in [node for node in made.of(Literal) if node.dtype.is_float])


def merged(body: Body) -> Body:
    """`body` with one expression for those that are the same up to the order of operands and the bits of a NaN."""
    known: dict[tuple[object, ...], Expr] = {}
    memo: dict[Expr, Expr] = {}

    def merge(node: Expr) -> Expr:
        if is_other_nan(node):
            return Literal(node.dtype, node.dtype.nan_bits)
        if isinstance(node, Apply) and node.op in COMMUTATIVE:
            first, second = node.args
            return known.get((node.op, second, first)) or known.setdefault((node.op, first, second), node)
        return node

    return rewrite_body(body, lambda stmt: with_expressions(stmt, lambda root: rewrite(root, merge, memo)))


def is_other_nan(node: Expr) -> bool:
    """Whether `node` is a NaN, but not the canonical one."""
    if not isinstance(node, Literal) or not node.dtype.is_float:
        return False
    return node.value != node.value and node.bits != node.dtype.nan_bits
