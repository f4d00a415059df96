"""Every rule of the interval arithmetic holds what the op gives: in full for 8 bits, at random for all widths."""

from itertools import combinations_with_replacement, product
from random import Random

import pytest

from vyre_foundation.dtype import INTEGERS, i8, u8
from vyre_foundation.ops import OPS
from vyre_foundation.ops.scalar import wrap
from vyre_foundation.validate import Interval
from vyre_foundation.validate.intervals import RULES, apply

INTEGER_OPS = sorted(op.id for op in OPS.values() if op.results.get(i8) is not None and op.results[i8].is_integer)
EDGES = (-128, -127, -9, -8, -7, -3, -2, -1, 0, 1, 2, 3, 6, 7, 8, 9, 100, 127, 128, 200, 254, 255)


def edges(dtype):
    return [n for n in EDGES if dtype.lowest <= n <= dtype.highest]


def intervals(dtype):
    return [Interval(a, b) for a, b in combinations_with_replacement(edges(dtype), 2)]


def held(op, dtype, operands, values):
    """The result of `op` for these values, if it has one, is within the bounds for these operands."""
    if op.precondition is not None and not op.precondition(dtype, *values):
        return True
    low, high = apply(op, dtype, *operands)
    return low <= op.evaluate(dtype, *values) <= high


@pytest.mark.parametrize("dtype", [u8, i8], ids=str)
@pytest.mark.parametrize("op", [OPS[id] for id in INTEGER_OPS], ids=str)
def test_all_edges_of_eight_bits(op, dtype):
    """Every pair of intervals between edges, with every edge inside."""
    rng = Random(f"{op.id} {dtype}")
    results = {
        values: op.evaluate(dtype, *values)
        for values in product(edges(dtype), repeat=op.arity)
        if op.precondition is None or op.precondition(dtype, *values)
    }
    for operands in product(intervals(dtype), repeat=op.arity):
        if op.arity == 2 and rng.random() > 0.05:
            continue
        inside = [[n for n in edges(dtype) if low <= n <= high] for low, high in operands]
        low, high = apply(op, dtype, *operands)
        for values in product(*inside):
            assert values not in results or low <= results[values] <= high, (operands, values)


@pytest.mark.parametrize("op", [OPS[id] for id in INTEGER_OPS], ids=str)
def test_random_intervals_of_every_width(op):
    for dtype in INTEGERS:
        rng = Random(f"{op.id} {dtype}")
        for _ in range(60):
            operands = [Interval(*sorted((number(rng, dtype), number(rng, dtype)))) for _ in range(op.arity)]
            for _ in range(6):
                values = [rng.choice((low, high, rng.randint(low, high))) for low, high in operands]
                assert held(op, dtype, operands, values), (dtype, operands, values)


def number(rng, dtype):
    """A number of a type; small ones are as likely as others."""
    return wrap(dtype, rng.getrandbits(rng.choice((2, 4, dtype.bits // 2, dtype.bits))) * rng.choice((1, -1)))


@pytest.mark.parametrize(
    ("op", "dtype", "operands", "expected"),
    [
        ("add", u8, [(0, 100), (5, 10)], (5, 110)),
        ("add", u8, [(0, 250), (5, 10)], (0, 255)),
        ("sub", u8, [(10, 20), (0, 10)], (0, 20)),
        ("sub", u8, [(10, 20), (0, 11)], (0, 255)),
        ("mul", i8, [(-3, 2), (-5, 10)], (-30, 20)),
        ("div", u8, [(10, 100), (0, 3)], (3, 100)),
        ("div", i8, [(-128, -128), (-1, -1)], (-128, -128)),
        ("div", i8, [(-128, 5), (-1, 1)], (-128, 127)),
        ("rem", u8, [(0, 255), (7, 7)], (0, 6)),
        ("rem", u8, [(0, 5), (7, 9)], (0, 5)),
        ("rem", i8, [(-100, 100), (7, 7)], (-6, 6)),
        ("rem", u8, [(0, 255), (0, 0)], (0, 0)),
        ("neg", i8, [(-5, 3)], (-3, 5)),
        ("neg", u8, [(1, 3)], (0, 255)),
        ("abs", i8, [(-5, 3)], (0, 5)),
        ("abs", i8, [(-128, 3)], (-128, 127)),
        ("abs_diff", i8, [(-5, -1), (3, 9)], (4, 14)),
        ("and", u8, [(0, 255), (0, 7)], (0, 7)),
        ("and", i8, [(-128, 127), (0, 7)], (0, 7)),
        ("or", u8, [(8, 9), (0, 3)], (8, 15)),
        ("xor", u8, [(8, 9), (0, 3)], (0, 15)),
        ("not", u8, [(0, 3)], (252, 255)),
        ("not", i8, [(0, 3)], (-4, -1)),
        ("shl", u8, [(1, 3), (0, 4)], (1, 48)),
        ("shr", i8, [(-100, 100), (2, 9)], (-100, 100)),
        ("shr", u8, [(0, 255), (4, 4)], (0, 15)),
        ("popcount", u8, [(1, 7)], (1, 3)),
        ("clz", u8, [(1, 7)], (5, 7)),
        ("min", u8, [(3, 9), (0, 5)], (0, 5)),
        ("max", u8, [(3, 9), (0, 5)], (3, 9)),
        ("add_sat", u8, [(200, 250), (5, 10)], (205, 255)),
        ("rotl", u8, [(1, 1), (4, 4)], (16, 16)),
        ("rotl", u8, [(1, 1), (4, 5)], (0, 255)),
    ],
)
def test_how_tight_the_bounds_are(op, dtype, operands, expected):
    assert apply(OPS[op], dtype, *[Interval(*bounds) for bounds in operands]) == expected


def test_every_rule_is_that_of_an_op():
    assert RULES.keys() <= set(INTEGER_OPS)
