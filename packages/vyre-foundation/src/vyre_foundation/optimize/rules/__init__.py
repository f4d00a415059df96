"""The rules of the optimizer: equations, one file for each domain.

Rules about rules
    A rule is an equation between two terms. It holds bit for bit, for every value of every variable, in every type that
    it names: NaN, both zeros, subnormal numbers, zero divisors, the least value, counts beyond the width. There is no
    rule that is nearly true, and no switch that would allow one.

    What the op table says need not be said again. The laws of its rows give rules by themselves (`laws`).

    A rule may ask for more than types: for a property of a literal, or for a comparison or a sum over *unbounded*
    integers, of which a rewrite is sure where ranges prove it. A wider range never proves more than a narrower one.

    The right side has no variable that the left side has not. So it is at least as uniform, it reads no other memory,
    and it is defined where the left side is.

    The right side is lighter. One op less is lighter; an op for one that costs more is; a literal moved to the right of
    a commutative op is; a smaller literal is. So there is an end, in whatever order rules are tried.

    A rule never looks for speed on one target. Compilers below know theirs: they find shifts for products, and high
    products for quotients. Rules find what only this level knows: ranges, lengths, what a launch can be.

    What proofs of bounds read stays readable for them: sums and products of ids, comparisons as they were written.

How they are proven
    `vyre_foundation.testing.rule_proof` evaluates both sides by the meanings in the op table. Rules about integers are
    tried with all values of 4 bits in all variables, all values of 8 bits in one or two, and the ends of wider types;
    rules about floats with all values of 16 bits in one variable, and with zeros, units, subnormal numbers, ends,
    infinities and NaN in all. A condition counts as met wherever it holds for the values themselves.

    `vyre_foundation.testing.rule_weight` shows for every rule that the right side is lighter.

    A new rule needs no test of its own: it is proven because it is in the table.
"""

from __future__ import annotations

from vyre_foundation.optimize.rules import (
    bits,
    casts,
    compares,
    extremes,
    floats,
    integers,
    laws,
    select,
    shifts,
    strength,
)
from vyre_foundation.optimize.rules.rule import RewriteRule

DOMAINS: dict[str, tuple[RewriteRule, ...]] = {
    "laws": laws.RULES,
    "integers": integers.RULES,
    "strength": strength.RULES,
    "bits": bits.RULES,
    "shifts": shifts.RULES,
    "compares": compares.RULES,
    "extremes": extremes.RULES,
    "select": select.RULES,
    "casts": casts.RULES,
    "floats": floats.RULES,
}
"""In the order in which rules are tried."""

RULES: tuple[RewriteRule, ...] = tuple(rule for rules in DOMAINS.values() for rule in rules)
