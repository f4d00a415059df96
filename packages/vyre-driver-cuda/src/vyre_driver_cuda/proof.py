"""Whether a device computes as its table says: every spelled op, the atomics and the collectives, on boundary values.

The table of an architecture is exact by its definition, so nothing is chosen here. A device that shows one wrong bit is
refused, with the rows that it has wrong: a wrong flag, a broken driver or a broken GPU. The programs are written in the
language and go through the emitter and the compiler like all others; the expected bits are the op table's own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from vyre_driver import engine
from vyre_driver.engine.port import DevicePort
from vyre_driver.tune import patterns as boundaries
from vyre_driver.tune.patterns import CASES
from vyre_foundation.build import Array, ProgramBuilder, Value, apply, program
from vyre_foundation.dtype import DType, bool_, i32, i64, u32, u64
from vyre_foundation.ir.program import Program
from vyre_foundation.ir.stmt import AtomicOp, SubgroupOp
from vyre_foundation.ops import OPS
from vyre_foundation.ops.definition import Op, Tier
from vyre_foundation.ops.scalar import Scalar, from_bits, round_float, to_bits
from vyre_foundation.validate.facts import Feature

GRID_BARRIER = "grid barrier"
"""The row of the proof for launches whose workgroups wait for each other."""


LANES = 32
REPEATS = 8

Words = npt.NDArray[Any]
AnyPort = DevicePort[Any, Any, Any]


def faults(port: AnyPort) -> tuple[str, ...]:
    """The rows that the device has wrong, as in ``add f32``: none of a sound one."""
    found = [row for t in sorted(port.target().arithmetic, key=lambda t: t.tag) for row in wrong_ops(port, t)]
    return (*found, *wrong_atomics(port), *wrong_collectives(port), *wrong_grid_barriers(port))


# ── ops ──


def wrong_ops(port: AnyPort, t: DType) -> Iterator[str]:
    """All ops of a type in one program, each over shifted copies of the same values."""
    ops = [op for op in OPS.values() if op.tier is not Tier.RAW and port.target().spells(op.id, t)]
    if not ops:
        return
    results = sorted({*(op.results[t] for op in ops), *((t,) if t.is_float else ())}, key=lambda r: r.tag)
    values = [from_bits(t, bits) for bits in patterns(t)]
    with program(f"prove_{t}", workgroup_size=CASES) as p:
        operands = p.read("operands", t, CASES)
        outputs = {r: p.write(f"as_{r}", r, CASES * (len(ops) + 1)) for r in results}
        i = p.local_id(0)
        given = [p.let(operands[(i * (2 * n + 1) + n) % CASES]) for n in range(3)]
        for number, op in enumerate(ops):
            outputs[op.results[t]][number * CASES + i] = apply(op, *given[: op.arity])
        if t.is_float:
            outputs[t][len(ops) * CASES + i] = given[0] * given[1] + given[2]
    got = dict(zip(outputs, run(port, p.build(), [_words(t, patterns(t))]), strict=True))
    for number, op in enumerate(ops):
        if not _agree(op.results[t], got[op.results[t]], number, [_expected(op, t, values, i) for i in range(CASES)]):
            yield f"{op.id} {t}"
    if t.is_float:
        sums = [_product_and_sum(t, *(float(x) for x in _operands(values, i, 3))) for i in range(CASES)]
        if not _agree(t, got[t], len(ops), sums):
            yield f"two roundings of a product and a sum, {t}"


def _operands(values: Sequence[Scalar], i: int, arity: int) -> list[Scalar]:
    return [values[(i * (2 * n + 1) + n) % CASES] for n in range(arity)]


def _expected(op: Op, t: DType, values: Sequence[Scalar], i: int) -> Scalar:
    return op.evaluate(t, *_operands(values, i, op.arity))


def _product_and_sum(t: DType, x: float, y: float, z: float) -> float:
    with np.errstate(all="ignore"):
        return round_float(t, round_float(t, float(np.float64(x) * y)) + z)


def _agree(t: DType, got: Words, number: int, expected: Sequence[Scalar]) -> bool:
    bits: list[int] = got[number * CASES : (number + 1) * CASES].tolist()
    return bits == [to_bits(t, value) for value in expected]


# ── atomics ──


def wrong_atomics(port: AnyPort) -> Iterator[str]:
    """Each op on a cell of its own for every lane, and sums, least and greatest of all lanes in one."""
    for t in (u32, i32, u64, i64):
        ops = [op for op in AtomicOp if (op, t) in port.target().atomics]
        with program(f"prove_atomics_{t}", workgroup_size=LANES) as p:
            cells, olds = p.read_write("cells", t, CASES * len(ops)), p.write("olds", t, CASES * len(ops))
            shared, counter = p.read_write("shared", t, 3), p.workgroup("room", t, 1)
            i = p.global_id(0)
            for number, op in enumerate(ops):
                at = number * CASES + i
                olds[at] = _atomic(cells, op, at, i.cast(t), p)
            shared.atomic_add(0, 1)
            shared.atomic_min(1, i.cast(t))
            shared.atomic_max(2, i.cast(t))
            counter.atomic_add(0, 1)
            p.barrier()
            with p.if_(p.local_id(0) == 0):
                shared.atomic_add(0, counter[0])
        start = [bits for _ in ops for bits in patterns(t)]
        cell_bits, old_bits, all_bits = run(port, p.build(), [_words(t, start), _words(t, [0, CASES, 0])])
        for number, op in enumerate(ops):
            part = slice(number * CASES, (number + 1) * CASES)
            after = [_updated(op, t, bits, i) for i, bits in enumerate(patterns(t))]
            if old_bits[part].tolist() != list(patterns(t)) or cell_bits[part].tolist() != after:
                yield f"atomic {op.value} {t}"
        if all_bits.tolist() != [2 * CASES, 0, CASES - 1]:
            yield f"atomics of many lanes {t}"


def _atomic(cells: Array, op: AtomicOp, at: Value, value: Value, p: ProgramBuilder) -> Value:
    if op is AtomicOp.COMPARE_EXCHANGE:
        return cells.atomic_compare_exchange(at, value, value + 1)
    method = getattr(cells, f"atomic_{op.value}")
    found: Value = method(at, value)
    return found


def _updated(op: AtomicOp, t: DType, bits: int, lane: int) -> int:
    match op:
        case AtomicOp.EXCHANGE:
            return lane
        case AtomicOp.COMPARE_EXCHANGE:
            return lane + 1 if bits == lane else bits
        case _:
            return to_bits(t, OPS[op.value].evaluate(t, from_bits(t, bits), lane))


# ── collectives ──


def wrong_collectives(port: AnyPort) -> Iterator[str]:
    """Exchanges and votes of each size, over four warps of numbers without a pattern."""
    given = [(i * 2654435761 + 12345) % 2**32 for i in range(CASES)]
    for size in sorted(port.target().subgroup_sizes):
        with program(f"prove_subgroups_{size}", workgroup_size=CASES, subgroup_size=size) as p:
            x, out, votes = p.read("x", u32, CASES), p.write("out", u32, 4 * CASES), p.write("votes", u64, CASES)
            i = p.local_id(0)
            value = p.let(x[i])
            found = [p.subgroup("shuffle", value, i * 7 + 3), p.subgroup("shuffle_xor", value, size - 1)]
            found += [p.subgroup("broadcast", value, size // 2), p.subgroup(SubgroupOp.REDUCE_ADD, value)]
            for number, result in enumerate(found):
                out[number * CASES + i] = result
            votes[i] = p.subgroup("ballot", value % 3 == 0)
        got, got_votes = run(port, p.build(), [_words(u32, given)])
        expected = [_collected(given, i, size) for i in range(CASES)]
        names = ("shuffle", "shuffle_xor", "broadcast", "reduce_add")
        for number, name in enumerate(names):
            if got[number * CASES : (number + 1) * CASES].tolist() != [row[number] for row in expected]:
                yield f"{name} of {size} lanes"
        if got_votes.tolist() != [row[4] for row in expected]:
            yield f"ballot of {size} lanes"


def _collected(given: Sequence[int], i: int, size: int) -> tuple[int, ...]:
    start = i // size * size
    lanes = given[start : start + size]
    votes = sum((value % 3 == 0) << lane for lane, value in enumerate(lanes))
    return lanes[(i * 7 + 3) % size], lanes[(i % size) ^ (size - 1)], lanes[size // 2], sum(lanes) % 2**32, votes


# ── barriers of the grid ──


def wrong_grid_barriers(port: AnyPort) -> Iterator[str]:
    """Test barriers with as many workgroups as run side by side.

    In each iteration every workgroup checks that all have arrived, and what another one has written.
    """
    if not port.target().grid_barrier:
        return
    with program("prove_grid_barrier", workgroup_size=LANES) as p:
        came, cells, wrong = p.scratch("came", u32, REPEATS), p.scratch("cells", u32, CASES), p.write("wrong", u32, 1)
        group, groups = p.workgroup_id(0), p.num_workgroups(0)
        writers = p.let(apply("min", groups, CASES))
        with p.range(0, REPEATS) as n:
            with p.if_(p.local_id(0) == 0):
                came.atomic_add(n, 1)
                with p.if_(group < writers):
                    cells[group] = n * CASES + group
            p.grid_barrier()
            other = p.let((group + n + 1) % writers)
            with p.if_((came[n] != groups) | (cells[other] != n * CASES + other)):
                wrong.atomic_add(0, 1)
            p.grid_barrier()
    (count,) = run(port, p.build(), [])
    if count[0]:
        yield GRID_BARRIER


# ── running ──


def run(port: AnyPort, source: Program, inputs: Sequence[Words]) -> list[Words]:
    """The outputs of a program whose buffers have fixed lengths, as words of their bits, by the port's primitives."""
    lowered = engine.lowering.lowered_for(port.target(), source.validate())
    unit = port.emit(lowered)
    (kernel,), module = lowered.kernels, port.compile(unit)
    given = dict(zip((buffer.name for buffer in source.inputs), inputs, strict=True))
    memories = {}
    for buffer in kernel.program.buffers:
        if buffer.memory.is_bound:
            assert isinstance(buffer.count, int)
            memory = memories[buffer.name] = port.allocate(buffer.count * buffer.dtype.size)
            if buffer.name in given:
                port.copy_in(memory, given[buffer.name].view(np.uint8).data)
            else:
                port.fill(memory, 0, buffer.count * buffer.dtype.size)
    name, size = unit.kernels[0], source.workgroup_size
    meets = Feature.GRID_BARRIER in source.validate().features
    groups = port.side_by_side(module, name, size) if meets else CASES // size[0]
    port.wait(port.launch(module, name, (groups, 1, 1), size, tuple(memories.values())))
    outputs = []
    for buffer in source.outputs:
        assert isinstance(buffer.count, int)
        words = np.zeros(buffer.count, f"u{buffer.dtype.size}")
        port.copy_out(memories[buffer.name], words.view(np.uint8).data)
        outputs.append(words)
    for memory in memories.values():
        port.free(memory)
    return outputs


def _words(t: DType, bits: Sequence[int]) -> Words:
    return np.array(bits, np.uint64).astype(f"u{t.size}")


def patterns(t: DType) -> tuple[int, ...]:
    """`CASES` bit patterns of a type, with the one NaN that the language knows."""
    if t is bool_:
        return (0, 1) * (CASES // 2)
    return tuple(to_bits(t, from_bits(t, bits)) for bits in boundaries.patterns(t))
