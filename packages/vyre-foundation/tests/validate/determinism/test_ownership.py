"""Ownership against all values: where it is claimed, equal indices come from equal digits."""

from itertools import product
from random import Random

import pytest

from vyre_foundation.ir.program import Program
from vyre_foundation.validate import Interval
from vyre_foundation.validate.determinism.forms import Polynomials
from vyre_foundation.validate.determinism.identity import Digit, Identity
from vyre_foundation.validate.determinism.ownership import are_owned
from vyre_foundation.validate.determinism.views import View

GROUP, LOCAL, ROW = Digit("group", 0), Digit("local", 0), Digit("local", 1)
QUOTIENT, REMAINDER = Digit("local", 0, 3), Digit("local", 0, 3, is_remainder=True)
PROGRAM = Program("p", (), (6, 2, 1), ())
IDENTITY = Identity(PROGRAM, {0}, Polynomials(PROGRAM, {}, {}, frozenset(), {0}))
WIDTH = 9
"""Bits of an index."""


def view(strides, *, const=0, rests=(), pins=None, fixed=None):
    """A view with strides and bounds of digits, and the same of rests."""
    return View(
        WIDTH,
        const,
        pins or {},
        {digit: stride for digit, (stride, _) in strides.items()},
        {digit: Interval(*bounds) for digit, (_, bounds) in strides.items()},
        fixed or {},
        [(stride, Interval(*bounds)) for stride, bounds in rests],
    )


def touched(access, needed):
    """The indices of a view, each with the needed digits of those that make it."""
    digits = sorted({*access.strides, *needed, *access.pins})
    ranges = []
    for digit in digits:
        low, high = access.bounds.get(digit, Interval(0, {GROUP: 4, LOCAL: 5, ROW: 1}.get(digit, 2)))
        pin = access.pins.get(digit)
        ranges.append(range(low, high + 1) if pin is None else [pin])
    for values in product(*ranges, *(range(low, high + 1) for _, (low, high) in access.rests)):
        known = dict(zip(digits, values, strict=False))
        index = access.const + sum(stride * known[digit] for digit, stride in access.strides.items())
        index += sum(stride * x for (stride, _), x in zip(access.rests, values[len(digits) :], strict=True))
        yield index % 2**WIDTH, tuple(known[digit] for digit in needed)


def is_true(views, needed):
    """Whether no two of all accesses to one element differ in the needed digits."""
    owners = {}
    for access in views:
        for index, owner in touched(access, needed):
            if owners.setdefault(index, owner) != owner:
                return False
    return True


def drawn(rng):
    """Views of which some have the same strides, and digits that they need."""
    strides = {d: rng.choice((1, 1, 2, 3, 4, 5, 6, 8, 12, 24, 30, -1, -3, -6, -12)) for d in (GROUP, LOCAL, ROW)}
    for digit in (GROUP, LOCAL, ROW):
        if rng.random() < 0.4:
            del strides[digit]
    views = []
    for _ in range(rng.choice((1, 1, 2, 2, 3))):
        pins, chosen = {}, {}
        for digit, stride in strides.items():
            last = {GROUP: 4, LOCAL: 5, ROW: 1}[digit]
            if rng.random() < 0.2:
                pins[digit] = rng.randint(0, last)
                continue
            low = rng.randint(0, last) if rng.random() < 0.3 else 0
            chosen[digit] = stride if rng.random() < 0.95 else stride + 2, (low, rng.randint(low, last))
        rests = [
            (rng.choice((1, -1, 2, 3, 6, 12, 24, 36, 48)), (rng.choice((0, 0, 1)), rng.randint(1, 3)))
            for _ in range(rng.choice((0, 0, 1, 2)))
        ]
        views.append(view(chosen, const=rng.choice((0, 0, 1, 2, 5, 6, 12, 36, -1)), rests=rests, pins=pins))
    return views, frozenset(rng.sample(sorted(strides), rng.randint(0, len(strides))))


@pytest.mark.parametrize("seed", range(40))
def test_a_claim_holds_for_all_values(seed):
    rng = Random(seed)
    claims = 0
    for _ in range(150):
        views, needed = drawn(rng)
        if are_owned(views, needed, IDENTITY):
            claims += len(needed) > 0
            assert is_true(views, sorted(needed)), (views, needed)
    assert claims > 5  # else the test shows nothing


# fmt: off
CLAIMS = [
    ([view({LOCAL: (1, (0, 5))})],                                                      {LOCAL},        True),
    ([view({LOCAL: (1, (0, 5))}), view({LOCAL: (2, (0, 5))})],                          {LOCAL},        False),
    ([view({LOCAL: (2, (0, 5))}), view({LOCAL: (2, (0, 5))}, const=1)],                 {LOCAL},        True),
    ([view({LOCAL: (2, (0, 5))}), view({LOCAL: (2, (0, 5))}, const=2)],                 {LOCAL},        False),
    ([view({LOCAL: (2, (0, 5))}), view({LOCAL: (2, (0, 5))}, const=12)],                {LOCAL},        True),
    ([view({LOCAL: (1, (0, 5))}, rests=[(6, (0, 9))])],                                 {LOCAL},        True),
    ([view({LOCAL: (1, (0, 5))}, rests=[(5, (0, 9))])],                                 {LOCAL},        False),
    ([view({LOCAL: (1, (0, 5))}, rests=[(6, (0, 9)), (9, (0, 9))])],                    {LOCAL},        False),
    ([view({LOCAL: (4, (0, 5))}, rests=[(1, (0, 3))])],                                 {LOCAL},        True),
    ([view({LOCAL: (4, (0, 5))}, rests=[(1, (0, 4))])],                                 {LOCAL},        False),
    ([view({LOCAL: (1, (0, 5)), ROW: (6, (0, 1))})],                                    {LOCAL, ROW},   True),
    ([view({LOCAL: (1, (0, 5)), ROW: (5, (0, 1))})],                                    {LOCAL, ROW},   False),
    ([view({LOCAL: (1, (0, 5)), GROUP: (18, (0, 9))}, rests=[(6, (0, 2))])],            {LOCAL, GROUP}, True),
    ([view({LOCAL: (1, (0, 5)), GROUP: (18, (0, 9))}, rests=[(6, (0, 3))])],            {GROUP},        False),
    ([view({LOCAL: (-1, (0, 5))}, const=5), view({LOCAL: (-1, (0, 5))}, const=17)],     {LOCAL},        True),
    ([view({LOCAL: (100, (0, 5))})],                                                    {LOCAL},        True),
    ([view({LOCAL: (128, (0, 5))})],                                                    {LOCAL},        False),
    ([view({QUOTIENT: (1, (0, 1)), REMAINDER: (2, (0, 2))})],                           {LOCAL},        True),
    ([view({QUOTIENT: (1, (0, 1))})],                                                   {LOCAL},        False),
    ([view({QUOTIENT: (1, (0, 1))}, pins={REMAINDER: 2})],                              {LOCAL},        True),
    ([view({}, pins={LOCAL: 2}), view({}, pins={LOCAL: 2})],                            {LOCAL},        True),
    ([view({}, pins={LOCAL: 2}), view({}, pins={LOCAL: 3})],                            {LOCAL},        False),
    ([view({}, pins={LOCAL: "x"}), view({}, pins={LOCAL: "x"})],                        {LOCAL},        True),
    ([view({LOCAL: (1, (0, 5))}), view({}, const=2, pins={LOCAL: 2})],                  {LOCAL},        True),
    ([view({LOCAL: (1, (0, 5))}), view({}, const=3, pins={LOCAL: 2})],                  {LOCAL},        False),
    ([view({LOCAL: (1, (0, 5))}), view({}, const=2, pins={LOCAL: "x"})],                {LOCAL},        False),
    ([view({LOCAL: (1, (0, 5))}, fixed={"n": 1})] * 2,                                  {LOCAL},        True),
    ([view({LOCAL: (1, (0, 5))}, fixed={"n": 1}), view({LOCAL: (1, (0, 5))})],          {LOCAL},        False),
]
# fmt: on


@pytest.mark.parametrize(("views", "needed", "expected"), CLAIMS)
def test_what_is_claimed(views, needed, expected):
    assert are_owned(views, frozenset(needed), IDENTITY) is expected
