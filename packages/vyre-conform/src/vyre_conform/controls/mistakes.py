"""Mistakes as people make them: right nearly everywhere, and wrong where two rare things meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from vyre_conform.controls.caches import OF, keyed
from vyre_conform.controls.engine import NamingPort, SharingPort, emits, on_engine, optimizes, over
from vyre_conform.controls.evaluated import in_expressions, in_statements, of_evaluator
from vyre_conform.controls.expressions import op
from vyre_conform.controls.fault import Fault, Layer
from vyre_conform.controls.rewrites import substituted
from vyre_driver.backend.config import Extent
from vyre_driver.engine import launch as launching
from vyre_driver.engine.transfer import Targets
from vyre_driver.legalization.schedule import TRAPS
from vyre_driver.plan.launch import infer_dispatch_grid_for_count
from vyre_driver.testing.fake_port import FakeMemory
from vyre_foundation.dtype import f32, u32
from vyre_foundation.ir.buffer import Buffer, LengthOf, Memory
from vyre_foundation.ir.expr import Apply, Cast, Expr, Id, IdKind, Literal, Load, Local, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import (
    Assign,
    Atomic,
    Barrier,
    Body,
    For,
    If,
    Let,
    Return,
    Stmt,
    Store,
    Trap,
    Var,
)
from vyre_foundation.ir.walk import expressions, postorder, statements, with_bodies
from vyre_reference.vector.evaluate import evaluate as value_of

Right = Callable[..., Any]


# ── the optimizer ────────────────────────────────────────────────────────────────────────────────────────────────────


def _casts_collapsed(node: Expr) -> Expr:
    """i32(i8(x)) is i32(x) where i8 is not narrower than x: but the sign of x is another one in it."""
    match node:
        case Cast(dtype, Cast(between, x)) if (
            dtype.is_integer and between.is_integer and x.dtype.is_integer and between.bits >= x.dtype.bits
        ):
            return Cast(dtype, x)
    return node


def _through_floats(node: Expr) -> Expr:
    """u32(f32(x)) is x: but not beyond 2**24."""
    match node:
        case Cast(dtype, Cast(between, x)) if between is f32 and x.dtype is dtype and dtype.bits == 32:
            return x
    return node


def _clamps_swapped(node: Expr) -> Expr:
    """min(max(x, a), b) is max(min(x, b), a): but not where a is above b."""
    match node:
        case Apply(outer, (Apply(inner, (x, a)), b)) if (outer.id, inner.id) == ("min", "max"):
            return op("max", op("min", x, b), a)
    return node


def _sums_saturated_once(node: Expr) -> Expr:
    """add_sat(add_sat(x, a), b) is add_sat(x, a + b): but the first may have been at the end."""
    match node:
        case Apply(outer, (Apply(inner, (x, Literal() as a)), Literal() as b)) if outer.id == inner.id == "add_sat":
            return op("add_sat", x, op("add", a, b))
    return node


def _remainders_of_remainders(node: Expr) -> Expr:
    """(x % a) % b is x % b where b divides a: but x % 0 is 0."""
    match node:
        case Apply(outer, (Apply(inner, (x, Literal() as a)), Literal() as b)) if (
            outer.id == inner.id == "rem" and int(b.value) and int(a.value) % int(b.value) == 0
        ):
            return op("rem", x, b)
    return node


def _stores_before_loops(stmt: Stmt) -> Stmt | Body:
    """A store in a loop that is the same in each round is made once: but there may be no round."""
    if not isinstance(stmt, For):
        return stmt
    changed = {stmt.name} | {s.name for s in statements(stmt.body) if isinstance(s, (Assign, Let, Var, For))}
    written = {s.buffer for s in statements(stmt.body) if isinstance(s, (Store, Atomic))}

    def is_fixed(inner: Stmt) -> bool:
        nodes = postorder(expressions(inner))
        own = any(isinstance(n, Local) and n.name in changed for n in nodes)
        return (
            isinstance(inner, Store) and not own and not any(isinstance(n, Load) and n.buffer in written for n in nodes)
        )

    def is_alone(inner: Stmt) -> bool:
        return sum(isinstance(s, (Store, Atomic)) and s.buffer is inner.buffer for s in statements(stmt.body)) == 1  # type: ignore[union-attr]

    moved = tuple(s for s in stmt.body if is_fixed(s) and is_alone(s))
    jumps = any(not isinstance(s, (Store, Assign, Let, Var, If, For, Atomic)) for s in statements(stmt.body))
    return stmt if jumps or not moved else (*moved, replace(stmt, body=tuple(s for s in stmt.body if s not in moved)))


def _stored_twice(body: Body) -> Body:
    """A store to an element that is stored again is left out, also where an invocation may return in between."""
    out: list[Stmt] = []
    for position, stmt in enumerate(body):
        later = body[position + 1 :]
        again = next(
            (s for s in later if isinstance(s, Store) and isinstance(stmt, Store) and _same_place(s, stmt)), None
        )
        between = later[: later.index(again)] if again is not None else ()
        reads = {n.buffer for s in statements(tuple(between)) for n in postorder(expressions(s)) if isinstance(n, Load)}
        is_quiet = all(isinstance(s, (Let, If, Return, Store)) for s in statements(tuple(between)))
        dead = again is not None and is_quiet and isinstance(stmt, Store) and stmt.buffer not in reads
        out += () if dead else (with_bodies(stmt, _stored_twice),)
    return tuple(out)


def _same_place(one: Store, other: Store) -> bool:
    return one.buffer is other.buffer and one.index is other.index


def _branches_joined(body: Body) -> Body:
    """``if c: a`` and ``if c: b`` are one, also where a changes c."""
    out: list[Stmt] = []
    for stmt in body:
        stmt = with_bodies(stmt, _branches_joined)
        last = out[-1] if out else None
        match last, stmt:
            case If(c, a, ()), If(d, b, otherwise) if c is d:
                out[-1] = If(c, (*a, *b), otherwise)
            case _:
                out.append(stmt)
    return tuple(out)


def _forwarded_over_atomics(body: Body) -> Body:
    """What was stored is thought to be there still, though an atomic came between."""
    out: list[Stmt] = []
    known: dict[Expr, Expr] = {}
    for stmt in body:
        stmt = substituted(stmt, known)
        out.append(with_bodies(stmt, _forwarded_over_atomics))
        match stmt:
            case Store(buffer, index, value) if buffer.access.reads and _is_lasting(value) and _is_lasting(index):
                known = {Load(buffer, index): value}
            case Atomic() | Let():
                pass
            case _:
                known = {}
    return tuple(out)


def _is_lasting(value: Expr) -> bool:
    return not any(isinstance(n, Load) and n.buffer.access.writes for n in postorder((value,)))


def _joined_over_barriers(body: Body) -> Body:
    """What was read of workgroup memory is not read again, also behind a barrier."""
    known: dict[Expr, Expr] = {}
    out: list[Stmt] = []
    for stmt in body:
        stmt = substituted(stmt, known)
        out.append(with_bodies(stmt, _joined_over_barriers))
        if isinstance(stmt, Let) and isinstance(stmt.value, Load) and stmt.value.buffer.memory is Memory.WORKGROUP:
            known[stmt.value] = Local(stmt.name, stmt.value.dtype)
    return tuple(out)


def _in_bodies(change: Callable[[Body], Body]) -> Callable[[Program], Program]:
    return lambda program: replace(program, body=change(program.body))


# ── emitters, lowering ───────────────────────────────────────────────────────────────────────────────────────────────


def _dangling_else(stmt: Stmt) -> Stmt:
    """Without braces an else is that of the inner condition."""
    match stmt:
        case If(outer, (If(inner, then, ()),), otherwise) if otherwise:
            return If(outer, (If(inner, then, otherwise),))
    return stmt


def _cleared_in_steps(program: Program) -> Program:
    """Workgroup memory begins as rubbish, and what is left over of the last step is not cleared."""
    arrays = [b for b in program.buffers if b.memory is Memory.WORKGROUP and isinstance(b.count, int)]
    volume = program.workgroup_volume

    def short(stmt: Stmt) -> Stmt:
        match stmt:
            case For(_, _, Literal() as stop, step, (Store(buffer, _, Literal(bits=0)),)) if (
                buffer in arrays and step == volume and volume > 1 and int(stop.value) > volume
            ):
                return replace(stmt, stop=literal(u32, int(stop.value) // volume * volume))
        return stmt

    rubbish = [store for array in arrays if any(_clears(s, array) for s in program.body) for store in _rubbish(array)]
    body = tuple(short(stmt) for stmt in program.body)
    return replace(program, body=(*rubbish, Barrier(), *body)) if rubbish else program


def _clears(stmt: Stmt, array: Buffer) -> bool:
    match stmt:
        case For(body=(Store(buffer, _, Literal(bits=0)),)):
            return buffer is array
    return False


def _rubbish(array: Buffer) -> Body:
    assert isinstance(array.count, int)
    zero = op("eq", _lane(), literal(u32, 0))
    stores = tuple(Store(array, literal(u32, n), Literal(array.dtype, 0x5A), checked=False) for n in range(array.count))
    return (If(zero, stores),)


def _lane() -> Expr:
    x, y, z = (Id(IdKind.LOCAL_ID, axis) for axis in range(3))
    return op("add", op("add", x, y), z)


# ── plans ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _of_ranges(right: Right) -> Right:
    """The grid covers what the host gets of the outputs."""

    def infer(program: Program, lengths: Mapping[str, int]) -> Extent:
        if not program.outputs:
            return (1, 1, 1)
        counts = [
            lengths[b.name] if b.output_range is None else -(-b.output_range[1] // b.dtype.size)
            for b in program.outputs
        ]
        return infer_dispatch_grid_for_count(max(counts), program.workgroup_size)

    return infer


def _rules_once(right: Right) -> Right:
    """A rule over a length that follows from another is applied to that."""

    def fixed_lengths(program: Program, known: Mapping[str, int]) -> dict[str, int]:
        lengths: dict[str, int] = right(program, known)
        rules = {b.name: b.count for b in program.buffers if isinstance(b.count, LengthOf)}
        twice = {name: (rule, rules[rule.buffer].buffer) for name, rule in rules.items() if rule.buffer in rules}
        return lengths | {name: rule.resolve(lengths[source]) for name, (rule, source) in twice.items()}

    return fixed_lengths


# ── the engine, caches ───────────────────────────────────────────────────────────────────────────────────────────────


class TrapsOfTheLastPort(NamingPort):
    """The record of traps is made empty when a kernel is launched again, as each iteration does."""

    def __init__(self, *operands: Any, **options: Any) -> None:
        super().__init__(*operands, **options)
        self.recorded: dict[FakeMemory, set[str]] = {}

    def fill(self, memory: FakeMemory, byte: int, size: int) -> None:
        self.recorded.pop(memory, None)
        super().fill(memory, byte, size)

    def begin(self, kernel: str, buffers: Mapping[FakeMemory, Buffer]) -> None:
        for memory, buffer in buffers.items():
            if buffer.name == TRAPS:
                if kernel in self.recorded.get(memory, ()):
                    self.fill(memory, 0xFF, len(memory.contents))
                self.recorded.setdefault(memory, set()).add(kernel)


def _slots_over_inputs(right: Right) -> Right:
    """Outputs are made in the slots of the caller, wherever these lie."""
    launching.SMALL = 0  # cases are small, and small outputs are copied

    def targets(launch: Any, inputs: Any, slots: Any) -> Targets:
        layouts = launch.plan.outputs
        fitting = [n < len(slots) and slots[n].nbytes == layout.size > 0 for n, layout in enumerate(layouts)]
        return [slots[n] if fits and launch.traps is None else None for n, fits in enumerate(fitting)]

    return targets


def _without(change: Callable[[Buffer], Buffer]) -> Callable[[Program], str]:
    """The fingerprint of a program whose buffers are changed."""

    def of(program: Program) -> str:
        images = {b: change(b) for b in program.buffers}

        def rule(node: Expr) -> Expr:
            return Load(images[node.buffer], node.index, checked=node.checked) if isinstance(node, Load) else node

        changed = replace(in_expressions(rule)(program), buffers=tuple(images.values()))
        return changed.fingerprint()

    return of


def _no_data(buffer: Buffer) -> Buffer:
    return buffer if buffer.data is None else buffer.replace(data=bytes(len(buffer.data)))


def _without_tags(program: Program) -> str:
    def rule(stmt: Stmt) -> Stmt:
        return replace(stmt, tag="tag") if isinstance(stmt, Trap) else stmt

    return in_statements(rule)(program).fingerprint()


def _without_steps(program: Program) -> str:
    def rule(stmt: Stmt) -> Stmt:
        return replace(stmt, step=1) if isinstance(stmt, For) else stmt

    return in_statements(rule)(program).fingerprint()


def _without_subgroups(program: Program) -> str:
    return replace(program, subgroup_size=None).fingerprint()


# ── evaluators ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _all_lanes_continue(right: Right) -> Right:
    """Lanes that have left the round of an inner loop come back in the outer one, though they have left that too."""

    def loop(machine: Any, stmt: For, path: Any, lanes: Any) -> Any:
        came = right(machine, stmt, path, lanes)
        return came if came.count or not any(isinstance(s, Return) for s in statements(stmt.body)) else lanes

    return loop


def _last_lane(right: Right) -> Right:
    """Of lanes that trap at one place the last counts."""

    def trap(machine: Any, stmt: Trap, lanes: Any) -> None:
        codes = lanes.full(value_of(stmt.code, machine, lanes))
        numbers = machine.numbers(lanes)
        machine.traps.record(int(numbers[-1]), machine.path, int(codes[-1]), stmt.tag)

    return trap


_optimizer, _planner = partial(Fault, Layer.OPTIMIZER), partial(Fault, Layer.PLANNER)
_engine, _cache, _compiler = (partial(Fault, layer) for layer in (Layer.ENGINE, Layer.CACHE, Layer.COMPILER))
MACHINE = "vyre_reference.vector.machine:Machine"

# fmt: off
FAULTS = (
    _optimizer("casts-collapsed", "i32(i8(x)) of a u8 is i32(x)",
               optimizes(in_expressions(_casts_collapsed), first=True), "temptations:casts_of_casts"),
    _optimizer("through-floats", "u32(f32(x)) is x",
               optimizes(in_expressions(_through_floats), first=True), "temptations:casts_of_casts"),
    _optimizer("clamps-swapped", "min(max(x, a), b) is max(min(x, b), a)",
               optimizes(in_expressions(_clamps_swapped), first=True), "temptations:ops_of_ops"),
    _optimizer("saturated-once", "add_sat(add_sat(x, a), b) is add_sat(x, a + b)",
               optimizes(in_expressions(_sums_saturated_once), first=True), "temptations:ops_of_ops"),
    _optimizer("remainders", "(x % a) % b is x % b",
               optimizes(in_expressions(_remainders_of_remainders), first=True), "temptations:ops_of_ops"),
    _optimizer("stores-before-loops", "a store that is the same in each round is made before the loop",
               optimizes(in_statements(_stores_before_loops)), "places:between_stores"),
    _optimizer("stored-twice", "a store that is overwritten later is left out, though there is a return between",
               optimizes(_in_bodies(_stored_twice)), "places:between_stores"),
    _optimizer("branches-joined", "two branches of one condition are joined, though the first changes it",
               optimizes(_in_bodies(_branches_joined)), "places:between_stores"),
    _optimizer("over-atomics", "what was stored is thought to be there behind an atomic",
               optimizes(_in_bodies(_forwarded_over_atomics)), "places:read_again"),
    _optimizer("joined-over-barriers", "two reads of workgroup memory are one, over a barrier",
               optimizes(_in_bodies(_joined_over_barriers), by="scalar"), "places:read_again"),
    Fault(Layer.EMITTER, "dangling-else", "an else is that of a condition inside of its own",
          emits(in_statements(_dangling_else)), "places:between_stores control:*"),
    Fault(Layer.LOWERING, "cleared-in-steps", "the rest of a workgroup array behind whole steps is not cleared",
          emits(_cleared_in_steps, by="scalar"), "memory:larger_than_the_group"),
    _planner("grid-of-ranges", "the grid follows from ranges of outputs",
             on_engine("vyre_driver.plan.launch:infer_dispatch_grid", _of_ranges), "memory:grid_of_a_range"),
    _planner("rules-once", "a rule over a length by a rule is applied to that of the first",
             on_engine("vyre_driver.plan.launch:fixed_lengths", _rules_once), "memory:rules_of_rules"),
    _engine("last-iteration", "only traps of the last iteration are seen",
            over(TrapsOfTheLastPort), "traps:first_of_three"),
    _engine("slots-over-inputs", "outputs are made in the slots of the caller, also where inputs still lie there",
            on_engine("vyre_driver.engine.launch:PreparedLaunch.targets", _slots_over_inputs, port=SharingPort),
            "sessions:*:entry=calls_into_inputs"),
    _cache("key-tables", "the key of compiled code leaves out what is in tables",
           on_engine(OF, keyed(_without(_no_data))), "sessions:alike:*"),
    _cache("key-tags", "the key of compiled code leaves out the tags of traps",
           on_engine(OF, keyed(_without_tags)), "traps:alike:*"),
    _cache("key-steps", "the key of compiled code leaves out the steps of loops",
           on_engine(OF, keyed(_without_steps)), "sessions:alike:*"),
    _cache("key-subgroups", "the key of compiled code leaves out the size of subgroups",
           on_engine(OF, keyed(_without_subgroups)), "sessions:alike:*"),
    _compiler("returns-forgotten", "lanes that have all returned in a loop go on behind it",
              of_evaluator(f"{MACHINE}.loop", _all_lanes_continue), "loops:everyone_returns"),
    _compiler("last-lane-traps", "of lanes that trap together the last is recorded",
              of_evaluator(f"{MACHINE}.trap", _last_lane), "traps:*"),
)
# fmt: on
