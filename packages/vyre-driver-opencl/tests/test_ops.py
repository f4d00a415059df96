"""Every op, cast and bitcast on every type, over boundaries and random values, against the op table, bit for bit.

One kernel holds all that takes operands of one type, because compiling costs more than running.
"""

from collections.abc import Iterator
from random import Random

import numpy as np
import pytest

from vyre_driver.backend.contract import VyreBackend
from vyre_foundation.build import Value, program
from vyre_foundation.dtype import DTYPES, DType, Kind, bool_, u32
from vyre_foundation.ir.expr import Apply, Bitcast, Cast, Select
from vyre_foundation.ops import OPS, Op, Tier
from vyre_foundation.ops.scalar import Scalar, bitcast, cast, from_bits, to_bits
from vyre_foundation.testing.values import random_bits, special_bits

CASES = 1024
Meaning = tuple[str, int, DType, object, object]


def rows(t: DType) -> Iterator[Meaning]:
    """Name, arity, result type, the expression over operands, and its exact meaning."""
    for op in OPS.values():
        if op.tier is Tier.LANGUAGE and t in op.accepts:
            yield op.id, op.arity, op.results[t], _apply(op), _evaluate(op, t)
    for target in DTYPES:
        yield f"cast to {target}", 1, target, _cast(target), lambda x, to=target: cast(t, to, x)
        if target.bits == t.bits and (target is bool_) == (t is bool_):
            yield f"bitcast to {target}", 1, target, _bitcast(target), lambda x, to=target: bitcast(t, to, x)
    yield "select", 3, t, _select, lambda x, y, z: x if y == z else y


def _apply(op: Op) -> object:
    return lambda *operands: Apply(op, *operands)


def _evaluate(op: Op, t: DType) -> object:
    return lambda *values: op.evaluate(t, *values)


def _cast(target: DType) -> object:
    return lambda x: Cast(target, x)


def _bitcast(target: DType) -> object:
    return lambda x: Bitcast(target, x)


def _select(x: object, y: object, z: object) -> object:
    return Select(Apply(OPS["eq"], y, z), x, y)  # type: ignore[arg-type]


def patterns(t: DType, seed: int) -> list[int]:
    """Specials in another order for each operand, so that they meet, then random bits."""
    rng = Random(f"{t.name}{seed}")
    special = list(special_bits(t)) if t.kind is not Kind.BOOL else [0, 1, 2, 255]
    found = [rng.choice(special) for _ in range(CASES // 2)]
    found[: len(special)] = special if seed == 0 else rng.sample(special, len(special))
    return found[: CASES // 2] + [random_bits(rng, t) for _ in range(CASES - CASES // 2)]


@pytest.mark.parametrize("t", DTYPES, ids=str)
def test_every_op(backend: VyreBackend, t: DType) -> None:
    table = list(rows(t))
    results = sorted({row[2] for row in table}, key=lambda result: result.tag)
    with program("every_op", workgroup_size=64) as p:
        operands = [p.read(name, t, CASES) for name in "xyz"]
        counts = {result: sum(row[2] is result for row in table) for result in results}
        outputs = {result: p.write(f"out_{result}", result, counts[result] * CASES) for result in results}
        i = p.global_id(0)
        with p.if_(i < CASES):
            values = [p.let(operand[i]).expr for operand in operands]
            position = dict.fromkeys(results, 0)
            for _, arity, result, build, _ in table:
                outputs[result][i + position[result] * CASES] = Value(build(*values[:arity]))  # type: ignore[operator]
                position[result] += 1
    bits = [patterns(t, seed) for seed in range(3)]
    inputs = [np.array(column, np.uint64).astype(f"u{t.size}") for column in bits]
    got = dict(zip(results, backend.dispatch(p.build(), inputs), strict=True))
    check(t, table, bits, {result: np.frombuffer(got[result], f"u{result.size}") for result in results})


def check(t: DType, table: list[Meaning], bits: list[list[int]], got: dict[DType, np.ndarray]) -> None:
    operands = [[from_bits(t, pattern) for pattern in column] for column in bits]
    position = dict.fromkeys(got, 0)
    wrong = []
    for name, arity, result, _, meaning in table:
        column = got[result][position[result] * CASES :][:CASES].tolist()
        position[result] += 1
        cases = zip(*operands[:arity], strict=True)
        for case, found in zip(cases, column, strict=True):
            value: Scalar = meaning(*case)  # type: ignore[operator]
            if to_bits(result, value) != found:
                wrong.append(f"{name}{case} = {value}, got {found:#x}")
                break
    assert not wrong, f"{t}: " + "; ".join(wrong)


def test_every_op_is_in_some_row() -> None:
    tested = {row[0] for t in DTYPES for row in rows(t)}
    assert {op.id for op in OPS.values() if op.tier is Tier.LANGUAGE} <= tested


@pytest.mark.parametrize("t", DTYPES, ids=str)
def test_written_witnesses(backend: VyreBackend, t: DType) -> None:
    """The literal facts of the op table, as constants in memory."""
    witnesses = [(op, w) for op in OPS.values() if op.tier is Tier.LANGUAGE for w in op.witnesses if w.dtype is t]
    if not witnesses:
        pytest.skip("the table has no witness of this type")
    with program("witnesses", workgroup_size=1) as p:
        operands = p.read("operands", t)
        outputs = {}
        for number, (op, w) in enumerate(witnesses):
            result = op.results[t]
            if result not in outputs:
                outputs[result] = p.write(f"out_{result}", result, len(witnesses))
            loaded = [operands[3 * number + position].expr for position in range(len(w.operands))]
            outputs[result][number] = Value(Apply(op, *loaded))
    flat = [to_bits(t, v) for _, w in witnesses for v in (*w.operands, *[w.operands[0]] * (3 - len(w.operands)))]
    got = backend.dispatch(p.build(), [np.array(flat, np.uint64).astype(f"u{t.size}")])
    found = {result: np.frombuffer(out, f"u{result.size}") for result, out in zip(outputs, got, strict=True)}
    wrong = [
        f"{op.id}{w.operands} = {w.result}"
        for number, (op, w) in enumerate(witnesses)
        if found[op.results[t]][number] != to_bits(op.results[t], w.result)
    ]
    assert not wrong


def test_lengths_are_u32(backend: VyreBackend) -> None:
    with program("lengths", workgroup_size=1) as p:
        a, out = p.read("a", u32), p.write("out", u32, 1)
        out[0] = a.length
    (got,) = backend.dispatch(p.build(), [np.zeros(77, np.uint32)])
    assert np.frombuffer(got, np.uint32).tolist() == [77]
