"""Whether an index tells which invocation made it: then no two invocations touch the same element.

Take two accesses to one element, so with equal indices, and subtract one index from the other. What is left are
differences: of digits, each times its stride, and of the rests. Order them by stride. If everything below a stride
comes to less than the stride, then the highest difference that is not zero cannot be made up for by those below; so
all are zero, the digits are equal, and it was one invocation. Rests may lie between digits too, where a number that
divides all of their strides is greater than everything below. Indices are known modulo a power of two; that is as good
as exact where no two of them differ by as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import TypeAlias

from vyre_foundation.validate.determinism.identity import Digit, Identity
from vyre_foundation.validate.determinism.views import View

Bounds: TypeAlias = Sequence[tuple[Digit, int]]
"""Digits, each with a number that it must be below."""


def are_owned(views: Sequence[View], needed: frozenset[Digit], identity: Identity) -> bool:
    """Whether accesses to one element, by any of `views`, come from invocations that agree in the `needed` digits."""
    return missing_bounds(views, needed, identity) == []


def missing_bounds(views: Sequence[View], needed: frozenset[Digit], identity: Identity) -> Bounds | None:
    """The bounds with which `are_owned` would hold: none where it holds; None where no bounds are enough."""
    agreed = _agreed(views, needed, identity)
    if needed <= identity.known(agreed):
        return []
    if any(view.fixed != views[0].fixed for view in views):
        return None
    strides = _common_strides(views, identity)
    if strides is None or not needed <= identity.known({*strides, *agreed}):
        return None
    return _missing_bounds(views, strides, identity)


def _agreed(views: Sequence[View], needed: frozenset[Digit], identity: Identity) -> set[Digit]:
    """The digits of which it is known, without looking at the indices, that they are the same in all accesses."""
    known = views[0].pins
    return {
        digit
        for digit in (*needed, *known)
        if (value := identity.value(digit, known)) is not None
        and all(identity.value(digit, view.pins) == value for view in views)
    }


def _common_strides(views: Sequence[View], identity: Identity) -> dict[Digit, int] | None:
    """The digits that the indices show, with their strides; None if they do not all show them in one way.

    An index without a digit that has a known value shows it with any stride: times the stride, and taken off the rest.
    """
    strides: dict[Digit, int] = {}
    for view in views:
        for digit, stride in view.strides.items():
            if strides.setdefault(digit, stride) != stride:
                return None
    for view in views:
        for digit in strides:
            if digit not in view.strides and not isinstance(identity.value(digit, view.pins), int):
                return None
    return strides


def _missing_bounds(views: Sequence[View], strides: dict[Digit, int], identity: Identity) -> Bounds | None:
    """The bounds with which equal indices mean equal digits."""
    digits = sorted(strides, key=lambda digit: abs(strides[digit]))
    sizes = [abs(strides[digit]) for digit in digits]
    spans, offsets = _spans(views, strides, identity)
    rests = _Rests(sizes)
    least = min(offsets)
    for view, offset in zip(views, offsets, strict=True):
        rests.add(view, offset - least)
    below, modulus = rests.spans[0], 1 << min(view.bits for view in views)
    missing: list[tuple[Digit, int]] = []
    for level, (digit, size) in enumerate(zip(digits, sizes, strict=True), start=1):
        if below >= size:
            return None
        end = rests.divisors[level] or (*sizes, modulus)[level]
        span = spans[digit]
        if below + size * span >= end:
            span = (end - 1 - below) // size
            if span < 1 or strides[digit] < 0:
                return None
            missing.append((digit, min(view.bounds[digit].low for view in views if digit in view.bounds) + span + 1))
        below += size * span + rests.spans[level]
    return missing if below < modulus else None


def _spans(views: Sequence[View], strides: dict[Digit, int], identity: Identity) -> tuple[dict[Digit, int], list[int]]:
    """How far each digit goes, and the least value of each index without its digits, these counted so that they add."""
    offsets = [view.const + sum(min(t * low, t * high) for t, (low, high) in view.rests) for view in views]
    spans: dict[Digit, int] = {}
    for digit, stride in strides.items():
        ends: list[int] = []
        for n, view in enumerate(views):
            if digit in view.strides:
                ends += view.bounds[digit]
                continue
            value = identity.value(digit, view.pins)
            assert isinstance(value, int)
            offsets[n] -= stride * value
            ends.append(value)
        spans[digit] = max(ends) - min(ends)
        if stride < 0:  # count this digit down from its greatest value
            offsets = [offset + stride * max(ends) for offset in offsets]
    return spans, offsets


class _Rests:
    """What is in the indices beside the digits, level by level: level n has the strides between digits n and n + 1."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self._sizes = sizes
        self.spans = [0] * (len(sizes) + 1)
        self.divisors = [0] * (len(sizes) + 1)

    def add(self, view: View, offset: int) -> None:
        """Enter an index; `offset` is how much more it is than the least one."""
        spans = [0] * len(self.spans)
        below = offset % self._sizes[0]
        spans[0] = below
        parts = [(abs(t), high - low) for t, (low, high) in view.rests]
        for stride, times in (*parts, (offset - below, 1)):
            if stride and times:
                level = sum(size <= stride for size in self._sizes)
                spans[level] += stride * times
                self.divisors[level] = gcd(self.divisors[level], stride)
        self.spans = [max(a, b) for a, b in zip(self.spans, spans, strict=True)]
