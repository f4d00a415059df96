"""Faults of the optimizer and of emitters that move, join or repeat what may have changed meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

from vyre_conform.controls.engine import emits, optimizes, over
from vyre_conform.controls.evaluated import in_expressions, in_statements, of_expressions
from vyre_conform.controls.expressions import number, op
from vyre_conform.controls.fault import Fault, Layer
from vyre_conform.controls.statements import without
from vyre_driver.engine.port import SourceUnit
from vyre_driver.errors import KernelCompileFailed
from vyre_driver.legalization.dead_initialisation import dead_initialisations
from vyre_driver.legalization.lowered import Lowered
from vyre_driver.testing.fake_port import FakePort
from vyre_foundation.dtype import bf16, u32, u64
from vyre_foundation.ir.buffer import Buffer, Memory
from vyre_foundation.ir.expr import Apply, Cast, Expr, Literal, Load, Local, Select, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Barrier, Body, Break, Continue, For, If, Let, Scope, Stmt, Store, Var
from vyre_foundation.ir.walk import (
    expressions,
    postorder,
    rewrite,
    rewrite_body,
    statements,
    with_bodies,
    with_expressions,
)

MACROS = frozenset("FLT_MAX M_PI INT_MAX assert errno".split())


# ── the optimizer ────────────────────────────────────────────────────────────────────────────────────────────────────


def _shifts_added(node: Expr) -> Expr:
    """(x >> a) >> b is x >> (a + b): but counts are taken modulo the width."""
    match node:
        case Apply(outer, (Apply(inner, (x, Literal() as a)), Literal() as b)) if (
            outer.id == inner.id in ("shl", "shr") and int(a.value) > 0 and int(b.value) > 0
        ):
            return op(outer.id, x, Literal(a.dtype, a.bits + b.bits & x.dtype.unsigned.highest))
    return node


def _constants_moved(node: Expr) -> Expr:
    """x + 3 < y is x < y - 3: but both may wrap."""
    match node:
        case Apply(found, (Apply(added, (x, Literal() as c)), y)) if (
            found.id == "lt" and added.id == "add" and x.dtype.is_integer and x is not y
        ):
            return op("lt", x, op("sub", y, c))
        case Apply(found, (x, Apply(added, (y, Literal() as c)))) if (
            found.id == "lt" and added.id == "add" and x.dtype.is_integer and x is not y
        ):
            return op("lt", op("sub", x, c), y)
    return node


def _copies_onto_themselves(stmt: Stmt) -> Stmt | Body:
    """``x[i] = x[i]`` is nothing."""
    match stmt:
        case Store(buffer, index, Load(source, at)) if buffer is source and index is at:
            return ()
    return stmt


def _reads_behind_barriers(program: Program) -> Program:
    """A value that is read before a barrier and used once after it is read where it is used."""
    uses = [n.name for s in statements(program.body) for n in postorder(expressions(s)) if isinstance(n, Local)]
    return replace(program, body=_sunk(program.body, {name for name in uses if uses.count(name) == 1}))


def _sunk(body: Body, used_once: set[str]) -> Body:
    out: list[Stmt] = []
    moved: dict[Expr, Expr] = {}
    for position, stmt in enumerate(body):
        stmt = with_bodies(stmt, lambda inner: _sunk(inner, used_once))
        barrier = any(s == Barrier(Scope.WORKGROUP) for s in body[position:])
        if isinstance(stmt, Let) and stmt.name in used_once and _is_storage(stmt.value) and barrier:
            moved[Local(stmt.name, stmt.value.dtype)] = stmt.value
        else:
            out.append(substituted(stmt, moved))
    return tuple(out)


def substituted(stmt: Stmt, images: Mapping[Expr, Expr]) -> Stmt:
    """The statement, but for those inside, with other expressions."""
    return with_expressions(stmt, lambda root: rewrite(root, lambda node: images.get(node, node), {}))


def _is_storage(value: Expr) -> bool:
    return isinstance(value, Load) and value.buffer.memory is Memory.STORAGE and value.buffer.access.writes


def _forwarded_to_itself(stmt: Stmt) -> Stmt:
    """What is stored at an index that is read from the same memory is thought to be there behind the store."""
    return with_bodies(stmt, _forwarded)


def _forwarded(body: Body) -> Body:
    out: list[Stmt] = []
    known: dict[Expr, Expr] = {}
    for stmt in body:
        out.append(substituted(stmt, known))
        if isinstance(stmt, Store):
            load = Load(stmt.buffer, stmt.index)
            is_own = any(isinstance(n, Load) and n.buffer is stmt.buffer for n in postorder((stmt.index,)))
            known = {load: stmt.value} if is_own and stmt.buffer.access.reads and _is_lasting(stmt.value) else {}
        elif not isinstance(stmt, (Let, Var)):
            known = {}
    return tuple(out)


def _is_lasting(value: Expr) -> bool:
    return not any(isinstance(n, Load) for n in postorder((value,)))


# ── emitters ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _ends_again(stmt: Stmt) -> Stmt:
    """The end of a loop is printed into its head, where it is evaluated before each round."""
    if not isinstance(stmt, For) or isinstance(stmt.stop, Literal):
        return stmt
    over_ = op("ge", Local(stmt.name, stmt.start.dtype), stmt.stop)
    last = Literal(stmt.stop.dtype, stmt.stop.dtype.unsigned.highest >> stmt.stop.dtype.is_signed)
    return replace(stmt, stop=last, body=(If(over_, (Break(),)), *stmt.body))


def _hoisted_for_loops(body: Body) -> Body:
    """What is computed before a loop and again in it is computed once."""
    out: list[Stmt] = []
    before: set[Expr] = set()
    for stmt in body:
        if isinstance(stmt, For) and (common := before & _compound((stmt,))):
            lets = {node: Local(f"kept{n}_{stmt.name}", node.dtype) for n, node in enumerate(_outermost(common))}
            out += [Let(local.name, node) for node, local in lets.items()]
            inside = rewrite_body(stmt.body, partial(substituted, images=lets))
            out.append(replace(stmt, body=inside))
        else:
            out.append(stmt)
        before |= set() if isinstance(stmt, For) else _compound((stmt,))
    return tuple(out)


def _compound(body: Iterable[Stmt]) -> set[Expr]:
    """Operations on variables."""
    nodes = postorder(e for s in statements(tuple(body)) for e in expressions(s))
    return {n for n in nodes if isinstance(n, Apply) and any(isinstance(x, Local) for x in postorder((n,)))}


def _outermost(nodes: set[Expr]) -> list[Expr]:
    inner = {x for node in nodes for x in postorder((node,)) if x is not node}
    return [node for node in nodes if node not in inner]


def _hoisted(program: Program) -> Program:
    return replace(program, body=_hoisted_for_loops(program.body))


def _filled_until_break(program: Program) -> Program:
    """Arrays that a loop would fill if it did not break are not cleared before."""
    through = in_statements(without(Break))(in_statements(without(Continue))(program))
    rubbish = [
        store for array in dead_initialisations(through) - dead_initialisations(program) for store in _rubbish(array)
    ]
    return replace(program, body=(*rubbish, *program.body))


def _rubbish(array: Buffer) -> Body:
    assert isinstance(array.count, int)
    return tuple(Store(array, literal(u32, n), Literal(array.dtype, 0x5A), checked=False) for n in range(array.count))


def _without_minus(program: Program) -> Program:
    """-infinity is printed as a quotient of zeros in tables, which is what it is not."""
    infinite = {b: _negative_infinity(b) for b in program.buffers if b.memory is Memory.CONSTANT and b.dtype.is_float}

    def rule(node: Expr) -> Expr:
        if isinstance(node, Load) and node.buffer in infinite:
            wrong = op("eq", node, infinite[node.buffer])
            return Select(wrong, Literal(node.dtype, node.dtype.nan_bits), node)
        return node

    return in_expressions(rule)(program)


def _negative_infinity(table: Buffer) -> Expr:
    return number(Literal(table.dtype, 0), float("-inf"))


def _sticky_bits(node: Expr) -> Expr:
    """Of what is below the rounded bits of a u64 the upper seven are not looked at."""
    if not (isinstance(node, Cast) and node.dtype is bf16 and node.args[0].dtype is u64):
        return node
    x = node.args[0]
    lost = op("and", x, literal(u64, ~(0x7F << 48) & u64.highest))
    return Cast(bf16, Select(op("ge", x, literal(u64, 1 << 63)), lost, x))


class HeaderPort(FakePort):
    """A compiler whose headers define more words than names are kept from."""

    def emit(self, lowered: Lowered) -> SourceUnit:
        for kernel in lowered.kernels:
            named = {b.name for b in kernel.program.buffers} | {
                s.name for s in statements(kernel.program.body) if isinstance(s, (Let, Var, For))
            }
            if found := named & MACROS:
                raise KernelCompileFailed("mutant", f"expected a name, got the macro {min(found)}", source="")
        return FakePort.emit(self, lowered)


_optimizer, _emitter = partial(Fault, Layer.OPTIMIZER), partial(Fault, Layer.EMITTER)

# fmt: off
FAULTS = (
    _optimizer("shifts-added", "(x >> a) >> b is x >> (a + b)",
               optimizes(in_expressions(_shifts_added), first=True), "temptations:shifts_of_shifts"),
    _optimizer("constants-moved", "x + c < y is x < y - c",
               optimizes(in_expressions(_constants_moved)), "guards:limits_near_the_end"),
    _optimizer("copies-onto-themselves", "x[i] = x[i] is left out",
               optimizes(in_statements(_copies_onto_themselves)), "places:onto_itself"),
    _optimizer("reads-behind-barriers", "a value that is read before a barrier is read behind it",
               optimizes(_reads_behind_barriers, by="scalar"), "places:shifted_in_groups"),
    _optimizer("forwarded-to-itself", "what is stored at an index is thought to be there, though the store changed it",
               optimizes(in_statements(_forwarded_to_itself)), "places:own_index"),
    _emitter("ends-again", "the end of a loop is evaluated before each round",
             emits(in_statements(_ends_again)), "loops:ends_that_change", seconds=2.0),
    _emitter("kept-for-loops", "what is computed before a loop is not computed again in it",
             emits(_hoisted), "loops:values_before_and_inside"),
    _emitter("filled-until-break", "arrays that a loop fills until it breaks do not begin with zeros",
             emits(_filled_until_break), "loops:break_before_reads"),
    _emitter("table-minus-infinity", "-infinity in a table is a NaN",
             emits(_without_minus), "places:special_tables"),
    _emitter("names-of-macros", "macros of the compiler's headers are not kept from names",
             over(HeaderPort), "names:macros"),
    Fault(Layer.COMPILER, "sticky-bits", "casts of u64 to bf16 do not look at all bits below",
          of_expressions(_sticky_bits), "casts:cast:source=u64,*"),
)
# fmt: on
