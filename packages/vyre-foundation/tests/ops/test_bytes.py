"""Every integer op on all operands of eight bits, against formulas of another make; and the laws, on all of them."""

from collections.abc import Callable
from functools import cache, partial
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest

from vyre_foundation.dtype import DType, bool_, i8, u8
from vyre_foundation.ops import OPS, Laws, Op

Table = npt.NDArray[np.uint8]


def domain(dtype: DType) -> list[int]:
    """Every value, in the order of their bits."""
    size = dtype.highest - dtype.lowest + 1
    return sorted(range(dtype.lowest, dtype.highest + 1), key=lambda x: x % size)


def tabulated(dtype: DType, arity: int, result: Callable[..., int]) -> Table:
    """The bits of the results of a function, by the bits of the operands."""
    values = domain(dtype)
    results = [result(*operands) % 256 for operands in product(values, repeat=arity)]
    return np.array(results, np.uint8).reshape((len(values),) * arity)


@cache
def table(id: str, dtype: DType) -> Table:
    """The bits of every result of an op."""
    return tabulated(dtype, OPS[id].arity, partial(OPS[id].evaluate, dtype))


def cases(arity: int) -> list[tuple[str, DType]]:
    return [(row.id, t) for row in OPS.values() if row.arity == arity for t in (u8, i8, bool_) if t in row.accepts]


# ── formulas ─────────────────────────────────────────────────────────────────────────────────────────────────────────
# They work on the mathematical values x and y, with the least value `low` and the greatest `high` of the type, and say
# the result modulo 256. Bits are strings of binary digits here, division goes by search.


@cache
def bits(x: int) -> str:
    return "".join("1" if x // 2**place % 2 else "0" for place in range(7, -1, -1))


@cache
def from_bits(digits: str) -> int:
    return sum(2**place for place, digit in enumerate(reversed(digits)) if digit == "1")


def digitwise(truth: dict[str, str]) -> Callable[..., int]:
    return lambda x, y, low, high: from_bits("".join(truth[p + q] for p, q in zip(bits(x), bits(y), strict=True)))


@cache
def quotient(x: int, y: int) -> int:
    """The greatest q with |q * y| <= |x|, and the sign of x * y."""
    magnitude = 0
    while (magnitude + 1) * abs(y) <= abs(x):
        magnitude += 1
    return magnitude if x * y > 0 else -magnitude


def nearest(x: int, low: int, high: int) -> int:
    return sorted((low, x, high))[1]


def rotated(x: int, by: int) -> int:
    digits = bits(x)
    return from_bits(digits[by % 8 :] + digits[: by % 8])


# fmt: off
TWO: dict[str, Callable[[int, int, int, int], int]] = {
    "add":      lambda x, y, low, high: x - -y,
    "sub":      lambda x, y, low, high: x + -y,
    "mul":      lambda x, y, low, high: sum([x] * y) if y >= 0 else -sum([x] * -y),
    "div":      lambda x, y, low, high: quotient(x, y) if y else x,
    "rem":      lambda x, y, low, high: x - quotient(x, y) * y if y else 0,
    "raw_div":  lambda x, y, low, high: quotient(x, y) if y else x,
    "raw_rem":  lambda x, y, low, high: x - quotient(x, y) * y if y else 0,
    "abs_diff": lambda x, y, low, high: x - y if x > y else y - x,
    "mul_high": lambda x, y, low, high: (x * y - x * y % 256) // 256,
    "add_sat":  lambda x, y, low, high: nearest(x + y, low, high),
    "sub_sat":  lambda x, y, low, high: nearest(x - y, low, high),
    "mul_sat":  lambda x, y, low, high: nearest(x * y, low, high),
    "min":      lambda x, y, low, high: sorted((x, y))[0],
    "max":      lambda x, y, low, high: sorted((x, y))[1],
    "and":      digitwise({"00": "0", "01": "0", "10": "0", "11": "1"}),
    "or":       digitwise({"00": "0", "01": "1", "10": "1", "11": "1"}),
    "xor":      digitwise({"00": "0", "01": "1", "10": "1", "11": "0"}),
    "shl":      lambda x, y, low, high: x * 2 ** (y % 8),
    "shr":      lambda x, y, low, high: (x - x % 2 ** (y % 8)) // 2 ** (y % 8),
    "raw_shl":  lambda x, y, low, high: x * 2 ** (y % 8),
    "raw_shr":  lambda x, y, low, high: (x - x % 2 ** (y % 8)) // 2 ** (y % 8),
    "rotl":     lambda x, y, low, high: rotated(x, y),
    "rotr":     lambda x, y, low, high: rotated(x, -y),
    "eq":       lambda x, y, low, high: int(not x - y),
    "ne":       lambda x, y, low, high: int(bool(x - y)),
    "lt":       lambda x, y, low, high: int(y - x > 0),
    "le":       lambda x, y, low, high: int(y - x >= 0),
    "gt":       lambda x, y, low, high: int(x - y > 0),
    "ge":       lambda x, y, low, high: int(x - y >= 0),
}
ONE: dict[str, Callable[[int, int, int], int]] = {
    "neg":          lambda x, low, high: 0 - x,
    "abs":          lambda x, low, high: x if x > 0 else -x,
    "not":          lambda x, low, high: high + low - x,
    "popcount":     lambda x, low, high: bits(x).count("1"),
    "clz":          lambda x, low, high: (bits(x) + "1").index("1"),
    "ctz":          lambda x, low, high: (bits(x)[::-1] + "1").index("1"),
    "reverse_bits": lambda x, low, high: from_bits(bits(x)[::-1]),
}
# fmt: on


@pytest.mark.parametrize(("id", "dtype"), cases(2), ids=str)
def test_ops_of_two_operands(id: str, dtype: DType) -> None:
    expected = tabulated(dtype, 2, lambda x, y: TWO[id](x, y, dtype.lowest, dtype.highest))
    np.testing.assert_array_equal(table(id, dtype), expected)


@pytest.mark.parametrize(("id", "dtype"), cases(1), ids=str)
def test_ops_of_one_operand(id: str, dtype: DType) -> None:
    expected = tabulated(dtype, 1, lambda x: ONE[id](x, dtype.lowest, dtype.highest))
    np.testing.assert_array_equal(table(id, dtype), expected)


def test_every_op_on_integers_has_a_formula() -> None:
    assert {id for id, _ in cases(2)} == set(TWO)
    assert {id for id, _ in cases(1)} == set(ONE)
    assert not cases(3)


# ── laws ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def value(law: object, dtype: DType) -> int:
    """The bits of a value that a law names."""
    size = dtype.highest - dtype.lowest + 1
    match law:
        case "ones":
            return size - 1
        case "lowest":
            return dtype.lowest % size
        case "highest":
            return dtype.highest % size
    assert isinstance(law, int)
    return law % size


def broken(laws: Laws, results: Table, dtype: DType) -> list[str]:
    """Which of `laws` the results of an op do not keep. Associativity looks at all triples."""
    every = np.arange(len(results))
    found = []
    if laws.involution and not np.array_equal(results[results], every):
        found.append("involution")
    if laws.commutative and not np.array_equal(results, results.T):
        found.append("commutative")
    if laws.associative and not all(np.array_equal(results[results[:, y]], results[:, results[y]]) for y in every):
        found.append("associative")
    if laws.idempotent and not np.array_equal(results[every, every], every):
        found.append("idempotent")
    if laws.self_inverse and results[every, every].any():
        found.append("self_inverse")
    if laws.identity is not None and not np.array_equal(results[:, value(laws.identity, dtype)], every):
        found.append("identity")
    if laws.absorbing is not None and (results[:, value(laws.absorbing, dtype)] != value(laws.absorbing, dtype)).any():
        found.append("absorbing")
    return found


@pytest.mark.parametrize(("id", "dtype"), cases(1) + cases(2), ids=str)
def test_laws(id: str, dtype: DType) -> None:
    assert broken(OPS[id].laws_for(dtype), table(id, dtype), dtype) == []


ALL = Laws(commutative=True, associative=True, idempotent=True, self_inverse=True, identity=0, absorbing=0)


def declared(row: Op) -> set[str]:
    laws = row.laws
    flags = {name for name in ("commutative", "associative", "idempotent", "self_inverse") if getattr(laws, name)}
    return flags | {name for name in ("identity", "absorbing") if getattr(laws, name) == 0}


UNDECLARED = {
    "div": {"identity"},  # x / 0 = x as well as x / 1 = x
    "abs_diff": {"self_inverse"},  # but the 0 has another type than x
}


@pytest.mark.parametrize("id", sorted({id for id, dtype in cases(2) if dtype is not bool_}))
def test_laws_that_hold_are_declared(id: str) -> None:
    """Where a law holds on both kinds of bytes and nothing says so, rewrites miss it, or the table does."""
    row = OPS[id]
    if row.result.value == "bool" or row.tier.value == "raw":
        return
    holds = set(declared(Op("x", 1, 2, (u8,), row.result, row.meaning, "x", laws=ALL)))
    for dtype in (u8, i8):
        if dtype in row.accepts:
            holds -= set(broken(ALL, table(id, dtype), dtype))
    assert holds == declared(row) | UNDECLARED.get(id, set())


def test_a_broken_law_is_noticed() -> None:
    results = table("add", u8).copy()
    results[3, 5] ^= 1
    laws = OPS["add"].laws
    assert broken(laws, results, u8) == ["commutative", "associative"]
    results = table("and", u8).copy()
    results[7, 255] = 0
    assert broken(OPS["and"].laws, results, u8) == ["commutative", "associative", "identity"]
