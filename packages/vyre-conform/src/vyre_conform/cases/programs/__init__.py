"""Whole programs with answers from elsewhere: published test vectors, the standard library, sorted lists."""

from __future__ import annotations

from collections.abc import Iterator

from vyre_conform.case import Spec
from vyre_conform.cases.programs import (
    automata,
    ciphers,
    graphs,
    hashes,
    linear_algebra,
    numeric,
    parallel,
    sorting,
    texts,
)


def specs() -> Iterator[Spec]:
    yield from parallel.specs()
    yield from sorting.specs()
    yield from linear_algebra.specs()
    yield from hashes.specs()
    yield from ciphers.specs()
    yield from texts.specs()
    yield from graphs.specs()
    yield from numeric.specs()
    yield from automata.specs()
