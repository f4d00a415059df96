"""Every cast and every bitcast: one program per source type, one output per target type."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from vyre_conform.address import address
from vyre_conform.case import Exactly, Expected, Launch, Spec, seeded
from vyre_conform.cases.values import pack, pack_bits, unary_bits
from vyre_foundation.build import Value, program
from vyre_foundation.dtype import DTYPES, DType, bool_
from vyre_foundation.ir.expr import Bitcast, Cast
from vyre_foundation.ops.scalar import bitcast, cast, from_bits, round_float, to_bits


def specs() -> Iterator[Spec]:
    for source in DTYPES:
        yield seeded(address("casts", "cast", source=source), _casts, source)
    for source in DTYPES:
        if source is not bool_:
            yield seeded(address("casts", "bitcast", source=source), _bitcasts, source)


def _casts(source: DType, rng: Random) -> tuple[Launch, Expected]:
    with program(f"cast_{source}", 64) as p:
        x = p.read("x", source)
        outs = [p.write(f"to_{target}", target, like=x) for target in DTYPES]
        i = p.global_id(0)
        for out in outs:
            out[i] = Value(Cast(out.dtype, x[i].expr))
    patterns = unary_bits(source, rng) + _ties(source)
    values = [from_bits(source, bits) for bits in patterns]
    outputs = tuple(pack(target, [cast(source, target, v) for v in values]) for target in DTYPES)
    return Launch(program=p.build(), inputs={"x": pack_bits(source, patterns)}), Exactly(outputs, ("x",))


def _bitcasts(source: DType, rng: Random) -> tuple[Launch, Expected]:
    targets = [t for t in DTYPES if t.bits == source.bits]
    with program(f"bitcast_{source}", 64) as p:
        x = p.read("x", source)
        outs = [p.write(f"to_{target}", target, like=x) for target in targets]
        i = p.global_id(0)
        for out in outs:
            out[i] = Value(Bitcast(out.dtype, x[i].expr))
    patterns = unary_bits(source, rng, 500)
    values = [from_bits(source, bits) for bits in patterns]
    outputs = tuple(pack(target, [bitcast(source, target, v) for v in values]) for target in targets)
    return Launch(program=p.build(), inputs={"x": pack_bits(source, patterns)}), Exactly(outputs, ("x",))


def _ties(source: DType) -> list[int]:
    """Values half way between neighbours of a narrower float, and just beside."""
    if source.bits < 32:
        return []
    found = []
    for precision in (8, 11, 24, 53):
        for whole in (1 << precision, (1 << precision) + 1, (1 << precision) + 3, 3 << (precision - 1)):
            for value in (2 * whole - 1, 2 * whole + 1, 4 * whole + 1, 4 * whole + 3, 2 * whole):
                if source.is_float:
                    found.append(to_bits(source, round_float(source, float(value))))
                    found.append(to_bits(source, round_float(source, -value * 2.0**-40)))
                elif value <= source.highest:
                    found += [to_bits(source, value), to_bits(source, source.highest - value)]
    return found
