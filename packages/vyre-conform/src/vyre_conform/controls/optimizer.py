"""Faults of the optimizer: equations that do not hold, and effects that are thought to be dead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from vyre_conform.controls.engine import optimizes
from vyre_conform.controls.evaluated import in_expressions, in_statements
from vyre_conform.controls.expressions import number, op
from vyre_conform.controls.fault import Fault, Layer
from vyre_foundation.dtype import bool_
from vyre_foundation.ir.expr import Apply, Expr, Literal, Load, Local, Select
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Assign, Atomic, Body, For, Let, Stmt, Store, Var
from vyre_foundation.ir.walk import expressions, postorder, rewrite, rewrite_body, statements, with_expressions
from vyre_foundation.ops.compare import NEGATED, ORDERED


def _floats(change: Callable[[str, Expr, Expr], Expr | None]) -> Callable[[Program], Program]:
    """A rule for binary ops on floats; None leaves them as they are."""

    def rule(node: Expr) -> Expr:
        match node:
            case Apply(found, (x, y)) if x.dtype.is_float:
                return change(found.id, x, y) or node
        return node

    return in_expressions(rule)


def _is(x: Expr, value: float) -> bool:
    return isinstance(x, Literal) and x.value == value


def _reassociated(op_id: str, x: Expr, y: Expr) -> Expr | None:
    if op_id == "add" and isinstance(x, Apply) and x.op.id == "add":
        return op("add", x.args[0], op("add", x.args[1], y))
    return None


def _self_difference(op_id: str, x: Expr, y: Expr) -> Expr | None:
    return number(x, 0.0) if op_id == "sub" and x is y else None


def _plus_zero(op_id: str, x: Expr, y: Expr) -> Expr | None:
    return x if op_id == "add" and _is(y, 0.0) else None


def _times_zero(op_id: str, x: Expr, y: Expr) -> Expr | None:
    return number(x, 0.0) if op_id == "mul" and (_is(x, 0.0) or _is(y, 0.0)) else None


def _reflexive(op_id: str, x: Expr, y: Expr) -> Expr | None:
    """Equality with itself is true: but not of NaN."""
    return Literal(bool_, 1) if op_id == "eq" and x is y else None


def _negated_comparison(node: Expr) -> Expr:
    match node:
        case Apply(outer, (Apply(inner, (x, y)),)) if outer.id == "not" and inner.id in ORDERED:
            return op(NEGATED[inner.id], x, y)
    return node


def _select_is_min(node: Expr) -> Expr:
    match node:
        case Select() if node.dtype.is_float:
            condition, x, y = node.args
            if isinstance(condition, Apply) and condition.op.id == "lt" and condition.args == (x, y):
                return op("min", x, y)
    return node


def _division_shifts(node: Expr) -> Expr:
    """x / 2**k is x >> k: but it rounds down then, and not towards zero."""
    match node:
        case Apply(found, (x, Literal() as y)) if found.id == "div" and x.dtype.is_signed and x.dtype.is_integer:
            value = int(y.value)
            if value > 0 and value & (value - 1) == 0:
                return op("shr", x, number(x, value.bit_length() - 1))
    return node


def _remainder_masks(node: Expr) -> Expr:
    """x % 2**k is x & (2**k - 1): but the sign is that of x."""
    match node:
        case Apply(found, (x, Literal() as y)) if found.id == "rem" and x.dtype.is_signed and x.dtype.is_integer:
            value = int(y.value)
            if value > 0 and value & (value - 1) == 0:
                return op("and", x, number(x, value - 1))
    return node


def _without_overflow(node: Expr) -> Expr:
    """x < x + c is true, if sums do not wrap."""
    match node:
        case Apply(found, (x, Apply(added, (y, Literal())))) if found.id == "lt" and added.id == "add" and x is y:
            return Literal(node.dtype, 1)
    return node


def _dead_stores(stmt: Stmt) -> Stmt:
    """Of two stores to one buffer the first is dead, whatever the indices."""
    if not isinstance(stmt, For):
        return stmt
    pairs = zip(stmt.body, (*stmt.body[1:], None), strict=True)
    remaining = [a for a, b in pairs if not (isinstance(a, Store) and isinstance(b, Store) and a.buffer is b.buffer)]
    return For(stmt.name, stmt.start, stmt.stop, stmt.step, tuple(remaining))


def _dead_atomics(stmt: Stmt) -> Stmt | Body:
    return () if isinstance(stmt, Atomic) and stmt.result is None else stmt


def _hoisted_loads(stmt: Stmt) -> Stmt | Body:
    """Loads of a loop are made before it, though the loop stores to the same buffer."""
    if not isinstance(stmt, For):
        return stmt
    stored = {s.buffer for s in statements(stmt.body) if isinstance(s, Store)}
    before: list[Stmt] = []
    body: list[Stmt] = []
    for inner in stmt.body:
        value = inner.value if isinstance(inner, Let) else None
        hoisted = isinstance(value, Load) and value.buffer in stored and _is_fixed(value.index)
        (before if hoisted else body).append(inner)
    return (*before, For(stmt.name, stmt.start, stmt.stop, stmt.step, tuple(body)))


def _is_fixed(index: Expr) -> bool:
    return not any(isinstance(node, (Local, Load)) for node in postorder((index,)))


def _iterations_lost(stmt: Stmt) -> Stmt:
    """Loops of known length are unrolled, all but the last round."""
    match stmt:
        case For(name, Literal() as start, Literal() as stop, 1, body) if int(stop.value) - int(start.value) > 2:
            return For(name, start, Literal(stop.dtype, int(stop.value) - 1), 1, body)
    return stmt


def _promoted(stmt: Stmt) -> Stmt | Body:
    """An element that a loop combines something into is a local in the loop, whatever else the loop reads there."""
    if not isinstance(stmt, For):
        return stmt
    nodes = set(postorder([expr for inner in statements(stmt.body) for expr in expressions(inner)]))
    for store in stmt.body:
        if isinstance(store, Store) and Load(store.buffer, store.index) in nodes and _is_fixed(store.index):
            element, own = Load(store.buffer, store.index), Local(f"{stmt.name}_own", store.buffer.dtype)
            inside = replace(stmt, body=_with_local(stmt.body, element, own))
            return Var(own.name, element), inside, Store(store.buffer, store.index, own)
    return stmt


def _promoted_always(stmt: Stmt) -> Stmt | Body:
    """An element that some rounds of a loop store is a local in the loop, which is stored behind it in any case."""
    if not isinstance(stmt, For):
        return stmt
    for store in statements(stmt.body):
        if isinstance(store, Store) and _is_fixed(store.index) and store not in stmt.body:
            element, own = Load(store.buffer, store.index), Local(f"{stmt.name}_own", store.buffer.dtype)
            inside = replace(stmt, body=_with_local(stmt.body, element, own))
            return Var(own.name, element), inside, Store(store.buffer, store.index, own)
    return stmt


def _with_local(body: Body, element: Load, own: Local) -> Body:
    def statement(stmt: Stmt) -> Stmt:
        stmt = with_expressions(stmt, lambda expr: rewrite(expr, lambda node: node, {element: own}))
        is_own = isinstance(stmt, Store) and stmt.buffer is element.buffer and stmt.index is element.index
        return Assign(own.name, stmt.value) if is_own and isinstance(stmt, Store) else stmt

    return rewrite_body(body, statement)


_fault = partial(Fault, Layer.OPTIMIZER)

# fmt: off
FAULTS = (
    _fault("reassociated", "(a + b) + c of floats is a + (b + c)",
           optimizes(_floats(_reassociated)), "floats:*"),
    _fault("minus-self", "x - x of floats is 0, also of NaN",
           optimizes(_floats(_self_difference)), "floats:identities:dtype=f16"),
    _fault("plus-zero", "x + 0 of floats is x, also of -0",
           optimizes(_floats(_plus_zero)), "floats:neutral_literals:dtype=f16"),
    _fault("times-zero", "x * 0 of floats is 0, also of NaN and -1",
           optimizes(_floats(_times_zero)), "floats:neutral_literals:dtype=f16"),
    _fault("equal-to-itself", "x == x of floats is true, also of NaN",
           optimizes(_floats(_reflexive)), "floats:comparisons:dtype=f16"),
    _fault("negated-comparison", "not (x < y) of floats is x >= y, also of NaN",
           optimizes(in_expressions(_negated_comparison)), "floats:comparisons:dtype=f16"),
    _fault("select-is-min", "x < y ? x : y of floats is min(x, y)",
           optimizes(in_expressions(_select_is_min)), "temptations:nearly_min"),
    _fault("division-shifts", "x / 2**k of signed types is x >> k",
           optimizes(in_expressions(_division_shifts)), "temptations:powers_of_two"),
    _fault("remainder-masks", "x % 2**k of signed types is x & (2**k - 1)",
           optimizes(in_expressions(_remainder_masks)), "temptations:powers_of_two"),
    _fault("sums-do-not-wrap", "x < x + c is true",
           optimizes(in_expressions(_without_overflow)), "temptations:sums_wrap"),
    _fault("dead-stores", "of two stores to one buffer in a loop the first is left out",
           optimizes(in_statements(_dead_stores)), "temptations:stores_in_a_loop"),
    _fault("dead-atomics", "atomics whose results are unused are left out",
           optimizes(in_statements(_dead_atomics)), "atomics:*"),
    _fault("hoisted-loads", "loads leave a loop that stores to the same buffer",
           optimizes(in_statements(_hoisted_loads)), "barriers:uniform_break barriers:*"),
    _fault("promoted-alias", "an element is a local in a loop that reads it by another index too",
           optimizes(in_statements(_promoted)), "temptations:element_of_a_loop"),
    _fault("promoted-always", "an element that no round of a loop stores is stored behind the loop",
           optimizes(in_statements(_promoted_always), first=True), "temptations:element_of_some_rounds"),
    _fault("unrolled-short", "a loop of known length loses its last round",
           optimizes(in_statements(_iterations_lost)), "control:* programs:*"),
)
# fmt: on
