"""What every backend has to refuse with a typed error before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from vyre_conform.address import address
from vyre_conform.case import Expected, Launch, Refusal, Spec, fixed
from vyre_foundation.build import program
from vyre_foundation.dtype import u32
from vyre_foundation.ir.expr import literal
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import Break, Store

ENTRIES = ("borrowed", "timed", "into", "asynchronous", "awaited", "compiled", "batched", "threads")
"""Ways in that have to refuse what a plain dispatch refuses."""


def specs() -> Iterator[Spec]:
    for name, (build, *args) in CASES.items():
        yield fixed(address("refusals", name), build, *args)
        for entry in ENTRIES:
            yield fixed(address("refusals", name, entry=entry), _through, entry, build, *args)


def _through(entry: str, build: Callable[..., tuple[Launch, Expected]], *args: object) -> tuple[Launch, Expected]:
    launch, expected = build(*args)
    return replace(launch, entry=entry), expected


def _copier(count: int | None) -> Program:
    with program("copier", 4) as p:
        x = p.read("x", u32, count)
        out = p.write("out", u32, 4)
        out[p.global_id(0)] = x[p.global_id(0)]
    return p.build()


def _copy(count: int | None, size: int) -> tuple[Launch, Expected]:
    return Launch(program=_copier(count), inputs={"x": bytes(size)}), Refusal("InvalidInput")


def _unlike() -> tuple[Launch, Expected]:
    with program("unlike", 4) as p:
        x = p.read("x", u32)
        y = p.read("y", u32, like=x)
        out = p.write("out", u32, like=x)
        out[p.global_id(0)] = x[p.global_id(0)] + y[p.global_id(0)]
    return Launch(program=p.build(), inputs={"x": bytes(16), "y": bytes(20)}), Refusal("InvalidInput")


def _invalid() -> tuple[Launch, Expected]:
    """A break outside of any loop."""
    built = _copier(None)
    return Launch(program=replace(built, body=(Break(),)), inputs={"x": bytes(16)}), Refusal("InvalidProgram")


def _store_to_an_input() -> tuple[Launch, Expected]:
    built = _copier(None)
    store = Store(built.buffer("x"), literal(u32, 0), literal(u32, 1))
    broken = replace(built, body=(*built.body, store))
    return Launch(program=broken, inputs={"x": bytes(16)}), Refusal("InvalidProgram")


def _splits_a_subgroup() -> tuple[Launch, Expected]:
    with program("splits", 16, subgroup_size=8) as p:
        out = p.write("out", u32, 16)
        out[p.global_id(0)] = p.subgroup("reduce_add", p.global_id(0))
    return Launch(program=p.build(), inputs={}, workgroup=(12, 1, 1)), Refusal("InvalidProgram")


CASES: dict[str, tuple[Callable[..., tuple[Launch, Expected]], *tuple[object, ...]]] = {
    "fixed_length": (_copy, 4, 12),
    "too_long": (_copy, 4, 20),
    "half_an_element": (_copy, None, 14),
    "unlike": (_unlike,),
    "invalid_program": (_invalid,),
    "store_to_an_input": (_store_to_an_input,),
    "override_that_splits_a_subgroup": (_splits_a_subgroup,),
}
