"""The proofs themselves: a right spelling passes, a wrong one does not, and another candidate takes its place."""

from functools import partial

import pytest

from vyre_driver.tune.patterns import CASES, patterns
from vyre_driver_opencl.opened import open_device
from vyre_driver_opencl.proof.atomics import prove_atomics, prove_stores
from vyre_driver_opencl.proof.bench import ProbeDevice
from vyre_driver_opencl.proof.rows import SpellingCandidates, prove
from vyre_driver_opencl.spelling import ATOMIC_STORES, ATOMICS, prelude
from vyre_foundation.dtype import DTYPES, bool_, f32, f64, i32, i64, u32, u64
from vyre_foundation.ir.stmt import AtomicOp
from vyre_foundation.ops import OPS
from vyre_foundation.ops.scalar import from_bits


@pytest.fixture(scope="module")
def bench(backend_id: str) -> ProbeDevice:
    import pyopencl as cl

    opened = open_device(backend_id)
    queue = cl.CommandQueue(opened.context)
    return ProbeDevice(opened.context, queue, prelude(opened.reported.extensions), opened.reported.options)


def row(op: str, t: object, *candidates: str) -> SpellingCandidates[str]:
    definition = OPS[op]
    return SpellingCandidates(
        op, t, definition.arity, definition.results[t], candidates, partial(definition.evaluate, t)
    )  # type: ignore[arg-type, index]


def test_each_row_gets_its_first_right_candidate(bench: ProbeDevice) -> None:
    rows = [
        row("add", f32, "({0} + {1})"),
        row("sub", f32, "({0} - {1} - 1.0f)", "({0} - {1})"),
        row("mul", f32, "no_such_function({0}, {1})", "({0} * {1})"),
        row("div", f32, "no_such_function({0}, {1})", "({0} * {1})"),
        row("min", f32, "({0} < {1} ? {0} : {1})"),
    ]
    assert prove(bench, rows) == {"add": "({0} + {1})", "sub": "({0} - {1})", "mul": "({0} * {1})"}


def test_what_flushes_subnormals_or_contracts_is_found_out(bench: ProbeDevice) -> None:
    flushed = row("add", f32, "(fabs({0} + {1}) < 0x1p-126f ? 0.0f : {0} + {1})")
    fused = SpellingCandidates(
        "muladd", f32, 3, f32, ("fma({0}, {1}, {2})",), lambda x, y, z: OPS["add"].evaluate(
            f32, OPS["mul"].evaluate(f32, x, y), z
        ),
    )  # fmt: skip
    assert prove(bench, [flushed, fused]) == {}


def test_only_values_with_a_result_are_compared(bench: ProbeDevice) -> None:
    whole = SpellingCandidates("cast", f32, 1, i32, ("((int){0})",), int, lambda x: abs(x) < 2**31)
    assert prove(bench, [whole]) == {"cast": "((int){0})"}


def test_wrong_atomics_are_not_proven(bench: ProbeDevice) -> None:
    swapped = {
        (AtomicOp.MIN, i32): ATOMICS[AtomicOp.MAX, i32],
        (AtomicOp.MAX, i32): ATOMICS[AtomicOp.MAX, i32],
        (AtomicOp.XOR, i32): "no_such_function(&{0}, {1})",
        (AtomicOp.ADD, u32): ATOMICS[AtomicOp.ADD, u32],
        (AtomicOp.OR, u32): "({0} | {1})",
    }
    assert prove_atomics(bench, swapped) == {(AtomicOp.ADD, u32): ATOMICS[AtomicOp.ADD, u32]}


def test_an_exchange_without_an_old_value_is_a_store(bench: ProbeDevice) -> None:
    wrong = {i32: "no_such_function(&{0}, {1})", u64: "({0} |= {1})", i64: "({0} = {1} & 255)"}
    assert prove_stores(bench, {u32: ATOMIC_STORES[u32], **wrong}) == {u32: ATOMIC_STORES[u32]}
    assert prove_stores(bench, ATOMIC_STORES) == ATOMIC_STORES


def test_the_kind_of_memory_does_not_matter(bench: ProbeDevice) -> None:
    proven = prove_atomics(bench, ATOMICS)
    assert {key for key in ATOMICS if key[1] in (u32, i32)} <= proven.keys()
    assert all(proven[key] == ATOMICS[key] for key in proven)


def test_patterns_hold_the_boundaries() -> None:
    for t in (u32, i32, u64, i64, f32, f64):
        found = patterns(t)
        assert len(set(found)) == len(found) == CASES
    values = [from_bits(f32, pattern) for pattern in patterns(f32)]
    assert {0.0, 1.0, float("inf"), float("-inf"), 2.0**-149, 2.0**-126, -(2.0**-149)} <= set(values)
    assert any(value != value for value in values)
    assert all(t is bool_ or len(patterns(t)) == CASES for t in DTYPES if t.bits >= 32)
