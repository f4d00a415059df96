"""Every cast and every bitcast: a program or a few for each source type, one output for each target type.

Each pair of types has a cell for each bucket of values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import TypeAlias

from vyre_conform.address import Address, address
from vyre_conform.case import Exactly, Launch, OutputSlice, Size, Spec, Work, seeded
from vyre_conform.cases.buckets import buckets_of, rows_of
from vyre_conform.cases.values import by_needs, pack, pack_bits
from vyre_foundation.build import Value, program
from vyre_foundation.dtype import DTYPES, DType, bool_
from vyre_foundation.ir.expr import Bitcast, Cast
from vyre_foundation.ops.scalar import Scalar, bitcast, cast, from_bits

Make: TypeAlias = type[Cast] | type[Bitcast]
KINDS: dict[str, tuple[Make, Callable[[DType, DType, Scalar], Scalar]]] = {
    "cast": (Cast, cast),
    "bitcast": (Bitcast, bitcast),
}


def specs() -> Iterator[Spec]:
    for kind in KINDS:
        for source in DTYPES:
            every = _targets(kind, source)
            for at, targets in by_needs(address("casts", kind, source=source), every, [source]).items():
                parts = [_at(kind, source, t, bucket) for bucket in buckets_of(source, 1) for t in targets]
                yield replace(seeded(at, _buckets, kind, source, targets), parts=tuple(parts))
            if source.bits == 16:
                for at, targets in by_needs(address("casts", kind, source=source, all="rows"), every).items():
                    parts = [_at(kind, source, target, "all") for target in targets]
                    yield replace(seeded(at, _every, kind, source, targets, size=Size.FULL), parts=tuple(parts))


def _targets(kind: str, source: DType) -> list[DType]:
    if kind == "cast":
        return list(DTYPES)
    return [t for t in DTYPES if t.bits == source.bits and bool_ not in (t, source)]


def _at(kind: str, source: DType, target: DType, bucket: str) -> Address:
    return address("casts", kind, source=source, target=target, values=bucket)


def _buckets(kind: str, source: DType, targets: Sequence[DType], rng: Random) -> Work:
    patterns: list[int] = []
    parts = []
    for bucket in buckets_of(source, 1):
        start = len(patterns)
        patterns += [bits for (bits,) in rows_of(bucket, [source], rng)]
        rows = range(start, len(patterns))
        parts += [OutputSlice(_at(kind, source, t, bucket), rows, (f"to_{t}",)) for t in targets]
    launch, expected = _worked_out(kind, source, targets, patterns)
    return launch, expected, *tuple(parts)


def _every(kind: str, source: DType, targets: Sequence[DType], rng: Random) -> Work:
    """All patterns of a type."""
    rows = range(1 << source.bits)
    parts = [OutputSlice(_at(kind, source, t, "all"), rows, (f"to_{t}",)) for t in targets]
    launch, expected = _worked_out(kind, source, targets, rows)
    return launch, expected, *tuple(parts)


def _worked_out(kind: str, source: DType, targets: Sequence[DType], patterns: Sequence[int]) -> tuple[Launch, Exactly]:
    make, meaning = KINDS[kind]
    with program(f"{kind}_{source}", 64) as p:
        x = p.read("x", source)
        outs = [p.write(f"to_{target}", target, like=x) for target in targets]
        i = p.global_id(0)
        for out in outs:
            out[i] = Value(make(out.dtype, x[i].expr))
    values = [from_bits(source, bits) for bits in patterns]
    outputs = tuple(pack(target, [meaning(source, target, v) for v in values]) for target in targets)
    return Launch(program=p.build(), inputs={"x": pack_bits(source, patterns)}), Exactly(outputs, ("x",))
