"""Which atomics a device executes: old and new values in both memories, and one counter that all lanes raise."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from vyre_driver.tune.patterns import CASES, patterns
from vyre_driver_opencl.compiler import BuildFailed
from vyre_driver_opencl.proof.bench import ProbeDevice, words
from vyre_driver_opencl.spelling import TYPES
from vyre_foundation.dtype import DType
from vyre_foundation.ir.stmt import AtomicOp
from vyre_foundation.ops import OPS
from vyre_foundation.ops.scalar import from_bits, to_bits

Atomics = Mapping[tuple[AtomicOp, DType], str]
Stores = Mapping[DType, str]


def prove_atomics(bench: ProbeDevice, spelled: Atomics) -> Atomics:
    """The spellings that are right; where not all compile together, each type is tried alone."""
    types = sorted({t for _, t in spelled}, key=lambda t: t.tag)
    try:
        return _right(bench, types, spelled)
    except BuildFailed:
        if len(types) < 2:
            return {}
    alone = [{key: text for key, text in spelled.items() if key[1] is t} for t in types]
    return {key: text for part in alone for key, text in prove_atomics(bench, part).items()}


def prove_stores(bench: ProbeDevice, spelled: Stores) -> Stores:
    """Give the spellings that replace an element in both memories, and leave one whole where all lanes write it.

    Where not all compile in one program, each type is tried alone.
    """
    try:
        return _right_stores(bench, spelled)
    except BuildFailed:
        if len(spelled) < 2:
            return {}
    return {t: text for one in spelled.items() for t, text in prove_stores(bench, dict([one])).items()}


def _right_stores(bench: ProbeDevice, spelled: Stores) -> Stores:
    out = np.zeros((4 * len(spelled), CASES), np.uint64)
    values = [words(t, patterns(t)) for t in spelled]
    bench.run(_store_text(bench.prelude, spelled), (out,), values, lanes=CASES)
    rows = out.reshape(-1, 4, CASES).tolist()
    return {t: text for (t, text), got in zip(spelled.items(), rows, strict=True) if _is_stored(t, got)}


def _store_text(prelude: str, spelled: Stores) -> str:
    """Each lane replaces an element of its own, which held the complement, and all of them replace the first one."""
    parameters = "".join(f", __global {TYPES[t]} *cells_{t}" for t in spelled)
    lines = [f"__kernel void prove(__global ulong *out{parameters}) {{ uint i = get_local_id(0);"]
    for number, (t, template) in enumerate(spelled.items()):
        lines.append(f"__local {TYPES[t]} local_{t}[{CASES}]; {TYPES[t]} value_{t} = cells_{t}[i];")
        for row, (array, place) in enumerate((a, p) for a in ("cells", "local") for p in ("i", "0")):
            cell = f"{array}_{t}[{place}]"
            lines.append(f"{array}_{t}[i] = ~value_{t}; {_BARRIER} {template.format(cell, f'value_{t}')}; {_BARRIER}")
            lines.append(f"out[{4 * number + row} * {CASES} + i] = (ulong)({cell}); {_BARRIER}")
    return prelude + "\n".join([*lines, "}\n"])


def _is_stored(t: DType, got: list[list[int]]) -> bool:
    """Of own elements every lane finds its value, of the common one all find the same, which is one of the values."""
    values, mask = [*patterns(t)], (1 << t.bits) - 1
    own = all([bits & mask for bits in row] == values for row in got[::2])
    return own and all(len(set(row)) == 1 and row[0] & mask in values for row in got[1::2])


def _right(bench: ProbeDevice, types: list[DType], spelled: Atomics) -> Atomics:
    """Run every spelling in global and in local memory, each lane in a cell of its own, then all lanes in one."""
    out = np.zeros((2 * len(spelled), 2, CASES), np.uint64)
    cells = [words(t, patterns(t)) for t in types]
    bench.run(_text(bench.prelude, types, spelled), (out,), cells, lanes=CASES)
    return {
        (op, t): template
        for number, ((op, t), template) in enumerate(spelled.items())
        if all(_is_right(op, t, *out[2 * number + memory].tolist()) for memory in (0, 1))
    }


def _text(prelude: str, types: list[DType], spelled: Atomics) -> str:
    parameters = "".join(f", __global {TYPES[t]} *cells_{t}" for t in types)
    lines = [f"__kernel void prove(__global ulong *out{parameters}) {{ uint i = get_local_id(0);"]
    for t in types:
        name, add = TYPES[t], spelled.get((AtomicOp.ADD, t))
        lines += [
            f"__local {name} local_{t}[{CASES}]; __local {name} counter_{t};",
            f"{name} old_{t} = cells_{t}[i], value_{t} = cells_{t}[(i * 7 + 3) % {CASES}];",
            f"{name} expected_{t} = i % 2 ? old_{t} : value_{t}; if (i == 0) counter_{t} = 0; {_BARRIER}",
        ]
        if add:  # an update that is lost leaves the counter too low, and then nothing is shown
            lines += [f"{add.format(f'counter_{t}', '1')}; {_BARRIER} if (counter_{t} != {CASES}) return;"]
    for number, ((_, t), template) in enumerate(spelled.items()):
        for memory, cell in enumerate((f"cells_{t}[i]", f"local_{t}[i]")):
            row = f"out[{4 * number + 2 * memory} * {CASES} + i]", f"out[{4 * number + 2 * memory + 1} * {CASES} + i]"
            result = template.format(cell, f"value_{t}", f"expected_{t}")
            lines.append(f"{cell} = old_{t}; {row[0]} = (ulong)({result}); {row[1]} = (ulong)({cell});")
    return prelude + "\n".join([*lines, "}\n"])


_BARRIER = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"


def _is_right(op: AtomicOp, t: DType, got_olds: list[int], got_news: list[int]) -> bool:
    olds, mask = patterns(t), (1 << t.bits) - 1
    for i, old in enumerate(olds):
        value = olds[(i * 7 + 3) % CASES]
        expected = old if i % 2 else value
        if got_olds[i] & mask != old or got_news[i] & mask != _updated(op, t, old, value, expected):
            return False
    return True


def _updated(op: AtomicOp, t: DType, old: int, value: int, expected: int) -> int:
    """The bits that the cell holds afterwards."""
    match op:
        case AtomicOp.EXCHANGE:
            return value
        case AtomicOp.COMPARE_EXCHANGE:
            return value if old == expected else old
        case _:
            return to_bits(t, OPS[op.value].evaluate(t, from_bits(t, old), from_bits(t, value)))
