"""Which subgroup sizes a device honours in the order of the linear local ids, and which collectives are right."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from vyre_driver_opencl.compiler import BuildFailed
from vyre_driver_opencl.proof.bench import AS_WORD, ProbeDevice, Words
from vyre_driver_opencl.spelling import REQUIRED_SUBGROUP_SIZE, TYPES
from vyre_foundation.dtype import DType, bool_
from vyre_foundation.ir.stmt import SubgroupOp
from vyre_foundation.ops.scalar import to_bits

Collectives = Mapping[tuple[SubgroupOp, DType], str]
GROUPS = 2
"""Subgroups in the workgroup of a proof."""


def prove_sizes(bench: ProbeDevice, sizes: Iterable[int]) -> frozenset[int]:
    """The sizes with which subgroups are consecutive runs of the linear local ids, and exchanges count lanes so.

    A workgroup of one dimension is meant: in others, a subgroup does not go on in the next row.
    """
    probes = ("get_sub_group_size()", "get_sub_group_id()", "get_sub_group_local_id()", "sub_group_shuffle(i, 1u)")
    return frozenset(size for size in sizes if _is_in_order(size, _run(bench, size, probes)))


def prove_collectives(bench: ProbeDevice, size: int, spelled: Collectives) -> Collectives:
    """The spellings that are right in subgroups of `size`; where not all compile together, each type is tried alone."""
    got = _run(bench, size, [_value(size, op, t, template) for (op, t), template in spelled.items()])
    types = {t for _, t in spelled}
    if got is None and len(types) > 1:
        alone = [{key: text for key, text in spelled.items() if key[1] is t} for t in types]
        return {key: text for part in alone for key, text in prove_collectives(bench, size, part).items()}
    results: list[Any] = got.tolist() if got is not None else [None] * len(spelled)
    return {
        (op, t): template
        for ((op, t), template), result in zip(spelled.items(), results, strict=True)
        if result == _expected(op, t, size)
    }


def _is_in_order(size: int, got: Words | None) -> bool:
    lanes = np.arange(GROUPS * size)
    expected = [lanes * 0 + size, lanes // size, lanes % size, lanes // size * size + 1]
    return got is not None and bool((got == expected).all())


def _run(bench: ProbeDevice, size: int, values: Sequence[str]) -> Words | None:
    """What each lane `i` of the workgroup gets for each expression, or None if the device does not compile them."""
    volume = GROUPS * size
    head = REQUIRED_SUBGROUP_SIZE.format(size=size) + f"__attribute__((reqd_work_group_size({volume}, 1, 1)))"
    lines = [f"out[{number} * {volume} + i] = {value};" for number, value in enumerate(values)]
    text = [f"__kernel {head} void prove(__global ulong *out) {{ uint i = get_local_id(0);", *lines, "}\n"]
    result = np.zeros((len(lines), volume), np.uint64)
    try:
        bench.run(bench.prelude + "\n".join(text), (result,), lanes=volume)
    except BuildFailed:
        return None
    return result


def _value(size: int, op: SubgroupOp, t: DType, template: str) -> str:
    value = "(bool)(i % 3 == 0)" if t is bool_ else f"(({TYPES[t]})(i * 5u + 1u))"
    lane = f"((i + 1u) % {size}u)" if op is SubgroupOp.SHUFFLE else "2u"
    as_word = AS_WORD.get(op.result_type(t), "(ulong)")
    return f"{as_word}({template.format(value, lane)})"


def _expected(op: SubgroupOp, t: DType, size: int) -> list[int]:
    """What every lane gets, by the definitions of the language."""
    return [_lane(op, t, i // size * size, i % size, size) for i in range(GROUPS * size)]


def _lane(op: SubgroupOp, t: DType, first: int, lane: int, size: int) -> int:
    votes = [i % 3 == 0 for i in range(first, first + size)]
    match op:
        case SubgroupOp.BALLOT:
            return sum(vote << i for i, vote in enumerate(votes))
        case SubgroupOp.ANY:
            return int(any(votes))
        case SubgroupOp.ALL:
            return int(all(votes))
        case SubgroupOp.SHUFFLE:
            return _bits(t, first + (lane + 1) % size)
        case SubgroupOp.SHUFFLE_XOR:
            return _bits(t, first + (lane ^ 2))
        case _:
            return _bits(t, first + 2)


def _bits(t: DType, lane: int) -> int:
    return to_bits(t, float(lane * 5 + 1) if t.is_float else lane * 5 + 1)
