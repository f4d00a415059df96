"""Faults of lowering that a rare guard, a late iteration or a long grid shows.

They are proofs that nearly go through, and what is lost between kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from vyre_conform.controls.engine import behind, looping_target, on_engine
from vyre_conform.controls.evaluated import in_statements
from vyre_conform.controls.fault import Fault, Layer
from vyre_conform.controls.lowering import bound_to, by_proofs
from vyre_driver.legalization.grid.liveness import Carried
from vyre_driver.legalization.guards import Guards, Known
from vyre_driver.legalization.schedule import RUNS
from vyre_foundation.dtype import DType, u32
from vyre_foundation.ir.buffer import Buffer, LengthOf
from vyre_foundation.ir.expr import Apply, Cast, Expr, Id, IdKind, Length, Load, Local, literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Body, Break, If, Let, Stmt
from vyre_foundation.ir.walk import rewrite, with_expressions
from vyre_foundation.ops import Op
from vyre_foundation.validate.facts import Interval

Right = Callable[..., Any]
GUARDS = "vyre_driver.legalization.guards"


class ByAlikeLengths(Guards):
    """What is below a length by a rule that `is_alike` is thought to be below the length that the rule is over."""

    is_alike: Callable[[LengthOf], bool]

    def proves(self, known: Known, index: Expr, buffer: Buffer) -> bool:
        own = buffer.count.buffer if isinstance(buffer.count, LengthOf) else buffer.name
        lengths = [(x, y.buffer.count, gap) for x, y, gap in known if isinstance(y, Length)]
        rules = [(x, rule, gap) for x, rule, gap in lengths if isinstance(rule, LengthOf) and rule.buffer == own]
        more = {(x, Length(buffer), gap) for x, rule, gap in rules if self.is_alike(rule)}
        return super().proves(known | more, index, buffer)


class WithoutConstants(ByAlikeLengths):
    """What is below a length that is greater than another by a number is thought to be below that."""

    is_alike = staticmethod(lambda rule: rule.plus > 0)


class WithoutTimes(ByAlikeLengths):
    """What is below a length that is a multiple of another is thought to be below that."""

    is_alike = staticmethod(lambda rule: rule.times > rule.over)


def _at_most_its_operands(right: Right) -> Right:
    """``x ^ y`` is thought to be at most the greater of the two."""

    def bounds(op: Op, dtype: DType, *operands: Interval) -> Interval:
        found: Interval = right(op, dtype, *operands)
        return Interval(found.low, min(found.high, max(x.high for x in operands))) if op.id == "xor" else found

    return bounds


class CastsKeepBounds(Guards):
    """A cast has the bounds of its operand, whatever the target holds."""

    def interval(self, known: Known, index: Expr) -> Interval:
        return super().interval(known, index.args[0] if isinstance(index, Cast) else index)


def _or_is_and(right: Right) -> Right:
    """Where one of two conditions holds both are thought to hold."""

    def parts(condition: Expr, truth: bool) -> Any:
        for node, wanted in right(condition, truth):
            args = node.args if getattr(getattr(node, "op", None), "id", "") == "or" and wanted else ()
            yield from [(x, True) for x in args] or [(node, wanted)]

    return parts


def _maybe_zero(right: Right) -> Right:
    """A load that equals something is thought not to be zero."""
    return lambda op, other: bool(op == "eq" or right(op, other))


def _left_early(right: Right) -> Right:
    """Behind a branch that may leave, its condition is thought not to hold."""

    def leaves(body: Body) -> bool:
        match body[-1:]:
            case (If(then=then),):
                return bool(right(then))
        return bool(right(body))

    return leaves


def _first_iteration(right: Right) -> Right:
    """A variable is left only for kernels that come later in the text, not for the next round."""

    def carried(pieces: Any, done: Mapping[int, Any], spared: Any) -> Carried:
        found: Carried = right(pieces, done, spared)
        left = {
            number: {n: None for n in names if not isinstance(n, str) or _read_later(n, number, done)}
            for number, names in found.left.items()
        }
        return replace(found, left=left)

    return carried


def _read_later(name: str, number: int, done: Mapping[int, Any]) -> bool:
    return any(name in touch.exposed for other, touch in done.items() if other > number)


def _taken_to_be_read(right: Right) -> Right:
    """A kernel takes over the variables that it reads, and not those that it may set for others."""

    def carried(pieces: Any, done: Mapping[int, Any], spared: Any) -> Carried:
        found: Carried = right(pieces, done, spared)
        taken = {
            number: {n: None for n in names if not isinstance(n, str) or n in done[number].exposed}
            for number, names in found.taken.items()
        }
        return replace(found, taken=taken)

    return carried


def _never_unset(right: Right) -> Right:
    """Arrays are thought to be left by somebody before they are taken over."""

    def carried(*operands: Any) -> Carried:
        found: Carried = right(*operands)
        return replace(found, unset={})

    return carried


def _inner_loop_alone(before: Program, after: Program) -> Program:
    """A return leaves the loop that it stands in, and no other."""

    def rule(stmt: Stmt) -> Stmt | Body:
        match stmt:
            case If(Local(name), (Break(),), ()) if name.startswith("left"):
                return ()
        return stmt

    return in_statements(rule)(after)


def _first_of_min(value: Expr) -> Expr:
    """The last workgroups of a batch are as many as the others, also where the grid has no more."""
    return rewrite(value, lambda node: node.args[0] if isinstance(node, Apply) and node.op.id == "min" else node, {})


def _rows_counted(before: Program, after: Program) -> Program:
    """The number of workgroups is that of the batches."""

    def number(node: Expr) -> Expr:
        is_launched = isinstance(node, Load) and node.buffer.name == RUNS and node.index == literal(u32, 1)
        return Id(IdKind.NUM_WORKGROUPS, 0) if is_launched else node

    def rule(stmt: Stmt) -> Stmt:
        is_own = isinstance(stmt, Let) and stmt.name.startswith("end_x")
        return stmt if is_own else with_expressions(stmt, lambda root: rewrite(root, number, {}))

    return in_statements(rule)(after)


_fault = partial(Fault, Layer.LOWERING)
SPLIT = "vyre_driver.legalization.grid.split"

# fmt: off
FAULTS = (
    _fault("rule-plus", "below length(a) + 3 is taken for below length(a)",
           by_proofs(WithoutConstants), "guards:lengths_by_rule"),
    _fault("rule-times", "below 2 * length(a) is taken for below length(a)",
           by_proofs(WithoutTimes), "guards:lengths_by_rule"),
    _fault("xor-bounded", "x ^ y is thought to be at most the greater of the two",
           on_engine(f"{GUARDS}:apply", _at_most_its_operands), "guards:xor"),
    _fault("cast-keeps-bounds", "a cast has the bounds of its operand",
           by_proofs(CastsKeepBounds), "guards:narrowed"),
    _fault("or-is-and", "where one of two conditions holds both are thought to hold",
           on_engine(f"{GUARDS}:conjuncts", _or_is_and), "guards:either_of_two"),
    _fault("maybe-zero", "a load that equals what may be zero is thought to be within bounds",
           on_engine(f"{GUARDS}:excludes_zero", _maybe_zero), "guards:not_zero"),
    _fault("may-leave", "behind a branch that may leave its condition is thought not to hold",
           on_engine("vyre_driver.legalization.bounds:leaves", _left_early), "guards:either_of_two"),
    _fault("next-round", "what the next round of a loop around grid barriers reads is not kept",
           on_engine(f"{SPLIT}:carried", _first_iteration), "loops:carried_and_unread"),
    _fault("set-in-a-branch", "a variable that a kernel sets under a condition is lost where it does not",
           on_engine(f"{SPLIT}:carried", _taken_to_be_read), "loops:carried_and_unread"),
    _fault("arrays-unset", "arrays that are read before they are written do not begin with zeros",
           on_engine(f"{SPLIT}:carried", _never_unset), "loops:read_before_written"),
    _fault("inner-return", "a return out of two loops leaves the inner one",
           behind("workgroups-as-loops", _inner_loop_alone, looping_target),
           "loops:return_out_of_two"),
    _fault("rows-alike", "where workgroups run without a break the last ones run beyond the grid",
           behind("workgroups-as-loops", bound_to("end_x", _first_of_min), looping_target), "launches:*"),
    _fault("rows-counted", "the number of workgroups is that of those that run without a break",
           behind("workgroups-as-loops", _rows_counted, looping_target), "launches:*"),
)
# fmt: on
