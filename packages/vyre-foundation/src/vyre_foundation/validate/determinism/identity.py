"""Who an invocation is, as digits: its workgroup on each axis of the grid, and its place in it on each axis.

Other numbers are made of these digits: the global id on an axis is ``size · group + local``, the linear ids are numbers
of all digits, and quotient and remainder by a literal are parts that together say as much as the whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set as AbstractSet
from enum import Enum
from typing import NamedTuple

from vyre_foundation.ir.expr import Apply, Expr, Id, IdKind
from vyre_foundation.ir.program import Program
from vyre_foundation.validate.determinism.forms import GLOBAL, GROUP, Polynomials
from vyre_foundation.validate.determinism.guards import PathCondition
from vyre_foundation.validate.facts import Interval
from vyre_foundation.validate.limits import MAX_AXIS_INVOCATIONS


class Between(Enum):
    """Which invocations are compared."""

    GROUPS = "of different workgroups"
    LOCALS = "of one workgroup"


class Digit(NamedTuple):
    """A number that tells invocations apart, or a part of it.

    `of` is "group", "local" or "global" (an id on `axis`), "linear group" or "linear global" (of the whole grid). With
    an `over` it is the quotient of that number, or the remainder.
    """

    of: str
    axis: int = 0
    over: int = 1
    is_remainder: bool = False


_OF = {IdKind.GLOBAL_ID: "global", IdKind.LOCAL_ID: "local", IdKind.WORKGROUP_ID: "group"}
_LOCAL_ID, _GLOBAL_ID, _GROUP_ID = (
    tuple(Id(kind, axis) for axis in range(3)) for kind in (IdKind.LOCAL_ID, IdKind.GLOBAL_ID, IdKind.WORKGROUP_ID)
)
_ANY = Interval(0, MAX_AXIS_INVOCATIONS - 1)
_QUOTIENTS = ("div", "raw_div", "shr", "raw_shr")
_REMAINDERS = ("rem", "raw_rem", "and")


class Identity:
    """The digits of a program's invocations, in grids that extend along `axes` only."""

    def __init__(self, program: Program, axes: AbstractSet[int], forms: Polynomials) -> None:
        self._sizes = program.workgroup_size
        self._subgroup_size = program.subgroup_size
        self._forms = forms
        self._groups = frozenset(Digit("group", axis) for axis in axes)
        self._locals = frozenset(Digit("local", axis) for axis in range(3) if self._sizes[axis] > 1)

    def needed(self, between: Between) -> frozenset[Digit]:
        """The digits in which two of the compared invocations may differ."""
        return self._groups if between is Between.GROUPS else self._locals

    def known(self, digits: Iterable[Digit]) -> set[Digit]:
        """The digits of the identity that follow from `digits`."""
        given = set(digits)
        wholes = {d for d in given if d.over == 1}
        wholes |= {Digit(d.of, d.axis) for d in given if d.is_remainder and d._replace(is_remainder=False) in given}
        found: set[Digit] = set()
        for digit in wholes:
            match digit.of:
                case "global":
                    found |= {Digit("group", digit.axis), Digit("local", digit.axis)}
                case "linear group":
                    found |= self._groups
                case "linear global":
                    found |= self._groups | self._locals
                case _:
                    found.add(digit)
        return found

    def digits(self, leaf: Expr, *, are_whole: bool = False) -> list[tuple[int, Digit]] | None:
        """What `leaf` is a sum of: factors and digits; None if it does not tell who the invocation is.

        A global id is split, unless `are_whole`: then it is one digit.
        """
        whole = self._whole(leaf)
        if whole is not None:
            return [(1, whole)] if are_whole else self._split(whole)
        if isinstance(leaf, Id) and leaf.kind is IdKind.SUBGROUP_LANE and self._sizes[1:] == (1, 1):
            return [(1, Digit("local", 0, self._subgroup_size or 1, is_remainder=True))]
        if isinstance(leaf, Apply) and leaf.op.id in (*_QUOTIENTS, *_REMAINDERS):
            return self._part(leaf)
        return None

    def bounds(self, digit: Digit, leaf: Expr, guard: PathCondition) -> Interval:
        """The bounds of a digit of `leaf` at a place."""
        whole = self._bounds_of_whole(digit, guard)
        if digit.over == 1:
            bounds = whole
        elif not digit.is_remainder:
            bounds = Interval(whole.low // digit.over, whole.high // digit.over)
        else:
            bounds = whole if whole.high < digit.over else Interval(0, digit.over - 1)
        known = guard.bounds.get(leaf)
        if known is None or self.digits(leaf) != [(1, digit)]:
            return bounds
        return Interval(max(bounds.low, known.low), min(bounds.high, known.high))

    def value(self, digit: Digit, pins: Mapping[Digit, object]) -> object:
        """What is known of a digit from `pins`: a number, something that is equal for equal values, or None."""
        if digit in pins or digit.over == 1:
            return pins.get(digit)
        whole = pins.get(Digit(digit.of, digit.axis))
        if not isinstance(whole, int):
            return None
        return whole % digit.over if digit.is_remainder else whole // digit.over

    def pinned(self, leaf: Expr, value: int) -> dict[Digit, object]:
        """The digits that are known where `leaf` has this value."""
        whole = self._whole(leaf)
        if whole is None:
            digits = self.digits(leaf) or []
            return {digits[0][1]: value} if len(digits) == 1 and digits[0][0] == 1 else {}
        if whole.of == "global":
            size = self._sizes[whole.axis]
            return {whole: value, Digit("group", whole.axis): value // size, Digit("local", whole.axis): value % size}
        return self.equal(leaf, value) | {whole: value}

    def equal(self, leaf: Expr, key: object) -> dict[Digit, object]:
        """The digits that are the same wherever `leaf` equals something that `key` stands for."""
        whole = self._whole(leaf)
        return {} if whole is None else dict.fromkeys(self.known((whole,)), (whole, key))

    def _bounds_of_whole(self, digit: Digit, guard: PathCondition) -> Interval:
        size = self._sizes[digit.axis]
        match digit.of:
            case "local":
                return guard.bounds.get(_LOCAL_ID[digit.axis], Interval(0, size - 1))
            case "group":
                low, high = guard.bounds.get(_GLOBAL_ID[digit.axis], _ANY)
                known = guard.bounds.get(_GROUP_ID[digit.axis], _ANY)
                return Interval(max(known.low, low // size), min(known.high, high // size))
            case "global":
                return guard.bounds.get(_GLOBAL_ID[digit.axis], _ANY)
            case _:
                linear = GROUP if digit.of == "linear group" else GLOBAL
                return guard.bounds.get(linear, self._forms.bounds[linear])

    def _whole(self, leaf: Expr) -> Digit | None:
        if leaf is GLOBAL:
            return Digit("linear global")
        if leaf is GROUP:
            return Digit("linear group")
        return Digit(_OF[leaf.kind], leaf.axis) if isinstance(leaf, Id) and leaf.kind in _OF else None

    def _split(self, whole: Digit) -> list[tuple[int, Digit]]:
        """A global id as group and local id; others as themselves."""
        if whole.of != "global":
            return [(1, whole)]
        size = self._sizes[whole.axis]
        group = (size, Digit("group", whole.axis))
        return [group, (1, Digit("local", whole.axis))] if size > 1 else [group]

    def _part(self, leaf: Apply) -> list[tuple[int, Digit]] | None:
        """The quotient or remainder of an id by a literal."""
        found = self._forms.exact(leaf.args[0], {})
        divisor = self._forms.bounds[leaf.args[1]]
        inner = None if found is None else found[0].leaf
        whole = None if inner is None else self._whole(inner)
        if whole is None or divisor.low != divisor.high:
            return None
        over = divisor.low
        if leaf.op.id in ("shr", "raw_shr"):
            over = 1 << over % leaf.dtype.bits
        elif leaf.op.id == "and":
            over += 1
        if over < 1 or (leaf.op.id == "and" and over & (over - 1)):
            return None
        size = self._sizes[whole.axis]
        is_remainder = leaf.op.id in _REMAINDERS
        if whole.of != "global" or size % over:
            return [(1, Digit(whole.of, whole.axis, over, is_remainder))]
        local = (1, Digit("local", whole.axis, over, is_remainder))
        return [local] if is_remainder else [(size // over, Digit("group", whole.axis)), local]
