"""Butterflies: the transforms of a few numbers, which the passes over a long row are made of.

A pass of radix r over a row of N numbers has N / r butterflies. Numbers are pairs of parts: values of a program, or
NumPy arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Protocol, TypeAlias

Number: TypeAlias = tuple[Any, Any]
"""The real and the imaginary part."""
Lookup: TypeAlias = Callable[[Any], Number]
Numbered: TypeAlias = list[tuple[int, Number]]
"""Results of a butterfly, each with its place among neighbours that are a stride apart."""
Passes: TypeAlias = tuple[tuple[int, ...], ...]

RADICES = (4, 2, 3, 5, 7, 11, 13)
"""In the order of the passes."""
MOST_IN_REGISTERS = 26
"""Numbers between two passes that are one launch. A pass of radix 2 joins each that may follow it: alone it is last."""


class Namer(Protocol):
    """What gives a value a name, so that it is computed once: the builder of a program."""

    def let(self, value: Any, /) -> Any:
        """The value."""


@lru_cache(maxsize=1024)
def passes_of(length: int) -> Passes | None:
    """The radices of the passes over a row, or None if a prime factor of its length is none of them.

    Two passes that follow each other are one launch, with the numbers between them in registers, if there are few. A
    pass of radix 2 joins none before it.
    """
    radices = []
    for radix in RADICES:
        while length % radix == 0:
            radices.append(radix)
            length //= radix
    if length > 1:
        return None
    passes = []
    while radices:
        number = 2 if math.prod(radices[:2]) <= MOST_IN_REGISTERS and radices[1:2] != [2] else 1
        passes.append(tuple(radices[:number]))
        radices = radices[number:]
    return tuple(passes)


def butterflies(
    p: Namer, load: Lookup, root: Lookup, n: Any, step: Any, radices: Sequence[int], *, is_inverse: bool
) -> Numbered:
    """The results of passes over numbers that are `step` apart, of which `load` gives each by its place.

    Args:
        p: What names values.
        load: The numbers.
        root: The roots of unity of the row by their exponents, conjugate for the inverse.
        n: The exponent of the root that the second result is multiplied by, the third with its square, and so on.
        step: The length of the row divided by the product of the radices.
        radices: Of the passes.
        is_inverse: Whether roots are conjugate.
    """
    first, second = radices if len(radices) == 2 else (*radices, 1)
    units = _units(root, second * step, first)
    columns = []
    for k in range(second):
        given = [load(k + second * m) for m in range(first)]
        powers = [] if radices == (2,) else _powers(root, n + k * step, first)
        columns.append(_butterfly(p, given, units, powers, is_inverse=is_inverse))
    if second == 1:
        return list(enumerate(columns[0]))
    units, powers = _units(root, first * step, second), _powers(root, first * n, second)
    return [
        (m + first * k, number)
        for m, column in enumerate(zip(*columns, strict=True))
        for k, number in enumerate(_butterfly(p, column, units, powers, is_inverse=is_inverse))
    ]


def _units(root: Lookup, exponent: Any, radix: int) -> list[Number]:
    """The roots of an odd order but 1, of which the first has an exponent."""
    return _powers(root, exponent, radix) if radix % 2 else []


def _powers(root: Lookup, exponent: Any, radix: int) -> list[Number]:
    return [root(exponent * m) for m in range(1, radix)]


def _butterfly(
    p: Namer, given: Sequence[Number], units: Sequence[Number], powers: Sequence[Number], *, is_inverse: bool
) -> list[Number]:
    """The transform of a few numbers, of which all but the first are multiplied by `powers`, if there are any."""
    found = _transform(p, given, units, is_inverse=is_inverse)
    return [found[0], *(product(p, *pair) for pair in zip(found[1:], powers, strict=True))] if powers else found


def _transform(p: Namer, given: Sequence[Number], units: Sequence[Number], *, is_inverse: bool) -> list[Number]:
    match given:
        case a, b:
            return [_sum(p, a, b), _difference(p, a, b)]
        case a, b, c, d:
            first, second = _sum(p, a, c), _difference(p, a, c)
            third, fourth = _sum(p, b, d), _difference(p, b, d)
            turned = (-fourth[1], fourth[0])  # j(b − d)
            lower, upper = _difference(p, second, turned), _sum(p, second, turned)
            if is_inverse:
                lower, upper = upper, lower
            return [_sum(p, first, third), lower, _difference(p, first, third), upper]
        case _:
            return _odd(p, given, units)


def _odd(p: Namer, given: Sequence[Number], units: Sequence[Number]) -> list[Number]:
    """The transform of an odd number of numbers, which are added and subtracted from both ends first."""
    first, radix, half = given[0], len(given), len(given) // 2
    sums = [_sum(p, given[k], given[-k]) for k in range(1, half + 1)]
    differences = [_difference(p, given[k], given[-k]) for k in range(1, half + 1)]
    found = [first] * radix
    for value in sums:
        found[0] = _sum(p, found[0], value)
    for m in range(1, half + 1):
        even, odd = first, None
        for k in range(1, half + 1):
            cosine, sine = units[m * k % radix - 1]
            even = _sum(p, even, _times(sums[k - 1], cosine))
            term = _times(differences[k - 1], sine)
            odd = _sum(p, odd, term) if odd else term
        assert odd is not None
        turned = (-odd[1], odd[0])
        found[m], found[radix - m] = _sum(p, even, turned), _difference(p, even, turned)
    return found


def product(p: Namer, a: Number, b: Number) -> Number:
    """The product of two numbers: each of four products, and each of two sums of them, is rounded."""
    return p.let(a[0] * b[0] - a[1] * b[1]), p.let(a[0] * b[1] + a[1] * b[0])


def _sum(p: Namer, a: Number, b: Number) -> Number:
    return p.let(a[0] + b[0]), p.let(a[1] + b[1])


def _difference(p: Namer, a: Number, b: Number) -> Number:
    return p.let(a[0] - b[0]), p.let(a[1] - b[1])


def _times(a: Number, factor: Any) -> Number:
    return a[0] * factor, a[1] * factor
