"""Faults of lowering: what is made of the ops, accesses, collectives and barriers that a target has no word for."""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import partial
from typing import Any

from vyre_conform.controls.engine import looping_target, on_engine, sparse_target
from vyre_conform.controls.fault import Fault, Layer
from vyre_driver.vectorization.versioning.bound import Less
from vyre_foundation.dtype import DType, u32
from vyre_foundation.ir.expr import Apply, Call, Cast, Expr, Id, IdKind, Literal, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Stmt, Store
from vyre_foundation.ir.walk import rewrite
from vyre_foundation.ops import OPS
from vyre_foundation.validate.facts import Interval

Right = Callable[..., Any]
FORMS = "vyre_driver.legalization.forms"


def _same(right: Right) -> Right:
    """The first operand, as it is."""
    return lambda x, *rest: x


def _second(right: Right) -> Right:
    """The second operand, as it is."""
    return lambda first, x, *rest: x


def _always(right: Right) -> Right:
    return lambda *operands: True


def _ignoring_y_and_z(right: Right) -> Right:
    """The number of an invocation is its x."""

    def invocation(program: Program, dtype: DType) -> Expr:
        return Cast(dtype, Id(IdKind.GLOBAL_ID, 0)) if dtype is not u32 else Id(IdKind.GLOBAL_ID, 0)

    return invocation


def _row_alone(right: Right) -> Right:
    """The position in the workgroup is that in its row."""
    return lambda program: Id(IdKind.LOCAL_ID, 0)


def _one_less(right: Right) -> Right:
    """Intervals that end before their last value."""

    def interval(*operands: Any) -> Interval:
        low, high = right(*operands)
        return Interval(low, max(low, high - 1))

    return interval


def _never_negative(right: Right) -> Right:
    """What is known about a signed number is that it is not negative."""

    def of(ranges: Any, node: Expr) -> Interval:
        low, high = right(ranges, node)
        return Interval(max(0, low), max(0, high))

    return of


def _near_first(right: Right) -> Right:
    """The butterfly with its distances the other way round."""

    def reduce(exchange: Any, op: str, value: Expr, lane: Expr, size: int) -> Expr:
        for k in range(size.bit_length() - 1):
            other = exchange.fetch(value, Apply(OPS["xor"], lane, literal(u32, 1 << k)))
            value = exchange.bind("reduced", Apply(OPS[op], value, other))
        return value

    return reduce


def _half_of_the_lanes(right: Right) -> Right:
    return lambda exchange, op, value, lane, size: right(exchange, op, value, lane, max(2, size // 2))


def _zero_identity(right: Right) -> Right:
    """A scan of any kind begins with 0."""
    return lambda op, dtype: Literal(dtype, 0)


def _first_counter(right: Right) -> Right:
    """Every loop around grid barriers has the counter of the first one."""

    def counter(splitter: Any, name: str) -> Expr:
        first = next(iter(splitter._counters))
        alike = splitter._types[first] is splitter._types[name]
        value: Expr = right(splitter, first if alike else name)
        return value

    return counter


def _left_as_zero(right: Right) -> Right:
    """Locals do not survive a grid barrier."""

    def leave(homes: Any, name: str, dtype: DType) -> Stmt:
        store: Store = right(homes, name, dtype)
        return Store(store.buffer, store.index, Literal(dtype, 0), checked=False)

    return leave


def _no_arrays(right: Right) -> Right:
    """Workgroup and private arrays do not survive a grid barrier."""
    return lambda splitter, names: right(splitter, [n for n in names if isinstance(n, str)])


def _operands_reversed(right: Right) -> Right:
    """A call passes its operands from right to left."""

    def expand(root: Expr, memo: dict[Expr, Expr], native: Container[tuple[str, DType]] = ()) -> Expr:
        expanded: Expr = right(rewrite(root, _reversed_call, {}), memo, native)
        return expanded

    return expand


def _reversed_call(node: Expr) -> Expr:
    is_swappable = isinstance(node, Call) and len({arg.dtype for arg in node.args}) == 1
    return node.rebuild(node.args[::-1]) if is_swappable else node


def _claims_of_one(right: Right) -> Right:
    """One comparison decides for all; of several, the first alone is made."""

    def conjunction(claims: Any) -> Expr:
        weaker: list[Less] = list(claims)
        decided: Expr = right(weaker[:1])
        return decided

    return conjunction


_fault = partial(Fault, Layer.LOWERING)

# fmt: off
FAULTS = (
    _fault("divisor-unchecked", "a division that must not see 0 sees it",
           on_engine(f"{FORMS}.division:sanitised_divisor", _second, sparse_target), "ops:div ops:rem"),
    _fault("shift-count-raw", "shift counts are not brought below the width",
           on_engine(f"{FORMS}.shifts:masked", _same, sparse_target), "ops:sh* ops:rot*"),
    _fault("narrow-unwrapped", "results of 8 and 16 bits keep what they have above",
           on_engine(f"{FORMS}.narrow:wrapped", _second, sparse_target), "temptations:narrow_chains"),
    _fault("half-unrounded", "results of half floats keep the precision of f32",
           on_engine(f"{FORMS}.half:rounded", _second, sparse_target), "floats:there_and_back floats:*"),
    _fault("trap-in-the-row", "a trap names the x of its invocation",
           on_engine("vyre_driver.legalization.traps:invocation", _ignoring_y_and_z), "traps:*"),
    _fault("lane-in-the-row", "lanes are counted along x alone",
           on_engine("vyre_driver.legalization.subgroup.lowering:local_index", _row_alone), "subgroups:*"),
    _fault("bounds-proven", "every access is taken for proven",
           on_engine("vyre_driver.legalization.guards:Guards.proves", _always), "memory:*"),
    _fault("interval-short", "intervals of indices end before their last value",
           on_engine("vyre_driver.legalization.guards:Guards.interval", _one_less), "temptations:guard_at_the_end"),
    _fault("index-not-negative", "signed values are taken to be at least 0",
           on_engine("vyre_driver.legalization.ranges:Ranges.of", _never_negative), "temptations:clamped_above"),
    _fault("index-does-not-wrap", "sums of u32 that wrap are computed in 64 bits",
           on_engine("vyre_driver.vectorization.wide_indices:IndexWidener.is_exact", _always, looping_target),
           "temptations:index_wraps"),
    _fault("version-unchecked", "the version without checks runs when the first of the checks holds",
           on_engine("vyre_driver.vectorization.versioning.regions:conjunction", _claims_of_one, looping_target),
           "memory:*"),
    _fault("reduce-near-first", "the butterfly of a reduction begins at its least distance",
           on_engine("vyre_driver.legalization.subgroup.lowering:reduce", _near_first), "subgroups:*"),
    _fault("reduce-half", "a reduction stops before its last distance",
           on_engine("vyre_driver.legalization.subgroup.lowering:reduce", _half_of_the_lanes), "subgroups:*"),
    _fault("scan-from-zero", "an exclusive scan of any op begins with 0",
           on_engine("vyre_driver.legalization.subgroup.collectives:identity_literal", _zero_identity), "subgroups:*"),
    _fault("counters-mixed", "nested loops around grid barriers have one counter",
           on_engine("vyre_driver.legalization.grid.split:GridSplitter.counter", _first_counter),
           "temptations:counters_alike"),
    _fault("locals-forgotten", "locals do not survive a grid barrier",
           on_engine("vyre_driver.legalization.grid.homes:Homes.leave", _left_as_zero), "grid:*"),
    _fault("arrays-forgotten", "workgroup memory does not survive a grid barrier",
           on_engine("vyre_driver.legalization.grid.split:GridSplitter.leave", _no_arrays), "grid:*"),
    _fault("operands-reversed", "calls pass their operands from right to left",
           on_engine("vyre_foundation.dialects:expand", _operands_reversed), "calls:*"),
)
# fmt: on
