"""What compilers do to floats when they are not told to leave them alone: each formula is rounded op by op."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, seeded
from vyre_conform.cases.values import by_needs, pack, pack_bits
from vyre_foundation.build import Value, apply, constant, program
from vyre_foundation.dtype import FLOATS, DType, bool_, f32, f64
from vyre_foundation.ops import OPS
from vyre_foundation.ops.scalar import Scalar, cast, from_bits, round_float, to_bits
from vyre_foundation.testing.values import random_bits, special_bits

Formula = Callable[[Callable[..., Any], Any, Any, Any], Any]
"""From an applier of ops and three operands to a value: the same text builds programs and works out answers."""

# fmt: off
CONTRACTED: dict[str, Formula] = {
    "product_plus":   lambda o, x, y, z: o("add", o("mul", x, y), z),
    "plus_product":   lambda o, x, y, z: o("add", z, o("mul", x, y)),
    "product_minus":  lambda o, x, y, z: o("sub", o("mul", x, y), z),
    "minus_product":  lambda o, x, y, z: o("sub", z, o("mul", x, y)),
    "two_products":   lambda o, x, y, z: o("add", o("mul", x, y), o("mul", y, z)),
    "negated":        lambda o, x, y, z: o("add", o("neg", o("mul", x, y)), z),
    "horner":         lambda o, x, y, z: o("add", o("mul", o("add", o("mul", x, y), z), y), x),
}
FUSED: dict[str, Formula] = {
    "negated":            lambda o, x, y, z: o("neg", o("fma", x, y, z)),
    "negated_product":    lambda o, x, y, z: o("fma", o("neg", x), y, z),
    "negated_summand":    lambda o, x, y, z: o("fma", x, y, o("neg", z)),
    "negated_both":       lambda o, x, y, z: o("fma", o("neg", x), y, o("neg", z)),
    "negated_minus":      lambda o, x, y, z: o("neg", o("fma", x, y, o("neg", z))),
    "negated_twice":      lambda o, x, y, z: o("neg", o("fma", o("neg", x), y, z)),
    "of_zero":            lambda o, x, y, z: o("neg", o("fma", x, o("sub", y, y), o("sub", z, z))),
    "magnitude":          lambda o, x, y, z: o("abs", o("fma", x, y, z)),
}
REASSOCIATED: dict[str, Formula] = {
    "left":           lambda o, x, y, z: o("add", o("add", x, y), z),
    "right":          lambda o, x, y, z: o("add", x, o("add", y, z)),
    "cancels":        lambda o, x, y, z: o("sub", o("add", x, y), x),
    "restores":       lambda o, x, y, z: o("mul", o("div", x, y), y),
    "quotients":      lambda o, x, y, z: o("div", o("div", x, y), z),
    "distributes":    lambda o, x, y, z: o("mul", x, o("add", y, z)),
    "square_root":    lambda o, x, y, z: o("sqrt", o("mul", x, x)),
    "differs":        lambda o, x, y, z: o("neg", o("sub", x, y)),
}
IDENTITIES: dict[str, Formula] = {
    "self_difference": lambda o, x, y, z: o("sub", x, x),
    "self_quotient":   lambda o, x, y, z: o("div", x, x),
    "zero_product":    lambda o, x, y, z: o("mul", x, o("sub", y, y)),
    "double_negation": lambda o, x, y, z: o("neg", o("neg", x)),
    "clamped":         lambda o, x, y, z: o("min", o("max", x, y), z),
    "magnitude":       lambda o, x, y, z: o("abs", o("neg", x)),
    "nested_rounding": lambda o, x, y, z: o("floor", o("add", o("floor", x), o("trunc", y))),
}
COMPARED: dict[str, Formula] = {
    "is_itself":       lambda o, x, y, z: o("eq", x, x),
    "is_not_less":     lambda o, x, y, z: o("not", o("lt", x, y)),
    "is_ordered":      lambda o, x, y, z: o("or", o("le", x, y), o("ge", x, y)),
    "is_between":      lambda o, x, y, z: o("and", o("lt", x, y), o("lt", y, z)),
    "differs":         lambda o, x, y, z: o("ne", o("sub", x, y), o("sub", y, x)),
}
# fmt: on
TABLES = {"contraction": CONTRACTED, "reassociation": REASSOCIATED, "identities": IDENTITIES, "comparisons": COMPARED}


def specs() -> Iterator[Spec]:
    for name in TABLES:
        for dtype in FLOATS:
            yield seeded(address("floats", name, dtype=dtype), _formulas, name, dtype, 64)
    for dtype in FLOATS:
        for group in (1, 64) if dtype in (f32, f64) else ():  # compilers select other instructions for vectors
            yield seeded(address("floats", "fused", dtype=dtype, group=group), _formulas, "fused", dtype, group)
        yield seeded(address("floats", "neutral_literals", dtype=dtype), _neutral, dtype)
        others = [t for t in FLOATS if t is not dtype]
        for at, some in by_needs(address("floats", "there_and_back", dtype=dtype), others, [dtype]).items():
            yield seeded(at, _casts, dtype, some)


def _operands(dtype: DType, rng: Random, rows: int = 700) -> list[tuple[int, int, int]]:
    """Patterns near one another, so that roundings show, and special ones."""
    special = special_bits(dtype)
    found = [(rng.choice(special), rng.choice(special), rng.choice(special)) for _ in range(rows // 3)]
    while len(found) < rows:
        x, y = (from_bits(dtype, to_bits(dtype, 1.0) + rng.getrandbits(dtype.bits // 2)) for _ in "xy")
        product = float(x) * float(y)
        z = rng.choice((-product, product, float(x), -float(y), product * 2.0 ** rng.randint(-30, 30)))
        found.append((to_bits(dtype, x), to_bits(dtype, y), to_bits(dtype, round_float(dtype, z))))
    return found


def _formulas(name: str, dtype: DType, group: int, rng: Random) -> tuple[Launch, Expected]:
    result = bool_ if name == "comparisons" else dtype
    table = FUSED if name == "fused" else TABLES[name]
    with program(f"{name}_{dtype}", group) as p:
        x, y, z = (p.read(operand, dtype) for operand in "xyz")
        i = p.let(p.global_id(0))
        for formula in table:
            out = p.write(formula, result, like=x)
            out[i] = table[formula](apply, x[i], y[i], z[i])
    rows = _operands(dtype, rng)
    values = [[from_bits(dtype, bits) for bits in row] for row in rows]

    def evaluate(id: str, *operands: Scalar) -> Scalar:
        return OPS[id].evaluate(bool_ if isinstance(operands[0], bool) else dtype, *operands)

    outputs = tuple(pack(result, [formula(evaluate, *row) for row in values]) for formula in table.values())
    inputs = {operand: pack_bits(dtype, column) for operand, column in zip("xyz", zip(*rows, strict=True), strict=True)}
    return Launch(program=p.build(), inputs=inputs), Exactly(outputs, ("x", "y", "z"))


def _neutral(dtype: DType, rng: Random) -> tuple[Launch, Expected]:
    """Ops with literals that look as if they did nothing."""
    rows = [("add", 0.0), ("add", -0.0), ("sub", 0.0), ("mul", 1.0), ("mul", 0.0), ("mul", -1.0), ("mul", 2.0)]
    rows += [("div", 1.0), ("div", 2.0), ("div", 3.0), ("min", 0.0), ("max", -0.0)]
    with program(f"neutral_{dtype}", 64) as p:
        x = p.read("x", dtype)
        i = p.let(p.global_id(0))
        for n, (id, value) in enumerate(rows):
            p.write(f"right_{n}", dtype, like=x)[i] = apply(id, x[i], value)
            p.write(f"left_{n}", dtype, like=x)[i] = apply(id, constant(dtype, value), x[i])
    patterns = [*special_bits(dtype), *(random_bits(rng, dtype) for _ in range(200))]
    values = [from_bits(dtype, bits) for bits in patterns]
    outputs: list[bytes] = []
    for id, value in rows:
        outputs.append(pack(dtype, [OPS[id].evaluate(dtype, v, value) for v in values]))
        outputs.append(pack(dtype, [OPS[id].evaluate(dtype, value, v) for v in values]))
    return Launch(program=p.build(), inputs={"x": pack_bits(dtype, patterns)}), Exactly(tuple(outputs), ("x",))


def _casts(dtype: DType, others: list[DType], rng: Random) -> tuple[Launch, Expected]:
    """Casts to other floats and back round on the way, and arithmetic between them is in the narrow type."""
    with program(f"there_and_back_{dtype}", 64) as p:
        x = p.read("x", dtype)
        i = p.let(p.global_id(0))
        for other in others:
            there: Value = x[i].cast(other)
            p.write(f"back_{other}", dtype, like=x)[i] = there.cast(dtype)
            p.write(f"doubled_{other}", dtype, like=x)[i] = (there * there + there).cast(dtype)
    patterns = [*special_bits(dtype), *(random_bits(rng, dtype) for _ in range(300))]
    outputs: list[bytes] = []
    for other in others:
        narrow = [cast(dtype, other, from_bits(dtype, bits)) for bits in patterns]
        squares = [OPS["mul"].evaluate(other, v, v) for v in narrow]
        sums = [OPS["add"].evaluate(other, s, v) for s, v in zip(squares, narrow, strict=True)]
        outputs += [pack(dtype, [cast(other, dtype, v) for v in row]) for row in (narrow, sums)]
    return Launch(program=p.build(), inputs={"x": pack_bits(dtype, patterns)}), Exactly(tuple(outputs), ("x",))
