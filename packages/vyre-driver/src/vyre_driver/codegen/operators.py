"""What the operators of C mean exactly: the part of a dialect's table that all C-like targets share.

Only what C defines for all operands in the legalized forms: unsigned arithmetic wraps, signed arithmetic that could
overflow is not here. A right shift of a signed value keeps its sign on every target that this is for.
"""

from __future__ import annotations

from collections.abc import Iterable

from vyre_foundation.dtype import DType, Kind

# fmt: off
_COMPARE = {
    "eq":      "({0} == {1})",
    "ne":      "({0} != {1})",
    "lt":      "({0} < {1})",
    "le":      "({0} <= {1})",
    "gt":      "({0} > {1})",
    "ge":      "({0} >= {1})",
}
_BITS = {
    "and":     "({0} & {1})",
    "or":      "({0} | {1})",
    "xor":     "({0} ^ {1})",
    "not":     "(~{0})",
    "raw_shr": "({0} >> {1})",
    "raw_div": "({0} / {1})",
    "raw_rem": "({0} % {1})",
}
_ARITHMETIC = {
    "add":     "({0} + {1})",
    "sub":     "({0} - {1})",
    "mul":     "({0} * {1})",
    "neg":     "(-{0})",
}
_OPERATORS = {
    Kind.BOOL:     {"and": "({0} & {1})", "or": "({0} | {1})", "xor": "({0} != {1})", "not": "(!{0})",
                    "eq": "({0} == {1})", "ne": "({0} != {1})"},
    Kind.UNSIGNED: {**_COMPARE, **_BITS, **_ARITHMETIC, "raw_shl": "({0} << {1})"},
    Kind.SIGNED:   {**_COMPARE, **_BITS},
    Kind.FLOAT:    {**_COMPARE, **_ARITHMETIC, "div": "({0} / {1})"},
}
# fmt: on


def c_operators(types: Iterable[DType]) -> dict[tuple[str, DType], str]:
    """The operators of C for these types, none of them narrower than `int`, except bool.

    Float division is among them: drop ``("div", t)`` where the target does not round it correctly.
    """
    return {(op, t): template for t in types for op, template in _OPERATORS[t.kind].items()}


def c_casts(types: dict[DType, str]) -> dict[tuple[DType, DType], str]:
    """``((type)value)`` between all pairs of different types."""
    return {(a, b): f"(({name}){{0}})" for a in types for b, name in types.items() if a is not b}


C_ELEMENTARY = """
    exp exp2 exp10 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh rsqrt cbrt
""".split()
"""Elementary functions that C-like targets have of their own under the names of the dialect. Those of two operands are
missing: their arguments are too many to try all."""
